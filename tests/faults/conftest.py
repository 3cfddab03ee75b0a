"""Faults of files, journal and index are looked for without a model, which would only take time;
vectors have tests of their own.
"""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "vectors" not in request.path.name:
        monkeypatch.setenv("MUISTI_EMBEDDER", "none")

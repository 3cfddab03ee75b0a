"""What several acceptance tests begin with."""

from __future__ import annotations

import pytest

from muisti import Muisti
from tests.conftest import Opener


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing does not wait for what cannot be done."""
    monkeypatch.setattr("muisti.engine.extraction.PATIENCE", 0.0)


@pytest.fixture
def chat(opened: Opener) -> Muisti:
    return opened(embedder="none")

"""A vault for agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from muisti import Muisti


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    Muisti.open(tmp_path / "vault", embedder="none").close()
    (tmp_path / "vault" / "muisti.toml").write_text('embedder = "none"\n')
    return tmp_path / "vault"

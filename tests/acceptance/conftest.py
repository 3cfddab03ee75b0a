"""What several acceptance tests begin with. Those that need no files run on every store."""

from __future__ import annotations

import inspect
from zlib import crc32

import pytest

from muisti import Muisti
from tests.conftest import Opener
from tests.tiers import ALL

TENTH = 10
"""How many tests run on files for one that also runs on PostgreSQL, in `make test`."""
FOLDERS = {"vault", "tmp_path"}
"""Fixtures that a test asks for because it looks at files."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on files, in memory and on PostgreSQL, unless it asks for a folder or is marked
    with `needs_files(reason)`.

    `make test` runs it on files, and every TENTH on PostgreSQL too.
    """
    if "location" not in metafunc.fixturenames:
        return
    asks_for_a_folder = FOLDERS & inspect.signature(metafunc.function).parameters.keys()
    marks = list(metafunc.definition.iter_markers("needs_files"))
    if any(not mark.args for mark in marks):
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: needs_files must say why")
    if not asks_for_a_folder and not marks:
        stores = ["files", "memory", "postgres"]
        if not ALL:
            chosen = crc32(metafunc.definition.nodeid.encode()) % TENTH == 0
            stores = ["files", "postgres"] if chosen else ["files"]
        metafunc.parametrize("location", stores, indirect=True)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing does not wait for what cannot be done."""
    monkeypatch.setattr("muisti.engine.extraction.PATIENCE", 0.0)


@pytest.fixture
def chat(opened: Opener) -> Muisti:
    return opened(embedder="none")

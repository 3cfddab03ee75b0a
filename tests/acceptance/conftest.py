"""What several acceptance tests begin with. Those that need no files run on every store."""

from __future__ import annotations

import inspect
from zlib import crc32

import pytest

from muisti import Muisti
from muisti.errors import Unsupported
from tests.conftest import Opener
from tests.tiers import ALL

TENTH = 10
"""How many tests run on files for one that also runs on PostgreSQL, in `make test`."""
FOLDERS = {"vault", "tmp_path"}
"""Fixtures that a test asks for because it looks at files."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on files, in memory and on PostgreSQL, unless it asks for a folder or is marked
    with `needs_files(reason)`. With `has_documents`, the folder is for documents outside the vault,
    which a vault in memory cannot index.

    `make test` runs it on files, and every TENTH on PostgreSQL too.
    """
    if "location" not in metafunc.fixturenames:
        return
    asks_for_a_folder = FOLDERS & inspect.signature(metafunc.function).parameters.keys()
    marks = list(metafunc.definition.iter_markers("needs_files"))
    if any(not mark.args for mark in marks):
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: needs_files must say why")
    has_documents = metafunc.definition.get_closest_marker("has_documents") is not None
    if (has_documents or not asks_for_a_folder) and not marks:
        stores = ["files", "postgres"] if has_documents else ["files", "memory", "postgres"]
        if not ALL:
            chosen = crc32(metafunc.definition.nodeid.encode()) % TENTH == 0
            stores = ["files", "postgres"] if chosen else ["files"]
        metafunc.parametrize("location", stores, indirect=True)


def read_again(memory: Muisti) -> None:
    """Pick up changed documents: files are read again, and a database copies them again."""
    try:
        memory.sync()
    except Unsupported:
        for source in memory.list_document_sources():
            memory.index_path(source.path)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing does not wait for what cannot be done."""
    monkeypatch.setattr("muisti.engine.extraction.PATIENCE", 0.0)


@pytest.fixture
def chat(opened: Opener) -> Muisti:
    return opened(embedder="none")

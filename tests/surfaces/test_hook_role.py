"""A vault opened for a hook finds what the engine finds, without a lock, and loads little."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from muisti import bootstrap
from muisti.engine.search import Search
from muisti.errors import VaultNotFound
from tests.conftest import Opener, file_store

SHORT = {"lock_timeout": 0.2, "index_timeout": 0.2}


def for_hook(vault: Path) -> Search:
    return bootstrap.open(vault, role="hook", settings=SHORT)


@pytest.fixture
def filled(opened: Opener) -> Path:
    memory = opened(embedder="none")
    memory.save("We chose PostgreSQL as our database", kind="decision", project="shop")
    old = memory.save("The deploy runs on Fridays")
    new = memory.save("The deploy runs on Mondays")
    memory.supersede(old.id, new.id)
    memory.append_message("cli_a", "user", "Redis holds the sessions")
    root = memory.root
    memory.close()
    return root


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"project": "shop"},
        {"project": "shop", "unfiled": True},
        {"kind": "decision"},
        {"since": None},
    ],
)
@pytest.mark.parametrize(
    "query",
    [
        "which database did we choose",
        "when does the deploy run",
        "Redis",
        "yesterday's deploy",
        "zebra",
    ],
)
def test_it_finds_what_the_engine_finds(
    filled: Path, opened: Opener, query: str, options: dict[str, object]
) -> None:
    source = {"source": ("memory", "document"), **options}
    whole = opened(embedder="none").search(query, mode="keyword", limit=5, record=False, **source)
    glanced = for_hook(filled).search(query, limit=5, mode="keyword", **source)
    assert [(one.memory.id, one.memory.content, one.matched_snippet) for one in glanced] == [
        (one.memory.id, one.memory.content, one.matched_snippet) for one in whole
    ]


def test_it_waits_for_nobody(filled: Path, opened: Opener) -> None:
    with file_store(opened(embedder="none")).vault.lock():
        assert for_hook(filled).search("database", limit=5)


@pytest.mark.parametrize("damage", ["gone", "garbage", "pointer"])
def test_an_index_that_is_not_in_order_is_mended(filled: Path, damage: str) -> None:
    for file in (filled / ".muisti").glob("index-*"):
        if damage == "gone":
            file.unlink()
        elif damage == "garbage" and file.suffix == ".db":
            file.write_bytes(b"garbage" * 4000)
    if damage == "pointer":
        (filled / ".muisti" / "current").write_text("index-00000000.db")
    memory = for_hook(filled)
    assert [one.memory.project for one in memory.search("database", limit=5)] == ["shop"]
    assert memory.word_frequencies(["postgresql"]).counts
    memory.close()


def test_the_copy_of_an_index_goes_with_the_vault(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vault that cannot be written is searched through a private copy, and a hook ends without
    finalizers.
    """
    monkeypatch.setattr(bootstrap, "is_writable", lambda root: False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    memory = for_hook(filled)
    assert memory.search("database", limit=5)
    assert list(tmp_path.glob("muisti-*"))
    memory.close()
    assert not list(tmp_path.glob("muisti-*"))


def test_where_there_is_no_vault_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(VaultNotFound):
        for_hook(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_it_loads_little(filled: Path) -> None:
    code = (
        "import sys; from muisti import bootstrap\n"
        f"memory = bootstrap.open({str(filled)!r}, role='hook')\n"
        "assert memory.search('which database did we choose', limit=5, mode='keyword', record=False)\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    dear = {
        "click",
        "rich",
        "ruamel.yaml",
        "numpy",
        "onnxruntime",
        "httpx2",
        "muisti.engine.facade",
        "muisti.storage.files.store",
        "muisti.text.time_expressions.question",
    }
    assert dear & set(loaded) == set()


def test_every_name_of_the_lazy_packages_is_there() -> None:
    import muisti.model
    import muisti.ports

    for package in (muisti.model, muisti.ports):
        told = {
            name
            for names in getattr(package, "_HOMES", getattr(package, "_MODULES", {})).values()
            for name in names.split()
        }
        assert told <= set(package.__all__)
        assert all(getattr(package, name) is not None for name in package.__all__)
        with pytest.raises(AttributeError, match="nothing_such"):
            _ = package.nothing_such

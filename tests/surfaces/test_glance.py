"""A glance finds what the engine finds, without a lock, and mends nothing that is in order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from muisti.errors import VaultNotFound
from muisti.glance import Glance
from tests.conftest import Opener

READING = {"embedder": "none", "sync_on_open": False, "lock_timeout": 0.2, "index_timeout": 0.2}


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
    [{}, {"project": "shop"}, {"project": "shop", "unfiled": True}, {"kind": "decision"}, {"since": None}],
)
@pytest.mark.parametrize(
    "query", ["which database did we choose", "when does the deploy run", "Redis", "yesterday's deploy", "zebra"]
)
def test_it_finds_what_the_engine_finds(filled: Path, opened: Opener, query: str, options: dict[str, object]) -> None:
    source = {"source": ("memory", "document"), **options}
    whole = opened(embedder="none").search(query, mode="keyword", limit=5, record=False, **source)
    glanced = Glance(filled, READING).search(query, 5, **source)
    assert [(one.memory.id, one.memory.content, one.matched_snippet) for one in glanced] == [
        (one.memory.id, one.memory.content, one.matched_snippet) for one in whole
    ]


def test_it_waits_for_nobody(filled: Path, opened: Opener) -> None:
    with opened(embedder="none")._parts.vault.lock():
        assert Glance(filled, READING).search("database", 5)


@pytest.mark.parametrize("damage", ["gone", "garbage", "pointer"])
def test_an_index_that_is_not_in_order_is_mended(filled: Path, damage: str) -> None:
    for file in (filled / ".muisti").glob("index-*"):
        if damage == "gone":
            file.unlink()
        elif damage == "garbage" and file.suffix == ".db":
            file.write_bytes(b"garbage" * 4000)
    if damage == "pointer":
        (filled / ".muisti" / "current").write_text("index-00000000.db")
    glance = Glance(filled, READING)
    assert [one.memory.project for one in glance.search("database", 5)] == ["shop"]
    assert glance.frequencies(["postgresql"]).counts
    glance.close()


def test_where_there_is_no_vault_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(VaultNotFound):
        Glance(tmp_path / "nowhere", READING)
    assert not (tmp_path / "nowhere").exists()


def test_it_loads_little(filled: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from muisti.glance import Glance\n"
        f"assert Glance(Path({str(filled)!r}), {READING!r}).search('which database did we choose', 5)\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    dear = {
        "click",
        "rich",
        "ruamel.yaml",
        "numpy",
        "onnxruntime",
        "httpx2",
        "muisti.engine",
        "muisti.bootstrap",
        "muisti.text.time_expressions.question",
    }
    assert dear & set(loaded) == set()


def test_every_name_of_the_lazy_packages_is_there() -> None:
    import muisti.model
    import muisti.ports

    for package in (muisti.model, muisti.ports):
        told = {name for names in package._HOMES.values() for name in names.split()}
        assert told <= set(package.__all__)
        assert all(getattr(package, name) is not None for name in package.__all__)
        with pytest.raises(AttributeError, match="nothing_such"):
            _ = package.nothing_such

"""J2 · A shell completes kinds, projects, users, keywords and IDs; it only reads, and stays quiet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from muisti import Muisti
from tests.surfaces.strangers import plant, snapshot

HOSTILE = (
    "$(touch pwned)",
    "`id`",
    "a b",
    "*",
    "-rf",
    "a;b",
    "a\\b",
    "~root",
    "a,b",
    "a'b",
)


def complete(vault: Path | None, line: str, shell: str = "fish", cwd: Path | None = None) -> str:
    """Return what the shell is told for a line whose last word is to be completed."""
    words = line.split(" ")
    environment = {
        **os.environ,
        "_MUISTI_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": words[-1] if shell == "fish" else str(len(words) - 1),
    }
    if vault is not None:
        environment["MUISTI_VAULT"] = str(vault)
    done = subprocess.run(
        [sys.executable, "-m", "muisti"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=cwd,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def filled(vault: Path) -> Path:
    with Muisti.open(vault, embedder="none") as memory:
        memory.save("Otters swim", title="About \u202eotters", project="zoo", keywords=["otter"])
        memory.save("Beavers build", project="zebra", user="anna", session_id="chat-42")
    return vault


def test_J2_values_are_completed(filled: Path) -> None:
    assert complete(filled, "muisti list --project z").split() == ["plain,zebra", "plain,zoo"]
    assert complete(filled, "muisti list --user ") == "plain,anna\n"
    assert complete(filled, "muisti search x -k o") == "plain,otter\n"
    assert complete(filled, "muisti search x --session-id c") == "plain,chat-42\n"
    assert complete(filled, "muisti save x --kind dec") == "plain,decision\n"
    assert complete(filled, "muisti sea").startswith("plain,search")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_J2_ids_are_completed_with_titles(filled: Path, shell: str) -> None:
    with Muisti.open(filled, embedder="none") as memory:
        newest, oldest = memory.list()
    told = complete(filled, "muisti show ", shell)
    assert told.index(newest.id[-8:]) < told.index(oldest.id[-8:])
    assert ("About otters" in told) == (shell != "bash")
    one = complete(filled, f"muisti show {oldest.id[-8:-3]}", shell)
    assert oldest.id[-8:] in one
    assert newest.id[-8:] not in one
    assert oldest.id in complete(filled, f"muisti show {oldest.id[:-2]}", shell)


def test_K4_no_value_can_be_more_than_a_word(vault: Path) -> None:
    with Muisti.open(vault, embedder="none") as memory:
        for number, name in enumerate(HOSTILE):
            memory.save(f"Memory {number}{number}", keywords=[name, f"plain{number}"])
        hostile = memory.save("Red", title="red\u202e $(id)\u200b", keywords=["last"])
    told = complete(vault, "muisti list -k ", "bash").split("\n")
    assert sorted(told[:-1]) == sorted([*(f"plain,plain{at}" for at in range(10)), "plain,last"])
    shown = complete(vault, f"muisti show {hostile.id[-8:]}", "zsh")
    assert shown.isascii()
    assert "red $(id)" in shown


def test_J2_completion_only_reads_and_waits_for_no_lock(filled: Path) -> None:
    before = {path: path.read_bytes() for path in filled.rglob("*") if path.suffix == ".md"}
    journal = [path.read_bytes() for path in filled.glob("journal/*")]
    with Muisti.open(filled, embedder="none") as memory, memory._services.store.lock():
        assert "zoo" in complete(filled, "muisti list --project z")
    assert {path: path.read_bytes() for path in before} == before
    assert [path.read_bytes() for path in filled.glob("journal/*")] == journal


def test_J2_completion_is_quiet_without_a_vault_and_with_a_broken_one(
    filled: Path, tmp_path: Path
) -> None:
    assert complete(tmp_path / "nowhere", "muisti show ") == "\n"
    assert not (tmp_path / "nowhere").exists()
    assert "plain,decision" in complete(tmp_path / "nowhere", "muisti list --kind d")
    (filled / "muisti.toml").write_text("[[[")
    assert complete(filled, "muisti show ") == "\n"
    assert complete(filled, "muisti list --kind ") == "\n"


def test_K6_a_strangers_vault_completes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MUISTI_VAULT", raising=False)
    clone = plant(tmp_path)
    before = snapshot(clone)
    assert complete(None, "muisti show ", cwd=clone) == "\n"
    assert complete(None, "muisti list --project ", cwd=clone) == "\n"
    assert snapshot(clone) == before

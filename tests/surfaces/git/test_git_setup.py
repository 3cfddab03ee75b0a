"""`muisti git setup`, `muisti git resolve` and the merge driver, with the real git."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from muisti import Muisti
from muisti.surfaces.git.driver import CONFLICT
from muisti.surfaces.git.repository import make_driver, quote_pattern, replace_block, set_up
from muisti.surfaces.git.resolve import resolve_conflicts
from tests.conftest import FakeClock
from tests.surfaces.cli.test_cli import Cli
from tests.surfaces.git.clones import PROGRAM, git, keep_ours, make_clones, open_vault

TEXT = "We chose PostgreSQL.\n\nIt has vectors.\n\nWe know it well."


@pytest.fixture
def cli(vault: Path, tmp_path: Path) -> Cli:
    made = Cli(vault, tmp_path)
    made.environment["MUISTI_EMBEDDER"] = "none"
    with Muisti.open(vault, embedder="none") as memory:
        memory.save(TEXT, title="Database", kind="decision")
    return made


def read_all(vault: Path) -> tuple[str, str, str]:
    local = vault / ".git/info/attributes"
    return (
        (vault / ".gitattributes").read_text(),
        (vault / ".git/config").read_text(),
        local.read_text() if local.exists() else "",
    )


def test_B5_git_setup_says_what_it_wrote_and_can_be_repeated_and_reverted(
    cli: Cli, vault: Path
) -> None:
    assert "git init" in cli.run("git", "setup", code=1).stderr
    git(vault, "init", "-q")
    before = read_all(vault)
    said = cli.run("git", "setup").stdout
    assert str(vault / ".gitattributes") in said
    assert "merge.muisti.driver" in said
    after = read_all(vault)
    assert after[0].startswith(before[0])
    assert cli.run("git", "setup").stdout == "Set up already.\n"
    assert read_all(vault) == after
    for path, driver in (
        ("decisions/x.md", "muisti"),
        (".trash/facts/x.md", "muisti"),
        ("users/anna/core_memory.json", "muisti"),
        ("journal/2026-03.jsonl", "muisti"),
        ("conversations/a/b.jsonl", "muisti"),
        ("x.txt", "unspecified"),
    ):
        assert git(vault, "check-attr", "merge", "--", path).strip().endswith(f": {driver}")
    removed = cli.json("git", "setup", "--remove")
    assert isinstance(removed, dict)
    assert len(removed["changed"]) == 3
    reverted = read_all(vault)
    assert (reverted[0], reverted[2].strip()) == (before[0], before[2].strip())
    assert "merge" not in reverted[1]
    assert cli.run("git", "setup", "--remove").stdout == "Not set up.\n"


def test_K6_git_setup_writes_nothing_into_the_vault_of_a_stranger(
    cli: Cli, vault: Path, tmp_path: Path
) -> None:
    git(vault, "init", "-q")
    git(vault, "add", "-A")
    git(vault, "commit", "-q", "-m", "Start")
    git(tmp_path, "clone", "-q", str(vault), "stranger")
    del cli.environment["MUISTI_VAULT"]
    cli.cwd = tmp_path / "stranger"
    assert "not trusted" in cli.run("git", "setup", code=1).stderr
    assert "muisti git setup" not in (cli.cwd / ".gitattributes").read_text()


def test_J2_doctor_says_that_the_driver_is_missing(cli: Cli, vault: Path) -> None:
    def check() -> list[dict[str, str]]:
        done = json.loads(cli.run("doctor", "--json").stdout)
        return [one for one in done["findings"] if one["area"] == "git"]

    git(vault, "init", "-q")
    assert check() == []
    cli.run("git", "setup")
    assert [one["level"] for one in check()] == ["ok"]
    git(vault, "config", "merge.muisti.driver", make_driver(["/gone/muisti"]))
    assert "program of the merge driver is missing" in check()[0]["what"]
    git(vault, "config", "--remove-section", "merge.muisti")
    [found] = check()
    assert "missing in this clone" in found["what"]
    assert found["fix"] == "muisti git setup"


def test_B5_a_clone_without_muisti_merges_as_git_does(tmp_path: Path) -> None:
    one, other = make_clones(tmp_path, 2)
    for root in (one, other):
        git(root, "config", "merge.muisti.driver", make_driver([str(tmp_path / "gone")]))
    for root, part, what in ((one, 0, "ours"), (other, 4, "theirs")):
        with open_vault(root, FakeClock()) as vault:
            memory = vault.list()[0]
            parts = memory.content.split("\n\n")
            parts[part] = f"Changed by {what}."
            vault.update(memory.id, content="\n\n".join(parts))
            assert memory.file_path is not None
            path = memory.file_path
        git(root, "commit", "-q", "-a", "-m", what)
    git(one, "fetch", "-q", str(other), "main")
    git(one, "merge", "-q", "-m", "Merge", "FETCH_HEAD")
    text = (one / path).read_text()
    assert "Changed by ours." in text
    assert "Changed by theirs." in text


def test_B5_a_true_conflict_stays_one_and_the_file_is_left_alone(tmp_path: Path) -> None:
    one, other = make_clones(tmp_path, 4)
    for root, what in ((one, "ours"), (other, "theirs")):
        with open_vault(root, FakeClock()) as vault:
            memory = vault.list()[0]
            vault.update(memory.id, content=f"Changed by {what}.", keywords=[what])
            path = str(memory.file_path)
            kept = vault.list()[1]
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", what)
    git(one, "fetch", "-q", str(other), "main")
    git(one, "merge", "-q", "-m", "Merge", "FETCH_HEAD", code=1)
    assert git(one, "diff", "--name-only", "--diff-filter=U").split() == [path]
    text = (one / path).read_text()
    assert "<<<<<<< ours\nChanged by ours.\n=======\nChanged by theirs.\n>>>>>>> theirs\n" in text
    assert "  - ours\n  - theirs\n" in text
    with open_vault(one, FakeClock()) as vault:
        [problem] = vault.verify().problems
        assert problem.path == path
        assert "conflict markers" in problem.reason
        assert vault.get(kept.id) is not None
        assert (one / path).read_text() == text
    keep_ours(one / path)
    with open_vault(one, FakeClock()) as vault:
        assert vault.verify().ok


def test_B5_a_memory_that_both_deleted_is_in_the_trash_once(tmp_path: Path) -> None:
    one, other = make_clones(tmp_path, 3)
    clock = FakeClock()
    for root, what in ((one, "ours"), (other, "theirs")):
        clock.forward(hours=1)
        with open_vault(root, clock) as vault:
            first, second = sorted(memory.id for memory in vault.list())[:2]
            if root == other:
                vault.update(first, keywords=["theirs"], content="Changed.")
            vault.delete(first)
            vault.delete(second)
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", what)
    git(one, "fetch", "-q", str(other), "main")
    git(one, "merge", "-q", "-m", "Merge", "FETCH_HEAD", code=1)
    cli = Cli(one, tmp_path)
    said = cli.run("git", "resolve").stdout
    assert said.count("Resolved: ") == 2
    assert "No conflicts left; `git commit` finishes the merge." in said
    git(one, "commit", "-q", "-m", "Merge")
    assert cli.run("git", "resolve").stdout == "No conflicts left.\n", "no merge is under way"
    assert len(list((one / ".trash/facts").iterdir())) == 2
    with open_vault(one, clock) as vault:
        assert vault.verify().ok
        assert len(vault.list()) == 1
        assert vault.restore(first).content == "Changed."


def test_J2_the_driver_starts_without_models_and_without_click(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("base", "ours", "theirs")]
    for file, text in zip(files, (b"a\n", b"a\nb\n", b"a\nc\n"), strict=True):
        file.write_bytes(b'{"at":"2026-03-10T12:00:00Z"}\n' + text)
    names = [str(file) for file in files]
    code = (
        "import sys\nfrom muisti.surfaces.cli.main import main\n"
        "try:\n    main()\nfinally:\n    print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "git", "merge-file", *names, "journal/2026-03.jsonl"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert files[1].read_bytes().endswith(b"a\nb\nc\n")
    heavy = {"numpy", "click", "apsw", "onnxruntime", "pydantic", "muisti.engine", "ruamel.yaml"}
    assert not heavy & set(done.stdout.split())


def test_J2_the_driver_returns_what_git_expects(cli: Cli, tmp_path: Path) -> None:
    for name, text in (("base", "a\n"), ("ours", "b\n"), ("theirs", "c\n")):
        (tmp_path / name).write_text(text)
    sides = [str(tmp_path / name) for name in ("base", "ours", "theirs")]
    cli.run("git", "merge-file", *sides, "README.md", "9", code=CONFLICT)
    assert (tmp_path / "ours").read_text().startswith("<<<<<<<<< ours\nb\n")
    assert "usage" in cli.run("git", "merge-file", *sides, code=1).stderr
    assert shutil.which("git")


@pytest.mark.parametrize(
    ("before", "block", "after"),
    [
        ("", "B\n", "B\n"),
        ("a\n", "", "a\n"),
        ("*.md text", "B\n", "*.md text\nB\n"),
    ],
)
def test_our_lines_are_replaced_and_others_stay(before: str, block: str, after: str) -> None:
    assert replace_block(before, block) == after


@pytest.mark.parametrize(
    ("pattern", "quoted"),
    [
        ("/**/*.jsonl", "/**/*.jsonl"),
        ("/my notes/**/*.jsonl", '"/my notes/**/*.jsonl"'),
        ("/a[1]/**/*.jsonl", '"/a\\\\[1\\\\]/**/*.jsonl"'),
    ],
)
def test_folders_are_quoted_in_patterns(pattern: str, quoted: str) -> None:
    assert quote_pattern(pattern) == quoted


def test_B5_a_vault_in_a_folder_of_a_repository_is_merged_too(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    inside = "my notes [1]"
    with open_vault(one / inside, FakeClock()) as vault:
        memory_id = vault.save(TEXT, title="Database", kind="decision").id
    git(tmp_path, "init", "-q", "-b", "main", "one")
    set_up(one / inside, PROGRAM)
    journal = f"{inside}/journal/2026-03.jsonl"
    assert git(one, "check-attr", "merge", "--", journal).endswith(": muisti\n")
    assert git(one, "check-attr", "merge", "--", "other.jsonl").endswith(": unspecified\n")
    git(one, "add", "-A")
    git(one, "commit", "-q", "-m", "Start")
    git(tmp_path, "clone", "-q", "one", "other")
    set_up(other / inside, PROGRAM)
    clock = FakeClock()
    for root, what in ((one, "ours"), (other, "theirs")):
        clock.forward(minutes=1)
        with open_vault(root / inside, clock) as vault:
            vault.update(memory_id, keywords=[what])
            vault.core_update("user", what, what)
            vault.reinforce(memory_id)
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", what)
    git(one, "fetch", "-q", str(other), "main")
    git(one, "merge", "-q", "-m", "Merge", "FETCH_HEAD")
    with open_vault(one / inside, clock) as vault:
        found = vault.get(memory_id)
        assert found is not None
        assert found.keywords == ("ours", "theirs")
        assert vault.core_get().user == {"ours": "ours", "theirs": "theirs"}
        assert vault.verify().ok
    assert resolve_conflicts(one / inside) == ([], [])

"""The project that an agent works in is the repository that its folder is in."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from muisti.remember.validate import validate_project
from muisti.surfaces.project import detect_project, make_project_name


def test_a_folder_in_a_repository_is_in_its_project(tmp_path: Path) -> None:
    (tmp_path / "shop" / "src" / "deep").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(tmp_path / "shop")], check=True)
    assert (
        detect_project(tmp_path / "shop")
        == detect_project(tmp_path / "shop" / "src" / "deep")
        == "shop"
    )
    assert detect_project(tmp_path / "shop" / "not there yet") == "shop"


def test_a_worktree_is_in_the_project_of_its_repository(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path / "shop"), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "init", "-q", str(tmp_path / "shop")], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    subprocess.run(
        [*git, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other name")], check=True
    )
    assert detect_project(tmp_path / "other name") == "shop"


def test_a_worktree_with_a_relative_link_is_too(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git" / "worktrees" / "b").mkdir(parents=True)
    (tmp_path / "shop" / "b").mkdir()
    (tmp_path / "shop" / "b" / ".git").write_text("gitdir: ../.git/worktrees/b\n")
    assert detect_project(tmp_path / "shop" / "b") == "shop"
    (tmp_path / "liar").mkdir()
    (tmp_path / "liar" / ".git").write_text(f"gitdir: {tmp_path}/nowhere/.git/worktrees/b\n")
    assert detect_project(tmp_path / "liar") == "liar"


def test_outside_of_a_repository_and_at_home_there_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert detect_project(tmp_path) == ""
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))  # somebody who keeps dot files in git
    assert detect_project(tmp_path) == ""


@pytest.mark.parametrize(
    ("name", "project"),
    [
        ("shop", "shop"),
        ("my shop", "my shop"),
        (".dotfiles", "dotfiles"),
        ("a:b|c", "a-b-c"),
        ("__x__", "x__"),
        ("日本", "日本"),
        ("...", ""),
    ],
)
def test_every_folder_gives_a_name_that_a_project_may_have(name: str, project: str) -> None:
    assert make_project_name(name) == project
    assert validate_project(make_project_name(name * 40)) == make_project_name(name * 40)

"""J9, A3 · The command line in a repository, and for several users."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.surfaces.cli.test_cli import Cli


@pytest.fixture
def cli(vault: Path, tmp_path: Path) -> Cli:
    """A command line that works in the repository `shop`."""
    repository = tmp_path / "shop"
    (repository / ".git").mkdir(parents=True)
    made = Cli(vault, repository)
    made.environment |= {"MUISTI_EMBEDDER": "none", "COLUMNS": "100"}
    return made


def test_J9_a_repository_is_the_project_of_what_is_saved_found_and_logged(cli: Cli) -> None:
    assert "In project shop." in cli.run("save", "Deploys are on Fridays").stderr
    assert "For all projects." in cli.run("save", "I prefer dark mode").stderr
    logged = cli.run("conversation", "log", "web_anna", "user", "I moved to Turku")
    assert "In project shop." in logged.stderr
    for command in ("search", "compact", "context"):
        found = cli.run(command, "Fridays")
        assert "Fridays" in found.stdout
        assert "In project shop; --all-projects for all." in found.stderr
    assert "Turku" in cli.run("conversation", "search", "Turku").stdout
    (cli.cwd.parent / "other" / ".git").mkdir(parents=True)
    cli.cwd = cli.cwd.parent / "other"
    listed = cli.run("list").stdout
    assert "dark mode" in listed
    assert "Fridays" not in listed
    assert "Turku" not in cli.run("conversation", "search", "Turku").stdout
    assert "Fridays" in cli.run("list", "--all").stdout


def test_A3_lists_show_the_user_and_name_the_nearest_project(cli: Cli) -> None:
    cli.run("save", "I have diabetes", "--user", "anna")
    cli.run("save", "I have diabetes", "--user", "ben")
    cli.run("conversation", "log", "web_anna", "user", "Hello", "--user", "anna")
    cli.run("session", "start", "--user", "anna")
    for arguments in (
        ("list", "--all-projects", "--user", "anna"),
        ("search", "diabetes", "--user", "anna"),
        ("conversation", "list", "--user", "anna"),
        ("session", "list", "--user", "anna"),
    ):
        found = cli.run(*arguments).stdout
        assert "anna" in found, arguments
        assert "ben" not in found, arguments
    cli.run("save", "I prefer dark mode")
    assert "did you mean 'shop'?" in cli.run("list", "--project", "shp").stderr
    for group in ("conversation", "session"):
        assert "did you mean 'anna'?" in cli.run(group, "list", "--user", "ana").stderr
        assert f"No matching {group}s." in cli.run(group, "list", "--user", "ben").stderr
    assert "there is no" not in cli.run("list", "--all", "--kind", "decision").stderr


def test_A3_doctor_names_conversations_without_a_project_and_a_user(cli: Cli) -> None:
    cli.cwd = cli.cwd.parent
    cli.run("conversation", "log", "telegram_1", "user", "I moved to Turku")
    assert "assign" not in cli.run("doctor").stdout, "there are no projects and users"
    cli.run("save", "Anna has a dog", "--user", "anna")
    assert "muisti conversation assign telegram_1" in cli.run("doctor").stdout
    cli.run("conversation", "assign", "telegram_1", "--user", "anna")
    assert "assign" not in cli.run("doctor").stdout
    assert "Turku" in cli.run("search", "Turku", "--user", "anna").stdout
    assert "Turku" not in cli.run("search", "Turku", "--user", "ben").stdout


def test_F6_forget_says_what_goes_to_the_trash_and_what_is_deleted(cli: Cli) -> None:
    cli.run("save", "Anna has a dog", "--user", "anna", "--session-id", "web_anna")
    cli.run("conversation", "log", "web_anna", "user", "I have a dog", "--user", "anna")
    cli.run("core", "set", "user", "name", "Anna", "--user", "anna")
    expected = (
        "Would move to the trash:\n  1 memory\n  1 message in web_anna\n  1 core memory entry\n"
        "Would delete permanently:\n  1 session\n"
    )
    shown = cli.run("forget", "--user", "anna", "--dry-run")
    assert shown.stdout == expected
    assert "Nothing was changed." in shown.stderr
    refused = cli.run("forget", "--user", "anna", code=1)
    assert "--yes" in refused.stderr
    assert "dog" in cli.run("list", "--user", "anna").stdout
    done = cli.run("forget", "--user", "anna", "--yes")
    assert done.stdout == f"{expected}Done.\n"
    assert "muisti conversation restore web_anna" in done.stderr
    assert "dog" not in cli.run("list", "--user", "anna").stdout
    cli.run("conversation", "restore", "web_anna")
    assert "dog" in cli.run("conversation", "window", "web_anna").stdout


def test_A3_a_replacement_outside_the_scope_is_not_named(cli: Cli) -> None:
    for scope in (["--project", ""], ["--user", ""]):
        old = cli.run("save", f"The office is in Turku {scope[0]}", *scope, "--json").stdout
        outside = ["--project", "borealis"] if scope[0] == "--project" else ["--user", "ben"]
        replaces = json.loads(old)["id"]
        new = cli.run("save", "The office is in Espoo", *outside, "--json").stdout
        if scope[0] == "--project":
            cli.run("supersede", replaces, json.loads(new)["id"])
        for command in (["list"], ["search", "office"], ["compact", "office"]):
            found = cli.run(*command, *scope).stdout
            assert "Turku" in found
            assert "Espoo" not in found

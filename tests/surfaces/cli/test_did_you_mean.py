"""J2 · A wrong command or option is an error that names the right one; nothing runs."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from muisti.surfaces.cli.main import cli
from muisti.surfaces.cli.usage_errors import describe_usage_error
from tests.surfaces.cli.test_cli import Cli


def explain(*arguments: str) -> str:
    """Return the error of a call that is wrong."""
    with pytest.raises(click.ClickException) as raised:
        cli.main(list(arguments), prog_name="muisti", standalone_mode=False)
    assert raised.value.exit_code == 2
    return describe_usage_error(raised.value)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["serach", "x"], "`muisti search`"),
        (["ls"], "`muisti list`"),
        (["rm", "abcd"], "`muisti delete`"),
        (["session", "ls"], "`muisti session list`"),
        (["session", "new"], "`muisti session start`"),
        (["conversation", "add"], "`muisti conversation log`"),
        (["help"], "`muisti --help`"),
        (["list", "--tag", "x"], "--keyword?"),
        (["list", "--tags=x"], "--keyword?"),
        (["search", "x", "--top-k", "3"], "--limit?"),
        (["search", "x", "--type", "fact"], "--kind?"),
        (["save", "x", "--projcet", "y"], "--project?"),
        (["delete", "abcd", "--permanent"], "--hard?"),
        (["forget", "--force"], "--yes?"),
    ],
)
def test_J2_the_right_name_is_suggested(arguments: list[str], meant: str) -> None:
    assert f"did you mean {meant}" in explain(*arguments)


def test_J2_without_a_suggestion_the_help_is_named() -> None:
    assert explain("xyzzy") == "no such command 'xyzzy'; see `muisti --help`"
    assert explain("list", "--colour") == "no such option '--colour'; see `muisti list --help`"
    assert "goes after the command" in explain("--json", "list")
    hostile = explain("a'; did you mean 'rm -rf")
    assert "`" not in hostile


def test_J2_a_suggested_command_does_not_run(cli: Cli, vault: Path) -> None:
    said = cli.run("add", "Remember this", code=2)
    assert said.stderr == "error: no such command 'add'; did you mean `muisti save`?\n"
    assert said.stdout == ""
    assert not vault.exists()


@pytest.mark.parametrize("group", ["warm", "git", "session", "core", "conversation", "model"])
def test_J2_a_group_without_a_command_shows_its_help(cli: Cli, group: str) -> None:
    said = cli.run(group, code=2)
    assert said.stderr.startswith(f"Usage: muisti {group} [OPTIONS] COMMAND")
    assert "Commands:" in said.stderr
    assert "error:" not in said.stderr


@pytest.fixture(name="cli")
def make_cli(vault: Path, tmp_path: Path) -> Cli:
    return Cli(vault, tmp_path)

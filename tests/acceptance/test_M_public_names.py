"""M2 · Names that others build upon stay: what was recorded once still exists."""

from __future__ import annotations

import shlex

import click
import pytest
from scripts.public_names import Names, collect_names, missing_names, recorded_names

from muisti.surfaces.cli.main import cli

RECORDED = recorded_names()


@pytest.fixture(scope="module")
def present() -> Names:
    return collect_names()


def test_M2_every_recorded_name_still_exists(present: Names) -> None:
    assert missing_names(RECORDED, present) == []


def test_M2_the_list_is_sorted_and_whole() -> None:
    sizes = {section: len(names) for section, names in RECORDED.items()}
    assert sizes.keys() == {
        "python",
        "cli",
        "settings",
        "variables",
        "rest",
        "mcp",
        "metrics",
        "errors",
        "exit codes",
        "installed commands",
    }
    assert all(names == sorted(set(names)) for names in RECORDED.values())


@pytest.mark.parametrize(
    "name",
    [
        "python: muisti.Gone",
        "python: muisti.Muisti.gone",
        "python: muisti.Muisti.save(gone)",
        "cli: muisti gone",
        "cli: muisti chat gone",
        "cli: muisti search --gone",
        "cli: muisti search --mode=gone",
        "rest: GET /api/gone",
        "settings: gone",
    ],
)
def test_M2_a_name_that_is_gone_is_named(present: Names, name: str) -> None:
    section, _, wanted = name.partition(": ")
    assert missing_names({section: [wanted]}, present) == [name]


@pytest.mark.parametrize("name", ["muisti search --mode=vector", "muisti chat list", "muisti"])
def test_M2_a_name_that_is_only_hidden_still_exists(name: str) -> None:
    assert missing_names({"cli": [f"{name} (hidden)"]}, {}) == []


COMMANDS = sorted({name.partition(": ")[2] for name in RECORDED["installed commands"]})


@pytest.mark.parametrize("command", COMMANDS)
def test_M2_commands_in_configurations_of_agents_are_still_understood(command: str) -> None:
    _, verb, *arguments = shlex.split(command)
    found = cli.get_command(click.Context(cli), verb)
    assert found is not None
    found.make_context(verb, arguments)  # raises UsageError for what it does not know

"""The verb that looks at everything and says what to do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muisti.surfaces.cli.shared import common, print_json

if TYPE_CHECKING:
    from muisti.surfaces.setup.findings import Finding

_COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}


@click.command()
@common
def doctor(vault: str | None, as_json: bool) -> None:
    """Look at the vault, the index, the agents and their hooks; exit code 1 if there is a problem.

    Nothing is changed: no vault is made, no index mended, no model loaded.
    """
    found = _findings(vault)
    problems = [one for one in found if one.level == "problem"]
    if as_json:
        findings = [{**asdict(one), "cure": one.fix} for one in found]  # `cure`: its old name
        print_json({"ok": not problems, "findings": findings})
    else:
        _show(found)
    if problems:
        sys.exit(1)


def _findings(vault: str | None) -> list[Finding]:
    from muisti.surfaces.setup.agents import Machine
    from muisti.surfaces.setup.check_agents import check_agents
    from muisti.surfaces.setup.check_vault import check_vault
    from muisti.surfaces.setup.findings import Finding, Level

    try:
        machine = Machine.current()
    except (
        OSError,
        RuntimeError,
    ) as error:  # the folder that we are in was deleted, or there is no home
        return [
            Finding(
                "folder",
                Level.PROBLEM,
                f"this folder cannot be used ({error})",
                f"cd {Path(sys.prefix).anchor}",
            )
        ]
    found = [*check_vault(vault), *check_agents(machine)]
    areas = list(dict.fromkeys(one.area for one in found))
    return sorted(found, key=lambda one: areas.index(one.area))


def _show(found: Sequence[Finding]) -> None:
    from muisti.surfaces.cli.render import count, visible

    wide = max(len(one.area) for one in found)
    for one in found:
        level = click.style(f"{one.level:<7}", fg=_COLOURS[one.level])
        click.echo(f"{level}  {one.area:<{wide}}  {visible(one.what)}")
        if one.fix:
            click.echo(f"{'':<{wide + 11}}{click.style('→ ' + visible(one.fix), dim=True)}")
    problems = sum(one.level == "problem" for one in found)
    click.echo(f"\n{count(problems, 'problem')} found." if problems else "\nNo problem found.")


COMMANDS = {"doctor": doctor}

"""`muisti doctor`: check everything and say what to fix."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from muisti.surfaces.cli.shared import common_options, print_json

_COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}


@click.command()
@common_options
def doctor(vault: str | None, as_json: bool) -> None:
    """Check the vault, the index and the agents.

    Exits with 1 if there is a problem. Changes nothing: creates no vault, repairs no index, loads
    no model.
    """
    from muisti.surfaces.setup.agents import Machine
    from muisti.surfaces.setup.check_agents import check_agents
    from muisti.surfaces.setup.check_vault import check_vault
    from muisti.surfaces.setup.findings import Finding, Level

    try:
        machine = Machine.current()
    except (OSError, RuntimeError) as error:  # the current folder was deleted, or there is no home
        what = f"the current folder cannot be used: {error}"
        findings = [Finding("folder", Level.PROBLEM, what, f"cd {Path(sys.prefix).anchor}")]
    else:
        findings = [*check_vault(vault), *check_agents(machine)]
        areas = list(dict.fromkeys(finding.area for finding in findings))
        findings.sort(key=lambda finding: areas.index(finding.area))
    number = sum(finding.level == "problem" for finding in findings)
    if as_json:
        plain = [{**asdict(finding), "cure": finding.fix} for finding in findings]
        print_json({"ok": not number, "findings": plain})  # `cure` is the old name of `fix`
    else:
        from muisti.surfaces.cli.render import format_count, replace_unprintable

        width = max(len(finding.area) for finding in findings)
        for finding in findings:
            level = click.style(f"{finding.level:<7}", fg=_COLOURS[finding.level])
            click.echo(f"{level}  {finding.area:<{width}}  {replace_unprintable(finding.what)}")
            if finding.fix:
                fix = click.style(f"→ {replace_unprintable(finding.fix)}", dim=True)
                click.echo(f"{'':<{width + 11}}{fix}")
        click.echo(f"\n{format_count(number, 'problem')} found." if number else "\nNo problems.")
    if number:
        sys.exit(1)


COMMANDS = {"doctor": doctor}

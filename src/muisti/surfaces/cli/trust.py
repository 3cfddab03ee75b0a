"""`muisti trust`: say that a vault found in the working folder is yours."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from muisti.errors import InvalidRequest, MuistiError, VaultNotFound
from muisti.settings import SETTINGS_FILE, find_vault, get_own_vault, list_ignored_settings
from muisti.surfaces.cli.render import format_count, replace_unprintable
from muisti.surfaces.cli.shared import common_options, print_json


@click.command()
@click.argument("path", required=False, metavar="[VAULT]")
@click.option("--list", "is_list", is_flag=True, help="List the vaults that you trust.")
@click.option("--remove", is_flag=True, help="Stop trusting the vault.")
@click.option("--yes", "-y", is_flag=True, help="Skip the confirmation.")
@common_options
def trust(
    path: str | None, is_list: bool, remove: bool, yes: bool, vault: str | None, as_json: bool
) -> None:
    """Trust a vault that was found in the working folder.

    Until then it is read-only, its memories are unverified, and its settings and its instructions
    for agents have no effect. VAULT is the one found from the current folder by default. A vault
    that you created on this machine is trusted already.
    """
    from muisti import trust as consents

    if is_list:
        _print_list(as_json=as_json)
        return
    if path and vault and path != vault:
        raise InvalidRequest("--vault", vault, "must be left out if VAULT is given")
    root = find_vault(vault or path)
    if remove:
        is_changed = consents.withdraw_consent(root)
        text = f"No longer trusted: {root}" if is_changed else f"{root} was not trusted."
    else:
        if not (root / SETTINGS_FILE).is_file():
            raise VaultNotFound(f"there is no vault at {root}")
        is_changed = root != get_own_vault() and not consents.is_trusted(root)
        text = f"Trusted: {root}" if is_changed else f"{root} is trusted already."
        if is_changed:
            if not yes:
                _ask(root)
            consents.give_consent(root)
    if as_json:
        trusted = not remove or root == get_own_vault()
        print_json({"vault": str(root), "trusted": trusted, "changed": is_changed})
    else:
        click.echo(replace_unprintable(text))


def _ask(root: Path) -> None:
    """Show what the vault holds and ask. Raises InvalidRequest without a terminal."""
    if not sys.stdin.isatty():
        reason = "asks for confirmation, but stdin is not a terminal; add --yes to confirm"
        raise InvalidRequest("trust", root, reason)
    for line in describe_vault(root):
        click.echo(replace_unprintable(line))
    click.confirm("Trust it?", abort=True)


def describe_vault(root: Path) -> list[str]:
    """Return what becomes effective if a vault is trusted, for the user to decide."""
    from muisti import bootstrap
    from muisti.storage.files.core_memory import FileCoreMemory

    lines = [str(root)]
    with bootstrap.open(root, role="cli", foreign=True) as memory:
        lines.append(f"  {format_count(memory.get_stats().total_count, 'memory')}")
    try:
        settings = list_ignored_settings(root)
        rules = FileCoreMemory(root).read().agent
    except MuistiError as error:
        return [*lines, f"  {error}"]
    if settings:
        lines.append(f"  settings: {', '.join(settings)}")
    lines += [f"  rule for agents: {key}: {value}" for key, value in rules.items()]
    return lines


def _print_list(*, as_json: bool) -> None:
    from muisti.trust import is_trusted, list_consents

    found = []
    for one in list_consents():
        root = Path(one.path)
        exists = os.path.lexists(root / SETTINGS_FILE)
        state = "gone" if not exists else "trusted" if is_trusted(root) else "replaced"
        since = datetime.fromtimestamp(one.at, UTC)
        found.append({"vault": one.path, "since": since.isoformat("T", "seconds"), "state": state})
    if as_json:
        print_json(found)
        return
    for entry in found:
        mark = "" if entry["state"] == "trusted" else f" ({entry['state']})"
        click.echo(replace_unprintable(f"{entry['since'][:10]}  {entry['vault']}{mark}"))
    if not found:
        click.echo("No vaults besides your own.")


COMMANDS = {"trust": trust}

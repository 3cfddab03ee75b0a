"""`muisti git`: merge a vault that several people or machines write to."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from muisti.errors import VaultNotFound, VaultNotTrusted
from muisti.settings import SETTINGS_FILE, find_vault, is_foreign
from muisti.surfaces.cli.render import replace_unprintable
from muisti.surfaces.cli.shared import common_options, print_json


@click.group()
def git() -> None:
    """Set up git to merge clones of a vault."""


@git.command()
@click.option("--remove", is_flag=True, help="Revert the set-up.")
@common_options
def setup(remove: bool, vault: str | None, as_json: bool) -> None:
    """Set up git to merge the vault field by field.

    Writes rules into the vault's .gitattributes, which you commit, and the merge driver into the
    configuration of this clone. Run it once in each clone. A clone without it merges memories as
    text, and keeps the lines of both sides in logs.
    """
    from muisti.surfaces.git.repository import set_up, tear_down
    from muisti.surfaces.setup.commands import find_program

    root = _find_own_vault(vault)
    changed = tear_down(root) if remove else set_up(root, find_program())
    if as_json:
        print_json({"vault": str(root), "set_up": not remove, "changed": changed})
        return
    for one in changed:
        click.echo(replace_unprintable(f"Wrote {one}"))
    if not changed:
        click.echo("Not set up." if remove else "Set up already.")
    elif not remove:
        click.echo("Commit .gitattributes, and run `muisti git setup` in each clone.")


@git.command()
@common_options
def resolve(vault: str | None, as_json: bool) -> None:
    """Resolve the conflicts that need no decision, after a merge that stopped.

    Git runs the merge driver only for files that both sides have under the same path. This command
    handles the others: a memory that both sides deleted is kept in the trash once. Conflicts in
    texts are listed and left to you.
    """
    from muisti.surfaces.git.repository import run_git
    from muisti.surfaces.git.resolve import resolve_conflicts

    root = _find_own_vault(vault)
    resolved, left = resolve_conflicts(root)
    if as_json:
        print_json({"vault": str(root), "resolved": resolved, "left": left})
        return
    for path in resolved:
        click.echo(replace_unprintable(f"Resolved: {path}"))
    for path in left:
        click.echo(replace_unprintable(f"Conflict: {path}"))
    if not left:
        merged = run_git(root, "rev-parse", "--quiet", "--verify", "MERGE_HEAD", allowed=(0, 1))
        finish = "; `git commit` finishes the merge" if merged else ""
        click.echo(f"No conflicts left{finish}.")


@git.command(
    "merge-file", hidden=True, context_settings={"ignore_unknown_options": True}
)  # `main` runs it without click
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def merge_file(arguments: tuple[str, ...]) -> None:
    """Merge BASE, OURS and THEIRS of PATH into OURS. Git runs this."""
    from muisti.surfaces.git.driver import main

    sys.exit(main(list(arguments)))


def _find_own_vault(vault: str | None) -> Path:
    """Return the folder of the vault. Raises VaultNotFound, VaultNotTrusted, Unsupported."""
    from muisti.trust import is_trusted

    root = find_vault(vault)
    if not (root / SETTINGS_FILE).is_file():
        raise VaultNotFound(f"there is no vault at {root}")
    if is_foreign(root, vault) and not is_trusted(root):
        raise VaultNotTrusted(f"{root} is not trusted; if it is yours: muisti trust {root}")
    return root


COMMANDS = {"git": git}

"""`muisti init`: create a vault, or say how to use a folder of notes that is there already."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

import click

from muisti.errors import VaultUnusable
from muisti.locations import find_database
from muisti.settings import SETTINGS_FILE, find_vault
from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import common_options, note, open_vault, print_json

MOST_COUNTED = 5000
MOST_READ = 200
_PROJECT_FILES = frozenset(
    "readme changelog contributing license licence security code_of_conduct governance authors "
    "agents claude gemini copilot-instructions memory user".split()
)
"""Markdown files that a software project has; they are not notes."""
_NO_NOTES = frozenset(("node_modules", "site-packages", "vendor"))


@dataclass(frozen=True, slots=True)
class Notes:
    """The Markdown files of a folder that is not a vault."""

    others: int = 0
    """Files that a vault in this folder would leave alone."""
    adopted: int = 0
    """Files that would become memories, because of their folder: they would get an ID."""


@click.command()
@click.argument("path", required=False)
@click.option(
    "--adopt", is_flag=True, help="Make notes in folders such as notes/ memories: adds IDs to them."
)
@common_options
def init(path: str | None, adopt: bool, vault: str | None, as_json: bool) -> None:
    """Create a vault in PATH, or check the one there.

    PATH is the current folder by default. If it is a folder of notes, you can index or import them
    instead. A vault is a plain folder: to move it to another machine, copy it (`muisti stats` shows
    where it is) and run `muisti init PATH` and `muisti trust PATH` there.
    """
    root = find_vault(vault or path or ".")
    is_new = not (root / SETTINGS_FILE).is_file()
    notes = find_notes(root) if is_new and not adopt else Notes()
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
    if is_terminal and (notes.others or notes.adopted):
        if not _offer(root, notes):
            return
    elif notes.adopted:
        number = render.format_count(notes.adopted, "Markdown file")
        raise VaultUnusable(
            f"{root} has {number} that would become memories and get an ID each. To search the "
            f"notes unchanged: muisti index {root}; to copy them into your vault: muisti import "
            f"{root}; to make them memories: muisti init {root} --adopt"
        )
    _create(root, notes, is_new=is_new, as_json=as_json)


def find_notes(root: Path) -> Notes:
    """Count the Markdown files of a folder. A folder with memories in it has no notes."""
    from muisti.filesystem import Tree, UnsafeFile
    from muisti.settings import Settings
    from muisti.storage.files.memory_ids import has_memory_id
    from muisti.storage.files.path_info import PathInfo
    from muisti.storage.files.vault import scan_folder

    if not root.is_dir():
        return Notes()
    tree, settings = Tree(root), Settings()
    others = adopted = 0
    for number, (path, _) in enumerate(islice(scan_folder(tree, ""), MOST_COUNTED)):
        parts = PurePosixPath(path)
        if parts.stem.casefold() in _PROJECT_FILES or _NO_NOTES.intersection(parts.parts):
            continue
        if number < MOST_READ:
            with suppress(OSError, UnsafeFile):
                fd, _ = tree.open(path, os.O_RDONLY)
                with os.fdopen(fd, "rb") as file:
                    if has_memory_id(file.read(4096)):
                        return Notes()
        if PathInfo.of(path, settings).kind:
            adopted += 1
        else:
            others += 1
    return Notes(others, adopted)


def _offer(root: Path, notes: Notes) -> bool:
    """Ask what to do with a folder of notes, and do it. Return whether to create a vault."""
    shown = render.replace_unprintable(str(root))
    number = render.format_count(notes.others + notes.adopted, "Markdown file")
    changes = "The notes are not changed and not searched."
    if notes.adopted:
        one = render.format_count(notes.adopted, "note")
        changes = f"{one} in folders such as notes/ would become memories: an ID is added to each."
    click.echo(f"{shown} has {number}. You can:")
    click.echo(f"  index   Search them where they are: muisti index {shown}")
    click.echo("          They are never changed, and read again when you change them.")
    click.echo(f"  import  Copy each into your vault as a memory: muisti import {shown}")
    click.echo("          The notes are not changed.")
    click.echo(f"  vault   Create a vault in this folder. {changes}")
    choice = click.prompt(
        "Which one", type=click.Choice(["index", "import", "vault", "none"]), default="none"
    )
    context = click.get_current_context()
    if choice == "index":
        from muisti.surfaces.cli.documents import index

        context.invoke(index, path=str(root))
    elif choice == "import":
        from muisti.surfaces.cli.transfer import import_

        context.invoke(import_, source=root)
    return bool(choice == "vault")


def _create(root: Path, notes: Notes, *, is_new: bool, as_json: bool) -> None:
    """Create or open the vault, and print its state."""
    from muisti.trust import is_trusted

    with open_vault(str(root), create=True) as memory:
        number = memory.get_stats().total_count
    if as_json:
        print_json({"vault": str(root), "memories": number})
        return
    memories = render.format_count(number, "memory")
    if is_new and number:
        memories += " from existing files; IDs were added to them"
    click.echo(f"{'Created vault' if is_new else 'Vault ready'}: {root} ({memories})")
    click.echo('Next: muisti save "something worth remembering"')
    if notes.others:
        files = render.format_count(notes.others, "other Markdown file")
        note(f"This folder has {files}, unchanged. To copy them as memories: muisti import {root}")
    if not is_trusted(root):
        note(f"Note: this vault is not trusted when found in a folder; muisti trust {root}")
    if find_database():
        note(
            "Note: MUISTI_STORE or MUISTI_VAULT names a database; that is used until you unset it."
        )
        return
    used = find_vault()
    if used != root and find_vault(start=root) != root:
        note(f"Note: MUISTI_VAULT is set to {used}; that vault is used until you unset it.")
    elif used != root:
        note(f"Note: commands outside this folder use {used}; to use this vault everywhere:")
        note(f"  export MUISTI_VAULT={root}")


COMMANDS = {"init": init}

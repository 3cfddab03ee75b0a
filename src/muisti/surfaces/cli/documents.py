"""The command that adds Markdown outside the vault to the search."""

from __future__ import annotations

from dataclasses import replace

import click

from muisti.errors import InvalidRequest
from muisti.surfaces.cli import render, render_conversations
from muisti.surfaces.cli.shared import (
    common_options,
    embed_or_leave,
    note,
    open_vault,
    print_json,
)


@click.command()
@click.argument("path", required=False)
@click.option("--source", help="Name of this source in results. Default: unchanged, or each file.")
@click.option(
    "--project", help="Project the documents belong to. Default: unchanged, or all projects."
)
@click.option("--user", help="User who sees the documents. Default: unchanged, or all users.")
@click.option(
    "--trusted/--untrusted", default=None, help="Whether agents may rely on the documents."
)
@click.option("--files", is_flag=True, help="List the files and their versions.")
@click.option("--forget", is_flag=True, help="Remove PATH from the index; its files stay.")
@common_options
def index(
    path: str | None,
    source: str | None,
    project: str | None,
    user: str | None,
    trusted: bool | None,
    files: bool,
    forget: bool,
    vault: str | None,
    as_json: bool,
) -> None:  # shape: one argument for each option
    """Add a Markdown file or folder to the search.

    The files stay in PATH and are read again when they change. A vault in a database gets a copy of
    their text: run the command again after a change. Ctrl+C while they are embedded
    leaves the rest to the next search. Without PATH: list what is indexed.
    """
    if files:
        if path is not None:
            raise InvalidRequest("path", path, "must be left out with --files")
        _list_files(vault, as_json=as_json)
        return
    if path is None:
        if forget or source or project or user or trusted:
            raise InvalidRequest("path", "", "must name a Markdown file or a folder")
        with open_vault(vault) as memory:
            sources = memory.list_document_sources()
        if as_json:
            print_json(sources)
        elif sources:
            render_conversations.print_document_sources(sources)
        else:
            note("No document sources yet. Add a folder: muisti index docs/")
        return
    # What is to be forgotten is not read once more.
    with open_vault(vault, create=not forget, sync=not forget) as memory:
        if forget:
            indexed = memory.forget_path(path)
        else:
            indexed = memory.index_path(path, source, project=project, user=user, trusted=trusted)
            embed_or_leave(memory, vault, quiet=as_json)
        prefix = f"{indexed.path}/"
        problems = [
            replace(problem, path=problem.path.removeprefix(prefix) or problem.path)
            for problem in memory.problems()
            if f"{problem.path}/".startswith(prefix)
        ]
    if as_json:
        print_json(indexed)
        return
    shown_path = render.replace_unprintable(indexed.path)
    if forget:
        click.echo(f"Removed {shown_path} from the index; its files are unchanged.")
    else:
        click.echo(f"Indexed {render.format_count(indexed.documents, 'document')} in {shown_path}.")
    render.print_problems(problems)


def _list_files(vault: str | None, *, as_json: bool) -> None:
    with open_vault(vault) as memory:
        documents = memory.list_documents()
    if as_json:
        print_json(documents)
    elif documents:
        render_conversations.print_documents(documents)
    else:
        note("No documents yet. Add a folder: muisti index docs/")


COMMANDS = {"index": index}

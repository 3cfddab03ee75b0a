"""The commands that copy a vault between a folder and a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import common_options, note, print_json, progress_bar

if TYPE_CHECKING:
    from muisti.model import MoveReport

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Output JSON.")


@click.command()
@click.argument("store")
@common_options
def push(store: str, vault: str | None, as_json: bool) -> None:
    """Copy a vault into a PostgreSQL database.

    STORE is an address such as postgresql://user@host/database. The database must be empty. Run the
    command again to continue a push that was cut short; until it is complete, do not use STORE. The
    settings in muisti.toml are not copied.
    """
    from muisti.bootstrap_moving import push as copy

    with (
        _explain_interrupt(),
        progress_bar("Pushing", then="Copying vectors", quiet=as_json) as progress,
    ):
        report = copy(store, vault, progress=progress)
    _print_report(report, "Pushed", as_json=as_json)


@click.command()
@click.argument("store")
@click.argument("folder")
@AS_JSON
def pull(store: str, folder: str, as_json: bool) -> None:
    """Copy a vault from a PostgreSQL database into a folder.

    FOLDER must not exist, or be empty except for a muisti.toml. Run the command again to continue a
    pull that was cut short.
    """
    copy_to_folder(store, folder, "Pulled", as_json=as_json)


def copy_to_folder(store: str, folder: str, verb: str, *, as_json: bool) -> None:
    """Copy a vault from a database into a folder, with a progress bar, and print the report."""
    from muisti.bootstrap_moving import pull as copy

    with (
        _explain_interrupt(),
        progress_bar("Copying", then="Indexing", quiet=as_json) as progress,
    ):
        report = copy(store, folder, progress=progress)
    _print_report(report, verb, as_json=as_json)


@contextmanager
def _explain_interrupt() -> Iterator[None]:
    """Say how to continue after Ctrl+C."""
    try:
        yield
    except KeyboardInterrupt:
        note("Stopped. Run the same command again to continue.")
        raise


def _print_report(report: MoveReport, verb: str, *, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    files = render.format_count(report.files, "file")
    lines = render.format_count(report.line_files, "file")
    vectors = render.format_count(report.vectors, "text")
    click.echo(f"{verb} {files} and {lines} of conversations and the journal.")
    click.echo(f"Copied the vectors of {vectors}; missing ones are created by the next search.")
    render.print_problems(report.problems)


COMMANDS = {"push": push, "pull": pull}

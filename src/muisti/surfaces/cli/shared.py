"""What all verbs have in common: options, opening the vault, names of memories, output."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from muisti.engine import Muisti
from muisti.errors import InvalidRequest, MemoryNotFound
from muisti.model.fields import Field, Match
from muisti.model.jsonable import to_jsonable
from muisti.ports import Progress
from muisti.recall.filters import FILTERED, FilterOptions

Function = TypeVar("Function", bound=Callable[..., Any])


def common(function: Function) -> Function:
    """`--vault` and `--json`, which every verb takes."""
    function = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(
        function
    )
    return click.option(
        "--vault",
        metavar="PATH",
        help="The vault; default: MUISTI_VAULT, the nearest one upwards, or yours.",
    )(function)


def filters(function: Function) -> Function:
    """Options that narrow a search or a list; passed on as one dictionary named `narrowed`."""
    options = (
        click.option(
            "--project", help="Only this project's memories (and global ones); * for all."
        ),
        click.option(
            "--unfiled", is_flag=True, help="With a project: what belongs to no project, too."
        ),
        click.option(
            "--session-id",
            metavar="ID",
            help="Ask as this session: see its own session-tier memories.",
        ),
        click.option("--session", metavar="ID", help="Only memories made in this session."),
        *(_filter_option(field) for field in FILTERED),
        click.option(
            "--min-salience",
            type=float,
            default=0.0,
            help="Only memories at least this strong (0 to 1).",
        ),
        click.option("--since", type=Moment(), help="Only memories made at or after this time."),
        click.option("--until", type=Moment(), help="Only memories made before this time."),
        click.option("--as-of", type=Moment(), help="Only what was valid at this time."),
        click.option(
            "--known-at", type=Moment(), help="Only what had been remembered by this time."
        ),
        click.option("--include-deleted", is_flag=True, help="The trash too."),
    )
    names = tuple(name for name in FilterOptions.__annotations__ if name != "source")

    @functools.wraps(function)
    def narrowed(**arguments: Any) -> Any:
        return function(narrowed={name: arguments.pop(name) for name in names}, **arguments)

    decorated: Any = narrowed
    for option in reversed(options):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def option_names(field: Field) -> tuple[str, ...]:
    """The flags of a field's option, and the argument that a verb gets it in."""
    flags = field.flags or (f"--{field.name.replace('_', '-')}",)
    return *flags, field.name


def _filter_option(field: Field) -> Callable[[Function], Function]:
    """The option that narrows by a field."""
    many = field.match in (Match.ANY_OF, Match.ALL_OF)
    return click.option(*option_names(field), multiple=many, help=field.match_help)


def sources(function: Function) -> Function:
    """`--source`, of verbs that find more than memories."""
    told = "Only memory, document, message, or what a document is called; may be repeated."
    return click.option("--source", multiple=True, help=told)(function)


def mode(function: Function) -> Function:
    """`--mode`, of verbs that search."""
    choice = click.Choice(["hybrid", "vector", "keyword"])
    return click.option(
        "--mode", type=choice, default="hybrid", show_default=True, help="What to go by."
    )(function)


def tell_degraded(found: object) -> None:
    """Say so if an answer goes by less than was asked for."""
    degraded = getattr(found, "degraded", "")
    if degraded:
        note(f"Note: {degraded}")


class Moment(click.ParamType[datetime]):
    """A date, or a date and time; without a zone it is this machine's."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Parse ISO 8601."""
        if isinstance(value, datetime):
            return value
        try:
            return datetime.fromisoformat(value).astimezone(UTC)
        except ValueError:
            self.fail(
                f"{value!r} is no time; write it like 2026-01-31 or 2026-01-31T12:00:00Z",
                param,
                ctx,
            )


@contextmanager
def opened(vault: str | None, *, create: bool = False) -> Iterator[Muisti]:
    """The vault, for one verb."""
    from muisti import bootstrap

    with bootstrap.open(vault, role="cli", create=create) as memory:
        yield memory


@contextmanager
def unsynced(vault: str | None) -> Iterator[Muisti]:
    """The vault as it is: hand edits are not taken in on opening, so that there is something left to tell."""
    from muisti import bootstrap

    with bootstrap.open(vault, role="cli", settings={"sync_on_open": False}) as memory:
        yield memory


def whole_id(memory: Muisti, part: str) -> str:
    """The id that a person means by its first or last characters."""
    wanted = part.strip().lstrip("…")
    if len(wanted) < 4:
        raise InvalidRequest(
            "id", part, "give at least four of its characters, the first or the last ones"
        )
    found = memory.find_ids(wanted)
    if whole := [id_ for id_ in found if id_.lower() == wanted.lower()]:
        return whole[0]
    if len(found) > 1:
        raise InvalidRequest(
            "id", part, f"it fits {len(found)} memories; give more of it, for example {found[0]}"
        )
    if not found:
        raise MemoryNotFound(part)
    return found[0]


def whole_session(memory: Muisti, part: str) -> str:
    """The session that a person means by the last characters of its id."""
    wanted = part.strip().lstrip("…")
    fits = [
        s.id
        for s in memory.list_sessions(limit=1000)
        if s.id == wanted or (len(wanted) >= 4 and s.id.endswith(wanted))
    ]
    return wanted if wanted in fits or len(fits) != 1 else fits[0]


def print_json(value: object) -> None:
    """JSON for programs."""
    click.echo(json.dumps(to_jsonable(value), ensure_ascii=False, indent=2))


def note(text: str) -> None:
    """A remark for the person, kept out of what a program reads."""
    click.echo(text, err=True)


def warn_of_problems(memory: Muisti) -> None:
    """Say so if files of the vault could not be read: an answer without them must not look complete."""
    problems = memory.problems()
    if problems:
        files = "1 file" if len(problems) == 1 else f"{len(problems)} files"
        first = problems[0].path if problems[0].path.isprintable() else ascii(problems[0].path)
        note(f"Note: {files} could not be read, first {first}; `muisti verify` tells what to do.")


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Progress | None]:
    """A progress bar on the terminal, if there is one."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)

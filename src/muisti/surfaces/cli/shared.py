"""What commands share: options, opening the vault, resolving IDs, output."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from muisti.errors import EmbedderProblem, InvalidRequest, MemoryNotFound
from muisti.locations import find_database
from muisti.model import Memory
from muisti.model.fields import Field, Match, ValueType
from muisti.ports import Progress
from muisti.recall.filters import ALL, FILTERED, OPTIONS
from muisti.settings import is_foreign
from muisti.surfaces.cli.vaults import (
    OpenVault,
    get_scope,
    keep_warm,
    note,
    note_scope,
    note_trust,
    open_to_search,
    open_vault,
    print_json,
    warn_if_degraded,
    warn_of_problems,
)

if TYPE_CHECKING:
    from muisti.engine import Muisti

__all__ = [
    "TIME_EXAMPLES",
    "VAULT_HELP",
    "Function",
    "OpenVault",
    "Time",
    "common_options",
    "confirm_change",
    "confirm_deletion",
    "embed_or_leave",
    "embed_with_bar",
    "filter_options",
    "find_replaced",
    "flag_names",
    "get_scope",
    "keep_warm",
    "mode_option",
    "note",
    "note_scope",
    "note_trust",
    "open_to_search",
    "open_vault",
    "option_names",
    "print_json",
    "progress_bar",
    "read_stdin",
    "resolve_id",
    "resolve_session",
    "since_option",
    "source_option",
    "warn_if_degraded",
    "warn_of_problems",
]
Function = TypeVar("Function", bound=Callable[..., Any])

VAULT_HELP = (
    "Vault to use: a folder, or postgresql://user@host/database. Default: MUISTI_STORE, "
    "MUISTI_VAULT, the nearest parent vault, or your own."
)


TIME_EXAMPLES = "write it like 2026-01-31, 2026-01-31T12:00:00Z, yesterday or '3 days ago'"


class Time(click.ParamType[datetime]):
    """A date or a time in ISO 8601, or a phrase such as `last week`. In local time by default.

    A phrase names a span. Of it, an option takes the start, the end, or a moment: the end, but now
    if the span has not ended yet.
    """

    name = "time"

    def __init__(self, take: Literal["start", "end", "moment"] = "start") -> None:
        self._take = take

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return the time in UTC, or fail with a usage error."""
        if isinstance(value, datetime):
            return value
        with suppress(ValueError, OverflowError):
            return datetime.fromisoformat(value).astimezone(UTC)
        from muisti.text.time_expressions.phrase import parse_phrase  # slow to import

        now = datetime.now()  # local time: its zone may have another offset in the past
        span = parse_phrase(value, now)
        if span is None:
            self.fail(f"{value!r} is not a valid time; {TIME_EXAMPLES}", param, ctx)
        start, end = span
        if self._take == "start":
            chosen = start
        elif self._take == "end" or start == end:
            chosen = end
        else:
            chosen = now if start <= now < end else end - timedelta(microseconds=1)
        try:
            return chosen.astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is out of range; {TIME_EXAMPLES}", param, ctx)


since_option = click.option(
    "--since",
    type=Time(),
    help="Only memories created at or after this time: 2026-01-31, yesterday, '3 days ago' …",
)


_TIME_OPTIONS = (
    since_option,
    click.option(
        "--until",
        type=Time("end"),
        help="Only memories created before this time; of a phrase such as 2026-01 or "
        "'last week', until its end.",
    ),
    click.option("--as-of", type=Time("moment"), help="Only memories valid at this time."),
    click.option(
        "--known-at", type=Time("moment"), help="Only memories already saved at this time."
    ),
)


def common_options(function: Function) -> Function:
    """Add `--vault` and `--json`."""
    as_json = click.option("--json", "as_json", is_flag=True, help="Output JSON.")
    vault = click.option("--vault", "--store", "vault", metavar="PATH", help=VAULT_HELP)
    return vault(as_json(function))


def filter_options(function: Function) -> Function:
    """Add the options that filter memories; they are passed as one dictionary, `filters`."""
    everything = (
        ["--all-projects"] if function.__name__ == "keywords" else ["--all", "--all-projects"]
    )
    options = (
        click.option(
            "--project",
            help="Only this project's memories and global ones; * for all projects. Default: the "
            "repository of the current folder.",
        ),
        click.option(
            *everything,
            "everything",
            is_flag=True,
            help="Memories of all projects and, without --user, of all users.",
        ),
        click.option(
            "--unfiled", is_flag=True, help="With --project: also memories without a project."
        ),
        click.option(
            "--session-id",
            metavar="ID",
            help="Search as this session: include its session-tier memories.",
        ),
        click.option("--session", metavar="ID", help="Only memories created in this session."),
        *(_filter_option(field) for field in FILTERED),
        click.option(
            "--min-salience",
            type=float,
            default=0.0,
            help="Only memories with at least this salience (0 to 1).",
        ),
        *_TIME_OPTIONS,
        click.option("--include-deleted", is_flag=True, help="Include the trash."),
    )
    names = tuple(name for name in OPTIONS if name != "source")

    @functools.wraps(function)
    def with_filters(**arguments: Any) -> Any:
        filters = {name: arguments.pop(name) for name in names}
        if arguments.pop("everything"):
            if filters["project"] not in (None, ALL):
                raise click.UsageError("pass either --project or --all-projects, not both")
            filters["project"] = ALL
            filters["user"] = ALL if filters["user"] is None else filters["user"]
        return function(filters=filters, **arguments)

    decorated: Any = with_filters
    for option in reversed(options):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def _filter_option(field: Field) -> Callable[[Function], Function]:
    if field.value_type is ValueType.FLAG:
        return click.option(*flag_names(field), default=None, help=field.match_help)
    multiple = field.match in (Match.ANY_OF, Match.ALL_OF)
    return click.option(*option_names(field), multiple=multiple, help=field.match_help)


def flag_names(field: Field) -> tuple[str, ...]:
    """Return the flags of a yes-or-no field: to set it, and to unset it."""
    return (f"--{field.name}/--not-{field.name}",)


def option_names(field: Field) -> tuple[str, ...]:
    """Return the flags of a field's option, then the name of its argument."""
    flags = field.flags or (f"--{field.name.replace('_', '-')}",)
    return *flags, field.name


def source_option(function: Function) -> Function:
    """Add `--source`, for commands that find messages and documents too."""
    text = "Only memory, message, document, or the name of a document source; may be repeated."
    return click.option("--source", multiple=True, help=text)(function)


def mode_option(function: Function) -> Function:
    """Add `--mode`, for commands that search."""
    choice = click.Choice(["hybrid", "vector", "keyword"])
    return click.option(
        "--mode", type=choice, default="hybrid", show_default=True, help="Search mode."
    )(function)


def resolve_id(memory: Muisti, part: str) -> str:
    """Return the full ID for its first or last characters.

    Raises InvalidRequest if they are ambiguous or fewer than four, MemoryNotFound if none match.
    """
    wanted = part.strip().lstrip("…")
    if len(wanted) < 4:
        raise InvalidRequest("id", part, "must have at least four characters")
    matches = memory.find_ids(wanted)
    for match in matches:
        if match.lower() == wanted.lower():
            return match
    if len(matches) > 1:
        reason = f"matches {len(matches)} memories; use more characters, such as {matches[0]}"
        raise InvalidRequest("id", part, reason)
    if not matches:
        raise MemoryNotFound(part)
    return matches[0]


def resolve_session(memory: Muisti, part: str) -> str:
    """Return the full ID of a session for its last characters, or `part` itself."""
    wanted = part.strip().lstrip("…")
    ids = [session.id for session in memory.list_sessions(limit=1000)]
    if wanted in ids or len(wanted) < 4:
        return wanted
    matches = [session_id for session_id in ids if session_id.endswith(wanted)]
    return matches[0] if len(matches) == 1 else wanted


def read_stdin() -> str:
    """Return standard input as text. Raises InvalidRequest if it is not UTF-8."""
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest("stdin", "", f"is not UTF-8 (byte {error.start})") from error


def confirm_deletion(what: str, option: str, *, yes: bool, is_hard: bool = True) -> None:
    """Ask before something is deleted. Raises InvalidRequest without a terminal."""
    hard = f"Delete {what} permanently? This cannot be undone"
    confirm_change(hard if is_hard else f"Remove {what}?", option, yes=yes)


def confirm_change(question: str, option: str, *, yes: bool) -> None:
    """Ask a question, and abort unless the answer is yes. Raises InvalidRequest if nobody can."""
    if yes:
        return
    if not sys.stdin.isatty():
        reason = "asks for confirmation, but stdin is not a terminal; add --yes to confirm"
        raise InvalidRequest(option, "", reason)
    click.confirm(question, abort=True)


def find_replaced(memory: Muisti, found: Memory) -> list[Memory]:
    """Return the memories that this one replaced."""
    ids = [link.target for link in found.links if link.supersedes]
    return [old for old in map(memory.get, ids) if old is not None]


@contextmanager
def progress_bar(title: str, *, then: str = "", quiet: bool) -> Iterator[Progress | None]:
    """Show a progress bar if standard error is a terminal; yield its callback, or None.

    If the numbers begin again, that is the next step, `then`, with a bar of its own. A bar stays
    when its work is done, at its end; without any numbers it disappears.
    """
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
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        bar.add_task(title, total=None)

        def report(done: int, total: int) -> None:
            if done < bar.tasks[-1].completed:
                finish()
                bar.add_task(then or title, total=total)
            bar.update(bar.tasks[-1].id, completed=done, total=total)

        def finish() -> None:
            task = bar.tasks[-1]
            bar.update(task.id, completed=task.total or 0, visible=task.total is not None)

        yield report
        finish()


def embed_with_bar(memory: Muisti, *, quiet: bool) -> None:
    """Embed what is missing. If that fails or is interrupted, searches embed the rest."""
    try:
        with progress_bar("Embedding", quiet=quiet) as progress:
            memory.reindex_missing(progress=progress)
    except EmbedderProblem as error:
        note(f"Note: some texts are not embedded and are found by keyword only: {error}")
    except KeyboardInterrupt:
        note("Stopped. The rest is found by keyword until the next search embeds it.")


def embed_or_leave(memory: Muisti, vault: str | None, *, quiet: bool) -> None:
    """Embed what is missing with a progress bar or, without a terminal, in the background."""
    if memory.settings.embedder == "none" or not memory.is_writable:
        return
    if (sys.stderr.isatty() and not quiet) or find_database(vault):
        embed_with_bar(memory, quiet=quiet)
    else:
        from muisti.surfaces.cli import embedding_process

        root = Path(memory.location)
        embedding_process.start(root, foreign=is_foreign(root, vault))

"""J2 · Every option for a time takes ISO 8601 and phrases."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import click
import pytest

from muisti.surfaces.cli.main import MODULES, cli
from muisti.surfaces.cli.shared import Time


def every_option() -> Iterator[tuple[str, click.Option]]:
    """Yield the options of all commands, with the command."""
    context = click.Context(cli)
    waiting = [(name, cli.get_command(context, name)) for name in MODULES]
    while waiting:
        path, command = waiting.pop()
        assert command is not None
        if isinstance(command, click.Group):
            waiting += [(f"{path} {name}", one) for name, one in command.commands.items()]
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                yield path, parameter


def test_J2_every_option_for_a_time_takes_phrases() -> None:
    names = "--since --until --as-of --known-at --asked-at --at --valid-from --valid-until".split()
    found = {
        (path, name): option.type
        for path, option in every_option()
        for name in option.opts
        if name in names or (path, name) == ("forget", "--before")
    }
    assert len(found) > 30
    assert all(isinstance(type_, Time) for type_ in found.values())


@pytest.fixture
def helsinki(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Local time with a summer time."""
    if sys.platform == "win32":
        pytest.skip("the time zone of a process cannot be set")
    monkeypatch.setenv("TZ", "Europe/Helsinki")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("helsinki")
def test_J2_a_span_starts_and_ends_in_local_time() -> None:
    start, end = (Time(edge).convert("2024-03", None, None) for edge in ("start", "end"))
    assert start == datetime(2024, 2, 29, 22, tzinfo=UTC)
    assert end == datetime(2024, 3, 31, 21, tzinfo=UTC)  # summer time
    assert Time("moment").convert("2024-03", None, None) == end - timedelta(microseconds=1)


@pytest.mark.usefixtures("helsinki")
def test_J2_an_iso_time_means_what_it_always_meant() -> None:
    for edge in ("start", "end", "moment"):
        kind = Time(edge)  # type: ignore[arg-type]
        assert kind.convert("2026-01-31", None, None) == datetime(2026, 1, 30, 22, tzinfo=UTC)
        noon = kind.convert("2026-01-31T12:00:00Z", None, None)
        assert noon == datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_J2_a_moment_is_never_later_than_now_within_a_span() -> None:
    before = datetime.now(UTC)
    assert before <= Time("moment").convert("this year", None, None) <= datetime.now(UTC)


def test_J2_what_is_not_a_time_names_the_option_and_examples() -> None:
    with pytest.raises(click.BadParameter) as raised:
        cli.main(["list", "--since", "soon"], standalone_mode=False)
    said = raised.value.format_message()
    assert "--since" in said
    assert "'soon'" in said
    assert "yesterday or '3 days ago'" in said

"""The log of hook runs is bounded, private, and readable even if damaged."""

from __future__ import annotations

import multiprocessing
import stat
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.surfaces.hooks import log
from muisti.surfaces.hooks.paths import get_state_folder
from muisti.text.private_tags import remove_private
from muisti.text.secrets import redact_secrets

AT = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def run(number: int = 0, detail: str = "") -> log.Run:
    return log.Run(
        AT + timedelta(seconds=number), "Stop", "claude-code", "/v", "otters", 12.3, "ok", detail
    )


def test_J6_what_is_recorded_is_read_latest_first() -> None:
    for number in range(5):
        log.record(run(number))
    assert log.read_recent(3) == [run(4), run(3), run(2)]
    assert log.read_recent(0) == []


def test_J6_the_log_is_for_its_user_alone() -> None:
    log.record(run())
    assert stat.S_IMODE((get_state_folder() / log.FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(get_state_folder().stat().st_mode) == 0o700


def test_J6_broken_lines_are_left_out() -> None:
    log.record(run(1))
    path = get_state_folder() / log.FILE
    with path.open("ab") as file:
        file.write(
            b'{"at": "yesterday"}\n\xff\xfe\n[]\nnull\n{"at":"2026-01-01T00:00:00","event":1}\n'
            + b"[" * 5000
            + b"\n{"
        )
        file.write(b'"half a line\n')
    log.record(run(2))
    assert log.read_recent(10) == [run(2), run(1)]


def test_J6_no_log_is_no_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert log.read_recent(5) == []
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("MUISTI_STATE", str(tmp_path / "file"))
    log.record(run())
    assert log.read_recent(5) == []


def test_J6_the_log_stays_small_and_keeps_the_latest() -> None:
    for number in range(3_000):
        log.record(run(number, "x" * 1_000))
    sizes = [path.stat().st_size for path in get_state_folder().iterdir()]
    assert sum(sizes) <= 2 * log.MAX_BYTES
    assert len(log.read_recent(200)) == 200
    assert log.read_recent(1)[0].at == run(2_999).at


def _record_many(first: int) -> None:
    for number in range(first, first + 300):
        log.record(run(number, "y" * 250))


def test_J6_several_processes_write_whole_lines() -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_record_many, args=(1_000 * n,)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    lines = [
        line
        for name in (log.EARLIER, log.FILE)
        for line in (get_state_folder() / name).read_bytes().splitlines()
    ]
    assert len(log.read_recent(10_000)) == len(lines)
    assert len(lines) > 300


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the short cut is for Linux")
@pytest.mark.parametrize("base", ["", "/somewhere/else", "relative"])
def test_J6_the_place_is_the_usual_one(monkeypatch: pytest.MonkeyPatch, base: str) -> None:
    import platformdirs

    monkeypatch.delenv("MUISTI_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", base)
    if base == "relative":
        monkeypatch.delenv("XDG_STATE_HOME")
    assert get_state_folder() == Path(platformdirs.user_state_path("muisti", appauthor=False))


@given(st.from_regex(log._HARMLESS, fullmatch=True))
def test_C1_what_counts_as_harmless_has_no_secret(text: str) -> None:
    assert redact_secrets(remove_private(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "claude-code",
        "vscode",
        "/home/anna/.local/share/muisti/vault",
        "3 memories recalled in project web-shop",
        "1 memory recalled",
        "",
    ],
)
def test_J6_usual_texts_count_as_harmless(text: str) -> None:
    assert log._HARMLESS.fullmatch(text), "the hook would load the module that finds secrets"

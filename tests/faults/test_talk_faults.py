"""Conversations under faults: what was acknowledged is there, every line is whole or set aside, the
index is what a rebuild makes.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.errors import IndexBusy, MuistiError, VaultReadOnly
from muisti.ports import Clock
from tests.conftest import FakeClock
from tests.tiers import amount, steps

from . import test_processes as processes
from .crash import ACKNOWLEDGED, killed_at
from .invariants import copy_vault, fingerprint
from .starve import FailingDisk, ShortDisk
from .test_disk_errors import ERRORS, FAULTS, MOST_STEPS
from .test_index_locked import IMPATIENT, held
from .test_read_only import _open_to_all, as_nobody, as_root

CHAT = "telegram_1"
FILE = "2026-03-10.jsonl"
TORN = b'{"id":"cut","ts":"2026-03-10T12:00:0'


def talk_file(vault: Path) -> Path:
    return vault / "conversations" / CHAT / FILE


def said(memory: Muisti) -> list[str]:
    return [message.content for message in memory.window(CHAT, 1000)]


def _nothing(vault: Path) -> None:
    shutil.rmtree(vault / "conversations", ignore_errors=True)


def _tear(vault: Path) -> None:
    with talk_file(vault).open("ab") as file:
        file.write(TORN)


def _append(memory: Muisti) -> object:
    return memory.append_message(CHAT, "user", "the new one", id="new")


def _sync(memory: Muisti) -> object:
    return memory.sync()


# What happens before, what is done, and what the talk is before and after it.
CASES: dict[
    str, tuple[Callable[[Path], None], Callable[[Muisti], object], list[str], list[str]]
] = {
    "first": (_nothing, _append, [], ["the new one"]),
    "next": (lambda _: None, _append, ["one", "two"], ["one", "two", "the new one"]),
    "torn": (_tear, _append, ["one", "two"], ["one", "two", "the new one"]),
    "set_aside": (_tear, _sync, ["one", "two"], ["one", "two"]),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    vault = tmp_path_factory.mktemp("talk") / "vault"
    with bootstrap.open(vault, clock=FakeClock(), settings={"embedder": "none"}) as memory:
        memory.save("A bystander about the build server", kind="note")
        memory.append_message(CHAT, "user", "one", id="m1")
        memory.append_message(CHAT, "assistant", "two", id="m2")
    return vault


def _begun(template: Path, vault: Path, case: str) -> Path:
    copy_vault(template, vault)
    if case == "first":
        _nothing(vault)
        with bootstrap.open(vault, clock=FakeClock()) as memory:
            memory.sync(confirm=True)
    else:
        CASES[case][0](vault)
    return vault


def check_lines_whole(vault: Path) -> None:
    """B: each line is a message, but a torn last one; nothing that was torn is lost."""
    if not talk_file(vault).exists():
        return
    *lines, last = talk_file(vault).read_bytes().split(b"\n")
    for line in lines:
        assert set(json.loads(line)) == {"id", "ts", "role", "content", "type", "meta"}, line
    aside = talk_file(vault).with_name(f"{FILE}.corrupt")
    kept = (aside.read_bytes() if aside.exists() else b"") + last
    assert kept.count(b'"cut"') <= 3, "what is torn is not piled up"


def check_talk(vault: Path, case: str, *, acknowledged: bool) -> None:
    """A, C, D: what may be found afterwards, and the same after a rebuild."""
    before, after = CASES[case][2:]
    with bootstrap.open(vault, clock=FakeClock()) as memory:
        found = said(memory)
        assert found == after or (found == before and not acknowledged)
        _check_index(memory)
        CASES[case][1](memory)
        assert said(memory) == after, "a repetition must end where one call ends"
        _check_index(memory)
        live = fingerprint(memory)
        assert [hit.memory.content for hit in memory.search_messages("two", conversation=CHAT)][
            :1
        ] == (["two"] if "two" in after else [])
    if "torn" in case or case == "set_aside":
        assert TORN in talk_file(vault).with_name(f"{FILE}.corrupt").read_bytes(), (
            "nobody's bytes are lost"
        )
    shutil.rmtree(vault / ".muisti")
    with bootstrap.open(vault, clock=FakeClock()) as memory:
        assert (said(memory), fingerprint(memory)) == (after, live)


def _check_index(memory: Muisti) -> None:
    problems = [
        problem
        for problem in memory.verify(deep=True).problems
        if "incomplete line was moved" not in problem.reason
    ]
    assert not problems


@pytest.mark.parametrize("case", CASES)
def test_K2_kill_at_every_step_of_a_talk(case: str, template: Path, tmp_path: Path) -> None:
    for k in steps(MOST_STEPS):
        vault = _begun(template, tmp_path / "killed", case)
        answer = killed_at(k, vault, FakeClock(), CASES[case][1])
        try:
            check_lines_whole(vault)
            check_talk(vault, case, acknowledged=answer == ACKNOWLEDGED)
        except BaseException as error:
            error.add_note(f"{case} was killed at step {k}")
            raise
        shutil.rmtree(vault)
        if answer == ACKNOWLEDGED:
            assert k > 3, "the failpoints were not reached"
            return
    pytest.fail(f"{case} did not end")


@pytest.mark.parametrize(
    ("code", "forever"),
    FAULTS,
    ids=lambda v: errno.errorcode[v] if v > 1 else ("once", "forever")[v],
)
@pytest.mark.parametrize("case", CASES)
def test_K2_error_at_every_step_of_a_talk(
    case: str, code: int, forever: bool, template: Path, tmp_path: Path
) -> None:
    assert _walk(case, FailingDisk(code, forever=forever), ERRORS[code], template, tmp_path) >= 2


@pytest.mark.parametrize("forever", [False, True], ids=["once", "forever"])
@pytest.mark.parametrize("case", CASES)
def test_K2_short_write_of_a_talk(case: str, forever: bool, template: Path, tmp_path: Path) -> None:
    assert (
        _walk(
            case, ShortDisk(errno.ENOSPC, forever=forever), ERRORS[errno.ENOSPC], template, tmp_path
        )
        >= 1
    )


def _walk(
    case: str, disk: FailingDisk, expected: type[MuistiError], template: Path, folder: Path
) -> int:
    _, act, before, after = CASES[case]
    for k in steps(MOST_STEPS):
        vault = _begun(template, folder / "starved", case)
        try:
            with bootstrap.open(
                vault, clock=FakeClock(), disk=disk, settings={"sync_on_open": False}
            ) as memory:
                disk.arm(k)
                try:
                    act(memory)
                    acknowledged = True
                except expected as error:
                    assert len(str(error)) > 10
                    acknowledged = False
                check_lines_whole(vault)
                # While the disk still fails, everything that is there can be read.
                assert said(memory) == after or (said(memory) == before and not acknowledged)
                failed = disk.failed
                disk.mend()
                act(memory)
                assert said(memory) == after
            check_talk(vault, case, acknowledged=True)
        except BaseException as error:
            error.add_note(f"{case} was to fail at step {k}")
            raise
        shutil.rmtree(vault)
        if not failed:
            return k - 1
    pytest.fail(f"{case} did not end")


# -- Many at once


def _check_writers(vault: Path, writers: int, count: int) -> None:
    """Every line is whole, none lost, none doubled, each writer's in its order; in the files and in
    the index.
    """
    wanted = {(w, n) for w in range(writers) for n in range(count)}
    lines = [
        json.loads(line)
        for path in sorted((vault / "conversations" / CHAT).glob("*.jsonl"))
        for line in path.read_bytes().splitlines()
    ]
    written = [(line["meta"]["writer"], line["meta"]["n"]) for line in lines]
    assert (len(written), set(written)) == (len(wanted), wanted)
    with bootstrap.open(vault) as memory:
        [chat] = memory.list_conversations()
        assert chat.messages == len(wanted)
        window = [
            (m.meta["writer"], m.meta["n"]) for m in memory.window(CHAT, min(1000, len(wanted)))
        ]
        assert window == written[-len(window) :]
        assert memory.verify(deep=True).ok
        live = fingerprint(memory)
    for writer in range(writers):
        own = [n for w, n in written if w == writer]
        assert own == sorted(own)
    shutil.rmtree(vault / ".muisti")
    with bootstrap.open(vault) as memory:
        assert fingerprint(memory) == live


@pytest.fixture
def _talkers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "WORKER", Path(__file__).with_name("talkers.py"))


@pytest.mark.usefixtures("_talkers")
def test_K1_eight_writers_of_one_talk(vault: Path) -> None:
    count = amount(quick=20, all=60, long=1000)
    processes.together(vault, *[("talk", count)] * 8)
    _check_writers(vault, 8, count)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("_talkers")
def test_K1_reindex_while_others_talk(vault: Path) -> None:
    count = amount(quick=20, all=60, long=300)
    processes.together(vault, ("talk", count), ("talk", count), ("reindex", 8))
    _check_writers(vault, 2, count)


# -- An index that is locked, a vault that cannot be written


def test_K2_a_message_while_the_index_is_locked(vault: Path, clock: Clock) -> None:
    with bootstrap.open(vault, clock=clock, settings=IMPATIENT) as memory:
        memory.append_message(CHAT, "user", "before", id="a")
        with held(vault):
            pending = [
                memory.append_message(CHAT, "user", f"locked {n}", id=f"b{n}") for n in range(3)
            ]
            assert all(message.index_pending for message in pending)
            memory.append_message(CHAT, "user", "locked 0", id="b0")
            with pytest.raises(IndexBusy, match="try again"):
                memory.window(CHAT)
        assert said(memory) == ["before", "locked 0", "locked 1", "locked 2"]
        assert not memory.append_message(CHAT, "user", "locked 0", id="b0").index_pending
        assert len(memory.search_messages("locked")) >= 3
        memory.append_message(CHAT, "user", "after")
        assert said(memory)[-1] == "after"
        _check_index(memory)


def test_K2_the_index_is_deleted_or_damaged_in_the_middle_of_a_talk(
    vault: Path, clock: Clock
) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        memory.append_message(CHAT, "user", "one")
        shutil.rmtree(vault / ".muisti")
        memory.append_message(CHAT, "user", "two")
        assert said(memory) == ["one", "two"]
        for path in (vault / ".muisti").glob("*.db*"):
            path.write_bytes(b"garbage" * 1000)
    with bootstrap.open(vault, clock=clock) as memory:
        memory.append_message(CHAT, "user", "three")
        assert said(memory) == ["one", "two", "three"]
        _check_index(memory)


@as_root
@pytest.mark.parametrize("index", ["there", "missing", "behind", "torn"])
def test_K2_a_talk_where_nothing_can_be_written(clock: Clock, index: str) -> None:
    folder = Path(f"/tmp/muisti-talk-{os.getpid()}-{os.urandom(4).hex()}")
    folder.mkdir()
    vault = folder / "vault"
    try:
        with bootstrap.open(vault, clock=clock) as memory:
            memory.append_message(CHAT, "user", "The ferry leaves at noon", id="a")
        if index == "missing":
            shutil.rmtree(vault / ".muisti")
        elif index == "torn":
            _tear(vault)
        elif index == "behind":
            with talk_file(vault).open("ab") as file:
                file.write(
                    b'{"ts":"2026-03-10T12:00:01Z","role":"user","content":"written by hand"}\n'
                )
        _open_to_all(folder)
        before = talk_file(vault).read_bytes()

        def look() -> None:
            with bootstrap.open(vault, clock=clock) as memory:
                expected = ["The ferry leaves at noon"] + ["written by hand"] * (index == "behind")
                assert said(memory) == expected
                assert memory.search_messages("ferry")[0].memory.content == expected[0]
                for call in (
                    lambda: memory.append_message(CHAT, "user", "new"),
                    lambda: memory.session_break("other_1"),
                ):
                    with pytest.raises(VaultReadOnly, match="writ"):
                        call()
                assert said(memory) == expected
                assert [p.path for p in memory.sync().problems] == [
                    f"conversations/{CHAT}/{FILE}"
                ] * (index == "torn")

        as_nobody(look)
        assert talk_file(vault).read_bytes() == before
    finally:
        shutil.rmtree(folder)

"""A hook always exits with 0 and prints only its reply; errors are in the log."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from muisti.surfaces.hooks import spool
from muisti.surfaces.hooks.events import EVENTS, MAX_BYTES
from muisti.surfaces.hooks.log import read_recent
from tests.conftest import file_store
from tests.surfaces.hooks.conftest import COMMAND, PATIENCE, Hook

ASK = "Which database did we choose?"
BAD = {
    "nothing": b"",
    "blank": b" \n ",
    "no JSON": b"{'prompt': 1",
    "a list": b"[1, 2, 3]",
    "a text": b'"prompt"',
    "null": b"null",
    "no UTF-8": b'{"prompt": "\xff\xfe", "session_id": "s"}',
    "a lone surrogate": b'{"prompt": "\\ud800 which database", "session_id": "\\udfff"}',
    "too deep": b'{"a":' * 100_000,
    "wrong types": b'{"session_id": 5, "cwd": ["x"], "prompt": {"a": 1}, "last_assistant_message": 3.5, "transcript_path": null}',
    "a way out": b'{"session_id": "../../../../etc/passwd", "cwd": "\\u0000", "prompt": "\\u0000", "last_assistant_message": "x\\u0000y"}',
    "an endless id": b'{"session_id": "' + b"a" * 100_000 + b'", "prompt": "x"}',
    "NaN": b'{"session_id": NaN, "prompt": Infinity}',
    "a BOM": b'\xef\xbb\xbf{"session_id": "s", "prompt": "which database did we choose"}',
}


@pytest.fixture
def filled(hook: Hook) -> Hook:
    with hook.open() as memory:
        memory.save("We chose PostgreSQL as our database", kind="decision", tier="global")
    return hook


@pytest.mark.parametrize("what", BAD)
def test_J6_bad_input(filled: Hook, what: str) -> None:
    for event in ("UserPromptSubmit", "Stop", "SessionEnd"):
        answered = filled.raw(event, BAD[what]).stdout
        assert not answered or json.loads(answered)
    filled.settled()
    assert not (filled.vault.parent.parent / "etc").exists()


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("given", [b"", b"{", b"[]"])
def test_J6_what_is_no_message_is_an_error_in_the_log(hook: Hook, event: str, given: bytes) -> None:
    assert hook.raw(event, given).stdout == b""
    (run,) = read_recent(5)
    assert (run.event, run.outcome) == (event, "error")
    assert run.detail.startswith("BadPayload: ")


def test_J6_too_much_input(filled: Hook) -> None:
    huge = b'{"session_id": "s", "prompt": "' + b"x" * (MAX_BYTES + 10) + b'"}'
    assert filled.raw("UserPromptSubmit", huge).stdout == b""
    assert "larger than" in read_recent(1)[0].detail


def test_J6_much_input_that_is_accepted(filled: Hook) -> None:
    prompt = ASK + " log line " * 500_000
    filled("UserPromptSubmit", prompt=prompt)
    filled("Stop", last_assistant_message="y" * 3_000_000)
    filled.settled()
    with filled.open() as memory:
        assert len(memory.window("claude-code_s1")) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["Nonsense"],
        ["Stop", "SessionEnd"],
        ["Stop", "--nonsense"],
        ["Stop", "--vault"],
        ["Stop", "--budget", "-5"],
        ["Stop", "--json"],
    ],
)
def test_J6_a_wrong_call(hook: Hook, arguments: list[str]) -> None:
    done = subprocess.run(
        [*COMMAND, *arguments], input=b"{}", capture_output=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert read_recent(1)[0].outcome == "error"
    assert read_recent(1)[0].detail.startswith("BadOptions: ")


def test_J6_no_standard_streams_at_all(filled: Hook) -> None:
    command = " ".join(["exec", '"$0"', '"$@"', "<&-", ">&-", "2>&-"])
    done = subprocess.run(
        ["sh", "-c", command, *COMMAND, "UserPromptSubmit"], timeout=PATIENCE, check=False
    )
    assert done.returncode == 0
    assert read_recent(1)[0].outcome == "error"


def test_J6_a_reader_that_has_gone(filled: Hook) -> None:
    read, write = os.pipe()
    os.close(read)
    message = json.dumps({"session_id": "s", "cwd": "/", "prompt": ASK}).encode()
    command = [*COMMAND, "UserPromptSubmit", "--vault", str(filled.vault)]
    done = subprocess.run(
        command, input=message, stdout=write, stderr=subprocess.PIPE, timeout=PATIENCE, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_J6_an_interrupt(hook: Hook, number: int) -> None:
    """Interrupt a hook that waits for its input."""
    running = subprocess.Popen(
        [*COMMAND, "Stop"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    hook.until(lambda: _ignores(running.pid, number))
    running.send_signal(number)
    out, err = running.communicate(timeout=PATIENCE)
    assert (running.returncode, out, err) == (0, b"", b"")


def _ignores(pid: int, number: int) -> bool:
    """Return whether the process handles the signal and has finished its imports."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    threads = next(line for line in status.splitlines() if line.startswith("Threads"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1) and int(threads.split()[1]) > 1


def test_J6_an_input_that_never_ends(hook: Hook) -> None:
    running = subprocess.Popen(
        [*COMMAND, "UserPromptSubmit"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.wait(timeout=PATIENCE) == 0
    assert read_recent(1)[0].detail.startswith("TimeoutError: took longer than 3 s")
    running.communicate()


def _break(vault: Path, what: str) -> None:
    index = vault / ".muisti"
    if what == "corrupt index":
        for path in index.glob("index-*"):
            path.write_bytes(b"garbage" * 1000)
    elif what == "no index":
        shutil.rmtree(index)
    elif what == "bad settings":
        (vault / "muisti.toml").write_text("search_limit = 'many'\n")
    elif what == "a file in its place":
        os.rename(vault, vault.with_name("elsewhere"))
        vault.write_text("not a folder")
    elif what == "gone":
        os.rename(vault, vault.with_name("elsewhere"))


@pytest.mark.parametrize(
    ("what", "answers"),
    [
        ("corrupt index", True),
        ("no index", True),
        ("bad settings", False),
        ("a file in its place", False),
        ("gone", False),
    ],
)
def test_J6_a_broken_vault(filled: Hook, what: str, answers: bool) -> None:
    _break(filled.vault, what)
    assert bool(filled("UserPromptSubmit", prompt=ASK)) is answers
    filled("SessionStart", source="startup")
    filled("Stop", last_assistant_message="It is PostgreSQL.")
    kept = what not in ("bad settings", "a file in its place")
    filled.until(
        lambda: [
            run
            for run in read_recent(20)
            if run.event == "Worker" and (run.outcome == "error" or kept)
        ]
    )
    assert bool(spool.list_entries()) is not kept
    if not kept:  # repaired: the waiting entries are stored then
        shutil.rmtree(filled.vault) if filled.vault.is_dir() else filled.vault.unlink()
        filled("Stop", last_assistant_message="It is PostgreSQL, I said.")
        filled.settled()
    with filled.open() as memory:
        assert "It is PostgreSQL." in [one.content for one in memory.window("claude-code_s1")]


def test_J6_a_vault_that_another_process_holds(filled: Hook) -> None:
    """Recall needs no lock; capture waits in the background."""
    with filled.open() as memory, file_store(memory).vault.lock():
        assert "PostgreSQL" in filled("UserPromptSubmit", prompt=ASK)
        filled("Stop", last_assistant_message="It is PostgreSQL.")
        time.sleep(0.5)
        assert spool.list_entries()
    filled.settled()
    with filled.open() as memory:
        assert memory.window("claude-code_s1")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_J6_a_read_only_vault(filled: Hook) -> None:
    folders = [filled.vault, *(path for path in filled.vault.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    try:
        assert "PostgreSQL" in filled("UserPromptSubmit", prompt=ASK)
        filled("Stop", last_assistant_message="It is PostgreSQL.")
        filled.until(lambda: read_recent(1)[0].event == "Worker")
        assert read_recent(1)[0].outcome == "error"
        assert spool.list_entries()
    finally:
        for path in folders:
            path.chmod(0o755)
    filled("Stop", last_assistant_message="It is PostgreSQL, again.")
    filled.settled()
    with filled.open() as memory:
        assert len(memory.window("claude-code_s1")) == 3


@pytest.mark.parametrize("what", ["a file", "missing and no right to make it"])
def test_J6_no_place_for_state(filled: Hook, tmp_path: Path, what: str) -> None:
    place = tmp_path / "nowhere"
    if what == "a file":
        place.write_text("not a folder")
    else:
        place = Path("/proc/nowhere")
    env = {"MUISTI_STATE": str(place)}
    for event in EVENTS:
        filled(event, prompt=ASK, last_assistant_message="x", env=env)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_J6_a_full_disk(filled: Hook, tmp_path: Path) -> None:
    state = Path(os.environ["MUISTI_STATE"])
    (state / "sessions").mkdir(parents=True)
    (state / "sessions" / "claude-code_s1.tools").symlink_to("/dev/full")
    (state / "sessions" / "claude-code_s1.prompts").symlink_to("/dev/full")
    (state / "hooks.jsonl").symlink_to("/dev/full")
    filled("PostToolUse")
    filled("UserPromptSubmit", prompt=ASK)


def test_J6_a_poisoned_entry_does_not_keep_the_others_back(filled: Hook) -> None:
    folder = spool.get_spool_folder()
    folder.mkdir(parents=True)
    (folder / "00000000000000000001-1.json").write_text("{broken")
    (folder / "00000000000000000002-1.json").write_text('{"id": 5}')
    bad = spool.new_entry("claude-code", str(filled.vault), "///", "s 1/..")
    bad.answer = "x"
    spool.add_entry(bad)
    filled.exchange("Where do otters sleep?", "On the water.")
    filled.settled()
    with filled.open() as memory:
        assert [one.content for one in memory.window("claude-code_s1")] == [
            "Where do otters sleep?",
            "On the water.",
        ]


def test_J6_the_log_says_nothing_of_what_was_said(filled: Hook) -> None:
    filled.exchange("Which database did we choose for the zanzibar service?", "The walrus one.")
    filled.raw("UserPromptSubmit", b'{"prompt": "zanzibar')
    filled("SessionEnd", reason="exit")
    filled.settled()
    text = "".join(map(repr, read_recent(100)))
    assert "zanzibar" not in text
    assert "walrus" not in text
    assert "PostgreSQL" not in text

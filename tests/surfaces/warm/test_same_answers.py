"""The warm process answers as a command of its own does: same bytes, same recalls, same files."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from muisti import bootstrap
from tests.surfaces.warm.conftest import PATIENT, TEXTS, World, find_processes, wait_for

OPTIONS: tuple[list[str], ...] = (
    ["which database"],
    ["which", "database", "--json"],
    ["database", "--limit", "1"],
    ["deployment", "--mode", "keyword", "--json"],
    ["tea", "--mode", "vector"],
    ["tea", "--for-agent"],
    ["tea", "--kind", "fact", "--min-salience", "0.1", "--since", "2020-01-01"],
    ["tea", "--kind", "decision"],
    ["tea", "--all-projects", "--include-deleted"],
    ["tea", "--project", "unknown"],
    ["tea", "--asked-at", "2026-01-31", "--json"],
    ["qqqqq"],
    ["tea", "--limit", "0"],
    ["tea", "--since", "nonsense"],
    ["tea", "--no-such-option"],
    [],
    ["tea", "--help"],
)


@pytest.fixture(autouse=True)
def _is_patient(world: World) -> None:
    world.code = PATIENT


def run_on_terminal(vault: Path, query: str, **variables: str) -> bytes:
    """All that `muisti search` writes to a terminal of 64 columns and 12 lines."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 64, 0, 0))
    command = [sys.executable, "-P", "-c", PATIENT, "search", "--vault", str(vault), query]
    environment = {**os.environ, "TERM": "xterm-256color", **variables}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    output = b""
    with suppress(OSError):  # Linux reports the closed end of a terminal as an error
        while chunk := os.read(ours, 65_536):
            output += chunk
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return output


def round_numbers(output: bytes) -> bytes:
    """The output with three decimals: scores fade with each second that passes."""
    return re.sub(rb"\d+\.\d{4,}(?:e-\d+)?", lambda found: b"%.3f" % float(found[0]), output)


def test_E_the_output_is_the_same(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUISTI_RECORD_RECALL", "0")  # the output has how often one was recalled
    cold = {tuple(options): world.cold(*options) for options in OPTIONS}
    world.start()
    for options, expected in cold.items():
        found = world.search(*options)
        assert round_numbers(found.stdout) == round_numbers(expected.stdout), options
        assert found.stderr == expected.stderr, options
        assert found.returncode == expected.returncode, options
    assert world.answered() >= 12  # errors and help are left to the command itself


def test_E_the_output_on_a_terminal_is_the_same(world: World) -> None:
    cold = run_on_terminal(world.vault, "which database", MUISTI_WARM="0")
    world.start()
    assert run_on_terminal(world.vault, "which database") == cold
    assert b"\x1b[" in cold
    assert world.answered() == 1


def test_E7_a_recall_is_recorded_once(world: World) -> None:
    world.start()
    before = world.recalls()
    world.search("which database")
    assert world.answered() == 1
    wait_for(lambda: world.recalls() == before + 1)
    with bootstrap.open(world.vault) as memory:
        found = memory.search("which database", record=False)
        assert found[0].memory.access_count == 1


def test_E7_an_answer_that_nobody_took_is_not_recorded(world: World) -> None:
    from muisti.surfaces.warm import client, protocol

    world.start()
    before = world.recalls()
    place = os.path.realpath(world.vault)
    request = {
        "muisti": "0.1.0",
        "protocol": protocol.PROTOCOL,
        "vault": place,
        "environment": protocol.read_environment(),
        "do": "search",
        "arguments": ["--vault", place, "which database"],
        "terminals": [False, False],
        "variables": {},
        "folder": "/",
    }
    connection = client.connect(place)
    connection.settimeout(60)
    connection.sendall(json.dumps(request).encode() + b"\n")
    assert b"PostgreSQL" in connection.recv(100_000)
    connection.close()  # without the confirmation
    assert world.answered() == 0
    world.search("which database")
    wait_for(lambda: world.recalls() == before + 1)


def test_K1_what_another_process_saved_is_found(world: World) -> None:
    world.start()
    world.search("tea")
    saved = world.run("save", "--vault", str(world.vault), "The zeppelin lands at noon")
    assert saved.returncode == 0
    assert b"zeppelin" in world.search("zeppelin").stdout
    assert world.answered() == 2


def find_file(vault: Path, word: str) -> Path:
    return next(path for path in vault.rglob("*.md") if word in path.read_text("utf-8"))


def test_B5_edits_by_hand_are_found_at_once(world: World) -> None:
    world.start()
    world.search("tea")
    path = find_file(world.vault, "green tea")
    status = path.stat()
    text = path.read_text("utf-8").replace("green tea", "black tea")
    with path.open("r+", encoding="utf-8") as file:  # in place: same size, same inode
        file.write(text)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert b"black tea" in world.search("tea").stdout
    new = world.vault / "facts" / "by-hand" / "new.md"
    new.parent.mkdir(parents=True)
    new.write_text("The walrus sleeps on the ice.\n", "utf-8")
    assert b"walrus" in world.search("walrus").stdout
    new.write_text("The walrus swims below the ice.\n", "utf-8")
    assert b"swims" in world.search("walrus").stdout
    new.unlink()
    assert b"swims" not in world.search("walrus").stdout
    assert world.answered() == 5


def test_settings_that_changed_are_used(world: World) -> None:
    process = world.start()
    assert b"No memories match" not in world.search("which database").stderr
    settings = world.vault / "muisti.toml"
    settings.write_text(settings.read_text("utf-8") + "\nmax_search_limit = 1\n", "utf-8")
    found = world.search("which database", "--json")
    assert len(json.loads(found.stdout)) == 1
    process.wait(timeout=60)


def test_other_variables_are_not_ignored(world: World) -> None:
    world.start()
    found = world.search("database", "--json", MUISTI_MAX_SEARCH_LIMIT="1")
    assert len(json.loads(found.stdout)) == 1
    assert world.answered() == 0


def test_K6_a_vault_that_is_not_trusted_is_not_answered_for(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = tmp_path / "clone" / "notes"
    stranger.parent.mkdir()
    shutil.copytree(world.vault, stranger, ignore=shutil.ignore_patterns(".muisti"))
    world.vault = stranger
    world.cold("tea")  # builds the index
    world.start()  # named by its path, it may run
    named = world.search("which database")
    assert named.stdout
    assert world.answered() == 1
    monkeypatch.chdir(stranger)
    found = world.run("search", "which database")
    assert b"not trusted" in found.stderr
    assert world.answered() == 1
    assert not find_processes(tmp_path / "other")


def test_what_is_tested_is_in_the_vault(world: World) -> None:
    with bootstrap.open(world.vault) as memory:
        assert len(memory.list()) == len(TEXTS)


def run_hook(world: World, prompt: str, session: str, **variables: str) -> bytes:
    said = {"session_id": session, "cwd": "/", "prompt": prompt}
    command = [sys.executable, "-P", "-c", PATIENT]
    command += ["hook", "UserPromptSubmit", "--vault", str(world.vault)]
    done = subprocess.run(
        command,
        check=True,
        input=json.dumps(said).encode(),
        capture_output=True,
        env={**os.environ, **variables},
    )
    return done.stdout


def read_prompts(session: str) -> list[str]:
    path = Path(os.environ["MUISTI_STATE"]) / "sessions" / f"claude-code_{session}.prompts"
    return [json.loads(line)[1] for line in path.read_text("utf-8").splitlines()]


def test_J6_a_hook_asks_the_warm_process(world: World) -> None:
    prompt = "Which database did we choose, was it PostgreSQL?"
    cold = run_hook(world, prompt, "s1", MUISTI_WARM="0")
    world.start()
    before = world.recalls()
    assert run_hook(world, prompt, "s2") == cold
    assert b"PostgreSQL" in cold
    assert run_hook(world, prompt, "s2") == b""  # the session has it already
    assert run_hook(world, "run the tests", "s2") == b""
    assert world.answered() == 3
    assert world.recalls() == before  # nobody asked for it
    assert read_prompts("s2") == [prompt, prompt, "run the tests"]


def test_C1_a_prompt_is_redacted_before_it_is_stored(world: World) -> None:
    world.start()
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    run_hook(world, f"My token is {key}, please remember <private>my age</private>", "s3")
    assert world.answered() == 1
    (stored,) = read_prompts("s3")
    assert key not in stored
    assert "my age" not in stored
    for path in Path(os.environ["MUISTI_STATE"]).rglob("*"):
        assert not path.is_file() or key.encode() not in path.read_bytes()


@pytest.mark.exhaustive
def test_J6_a_hook_recalls_by_meaning(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MUISTI_EMBEDDER")  # the default model
    with bootstrap.open(world.vault) as memory:
        memory.reindex_missing()
    prompt = "What does Sanna like to drink at breakfast?"  # one word in common
    assert run_hook(world, prompt, "s1", MUISTI_WARM="0") == b""
    world.start()
    assert b"green tea" in run_hook(world, prompt, "s2")

"""J9 · `muisti review`: one key each on a terminal, a table or JSON elsewhere."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muisti import Memory, Muisti
from muisti.surfaces.cli.group import cli as command_group
from tests.surfaces.cli.test_cli import Cli

PATIENCE = 30
"""Seconds until a terminal that prints nothing more counts as stuck."""
KEYS = "s skip  u undo  q quit"
"""The end of the line of keys: the command waits for one."""


@pytest.fixture
def cli(vault: Path, tmp_path: Path) -> Cli:
    made = Cli(vault, tmp_path)
    made.environment["MUISTI_EMBEDDER"] = "none"
    return made


@pytest.fixture
def memory(vault: Path, cli: Cli) -> Iterator[Muisti]:
    with Muisti.open(vault, embedder="none") as opened:
        yield opened


def save(memory: Muisti, text: str, **fields: Any) -> Memory:
    return memory.save(text, **{"trusted": False, "source": "ai", **fields})


STYLES = re.compile(r"\x1b\[[0-9;]*m")


class Terminal:
    """The real command on a real terminal of its own."""

    def __init__(self, cli: Cli, *arguments: str, **environment: str) -> None:
        self._parent, child = pty.openpty()
        self.shown = ""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "muisti", *arguments],
            stdin=child,
            stdout=child,
            stderr=child,
            start_new_session=True,
            cwd=cli.cwd,
            env={**cli.environment, "TERM": "xterm", **environment},
        )
        os.close(child)

    def wait_for(self, text: str) -> str:
        """Read until this is shown, and return everything up to it."""
        while text not in self.shown:
            poll = select.poll()  # select() refuses descriptors above 1,023
            poll.register(self._parent, select.POLLIN | select.POLLHUP)
            ready = poll.poll(PATIENCE * 1000)
            assert ready, f"{text!r} is not shown:\n{self.shown}"
            try:
                read = os.read(self._parent, 65536)
            except OSError:  # the command has ended
                read = b""
            assert read, f"{text!r} is not shown:\n{self.shown}"
            self.shown += read.decode("utf-8", "replace").replace("\r\n", "\n")
            self.shown = STYLES.sub("", self.shown)
        before, _, self.shown = self.shown.partition(text)
        return before + text

    def press(self, keys: str, until: str = KEYS) -> str:
        """Press keys and return what is shown until the command waits for the next one."""
        if len(keys) == 1:
            self._wait_for_reading()
        os.write(self._parent, keys.encode())
        return self.wait_for(until)

    def _wait_for_reading(self) -> None:
        """Wait until the command reads single keys: what is typed before that is dropped."""
        tries = 0
        while termios.tcgetattr(self._parent)[3] & termios.ICANON:
            tries += 1
            assert tries < 100 * PATIENCE, self.shown
            time.sleep(0.01)

    def end(self) -> int:
        """Wait for the end and return the exit code."""
        return self._process.wait(timeout=PATIENCE)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(OSError):
            os.close(self._parent)


Start = Callable[..., Terminal]


@pytest.fixture
def start(cli: Cli) -> Iterator[Start]:
    """Starts `muisti review` on a terminal; whatever still runs at the end is stopped."""
    made: list[Terminal] = []

    def begin(*arguments: str, **environment: str) -> Terminal:
        made.append(Terminal(cli, "review", *arguments, **environment))
        return made[-1]

    yield begin
    for terminal in made:
        terminal.close()


def read(memory: Muisti, memory_id: str) -> Memory:
    memory.sync()
    found = memory.get(memory_id)
    assert found is not None
    return found


def test_J9_one_key_each_on_a_terminal(memory: Muisti, start: Start) -> None:
    texts = ("Sara drinks coffee", "The release is on Friday", "Otters swim", "Ben has a dog")
    coffee, friday, otters, dog = (save(memory, text) for text in texts)
    terminal = start()
    shown = terminal.wait_for(KEYS)
    assert "To review: 4 memories" in shown
    assert "Ben has a dog" in shown
    assert "from ai" in shown
    assert "c confirm  e edit  r replace  f forget" in shown
    assert "Confirmed." in terminal.press("c")
    assert "Moved to the trash." in terminal.press("f")
    assert "Skipped." in terminal.press(" ")
    shown = terminal.press("r", until="cancel): ")
    shown = terminal.press("Sara drinks tea\n", until="memory.")
    assert "Replaced by" in shown
    assert "3 decisions. To review: 1 memory." in shown
    assert terminal.end() == 0
    assert read(memory, dog.id).trusted
    assert memory.get(otters.id) is None
    assert not read(memory, friday.id).trusted
    successor = memory.superseding(coffee.id)
    assert successor is not None
    assert successor.content == "Sara drinks tea"
    assert [item.memory.id for item in memory.review()] == [friday.id]


def test_J9_undo(memory: Muisti, start: Start) -> None:
    one, other = save(memory, "Sara drinks coffee"), save(memory, "Otters swim")
    terminal = start()
    assert "Otters swim" in terminal.wait_for(KEYS)
    assert "Nothing to undo." in terminal.press("u")
    assert "Sara drinks coffee" in terminal.press("f")
    shown = terminal.press("u")
    assert "Undone." in shown
    assert "Otters swim" in shown
    terminal.press("c")
    terminal.press("u")
    terminal.press("r", until="cancel): ")
    assert "Replaced by" in terminal.press("Otters dive\n")
    assert "Otters swim" in terminal.press("u")
    terminal.press("q", until="0 decisions. To review: 2 memories.")
    assert terminal.end() == 0
    assert {item.memory.id for item in memory.review()} == {one.id, other.id}
    assert memory.superseding(other.id) is None
    assert memory.get_stats().total_count == 2


def test_J9_edit_in_the_editor(memory: Muisti, start: Start, tmp_path: Path) -> None:
    saved = save(memory, "Sara drinks coffe")
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!{sys.executable}\nimport sys\npath = sys.argv[1]\n"
        'text = open(path).read().rstrip()\nopen(path, "w").write(text + "e\\n")\n'
    )
    editor.chmod(0o755)
    unchanged = tmp_path / "unchanged"
    unchanged.write_text("#!/bin/sh\nexit 0\n")
    unchanged.chmod(0o755)
    terminal = start(VISUAL=str(unchanged))
    terminal.wait_for(KEYS)
    assert "Unchanged." in terminal.press("e")
    terminal.press("q", until="To review: 1 memory.")
    terminal = start(VISUAL=str(editor))
    terminal.wait_for(KEYS)
    assert "Updated and confirmed." in terminal.press("e", until="1 decision.")
    edited = read(memory, saved.id)
    assert edited.content == "Sara drinks coffee"
    assert edited.trusted
    assert edited.source == "ai"


def suggest(memory: Muisti) -> tuple[Memory, Memory]:
    """Save two memories that seem to contradict each other."""
    return memory.save("The deadline is March 15"), memory.save("The deadline is March 16")


@pytest.mark.parametrize(
    ("key", "said", "kind"),
    [
        ("c", "Link confirmed.", "CONTRADICTS"),
        ("r", "Link rejected; both memories stay.", None),
        ("o", "B is outdated, replaced by A.", "SUPERSEDES"),
    ],
)
def test_J9_a_suggested_link_shows_both_memories_and_what_it_does(
    memory: Muisti, start: Start, key: str, said: str, kind: str | None
) -> None:
    first, second = suggest(memory)
    terminal = start()
    shown = terminal.wait_for(KEYS)
    assert "To review: 1 link" in shown
    assert "A may contradict B" in shown
    assert shown.index("March 16") < shown.index("March 15")
    assert "If confirmed: the link is stored; both memories stay as they are." in shown
    assert "c confirm  r reject  o B is outdated" in shown
    assert said in terminal.press(key, until="To review: nothing.")
    assert terminal.end() == 0
    memory.sync()
    assert [link.type for link in memory.links(second.id)] == ([kind] if kind else [])
    assert (memory.superseding(first.id) is not None) is (kind == "SUPERSEDES")


def test_J9_undo_of_a_link(memory: Muisti, start: Start) -> None:
    memory.save("The API runs on port 8080")
    memory.save("The API now runs on port 9090")
    save(memory, "Otters swim", importance=0.1)
    terminal = start("--order-by", "importance")
    assert "If confirmed: B is marked outdated, replaced by A." in terminal.wait_for(KEYS)
    for key in "cr":
        assert "Otters swim" in terminal.press(key)
        assert "A may replace B" in terminal.press("u")
    terminal.press("q", until="To review: 1 memory and 1 link.")
    memory.sync()
    assert memory.count_review().links == 1


def test_J9_a_link_of_a_memory_just_forgotten_is_not_asked_about(
    memory: Muisti, start: Start
) -> None:
    memory.save("The deadline is March 15")
    save(memory, "The deadline is March 16")
    terminal = start()
    assert "To review: 1 memory and 1 link" in terminal.wait_for(KEYS)
    terminal.press("f", until="1 decision. To review: nothing.")
    assert terminal.end() == 0


def test_J9_what_changed_while_it_was_shown_is_shown_again(memory: Muisti, start: Start) -> None:
    saved = save(memory, "Sara drinks coffee")
    terminal = start()
    terminal.wait_for(KEYS)
    memory.update(saved.id, content="Sara drinks motor oil")
    shown = terminal.press("c")
    assert "has changed since you read it" in shown
    assert "Sara drinks motor oil" in shown
    assert not read(memory, saved.id).trusted
    terminal.press("c", until="1 decision.")
    assert read(memory, saved.id).trusted


@pytest.mark.parametrize("key", ["q", "\x03", "\x04"], ids=["q", "Ctrl+C", "Ctrl+D"])
def test_J9_quitting_keeps_the_rest(memory: Muisti, start: Start, key: str) -> None:
    save(memory, "Sara drinks coffee")
    terminal = start()
    terminal.wait_for(KEYS)
    terminal.press("x")  # not a key: the keys are shown once more
    terminal.press(key, until="0 decisions. To review: 1 memory.")
    assert terminal.end() == 0


def test_J9_an_empty_queue_and_a_limit(memory: Muisti, start: Start) -> None:
    terminal = start()
    terminal.wait_for("Nothing to review.")
    assert terminal.end() == 0
    for text in ("Sara drinks coffee", "Otters swim"):
        save(memory, text)
    terminal = start("--limit", "1")
    terminal.wait_for(KEYS)
    terminal.press("s", until="To review: 2 memories.")
    assert terminal.end() == 0


def test_J9_control_characters_of_a_memory_do_not_reach_the_terminal(
    memory: Muisti, start: Start
) -> None:
    save(memory, "Sara \x1b]0;owned\x07drinks [bold]coffee[/bold]")
    terminal = start()
    shown = terminal.wait_for(KEYS)
    assert "\x1b]0;" not in shown
    assert "[bold]coffee[/bold]" in shown


# -- Without a terminal


def test_J9_without_a_terminal_the_queue_is_a_table(memory: Muisti, cli: Cli) -> None:
    said = cli.run("review")
    assert "Nothing to review." in said.stderr
    assert said.stdout == ""
    suggest(memory)
    saved = save(memory, "Sara drinks coffee", project="shop", agent="codex")
    said = cli.run("review")
    assert "Sara drinks coffee" in said.stdout
    assert "shop" in said.stdout
    assert "codex" in said.stdout
    assert "may contradict The deadline is March 15" in said.stdout
    assert "To review: 1 memory and 1 link." in said.stderr
    assert f"muisti confirm {saved.id[-8:]}" in said.stderr


def test_J9_json_and_filters(memory: Muisti, vault: Path) -> None:
    def ask(*arguments: str) -> Any:
        """Run the command in this process, which is faster."""
        command = ["review", "--json", "--vault", str(vault), *arguments]
        done = CliRunner().invoke(command_group, command)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    suggest(memory)
    save(memory, "Anna has a cat", project="p1", user="anna", kind="fact")
    save(memory, "Ben has a dog", project="p2", user="ben", kind="note")
    queue = ask()
    assert [item["memory"]["content"] for item in queue] == [
        "Ben has a dog",
        "Anna has a cat",
        "The deadline is March 16",
    ]
    assert queue[0]["link"] is None
    assert queue[2]["link"]["type"] == "CONTRADICTS"
    assert queue[2]["target"]["content"] == "The deadline is March 15"
    for arguments, expected in (
        (("--project", "p1"), ["Anna has a cat"]),
        (("--project", "*", "--user", "ben"), ["Ben has a dog", "The deadline is March 16"]),
        (("--kind", "note", "--kind", "decision"), ["Ben has a dog"]),
        (("--since", "2999-01-01"), []),
        (("--limit", "1"), ["Ben has a dog"]),
        (("--agent", "codex"), []),
    ):
        assert [item["memory"]["content"] for item in ask(*arguments)] == expected, arguments


def test_J9_confirm_without_a_terminal(memory: Muisti, cli: Cli) -> None:
    one, other = save(memory, "Sara drinks coffee"), save(memory, "Otters swim")
    said = cli.run("confirm", one.id[-8:], other.id[-8:]).stdout
    assert f"…{one.id[-8:]}  Sara drinks coffee" in said
    assert said.count("Confirmed ") == 2
    assert cli.json("review") == []
    confirmed: Any = cli.json("confirm", one.id)
    assert confirmed[0]["trusted"] is True


def test_J9_confirm_of_an_unknown_id_confirms_nothing(memory: Muisti, cli: Cli) -> None:
    saved = save(memory, "Sara drinks coffee")
    assert "no memory" in cli.run("confirm", saved.id, "nobody-here", code=1).stderr
    assert not read(memory, saved.id).trusted


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (("review", "--limit", "0"), "limit", 2),
        (("review", "--order-by", "size"), "order_by must be one of created_at, importance", 1),
        (("review", "--kind", "nonsense"), "kind must be one of", 1),
        (("review", "--since", "one fine day"), "is not a valid time", 2),
        (("confirm",), "missing argument", 2),
    ],
)
def test_J9_bad_options(
    memory: Muisti, cli: Cli, arguments: tuple[str, ...], message: str, code: int
) -> None:
    assert message in cli.run(*arguments, code=code).stderr

"""Replays the console sessions in tests/transcripts; their README describes the notation."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

import pytest

TRANSCRIPTS = sorted((Path(__file__).parents[2] / "transcripts").glob("[0-9]*.md"))
BLOCK = re.compile(r"^```console ?(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACEHOLDER = re.compile(r"<([a-z]+)>")
VARYING = {
    "score": r"[01]\.\d\d",
    "time": r"just now|\d+ \w+ ago",
    "date": r"\d{4}-\d\d-\d\d",
    "clock": r"\d\d:\d\d",
    "port": r"\d+",
    "id": r"[0-9a-f]{6}",
}
FREE_TEXT = ("reason", "restart", "filter")
"""Placeholders for lines that other parts of muisti write."""


class Machine:
    """A home folder, and a shell in it that remembers `export`."""

    def __init__(self, home: Path, usb: Path) -> None:
        home.mkdir()
        self.home = home
        self.exports: list[str] = []
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("MUISTI_", "XDG_"))}
        self.environment = {
            **inherited,
            "HOME": str(home),
            "USB": str(usb),
            "PATH": f"{usb.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "MUISTI_EMBEDDER": "none",  # models are tested elsewhere, and take seconds to load
        }

    def run(self, command: str, *, interrupted: bool) -> str:
        """Return what a command prints, with the home folder as `~`."""
        if command.startswith("export "):
            self.exports.append(command)
        script = "\n".join([*self.exports, f"exec {command}" if interrupted else command])
        with subprocess.Popen(
            ["bash", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.home,
            env=self.environment,
        ) as process:
            assert process.stdout is not None
            output = ""
            if interrupted:
                url = None
                while url is None and (line := process.stdout.readline()):
                    output += line
                    url = re.search(r"http://[\d.]+:\d+", line)
                assert url is not None, output
                output += "^C\n"
                try:
                    with urlopen(f"{url[0]}/health", timeout=30) as response:
                        assert response.status == 200
                finally:
                    process.send_signal(signal.SIGINT)
            output += process.stdout.read()
        return output.replace(str(self.home), "~")


def commands_in(block: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a block with its expected output."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        yield command, expected


def normalise(output: str) -> str:
    """Leave out what depends on the width of columns."""
    lines = [" ".join(line.split()) for line in output.splitlines()]
    return "\n".join(line for line in lines if line.strip("─ "))


def to_pattern(expected: str, known: dict[str, str]) -> str:
    """Return the regular expression that the output must match in full."""
    parts = PLACEHOLDER.split(re.sub(r"^\.\.\.$", "<lines>", normalise(expected), flags=re.M))
    pattern = ""
    named = set()
    for text, name in zip(parts[::2], [*parts[1::2], ""], strict=True):
        pattern += re.escape(text)
        if name in known:
            pattern += re.escape(known[name])
        elif name == "lines":
            pattern += "(?s:.*?)"
        elif name in FREE_TEXT:
            pattern += ".+"
        elif name in ("score", "time", "date", "clock", "id"):
            pattern += f"(?:{VARYING[name]})"
        elif name in named:
            pattern += f"(?P={name})"
        elif name:
            named.add(name)
            pattern += f"(?P<{name}>{VARYING.get(name, '[0-9a-f]{8}')})"
    return pattern


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_J2_a_transcript_is_what_happens(path: Path) -> None:
    with TemporaryDirectory(prefix="m") as folder:  # a short path, so that no table wraps
        place = Path(folder)
        (place / "usb").mkdir()
        (place / "bin").mkdir()
        program = place / "bin" / "muisti"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m muisti "$@"\n')
        program.chmod(0o755)
        machines: dict[str, Machine] = {}
        known: dict[str, str] = {}
        for machine, block in BLOCK.findall(path.read_text("utf-8")):
            if machine not in machines:
                machines[machine] = Machine(place / (machine or "home"), place / "usb")
            for command, expected in commands_in(block):
                typed = PLACEHOLDER.sub(lambda match: known[match[1]], command)
                output = machines[machine].run(typed, interrupted="^C\n" in expected)
                match = re.fullmatch(to_pattern(expected, known), normalise(output))
                assert match, f"$ {typed}\n{output}\nexpected:\n{expected}"
                known.update(match.groupdict())


def test_there_is_a_transcript_for_each_of_the_twelve_tasks() -> None:
    assert [int(path.name[:2]) for path in TRANSCRIPTS] == list(range(1, 13))

"""The examples do what they say, offline."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from muisti import Muisti

EXAMPLES = Path(__file__).parents[2] / "examples"


def said(vault: Path, *lines: str, user: str = "anna") -> list[str]:
    """What the chat answers a person to these lines, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / "chat.py"), str(vault), user],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_I1_a_chat_remembers_across_restarts(vault: Path) -> None:
    assert said(vault, "Where do I live?") == ["I do not know that yet."]
    assert (
        said(vault, "My dog is called Musti.", "I live in Turku.") == ["I will remember that."] * 2
    )
    assert said(vault, "/new", "What is my dog called?", "Where do I live?") == [
        "User's dog is called Musti.",
        "User lives in Turku.",
    ]


@pytest.mark.exhaustive
def test_A3_a_chat_tells_ben_nothing_of_anna(vault: Path) -> None:
    assert said(vault, "My dog is called Musti.", user="anna") == ["I will remember that."]
    question = "What is my dog called?"
    assert said(vault, question, user="ben") == ["I do not know that yet."]
    assert said(vault, "My dog is called Rex.", user="ben") == ["I will remember that."]
    assert said(vault, "/new", question, user="ben") == ["User's dog is called Rex."]
    assert said(vault, "/new", question, user="anna") == ["User's dog is called Musti."]


def test_A3_the_context_of_ben_has_nothing_of_anna(vault: Path) -> None:
    chat = runpy.run_path(str(EXAMPLES / "chat.py"))
    reply_to = chat["reply_to"]
    prompts: dict[str, list[str]] = {"anna": [], "ben": []}
    with Muisti.open(vault, embedder="none") as memory:
        memory.core_update("user", "name", "Anna Virtanen", user="anna")
        memory.core_update("user", "name", "Ben Smith", user="ben")
        for text in ("I live in Turku and I have diabetes.", "Where do I live? What do I have?"):
            for user, seen in prompts.items():
                session = memory.start_session(session_id=f"cli_{user}", user=user)

                def model(context: str, messages: list[str], seen: list[str] = seen) -> str:
                    seen.extend((context, *messages))
                    return f"Hello {seen[0].split()[1]}."

                reply_to.__globals__["model"] = model
                spoken = text.replace("Turku", "Oulu") if user == "ben" else text
                reply_to(memory, session, spoken)
                memory.flush()
    told = {user: "\n".join(seen) for user, seen in prompts.items()}
    assert "Anna Virtanen" in told["anna"]
    assert told["anna"].count("Turku") > 2  # the message twice, and a memory
    assert "Ben Smith" in told["ben"]
    assert told["ben"].count("Oulu") > 2
    assert not {"Anna", "Turku"} & set(re.findall(r"\w+", told["ben"]))
    assert not {"Ben", "Oulu"} & set(re.findall(r"\w+", told["anna"]))


def test_the_chat_is_at_most_forty_lines() -> None:
    assert len((EXAMPLES / "chat.py").read_text("utf-8").splitlines()) <= 40


@pytest.fixture
def server(vault: Path) -> Iterator[str]:
    """The address of a server in a process of its own."""
    Muisti.open(vault, embedder="none").close()
    command = [
        sys.executable,
        "-m",
        "muisti.surfaces.cli.main",
        "serve",
        "--vault",
        str(vault),
        "--port",
        "0",
        "--json",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = ""
    while "}" not in told:
        told += process.stdout.readline()
    yield json.loads(told)["url"]
    process.terminate()
    process.wait(timeout=30)
    process.stdout.close()


@pytest.mark.exhaustive(keep=1)  # the others need curl and Node
@pytest.mark.parametrize("program", ["rest.py", "rest.sh", "rest.mjs"])
def test_J3_the_examples_talk_to_the_server(server: str, program: str) -> None:
    runner = {".py": sys.executable, ".sh": shutil.which("sh"), ".mjs": shutil.which("node")}[
        Path(program).suffix
    ]
    if runner is None or (program == "rest.sh" and shutil.which("curl") is None):
        pytest.skip(f"{program} needs what is not installed here")
    done = subprocess.run(
        [runner, str(EXAMPLES / program), server], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert any(word in done.stdout for word in ("Viiru", "29 March", "Fridays"))

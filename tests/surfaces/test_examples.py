"""The examples do what they say, offline."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def said(vault: Path, *lines: str) -> list[str]:
    """What the chat answers to these lines, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / "chat.py"), str(vault)],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_I1_a_chat_remembers_across_restarts(vault: Path) -> None:
    assert said(vault, "Where do I live?") == ["I do not know that yet."]
    assert said(vault, "My dog is called Musti.", "I live in Turku.") == ["I will remember that."] * 2
    assert said(vault, "/new", "What is my dog called?", "Where do I live?") == [
        "User's dog is called Musti.",
        "User lives in Turku.",
    ]


def test_the_chat_is_at_most_forty_lines() -> None:
    assert len((EXAMPLES / "chat.py").read_text("utf-8").splitlines()) <= 40

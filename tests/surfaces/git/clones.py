"""Two clones of a vault, and random edits of both."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from muisti import Muisti, bootstrap
from muisti.surfaces.git.repository import set_up
from tests.conftest import FakeClock

PARAGRAPHS = 5
_HUNK = re.compile(rb"<{7} .*?\n(.*?)={7}\n.*?>{7} .*?\n", re.DOTALL)
PROGRAM = (sys.executable, "-P", "-m", "muisti")
CHAT = "telegram_1"


def git(folder: Path, *arguments: str, code: int = 0) -> str:
    """Run git in a folder, whoever runs the tests."""
    identity = {
        f"GIT_{who}_{what}": "tester"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env={**os.environ, **identity, "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def open_vault(root: Path, clock: FakeClock, **settings: bool) -> Muisti:
    return bootstrap.open(root, clock=clock, settings={"embedder": "none", **settings})


def make_clones(folder: Path, memories: int) -> tuple[Path, Path]:
    """Return two clones of a vault with some memories; git is set up in both."""
    one, other = folder / "one", folder / "other"
    clock = FakeClock()
    with open_vault(one, clock) as vault:
        for number in range(memories):
            content = "\n\n".join(f"Memory {number} part {part}." for part in range(PARAGRAPHS))
            vault.save(content, title=f"Title {number}", kind="fact", keywords=[f"word{number}"])
            vault.core_update("user", f"key{number}", "before")
            vault.append_message(CHAT, "user", f"Message {number}")
            clock.forward(seconds=1)
    git(folder, "init", "-q", "-b", "main", str(one))
    set_up(one, PROGRAM)
    git(one, "add", "-A")
    git(one, "commit", "-q", "-m", "Start")
    git(folder, "clone", "-q", str(one), str(other))
    set_up(other, PROGRAM)
    return one, other


@dataclass
class Edits:
    """What was changed in one clone."""

    saved: set[str] = field(default_factory=set)
    parts: dict[tuple[str, int], str] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    keywords: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    links: set[tuple[str, str]] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    core: dict[str, str] = field(default_factory=dict)
    messages: set[str] = field(default_factory=set)


def edit_randomly(root: Path, seed: int, count: int) -> Edits:
    """Make random changes in a clone, commit them, and return them."""
    chance = random.Random(seed)
    clock = FakeClock()
    clock.forward(hours=1)
    edits = Edits()
    with open_vault(root, clock) as vault:
        live = sorted(memory.id for memory in vault.list(limit=None))
        for number in range(count):
            clock.forward(seconds=chance.randrange(0, 60))
            name = f"{seed}-{number}"
            chosen, target = chance.sample(live, 2)
            match chance.choice(ACTIONS):
                case "save":
                    text = "\n\n".join(f"New {name} part {part}." for part in range(PARAGRAPHS))
                    saved = vault.save(text, title=f"New {name}", kind="fact").id
                    edits.saved.add(saved)
                    live.append(saved)
                case "part":
                    part = chance.randrange(PARAGRAPHS)
                    memory = vault.details([chosen])[0]
                    parts = memory.content.split("\n\n")
                    parts[part] = f"Changed {name}."
                    vault.update(chosen, content="\n\n".join(parts))
                    edits.parts[chosen, part] = parts[part]
                case "title":
                    vault.update(chosen, title=f"Renamed {name}")
                    edits.titles[chosen] = f"Renamed {name}"
                case "keyword":
                    memory = vault.details([chosen])[0]
                    vault.update(chosen, keywords=[*memory.keywords, f"k{name}"])
                    edits.keywords[chosen].add(f"k{name}")
                case "importance":
                    vault.update(chosen, importance=round(chance.random(), 2))
                case "link" if (chosen, target) not in edits.links:
                    vault.link(chosen, target, "RELATED_TO")
                    edits.links.add((chosen, target))
                case "reinforce":
                    vault.reinforce(chosen)
                case "delete":
                    vault.delete(chosen)
                    live.remove(chosen)
                    edits.deleted.add(chosen)
                case "core":
                    key = f"key{chance.randrange(40)}"
                    vault.core_update("user", key, name)
                    edits.core[key] = name
                case "message":
                    vault.append_message(CHAT, "user", f"Said {name}")
                    edits.messages.add(f"Said {name}")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", f"Edits {seed}")
    return edits


ACTIONS = (
    *("save", "part", "part", "title", "keyword", "keyword", "importance"),
    *("link", "reinforce", "delete", "core", "message"),
)


def keep_ours(path: Path) -> None:
    """Resolve the conflicts of a file: what merged without one stays."""
    path.write_bytes(_HUNK.sub(rb"\1", path.read_bytes()))

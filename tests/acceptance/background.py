"""What the tests of extraction in the background share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from muisti import Memory, Muisti

NOTE = "Remember that my dentist is called Eero."
WEATHER, TEA = "I think the weather is nice.", "I prefer tea with lemon."
MOVED, DECIDED = "I moved to Turku last month.", "We decided to use PostgreSQL for the shop."
"""By importance: 0.33, 0.48, 0.69, 0.78; the note has 0.9."""
STUCK: dict[str, Any] = {
    "embedder": "none",
    "extractor": "openai",
    "extractor_url": "http://127.0.0.1:9/v1",
    "extractor_model": "m",
    "extractor_retry": 3600,
    "extractor_timeout": 1,
}
"""A model that never answers: what is accepted waits."""


def tell(memory: Muisti, *texts: str, session: str = "chat", **options: Any) -> list[Memory]:
    """Say each text in an exchange of its own; answers the memories that are there then."""
    for text in texts:
        assert memory.extract_and_save(session, text, speaker="Anna", **options)
        memory.flush()
    return memory.list(limit=None)


def contents(memory: Muisti) -> set[str]:
    return {one.content for one in memory.list(limit=None)}


def waiting(vault: Path) -> list[dict[str, Any]]:
    """The lines of all queues."""
    return [
        json.loads(line)
        for path in sorted((vault / ".queue").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]


def events(vault: Path, name: str) -> list[dict[str, Any]]:
    lines = [
        json.loads(line)
        for path in sorted((vault / "journal").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    return [line for line in lines if line["event"] == name]


def holding(vault: Path, canary: str) -> list[str]:
    """Every file of the vault with the canary in a byte of it or in its name."""
    return [
        path.relative_to(vault).as_posix()
        for path in vault.rglob("*")
        if canary in path.name or (path.is_file() and canary.encode() in path.read_bytes())
    ]

"""A dry run announces what an import does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from muisti import Muisti
from tests.importers.making import KEY, chat_node, dump, write


def count(memory: Muisti, source: Path) -> None:
    """Assert that a dry run announces what an import does."""
    planned = memory.import_from(source, dry_run=True)
    report = memory.import_from(source)
    for name in ("found", "imported", "merged", "messages", "existing_messages", "links"):
        assert getattr(planned, name) == getattr(report, name), name
    for name in ("conversations", "redacted", "kinds", "left_out", "problems"):
        assert getattr(planned, name) == getattr(report, name), name
    stored = memory.list(limit=None, project="*", user="*")
    assert report.links == sum(len(one.links) for one in stored)
    again = memory.import_from(source)
    assert (again.imported, again.messages, again.links, again.redacted) == (0, 0, 0, 0)


def test_J7_a_dry_run_counts_links_as_they_will_be(memory: Muisti, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    write(notes / "a.md", "[[refused]] [[twin]] [[other twin]] [[z]] and [[a]]")
    write(notes / "refused.md", "<private>all of it</private>")
    write(notes / "twin.md", "The same")
    write(notes / "other twin.md", "The same")
    write(notes / "z.md", "Back to [[a]], with \0")
    write(notes / "b.md", "[[a]] [[z]]")
    count(memory, notes)


def test_J7_a_dry_run_counts_a_repeated_conversation_once(memory: Muisti, tmp_path: Path) -> None:
    nodes = [
        chat_node("u", None, "user", f"My key is {KEY}"),
        chat_node("a", "u", "assistant", "Hm"),
    ]
    one: dict[str, Any] = {"id": "c", "mapping": {node["id"]: node for node in nodes}}
    other = {"id": "c", "mapping": {"u": chat_node("u", None, "user", "Another text")}}
    count(memory, dump(tmp_path / "conversations.json", [one, one, other]))

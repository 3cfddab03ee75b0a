"""Synchronizes memories with the notes of an agent, both ways."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from muisti.engine import Muisti
from muisti.errors import Conflict, InvalidMemory, InvalidRequest, NotFound
from muisti.model import Memory, Tier
from muisti.storage.files.errors import BadFrontMatter
from muisti.surfaces.agent_memory.folder import (
    AgentFolder,
    NoteText,
    Synced,
    compose_line,
    compose_note,
    describe,
    hash_memory,
    hash_text,
    split_line,
)

Prefer = Literal["vault", "agent"]
MOST = 30
MAX_CHARS = 4_000
MAX_TOTAL = 20_000
"""Characters of one memory, and of all together: an agent reads them at every start."""
DEFAULT_KINDS = ("decision", "preference")
SOURCE = "claude-code"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which memories an agent gets. Without kinds and keywords: see `choose_memories`."""

    project: str
    user: str
    kinds: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    limit: int = MOST


@dataclass(frozen=True, slots=True)
class Step:
    """One change that was made, or would be."""

    action: Literal["write", "update", "remove", "take", "new", "conflict", "problem"]
    file: str
    title: str = ""
    memory_id: str = ""
    reason: str = ""


def choose_memories(memory: Muisti, choice: Choice) -> dict[str, Memory]:
    """Return the confirmed, current memories that an agent gets, by ID, the most important first.

    Of the project, and those for all projects. By default decisions, preferences and standing
    instructions. Long ones are left out.
    """
    found = memory.list(
        limit=None,
        project=choice.project,
        user=choice.user,
        trusted=True,
        as_of=datetime.now(UTC),
        kind=list(choice.kinds),
        keywords=list(choice.keywords),
    )
    by_default = not choice.kinds and not choice.keywords
    wanted = [
        one
        for one in found
        if (not by_default or one.kind in DEFAULT_KINDS or one.standing)
        and one.tier is not Tier.SESSION
        and len(one.content) <= MAX_CHARS
    ]
    wanted.sort(key=lambda one: (one.pinned, one.importance, one.salience, one.id), reverse=True)
    chosen: dict[str, Memory] = {}
    total = 0
    for one in wanted[: choice.limit]:
        total += len(one.content)
        if total > MAX_TOTAL:
            break
        chosen[one.id] = one
    return chosen


@dataclass(slots=True)
class AgentSync:
    """One run. Every file and every memory is left alone, or written whole."""

    memory: Muisti
    folder: AgentFolder
    choice: Choice
    prefer: Prefer | None = None
    """Which text wins if both have changed; None: neither, and both are kept."""
    take_new: bool = False
    """Whether notes that the agent wrote become memories."""
    dry_run: bool = False
    steps: list[Step] = field(default_factory=list)
    state: dict[str, Synced] = field(default_factory=dict)
    lines: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Lines of the index to replace."""

    def run(self) -> list[Step]:
        """Return what was done. Raises InvalidRequest."""
        vault = str(self.memory.location)
        self.state = self.folder.load_state(vault)
        notes = self.folder.read_notes()
        chosen = choose_memories(self.memory, self.choice)
        for name, known in list(self.state.items()):
            if name not in self.folder.problems:
                self.sync_known(name, known, notes.get(name), chosen)
        tracked = {known.memory_id for known in self.state.values()}
        for one in chosen.values():
            if one.id not in tracked:
                self.write(self.folder.choose_name(one), one, None, "write")
        if self.take_new:
            self.take_notes({name: text for name, text in notes.items() if name not in self.state})
        if not self.dry_run:
            if self.lines and not self.folder.update_index(self.lines):
                self.folder.problems.setdefault("MEMORY.md", "was changed meanwhile; run it again")
            if not self.folder.save_state(vault, self.state):
                self.folder.problems.setdefault("state", "could not be recorded; run it again")
        self.steps += [
            Step("problem", name, reason=reason) for name, reason in self.folder.problems.items()
        ]
        return self.steps

    def sync_known(
        self, name: str, known: Synced, text: str | None, chosen: dict[str, Memory]
    ) -> None:
        """Bring a note and its memory together."""
        one = self.memory.get(known.memory_id)
        is_changed = one is not None and hash_memory(one) != known.memory_hash
        if text is None:  # removed there: it comes back only with another text
            if one is None:
                del self.state[name]
            elif is_changed and one.id in chosen:
                self.write(name, one, None, "write")
                return
            elif known.line:
                self.state[name] = replace(known, line="")
            self.lines[name] = (known.line, "")
            return
        is_edited = hash_text(text) != known.file_hash
        if one is None or (one.trusted and one.id not in chosen and not is_edited):
            self.drop(name, known, text, is_edited=is_edited)
        elif is_edited and is_changed:
            self.settle(name, one, text)
        elif is_edited:
            self.take(name, one, text)
        elif is_changed and one.trusted:
            self.write(name, one, text, "update")

    def settle(self, name: str, one: Memory, text: str) -> None:
        """Decide between a memory and a note that have both changed."""
        if self.prefer == "agent":
            self.take(name, one, text)
        elif self.prefer == "vault":
            backup = self.folder.choose_name(replace(one, title=f"replaced {one.title}"))
            if self.dry_run or self.folder.write(f"{backup}.bak", text, None):
                self.write(name, one, text, "update")
        else:
            reason = "both have changed, and both are kept; pass --prefer vault or --prefer agent"
            self.steps.append(Step("conflict", name, one.title, one.id, reason))

    def write(
        self, name: str, one: Memory, before: str | None, action: Literal["write", "update"]
    ) -> None:
        """Write a memory to its note."""
        text = compose_note(one, before)
        is_there = before is None and self.folder.read(name) == text
        if not (self.dry_run or is_there) and not self.folder.write(name, text, before):
            reason = "was changed meanwhile; run it again"
            self.folder.problems.setdefault(name, reason)
            return
        line = compose_line(one, name)
        known = self.state.get(name)
        self.lines[name] = (known.line if known else "", line)
        is_own = known is None or known.written or before is None
        self.state[name] = Synced(one.id, hash_text(text), hash_memory(one), is_own, line)
        self.steps.append(Step(action, name, one.title, one.id))

    def drop(self, name: str, known: Synced, text: str, *, is_edited: bool) -> None:
        """Remove a note whose memory is no longer there or chosen, if muisti wrote its text."""
        if known.written and not is_edited:
            if not self.dry_run and not self.folder.remove(name, text):
                return
            self.lines[name] = (known.line, "")
            self.steps.append(Step("remove", name, memory_id=known.memory_id))
        elif not is_edited:
            return  # it was taken before: it must not be taken again as a new one
        del self.state[name]

    def take(self, name: str, one: Memory, text: str) -> None:
        """Update a memory from its note. It is unconfirmed then: anyone may have written that."""
        try:
            note = NoteText(text)
        except BadFrontMatter as error:
            self.folder.problems[name] = str(error)
            return
        changes: dict[str, Any] = {}
        if note.body != one.content.strip():
            changes["content"] = note.body
        # What muisti wrote is not the agent's edit, even if the memory has another title now.
        known = self.state[name]
        noted = compose_line(replace(one, title=note.name, summary=note.description), name)
        title, description = split_line(noted)
        own_title, own_description = split_line(known.line)
        if note.name not in ("", one.title) and title != own_title:
            changes["title"] = note.name
        if note.description not in ("", describe(one)) and description != own_description:
            changes["summary"] = note.description
        try:
            if changes and not self.dry_run:
                version = one.version
                one = self.memory.update(one.id, expected_version=version, trusted=False, **changes)
        except (InvalidMemory, InvalidRequest, Conflict, NotFound) as error:
            self.folder.problems[name] = str(error)
            return
        self.state[name] = replace(
            known, file_hash=hash_text(text), memory_hash=hash_memory(one), written=False
        )
        if changes:
            reason = "unconfirmed until you confirm it"
            self.steps.append(Step("take", name, one.title, one.id, reason))

    def take_notes(self, notes: dict[str, str]) -> None:
        """Save notes that the agent wrote as unconfirmed memories of the project."""
        for name, text in notes.items():
            try:
                note = NoteText(text)
                if self.dry_run:
                    self.steps.append(Step("new", name, note.name))
                    continue
                one = self.memory.save(
                    note.body,
                    title=note.name or None,
                    summary=note.description,
                    project=self.choice.project or None,
                    user=self.choice.user or None,
                    source=SOURCE,
                    trusted=False,
                )
            except (BadFrontMatter, InvalidMemory, InvalidRequest) as error:
                self.folder.problems[name] = str(error)
                continue
            self.state[name] = Synced(one.id, hash_text(text), hash_memory(one), False)
            self.steps.append(Step("new", name, one.title, one.id, "unconfirmed"))

"""Random operations over all verbs, and what must be found after each.

What a vault holds is a flat dict: one entry for each memory, its links, message, core entry,
session, document and extracted fact. Each text carries a token (`storm1n17z`: writer 1, number 17),
so it is recognised wherever it lies. An operation says which entries it changes before it begins;
so whoever kills it knows what was there before and what was to come.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from muisti import Memory, Muisti

from .invariants import everything

TOKEN = re.compile(r"storm\d+n\d+z", re.IGNORECASE)
NOUNS = ("bridge", "harbour", "library", "market", "station", "garden", "tower", "mill")
Contents = dict[str, str]


@dataclass(frozen=True)
class Operation:
    """A call, and the entries that it changes: to None if they are to be gone."""

    verb: str
    changes: dict[str, str | None]
    act: Callable[[], object]
    stepwise: bool = False
    """Whether each entry stands for itself; otherwise all of them change or none."""
    given: Contents = field(default_factory=dict)
    """What was added to prepare it."""


def observe(memory: Muisti) -> Contents:
    """What the vault holds now."""
    found: Contents = {}
    memories = [(m, "live" if m.deleted_at is None else "trash") for m in everything(memory)]
    memories += [(m, "archive") for m in memory.list_archive()]
    tokens = {m.id: _token(m.content) for m, _ in memories}
    for one, where in memories:
        token = tokens[one.id]
        if token is None:
            continue
        if one.content.startswith("Note"):
            key = f"memory:{token}"
            assert key not in found, f"{token} is there twice"
            found[key] = f"{where}|{one.kind}|{one.content.strip()}"
            _observe_links(found, token, one, tokens)
        else:
            found[f"extracted:{token}"] = "yes"
    for talk in memory.list_conversations():
        for message in memory.window(talk.name, 1000, whole=True):
            token = _token(message.content)
            assert f"message:{token}" not in found, f"message {token} is there twice"
            found[f"message:{token}"] = "yes"
    core = memory.core_get()
    found.update({f"core:{key}": str(value) for key, value in core.user.items()})
    for session in memory.list_sessions(limit=10**4):
        if _token(session.id):
            found[f"session:{session.id}"] = session.status
    for source in memory.list_document_sources():
        found[f"document:{_token(str(source.path))}"] = "yes"
    return found


def _token(text: str) -> str | None:
    match = TOKEN.search(text)
    return match[0].lower() if match else None


def _observe_links(found: Contents, token: str, one: Memory, tokens: dict[str, str | None]) -> None:
    for link in one.links:
        if not link.proposed and tokens.get(link.target):
            found[f"link:{token}:{link.type.value}:{tokens.get(link.target)}"] = "yes"
    if one.valid_until is not None:
        found[f"closed:{token}"] = "yes"


class Writer:
    """Makes operations for one process, on entries of its own, numbered from `first`."""

    def __init__(
        self, number: int, first: int, chance: random.Random, contents: Contents, folder: Path
    ) -> None:
        self.number = number
        self.chance = chance
        self.contents = {k: v for k, v in contents.items() if f"storm{number}n" in k}
        self.folder = folder
        self.next = first

    def make(self, memory: Muisti, verb: str) -> Operation | None:
        """Return an operation of this kind; None if there is nothing to do it to."""
        made: Operation | None = getattr(self, f"_{verb}")(memory)
        return made

    def token(self) -> str:
        self.next += 1
        return f"storm{self.number}n{self.next - 1}z"

    def text(self, token: str, version: int = 0) -> str:
        return f"Note {token}: the {self.chance.choice(NOUNS)} opens at {version + 1} o'clock"

    def pick(self, beginning: str, *, alone: bool = False) -> str | None:
        """A token of a memory whose entry begins so; alone: one without links.

        A memory opens again when the one that superseded it goes, and the other way round.
        """
        linked = {part for key in self.contents if key[:4] == "link" for part in key.split(":")}
        found = sorted(
            key[7:]
            for key, value in self.contents.items()
            if key.startswith("memory:") and value.startswith(beginning)
            if not (alone and key[7:] in linked)
        )
        return self.chance.choice(found) if found else None

    def find(self, memory: Muisti, token: str) -> str:
        return next(m.id for m in everything(memory) if _token(m.content) == token)

    def _save(self, memory: Muisti) -> Operation:
        token = self.token()
        text = self.text(token)
        return Operation(
            "save",
            {f"memory:{token}": f"live|note|{text}"},
            lambda: memory.save(text, kind="note"),
        )

    def _batch(self, memory: Muisti) -> Operation:
        texts = {token: self.text(token) for token in (self.token(), self.token(), self.token())}
        return Operation(
            "batch",
            {f"memory:{token}": f"live|fact|{text}" for token, text in texts.items()},
            lambda: memory.save_batch([{"content": t, "kind": "fact"} for t in texts.values()]),
        )

    def _update(self, memory: Muisti) -> Operation | None:
        token = self.pick("live")
        if token is None:
            return None
        kind = self.chance.choice(["note", "fact", "insight"])
        text = self.text(token, self.chance.randrange(1, 20))
        return Operation(
            "update",
            {f"memory:{token}": f"live|{kind}|{text}"},
            lambda: memory.update(self.find(memory, token), content=text, kind=kind),
            stepwise=True,
        )

    def _delete(self, memory: Muisti) -> Operation | None:
        return self._change_place(memory, "delete", "live", "trash", memory.delete)

    def _restore(self, memory: Muisti) -> Operation | None:
        return self._change_place(memory, "restore", "trash", "live", memory.restore)

    def _change_place(
        self, memory: Muisti, verb: str, old: str, new: str, act: Callable[[str], object]
    ) -> Operation | None:
        token = self.pick(old, alone=True)
        if token is None:
            return None
        value = self.contents[f"memory:{token}"].replace(old, new, 1)
        return Operation(verb, {f"memory:{token}": value}, lambda: act(self.find(memory, token)))

    def _erase(self, memory: Muisti) -> Operation | None:
        token = self.pick("live", alone=True)
        if token is None:
            return None
        kinds = ("memory", "link", "closed")
        gone = [
            key for key in self.contents if token in (parts := key.split(":")) and parts[0] in kinds
        ]
        return Operation(
            "erase",
            dict.fromkeys(gone),
            lambda: memory.delete(self.find(memory, token), hard=True),
            stepwise=True,  # a link of another file to it may go before or after
        )

    def _supersede(self, memory: Muisti) -> Operation | None:
        old, new = self.pick("live"), self.pick("live")
        if old is None or new is None or old == new:
            return None
        old, new = sorted((old, new))  # always in one direction: a circle is refused
        linked = {tuple(sorted(key.split(":")[1::2])) for key in self.contents if "link" in key}
        if f"closed:{old}" in self.contents or tuple(sorted((old, new))) in linked:
            return None
        return Operation(
            "supersede",
            {f"link:{new}:SUPERSEDES:{old}": "yes", f"closed:{old}": "yes"},
            lambda: memory.supersede(self.find(memory, old), self.find(memory, new)),
        )

    def _link(self, memory: Muisti) -> Operation | None:
        one, other = self.pick("live"), self.pick("live")
        key = f"link:{one}:BUILDS_ON:{other}"
        if one is None or other is None or one == other or key in self.contents:
            return None
        return Operation(
            "link",
            {key: "yes"},
            lambda: memory.link(self.find(memory, one), self.find(memory, other), "BUILDS_ON"),
        )

    def _message(self, memory: Muisti) -> Operation:
        token = self.token()
        return Operation(
            "message",
            {f"message:{token}": "yes"},
            lambda: memory.append_message(f"cli_{self.number}", "user", f"Said {token}"),
        )

    def _core_update(self, memory: Muisti) -> Operation:
        key = f"storm{self.number}n{10**9 + self.chance.randrange(4)}z"
        value = f"value {self.chance.randrange(10**6)}"
        return Operation(
            "core_update", {f"core:{key}": value}, lambda: memory.core_update("user", key, value)
        )

    def _core_delete(self, memory: Muisti) -> Operation | None:
        keys = sorted(key for key in self.contents if key.startswith("core:"))
        if not keys:
            return None
        key = self.chance.choice(keys)
        return Operation("core_delete", {key: None}, lambda: memory.core_delete("user", key[5:]))

    def _import(self, memory: Muisti) -> Operation:
        texts = {token: self.text(token) for token in (self.token(), self.token())}
        file = self.folder / f"import-{self.token()}.json"
        file.write_text(json.dumps([{"content": t, "kind": "fact"} for t in texts.values()]))
        return Operation(
            "import",
            {f"memory:{token}": f"live|fact|{text}" for token, text in texts.items()},
            lambda: memory.import_memories(file),
            stepwise=True,
        )

    def _sync(self, memory: Muisti) -> Operation:
        return Operation("sync", {}, memory.sync)

    def _reindex(self, memory: Muisti) -> Operation:
        return Operation("reindex", {}, memory.reindex)

    def _cleanup(self, memory: Muisti) -> Operation | None:
        """Of what is weak; there may be more than one after a cleanup that was killed."""
        token = self.pick("live", alone=True)
        if token is None:
            return None
        memory.deemphasize(self.find(memory, token), 1.0)
        weak = [m for m in memory.list(limit=None) if m.salience < 0.1]
        changes = {
            f"memory:{_token(m.content)}": f"trash|{m.kind}|{m.content.strip()}" for m in weak
        }
        return Operation("cleanup", changes, lambda: memory.cleanup(0.1), stepwise=True)

    def _use(self, memory: Muisti) -> Operation | None:
        token = self.pick("live")
        if token is None:
            return None
        return Operation("use", {}, lambda: memory.reinforce(self.find(memory, token)))

    def _index_path(self, memory: Muisti) -> Operation:
        token = self.token()
        file = self.folder / f"{token}.md"
        file.write_text(f"# A page\n\nThe {self.chance.choice(NOUNS)} in {token}.\n")
        return Operation(
            "index_path", {f"document:{token}": "yes"}, lambda: memory.index_path(file)
        )

    def _forget(self, memory: Muisti) -> Operation:
        """Of a project that is made for it, so that nothing else goes."""
        token = self.token()
        text = self.text(token)
        memory.save(text, kind="note", project=token)
        memory.append_message(f"old_{token}", "user", f"Gone {token}", project=token)
        given = {f"memory:{token}": f"live|note|{text}", f"message:{token}": "yes"}
        return Operation(
            "forget",
            dict.fromkeys(given),
            lambda: memory.forget(project=token, hard=True),
            stepwise=True,
            given=given,
        )

    def _extract(self, memory: Muisti) -> Operation:
        token = self.token()
        text = f"Remember that {token} is stored in cabinet {self.next}."
        return Operation(
            "extract",
            {f"extracted:{token}": "yes"},
            lambda: memory.extract_and_save(f"talk{self.number}", text),
        )

    def _session(self, memory: Muisti) -> Operation:
        active = sorted(k for k, v in self.contents.items() if k[:7] == "session" and v == "active")
        if active and self.chance.randrange(2):
            ended = active[0]
            return Operation(
                "session", {ended: "completed"}, lambda: memory.end_session(ended[8:], "Done")
            )
        token = self.token()
        return Operation(
            "session",
            {f"session:{token}": "active"},
            lambda: memory.start_session(session_id=token),
        )


VERBS = [
    "save", "batch", "update", "delete", "restore", "erase", "supersede", "link", "message",
    "core_update", "core_delete", "import", "sync", "reindex", "cleanup", "use", "index_path",
    "forget", "extract", "session",
]  # fmt: skip

"""A vault with texts in random scopes, and the rule that says who may see which (contract A3).

Each text has two words of its own: `key`, which queries use, and `secret`, which nothing but the
text itself contains. The rule is written from the contract and does not call muisti.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from muisti import Muisti

TOPIC = "harbour"
"""A word of every text, so that a search for it matches all of them."""
STANDING = "Always mention "
"""How a standing instruction begins."""
PROJECTS = ["apollo", "borealis", "cirrus"]
USERS = ["anna", "ben", "chen"]
UNKNOWN = "zephyrus"
"""A name that is neither a project, a user nor a session."""
_LETTERS = "bcdfghjklmnpqrstvwz"
_SYLLABLES = ["ka", "lo", "mi", "nu", "pe", "ra", "si", "to", "ve", "ju", "ho", "du"]


@dataclass(frozen=True)
class Item:
    """A text of the vault, and where it belongs."""

    what: str
    """memory, version, message, document, core or summary."""
    id: str
    key: str
    secret: str
    project: str = ""
    user: str = ""
    tier: str = "project"
    session: str | None = None
    """The session of a memory or a summary, the conversation of a message."""
    deleted: bool = False
    section: str = "user"
    """Of core memory."""
    at: datetime | None = None
    covers: tuple[Item, ...] = ()
    """The messages of a memory that is a summary of a conversation."""


@dataclass(frozen=True)
class Scope:
    """What a call names. None: nothing; "*": all."""

    project: str | None = None
    user: str | None = None
    session: str | None = None

    @property
    def options(self) -> dict[str, str]:
        """The options of a call in this scope."""
        named = {"project": self.project, "user": self.user, "session_id": self.session}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Sight:
    """Whose texts a read sees. None: of all."""

    project: str | None = None
    user: str | None = None
    session: str | None = None
    all_sessions: bool = False
    """Lists and look-ups by ID: without a session they show the texts of all sessions."""
    named: str | None = None
    """A conversation or session that the call names, besides its scope."""

    def sees(self, item: Item) -> bool:
        """Whether a read may show this text: the rule of the contract."""
        if item.what == "core":
            return item.section == "agent" or item.user == (self.user or "")
        if self.user is not None and item.user not in (self.user, ""):
            return False
        in_project = self.project is None or item.project == self.project
        if item.what == "message":
            if item.project == "" and item.user == "":  # it belongs to nobody
                is_unscoped = self.project is None and self.user is None and self.session is None
                return is_unscoped or item.session in (self.session, self.named)
            return in_project
        if item.tier == "session" and item.session not in (self.session, self.named):
            return self.all_sessions and self.session is None and in_project
        return item.tier == "global" or in_project


@dataclass
class World:
    """A vault and what is in it."""

    memory: Muisti
    items: list[Item] = field(default_factory=list)
    sessions: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Project and user by session; a conversation is a session too."""
    conversations: list[str] = field(default_factory=list)
    superseded: list[Item] = field(default_factory=list)
    linking: list[Item] = field(default_factory=list)
    """Memories with wikilinks."""
    words: dict[str, list[str]] = field(default_factory=dict)
    """Other words of each text, by its key."""

    def of(self, *what: str) -> list[Item]:
        """The texts of these types."""
        return [item for item in self.items if item.what in what]

    def look(self, scope: Scope, **more: object) -> Sight | None:
        """What a read in this scope sees; None if it names a session that it must not find."""
        project = None if scope.project == "*" else scope.project
        user = None if scope.user == "*" else scope.user
        if scope.session is None:
            return Sight(project, user, None, **more)  # type: ignore[arg-type]
        if scope.session not in self.sessions:
            return None
        own_project, own_user = self.sessions[scope.session]
        if project not in (None, own_project) or user not in (None, own_user):
            return None
        project = None if scope.project == "*" else own_project
        return Sight(project, own_user, scope.session, **more)  # type: ignore[arg-type]

    def random_scope(self, chance: random.Random) -> Scope:
        """A scope: often a project and a user, or a session; sometimes one that does not exist."""
        project = chance.choice([None, None, *PROJECTS, *PROJECTS, "", "*", UNKNOWN])
        user = chance.choice([None, None, *USERS, *USERS, "", "*", UNKNOWN])
        if chance.random() < 0.55:
            return Scope(project, user)
        session = chance.choice([*self.sessions, *self.sessions, UNKNOWN])
        if session in self.sessions and chance.random() < 0.75:  # as a caller would who knows it
            own_project, own_user = self.sessions[session]
            project = chance.choice([None, own_project, "*"])
            user = chance.choice([None, own_user, "*"])
        return Scope(project, user, session)


class Builder:
    """Fills a vault."""

    def __init__(
        self, memory: Muisti, chance: random.Random, folder: Path | None, prefix: str = ""
    ) -> None:
        """Prefix: of the names of sessions and conversations."""
        self._prefix = prefix
        self._chance = chance
        self._folder = folder
        self._count = 0
        self.world = World(memory)

    def build(self, size: int = 60) -> World:
        """Fill the vault with about so many texts."""
        world, chance = self.world, self._chance
        for number in range(6):
            name = f"{self._prefix}session-{number}"
            scope = self._pick_scope()
            world.memory.start_session(scope[0], session_id=name, user=scope[1])
            world.sessions[name] = scope
        for _ in range(3):  # at different times
            self._add_memories(size * 5 // 27)
        for number in range(5):
            self._add_conversation(f"chan_{self._prefix}{number}", owned=number != 4)
        if self._folder is not None:
            for number in range(3):
                self._add_documents(number)
        self._add_core()
        for name in chance.sample([*world.sessions][:6], 4):
            summary = self._make("summary", name, *world.sessions[name], session=name)
            ended = world.memory.end_session(name, self._text(summary))
            self._rename(summary, name, ended.ended_at)
        self._add_links()
        return world

    def _pick_scope(self) -> tuple[str, str]:
        return self._chance.choice(["", *PROJECTS]), self._chance.choice(["", *USERS])

    def _word(self) -> str:
        return "".join(self._chance.choices(_SYLLABLES, k=4))

    def _make(self, what: str, id: str, project: str, user: str, **more: object) -> Item:
        self._count += 1
        key = "qk" + "".join(self._chance.choices(_LETTERS, k=9))
        secret = "qz" + "".join(self._chance.choices(_LETTERS, k=11))
        item = Item(what, id, key, secret, project, user, **more)  # type: ignore[arg-type]
        self.world.items.append(item)
        return item

    def _text(self, item: Item) -> str:
        words = [self._word() for _ in range(self._chance.randint(4, 12))]
        self.world.words[item.key] = words
        return f"{item.secret} {item.key} {TOPIC} {' '.join(words)} {self._count}"

    def _rename(self, old: Item, id: str, at: datetime | None = None) -> Item:
        """The same item with the ID and the time that it got."""
        new = replace(old, id=id, at=at)
        self.world.items[self.world.items.index(old)] = new
        return new

    def _add_memories(self, count: int) -> None:
        world, chance = self.world, self._chance
        drafts, made = [], []
        for _ in range(count):
            tier = chance.choice(["project", "project", "project", "global", "session"])
            project, user = self._pick_scope()
            session = None
            if tier == "session" or chance.random() < 0.2:
                session = chance.choice([*world.sessions][:6])
                project, own_user = world.sessions[session]
                user = own_user or ("" if tier == "session" else user)
            item = self._make("memory", "", project, user, tier=tier, session=session)
            made.append(item)
            drafts.append(
                {
                    "content": chance.choice(["", "", "", STANDING]) + self._text(item),
                    "keywords": [TOPIC, item.secret],
                    "summary": item.secret,
                    "project": project,
                    "user": user,
                    "tier": tier,
                    "session_id": session,
                    "trusted": chance.random() < 0.5,
                    "kind": chance.choice(["fact", "decision", "note", "preference"]),
                }
            )
        saved = world.memory.save_batch(drafts)
        for draft, memory in zip(made, saved, strict=True):
            assert draft.secret in memory.content, "a duplicate was merged"
            assert (memory.project, memory.user) == (draft.project, draft.user)
            item = self._rename(draft, memory.id, memory.created_at)
            what = chance.random()
            if what < 0.1:
                world.items.remove(item)
                world.items.append(replace(item, deleted=True))
                world.memory.delete(memory.id)
            elif what < 0.25:
                world.items.append(replace(item, what="version"))
                world.items.remove(item)
                scope = {"tier": item.tier, "session": item.session, "at": item.at}
                new = self._make("memory", memory.id, item.project, item.user, **scope)
                world.memory.update(memory.id, content=self._text(new), keywords=[TOPIC, new.key])
                world.memory.update(memory.id, title=f"{new.secret} title", summary="")

    def _add_conversation(self, name: str, *, owned: bool) -> None:
        world, chance = self.world, self._chance
        project, user = self._pick_scope() if owned else ("", "")
        ids: list[str] = []
        messages: list[Item] = []
        for number in range(chance.randint(1, 3)):
            item = self._make("message", "", project, user, session=name)
            given = {"project": project, "user": user} if number == 0 else {}
            role = chance.choice(["user", "assistant"])
            message = world.memory.append_message(name, role, self._text(item), **given)
            at = f"{message.at:%Y-%m-%d}"
            messages.append(self._rename(item, f"message:{name}/{at}/{message.id}", message.at))
            ids.append(message.id)
        world.conversations.append(name)
        world.sessions[name] = (project, user)
        covered = {"conversation": name, "from_message": ids[0], "to_message": ids[-1]}
        summary = self._make("memory", "", project, user, covers=tuple(messages))
        scope = {"project": project, "user": user, "tier": "project"}
        keywords = [TOPIC, summary.secret]
        saved = world.memory.save(self._text(summary), keywords=keywords, **covered, **scope)  # type: ignore[arg-type]
        self._rename(summary, saved.id, saved.created_at)

    def _add_documents(self, number: int) -> None:
        assert self._folder is not None
        folder = self._folder / f"documents-{number}"
        folder.mkdir(parents=True)
        project, user = self._pick_scope()
        tier = "project" if project else "global"
        first = self._make("document", str(folder / "a.md"), project, user, tier=tier)
        second = self._make("document", str(folder / "a.md"), project, user, tier=tier)
        # Headings are part of the IDs that callers pass, so that they have no secrets.
        texts = f"# {first.key}\n\n{self._text(first)}\n\n## Second\n\n{self._text(second)}\n"
        (folder / "a.md").write_text(texts)
        name = f"notes-{first.secret}"
        self.world.memory.index_path(folder, name, project=project, user=user)
        for item in (first, second):
            found = self.world.memory.search(item.key, mode="keyword", source="document", limit=1)
            self._rename(item, found[0].memory.id)

    def _add_core(self) -> None:
        memory = self.world.memory
        for user in ["", *self._chance.sample(USERS, 2)]:
            item = self._make("core", "", "", user)
            memory.core_update("user", f"note {item.key}", self._text(item), user=user)
        item = self._make("core", "", "", "", section="agent")
        memory.core_update("agent", f"rule {item.key}", self._text(item))

    def _add_links(self) -> None:
        world, chance = self.world, self._chance
        memories = [item for item in world.of("memory") if not item.deleted]
        replacing: list[Item] = []
        linked: list[tuple[Item, Item]] = []
        for _ in range(10):
            one, other = chance.sample(memories, 2)
            if (one, other) not in linked:
                linked.append((one, other))
                world.memory.link(one.id, other.id, chance.choice(["RELATED_TO", "BUILDS_ON"]))
        for item in chance.sample(memories, 8):
            known = world.memory.get(item.id)
            assert known is not None
            others = " ".join(f"[[{other.id}]]" for other in chance.sample(memories, 5))
            text = f"{known.content} {others} [[Nowhere {item.secret}]]"
            world.memory.update(item.id, content=text)
            world.linking.append(item)
        for old, new in zip(memories, chance.sample(memories, len(memories)), strict=True):
            is_free = not {old, new} & {*world.superseded, *replacing} and old != new
            if is_free and old.user == new.user and len(world.superseded) < 8:
                world.memory.supersede(old.id, new.id)
                world.superseded.append(old)
                replacing.append(new)
        for item in chance.sample(memories, 5):  # a session that looked at whatever it liked
            session = chance.choice([*world.sessions][:6])
            world.memory.link_to_session(item.id, session)


def build_world(
    memory: Muisti, seed: object, folder: Path | None, size: int = 60, prefix: str = ""
) -> World:
    """Fill an empty vault. Folder: where its documents are; None for a vault without any.

    Prefix: of the names of sessions and conversations.
    """
    return Builder(memory, random.Random(f"world {seed}"), folder, prefix).build(size)


def read_scopes(world: World) -> dict[str, Sequence[object]]:
    """Everything that is in a vault, with its scope, as the owner reads it."""
    memory = world.memory
    conversations = memory.list_conversations()
    return {
        "memories": sorted(
            (one.id, one.content, one.project, one.user, one.tier, one.session_id or "")
            for one in memory.list(limit=None)
        ),
        "trash": sorted(one.id for one in memory.list_trash()),
        "archive": sorted(one.id for one in memory.list_archive()),
        "messages": sorted(
            (one.name, message.id, message.content, message.project, message.user)
            for one in conversations
            for message in memory.window(one.name, 1000, whole=True)
        ),
        "conversations": sorted((one.name, one.project, one.user) for one in conversations),
        "sessions": sorted(
            (one.id, one.project, one.user, one.summary) for one in memory.list_sessions(limit=1000)
        ),
        "documents": sorted(
            (one.path, one.project, one.user) for one in memory.list_document_sources()
        ),
        "core": [(user, memory.core_get(user=user)) for user in ["", *USERS]],
    }

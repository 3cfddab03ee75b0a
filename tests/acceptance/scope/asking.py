"""Every read verb of Python, asked in a scope. Other surfaces ask the same verbs: `surfaces.py`."""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from muisti import MemoryService
from muisti.errors import ConversationNotFound, InvalidRequest, MemoryNotFound, SessionNotFound
from muisti.model.jsonable import to_jsonable

from .world import TOPIC, UNKNOWN, Item, Scope, Sight, World

ALL = 1000


@dataclass(frozen=True)
class Asked:
    """An answer, and what the scope of the question sees."""

    text: str
    """Everything that the caller reads, errors included."""
    sight: Sight | None
    """None: the session must not be found."""
    wanted: Sequence[Item] = ()
    """Texts that must be in the answer."""


Verb = Callable[[World, random.Random, Scope], Asked]


def check(world: World, asked: Asked) -> None:
    """The answer has no text from outside the scope, and all that it must have."""
    seen = asked.sight
    if seen is None:
        leaked = [item for item in world.items if item.secret in asked.text]
    else:
        leaked = [item for item in world.items if item.secret in asked.text and not seen.sees(item)]
    assert not leaked, f"outside the scope {seen}: {leaked}"
    missing = [item for item in asked.wanted if item.secret not in asked.text]
    assert not missing, f"in the scope {seen}, but not found: {missing}"


def ask(call: Callable[[], Any], sight: Sight | None, *wanted: Item) -> Asked:
    """Call a verb. If it must not find its session, it raises SessionNotFound."""
    try:
        text = to_text(call())
    except SessionNotFound as error:
        assert sight is None, f"the session is not found: {error}"
        return Asked(str(error), None)
    except MemoryNotFound as error:
        assert not wanted, f"{wanted} is not found"
        return Asked(str(error), sight)
    except InvalidRequest as error:
        assert not wanted, str(error)
        return Asked(str(error), sight)
    assert sight is not None, f"a session outside the scope was found: {text[:200]}"
    return Asked(text, sight, wanted)


def to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(to_jsonable(value), ensure_ascii=False)


def pick(world: World, chance: random.Random) -> Item:
    """A text that has an ID."""
    kinds = chance.choice([("memory",), ("memory",), ("message",), ("document", "memory")])
    return chance.choice(world.of(*kinds))


def make_query(world: World, chance: random.Random) -> str:
    """A question that matches all texts, or the words of one that may be outside the scope."""
    words = chance.choice(world.items).key
    return chance.choice([TOPIC, words, f"{words} {TOPIC}", f"What about {words}?"])


def visible(world: World, sight: Sight | None, *what: str) -> list[Item]:
    """What a list must show."""
    if sight is None:
        return []
    return [item for item in world.of(*what) if sight.sees(item) and not item.deleted]


# -- Verbs


def search(world: World, chance: random.Random, scope: Scope) -> Asked:
    mode = chance.choice(["keyword", "hybrid", "vector"])
    sight, query = world.look(scope), make_query(world, chance)
    more = {"record": False, "limit": chance.choice([3, 10, 100])}
    if chance.random() < 0.2:
        more["include_deleted"] = True
    call = world.memory.search
    return ask(lambda: call(query, mode=mode, **more, **scope.options), sight)  # type: ignore[arg-type]


def search_everything(world: World, chance: random.Random, scope: Scope) -> Asked:
    sight = world.look(scope)
    wanted = visible(world, sight, "memory", "message", "document")
    call = world.memory.search
    return ask(
        lambda: call(TOPIC, limit=200, mode="keyword", **scope.options),
        sight,
        *wanted,  # type: ignore[arg-type]
    )


def search_by_source(world: World, chance: random.Random, scope: Scope) -> Asked:
    """A document's name is no secret to its owner only; errors must not list the others'."""
    names = [f"notes-{item.secret}" for item in world.of("document")[::2]]
    source = chance.choice(["memory", "message", "document", UNKNOWN])
    sight = world.look(scope)
    query = make_query(world, chance)
    if chance.random() < 0.3 and names:
        # The caller names the document, so that its name is no leak.
        source = chance.choice(names)
        asked = ask(lambda: world.memory.search(query, source=source, **scope.options), sight)  # type: ignore[arg-type]
        return replace(asked, text=asked.text.replace(source, ""))
    return ask(lambda: world.memory.search(query, source=source, **scope.options), sight)  # type: ignore[arg-type]


def search_in_session(world: World, chance: random.Random, scope: Scope) -> Asked:
    named = chance.choice([*world.sessions])
    sight = world.look(scope, named=named)
    query = make_query(world, chance)
    return ask(lambda: world.memory.search(query, session=named, **scope.options), sight)  # type: ignore[arg-type]


def search_compact(world: World, chance: random.Random, scope: Scope) -> Asked:
    query = make_query(world, chance)
    call = world.memory.search_compact
    return ask(lambda: call(query, limit=100, **scope.options), world.look(scope))  # type: ignore[arg-type]


def search_by_keywords(world: World, chance: random.Random, scope: Scope) -> Asked:
    sight = world.look(scope)
    call = world.memory.search_by_keywords
    wanted = visible(world, sight, "memory")
    return ask(lambda: call([TOPIC], limit=ALL, **scope.options), sight, *wanted)  # type: ignore[arg-type]


def list_memories(world: World, chance: random.Random, scope: Scope) -> Asked:
    sight = world.look(scope, all_sessions=True)
    order = chance.choice(["created_at", "salience", "last_accessed"])
    call = world.memory.list
    wanted = visible(world, sight, "memory")
    return ask(lambda: call(limit=None, order_by=order, **scope.options), sight, *wanted)  # type: ignore[arg-type]


def list_with_trash(world: World, chance: random.Random, scope: Scope) -> Asked:
    sight = world.look(scope, all_sessions=True)
    call = world.memory.list
    return ask(lambda: call(limit=None, include_deleted=True, **scope.options), sight)  # type: ignore[arg-type]


def export(world: World, chance: random.Random, scope: Scope) -> Asked:
    sight = world.look(scope, all_sessions=True)
    form = chance.choice(["markdown", "json", "jsonl", "html", "mcp-memory"])
    call = world.memory.export_memories
    wanted = visible(world, sight, "memory")
    return ask(lambda: call(format=form, **scope.options), sight, *wanted)  # type: ignore[arg-type]


def export_folder(world: World, chance: random.Random, scope: Scope) -> Asked:
    sight = world.look(scope, all_sessions=True)

    def call() -> str:
        with tempfile.TemporaryDirectory() as folder:
            world.memory.export_folder(folder, **scope.options)  # type: ignore[arg-type]
            return "\n".join(path.read_text() for path in sorted(Path(folder).rglob("*.md")))

    return ask(call, sight, *visible(world, sight, "memory"))


def review(world: World, chance: random.Random, scope: Scope) -> Asked:
    sight = world.look(scope, all_sessions=True)

    def call() -> str:
        count = world.memory.count_review(**scope.options)  # type: ignore[arg-type]
        found = world.memory.review(limit=None, **scope.options)  # type: ignore[arg-type]
        assert count.memories + count.links == len(found)
        return to_text(found)

    return ask(call, sight)


def context(world: World, chance: random.Random, scope: Scope) -> Asked:
    query = make_query(world, chance)
    sight = world.look(scope)
    core = [item for item in world.of("core") if sight and sight.sees(item)]
    call = world.memory.context
    return ask(lambda: call(query, budget=8000, limit=50, **scope.options), sight, *core)  # type: ignore[arg-type]


def find_standing(world: World, chance: random.Random, scope: Scope) -> Asked:
    query = chance.choice([None, make_query(world, chance)])
    call = world.memory.find_standing
    return ask(lambda: call(query, **scope.options), world.look(scope))  # type: ignore[arg-type]


def list_standing(world: World, chance: random.Random, scope: Scope) -> Asked:
    sight = world.look(scope, all_sessions=True)
    call = world.memory.list
    return ask(lambda: call(limit=None, standing=True, **scope.options), sight)  # type: ignore[arg-type]


def search_messages(world: World, chance: random.Random, scope: Scope) -> Asked:
    named = chance.choice([None, *world.conversations])
    sight = world.look(scope, named=named)
    query = make_query(world, chance)
    call = world.memory.search_messages
    return ask(lambda: call(query, conversation=named, limit=50, **scope.options), sight)  # type: ignore[arg-type]


def get(world: World, chance: random.Random, scope: Scope) -> Asked:
    item, sight = pick(world, chance), world.look(scope, all_sessions=True)
    trash, archive = chance.random() < 0.3, chance.random() < 0.3
    call = world.memory.get
    found = [item] if sight and sight.sees(item) and (trash or not item.deleted) else []
    return ask(
        lambda: call(item.id, include_deleted=trash, include_archived=archive, **scope.options),  # type: ignore[arg-type]
        sight,
        *found,
    )


def details(world: World, chance: random.Random, scope: Scope) -> Asked:
    items = [pick(world, chance) for _ in range(chance.randint(1, 4))]
    sight = world.look(scope, all_sessions=True)
    all_seen = sight and all(sight.sees(item) and not item.deleted for item in items)
    call = world.memory.details
    ids = [item.id for item in items]
    return ask(lambda: call(ids, **scope.options), sight, *(items if all_seen else []))  # type: ignore[arg-type]


def _by_id(name: str, **options: object) -> Verb:
    def verb(world: World, chance: random.Random, scope: Scope) -> Asked:
        item, sight = pick(world, chance), world.look(scope, all_sessions=True)
        call = getattr(world.memory, name)
        return ask(lambda: call(item.id, **options, **scope.options), sight)

    return verb


def _links(name: str) -> Verb:
    """Links have no texts, so the IDs of their ends are looked up."""

    def verb(world: World, chance: random.Random, scope: Scope) -> Asked:
        item = chance.choice([*world.linking, pick(world, chance)])

        def call() -> str:
            by_id = {one.id: one.secret for one in world.of("memory")} | {None: ""}
            given = [item.id] if name == "find_links" else item.id
            found = getattr(world.memory, name)(given, **scope.options)
            if name != "wikilinks":
                found = dict(enumerate(end for one in found for end in (one.source, one.target)))
            return " ".join(by_id[end] for end in found.values())

        return ask(call, world.look(scope, all_sessions=True))

    return verb


def unresolved_links(world: World, chance: random.Random, scope: Scope) -> Asked:
    sight = world.look(scope)
    wanted = [item for item in world.linking if sight and sight.sees(item)]
    return ask(lambda: world.memory.unresolved_links(**scope.options), sight, *wanted)  # type: ignore[arg-type]


def history(world: World, chance: random.Random, scope: Scope) -> Asked:
    """As `_links`: an entry names the memory at its other end."""
    item, sight = pick(world, chance), world.look(scope, all_sessions=True)

    def call() -> str:
        by_id = {one.id: one.secret for one in world.of("memory")}
        found = world.memory.history(item.id, **scope.options)  # type: ignore[arg-type]
        others = [by_id.get(entry.other_id or "", "") for entry in found]
        return to_text(found) + " ".join(others)

    return ask(call, sight)


def find_outdated(world: World, chance: random.Random, scope: Scope) -> Asked:
    """Names the successors of memories; the IDs are known, their texts may not be."""
    ids = [pick(world, chance).id for _ in range(5)]
    sight = world.look(scope, all_sessions=True)
    return ask(lambda: world.memory.find_outdated(ids, **scope.options), sight)  # type: ignore[arg-type]


def superseding(world: World, chance: random.Random, scope: Scope) -> Asked:
    item = chance.choice([*world.superseded, pick(world, chance)])
    sight = world.look(scope, all_sessions=True)
    return ask(lambda: world.memory.superseding(item.id, **scope.options), sight)  # type: ignore[arg-type]


def related(world: World, chance: random.Random, scope: Scope) -> Asked:
    item, sight = pick(world, chance), world.look(scope)
    call = world.memory.related
    return ask(lambda: call(item.id, limit=50, **scope.options), sight)  # type: ignore[arg-type]


def explain(world: World, chance: random.Random, scope: Scope) -> Asked:
    item, sight = pick(world, chance), world.look(scope)
    query = make_query(world, chance)
    if sight and (sight.user is not None or sight.session is not None):
        own = Sight(None, sight.user, sight.session, all_sessions=True)
        if not own.sees(item):
            try:
                world.memory.explain(query, item.id, **scope.options)  # type: ignore[arg-type]
            except MemoryNotFound as error:
                return Asked(str(error), sight)
            raise AssertionError(f"{item} is explained to {sight}")
    return ask(lambda: world.memory.explain(query, item.id, **scope.options), sight)  # type: ignore[arg-type]


def window(world: World, chance: random.Random, scope: Scope) -> Asked:
    named = chance.choice(world.conversations)
    whole = chance.random() < 0.5
    scope = replace(scope, session=None)
    sight = world.look(scope, named=named)
    options = {name: value for name, value in scope.options.items() if name != "session_id"}
    try:
        text = to_text(world.memory.window(named, ALL, whole=whole, **options))
    except SessionNotFound as error:
        text = str(error)
    return Asked(text, sight)


def list_summaries(world: World, chance: random.Random, scope: Scope) -> Asked:
    sight = world.look(replace(scope, session=None), all_sessions=True)
    named = chance.choice(world.conversations)
    call = world.memory.list_summaries
    return ask(lambda: call(named, project=scope.project, user=scope.user), sight)


def list_conversations(world: World, chance: random.Random, scope: Scope) -> Asked:
    """Their names are looked up: a conversation has no text itself."""
    sight = world.look(replace(scope, session=None))
    found = world.memory.list_conversations(project=scope.project, user=scope.user)
    names = {one.name for one in found}
    owned = [item for item in world.of("message") if item.session in names]
    if "" in (scope.project, scope.user):  # asks for those that belong to nobody
        owned = [item for item in owned if item.project or item.user]
    return Asked(" ".join(item.secret for item in owned), sight)


def get_conversation(world: World, chance: random.Random, scope: Scope) -> Asked:
    sight = world.look(replace(scope, session=None))
    named = chance.choice(world.conversations)
    try:
        world.memory.get_conversation(named, project=scope.project, user=scope.user)
    except ConversationNotFound as error:
        return Asked(str(error), sight)
    owned = [item for item in world.of("message") if item.session == named]
    if "" in (scope.project, scope.user):  # asks for those that belong to nobody
        owned = [item for item in owned if item.project or item.user]
    return Asked(" ".join(item.secret for item in owned), sight)


def list_documents(world: World, chance: random.Random, scope: Scope) -> Asked:
    """Their paths are looked up, as paths have no secrets."""
    sight = world.look(replace(scope, session=None))
    found = world.memory.list_documents(project=scope.project, user=scope.user)
    paths = {one.path for one in found}
    owned = [item for item in world.of("document") if item.id.partition("#")[0] in paths]
    assert bool(owned) == bool(paths)
    return Asked(" ".join(item.secret for item in owned), sight)


def list_sessions(world: World, chance: random.Random, scope: Scope) -> Asked:
    sight = world.look(replace(scope, session=None))
    call = world.memory.list_sessions
    return ask(lambda: call(scope.project, user=scope.user), sight)


def core_get(world: World, chance: random.Random, scope: Scope) -> Asked:
    user = None if scope.user == "*" else scope.user
    sight = Sight(user=user)
    core = [item for item in world.of("core") if sight.sees(item)]
    return ask(lambda: world.memory.core_get(user=user), sight, *core)


def scope_hint(world: World, chance: random.Random, scope: Scope) -> Asked:
    return ask(lambda: world.memory.scope_hint(scope.project, scope.user), Sight("", ""))


def _of_session(name: str) -> Verb:
    def verb(world: World, chance: random.Random, scope: Scope) -> Asked:
        session = scope.session or chance.choice([*world.sessions])
        sight = world.look(Scope("*", None, session))
        call = getattr(world.memory, name)
        try:
            text = to_text(call(session))
        except SessionNotFound as error:
            # A conversation is a session only if memories are of it too.
            assert sight is None or session in world.conversations, str(error)
            return Asked(str(error), sight)
        assert sight is not None
        return Asked(text, sight)

    return verb


def get_session(world: World, chance: random.Random, scope: Scope) -> Asked:
    session = scope.session or chance.choice([*world.sessions])
    project, user = world.sessions.get(session, ("", ""))
    try:
        text = to_text(world.memory.get_session(session))
    except SessionNotFound as error:
        text = str(error)
    return Asked(text, Sight(project, user, session))


def get_relevant_memories(world: World, chance: random.Random, scope: Scope) -> Asked:
    session = scope.session or chance.choice([*world.sessions])
    query = make_query(world, chance)
    sight = world.look(Scope(session=session))

    def call() -> str:
        found = world.memory.get_relevant_memories(session, query, 20)
        return to_text(found) + world.memory.build_memory_context(found)

    return ask(call, sight)


PYTHON: dict[str, Verb] = {
    "search": search,
    "search, all of them": search_everything,
    "search, by source": search_by_source,
    "search, in a session": search_in_session,
    "search_compact": search_compact,
    "search_by_keywords": search_by_keywords,
    "list": list_memories,
    "list, with the trash": list_with_trash,
    "export_memories": export,
    "export_folder": export_folder,
    "review, count_review": review,
    "context": context,
    "find_standing": find_standing,
    "list, standing instructions": list_standing,
    "search_messages": search_messages,
    "get": get,
    "details": details,
    "timeline": _by_id("timeline", before=20, after=20),
    "superseding": superseding,
    "find_outdated": find_outdated,
    "graph": _by_id("graph", depth=3),
    **{name: _links(name) for name in ("links", "find_links", "wikilinks")},
    "unresolved_links": unresolved_links,
    "history": history,
    "related": related,
    "explain": explain,
    "window": window,
    "list_summaries": list_summaries,
    "list_conversations": list_conversations,
    "get_conversation": get_conversation,
    "list_documents": list_documents,
    "list_sessions": list_sessions,
    "core_get": core_get,
    "scope_hint": scope_hint,
    "get_by_session": _of_session("get_by_session"),
    "get_session_context": _of_session("get_session_context"),
    "get_raw_session_content": _of_session("get_raw_session_content"),
    "get_session_token_count": _of_session("get_session_token_count"),
    "session_uses": _of_session("session_uses"),
    "get_session": get_session,
    "get_relevant_memories, build_memory_context": get_relevant_memories,
}
"""By the methods that they ask; a method may be asked in several ways."""


class AsyncAsTheOther:
    """The methods of MemoryService, called like those of Muisti."""

    def __init__(self, world: World) -> None:
        self._threads = ThreadPoolExecutor(1)
        self._service = MemoryService(world.memory, self._threads)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._service, name)
        return lambda *given, **options: asyncio.run(method(*given, **options))

    def close(self) -> None:
        self._threads.shutdown()


def ask_service(name: str, world: World, chance: random.Random, scope: Scope) -> Asked:
    """Ask a verb of MemoryService."""
    service = AsyncAsTheOther(world)
    try:
        return PYTHON[name](replace(world, memory=service), chance, scope)  # type: ignore[arg-type]
    finally:
        service.close()

"""`forget` removes everything of a scope and nothing else; a hard one leaves no byte (F6)."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from muisti import ForgetReport, Muisti, bootstrap
from muisti.errors import InvalidRequest
from muisti.model import Exchange
from muisti.remember.identity import make_id
from muisti.storage.files.queue import FileQueue
from tests import tiers
from tests.conftest import FakeClock
from tests.faults.crash import ACKNOWLEDGED, killed_at
from tests.faults.invariants import check_sound

from .world import PROJECTS, TOPIC, USERS, Item, World, build_world, read_scopes

START = datetime(2026, 3, 1, tzinfo=UTC)
ROUNDS = tiers.amount(quick=3, all=12, long=100)
Given = dict[str, Any]


class TickingClock:
    """Time that goes on by a minute whenever it is read."""

    def __init__(self, at: datetime = START) -> None:
        self.at = at

    def now(self) -> datetime:
        self.at += timedelta(minutes=1)
        return self.at


def open_vault(vault: Path, at: datetime = START) -> Muisti:
    """Open a vault without going on with what waits for extraction."""
    settings = {"embedder": "none"}
    return bootstrap.open(vault, role="cli", create=True, clock=TickingClock(at), settings=settings)


def build(memory: Muisti, vault: Path, seed: object, *, with_queue: bool = True) -> World:
    """A world with an archive, and exchanges of its sessions that wait for extraction."""
    world = build_world(memory, seed, vault.parent / "documents")
    archived = {one.id for one in memory.evict(9_000, to=0.9)}
    assert archived
    assert memory.list(limit=1)
    world.items = [
        replace(item, what="archived") if item.id in archived and item.what == "memory" else item
        for item in world.items
    ]
    if not with_queue:
        return world
    queue = FileQueue(vault)
    for number, (name, (project, user)) in enumerate(world.sessions.items()):
        at = START + timedelta(minutes=number)
        secret = f"qzqueue{number}bcdfg"
        text = f"I like {secret}"
        queue.put(Exchange(id=make_id(at), at=at, session_id=name, user=text, assistant=""))
        item = Item("exchange", name, "", secret, project, user, session=name, at=at)
        world.items.append(item)
    queue.close()
    return world


def is_in(item: Item, given: Given) -> bool:
    """Whether a text is to be forgotten: all that is given must match.

    A summary goes with each of the messages that it covers.
    """
    if any(is_in(message, given) for message in item.covers):
        return True
    if item.what == "core":
        return given == {"user": item.user}
    if item.what == "document":
        if not given.keys() <= {"project", "user"} or not (item.project or item.user):
            return False
    elif "conversation" in given and given["conversation"] != item.session:
        return False
    if "before" in given and not (item.at is not None and item.at < given["before"]):
        return False
    return all(getattr(item, name) == given[name] for name in ("project", "user") if name in given)


def pick_scope(world: World, chance: random.Random) -> Given:
    """A scope that is in the vault."""
    names = ("project", "user", "conversation", "before")
    given: Given = {}
    for name in chance.sample(names, chance.choice([1, 1, 1, 2, 3])):
        items = [item for item in world.items if item.what in ("memory", "message")]
        value = {
            "project": chance.choice([item.project for item in items if item.project]),
            "user": chance.choice([item.user for item in items if item.user]),
            "conversation": chance.choice([*world.sessions]),
            "before": chance.choice([item.at for item in items]),
        }[name]
        given[name] = value
    return given


def read_files(vault: Path, *, with_index: bool = False) -> dict[str, bytes]:
    return {
        str(path.relative_to(vault)): path.read_bytes()
        for path in sorted(vault.rglob("*"))
        if path.is_file() and (with_index or ".muisti" not in path.parts)
    }


def find_everywhere(world: World, items: list[Item]) -> list[tuple[str, str]]:
    """The verbs that still find one of these texts. The trash and the archive are not asked."""
    memory = world.memory
    conversations = memory.list_conversations()
    users = [None, "", *USERS]
    texts = {
        "list": str(memory.list(limit=None)),
        "search": str(memory.search(TOPIC, mode="keyword", limit=500)),
        "search_compact": str(memory.search_compact(TOPIC, limit=500)),
        "keywords": str(memory.search_by_keywords([TOPIC], limit=500)),
        "search_messages": str(memory.search_messages(TOPIC, limit=500)),
        "export": memory.export_memories(format="json"),
        "windows": str([memory.window(one.name, 500, whole=True) for one in conversations]),
        "sessions": str(memory.list_sessions(limit=500)),
        "core": str([memory.core_get(user=user) for user in users]),
        "context": "".join(memory.context(TOPIC, user=user, budget=9000) for user in users),
        "documents": str(memory.list_document_sources()),
    }
    for name in world.sessions:
        for project in PROJECTS:
            texts[f"search in {name}"] = str(memory.search(TOPIC, session=name, project=project))
    return [
        (verb, item.secret) for verb, text in texts.items() for item in items if item.secret in text
    ]


def keep(before: dict[str, list[Any]], gone: list[Item]) -> dict[str, list[Any]]:
    """What is left of a vault without these texts."""
    ids = {item.id for item in gone}
    left = {name: list(values) for name, values in before.items()}
    secrets = [item.secret for item in gone if item.what == "message"]
    left["memories"] = [one for one in before["memories"] if one[0] not in ids]
    left["messages"] = [
        one for one in before["messages"] if not any(secret in one[2] for secret in secrets)
    ]
    names = {one[0] for one in left["messages"]}
    left["conversations"] = [one for one in before["conversations"] if one[0] in names]
    folders = {
        os.path.dirname(item.id.partition("#")[0]) for item in gone if item.what == "document"
    }
    left["documents"] = [one for one in before["documents"] if one[0] not in folders]
    users = {item.user for item in gone if item.what == "core"}
    left["core"] = [
        (user, replace(core, user={}) if user in users else core) for user, core in before["core"]
    ]
    del left["sessions"], left["trash"], left["archive"]
    return left


@pytest.fixture(params=range(ROUNDS))
def seed(request: pytest.FixtureRequest) -> str:
    """A new seed; the message of a failure names it."""
    return os.environ.get("MUISTI_SCOPE_SEED") or f"{random.SystemRandom().randrange(10**9)}"


@pytest.mark.exhaustive(keep=ROUNDS)
def test_F6_forget_removes_the_scope_and_nothing_else(tmp_path: Path, seed: str) -> None:
    chance = random.Random(f"forget {seed}")
    vault = tmp_path / "vault"
    hard = chance.random() < 0.6
    with open_vault(vault) as memory:
        world = build(memory, vault, seed)
        given = pick_scope(world, chance)
        about = f"seed {seed}, hard {hard}, {given}"
        gone = [item for item in world.items if is_in(item, given)]
        rest = [item for item in world.items if item not in gone]
        before = read_scopes(world)
        files = read_files(vault)

        foreseen = memory.forget(**given, hard=hard, dry_run=True)
        assert read_files(vault) == files, about
        assert read_scopes(world) == before, about
        report = memory.forget(**given, hard=hard)
        assert report == replace(foreseen, dry_run=False), about

        living = [item for item in gone if not item.deleted and item.what != "archived"]
        assert find_everywhere(world, living) == [], about
        check_counts(report, gone, about)
        after = read_scopes(world)
        assert {name: after[name] for name in keep(before, living)} == keep(before, living), about
        for item in rest:
            if item.what == "memory" and not item.deleted:
                assert memory.get(item.id) is not None, about
        check_sound(memory)
        if not hard:
            check_restored(world, report, before, about)
        again = memory.forget(**given, hard=True) if is_known(memory, given) else None
        assert again is None or hard is False or again.is_empty, about
    if hard:
        left = read_files(vault, with_index=True)
        found = [
            (path, item)
            for path, data in left.items()
            for item in gone
            if item.secret.encode() in data.lower()
        ]
        assert not found, f"{about}: {found}"
        for item in rest:  # the bytes of the others are still there
            if item.what not in ("document",):
                assert any(item.secret.encode() in data for data in left.values()), (about, item)
    with open_vault(vault, START + timedelta(days=300)) as memory:
        memory.reindex()
        check_sound(memory)
        if hard:
            assert find_everywhere(replace(world, memory=memory), gone) == [], about


def is_known(memory: Muisti, given: Given) -> bool:
    """Whether something of the scope is left: an unknown one is an error."""
    try:
        memory.forget(**given, hard=True, dry_run=True)
    except InvalidRequest:
        return False
    return True


def check_counts(report: ForgetReport, gone: list[Item], about: str) -> None:
    """The report has what is gone."""

    def count(*what: str) -> int:
        return sum(item.what in what for item in gone)

    trash = sum(item.deleted for item in gone)
    archived = count("archived")
    memories = count("memory") + archived if report.hard else count("memory") - trash
    assert len(report.memories) == memories, about
    assert report.messages == count("message"), about
    assert len(report.documents) == count("document") / 2, about
    assert report.core_entries == count("core"), about
    assert report.exchanges == count("exchange"), about


def check_restored(world: World, report: ForgetReport, before: Any, about: str) -> None:
    """What a soft one removed comes back."""
    for memory_id in report.memories:
        world.memory.restore(memory_id)
    for name in report.conversations:
        world.memory.restore_conversation(name)
    after = read_scopes(world)
    for what in ("memories", "messages", "conversations"):
        assert after[what] == before[what], (about, what)


BAD: list[Given] = [
    {},
    {"project": ""},
    {"user": ""},
    {"project": "unknown"},
    {"user": "unknown"},
    {"conversation": "chan_unknown"},
    {"conversation": "../../etc"},
    {"conversation": ".."},
    {"conversation": "chan_0/../chan_1"},
    {"conversation": "chan_0\x00"},
    {"project": "../anna"},
    {"user": "anna/../ben"},
    {"user": "anna", "project": "unknown"},
    {"before": datetime(2026, 1, 1)},
    {"before": "yesterday"},
    {"project": "*"},
    {"user": "*"},
]


@pytest.mark.parametrize("hard", [False, True])
def test_F6_a_bad_scope_changes_nothing(tmp_path: Path, hard: bool) -> None:
    vault = tmp_path / "vault"
    with open_vault(vault) as memory:
        world = build(memory, vault, "bad input")
        before, files = read_scopes(world), read_files(vault)
        for given in BAD:
            with pytest.raises(InvalidRequest):
                memory.forget(**given, hard=hard)
                pytest.fail(f"accepted: {given}")
        for name in ("chan_unknown", "../conversations", "..", "", ".", "chan_0/..", "a\\b"):
            with pytest.raises(InvalidRequest):
                memory.delete_conversation(name, hard=False)
            with pytest.raises(InvalidRequest):
                memory.restore_conversation(name)
            with pytest.raises(InvalidRequest):
                memory.delete_messages(name, ["x"], hard=hard)
        with pytest.raises(InvalidRequest):
            memory.delete_messages("chan_0", ["unknown"], hard=hard)
        with pytest.raises(InvalidRequest):
            memory.delete_messages("chan_0", [], hard=hard)
        assert read_scopes(world) == before
        assert read_files(vault) == files


SCOPES: list[tuple[Given, bool]] = [
    ({"user": "anna"}, True),
    ({"user": "anna"}, False),
    ({"conversation": "chan_0"}, True),
]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("given", "hard"), SCOPES)
def test_F6_killed_at_any_step_a_second_call_completes_it(
    tmp_path: Path, clock: FakeClock, given: Given, hard: bool
) -> None:
    template, vault = tmp_path / "template" / "vault", tmp_path / "vault"
    with open_vault(template) as memory:
        world = build(memory, template, "killed", with_queue=False)  # it would be extracted
        gone = [item for item in world.items if is_in(item, given)]
        living = [item for item in gone if not item.deleted and item.what != "archived"]
        left = keep(read_scopes(world), living)
        assert gone
    clock.at = START + timedelta(days=30)
    for k in range(1, 1000, tiers.amount(quick=25, all=3, long=1)):
        shutil.copytree(template, vault)
        answer = killed_at(k, vault, clock, lambda m: m.forget(**given, hard=hard))
        with open_vault(vault, clock.at) as memory:
            memory.sync()
            world = replace(world, memory=memory)
            report = memory.verify(deep=True)
            assert report.ok, (k, report.problems)
            if is_known(memory, given):
                memory.forget(**given, hard=hard)
            check_sound(memory)
            assert find_everywhere(world, living) == [], k
            after = read_scopes(world)
            assert {name: after[name] for name in left} == left, k
        if hard:
            files = read_files(vault, with_index=True)
            found = [
                (path, item)
                for path, data in files.items()
                for item in gone
                if item.secret.encode() in data.lower()
            ]
            assert not found, (k, found)
        shutil.rmtree(vault)
        if answer == ACKNOWLEDGED:
            return
    pytest.fail("forget does not end")


# -- Conversations and their memories


def test_F6_a_conversation_of_an_agent_goes_with_what_was_extracted_from_it(
    chat: Muisti,
) -> None:
    """Hooks name the conversation after the agent and the session."""
    chat.start_session("shop", session_id="abc")
    chat.append_message("claude-code_abc", "user", "I keep the key under the mat", project="shop")
    kept = chat.save("The harbour has seven cranes", project="shop")
    gone = chat.save("The key is under the mat", session_id="abc")
    report = chat.forget(conversation="claude-code_abc", hard=True)
    assert report.memories == (gone.id,)
    assert (report.messages, report.sessions) == (1, ("abc",))
    assert [one.id for one in chat.list()] == [kept.id]


def test_F6_a_session_that_two_conversations_could_mean_stays(chat: Muisti) -> None:
    chat.start_session(session_id="5")
    saved = chat.save("The key is under the mat", session_id="5")
    chat.append_message("telegram_5", "user", "Hello from there")
    chat.append_message("discord_5", "user", "Hello from here")
    assert chat.forget(conversation="telegram_5", hard=True).memories == ()
    assert chat.get(saved.id) is not None
    chat.start_session("other", session_id="7")
    saved = chat.save("The key is under another mat", session_id="7")
    chat.append_message("telegram_7", "user", "Hello from there", project="shop")
    assert chat.forget(conversation="telegram_7", hard=True).memories == ()
    assert chat.get(saved.id) is not None


def test_F6_the_messages_that_a_memory_came_from_are_named(chat: Muisti) -> None:
    said = chat.append_message("chan_1", "user", "Remember: my sister lives in Oulu.", user="anna")
    chat.append_message("chan_1", "user", "What is the weather like?")
    chat.append_message("chan_2", "user", "Remember: my sister lives in Oulu.", user="ben")
    chat.extract_and_save("chan_1", "Remember: my sister lives in Oulu.", at=said.at)
    chat.flush()
    [memory] = chat.get_session_context("chan_1")
    assert memory.user == "anna", "a conversation is the session of its name"
    assert said.id in [one.id for one in chat.find_source_messages(memory.id)]
    assert {one.conversation for one in chat.find_source_messages(memory.id)} == {"chan_1"}
    assert chat.find_source_messages(chat.save("Something that nobody said").id) == []


def test_F6_exchanges_that_are_done_leave_no_byte_either(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    with open_vault(vault) as memory:
        memory.start_session(session_id="a", user="anna")
        memory.start_session(session_id="b", user="ben")
        queue = FileQueue(vault)
        made = {}
        for name in ("a", "b", "a"):
            text = f"qzsecret of {name}"
            made[name] = Exchange(
                id=make_id(START), at=START, session_id=name, user=text, assistant=""
            )
            queue.put(made[name])
        queue.done(made["a"].id)
        queue.close()
        assert memory.forget(user="anna", hard=True).exchanges == 1
        files = read_files(vault)
    assert not any(b"qzsecret of a" in data for data in files.values())
    assert any(b"qzsecret of b" in data for data in files.values())


def test_F6_a_conversation_that_was_assigned_comes_back_to_its_owner(chat: Muisti) -> None:
    chat.append_message("chan_1", "user", "The harbour has seven cranes")
    chat.assign_conversation("chan_1", project="shop", user="anna")
    assert chat.forget(user="anna").messages == 1
    assert chat.search("harbour") == []
    chat.restore_conversation("chan_1")
    assert len(chat.search("harbour", user="anna", project="shop")) == 1
    assert chat.search("harbour", user="ben") == []
    chat.delete_conversation("chan_1")
    assert chat.forget(user="anna", hard=True).messages == 1  # from the trash
    with pytest.raises(InvalidRequest):
        chat.restore_conversation("chan_1")


def test_F6_as_many_messages_are_deleted_as_come_back(chat: Muisti) -> None:
    chat.append_message("chan_1", "user", "The harbour has seven cranes")
    chat.session_break("chan_1")
    chat.append_message("chan_1", "user", "And nine ships")
    assert chat.delete_conversation("chan_1") == 2
    restored = chat.restore_conversation("chan_1")
    assert (restored.messages, restored.since_break) == (2, 1)

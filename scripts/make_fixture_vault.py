"""Writes a small vault with everything that a vault can hold, and records this code's answers.

    python -m scripts.make_fixture_vault NAME

makes `tests/data/NAME.tar.gz` (the vault and its index) and `tests/data/NAME.json` (the answers).
A fixture stays as it is once it is committed: it stands for the code of its day, and later code
must still open it and give the same answers (`tests/acceptance/test_M_growing_older.py`). A change
of the format gets a fixture with a name of its own, made by the last code before the change.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import random
import shutil
import sys
import tarfile
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from scripts.fixture_texts import DOCUMENTS, HAND_WRITTEN, LONG_TEXT, MEMORIES, SETTINGS
from tests.acceptance.fixture_vault import DATA, FixedClock, collect_answers, open_fixture, unpack

from muisti import Draft, Memory, Muisti

FIRST_DAY = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
FILES_CHANGED = datetime(2026, 3, 14, 9, 0, tzinfo=UTC)
"""The time of every file: git and tar keep whole seconds, and documents are dated by it."""
OUTSIDE = Path("/tmp/muisti-fixture-outside")
"""Documents outside of a vault are known by an absolute path: this one is indexed and forgotten."""


def main(name: str) -> None:
    """Build, pack, unpack elsewhere and ask."""
    os.urandom = random.Random(14).randbytes  # the same ids each time
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as copied:
        vault = Path(made) / "vault"
        build(vault)
        settle(vault)
        pack(vault, DATA / f"{name}.tar.gz")
        with open_fixture(unpack(Path(copied), name)) as memory:
            answers = collect_answers(memory, name)
    text = json.dumps(answers, ensure_ascii=False, indent=1)
    (DATA / f"{name}.json").write_text(text + "\n", "utf-8")
    for ending in ("tar.gz", "json"):
        print(f"{name}.{ending}: {(DATA / f'{name}.{ending}').stat().st_size} bytes")


def build(vault: Path) -> None:
    """Fill a new vault, day by day."""
    vault.mkdir()
    (vault / "muisti.toml").write_text(SETTINGS, "utf-8")
    clock = FixedClock(FIRST_DAY)
    with open_fixture(vault, clock, record_recall=True) as memory:
        archived = archive_old_memories(memory, clock)
        known = save_memories(memory, clock)
        known["long"] = memory.save(LONG_TEXT, kind="summary", project="apollo")
        use_sessions(memory, clock, known)
        link_memories(memory, clock, known)
        change_memories(memory, clock, known)
        talk(memory, clock)
        separate_users(memory, clock)
        read_documents(memory, vault)
        edit_by_hand(memory, clock, vault, known)
        use_memories(memory, clock, known)
        assert memory.count_archive() == len(archived)
    leave_exchanges_waiting(vault, clock)


def archive_old_memories(memory: Muisti, clock: FixedClock) -> list[Memory]:
    """The first memories of the vault go to the archive."""
    memory.save("The first prototype kept its data in a spreadsheet", kind="observation")
    memory.save("Prototype review is on Tuesdays", kind="note", project="apollo")
    memory.save("We call the product Apollo", kind="decision")
    clock.at += timedelta(days=1)
    live = memory.upkeep(dry_run=True).live_bytes
    archived = memory.evict(live - 1, to=0.6)
    assert len(archived) == 2
    return archived


def save_memories(memory: Muisti, clock: FixedClock) -> dict[str, Memory]:
    """One memory for each row of the table, some hours apart."""
    known = {}
    for name, content, options in MEMORIES:
        clock.at += timedelta(hours=19)
        known[name] = memory.save(content, **options)
    batch: list[Draft | str | dict[str, Any]] = [
        Draft(content="Batch imports run at night", kind="fact", importance=0.3),
        {"content": "Deployment needs two approvals", "kind": "fact", "project": "apollo"},
        "Remember to water the plants",
    ]
    memory.save_batch(batch)
    assert len({one.id for one in known.values()}) == len(known)
    return known


def use_sessions(memory: Muisti, clock: FixedClock, known: dict[str, Memory]) -> None:
    """One session that is over, one that goes on, one that began twice."""
    clock.at += timedelta(hours=1)
    memory.start_session("apollo", session_id="s-done")
    memory.save("Measured: the export takes 40 s", session_id="s-done", project="apollo")
    clock.at += timedelta(minutes=1)  # uses of one moment are told in no order that is kept
    memory.save("Idea: cache the export", session_id="s-done", project="apollo", kind="idea")
    clock.at += timedelta(minutes=1)
    memory.link_to_session(known["database"].id, "s-done", "recalled")
    clock.at += timedelta(minutes=1)
    memory.update(known["export"].id, importance=0.8, by_session="s-done")
    clock.at += timedelta(hours=2)
    memory.end_session("s-done", "Measured the export and planned a cache", tool_calls=17)
    memory.start_session("", session_id="s-active")
    scratch = {"tier": "session", "session_id": "s-active"}
    memory.save("Scratch notes: session tokens, ask Aino", **scratch)  # type: ignore[arg-type]
    memory.start_session("työpöytä", session_id="s-again")
    memory.end_session("s-again")
    memory.start_session("työpöytä", session_id="s-again")


def link_memories(memory: Muisti, clock: FixedClock, known: dict[str, Memory]) -> None:
    """Links of several types, one that supersedes, one proposed, one rejected."""
    clock.at += timedelta(days=1)
    memory.supersede(known["port"].id, known["new port"].id)
    memory.link(known["export"].id, known["database"].id, "DEPENDS_ON", confidence=0.9)
    memory.link(
        known["lesson"].id,
        known["bug"].id,
        "BUILDS_ON",
        extracted_by="llm",
        valid_from=FIRST_DAY,
        valid_until=FIRST_DAY + timedelta(days=365),
    )
    memory.link(known["token"].id, known["bug"].id, "RELATED_TO")
    memory.unlink(known["token"].id, known["bug"].id, "RELATED_TO")
    (proposed,) = memory.links(known["new deadline"].id)
    assert proposed.proposed


def change_memories(memory: Muisti, clock: FixedClock, known: dict[str, Memory]) -> None:
    """Earlier versions, merged texts, the trash, and one memory that is gone for good."""
    clock.at += timedelta(days=1)
    for hours in (12, 8):
        changed = f"Session tokens expire after {hours} hours (src/auth/session.py)"
        memory.update(known["token"].id, content=changed)
        clock.at += timedelta(hours=1)
    memory.update(known["checklist"].id, kind="note", keywords=["release", "checklist", "deploy"])
    same = memory.save("The authentication module is located in src/auth/index.ts")
    assert same.id == known["module"].id
    memory.save("Retry failed uploads three times")
    memory.save("Retry failed  uploads three times")
    other = memory.save("The billing module is located in src/billing/index.ts")
    assert other.id == known["billing"].id
    assert memory.unmerge(other.id).id != other.id
    memory.delete(known["wiki"].id)
    clock.at += timedelta(minutes=5)
    memory.delete(known["meeting"].id)
    memory.delete(known["restored"].id)
    memory.restore(known["restored"].id)
    memory.delete(known["erased"].id, hard=True)


def talk(memory: Muisti, clock: FixedClock) -> None:
    """Two chats over two days."""
    telegram, slack = "telegram_1001", "slack_team-7"
    clock.at += timedelta(days=1)
    memory.append_message(telegram, "user", "Does the invoice export work again?", id="m-1")
    meta = {"model": "small-1", "tokens_in": 12, "tool": {"name": "search", "ok": True}}
    memory.append_message(telegram, "assistant", "The invoice export was fixed.", meta=meta)
    clock.at += timedelta(hours=20)
    memory.session_break(telegram)
    clock.at += timedelta(minutes=1)
    earlier = clock.at - timedelta(seconds=30)
    memory.append_message(telegram, "user", "Какой лимит у API?", at=earlier)
    memory.append_message(telegram, "tool", "limit=100", type="subagent_result")
    memory.append_message(slack, "system", "Aino joined the channel")
    memory.append_message(slack, "user", "Tehdään deploy huomenna klo 9, ok? 👍")
    memory.append_message(slack, "user", "部署 明天 九点")


def separate_users(memory: Muisti, clock: FixedClock) -> None:
    """What belongs to one user: memories, a session, core memory, a conversation, its summary."""
    clock.at += timedelta(hours=3)
    anna: dict[str, Any] = {"user": "anna", "project": "apollo"}
    memory.start_session("apollo", session_id="s-anna", user="anna")
    memory.save("I am allergic to nuts", user="anna", agent="claude-code", session_id="s-anna")
    memory.save("Always use type hints", tier="global", categories=["Python", "style"])
    office = [
        memory.save(f"The office of Anna is in {town}", user="anna", kind="fact")
        for town in ("Turku", "Oulu", "Kemi")
    ]
    for old, new in itertools.pairwise(office):
        clock.at += timedelta(hours=1)
        memory.supersede(old.id, new.id)
    memory.delete(office[1].id, hard=True)
    for number, said in enumerate(("Can we move the demo?", "To Friday.", "Thanks, Friday it is.")):
        clock.at += timedelta(minutes=1)
        role = "assistant" if number == 1 else "user"
        memory.append_message("signal_anna", role, said, id=f"a-{number}", **anna)
    memory.save(
        "The demo was moved to Friday",
        kind="summary",
        conversation="signal_anna",
        from_message="a-0",
        to_message="a-1",
        **anna,
    )
    memory.append_message("signal_anna", "user", "Forget this one", id="a-3", **anna)
    memory.delete_messages("signal_anna", ["a-3"])
    memory.core_update("user", "name", "Anna", user="anna")


def read_documents(memory: Muisti, vault: Path) -> None:
    """Documents inside of the vault, and one outside that is forgotten again."""
    for path, text in DOCUMENTS.items():
        (vault / path).parent.mkdir(exist_ok=True)
        (vault / path).write_text(text, "utf-8")
    memory.index_path(vault / "docs", "handbook", project="apollo", trusted=True)
    memory.index_path(vault / "memories")
    OUTSIDE.mkdir(exist_ok=True)
    (OUTSIDE / "manual.md").write_text("# Manual\n\nA manual that was searched for a while.\n")
    memory.index_path(OUTSIDE, "manual")
    memory.forget_path(OUTSIDE)
    shutil.rmtree(OUTSIDE)
    memory.sync()


def edit_by_hand(memory: Muisti, clock: FixedClock, vault: Path, known: dict[str, Memory]) -> None:
    """What a person does with an editor and a file manager."""
    clock.at += timedelta(days=1)
    for path, data in HAND_WRITTEN.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_bytes(data)
    edited = vault / str(known["coffee"].file_path)
    edited.write_text(edited.read_text("utf-8") + "\nIltapäivällä teetä.\n", "utf-8")
    moved = vault / str(known["moved"].file_path)
    (vault / "insights").mkdir(exist_ok=True)
    moved.rename(vault / "insights" / "moved by hand.md")
    original = vault / str(known["database"].file_path)
    shutil.copy(original, original.with_name(f"{original.stem} (copy).md"))
    stamp = clock.at.timestamp() - 60
    for file in vault.rglob("*.md"):
        os.utime(file, (stamp, stamp))
    for path in HAND_WRITTEN:  # one that names no date is dated by its file: that time must stay
        os.utime(vault / path, (FILES_CHANGED.timestamp(), FILES_CHANGED.timestamp()))
    report = memory.sync()
    assert report.moved == 1
    assert len(report.problems) == 3, report.problems


def use_memories(memory: Muisti, clock: FixedClock, known: dict[str, Memory]) -> None:
    """Recalls, reinforcement and fading in the journal; core memory."""
    for query in ("which database", "port of the API", "kahvi"):
        clock.at += timedelta(hours=5)
        memory.search(query, limit=3)
        memory.flush()
    memory.search("export", session_id="s-active", mode="keyword")
    memory.flush()
    memory.details([known["long"].id], session_id="s-again")
    memory.flush()
    clock.at += timedelta(days=2)
    memory.touch(known["lesson"].id)
    memory.reinforce(known["frustrated"].id, 0.3, session_id="s-active")
    memory.deemphasize(known["batch size"].id, 0.6)
    memory.decay_salience()
    memory.core_update("user", "name", "Aino Virtanen")
    memory.core_update("user", "language", "Finnish; код — по-русски; 中文也可以")
    memory.core_update("agent", "tone", "short and friendly")
    memory.core_update("agent", "obsolete", "to be removed")
    memory.core_delete("agent", "obsolete")


def leave_exchanges_waiting(vault: Path, clock: FixedClock) -> None:
    """Accept exchanges while the extractor is down: they stay in the queue of an ended process."""
    nowhere = {
        "extractor": "ollama",
        "extractor_model": "none",
        "extractor_url": "http://127.0.0.1:9",
    }
    clock.at += timedelta(hours=1)
    with open_fixture(vault, clock, **nowhere) as memory:
        said = "I prefer dark mode in every editor. My dog is called Musti."
        assert memory.extract_and_save("s-active", said, "Noted.", speaker="Aino")
        moved = "We moved the office to Tampere."
        assert memory.extract_and_save("s-done", moved, mode="coding", project="apollo")
    assert len(list((vault / ".queue").glob("*.jsonl"))) == 1


def settle(vault: Path) -> None:
    """Give all files the same time, and let the index see it."""
    for path in vault.rglob("*"):
        if path.is_file() and ".muisti" not in path.parts:
            os.utime(path, (FILES_CHANGED.timestamp(), FILES_CHANGED.timestamp()))
    with open_fixture(vault) as memory:
        memory.sync()
        memory.reindex_missing()
        assert memory.get_stats().waiting_count == 0
    for path in (vault / ".muisti").iterdir():
        if path.name in ("lock", "tmp"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    print("index:", sorted(path.name for path in (vault / ".muisti").iterdir()))


def pack(vault: Path, target: Path) -> None:
    """Write the vault as a tar in which nothing depends on this machine."""
    DATA.mkdir(exist_ok=True)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(vault.rglob("*")):
            entry = archive.gettarinfo(path, f"vault/{path.relative_to(vault).as_posix()}")
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = int(FILES_CHANGED.timestamp())
            if path.is_dir():
                archive.addfile(entry)
            else:
                with path.open("rb") as file:
                    archive.addfile(entry, file)
    target.write_bytes(gzip.compress(packed.getvalue(), 9, mtime=0))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m scripts.make_fixture_vault NAME")
    if (DATA / f"{sys.argv[1]}.tar.gz").exists():
        sys.exit(f"{sys.argv[1]} exists, and fixtures do not change: choose another name")
    main(sys.argv[1])

"""J1 · The Python surface, sync and async; export, import and the vault in numbers."""

from __future__ import annotations

import asyncio
import inspect
import json
from pathlib import Path

import pytest

from muisti import ImportFailed, InvalidRequest, MemoryService, Muisti, MuistiError, bootstrap
from muisti.deprecation import RENAMED_METHODS
from tests.conftest import FakeClock, Opener


def test_J1_sync_and_async_have_the_same_methods() -> None:
    public = {
        name for name, value in vars(Muisti).items() if not name.startswith("_") and callable(value)
    } - RENAMED_METHODS.keys()
    for name in public - {"open", "close"}:
        method = getattr(MemoryService, name)
        assert inspect.iscoroutinefunction(method), name
        assert inspect.signature(method) == inspect.signature(getattr(Muisti, name)), name
        assert method.__doc__ == getattr(Muisti, name).__doc__


def test_J1_async_does_what_sync_does(vault: Path) -> None:
    async def work() -> list[str]:
        async with await MemoryService.open(vault) as service:
            await asyncio.gather(
                *(service.save(f"Async memory {n}", keywords=["a"]) for n in range(20))
            )
            found = await service.search("async", limit=50)
            await service.delete(found[0].memory.id)
            return [m.content for m in await service.list()]

    contents = asyncio.run(work())
    assert len(contents) == 19
    with bootstrap.open(vault) as memory:
        assert sorted(found.content for found in memory.list()) == sorted(contents)
        assert memory.verify(deep=True).ok


def test_J1_a_closed_vault_says_so(opened: Opener) -> None:
    with opened() as memory:
        memory.save("x")
    with pytest.raises(MuistiError, match="closed"):
        memory.list()
    memory.close()


def test_J1_a_closed_service_says_so(vault: Path) -> None:
    async def work() -> None:
        service = await MemoryService.open(vault)
        await service.close()
        await service.close()
        with pytest.raises(MuistiError, match="closed"):
            await service.list()

    asyncio.run(work())


def test_J1_one_vault_may_be_used_from_many_threads(memory: Muisti) -> None:
    import threading

    def work(name: int) -> None:
        for n in range(15):
            saved = memory.save(f"Thread {name} number {n}")
            assert memory.search(f"thread number {n}")
            memory.reinforce(saved.id)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.get_stats().total_count == 90
    assert memory.verify(deep=True).ok


def test_J1_stats(memory: Muisti, clock: FakeClock) -> None:
    empty = memory.get_stats()
    assert (empty.total_count, empty.oldest_memory, empty.avg_salience) == (0, None, 0.0)
    first = memory.save("x" * 400, kind="fact", project="web")
    clock.forward(days=1)
    second = memory.save("y" * 400, kind="note")
    memory.delete(memory.save("z").id)
    memory.start_session()
    stats = memory.get_stats()
    assert (stats.total_count, stats.deleted_count, stats.session_count, stats.total_tokens) == (
        2,
        1,
        1,
        200,
    )
    assert stats.by_kind == {"fact": 1, "note": 1}
    assert stats.by_project == {"": 1, "web": 1}
    assert (stats.oldest_memory, stats.newest_memory) == (first.created_at, second.created_at)
    assert stats.index_size_bytes > 0


def _filled(memory: Muisti) -> None:
    memory.save(
        "# Heading\n\nwith --- dashes\n\n---\nand: yaml\n---\n",
        kind="decision",
        keywords=["a, b", "c"],
        project="web",
    )
    memory.save("<!-- muisti memory, 5 bytes -->\n---\n", kind="note", importance=0.9)
    memory.save(
        "猫\r\nと犬\r\n\n\n",
        tier="global",
        source="ai",
        files=["src/a.py"],
        summary="Cats: and dogs",
    )
    saved = memory.save("Weak and used", salience=0.5)
    memory.reinforce(saved.id, 0.2)


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_J7_export_and_import_bring_the_same_memories(
    opened: Opener, tmp_path: Path, clock: FakeClock, form: str
) -> None:
    memory = opened()
    _filled(memory)
    file = tmp_path / ("out.json" if form == "json" else "out.md")
    file.write_bytes(memory.export_memories(format=form).encode())
    was = memory.list(order="asc")
    clock.forward(days=3)
    with bootstrap.open(tmp_path / "second", clock=clock) as other:
        assert other.import_memories(file) == 4
        assert other.import_memories(file) == 0  # again does no harm
        now = other.list(order="asc")
        for field in (
            "id",
            "content",
            "title",
            "kind",
            "project",
            "keywords",
            "files",
            "importance",
            "created_at",
            "tier",
            "source",
        ):
            assert [getattr(m, field) for m in now] == [getattr(m, field) for m in was], field
        if form == "json":
            assert [(m.salience, m.access_count) for m in now] == [
                (m.salience, m.access_count) for m in was
            ]
        assert other.verify(deep=True).ok


def test_J7_a_folder_of_plain_markdown_is_imported(memory: Muisti, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "sub").mkdir(parents=True)
    (notes / "one.md").write_text("# One\n\nPlain text\n")
    (notes / "sub" / "two.md").write_text("---\ntags: [x, y]\n---\nTagged\n")
    (notes / ".hidden.md").write_text("not this")
    assert memory.import_memories(notes, kind="note", project="old") == 2
    assert {m.title: m.keywords for m in memory.list(project="old")} == {
        "One": (),
        "two": ("x", "y", "sub"),
    }


BAD_SOURCES = {
    "broken.json": "{",
    "scalar.json": "3",
    "no content.json": '[{"title": "x"}]',
    "number.json": "[3]",
    "time.json": '[{"content": "x", "created_at": "soon"}]',
    "line.jsonl": '{"content": "good"}\nnonsense\n',
    "broken.md": "---\ntitle: [\n---\nx",
    "unknown.xyz": "x",
}


@pytest.mark.parametrize("name", BAD_SOURCES)
def test_J7_a_bad_source_is_named_and_nothing_is_imported(
    memory: Muisti, tmp_path: Path, name: str
) -> None:
    source = tmp_path / name
    source.write_text(BAD_SOURCES[name])
    with pytest.raises(ImportFailed, match=name):
        memory.import_memories(source)
    with pytest.raises(ImportFailed, match="missing"):
        memory.import_memories(tmp_path / "missing.json")
    with pytest.raises(InvalidRequest, match="format"):
        memory.export_memories(format="pdf")
    assert memory.list() == []


def test_J7_export_narrows(memory: Muisti) -> None:
    memory.save("Of the web", project="web")
    memory.save("Of nobody")
    exported = json.loads(memory.export_memories(format="json", project="web"))
    assert [item["content"] for item in exported] == ["Of the web"]


def test_J7_an_import_of_another_program_is_reported_and_can_be_repeated(
    memory: Muisti, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("source")
    notes = folder / "brain"
    (notes / ".obsidian").mkdir(parents=True)
    (notes / "Otters.md").write_text(
        "---\nrating: 5\n---\nOtters sleep. See [[Bees]] and [[Gone]]."
    )
    (notes / "Bees.md").write_text("Bees dance. #insect")
    (notes / "Empty.md").write_text("")
    turn = {"uuid": "m", "sender": "human", "text": "Hello there"}
    chats = folder / "conversations.json"
    chats.write_text(json.dumps([{"uuid": "c", "name": "Hi", "chat_messages": [turn]}]))
    report = memory.import_from(notes)
    assert (report.format, report.imported, report.links) == ("obsidian", 2, 1)
    assert [one.reason for one in report.problems] == ["is empty"]
    assert [one.reason for one in report.unresolved] == ["Gone"]
    assert memory.import_from(chats).messages == 1
    assert [message.content for message in memory.window("claude_c")] == ["Hello there"]
    again = memory.import_from(notes)
    assert (again.imported, again.existing, again.links) == (0, 2, 0)
    assert memory.import_from(chats).existing_messages == 1
    assert memory.search_by_keywords(["insect"])[0].title == "Bees"
    assert memory.verify(deep=True).ok

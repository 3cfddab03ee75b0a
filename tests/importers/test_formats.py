"""Every format is detected, and every item is imported, merged, or named in the report."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from muisti import InvalidRequest, Muisti
from muisti.errors import ImportFailed
from tests.importers.making import FORMATS, KEY, Made, dump, write
from tests.importers.test_obsidian import add_up, by_title


@pytest.fixture
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    made = FORMATS[request.param](tmp_path / "source")
    assert isinstance(made, Made)
    return made


@pytest.mark.parametrize(
    ("made", "name"), [(n, n) for n in FORMATS], indirect=["made"], ids=FORMATS
)
def test_J7_each_format_is_detected_and_counted(
    memory: Muisti, made: Made, name: str, tmp_path: Path
) -> None:
    planned = memory.import_from(made.path, dry_run=True)
    assert memory.list(project="*", user="*") == []
    report = memory.import_from(made.path)
    assert report.format == name.split(maxsplit=1)[0]
    assert [
        one.reason
        for one in report.problems
        if not any(part in one.reason for part in made.problems)
    ] == []
    assert len(report.problems) == len(made.problems), report.problems
    counts = (report.imported, report.messages, report.conversations, report.links)
    assert counts == (made.imported, made.messages, made.conversations, made.links)
    assert (sum(report.left_out.values()), report.merged) == (made.left_out, 0), report.left_out
    assert add_up(report)
    assert counts == (planned.imported, planned.messages, planned.conversations, planned.links)
    assert not any(one.trusted for one in memory.list(project="*", user="*"))
    before = {path: path.read_bytes() for path in memory.root.rglob("*.md")}
    again = memory.import_from(made.path, format=report.format)
    assert (again.imported, again.messages, again.links) == (0, 0, 0)
    assert (again.existing, again.existing_messages) == (made.imported, made.messages)
    assert add_up(again)
    assert {path: path.read_bytes() for path in memory.root.rglob("*.md")} == before
    assert KEY not in "".join(path.read_text() for path in memory.root.rglob("*.jsonl"))
    assert memory.verify(deep=True).ok
    if made.path.is_dir():
        archive = tmp_path / "packed.zip"
        with zipfile.ZipFile(archive, "w") as packed:
            for path in made.path.rglob("*"):
                if path.is_file():
                    packed.write(path, f"{made.path.name}/{path.relative_to(made.path)}")
        zipped = memory.import_from(archive)
        assert (zipped.format, zipped.imported, zipped.existing) == (
            report.format,
            0,
            made.imported,
        )


def test_J7_the_branches_of_a_chatgpt_conversation(memory: Muisti, tmp_path: Path) -> None:
    memory.import_from(FORMATS["chatgpt"](tmp_path / "source").path)
    said = [message.content for message in memory.window("chatgpt_6f1c-1", 50)]
    assert said[0].startswith("I live in Turku. My key is [redacted:")
    assert said[1:] == ["The second answer", "42", "What is this?", "```python\n1\n```"]
    [other] = memory.window("chatgpt_6f1c-1~2", 50)
    assert (other.content, other.meta["branch_of"]) == ("The first answer", "u")
    first = memory.window("chatgpt_6f1c-1", 50)[0]
    assert first.meta["title"] == "Where I live"
    assert first.at.year == 2025
    assert {message.content for message in memory.window("chatgpt_cyc-le", 9)} == {
        "Round",
        "and round",
    }


def test_J7_conversations_can_be_extracted(memory: Muisti, tmp_path: Path) -> None:
    source = FORMATS["chatgpt"](tmp_path / "source").path
    report = memory.import_from(source, extract=True)
    assert report.extracted == report.imported > 0
    assert any("Turku" in one.content for one in memory.list(project="*"))
    assert add_up(report)
    again = memory.import_from(source, extract=True)
    assert (again.imported, again.existing) == (0, report.imported)


def test_J7_fields_are_mapped_or_kept(memory: Muisti, tmp_path: Path) -> None:
    memory.import_from(FORMATS["mem0"](tmp_path / "a").path)
    tea = {one.user: one for one in memory.list(user="*")}
    assert (tea["anna"].agent, tea["anna"].categories, tea["anna"].created_at.hour) == (
        "bot",
        ("food",),
        11,
    )
    text = (memory.root / str(tea["anna"].file_path)).read_text()
    assert "mood" in text
    assert "hash: h" in text
    memory.import_from(FORMATS["mcp-memory"](tmp_path / "b").path)
    anna = by_title(memory)["Anna"]
    assert anna.content.splitlines() == [
        "# Anna (person)",
        "",
        "- Likes tea",
        "- Lives in Turku",
        "- Has a cat",
    ]
    assert "works_at Acme" in (memory.root / str(anna.file_path)).read_text()
    assert {link.type.value for link in memory.links(anna.id)} == {"RELATED_TO", "DEPENDS_ON"}
    memory.import_from(FORMATS["claude-code"](tmp_path / "c").path)
    tests = by_title(memory)["Run the tests"]
    assert (tests.kind, tests.summary) == ("preference", "Before each commit")
    memory.import_from(FORMATS["basic-memory"](tmp_path / "d").path)
    coffee = by_title(memory)["Coffee"]
    assert (coffee.categories, coffee.keywords) == (("method",), ("drink", "brewing"))


def test_J7_a_memory_of_mem0_that_expires_is_valid_until_then(
    memory: Muisti, tmp_path: Path
) -> None:
    made = "2025-03-01T10:00:00Z"
    days = {"1": "2025-06-01", "2": "2025-02-01", "3": "soon"}  # the second before it was made
    items = [
        {"id": id_, "memory": f"Fact {id_}", "user_id": "a", "created_at": made,
         "expiration_date": day}
        for id_, day in days.items()
    ]  # fmt: skip
    report = memory.import_from(dump(tmp_path / "mem0.json", items))
    assert (report.format, report.imported, report.problems) == ("mem0", 3, ())
    found = {one.content: one for one in memory.list(user="*")}
    ends = [found[f"Fact {id_}"].valid_until for id_ in days]
    assert [end and f"{end:%Y-%m-%d}" for end in ends] == ["2025-06-01", None, None]
    kept = (memory.root / str(found["Fact 3"].file_path)).read_text()
    assert "expiration_date: soon" in kept


def test_J7_a_format_can_be_named(memory: Muisti, tmp_path: Path) -> None:
    file = dump(tmp_path / "odd.json", [{"memory": "Likes tea"}])
    assert memory.import_from(file, dry_run=True).format == "json"
    assert memory.import_from(file, format="mem0").format == "mem0"
    with pytest.raises(InvalidRequest, match="format must be one of .*chatgpt.*'pdf'"):
        memory.import_from(file, format="pdf")


@pytest.mark.parametrize(
    ("name", "text", "form", "message"),
    [
        ("a.af", "{", "letta", "is not valid JSON"),
        ("a.af", "{}", "letta", "`agents` and `core_memory` are missing"),
        ("a.json", "{}", "mem0", "`results` is missing"),
        ("a.json", "[]", "chatgpt", "contains no conversations.json"),
        ("a.json", "[]", "claude", "contains no conversations.json"),
        ("a.txt", "x", None, "is not a format that muisti can import"),
    ],
)
def test_J7_a_source_that_cannot_be_read_is_named(
    memory: Muisti, tmp_path: Path, name: str, text: str, form: str | None, message: str
) -> None:
    with pytest.raises(ImportFailed, match=message):
        memory.import_from(write(tmp_path / name, text), format=form)


def test_J7_what_was_good_before_the_end_of_a_cut_file_is_imported(
    memory: Muisti, tmp_path: Path
) -> None:
    source = FORMATS["chatgpt"](tmp_path / "source").path / "conversations.json"
    whole = source.read_text()
    source.write_text(whole[: whole.index('"mapping": {"x"')])
    report = memory.import_from(source)
    assert report.messages == 6
    assert any("ends in the middle" in one.reason for one in report.problems)
    assert add_up(report)


def test_J7_an_interrupted_import_continues(
    memory: Muisti, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muisti.remember.importing.BATCH", 3)
    items = [{"content": f"Fact number {number}"} for number in range(10)]
    file = dump(tmp_path / "many.json", items)

    commit, calls = memory._services.store.commit, []

    def fail_at_third(changes: object) -> object:
        calls.append(changes)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return commit(changes)  # type: ignore[arg-type]

    monkeypatch.setattr(memory._services.store, "commit", fail_at_third)
    with pytest.raises(KeyboardInterrupt):
        memory.import_from(file)
    monkeypatch.undo()
    report = memory.import_from(file)
    assert (report.existing, report.imported) == (6, 4)
    contents = sorted(one.content for one in memory.list(limit=None))
    assert contents == sorted(item["content"] for item in items)


def test_J7_fields_that_are_too_long_together_do_not_end_the_import(
    memory: Muisti, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    for number in range(5):
        write(notes / f"{number}.md", f"Note {number}, see [[long]]")
    head = "\n".join(f"key{number}: {'x' * 18_000}" for number in range(3))
    many = ", ".join(f"{'y' * 90}{number}" for number in range(150))
    write(notes / "long.md", f"---\n{head}\n---\nA long one")
    file = dump(tmp_path / "long.json", [{"content": "Fine"}, {"content": "Long", "keywords": many, **{
        f"key{number}": "x" * 18_000 for number in range(4)}}])  # fmt: skip
    report = memory.import_from(file)
    assert (report.imported, len(report.problems)) == (1, 1)
    assert "must be shorter" in report.problems[0].reason
    assert add_up(report)
    report = memory.import_from(notes)
    assert add_up(report)
    known = {one.id for one in memory.list(limit=None)}
    assert {link.target for one in known for link in memory.links(one)} <= known
    assert memory.verify(deep=True).ok

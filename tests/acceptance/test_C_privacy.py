"""C1 · Privacy: what is private or a secret is nowhere, whichever way it came in."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from muisti import ImportFailed, InvalidMemory, InvalidRequest, Muisti
from tests.conftest import Opener
from tests.showing import show_all

HIDDEN = "plughxyzzy"
PRIVATE = f"before <private>{HIDDEN}</private>after"
KEY = "AKIA" + "A2B3C4D5" + "E6F7G2H3"
"""Made up, and joined from pieces, so that the scanners of git hosts have nothing to report."""
SECRET = f"the key is {KEY} indeed"
REDACTED = "the key is [redacted:aws-access-key] indeed"


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def anywhere(vault: Path, text: str) -> list[str]:
    """Every file of the vault, index and journal included, that holds the text."""
    files = (path for path in vault.rglob("*") if path.is_file())
    return sorted(
        path.relative_to(vault).as_posix() for path in files if text.encode() in path.read_bytes()
    )


def everything(vault: Path) -> dict[str, bytes]:
    """All but the index."""
    found = {
        path.relative_to(vault).as_posix(): path for path in vault.rglob("*") if path.is_file()
    }
    return {
        name: path.read_bytes() for name, path in found.items() if not name.startswith(".muisti/")
    }


Way = Callable[[Muisti, str], str]


def _saved(field: str) -> Way:
    def way(memory: Muisti, text: str) -> str:
        saved = memory.save("Something to remember", **{field: text})  # type: ignore[arg-type]
        return str(getattr(saved, field))

    return way


def _saved_list(field: str) -> Way:
    def way(memory: Muisti, text: str) -> str:
        return str(
            getattr(memory.save("Something to remember", **{field: ["one", text]}), field)[1]
        )  # type: ignore[arg-type]

    return way


def _updated(field: str) -> Way:
    def way(memory: Muisti, text: str) -> str:
        return str(
            getattr(memory.update(memory.save("Something to remember").id, **{field: text}), field)
        )  # type: ignore[arg-type]

    return way


def _updated_keywords(memory: Muisti, text: str) -> str:
    return memory.update(memory.save("Something to remember").id, keywords=["one", text]).keywords[
        1
    ]


def _summed_up(memory: Muisti, text: str) -> str:
    return memory.end_session(memory.start_session().id, text).summary


def _imported_json(memory: Muisti, text: str) -> str:
    source = memory.root.parent / "import.json"
    source.write_text(json.dumps([{"content": text}]))
    assert memory.import_memories(source) == 1
    return memory.list()[0].content


def _imported_markdown(memory: Muisti, text: str) -> str:
    source = memory.root.parent / "import.md"
    source.write_text(text)
    assert memory.import_memories(source) == 1
    return memory.list()[0].content.rstrip("\n")


WAYS: dict[str, Way] = {
    "content": lambda memory, text: memory.save(text).content,
    "batch": lambda memory, text: memory.save_batch(["another", {"content": text}])[1].content,
    "title": _saved("title"),
    "summary": _saved("summary"),
    "source": _saved("source"),
    "keywords": _saved_list("keywords"),
    "files": _saved_list("files"),
    "updated content": _updated("content"),
    "updated title": _updated("title"),
    "updated summary": _updated("summary"),
    "updated keywords": _updated_keywords,
    "session summary": _summed_up,
    "JSON import": _imported_json,
    "Markdown import": _imported_markdown,
}


@pytest.mark.parametrize("way", WAYS)
def test_C1_what_is_private_is_stored_nowhere(
    memory: Muisti, vault: Path, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert WAYS[way](memory, PRIVATE) == "before after"
    assert anywhere(vault, HIDDEN) == []
    assert memory.search(HIDDEN) == []
    assert HIDDEN not in caplog.text


@pytest.mark.parametrize("way", WAYS)
def test_C1_secrets_are_redacted_by_default(memory: Muisti, vault: Path, way: str) -> None:
    assert WAYS[way](memory, SECRET) == REDACTED
    assert anywhere(vault, KEY) == []


@pytest.mark.parametrize("way", WAYS)
def test_C1_switched_off_secrets_stay_and_what_is_private_goes(
    opened: Opener, vault: Path, way: str
) -> None:
    memory = opened(embedder="none", redact_secrets=False)
    assert WAYS[way](memory, f"{SECRET} <private>{HIDDEN}</private>.") == f"{SECRET} ."
    assert anywhere(vault, HIDDEN) == []
    assert anywhere(vault, KEY) != []


@pytest.mark.parametrize(
    "text",
    [
        f"before <PRIVATE>{HIDDEN}</Private>after",
        f'before <private reason="a > b">{HIDDEN}</private>after',
        f"before <private>{HIDDEN} <private>in</private> {HIDDEN}</private>after",
        f"before <private\n>\n{HIDDEN}\n</private\n>after",
    ],
)
def test_C1_any_spelling_of_the_tag(memory: Muisti, vault: Path, text: str) -> None:
    assert memory.save(text).content == "before after"
    assert anywhere(vault, HIDDEN) == []


def test_C1_an_unclosed_tag_drops_the_rest(memory: Muisti, vault: Path) -> None:
    assert memory.save(f"before <private>{HIDDEN} and on").content == "before "
    assert anywhere(vault, HIDDEN) == []


def test_C1_the_title_is_derived_from_what_is_left(memory: Muisti) -> None:
    assert memory.save(f"# Plan <private>{HIDDEN}</private>\n\nMore").title.strip() == "Plan"


@pytest.mark.parametrize(
    "nothing",
    [f"<private>{HIDDEN}</private>", f" <private>{HIDDEN}", f"<private>{HIDDEN}</private>\n\n"],
)
def test_C1_when_nothing_is_left_nothing_is_written(
    memory: Muisti, vault: Path, nothing: str
) -> None:
    kept = memory.save("Something to remember")
    before = everything(vault)
    for call in (lambda: memory.save(nothing), lambda: memory.save_batch(["fine", nothing])):
        with pytest.raises(InvalidMemory, match="content") as raised:
            call()
        assert HIDDEN not in str(raised.value)
    with pytest.raises(InvalidMemory, match="content"):
        memory.update(kept.id, content=nothing)
    assert everything(vault) == before
    assert anywhere(vault, HIDDEN) == []


def test_C1_an_import_of_which_nothing_is_left_imports_nothing(
    memory: Muisti, vault: Path, tmp_path: Path
) -> None:
    source = tmp_path / "import.json"
    source.write_text(
        json.dumps([{"content": "fine"}, {"content": f"<private>{HIDDEN}</private>"}])
    )
    before = everything(vault)
    with pytest.raises(ImportFailed, match="content"):
        memory.import_memories(source)
    assert everything(vault) == before


def test_C1_a_keyword_that_is_private_as_a_whole_is_left_out(memory: Muisti, vault: Path) -> None:
    assert memory.save("Something", keywords=["one", f"<private>{HIDDEN}</private>"]).keywords == (
        "one",
    )
    assert anywhere(vault, HIDDEN) == []


def test_C1_what_was_merged_or_kept_as_a_version_has_it_neither(
    memory: Muisti, vault: Path
) -> None:
    first = memory.save("The auth module is in src/auth/index.ts")
    merged = memory.save(
        f"The authentication module is located in src/auth/index.ts<private>{HIDDEN}</private>"
    )
    assert merged.id == first.id
    memory.update(first.id, content=f"Moved away <private>{HIDDEN}</private>")
    memory.update(first.id, content="Moved again")
    assert len(memory.history(first.id)) >= 4
    assert anywhere(vault, HIDDEN) == []


# -- A person's own file

BY_HAND = f"""---
id: 0195f000-0000-7000-8000-000000000001
title: Plan <private>{HIDDEN}</private>
summary: {SECRET}
keywords: [one, "<private>{HIDDEN}</private>"]
mine: {HIDDEN} stays
created_at: 2026-03-01
---

The public part.

<private>{HIDDEN}</private>

{SECRET}
"""


@pytest.fixture
def written(memory: Muisti, vault: Path) -> Path:
    path = vault / "notes" / "by-hand.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(BY_HAND)
    memory.sync()
    return path


def test_C1_a_file_written_by_hand_keeps_it_and_the_index_does_not_have_it(
    memory: Muisti, vault: Path, written: Path
) -> None:
    assert written.read_text() == BY_HAND
    (found,) = memory.list()
    shown = show_all(found)
    assert "The public part." in found.content
    assert HIDDEN not in shown
    assert KEY not in shown
    assert (found.summary, found.keywords) == (REDACTED, ("one",))
    assert memory.search(HIDDEN) == []
    assert anywhere(vault, HIDDEN) == anywhere(vault, KEY) == ["notes/by-hand.md"]
    exported = memory.export_memories(format="json") + memory.export_memories()
    public = f'"mine": "{HIDDEN} stays"', f"mine: {HIDDEN} stays"  # a key without tags
    assert exported.count(HIDDEN) == sum(map(exported.count, public)) == 2
    memory.reindex()
    assert anywhere(vault, HIDDEN) == ["notes/by-hand.md"]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"importance": 0.9}, "importance: 0.9"),
        ({"source": "ai"}, "source: ai"),
        ({"kind": "fact"}, "kind: fact"),
        ({"pinned": True}, "pinned: true"),
    ],
)
def test_C1_an_update_of_another_field_leaves_the_persons_bytes(
    memory: Muisti, vault: Path, written: Path, change: dict[str, object], line: str
) -> None:
    (found,) = memory.list()
    updated = memory.update(found.id, **change)  # type: ignore[arg-type]
    text = (vault / str(updated.file_path)).read_text()
    assert line in text
    lines = BY_HAND.splitlines()
    assert [one for one in text.splitlines() if one in lines] == lines
    assert HIDDEN not in show_all(memory.list())


@pytest.mark.needs_files("looks at the bytes of a file")
def test_C1_links_leave_the_persons_bytes_too(memory: Muisti, written: Path) -> None:
    (found,) = memory.list()
    new = memory.save("The plan is another one")
    memory.link(found.id, new.id, "BUILDS_ON")
    memory.supersede(found.id, new.id)
    text = written.read_text()
    assert "valid_until:" in text
    assert text.endswith(BY_HAND[BY_HAND.index("\nThe public part.") :])
    assert f"mine: {HIDDEN} stays" in text
    assert f"title: Plan <private>{HIDDEN}</private>" in text


@pytest.mark.needs_files("looks at the bytes of a file")
def test_C1_new_content_takes_the_place_of_the_old(memory: Muisti, written: Path) -> None:
    (found,) = memory.list()
    memory.update(found.id, content="All new")
    assert written.read_text().endswith("\nAll new\n")


def test_C1_a_file_of_which_nothing_is_left_is_reported_and_left_alone(
    memory: Muisti, vault: Path
) -> None:
    path = vault / "notes" / "all-private.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"<private>{HIDDEN}</private>\n")
    memory.sync()
    assert path.read_text() == f"<private>{HIDDEN}</private>\n"
    assert memory.list() == []
    assert [problem.path for problem in memory.problems()] == ["notes/all-private.md"]
    assert anywhere(vault, HIDDEN) == ["notes/all-private.md"]


def test_C1_a_question_is_screened_before_it_is_asked(memory: Muisti) -> None:
    memory.save("Something to remember")
    explained = memory.explain(f"remember <private>{HIDDEN}</private>", memory.list()[0].id)
    assert HIDDEN not in show_all(explained)
    assert explained.recalled


@pytest.mark.parametrize("field", ["project", "session_id"])
def test_C1_names_are_not_redacted_so_a_secret_in_one_is_refused(
    memory: Muisti, vault: Path, field: str
) -> None:
    secret = "ghp_" + "a1B2" * 9
    with pytest.raises(
        InvalidMemory, match=f"^{field} contains private text or a secret"
    ) as refused:
        memory.save("A text", **{field: secret})
    assert secret not in str(refused.value)
    with pytest.raises(InvalidMemory, match=f"^{field} "):
        memory.start_session(**{field: secret})
    with pytest.raises(InvalidRequest, match="^key ") as again:
        memory.core_update("user", f"my {secret}", "x")
    assert secret not in str(again.value)
    assert not [
        path for path in vault.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()
    ]

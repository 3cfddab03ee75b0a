"""What is private or a secret is put through every door, and then looked for in every byte that was
kept, sent or said (C1).

All secrets here are made up. Each is joined from pieces, so that the scanners of git hosts have
nothing to report.
"""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muisti import Muisti
from muisti.errors import InvalidMemory, InvalidRequest
from tests.conftest import Opener
from tests.embed_server import EmbedServer, saying, serving

BY_HAND = "notes/by hand.md"
MOST_BYTES = 4000
_LETTERS = "bcdfghjklmnpqrstvwxz"
Places = dict[str, bytes]


class Canaries:
    """Words that nobody else writes: those that must not be found, and those that must."""

    def __init__(self) -> None:
        self._chance = random.Random(7)
        self.hidden: dict[str, str] = {}
        self.shown: dict[str, str] = {}

    def _word(self, length: int = 18, letters: str = _LETTERS) -> str:
        return "".join(self._chance.choices(letters, k=length))

    def private(self, door: str) -> str:
        self.hidden[f"private in {door}"] = word = self._word()
        return f"<private>{word} and so on</private>"

    def secret(self, door: str) -> str:
        """A key of one of several issuers."""
        makers: list[Callable[[], str]] = [
            lambda: "gh" + "p_" + self._word(20, _LETTERS + _LETTERS.upper()) + self._word(16),
            lambda: "AK" + "IA" + self._word(16, _LETTERS.upper()),
            lambda: "sk" + "-ant-" + "api03-" + self._word(40),
            lambda: "xo" + "xb-" + "1" * 12 + "-" + self._word(24),
        ]
        secret = makers[len(self.hidden) % len(makers)]()
        self.hidden[f"secret in {door}"] = secret[-16:]
        return secret

    def control(self, door: str) -> str:
        """Public: it must be found where the hidden ones must not."""
        self.shown[door] = word = self._word()
        return word

    def text(self, door: str) -> str:
        """A text with all three."""
        return f"The {self.control(door)} was here {self.private(door)}, the key is {self.secret(door)}, and so it ended"

    def hidden_in(self, data: bytes) -> list[str]:
        """By either half: an index keeps words without the beginning that they share with others."""
        lower = data.lower()
        return [
            name
            for name, word in self.hidden.items()
            if word.lower()[:9].encode() in lower or word.lower()[-9:].encode() in lower
        ]

    def missing_in(self, data: bytes, doors: Iterator[str] | list[str]) -> list[str]:
        lower = data.lower()
        return [door for door in doors if self.shown[door].encode() not in lower]


# -- The doors


def _saved(memory: Muisti, birds: Canaries, folder: Path) -> None:
    fields = ("title", "summary", "source")
    texts = {name: birds.text(f"save {name}") for name in fields}
    memory.save(
        birds.text("save content"),
        title=texts["title"],
        summary=texts["summary"],
        source=texts["source"],
        keywords=[
            birds.control("save keywords"),
            birds.private("save keywords"),
            birds.secret("save keywords"),
        ],
        files=[
            f"src/{birds.control('save files')}.py",
            f"src/{birds.private('save files')}",
            birds.secret("save files"),
        ],
    )
    memory.save_batch(
        [
            birds.text("batch 0"),
            {"content": birds.text("batch 1"), "summary": birds.text("batch summary")},
        ]
    )


def _updated(memory: Muisti, birds: Canaries, folder: Path) -> None:
    one = memory.save("To be updated: what the gardener said")
    memory.update(
        one.id,
        content=birds.text("update content"),
        title=birds.text("update title"),
        summary=birds.text("update summary"),
        keywords=[
            birds.control("update keywords"),
            birds.private("update keywords"),
            birds.secret("update keywords"),
        ],
    )
    memory.update(one.id, content=f"What the gardener said then: {birds.text('update again')}")


def _imported(memory: Muisti, birds: Canaries, folder: Path) -> None:
    item = {
        "content": birds.text("json content"),
        "title": birds.text("json title"),
        "tags": [birds.secret("json tags")],
    }
    (folder / "in.json").write_text(json.dumps([item]))
    lines = {"text": birds.text("jsonl content"), "summary": birds.text("jsonl summary")}
    (folder / "in.jsonl").write_text(json.dumps(lines) + "\n")
    head = f"---\ntitle: '{birds.text('markdown title')}'\nkeywords: ['{birds.secret('markdown keywords')}']\n---\n"
    (folder / "in.md").write_text(f"{head}\n{birds.text('markdown content')}\n")
    for name in ("in.json", "in.jsonl", "in.md"):
        assert memory.import_memories(folder / name) == 1


def _session(memory: Muisti, birds: Canaries, folder: Path) -> None:
    session = memory.start_session("apollo")
    memory.save("Said in the session: the bridge is closed", session_id=session.id)
    memory.end_session(session.id, birds.text("session summary"))


def _asked(memory: Muisti, birds: Canaries, folder: Path) -> None:
    one = memory.list(limit=1)[0]
    memory.search(birds.text("search"), mode="hybrid")
    memory.search(birds.text("search by vector"), mode="vector")
    memory.search_compact(birds.text("search compact"))
    memory.explain(birds.text("explain"), one.id)


def _by_hand(memory: Muisti, birds: Canaries, folder: Path) -> None:
    path = memory.root / BY_HAND
    path.parent.mkdir(exist_ok=True)
    head = f"---\ntitle: {birds.control('hand title')} {birds.private('hand title')}\nsummary: {birds.secret('hand')}\n---\n"
    path.write_text(f"{head}\n{birds.text('hand content')}\n")
    memory.sync()
    one = next(m for m in memory.list(limit=None) if m.file_path == BY_HAND)
    memory.update(one.id, importance=0.9)
    memory.reinforce(one.id)
    memory.reindex()


def _merged(memory: Muisti, birds: Canaries, folder: Path) -> None:
    word, other = birds.control("merged"), birds.control("merged again")
    first = memory.save(f"The {word} {other} opens the gate of the garden at noon")
    again = memory.save(
        f"the {word} {other} opens gate of the garden at noon. {birds.private('merged')}"
    )
    once_more = memory.save(
        f"The {word} {other} opens the gate of garden at noon! {birds.private('merged again')}"
    )
    assert {again.id, once_more.id} == {first.id}, "it was not merged"
    memory.unmerge(first.id)


def _server_failed(memory: Muisti, birds: Canaries, folder: Path) -> None:
    """What the server complains of is logged, and waits to be sent again."""
    memory.save(birds.text("server failed"))
    memory.reindex_missing()


DOORS = [_saved, _updated, _imported, _session, _asked, _by_hand, _merged]
ONLY_ASKED = {"search", "search by vector", "search compact", "explain"}
IN_HISTORY = {"update content"}
"""What is only in an earlier version."""


Refusal = Callable[[Muisti, str], object]
REFUSED: dict[str, Refusal] = {
    "too long": lambda memory, text: memory.save(f"{text} " + "too long " * MOST_BYTES),
    "too long before": lambda memory, text: memory.save("too long " * MOST_BYTES + text),
    "in a batch": lambda memory, text: memory.save_batch(["fine", text + " too long" * MOST_BYTES]),
    "batch is a text": lambda memory, text: memory.save_batch(text),
    "title": lambda memory, text: memory.save("A text", title=f"{text} " * 2000),
    "summary": lambda memory, text: memory.save("A text", summary=f"{text} " * 9000),
    "keyword": lambda memory, text: memory.save("A text", keywords=[f"{text} " * 2000]),
    "file": lambda memory, text: memory.save("A text", files=[f"{text} " * 2000]),
    "kind": lambda memory, text: memory.save(text, kind="no such kind"),
    "update": lambda memory, text: memory.update(
        memory.save("A text").id, content=f"{text} " + "too long " * MOST_BYTES
    ),
    "session": lambda memory, text: memory.end_session(
        memory.start_session("p").id, f"{text} " + "long " * 20_000
    ),
}


# -- The places


def _kept(vault: Path) -> Places:
    """Every file of the vault but the one that a person wrote, names included."""
    found = {
        path.relative_to(vault).as_posix(): path for path in vault.rglob("*") if path.is_file()
    }
    return {
        name: name.encode() + b"\n" + path.read_bytes()
        for name, path in found.items()
        if name != BY_HAND
    }


def _sent(server: EmbedServer) -> bytes:
    return json.dumps([server.requests, server.headers, server.paths], ensure_ascii=False).encode()


def _logged(caplog: pytest.LogCaptureFixture) -> bytes:
    told = [
        f"{r.getMessage()} {r.args!r} {r.exc_text or r.exc_info!r}"
        for r in caplog.get_records("call")
    ]
    return "\n".join([caplog.text, *told]).encode()


@pytest.fixture
def server() -> Iterator[EmbedServer]:
    with serving() as running:
        yield running


def _open(opened: Opener, server: EmbedServer) -> Muisti:
    return opened(
        embedder="openai",
        embedder_url=server.url,
        model="m",
        embedder_timeout=5.0,
        embedder_retry=0.0,
        max_content_bytes=MOST_BYTES,
    )


def _check(birds: Canaries, places: Places) -> None:
    leaked = {place: found for place, data in places.items() if (found := birds.hidden_in(data))}
    assert leaked == {}


def test_C1_no_byte_of_it_anywhere(
    opened: Opener,
    server: EmbedServer,
    vault: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    birds = Canaries()
    memory = _open(opened, server)
    for door in DOORS:
        door(memory, birds, tmp_path)
    server.script.append(saying("the server is out of order", 500))
    _server_failed(memory, birds, tmp_path)
    memory.flush()
    logging.getLogger("muisti").debug("The %s is logged", birds.control("log"))
    exported = memory.export_memories() + memory.export_memories(format="json")
    places = {"requests": _sent(server), "log": _logged(caplog), "export": exported.encode()}
    while_open = _kept(vault)
    _check(birds, while_open | places)
    memory.close()
    closed = _kept(vault)
    _check(birds, closed | {"log": _logged(caplog)})
    _check_controls(birds, while_open, places)
    _check_controls(birds, closed, places)
    assert len(birds.hidden_in((vault / BY_HAND).read_bytes())) >= 3, (
        "the person's own file is theirs"
    )


def _check_controls(birds: Canaries, kept: Places, places: Places) -> None:
    """The search must be able to find something: the public words beside the hidden ones are in all
    of these places.
    """
    index = b"".join(data for name, data in kept.items() if name.startswith(".muisti/"))
    files = b"".join(data for name, data in kept.items() if not name.startswith(".muisti/"))
    stored = [door for door in birds.shown if door not in ONLY_ASKED | {"log"}]
    contents = [
        door for door in stored if door.endswith(("content", "again", "0", "1", "merged", "failed"))
    ]
    assert len(contents) >= 10
    assert birds.missing_in(files, [door for door in stored if not door.startswith("hand")]) == []
    assert birds.missing_in(index, [door for door in stored if door not in IN_HISTORY]) == []
    assert birds.missing_in(places["requests"], [*contents, *ONLY_ASKED]) == []
    assert birds.missing_in(places["log"], ["log"]) == []
    assert (
        birds.missing_in(places["export"], [door for door in contents if door not in IN_HISTORY])
        == []
    )
    assert b"[redacted:" in files


@pytest.mark.parametrize("hide", ["private", "secret"])
@pytest.mark.parametrize("refusal", REFUSED.values(), ids=list(REFUSED))
def test_C1_what_is_refused_is_not_repeated(
    opened: Opener, vault: Path, caplog: pytest.LogCaptureFixture, refusal: Refusal, hide: str
) -> None:
    """An error is printed, logged and sent on to whoever asked: neither its text nor its fields
    hold what was hidden.
    """
    caplog.set_level(logging.DEBUG)
    birds = Canaries()
    memory = opened(embedder="none", max_content_bytes=MOST_BYTES)
    hidden = birds.private("error") if hide == "private" else birds.secret("error")
    with pytest.raises((InvalidMemory, InvalidRequest)) as caught:
        refusal(memory, f"{hidden} stands in it")
    error = caught.value
    said = (
        f"{error!r} {error} {vars(error)} {error.args!r} {error.__cause__!r} {error.__context__!r}"
    )
    _check(birds, _kept(vault) | {"error": said.encode(), "log": _logged(caplog)})


@pytest.mark.parametrize("hide", ["private", "secret"])
@pytest.mark.parametrize(
    "key", ["title", "keywords", "kind", "importance", "created_at", "links", "mine"]
)
def test_C1_what_a_person_hides_in_front_matter_stays_in_their_file(
    opened: Opener, vault: Path, caplog: pytest.LogCaptureFixture, key: str, hide: str
) -> None:
    """Also where it makes no sense: what is wrong with a file is kept in the index, and shown to
    whoever asks.
    """
    caplog.set_level(logging.DEBUG)
    birds = Canaries()
    memory = opened(embedder="none")
    hidden = birds.private("front matter") if hide == "private" else birds.secret("front matter")
    (vault / "notes").mkdir()
    (vault / BY_HAND).write_text(f"---\n{key}: {hidden}\n---\n\nA text\n")
    report = memory.sync()
    said = f"{report} {memory.problems()} {memory.list()} {memory.get_stats()}"
    _check(birds, _kept(vault) | {"said": said.encode(), "log": _logged(caplog)})


def test_C1_nothing_is_left_of_a_text_that_was_all_private(opened: Opener, vault: Path) -> None:
    birds = Canaries()
    memory = opened(embedder="none")
    with pytest.raises(InvalidMemory) as caught:
        memory.save(birds.private("all"))
    _check(birds, _kept(vault) | {"error": f"{caught.value!r} {vars(caught.value)}".encode()})


def test_C1_the_search_for_canaries_finds_them(
    opened: Opener, server: EmbedServer, vault: Path
) -> None:
    """With the tags forgotten and redaction off, each place holds what it must not hold: so the
    test above tells something.
    """
    birds = Canaries()
    memory = opened(embedder="openai", embedder_url=server.url, model="m", redact_secrets=False)
    birds.private("forgotten")
    word = birds.hidden["private in forgotten"]
    memory.save(f"The tag around {word} was forgotten: {birds.secret('forgotten')}")
    while_open = _kept(vault)
    places = [name for name, data in while_open.items() if len(birds.hidden_in(data)) == 2]
    assert any(name.endswith(".md") for name in places)
    assert any(name.endswith((".db", ".db-wal")) for name in places)
    assert len(birds.hidden_in(_sent(server))) == 2

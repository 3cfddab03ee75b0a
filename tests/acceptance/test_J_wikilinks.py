"""Wikilinks and tags in the text of memories (contract J7): derived in the index, in no file."""

from __future__ import annotations

import hashlib
import random
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from muisti import InvalidRequest, Link, Memory, Muisti, bootstrap
from muisti.model import LinkSource, LinkType
from tests.conftest import Opener
from tests.faults.test_index_locked import index_file
from tests.tiers import amount


def find_targets(memory: Muisti, source: Memory) -> set[str]:
    """Return the IDs that the links of a memory lead to."""
    return {one.target for one in memory.links(source.id) if one.source == source.id}


def test_J7_a_wikilink_is_a_link_from_both_ends(memory: Muisti) -> None:
    target = memory.save("We sign tokens.", title="Auth design")
    source = memory.save(
        "As in [[auth  DESIGN|the design]] and ![[Auth design#Keys]].", title="Log"
    )
    link = Link(
        source=source.id,
        type=LinkType.RELATED_TO,
        target=target.id,
        created_at=source.created_at,
        extracted_by=LinkSource.WIKILINK,
    )
    assert memory.links(source.id) == memory.links(target.id) == [link]
    assert not link.proposed
    assert source.links == ()
    graph = memory.graph(target.id, depth=2)
    assert {one.id for one in graph.memories} == {source.id, target.id}
    assert memory.wikilinks(source.id) == {"auth  DESIGN": target.id, "Auth design": target.id}
    with pytest.raises(InvalidRequest, match="wikilink in the text"):
        memory.unlink(source.id, target.id)
    memory.update(source.id, content="No link any more.")
    assert memory.links(target.id) == []


def test_J7_by_id_title_alias_and_file_name(memory: Muisti) -> None:
    target = memory.save("Otters swim.", title="Otters", aliases=["Lutra lutra", "a/b"])
    stem = Path(str(target.file_path)).stem
    names = [target.id, target.id.upper(), "otters", "LUTRA Lutra", "a/b", stem, f"{stem}.md"]
    names.append(str(target.file_path))
    for number, name in enumerate(names):
        source = memory.save(f"Text {number} leads to [[{name}]].", title=f"Source {number}")
        assert find_targets(memory, source) == {target.id}, name
    for name in ("b", "other/Otters", "Otter"):
        source = memory.save(f"This leads to [[{name}]].", title=f"Source {name}")
        assert find_targets(memory, source) == set(), name


def test_J7_a_new_title_does_not_break_wikilinks(memory: Muisti) -> None:
    rivers = memory.save("Rivers flow.", title="Rivers")
    derived = memory.save("Bees dance")
    other = memory.save("Otters dive.", title="Otters")
    source = memory.save("See [[rivers]] and [[Bees dance]].")
    before = memory.wikilinks(source.id)
    assert set(before.values()) == {rivers.id, derived.id}
    assert memory.update(rivers.id, title="Streams").aliases == ("Rivers",)
    assert memory.update(rivers.id, title="Brooks").aliases == ("Rivers",)
    assert memory.update(derived.id, content="Bees dance at noon").aliases == ("Bees dance",)
    assert memory.wikilinks(source.id) == before
    assert memory.update(other.id, title="Lutra").aliases == ()
    for title in ("Rivers", "Streams"):
        assert memory.update(rivers.id, title=title).aliases == ("Rivers",)
        assert memory.wikilinks(source.id) == before
    assert memory.update(rivers.id, title="Brooks", aliases=["Creeks"]).aliases == ("Creeks",)
    assert memory.verify(deep=True).ok


def test_J7_an_unresolved_wikilink_is_reported_until_the_memory_appears(memory: Muisti) -> None:
    source = memory.save("See [[Plan B]] and [[Plan C]].", title="Start")
    assert [(one.source, one.target) for one in memory.unresolved_links()] == [
        (source.id, "Plan B"),
        (source.id, "Plan C"),
    ]
    plan = memory.save("We take the train.", title="Plan B")
    assert [one.target for one in memory.unresolved_links()] == ["Plan C"]
    assert find_targets(memory, source) == {plan.id}
    memory.update(plan.id, title="Travel plan", aliases=[])
    assert find_targets(memory, source) == set()
    memory.update(plan.id, aliases=["Plan B", "Plan C"])
    assert memory.unresolved_links() == []
    memory.delete(plan.id)
    assert len(memory.unresolved_links()) == 2
    memory.restore(plan.id)
    assert find_targets(memory, source) == {plan.id}


def test_J7_of_several_titles_the_same_project_then_the_newest(memory: Muisti) -> None:
    old = memory.save("The first roadmap.", title="Roadmap", project="app")
    other = memory.save("The roadmap of the shop.", title="Roadmap", project="shop")
    source = memory.save("See [[Roadmap]].", title="Start", project="app")
    assert find_targets(memory, source) == {old.id}
    later = old.created_at + timedelta(seconds=1)
    new = memory.save(
        "The roadmap, quite another text.", title="Roadmap", project="app", created_at=later
    )
    assert find_targets(memory, source) == {new.id}
    memory.link(source.id, old.id, "BUILDS_ON")  # says which one is meant
    assert [(one.target, one.type) for one in memory.links(source.id)] == [
        (old.id, LinkType.BUILDS_ON)
    ]
    outside = memory.save("See [[Roadmap]] there.", title="Elsewhere", project="none")
    assert find_targets(memory, outside) == {new.id}
    assert memory.links(other.id) == []
    itself = memory.save("A note about [[Self]].", title="Self")
    assert memory.links(itself.id) == []
    assert memory.unresolved_links() == []


def test_A3_a_wikilink_never_leads_to_another_user_or_session(memory: Muisti) -> None:
    secret = memory.save("Bo plans a party.", title="Party", user="bo")
    memory.save("Only now.", title="Now", tier="session", session_id="s1")
    text = f"See [[Party]], [[{secret.id}]] and [[Now]]."
    for user in ("anna", ""):
        source = memory.save(text, title="Start", user=user)
        assert memory.links(source.id) == []
    own = memory.save(text, title="Start", user="bo")
    assert find_targets(memory, own) == {secret.id}
    assert {one.source for one in memory.unresolved_links(user="anna")} < {
        one.source for one in memory.unresolved_links()
    }
    assert memory.wikilinks(own.id)["Now"] is None


def test_J7_tags_count_as_keywords_and_are_in_no_file(memory: Muisti) -> None:
    saved = memory.save(
        "Deploy on Friday #Release, not in `#code`, see https://x.example/#part. Colour #fff #1st.",
        keywords=["weekly"],
    )
    assert (saved.hashtags, saved.keywords) == (("Release",), ("weekly",))
    assert memory.list(keywords=["release", "weekly"]) == [memory.get(saved.id)]
    assert memory.search_by_keywords(["RELEASE"])[0].id == saved.id
    [hit] = memory.search("release")
    assert hit.matched_keywords == ("Release",)
    assert memory.list(keywords=["code"]) == memory.list(keywords=["fff"]) == []
    for changes in ({"title": "Friday"}, {"importance": 0.9}, {"keywords": ["weekly", "more"]}):
        changed = memory.update(saved.id, **changes)
        assert changed.hashtags == ("Release",)
        assert "Release" not in changed.keywords
    kept = memory.update(saved.id, content="Deploy on Monday.")
    assert (kept.hashtags, kept.keywords) == ((), ("weekly", "more"))
    assert memory.list(keywords=["release"]) == []


@pytest.mark.needs_files("reads the bytes of a file")
def test_J7_nothing_derived_is_written(memory: Muisti) -> None:
    memory.save("Otters swim.", title="Otters")
    saved = memory.save("About [[Otters]] #animal.", title="Log")
    path = memory.root / str(saved.file_path)
    memory.update(saved.id, importance=0.7)
    head, body = path.read_text().split("---\n")[1:]
    assert body.strip() == "About [[Otters]] #animal."
    assert not {"links:", "keywords:", "hashtags:", "wikilinks:"} & set(head.split())


def test_J7_the_setting_turns_it_off(opened: Opener) -> None:
    memory = opened(wikilinks=False)
    target = memory.save("Otters swim.", title="Otters")
    saved = memory.save("About [[Otters]] #animal.", title="Log")
    assert (saved.hashtags, saved.wikilinks, memory.links(target.id)) == ((), (), [])
    assert memory.list(keywords=["animal"]) == []


def hash_files(root: Path) -> dict[Path, str]:
    """Return a digest of everything that is Obsidian's own."""
    files = [path for path in root.rglob("*") if path.is_file()]
    own = [
        path for path in files if ".obsidian" in path.parts or path.suffix in (".canvas", ".png")
    ]
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in own}


def write_notes(root: Path, count: int) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Write notes as Obsidian does. Return the notes that each leads to, and what is missing."""
    rng = random.Random(7)
    names = [f"Note {n} über {rng.choice(('otters', 'rivers', 'bees'))}" for n in range(count)]
    resolved: dict[str, set[str]] = {}
    missing: dict[str, set[str]] = {}
    for n, name in enumerate(names):
        others = rng.sample(range(count), 4)
        ways = [names[others[0]], f"alias {others[1]}", f"notes/{names[others[2]]}|shown"]
        ways.append(f"{names[others[3]].upper()}#Heading")
        gone = {f"Later {rng.randrange(9)}"} if rng.random() < 0.2 else set()
        text = " and ".join(f"[[{way}]]" for way in (*ways, *gone))
        head = (
            f"---\naliases:\n  - alias {n}\n---\n" if n % 2 else f"---\naliases: alias {n}\n---\n"
        )
        note = f"{head}Text {n} about {text} `[[{names[0]}x]]` #tag{n % 7}\n"
        (root / "notes" / f"{name}.md").write_text(note, "utf-8")
        resolved[name] = {names[other] for other in others} - {name}
        missing[name] = gone
    return resolved, missing


def check_links(memory: Muisti, resolved: dict[str, set[str]]) -> None:
    """Assert that every note leads to these notes, and to no others."""
    stems = {one.id: Path(str(one.file_path)).stem for one in memory.list(limit=None)}
    found: dict[str, set[str]] = {}
    for link in memory.find_links(list(stems)):
        found.setdefault(stems[link.source], set()).add(stems[link.target])
    assert found == {name: targets for name, targets in resolved.items() if targets}
    some = next(iter(stems))
    assert {link.target for link in memory.links(some)} <= stems.keys()


@pytest.mark.needs_files("Obsidian works on files")
def test_J7_obsidian_writes_into_the_vault(opened: Opener) -> None:
    memory = opened(embedder="none")
    root = memory.root
    (root / ".obsidian").mkdir()
    (root / ".obsidian" / "app.json").write_text("{}")
    (root / "Board.canvas").write_text("{}")
    (root / "notes").mkdir(exist_ok=True)
    (root / "notes" / "map.png").write_bytes(b"\x89PNG")
    before = hash_files(root)
    count = amount(quick=60, all=500)
    resolved, missing = write_notes(root, count)
    assert memory.sync().problems == ()
    check_links(memory, resolved)
    unresolved = {(one.title, one.target) for one in memory.unresolved_links()}
    assert len(unresolved) == sum(map(len, missing.values())) > 0
    assert len(memory.list(limit=None, keywords=["tag3"])) == len(range(3, count, 7))
    names = {name for gone in missing.values() for name in gone}
    for name in names:
        (root / "notes" / f"{name}.md").write_text(f"Now there is {name}.\n")
    memory.sync()
    assert memory.unresolved_links() == []
    expected = {name: resolved[name] | missing[name] for name in resolved}
    check_links(memory, expected)
    memory.reindex()
    check_links(memory, expected)
    assert memory.verify(deep=True).problems == ()
    assert hash_files(root) == before


def test_M1_an_index_of_an_earlier_version_gets_wikilinks(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    with bootstrap.open(vault, settings={"embedder": "none"}) as memory:
        source = memory.save("See [[Otters]] #animal", title="Log")
        target = memory.save("They swim.", title="Otters")
        files = {path: path.read_bytes() for path in vault.rglob("*.md")}
    db = apsw.Connection(str(index_file(vault)))
    db.execute("DROP VIEW memories; DELETE FROM labels")
    for column in ("aliases", "hashtags", "wikilinks"):
        db.execute(f"ALTER TABLE entries DROP COLUMN {column}")
    db.execute("CREATE VIEW memories AS SELECT * FROM entries WHERE origin = 'memory'")
    db.pragma("user_version", 11)
    db.close()
    with bootstrap.open(vault, settings={"embedder": "none"}) as memory:
        assert [one.target for one in memory.links(source.id)] == [target.id]
        assert [one.id for one in memory.list(keywords=["animal"])] == [source.id]
        assert memory.verify(deep=True).problems == ()
    assert {path: path.read_bytes() for path in vault.rglob("*.md")} == files


@pytest.mark.needs_files("imports files")
def test_J7_an_import_from_obsidian_has_no_double_links(memory: Muisti, tmp_path: Path) -> None:
    brain = tmp_path / "Second brain"
    (brain / ".obsidian").mkdir(parents=True)
    (brain / "a").mkdir()
    (brain / "b").mkdir()
    (brain / "a" / "Same.md").write_text("---\naliases: [One]\n---\nThe note in folder a.\n")
    (brain / "b" / "Same.md").write_text("A note with this name in folder b.\n")
    (brain / "a" / "Start.md").write_text("See [[Same]], [[one]], [[Missing]] and #tag.\n")
    report = memory.import_from(brain)
    assert [one.reason for one in report.unresolved] == ["Missing"]
    start, *_ = (one for one in memory.list(limit=None) if one.title == "Start")
    [link] = memory.links(start.id)  # both wikilinks lead to the note that the importer chose
    assert memory.get(link.target).aliases == ("One",)  # type: ignore[union-attr]
    assert memory.list(keywords=["tag"]) == [memory.get(start.id)]
    late = memory.save("Here it is.", title="Missing")
    assert {one.target for one in memory.links(start.id)} == {link.target, late.id}

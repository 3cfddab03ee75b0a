"""The operations that are killed and starved: each with a vault to begin with and the call itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from muisti import Muisti, bootstrap
from muisti.errors import InvalidRequest
from muisti.ports import Clock

from .invariants import State, bodies, copy_vault, everything, mixed, state

TARGET = "The target says: the parser lives in src/parse.py"
NEARLY = "the Target says: parser lives in src/parse.py."
"""What muisti takes for the same as the target."""
SUCCESSOR = "Since the rewrite, tools/reader.rs does all of the reading"
CANARY = "xylophonecanary"


@dataclass(frozen=True)
class Scenario:
    """One operation. It is found by content, so that the same call can be repeated in another
    process.
    """

    name: str
    act: Callable[[Muisti], object]
    prepare: Callable[[Muisti], object] = lambda memory: None
    by_hand: Callable[[Path], object] = lambda vault: None
    by_itself: bool = False
    """Whether opening the vault does the same."""
    stepwise: bool = False
    """Whether each memory stands for itself: a crash may come when some are done and some are not.
    """
    adds: bool = False
    """Whether saying it twice is more than saying it once."""

    def __str__(self) -> str:
        return self.name


def target(memory: Muisti) -> str:
    """The id of the memory that the operation is about, wherever it is now."""
    return _id(memory, TARGET[:15])


def _id(memory: Muisti, beginning: str) -> str:
    found = [
        m for m in (*everything(memory), *memory.list_archive()) if m.content.startswith(beginning)
    ]
    return found[0].id if found else "00000000-0000-7000-8000-000000000000"


def _unless_done(says: str, act: Callable[[Muisti], object]) -> Callable[[Muisti], object]:
    """What was done already, though nobody was told, is refused when it is repeated, with these
    words.
    """

    def acted(memory: Muisti) -> object:
        try:
            return act(memory)
        except InvalidRequest as error:
            assert says in str(error), error
            return None

    return acted


def _save_target(memory: Muisti) -> str:
    return memory.save(TARGET, kind="fact", keywords=["parser"]).id


def _delete_target(memory: Muisti) -> None:
    memory.delete(_save_target(memory))


def _save_canary(memory: Muisti) -> None:
    memory.save(f"{TARGET} {CANARY}", kind="fact")


def _batch(memory: Muisti) -> None:
    memory.save_batch(
        [{"content": f"Batch item {n} of four", "kind": kind} for n, kind in enumerate(_KINDS)]
    )


def _save_successor(memory: Muisti) -> None:
    _save_target(memory)
    memory.save(SUCCESSOR, kind="fact")


def _supersede(memory: Muisti) -> None:
    memory.supersede(target(memory), _id(memory, SUCCESSOR))


def _save_superseded(memory: Muisti) -> None:
    _save_successor(memory)
    _supersede(memory)


def _link(memory: Muisti) -> None:
    memory.link(_id(memory, SUCCESSOR), target(memory), "BUILDS_ON")


def _unlink(memory: Muisti) -> None:
    memory.unlink(_id(memory, SUCCESSOR), target(memory), "SUPERSEDES")


def _save_merged(memory: Muisti) -> None:
    _save_target(memory)
    assert memory.save(NEARLY, kind="fact").content == TARGET, "it was not merged"


def _merge_batch(memory: Muisti) -> None:
    texts = [NEARLY, "Batch item about gardens", "Another batch item, about bridges"]
    memory.save_batch([{"content": text, "kind": "fact"} for text in texts])


def _save_many(memory: Muisti) -> None:
    """Some that upkeep may move and some that it may not, all as weak as can be."""
    _save_target(memory)
    memory.save("Pinned: the office is on the third floor", kind="note", pinned=True)
    memory.save("Lunch is served at noon", kind="fact")
    for one in memory.list():
        memory.deemphasize(one.id, 1.0)


def _save_archived(memory: Muisti) -> None:
    _save_target(memory)
    memory.evict(0)


_KINDS = ("fact", "note", "decision", "fact")


def _edit_by_hand(vault: Path) -> None:
    (vault / "notes").mkdir(exist_ok=True)
    (vault / "notes" / "by hand.md").write_text("Written by hand, without front matter.\n")
    edited = next(vault.glob("facts/*target*.md"))
    edited.write_text(edited.read_text().replace("src/parse.py", "src/reader.py"))
    moved = next(vault.glob("decisions/*.md"))
    (vault / "insights").mkdir()
    moved.rename(vault / "insights" / moved.name)


REINFORCE = Scenario("reinforce", lambda m: m.deemphasize(target(m), 0.1), _save_target)
SCENARIOS = [
    Scenario("save", _save_target, adds=True),
    Scenario("save_batch", _batch, adds=True),
    Scenario("update", lambda m: m.update(target(m), content=f"{TARGET} now"), _save_target),
    Scenario(
        "update_kind",
        lambda m: m.update(target(m), kind="decision", project="apollo"),
        _save_target,
    ),
    Scenario("delete", lambda m: m.delete(target(m)), _save_target),
    Scenario("restore", lambda m: m.restore(target(m)), _delete_target),
    Scenario("hard_delete", lambda m: m.delete(target(m), hard=True), _save_canary),
    Scenario("reindex", lambda m: m.reindex(), _save_target),
    REINFORCE,
    Scenario("sync", lambda m: m.sync(), _save_target, _edit_by_hand, by_itself=True),
]


LINKING = [
    Scenario("supersede", _unless_done("already", _supersede), _save_successor),
    Scenario("link", _unless_done("already", _link), _save_successor),
    Scenario("unlink", _unless_done("link does not exist", _unlink), _save_superseded),
]
MERGING = [
    Scenario("merge", lambda m: m.save(NEARLY, kind="fact"), _save_target, adds=True),
    Scenario("merge_batch", _merge_batch, _save_target, stepwise=True, adds=True),
    Scenario(
        "unmerge",
        _unless_done("no merge to undo", lambda m: m.unmerge(target(m))),
        _save_merged,
        stepwise=True,
    ),
]
UPKEEP = [
    Scenario("evict", lambda m: m.evict(0), _save_many, stepwise=True),
    Scenario("cleanup", lambda m: m.cleanup(0.1), _save_many, stepwise=True),
    Scenario("restore_archived", lambda m: m.restore(target(m)), _save_archived),
]
ORDERING = [*LINKING, *MERGING, *UPKEEP]


@dataclass
class Prepared:
    """A vault to begin with, and what it holds before and after the operation."""

    template: Path
    scenario: Scenario
    clock: Clock
    before: State = ()
    after: State = ()
    twice: State = ()
    texts: set[str] = field(default_factory=set)
    """Of every file before and after: none of them may be lost."""

    def allows(self, found: State, *, acknowledged: bool) -> bool:
        """What may be found afterwards: the new state, and, as long as nobody was told of it, the
        old one.
        """
        if acknowledged or self.scenario.by_itself:
            return found == self.after
        return found in (self.before, self.after) or (
            self.scenario.stepwise and mixed(found, self.before, self.after)
        )

    def done(self, found: State) -> bool:
        """Whether a repetition ended where one call ends; or, if it adds, where two calls do."""
        return found == self.after or (self.scenario.adds and mixed(found, self.after, self.twice))

    def copy(self, to: Path) -> Path:
        return copy_vault(self.template, to)


def prepared(scenario: Scenario, folder: Path, clock: Clock) -> Prepared:
    """Make the vault that every run of a scenario begins with, and try the operation once unharmed."""
    ready = Prepared(folder / "template", scenario, clock)
    with bootstrap.open(ready.template, clock=clock) as memory:
        memory.save("A bystander about the build server", kind="note")
        memory.save("A decision about databases: SQLite", kind="decision")
        scenario.prepare(memory)
        ready.before = state(memory)
    scenario.by_hand(ready.template)
    ready.texts = set() if scenario.name == "hard_delete" else bodies(ready.template)
    with bootstrap.open(
        ready.copy(folder / "unharmed"), clock=clock, settings={"sync_on_open": False}
    ) as memory:
        scenario.act(memory)
        ready.after = state(memory)
        ready.texts |= bodies(memory.root)
        if scenario.adds:
            scenario.act(memory)
            ready.twice = state(memory)
    return ready

"""The operations that are killed and starved: each with a vault to begin with and the call itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from muisti import Muisti
from muisti.bootstrap import open_vault
from muisti.ports import Clock

from .invariants import State, state

TARGET = "The target says: the parser lives in src/parse.py"
CANARY = "xylophonecanary"


@dataclass(frozen=True)
class Scenario:
    """One operation. It is found by content, so that the same call can be repeated in another process."""

    name: str
    act: Callable[[Muisti], object]
    prepare: Callable[[Muisti], object] = lambda memory: None
    by_hand: Callable[[Path], object] = lambda vault: None
    by_itself: bool = False
    """Whether opening the vault does the same."""

    def __str__(self) -> str:
        return self.name


def target(memory: Muisti) -> str:
    """The id of the memory that the operation is about, wherever it is now."""
    found = [m for m in memory.list(limit=None, include_deleted=True) if m.content.startswith("The target says")]
    return found[0].id if found else "00000000-0000-7000-8000-000000000000"


def _save_target(memory: Muisti) -> str:
    return memory.save(TARGET, kind="fact", keywords=["parser"]).id


def _delete_target(memory: Muisti) -> None:
    memory.delete(_save_target(memory))


def _save_canary(memory: Muisti) -> None:
    memory.save(f"{TARGET} {CANARY}", kind="fact")


def _batch(memory: Muisti) -> None:
    memory.save_batch([{"content": f"Batch item {n} of four", "kind": kind} for n, kind in enumerate(_KINDS)])


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
    Scenario("save", _save_target),
    Scenario("save_batch", _batch),
    Scenario("update", lambda m: m.update(target(m), content=f"{TARGET} now"), _save_target),
    Scenario("update_kind", lambda m: m.update(target(m), kind="decision", project="apollo"), _save_target),
    Scenario("delete", lambda m: m.delete(target(m)), _save_target),
    Scenario("restore", lambda m: m.restore(target(m)), _delete_target),
    Scenario("hard_delete", lambda m: m.delete(target(m), hard=True), _save_canary),
    Scenario("reindex", lambda m: m.reindex(), _save_target),
    REINFORCE,
    Scenario("sync", lambda m: m.sync(), _save_target, _edit_by_hand, by_itself=True),
]


@dataclass
class Prepared:
    """A vault to begin with, and what it holds before and after the operation."""

    template: Path
    scenario: Scenario
    clock: Clock
    before: State = ()
    after: State = ()

    def allowed(self, *, acknowledged: bool) -> tuple[State, ...]:
        """What may be found afterwards: the new state, and, as long as nobody was told of it, the old one."""
        return (self.after,) if acknowledged or self.scenario.by_itself else (self.before, self.after)

    def copy(self, to: Path) -> Path:
        return Path(shutil.copytree(self.template, to))


def prepared(scenario: Scenario, folder: Path, clock: Clock) -> Prepared:
    """Make the vault that every run of a scenario begins with, and try the operation once unharmed."""
    ready = Prepared(folder / "template", scenario, clock)
    with open_vault(ready.template, clock=clock) as memory:
        memory.save("A bystander about the build server", kind="note")
        memory.save("A decision about databases: SQLite", kind="decision")
        scenario.prepare(memory)
        ready.before = state(memory)
    scenario.by_hand(ready.template)
    with open_vault(ready.copy(folder / "unharmed"), clock=clock, arguments={"sync_on_open": False}) as memory:
        scenario.act(memory)
        ready.after = state(memory)
    return ready

"""What people do to the files, against a model: after each sync the memories are what the files say
(contract B5).
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from muisti import bootstrap
from muisti.storage.clock import SystemClock
from tests.tiers import amount

from .invariants import everything, fingerprint

FOLDERS = {"facts": "fact", "notes": "note", "decisions": "decision"}
WORDS = st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon", "zeta"])


@dataclass(frozen=True)
class File:
    """What the model knows of a file that a person sees."""

    path: str
    key: str
    """Stands for the identity: copies share it."""
    body: str
    kind: str
    project: str
    broken: bool = False

    @property
    def trashed(self) -> bool:
        return self.path.startswith(".trash/")


class HandEdits(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="muisti-hand-"))
        self.vault = self.folder / "vault"
        # Any share may vanish here; that many are kept back is tested by itself below.
        self.memory = bootstrap.open(self.vault, settings={"vanished_share": 1.0})
        self.files: dict[str, File] = {}
        self.ids: dict[str, str] = {}
        self.count = 0

    def teardown(self) -> None:
        self.memory.close()
        with bootstrap.open(self.vault, clock=SystemClock()) as memory:
            live = fingerprint(memory)
        shutil.rmtree(self.vault / ".muisti")
        with bootstrap.open(self.vault, clock=SystemClock()) as memory:
            assert fingerprint(memory) == live
        shutil.rmtree(self.folder)

    # -- What muisti does

    @initialize(n=st.integers(1, 4))
    def begin(self, n: int) -> None:
        for _ in range(n):
            self.save("alpha", "fact", "")

    @rule(
        word=WORDS,
        kind=st.sampled_from(sorted(FOLDERS.values())),
        project=st.sampled_from(["", "apollo"]),
    )
    def save(self, word: str, kind: str, project: str) -> None:
        body = self._text(word)
        saved = self.memory.save(body, kind=kind, project=project)
        self._put(File(str(saved.file_path), saved.id, body, kind, project))
        self.ids[saved.id] = saved.id

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        file = self._pick(data, lambda f: self._wins(f) and not f.trashed)
        same = [f for f in self.files.values() if f.key == file.key]
        self.memory.delete(self.ids[file.key])
        for one in same:  # copies go too, or the memory would come back from them
            if not one.trashed and not one.broken:
                path = Path(".trash", one.path)
                (trashed,) = self.vault.glob(f"{path.with_suffix('')}.[0-9]*T[0-9]*Z.md")
                self._move(one, trashed.relative_to(self.vault).as_posix())

    # -- What a person does

    @rule(data=st.data(), word=WORDS)
    def edit_body(self, data: st.DataObject, word: str) -> None:
        file = self._pick(data, lambda f: not f.broken)
        body = self._text(word)
        self._write(file, self._read(file).replace(file.body, body))
        self._put(replace(file, body=body))

    @rule(data=st.data(), kind=st.sampled_from(sorted(FOLDERS.values())))
    def edit_front_matter(self, data: st.DataObject, kind: str) -> None:
        file = self._pick(data, lambda f: not f.broken and f"\nkind: {f.kind}\n" in self._read(f))
        self._write(
            file,
            self._read(file).replace(
                f"\nkind: {file.kind}\n", f"\nkind: {kind}  # by hand\nmood: good\n", 1
            ),
        )
        self._put(replace(file, kind=kind))
        self.synced()

    @rule(data=st.data())
    def rename(self, data: st.DataObject) -> None:
        file = self._pick(data, lambda f: True)
        self.count += 1
        target = f"{file.path.rpartition('/')[0]}/renamed {self.count}.md"
        (self.vault / file.path).rename(self.vault / target)
        self._move(file, target)

    @rule(
        data=st.data(),
        folder=st.sampled_from(sorted(FOLDERS)),
        project=st.sampled_from(["", "apollo", "zeus"]),
    )
    def move(self, data: st.DataObject, folder: str, project: str) -> None:
        """To another kind's or project's folder: the front matter follows if it said what the old
        folder said.
        """
        file = self._pick(data, lambda f: self._wins(f) and self._alone(f) and not f.trashed)
        self.synced()
        self.count += 1
        above = f"projects/{project}/" if project else ""
        target = f"{above}{folder}/moved {self.count}.md"
        (self.vault / target).parent.mkdir(parents=True, exist_ok=True)
        (self.vault / file.path).rename(self.vault / target)
        old_kind, old_project = _place(file.path)
        kind = FOLDERS[folder] if file.kind == old_kind else file.kind
        self._move(file, target)
        self._put(
            replace(
                file,
                path=target,
                kind=kind,
                project=project if file.project == old_project else file.project,
            )
        )
        self.synced()

    @rule(folder=st.sampled_from(sorted(FOLDERS)), word=WORDS)
    def add_without_front_matter(self, folder: str, word: str) -> None:
        self.count += 1
        body = self._text(word)
        path = f"{folder}/by hand {self.count}.md"
        (self.vault / folder).mkdir(exist_ok=True)
        (self.vault / path).write_text(f"{body}\n")
        self._put(File(path, path, body, FOLDERS[folder], ""))

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        file = self._pick(data, lambda f: True)
        (self.vault / file.path).unlink()
        del self.files[file.path]

    @rule(data=st.data())
    def copy(self, data: st.DataObject) -> None:
        file = self._pick(data, lambda f: not f.trashed and not f.broken)
        self.synced()  # a file without an id has none to share
        self.count += 1
        target = f"{file.path.removesuffix('.md')} copy {self.count}.md"
        shutil.copy(self.vault / file.path, self.vault / target)
        self._put(replace(file, path=target))

    @rule(
        data=st.data(),
        how=st.sampled_from(
            ["kind: [unclosed\n", "<<<<<<< ours\n=======\n>>>>>>> theirs\n", "kind: nonsense\n"]
        ),
    )
    def break_it(self, data: st.DataObject, how: str) -> None:
        file = self._pick(data, lambda f: not f.broken and "\nmood" not in self._read(f))
        self.synced()
        text = self._read(file)
        self._write(file, f"---\n{how}{text[4:]}" if "<<<" not in how else f"{text}{how}")
        self._put(replace(file, broken=True))

    @rule(data=st.data())
    def mend(self, data: st.DataObject) -> None:
        file = self._pick(data, lambda f: f.broken)
        text = self._read(file)
        for how in (
            "kind: [unclosed\n",
            "kind: nonsense\n",
            "<<<<<<< ours\n=======\n>>>>>>> theirs\n",
        ):
            text = text.replace(how, "", 1)
        self._write(file, text)
        self._put(replace(file, broken=False))

    @rule(data=st.data())
    def restore_by_hand(self, data: st.DataObject) -> None:
        file = self._pick(data, lambda f: f.trashed)
        self.count += 1
        target = f"{file.path.removeprefix('.trash/').rpartition('/')[0]}/restored {self.count}.md"
        (self.vault / target).parent.mkdir(parents=True, exist_ok=True)
        (self.vault / file.path).rename(self.vault / target)
        self._move(file, target)
        self.synced()

    @rule()
    def reindex(self) -> None:
        self.memory.reindex()

    @precondition(lambda self: self.files)
    @rule()
    def another_process_looks(self) -> None:
        with bootstrap.open(self.vault, settings={"vanished_share": 1.0}) as other:
            assert len(everything(other)) == len(
                {f.key for f in self.files.values() if not f.broken}
            )

    @invariant()
    def synced(self) -> None:
        report = self.memory.sync()
        wanted = {
            f.key: f for f in sorted(self.files.values(), key=_rank, reverse=True) if not f.broken
        }
        found = {m.file_path: m for m in everything(self.memory)}
        assert found.keys() == {f.path for f in wanted.values()}
        for file in wanted.values():
            memory = found[file.path]
            assert (memory.content, memory.kind, memory.project) == (
                file.body,
                file.kind,
                file.project,
            )
            assert (memory.deleted_at is not None) == file.trashed
            assert self.ids.setdefault(file.key, memory.id) == memory.id, (
                "a memory keeps its identity"
            )
        troubled = {f.path for f in self.files.values() if f.broken or f.path not in found}
        assert {problem.path for problem in report.problems} == troubled
        assert {problem.path for problem in self.memory.verify(deep=True).problems} == troubled

    # -- Small things

    def _text(self, word: str) -> str:
        self.count += 1
        return f"Text {self.count} about {word}{self.count}"

    def _pick(self, data: st.DataObject, which) -> File:  # type: ignore[no-untyped-def]
        candidates = sorted(path for path, file in self.files.items() if which(file))
        assume(candidates)
        return self.files[data.draw(st.sampled_from(candidates))]

    def _wins(self, file: File) -> bool:
        rivals = [f for f in self.files.values() if f.key == file.key and not f.broken]
        return not file.broken and min(rivals, key=_rank) == file

    def _alone(self, file: File) -> bool:
        return sum(f.key == file.key for f in self.files.values()) == 1

    def _put(self, file: File) -> None:
        self.files[file.path] = file

    def _move(self, file: File, target: str) -> None:
        del self.files[file.path]
        self._put(replace(file, path=target))

    def _read(self, file: File) -> str:
        return (self.vault / file.path).read_text()

    def _write(self, file: File, text: str) -> None:
        (self.vault / file.path).write_text(text)


def _rank(file: File) -> tuple[bool, int, str]:
    return file.trashed, len(file.path), file.path


def _place(path: str) -> tuple[str, str]:
    parts = path.split("/")
    return (FOLDERS[parts[2]], parts[1]) if parts[0] == "projects" else (FOLDERS[parts[0]], "")


HandEdits.TestCase.settings = settings(
    max_examples=amount(quick=2, all=30, long=400), stateful_step_count=15
)
TestB5HandEdits = HandEdits.TestCase


def test_B5_nothing_is_purged_when_many_vanish(vault: Path) -> None:
    with bootstrap.open(vault) as memory:
        ids = {m.id for m in memory.save_batch([f"Memory {n} about subject{n}" for n in range(20)])}
        for path in sorted(vault.glob("notes/*.md"))[:5]:
            path.rename(path.with_suffix(".away"))
        report = memory.sync()
        assert (report.paused, report.missing, report.removed) == (True, 5, 0)
        assert {m.id for m in memory.list(limit=None)} == ids
        assert not memory.verify().ok
        with bootstrap.open(vault) as other:
            assert len(other.list(limit=None)) == 20
        for path in vault.glob("notes/*.away"):
            path.rename(path.with_suffix(".md"))
        assert not memory.sync().paused
        assert memory.verify(deep=True).ok
        for path in sorted(vault.glob("notes/*.md"))[:5]:
            path.unlink()
        assert memory.sync().paused
        assert memory.sync(confirm=True).removed == 5
        assert len(memory.list(limit=None)) == 15
        assert memory.verify(deep=True).ok


def test_B5_a_few_may_go_without_a_question(vault: Path) -> None:
    with bootstrap.open(vault) as memory:
        memory.save_batch([f"Memory {n} about subject{n}" for n in range(20)])
        for path in sorted(vault.glob("notes/*.md"))[:4]:
            path.unlink()
        report = memory.sync()
        assert (report.paused, report.removed) == (False, 4)
        assert memory.verify(deep=True).ok

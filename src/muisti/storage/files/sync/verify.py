"""Prove that files and index agree, without changing either."""

from __future__ import annotations

from muisti.errors import BrokenFile, IndexProblem
from muisti.model import Problem, VerifyReport
from muisti.ports import Known, Parts, Progress
from muisti.storage.files.sync.reconcile import fill
from muisti.storage.files.sync.sources import Following


def verify(parts: Parts, *, deep: bool = False, progress: Progress | None = None) -> VerifyReport:
    """Compare every file with the index, byte for byte. Deep: also with an index built anew beside it."""
    doubtful = _doubtful(parts, progress)
    with parts.vault.lock():  # others may have written while we looked: what seemed wrong is looked at once more
        problems = list(parts.index.problems())
        reported = {problem.path for problem in problems}
        known = parts.index.known()
        paths = {path for path, _ in parts.vault.scan()}
        for path in doubtful:
            if path in paths and path not in reported:
                problems += _compared(parts, path, known.get(path))
        gone = sorted(known.keys() - paths)
        problems += [Problem(path, _GONE) for path in gone]
        reading = parts.journal.read({})
    problems += [problem for problem in reading.problems if problem.path not in reported]
    problems += _beside(parts)
    problems += [Problem(".muisti", f"{what}: run `muisti reindex`") for what in parts.index.check()]
    if deep:
        problems += _rebuilt(parts)
    memories = sum(1 for k in known.values() if k.memory_id)
    return VerifyReport(files=len(paths), memories=memories, journal_events=len(reading.events), problems=tuple(problems))


def _beside(parts: Parts) -> list[Problem]:
    """Conversations and documents that the index does not have as they are."""
    following = Following(parts, parts.index)
    changed = [Problem(path, "differs from the index: run `muisti sync`") for path in following.differing()]
    return [*changed, *following.missing_shelves()]


def _doubtful(parts: Parts, progress: Progress | None) -> list[str]:
    """Files that do not look as the index says, or changed while we looked."""
    known = parts.index.known()
    paths = [path for path, _ in parts.vault.scan()]
    doubtful = []
    for done, path in enumerate(paths):
        if _compared(parts, path, known.get(path)):
            doubtful.append(path)
        if progress and done % 200 == 0:
            progress(done, len(paths))
    return doubtful


_GONE = "is in the index, but the file is gone: run `muisti sync`, with --confirm if many are"


def _compared(parts: Parts, path: str, known: Known | None) -> list[Problem]:
    try:
        file = parts.vault.read(path)
    except BrokenFile as error:
        return [Problem(path, error.reason)]
    if file is None:
        return []
    if known is None or known.sha != file.sha:
        return [Problem(path, "differs from the index: run `muisti sync`")]
    row = parts.reader.get(file.memory.id, include_deleted=True)
    if row is None or row.file_path != path:
        return [Problem(path, "has no row in the index: run `muisti reindex`")]
    if (row.content, row.title, row.kind, row.project) != (
        file.memory.content, file.memory.title, file.memory.kind, file.memory.project,
    ):  # fmt: skip
        return [Problem(path, "the index has other text than the file: run `muisti reindex`")]
    return []


def _rebuilt(parts: Parts) -> list[Problem]:
    try:
        with parts.index.shadow() as shadow:
            fill(parts, shadow, adopt=False)
            with parts.vault.lock():  # nobody writes while the last changes are taken in and the two are compared
                fill(parts, shadow, adopt=False)
                here, anew = parts.index.fingerprint(), shadow.fingerprint()
    except IndexProblem as error:
        return [Problem(".muisti", f"cannot be compared ({error}): run `muisti reindex`")]
    away = {"texts", "documents", "words", "lexicon", "totals"} if Following(parts, parts.index).missing_shelves() else set()
    differing = [part for part in here if here[part] != anew[part] and part not in away]  # which a rebuild cannot read now
    return [Problem(".muisti", f"{part}: not what a rebuild makes of the files: run `muisti reindex`") for part in differing]

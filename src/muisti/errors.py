"""Everything that can go wrong, as one tree. A caller who catches `MuistiError` catches all of it.

    MuistiError
    ├── InvalidMemory        a field of a memory is not acceptable; nothing was written
    ├── InvalidRequest       an option of a call is not acceptable
    ├── NotFound
    │   ├── MemoryNotFound
    │   ├── SessionNotFound
    │   └── CoreEntryNotFound
    ├── Conflict             the memory changed since it was read
    ├── Unsupported          this store cannot do what was asked
    ├── SettingsError        muisti.toml or a MUISTI_* variable is wrong
    ├── ImportFailed         the source cannot be read; nothing was imported
    ├── VaultError           the folder of files
    │   ├── VaultNotFound
    │   ├── VaultUnusable    it is a file, or is not ours to use
    │   ├── VaultReadOnly
    │   ├── VaultFull        no space left; the old state is intact
    │   ├── VaultBusy        another process holds the lock for too long
    │   └── BrokenFile       one file cannot be understood; it was left alone
    ├── IndexProblem         the search index, which can always be rebuilt from the files
    │   ├── IndexBusy
    │   ├── IndexCorrupt
    │   └── IndexTooNew      made by a later muisti
    ├── EmbedderProblem      no vector can be had; searches go on by keyword
    │   ├── EmbedderUnavailable  it is down, too slow, or was left alone after failing
    │   ├── EmbedderMisbehaved   it answered with something that is no vector of this model
    │   ├── ModelNotInstalled
    │   └── ModelDamaged         the file of a model is not the one that the catalogue names
    └── ExtractorProblem     the language model found no memories; nothing of its reply was stored
        ├── ExtractorUnavailable  it is down, too slow, refuses, or was left alone after failing
        └── ExtractorMisbehaved   it answered with something that is no list of memories of this talk

Each message names what is wrong and what to do about it.
"""

from __future__ import annotations


class MuistiError(Exception):
    """The root of every error that muisti raises on purpose."""


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}…"


class InvalidMemory(MuistiError, ValueError):
    """A field of a memory has a value that cannot be kept."""

    def __init__(self, field: str, value: object, cure: str) -> None:
        super().__init__(f"{field}: {_shown(value)} is not accepted: {cure}")
        self.field = field
        self.value = value
        self.cure = cure


class InvalidRequest(MuistiError, ValueError):
    """An option of a call (a limit, a mode, a filter) has a value that makes no sense."""

    def __init__(self, option: str, value: object, cure: str) -> None:
        super().__init__(f"{option}: {_shown(value)} is not accepted: {cure}")
        self.option = option
        self.value = value


class NotFound(MuistiError, LookupError):
    """Something that was named does not exist."""


class MemoryNotFound(NotFound):
    """No memory has this id."""

    def __init__(self, *ids: str) -> None:
        plural = "memories have the ids" if len(ids) > 1 else "memory has the id"
        super().__init__(f"no {plural} {', '.join(ids)}; `muisti list` shows those that exist")
        self.ids = ids


class SessionNotFound(NotFound):
    """No session has this id."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"no session has the id {session_id!r}; `muisti session list` shows those that exist")
        self.session_id = session_id


class CoreEntryNotFound(NotFound):
    """Core memory has no entry with this key."""

    def __init__(self, section: str, key: str, known: tuple[str, ...]) -> None:
        there = f"there are: {', '.join(known)}" if known else "the section is empty"
        super().__init__(f"core memory has no entry {key!r} in the section {section}; {there}")
        self.section = section
        self.key = key


class Conflict(MuistiError):
    """Somebody else changed the memory between reading and writing; read it again and retry."""


class Unsupported(MuistiError):
    """The store cannot do what was asked, such as `sync` of a vault without files."""

    def __init__(self, operation: str, reason: str) -> None:
        """Operation: what was called. Reason: why it cannot be done here, and what to do instead."""
        super().__init__(f"{operation} is not supported: {reason}")
        self.operation = operation
        self.reason = reason


class SettingsError(MuistiError):
    """A setting has a value that cannot be used."""


class ImportFailed(MuistiError):
    """The source of an import cannot be read; nothing was imported."""


class VaultError(MuistiError):
    """The folder with the memories cannot be used as asked."""


class VaultNotFound(VaultError):
    """There is no vault where one was expected."""


class VaultUnusable(VaultError):
    """The path is not a folder that can hold a vault."""


class VaultReadOnly(VaultError):
    """The vault can be read and searched, but not written."""


class VaultFull(VaultError):
    """The disk has no space left; what was there before is intact."""


class VaultBusy(VaultError):
    """Another process has held the vault's lock for longer than we wait."""


class BrokenFile(VaultError):
    """One file of the vault cannot be understood. It is left exactly as it is."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class IndexProblem(MuistiError):
    """The index cannot answer. The files are not affected."""


class IndexBusy(IndexProblem):
    """Another process has held the index for longer than we wait."""


class IndexCorrupt(IndexProblem):
    """The index file is damaged; it is rebuilt from the files."""


class IndexTooNew(IndexProblem):
    """The index was made by a later version of muisti."""


class EmbedderProblem(MuistiError):
    """No vector can be had. What was to be saved is saved, searches answer by keyword."""


class EmbedderUnavailable(EmbedderProblem):
    """The embedder is down, too slow, refuses, or is left alone for a while after it failed."""


class EmbedderMisbehaved(EmbedderProblem):
    """The embedder answered with NaN, too few vectors, or vectors of another length."""


class ModelNotInstalled(EmbedderProblem):
    """The files of a model are not on this machine."""


class ModelDamaged(EmbedderProblem):
    """The file of a model does not have the hash that the catalogue names."""


class ExtractorProblem(MuistiError):
    """The language model that reads talks was of no use. Nothing of its reply is stored; the talk is not affected."""


class ExtractorUnavailable(ExtractorProblem):
    """The extractor is down, too slow, refuses, or is left alone for a while after it failed."""


class ExtractorMisbehaved(ExtractorProblem):
    """The extractor answered with something that is no list of memories of this talk."""

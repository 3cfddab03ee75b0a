"""Every error that muisti raises on purpose, as one tree with `MuistiError` at its root.

    MuistiError
    ├── InvalidMemory             a field of a memory has an invalid value; nothing was written
    ├── InvalidRequest            an option of a call has an invalid value
    ├── NotFound
    │   ├── MemoryNotFound
    │   ├── SessionNotFound
    │   └── CoreEntryNotFound
    ├── Conflict                  the memory changed since it was read
    ├── Unsupported               this store cannot do what was asked
    ├── SettingsError             muisti.toml or a MUISTI_* variable is wrong
    ├── ImportFailed              the source cannot be read; nothing was imported
    ├── VaultError                the vault's files
    │   ├── VaultNotFound
    │   ├── VaultUnusable         the path is a file, or not ours to use
    │   ├── VaultReadOnly
    │   ├── VaultFull             no space left; the previous state is intact
    │   ├── VaultBusy             another process has held the lock for too long
    │   └── BrokenFile            one file cannot be parsed; it was left unchanged
    ├── IndexProblem              the search index, which can always be rebuilt from the files
    │   ├── IndexBusy
    │   ├── IndexCorrupt
    │   └── IndexTooNew           written by a newer muisti
    ├── EmbedderProblem           no vectors are available; searches continue by keyword
    │   ├── EmbedderUnavailable   down, too slow, refusing, or backing off after a failure
    │   ├── EmbedderMisbehaved    returned something that is not a vector of this model
    │   ├── ModelNotInstalled
    │   └── ModelDamaged          the model file does not have the hash in the catalogue
    └── ExtractorProblem          the language model found no memories; nothing was stored
        ├── ExtractorUnavailable  down, too slow, refusing, or backing off after a failure
        └── ExtractorMisbehaved   returned something that is not a list of memories

Each message names what is wrong and how to fix it. The class attributes beside each error are the
only table of what errors mean outside of Python: REST, the web page, MCP, the command line and the
hooks' log all render from them. A class inherits what it does not set itself.
"""

from __future__ import annotations

from typing import ClassVar


class MuistiError(Exception):
    """The root of every error that muisti raises on purpose."""

    status: ClassVar[int] = 503
    """The HTTP status code."""
    title: ClassVar[str] = "Memory is not available"
    """A short heading: the same for every error of this class."""
    next_step: ClassVar[str] = ""
    """What to do about it, for a person or a program; empty where every message says so itself."""
    is_temporary: ClassVar[bool] = False
    """Whether the same call may succeed a little later, without anything being fixed."""
    may_quote: ClassVar[bool] = True
    """Whether a message may quote what was said or is remembered; if so, it is kept out of logs."""
    exit_code: ClassVar[int] = 1
    """The exit code of the command line."""


def _describe(field: str, value: object, reason: str) -> str:
    """Return "limit must be at least 1 (got 0)". An empty value is not repeated."""
    if value in ("", None, (), [], {}):
        return f"{field} {reason}"
    shown = repr(value)
    return f"{field} {reason} (got {shown if len(shown) <= 80 else f'{shown[:77]}…'})"


class InvalidMemory(MuistiError, ValueError):
    """A field of a memory has an invalid value."""

    status = 422
    title = "Invalid memory"

    def __init__(self, field: str, value: object, reason: str) -> None:
        """Reason: what the value must be. It follows the field's name in the message."""
        super().__init__(_describe(field, value, reason))
        self.field = field
        self.value = value
        self.reason = reason


class InvalidRequest(MuistiError, ValueError):
    """An option of a call (a limit, a mode, a filter) has an invalid value."""

    status = 422
    title = "Invalid request"

    def __init__(self, option: str, value: object, reason: str) -> None:
        """Reason: what the value must be. It follows the option's name in the message."""
        super().__init__(_describe(option, value, reason))
        self.option = option
        self.value = value
        self.reason = reason


class NotFound(MuistiError, LookupError):
    """Something that was named does not exist."""

    status = 404
    title = "Not found"


class MemoryNotFound(NotFound):
    """No memory has this id."""

    title = "Memory not found"
    next_step = "Search for it: search results carry the ids."

    def __init__(self, *ids: str) -> None:
        plural = "memories have the ids" if len(ids) > 1 else "memory has the id"
        super().__init__(f"no {plural} {', '.join(ids)}; `muisti list` shows those that exist")
        self.ids = ids


class SessionNotFound(NotFound):
    """No session has this id."""

    title = "Session not found"

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"no session has the id {session_id!r}; `muisti session list` shows those that exist"
        )
        self.session_id = session_id


class CoreEntryNotFound(NotFound):
    """Core memory has no entry with this key."""

    title = "Core memory entry not found"
    next_step = "Read core memory to see its entries."

    def __init__(self, section: str, key: str, known: tuple[str, ...]) -> None:
        there = f"there are: {', '.join(known)}" if known else "the section is empty"
        super().__init__(f"core memory has no entry {key!r} in the section {section}; {there}")
        self.section = section
        self.key = key


class Conflict(MuistiError):
    """Someone else changed the memory between reading and writing."""

    status = 409
    title = "Changed in the meantime"
    next_step = "Read it again, then repeat the change."


class Unsupported(MuistiError):
    """The store cannot do what was asked, such as `sync` of a vault without files."""

    status = 501
    title = "Not supported by this store"
    next_step = "Trying again does not help."

    def __init__(self, operation: str, reason: str) -> None:
        """Operation: what was called. Reason: why it cannot be done here, and what to do instead."""
        super().__init__(f"{operation} is not supported: {reason}")
        self.operation = operation
        self.reason = reason


class SettingsError(MuistiError):
    """A setting has a value that cannot be used."""

    status = 500
    title = "Invalid setting"
    may_quote = False


class ImportFailed(MuistiError):
    """The source of an import cannot be read; nothing was imported."""

    status = 422
    title = "Import failed"


class VaultError(MuistiError):
    """The vault's files cannot be used as asked."""

    title = "The vault cannot be used"
    may_quote = False


class VaultNotFound(VaultError):
    """There is no vault where one was expected."""

    title = "Vault not found"


class VaultUnusable(VaultError):
    """The path is not a folder that can hold a vault."""

    title = "Not usable as a vault"


class VaultReadOnly(VaultError):
    """The vault can be read and searched, but not written."""

    status = 403
    title = "The vault is read-only"
    next_step = (
        "Searching and reading still work; nothing can be saved until the vault is writable."
    )


class VaultFull(VaultError):
    """The disk has no space left; the previous state is intact."""

    status = 507
    title = "The disk is full"
    next_step = "Nothing was changed; free some space before trying again."


class VaultBusy(VaultError):
    """Another process has held the vault's lock for longer than we wait."""

    title = "The vault is busy"
    next_step = "Wait a few seconds and try again."
    is_temporary = True


class BrokenFile(VaultError):
    """One file of the vault cannot be parsed. It is left exactly as it is."""

    status = 409
    title = "A file of the vault is broken"
    next_step = "The owner of the vault has to correct the file by hand."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class IndexProblem(MuistiError):
    """The index cannot be used. The files are not affected."""

    title = "The index cannot be used"
    next_step = "The files are not affected; `muisti reindex` rebuilds the index from them."
    may_quote = False


class IndexBusy(IndexProblem):
    """Another process has held the index for longer than we wait."""

    title = "The index is busy"
    next_step = "Wait a few seconds and try again."
    is_temporary = True


class IndexCorrupt(IndexProblem):
    """The index file is damaged; it is rebuilt from the files."""

    title = "The index is damaged"


class IndexTooNew(IndexProblem):
    """The index was written by a newer version of muisti."""

    title = "The index needs a newer muisti"
    next_step = "Update muisti."


class EmbedderProblem(MuistiError):
    """No vectors are available. Memories are saved all the same, and searches go by keyword."""

    title = "No vectors are available"
    next_step = "Saving and keyword search work without vectors."


class EmbedderUnavailable(EmbedderProblem):
    """The embedder is down, too slow, refuses, or is left alone for a while after it failed."""

    title = "The embedder is not available"
    is_temporary = True


class EmbedderMisbehaved(EmbedderProblem):
    """The embedder returned NaN, too few vectors, or vectors of another length."""

    title = "The embedder returned invalid vectors"


class ModelNotInstalled(EmbedderProblem):
    """The files of a model are not on this machine."""

    title = "The model is not installed"


class ModelDamaged(EmbedderProblem):
    """The file of a model does not have the hash that the catalogue names."""

    title = "The model file is damaged"


class ExtractorProblem(MuistiError):
    """The language model that extracts memories failed. Nothing of its reply is stored."""

    title = "Extraction failed"
    next_step = "Nothing was stored; saving and searching work without extraction."


class ExtractorUnavailable(ExtractorProblem):
    """The extractor is down, too slow, refuses, or is left alone for a while after it failed."""

    title = "The extractor is not available"
    is_temporary = True


class ExtractorMisbehaved(ExtractorProblem):
    """The extractor returned something that is not a list of memories of this conversation."""

    title = "The extractor returned an invalid reply"

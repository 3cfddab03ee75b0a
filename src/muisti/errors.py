"""Every error that muisti raises on purpose, as one tree with `MuistiError` at its root.

    MuistiError
    ├── InvalidMemory             a field of a memory has an invalid value
    ├── InvalidRequest            an option of a call has an invalid value
    ├── NotFound
    │   ├── MemoryNotFound
    │   ├── SessionNotFound
    │   ├── ConversationNotFound
    │   ├── MessageNotFound
    │   └── CoreEntryNotFound
    ├── Conflict                  the memory changed since it was read
    ├── Unsupported               this store does not support the operation
    ├── SettingsError             muisti.toml or a MUISTI_* variable is wrong
    ├── ImportFailed              the source cannot be read; nothing was imported
    ├── VaultError                the vault's files
    │   ├── VaultNotFound
    │   ├── VaultUnusable         the path is a file, or belongs to another program
    │   ├── VaultReadOnly
    │   │   └── VaultNotTrusted   found in the working folder, and not approved by the user
    │   ├── VaultFull             no space left; the previous state is intact
    │   ├── VaultBusy             another process has held the lock for too long
    │   ├── StoreUnavailable      the database that holds the vault cannot be reached
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
    └── ExtractorProblem          extraction failed; nothing was stored
        ├── ExtractorUnavailable  down, too slow, refusing, or backing off after a failure
        └── ExtractorMisbehaved   returned something that is not a list of memories

Each message says what is wrong and how to fix it. The class attributes say how REST, the web page,
MCP, the command line and the hooks' log present an error. Subclasses inherit them.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import ClassVar


class MuistiError(Exception):
    """The root of every error that muisti raises on purpose."""

    status: ClassVar[int] = 503
    """The HTTP status code."""
    title: ClassVar[str] = "Memory is not available"
    """A short heading, the same for every error of this class."""
    next_step: ClassVar[str] = ""
    """What to do; empty if every message says so itself."""
    is_temporary: ClassVar[bool] = False
    """Whether the same call may succeed later without any change."""
    may_quote: ClassVar[bool] = True
    """Whether a message may quote memories or conversations; if so, it is not logged."""
    exit_code: ClassVar[int] = 1
    """The exit code of the command line."""

    def __init__(self, message: str = "") -> None:
        super().__init__(redact_message(message))


def redact_message(message: str) -> str:
    """Return a message for people and logs without secrets (contract C1).

    A message may quote what it was given: a token that was passed as a `kind`, for example. This
    does not depend on the setting `redact_secrets`, which is about what is stored.
    """
    from muisti.text.secrets import redact_secrets  # slow to import

    return redact_secrets(message)


def describe_reading(error: Exception) -> str:
    """Return why a file cannot be read, without its number and path, which are said elsewhere."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def quote_value(value: object) -> str:
    """Return a value as it is shown in a message: in quotes, redacted, at most 80 characters.

    A path is shown whole: what matters of it is at the end.
    """
    from muisti.text.private_tags import remove_private

    # Redacted before it is cut: half a secret is not recognized.
    is_path = isinstance(value, PurePath)
    text = value if isinstance(value, str) else str(value) if is_path else repr(value)
    public = redact_message(remove_private(text))
    # Some tokens look like Base64 after a slash, so that the parts of a path are looked at alone.
    public = "/".join(map(redact_message, public.split("/")))
    shown = repr(public) if is_path or isinstance(value, str) else public
    return f"{shown[:77]}…" if len(shown) > 80 and not is_path else shown


def _describe(field: str, value: object, reason: str) -> str:
    """Return e.g. "limit must be at least 1 (got 0)". Empty values are not shown."""
    if value in ("", (), [], {}):
        return f"{field} {reason}"
    return f"{field} {reason} (got {quote_value(value)})"


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
    """No memory has this ID."""

    title = "Memory not found"
    next_step = "Search for it: search results include the IDs."

    def __init__(self, *ids: str, in_trash: bool = False) -> None:
        names = ", ".join(ids)
        if in_trash:
            message = f"{names} is in the trash; `muisti restore {names}` restores it"
        else:
            which = "memories have the IDs" if len(ids) > 1 else "memory has the ID"
            message = f"no {which} {names}; `muisti list` shows all memories"
        super().__init__(message)
        self.ids = ids


class SessionNotFound(NotFound):
    """No session has this ID."""

    title = "Session not found"

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"no session has the ID {quote_value(session_id)}; "
            "`muisti session list` shows all sessions"
        )
        self.session_id = session_id


class ConversationNotFound(NotFound, InvalidRequest):
    """No conversation has this name. An InvalidRequest too, which it was before."""

    title = "Conversation not found"
    next_step = "List the conversations to see their names."

    def __init__(
        self, conversation: object, reason: str = "must be a conversation of the vault"
    ) -> None:
        """Reason: what the name must be of. It follows "conversation" in the message."""
        InvalidRequest.__init__(self, "conversation", conversation, reason)


class MessageNotFound(NotFound, InvalidRequest):
    """The conversation has no message with this ID. An InvalidRequest too, which it was before."""

    title = "Message not found"
    next_step = "Read the conversation to see the IDs of its messages."

    def __init__(self, message_id: str, conversation: str) -> None:
        reason = f"must be the ID of a message in {conversation}"
        InvalidRequest.__init__(self, "message_id", message_id, reason)


class CoreEntryNotFound(NotFound):
    """Core memory has no entry with this key."""

    title = "Core memory entry not found"
    next_step = "Read core memory to see its entries."

    def __init__(self, section: str, key: str, known: tuple[str, ...]) -> None:
        hint = f"its entries are: {', '.join(known)}" if known else "the section is empty"
        super().__init__(
            f"core memory has no entry {quote_value(key)} in section {section}; {hint}"
        )
        self.section = section
        self.key = key


class Conflict(MuistiError):
    """The memory changed between reading and writing."""

    status = 409
    title = "The memory has changed"
    next_step = "Read it again, then repeat the change."


class Unsupported(MuistiError):
    """The store does not support an operation, such as `sync` of a vault without files."""

    status = 501
    title = "Not supported by this store"
    next_step = "Do not retry."

    def __init__(self, operation: str, reason: str) -> None:
        """Operation: what was called. Reason: why it is not supported, and what to do instead."""
        super().__init__(f"{operation} is not supported: {reason}")
        self.operation = operation
        self.reason = reason


class SettingsError(MuistiError):
    """A setting has an invalid value."""

    status = 500
    title = "Invalid setting"
    may_quote = False


class ImportFailed(MuistiError):
    """The source of an import cannot be read."""

    status = 422
    title = "Import failed"


class VaultError(MuistiError):
    """The vault's files cannot be read or written."""

    title = "The vault cannot be used"
    may_quote = False


class VaultNotFound(VaultError):
    """There is no vault at this location."""

    title = "Vault not found"


class VaultUnusable(VaultError):
    """The path is not a folder that can hold a vault."""

    title = "Not usable as a vault"


class VaultReadOnly(VaultError):
    """The vault can be read but not written."""

    status = 403
    title = "The vault is read-only"
    next_step = "Reading and searching still work; saving needs write access."


class VaultNotTrusted(VaultReadOnly):
    """The vault was found in the working folder, and the user neither made nor approved it."""

    title = "The vault is not trusted"
    next_step = "Reading and searching still work; `muisti trust` allows everything else."


class VaultFull(VaultError):
    """The disk has no space left; the previous state is intact."""

    status = 507
    title = "The disk is full"
    next_step = "Nothing was changed; free some space and try again."


class TenantNotFound(VaultError):
    """The database has no such tenant, or has it no longer."""

    status = 404
    title = "Tenant not found"
    next_step = "Ask the administrator of the database."

    def __init__(self, message: str = "this tenant does not exist, or was dropped") -> None:
        super().__init__(message)


class TokenRefused(MuistiError):
    """The token is unknown, or no longer valid."""

    status = 401
    title = "Token missing or wrong"
    next_step = "Ask the administrator for a token."


class ScopeDenied(MuistiError):
    """The token is valid, but its scope does not allow this."""

    status = 403
    title = "Not allowed with this token"
    next_step = "Use a token with a wider scope."

    def __init__(self, needed: str, scope: str) -> None:
        """Needed, scope: read, write or admin."""
        super().__init__(f"this needs a token with the scope {needed}; this one has {scope}")
        self.needed = needed


class TooManyRequests(MuistiError):
    """The tenant has used up its requests of this minute."""

    status = 429
    title = "Too many requests"
    next_step = "Wait, then try again."
    is_temporary = True

    def __init__(self, limit: int, retry_after: int) -> None:
        """Limit: requests a minute. Retry after: seconds."""
        super().__init__(
            f"the limit of this tenant is {limit:,} requests a minute; "
            f"try again in {retry_after} seconds"
        )
        self.retry_after = retry_after


class QuotaExceeded(VaultError):
    """A tenant would store more than it may; nothing was changed."""

    status = 507
    title = "The quota is used up"
    next_step = "Nothing was changed; delete memories, or ask the administrator for more."

    def __init__(self, what: str, limit: int, used: int) -> None:
        """What: memories or bytes."""
        fix = "delete some" if what == "memories" else "delete memories permanently"
        super().__init__(
            f"this change needs more than the {limit:,} {what} that this tenant may store "
            f"(it has {used:,}); {fix}, or have the limit raised with `muisti tenants limit`"
        )
        self.what = what
        self.limit = limit
        self.used = used


class VaultBusy(VaultError):
    """Another process has held the vault's lock for too long."""

    title = "The vault is busy"
    next_step = "Wait a few seconds and try again."
    is_temporary = True


class StoreUnavailable(VaultError):
    """The database that holds the vault cannot be reached, or the connection was lost."""

    title = "The database is not available"
    next_step = "Check that the server runs and that the address is right, then try again."
    is_temporary = True


class BrokenFile(VaultError):
    """A file of the vault cannot be parsed. It was left unchanged."""

    status = 409
    title = "A file of the vault cannot be read"
    next_step = "The owner of the vault must fix the file."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class IndexProblem(MuistiError):
    """The index cannot be read or written. The files are not affected."""

    title = "The index cannot be used"
    next_step = "The files are not affected; `muisti reindex` rebuilds the index from them."
    may_quote = False


class IndexBusy(IndexProblem):
    """Another process has locked the index for too long."""

    title = "The index is busy"
    next_step = "Wait a few seconds and try again."
    is_temporary = True


class IndexCorrupt(IndexProblem):
    """The index file is damaged; muisti rebuilds it from the files."""

    title = "The index is damaged"


class IndexTooNew(IndexProblem):
    """The index was written by a newer version of muisti."""

    title = "The index needs a newer muisti"
    next_step = "Upgrade muisti."


class EmbedderProblem(MuistiError):
    """Embedding failed. Memories are still saved, and searches use keywords only."""

    title = "Embedding failed"
    next_step = "Saving and keyword search still work."


class EmbedderUnavailable(EmbedderProblem):
    """The embedder is down, too slow or refusing, or is not retried yet after a failure."""

    title = "The embedder is not available"
    is_temporary = True


class EmbedderMisbehaved(EmbedderProblem):
    """The embedder returned NaN, too few vectors, or vectors of another length."""

    title = "The embedder returned invalid vectors"


class ModelNotInstalled(EmbedderProblem):
    """The files of a model are not installed."""

    title = "The model is not installed"


class ModelDamaged(EmbedderProblem):
    """The file of a model does not have the hash in the catalogue."""

    title = "The model file is damaged"


class ExtractorProblem(MuistiError):
    """The language model for extraction failed. Nothing was stored."""

    title = "Extraction failed"
    next_step = "Nothing was stored; saving and searching still work."


class ExtractorUnavailable(ExtractorProblem):
    """The extractor is down, too slow or refusing, or is not retried yet after a failure."""

    title = "The extractor is not available"
    is_temporary = True


class ExtractorMisbehaved(ExtractorProblem):
    """The extractor's reply is not a list of memories from this conversation."""

    title = "The extractor returned an invalid reply"

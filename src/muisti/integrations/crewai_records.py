"""Records of CrewAI as memories.

The memory's text is that of the record; metadata, source and privacy follow it as JSON. Its `files`
have the address of the record and those of its scopes: `crewai:ID`, `crewai:/*`, `crewai:/pets/*`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote

from muisti.errors import InvalidMemory
from muisti.integrations.frameworks import require
from muisti.integrations.vault_items import decode_value, redact_value
from muisti.model import Draft, Memory
from muisti.remember.validate import MAX_TITLE
from muisti.settings import Settings
from muisti.text.redact import check_name

require("crewai", "1.15", "crewai")

from crewai.memory.types import MemoryRecord, ScopeInfo  # noqa: E402

_SCHEME = "crewai:"


def encode_record(record: MemoryRecord, settings: Settings, project: str, user: str) -> Draft:
    """Return the memory of a record, without secrets. Raises InvalidMemory."""
    rest = {"metadata": record.metadata, "source": record.source, "private": record.private}
    given = {name: value for name, value in rest.items() if value}
    text, field = redact_value({"text": record.content, **given}, settings)
    uris = {"id": [make_uri(record.id)], "scope": make_scope_uris(record.scope)}
    for name, group in uris.items():
        if len(check_name(name, group[-1], settings)) > MAX_TITLE:
            reason = f"must have at most {MAX_TITLE} characters, and fewer with other than ASCII"
            raise InvalidMemory(name, getattr(record, name), reason)
    return Draft(
        content=text,
        title=None if field else f"{record.scope} {record.id}"[:MAX_TITLE],
        project=project,
        user=user,
        source=_SCHEME.removesuffix(":"),
        trusted=False,  # an agent writes it, and no person has confirmed it yet
        importance=record.importance,
        created_at=to_naive(record.created_at).replace(tzinfo=UTC),
        categories=tuple(name for name in record.categories if name.strip()),
        files=(*uris["id"], *uris["scope"]),
    )


def decode_record(memory: Memory) -> MemoryRecord:
    """Return the record that a memory holds. What an edit of the file made invalid is left out."""
    uris = [uri.removeprefix(_SCHEME) for uri in memory.files if uri.startswith(_SCHEME)]
    scopes = [uri.removesuffix("/*") for uri in uris if uri.startswith("/")]
    value = decode_value(memory.content, None)
    metadata, source = value.get("metadata"), value.get("source")
    return MemoryRecord(
        id=next((unquote(uri) for uri in uris if not uri.startswith("/")), memory.id),
        content=str(value.get("text", "")),
        scope=unquote(max(scopes, key=len, default="")) or "/",
        categories=list(memory.categories),
        metadata=metadata if isinstance(metadata, dict) else {},
        importance=memory.importance,
        created_at=to_naive(memory.created_at),
        last_accessed=to_naive(memory.last_accessed or memory.created_at),
        source=source if isinstance(source, str) else None,
        private=bool(value.get("private")),
    )


def make_uri(record_id: str) -> str:
    """Return the address of a record."""
    return _SCHEME + quote(record_id, safe="", errors="surrogatepass")


def make_path(scope: str | None) -> str:
    """Return a scope with a slash before each label: `/pets/dogs`, or nothing for the root."""
    return "".join(f"/{label}" for label in (scope or "").split("/") if label)


def make_scope_uris(scope: str | None) -> list[str]:
    """Return the addresses of a scope and of those that it is in, the root first."""
    labels = quote(make_path(scope), errors="surrogatepass").split("/")
    return [f"{_SCHEME}{'/'.join(labels[:depth])}/*" for depth in range(1, len(labels) + 1)]


def describe_scope(scope: str, records: Sequence[MemoryRecord]) -> ScopeInfo:
    """Return what CrewAI shows of a scope whose records, the newest first, are these."""
    path = make_path(scope)
    below = {record.scope[len(path) + 1 :].split("/")[0] for record in records}
    return ScopeInfo(
        path=path or "/",
        record_count=len(records),
        categories=sorted({name for record in records for name in record.categories}),
        oldest_record=records[-1].created_at if records else None,
        newest_record=records[0].created_at if records else None,
        child_scopes=sorted(f"{path}/{label}" for label in below - {""}),
    )


def to_naive(at: datetime) -> datetime:
    """Return a time in UTC without a time zone, as CrewAI has it."""
    return at if at.tzinfo is None else at.astimezone(UTC).replace(tzinfo=None)


def matches(
    record: MemoryRecord, categories: Sequence[str] | None, metadata: dict[str, Any] | None
) -> bool:
    """Return whether a record has one of the categories, if any are given, and the metadata."""
    if categories and not set(categories) & set(record.categories):
        return False
    return all(record.metadata.get(name) == value for name, value in (metadata or {}).items())

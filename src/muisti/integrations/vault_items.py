"""Items with a namespace, a key and a JSON value, each stored as a memory.

The memory's `files` have the item's address and those of its namespaces, such as
`langgraph://users/anna/food`. Its text is readable: the value's own text, if it has one, and the
other fields as JSON. An edit of the file changes the value.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from muisti.engine import Muisti
from muisti.engine.other_vaults import use_own_vault
from muisti.errors import InvalidMemory
from muisti.model import Draft, Memory
from muisti.recall.filters import ALL, FilterOptions
from muisti.remember.validate import MAX_TITLE
from muisti.settings import Settings
from muisti.text.redact import check_name, redact_meta, redact_text

TEXT_FIELDS = ("text", "content", "memory", "data")
"""The field of a value that becomes the memory's text: the first of these that is a text."""
_JSON = re.compile(r"(?:\A|\n\n)```json\n(.*)\n```\Z", re.DOTALL)
_TEXT = "text: "
_UNSEARCHED = "not searched"

Namespace = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """A stored item."""

    memory: Memory
    namespace: Namespace
    key: str
    value: dict[str, Any]
    score: float | None = None
    """How well it matches the query, if it was searched for."""


@dataclass(frozen=True, slots=True)
class Change:
    """A value to store, or None to delete the item."""

    namespace: Namespace
    key: str
    value: Mapping[str, Any] | None
    searched: bool = True
    """Whether searches find it."""


class VaultItems:
    """The items of one program, project and user, in the vault itself. Threads may share it."""

    def __init__(
        self, memory: Muisti, scheme: str, *, project: str | None = None, user: str | None = None
    ) -> None:
        self._memory, self._scheme = memory, scheme
        self._project = memory.settings.project if project is None else project
        self._user = memory.settings.user if user is None else user
        self._lock = threading.Lock()

    def get(self, namespace: Namespace, key: str) -> Item | None:
        """Return an item, or None."""
        found = self._list(self._to_uri(namespace, key))
        return found[-1] if found else None

    def select(self, prefix: Namespace = ()) -> list[Item]:
        """Return the items of a namespace and those below it, the oldest first."""
        latest = {(item.namespace, item.key): item for item in self._list(self._to_uri(prefix))}
        return [item for item in latest.values() if item.namespace[: len(prefix)] == prefix]

    def search(self, query: str, prefix: Namespace = ()) -> list[Item]:
        """Return the items that match a query, best first. Raises InvalidRequest."""
        with use_own_vault(self._memory):
            results = self._memory.search(
                query,
                limit=self._memory.settings.max_search_limit,
                **self._make_filter(self._to_uri(prefix)),
            )
        scores = {result.memory.id: result.score for result in results}
        items = self._decode(result.memory for result in results)
        return [
            Item(item.memory, item.namespace, item.key, item.value, scores[item.memory.id])
            for item in items
            if item.namespace[: len(prefix)] == prefix and _UNSEARCHED not in item.memory.categories
        ]

    def apply(self, changes: Iterable[Change]) -> None:
        """Store and delete items. Raises InvalidMemory, and then has stored nothing new."""
        wanted = [(change, self._encode(change)) for change in changes]
        with self._lock:
            known = [self._list(self._to_uri(one.namespace, one.key)) for one, _ in wanted]
            new = [draft for (_, draft), items in zip(wanted, known, strict=True) if not items]
            self._memory.save_batch([draft for draft in new if draft is not None], merge=False)
            for (_, draft), items in zip(wanted, known, strict=True):
                if draft is not None and items:
                    known_item = items.pop()
                    is_same = known_item.memory.content == draft.content
                    self._memory.update(
                        known_item.memory.id,
                        content=draft.content,
                        title=draft.title or "",
                        categories=draft.categories,
                        trusted=known_item.memory.trusted and is_same,
                    )
                for item in items:  # more than one if two processes created it at the same time
                    self._memory.delete(item.memory.id)

    def _to_uri(self, namespace: Namespace, key: str | None = None) -> str:
        """Return the address of an item, or of all items in a namespace, which ends with `*`."""
        labels = [
            quote(label, safe="", errors="surrogatepass") for label in (*namespace, key or "")
        ]
        return f"{self._scheme}://{'/'.join(labels)}{'*' if key is None else ''}"

    def _make_filter(self, uri: str) -> FilterOptions:
        return {"files": [uri], "project": self._project or ALL, "user": self._user}

    def _list(self, uri: str) -> list[Item]:
        with use_own_vault(self._memory):
            found = self._memory.list(limit=None, order="asc", **self._make_filter(uri))
        return self._decode(memory for memory in found if uri in memory.files)

    def _decode(self, memories: Iterable[Memory]) -> list[Item]:
        """Return the items that memories hold. A value that is not JSON is returned as a text."""
        items = []
        for memory in memories:
            if (memory.project, memory.user) != (self._project, self._user):
                continue
            start = f"{self._scheme}://"
            [uri] = [file for file in memory.files if file.startswith(start) and file[-1] != "*"]
            labels = uri.removeprefix(start).split("/")
            *namespace, key = (unquote(label, errors="surrogatepass") for label in labels)
            names = [one[len(_TEXT) :] for one in memory.categories if one.startswith(_TEXT)]
            value = decode_value(memory.content, names[0] if names else None)
            items.append(Item(memory, tuple(namespace), key, value))
        return items

    def _encode(self, change: Change) -> Draft | None:
        """Return the memory of an item; None for one to delete. Raises InvalidMemory."""
        if change.value is None:
            return None
        settings = self._memory.settings
        uri = self._to_uri(change.namespace, change.key)
        if len(check_name("key", uri, settings)) > MAX_TITLE:
            reason = f"must have at most {MAX_TITLE} characters together with its namespace"
            raise InvalidMemory("key", change.key, reason)
        namespaces = [
            self._to_uri(change.namespace[:depth]) for depth in range(len(change.namespace) + 1)
        ]
        text, field = redact_value(change.value, settings)
        title = " / ".join((*change.namespace, change.key))[:MAX_TITLE]
        return Draft(
            content=text,
            title=title if field is None and title.isprintable() else None,
            project=self._project,
            user=self._user,
            source=self._scheme,
            trusted=False,  # an agent writes it, and no person has confirmed it yet
            files=(uri, *namespaces),
            categories=(
                *([f"{_TEXT}{field}"] if field not in (None, TEXT_FIELDS[0]) else []),
                *([] if change.searched else [_UNSEARCHED]),
            ),
        )


def encode_value(value: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return a value as the text of a memory, and the name of the field that is its text."""
    field = next((name for name in TEXT_FIELDS if _is_text(value.get(name))), None)
    rest = {name: one for name, one in value.items() if name != field}
    parts: Sequence[str] = [value[field]] if field is not None else []
    if rest or field is None:
        dumped = json.dumps(rest, ensure_ascii=False, indent=2)
        if not _is_text(dumped):
            dumped = json.dumps(rest, indent=2)
        parts = [*parts, f"```json\n{dumped}\n```"]
    return "\n\n".join(parts), field


def redact_value(value: Mapping[str, Any], settings: Settings) -> tuple[str, str | None]:
    """Do what `encode_value` does, without secrets. Raises InvalidMemory."""
    try:
        public = redact_meta(json.loads(json.dumps(dict(value), allow_nan=False)), settings)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidMemory("value", type(value), f"must be JSON ({error})") from error
    text, field = encode_value(public)
    if decode_value(redact_text(text, settings), field).keys() != public.keys():
        raise InvalidMemory("value", "…", "contains private text or a secret; leave it out")
    return text, field


def decode_value(text: str, field: str | None) -> dict[str, Any]:
    """Return the value that a text stands for. A text without valid JSON is the value's text."""
    found = _JSON.search(text)
    try:
        rest = json.loads(found[1]) if found else {}
    except ValueError:
        found, rest = None, {}
    if not isinstance(rest, dict):
        found, rest = None, {}
    before = text[: found.start()] if found else text
    return {field or TEXT_FIELDS[0]: before, **rest} if before or field else rest


def _is_text(value: object) -> bool:
    """Return whether a value can be a memory's text and be told from the JSON that follows it."""
    if not isinstance(value, str) or not value.strip() or "```json" in value or "\0" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True

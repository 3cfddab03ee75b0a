"""mem0: a list of memories as its API returns them, also below `results` or `memories`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from muisti.errors import ImportFailed
from muisti.importers import FormatSpec
from muisti.importers.conversation_parts import parse_moment
from muisti.importers.json_stream import iterate_array
from muisti.importers.source import Source
from muisti.model import Draft
from muisti.ports import ImportedMemory, ImportItem, MemoryCodec, SkippedItem
from muisti.remember.import_values import to_extra

_SIGN = re.compile(rb'"memory"\s*:\s*"')
_OTHER_SIGN = re.compile(rb'"(?:hash|user_id|agent_id|run_id|app_id)"\s*:')
_KNOWN = ("id", "memory", "user_id", "agent_id", "run_id", "categories", "created_at", "score")


def sniff(source: Source) -> bool:
    """Return whether the objects have `memory`, and a key that only mem0 has."""
    if source.suffix != ".json":
        return False
    head = source.read_head(source.files[0])
    return bool(_SIGN.search(head) and _OTHER_SIGN.search(head))


def load(source: Source, _: MemoryCodec) -> Iterator[ImportItem]:
    """Yield the memories."""
    path = source.choose_file(".json")
    if source.read_head(path).lstrip().startswith(b"["):
        with source.open(path) as stream:
            for number, element in enumerate(iterate_array(stream, source.shown), start=1):
                where = f"{source.shown}, memory {number}"
                if element.error:
                    yield SkippedItem(where, element.error)
                else:
                    yield read_memory(where, element.value)
        return
    try:
        parsed = json.loads(source.read(path)[0])
    except (ValueError, RecursionError) as error:
        raise ImportFailed(f"{source.shown}: is not valid JSON ({error})") from error
    if not isinstance(parsed, Mapping):
        raise ImportFailed(f"{source.shown}: must be a list or an object")
    lists = [parsed[key] for key in ("results", "memories") if isinstance(parsed.get(key), list)]
    if not lists:
        raise ImportFailed(f"{source.shown}: `results` is missing; the format may have changed")
    for number, item in enumerate(lists[0], start=1):
        yield read_memory(f"{source.shown}, memory {number}", item)
    relations = parsed.get("relations")
    if isinstance(relations, list) and relations:
        reason = "relations of the graph, which have no memory"
        yield SkippedItem(source.shown, reason, len(relations), expected=True)


def read_memory(where: str, item: object) -> ImportItem:
    """Return one memory, or why it cannot be read."""
    if not isinstance(item, Mapping):
        return SkippedItem(where, "must be an object")
    text = item.get("memory")
    if not isinstance(text, str) or not text.strip():
        return SkippedItem(where, "`memory` is missing or empty")
    extra = to_extra(item, _KNOWN)
    texts = {}
    for key in ("user_id", "agent_id", "run_id"):
        value = item.get(key)
        if value is not None and not isinstance(value, str | int):
            # Without its user, a memory would be one for all users.
            return SkippedItem(where, f"`{key}` must be a text")
        texts[key] = str(value).strip() or None if value is not None else None
    given = item.get("categories")
    listed = given if isinstance(given, list) else [given] if given else []
    categories = tuple(str(one) for one in listed)
    created_at = parse_moment(item.get("created_at"))
    if created_at is None and item.get("created_at"):
        extra["created_at"] = str(item["created_at"])
    expires = parse_moment(item.get("expiration_date"))
    if expires is not None and (created_at is None or created_at < expires):
        del extra["expiration_date"]
    else:
        expires = None
    draft = Draft(
        content=text,
        user=texts["user_id"],
        agent=texts["agent_id"],
        session_id=texts["run_id"],
        categories=categories,
        keywords=categories,
        created_at=created_at,
        valid_until=expires,
        source="mem0",
    )
    id_ = item.get("id")
    found = ImportedMemory(draft, key=str(id_ or ""), where=where, extra=extra)
    return found if id_ else replace(found, key=json.dumps(item, sort_keys=True, default=str))


SPEC = FormatSpec(sniff, load)

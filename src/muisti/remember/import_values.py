"""The fields of imported items that muisti does not have: kept as keys of the front matter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from muisti.model.memory import FIELDS
from muisti.ports.importing import ExtraValue, ImportedMemory
from muisti.settings import Settings
from muisti.text.redact import redact_text

IMPORTED_FROM = "imported_from"
MOST_CHARACTERS = 20_000
"""Characters of one extra value: the front matter has to stay readable."""
_OTHER = re.compile(r"[^a-z0-9]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_OWN = frozenset(
    name for field in FIELDS for name in (field.name, field.alias, *field.json_aliases) if name
) | {"conflict_markers", IMPORTED_FROM}


def make_extra(item: ImportedMemory, form: str, settings: Settings) -> dict[str, ExtraValue]:
    """Return the extra keys of an imported memory's file, redacted, with where it came from."""
    extra: dict[str, ExtraValue] = {}
    if item.key:
        extra[IMPORTED_FROM] = _clean(f"{form}: {item.key}", settings)
    for name, value in item.extra.items():
        key = _OTHER.sub("_", name.lower()).strip("_") or "value"
        is_origin = key == IMPORTED_FROM and key not in extra  # exported from another vault
        if (key in _OWN and not is_origin) or not key[0].isalpha():
            key = f"source_{key}"
        while key in extra:
            key += "_"
        if isinstance(value, str):
            extra[key] = _clean(value, settings)
        else:
            extra[key] = tuple(_clean(one, settings) for one in value)
    return extra


def _clean(text: str, settings: Settings) -> str:
    return _CONTROL.sub(" ", redact_text(text, settings))[:MOST_CHARACTERS]


def to_extra(fields: Mapping[str, object], known: Iterable[str] = ()) -> dict[str, ExtraValue]:
    """Return the fields of a JSON object as extra values, without known and empty ones."""
    extra: dict[str, ExtraValue] = {}
    skipped = frozenset(known)
    for name, value in fields.items():
        if name in skipped or value in (None, "", [], {}):
            continue
        if isinstance(value, str):
            extra[name] = value
        elif isinstance(value, list) and all(isinstance(one, str) for one in value):
            extra[name] = tuple(value)
        else:
            extra[name] = json.dumps(value, ensure_ascii=False)
    return extra

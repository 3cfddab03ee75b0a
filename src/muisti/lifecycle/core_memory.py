"""Core memory: permanent facts about the user and the agent (contract F4)."""

from __future__ import annotations

import re

from muisti.errors import CoreEntryNotFound, InvalidRequest
from muisti.model import CORE_SECTIONS, CoreMemory
from muisti.ports import ChangeSet, Services

MAX_KEY = 100
_BOLD = r"(?:\*\*|__)?"
_LINE = re.compile(
    rf"[ \t]*(?:[-*+][ \t]+)?{_BOLD}(?P<key>[^\s:*_#`|][^:*`|\n]{{0,80}}?){_BOLD}"
    rf":{_BOLD}[ \t]+(?P<value>\S.*)"
)
_HEADING = re.compile(r"#{1,6}[ \t]+(\S.*)")


def core_update(
    services: Services, section: str, key: str, value: str, *, user: str = ""
) -> CoreMemory:
    """Set one entry, of a user or of the vault. Raises InvalidRequest, and changes nothing then."""
    section, key = validate_section(section, user), validate_key(key)
    if not isinstance(value, str) or not value.strip():
        problem = "must be a non-empty text; to remove the entry, delete it"
        raise InvalidRequest("value", value, problem)
    with services.store.lock():
        _check_size(services, section, {key: value}, user)
        services.store.commit(ChangeSet(core={section: {key: value}}, core_user=user))
    return services.store.core(user)


def core_delete(services: Services, section: str, key: str, *, user: str = "") -> CoreMemory:
    """Remove one entry. Raises CoreEntryNotFound."""
    section = validate_section(section, user)
    with services.store.lock():
        known = getattr(services.store.core(user), section)
        if key not in known:
            raise CoreEntryNotFound(section, key, tuple(known))
        services.store.commit(ChangeSet(core={section: {key: None}}, core_user=user))
    return services.store.core(user)


def core_init(services: Services, text: str, *, user: str = "") -> CoreMemory:
    """Fill the section `user` from the text of a USER.md, unless it has entries already."""
    entries = parse_entries(text)
    if not entries:
        raise InvalidRequest("text", text[:40], "must have lines like `- Name: Anna`")
    with services.store.lock():
        if not services.store.core(user).user:
            _check_size(services, "user", entries, user)
            services.store.commit(ChangeSet(core={"user": entries}, core_user=user))
    return services.store.core(user)


def parse_entries(text: str) -> dict[str, str]:
    """Parse a USER.md. `- Name: Anna` is an entry; other text goes to its heading or to `about`."""
    entries: dict[str, list[str]] = {}
    heading = "about"
    for line in text.splitlines():
        if found := _HEADING.match(line):
            heading = _make_key(found[1].rstrip(" \t#"))
        elif found := _LINE.match(line):
            entries[_make_key(found["key"])] = [found["value"].strip()]
        elif plain := line.strip(" \t-*+"):
            entries.setdefault(heading, []).append(plain)
    return {key: " ".join(texts) for key, texts in entries.items()}


def _make_key(text: str) -> str:
    return re.sub(r"\W+", "_", text.strip().casefold()).strip("_")[:MAX_KEY] or "about"


def validate_section(section: str, user: str = "") -> str:
    """Return the name of a section. Raises InvalidRequest."""
    if section not in CORE_SECTIONS:
        raise InvalidRequest("section", section, f"must be one of {', '.join(CORE_SECTIONS)}")
    if user and section != "user":
        reason = f"must be user for the user {user}; leave the user out to change it for all users"
        raise InvalidRequest("section", section, reason)
    return section


def validate_key(key: str) -> str:
    """Return a key without surrounding spaces. Raises InvalidRequest."""
    if not isinstance(key, str) or not key.strip() or len(key) > MAX_KEY or not key.isprintable():
        raise InvalidRequest("key", key, f"must be one line of 1 to {MAX_KEY} characters")
    return key.strip()


def _check_size(services: Services, section: str, added: dict[str, str], user: str) -> None:
    """Raise InvalidRequest if core memory would get too long: it is part of every prompt."""
    known, limit = services.store.core(user), services.settings.core_max_bytes
    after = {name: dict(getattr(known, name)) for name in CORE_SECTIONS}
    after[section] |= added
    size = sum(
        len(f"{key}{value}".encode("utf-8", "surrogatepass"))
        for entries in after.values()
        for key, value in entries.items()
    )
    if size > limit:
        raise InvalidRequest(
            "value",
            f"{size} bytes",
            f"must keep core memory within {limit} bytes (core_max_bytes);"
            " shorten or delete an entry",
        )

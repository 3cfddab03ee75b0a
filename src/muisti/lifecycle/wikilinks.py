"""Links by `[[wikilinks]]` in the text of memories. They are resolved when they are read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from muisti.model import Link, LinkSource, LinkType, Memory, UnresolvedLink
from muisti.ports import Services
from muisti.ports.link_names import (
    NAME,
    WIKILINK,
    choose_target,
    find_id_end,
    list_names,
    make_link_key,
    normalize_name,
)

_ATTACHMENT = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|avif|bmp|pdf|mp3|wav|m4a|ogg|flac|mp4|mov|webm|mkv|canvas|base)\Z",
    re.IGNORECASE,
)
_PART = 200
"""How many memories are resolved at a time."""


def find_links(services: Services, ids: Sequence[str]) -> list[Link]:
    """Return the links that begin or end at any of these memories, each once, oldest first.

    A wikilink to a memory that its source is linked to already, by a link of any type, is left out.
    """
    written = services.index.get_links(ids)
    wanted = {memory.id: memory for memory in services.index.get_many(ids)}
    names = {make_link_key(name) for memory in wanted.values() for name in list_names(memory)}
    names |= wanted.keys()
    linking = [(memory, target) for memory in wanted.values() for target in memory.wikilinks]
    mentioning = services.index.find_labelled(WIKILINK, list(names))
    for source in services.index.get_many([id_ for id_ in mentioning if id_ not in wanted]):
        linking += [
            (source, target) for target in source.wikilinks if make_link_key(target) in names
        ]
    if not linking:
        return written
    found = {(link.source, link.type, link.target): link for link in written}
    known = {(link.source, link.target) for link in written if not link.proposed}
    for source, _, target in resolve(services, linking):
        if target is None or target.id == source.id or (source.id, target.id) in known:
            continue
        if source.id in wanted or target.id in wanted:
            link = Link(
                source=source.id,
                type=LinkType.RELATED_TO,
                target=target.id,
                created_at=source.created_at,
                extracted_by=LinkSource.WIKILINK,
            )
            found.setdefault((link.source, link.type, link.target), link)
    links = list(found.values())
    links.sort(key=lambda link: (link.created_at, link.source, link.type, link.target))
    return links


def find_unresolved(services: Services) -> list[UnresolvedLink]:
    """Return the wikilinks that lead to no memory, those of the latest memory first.

    Those to an image or another file are left out: Obsidian embeds attachments with wikilinks.
    """
    with services.index.snapshot():
        ids = services.index.find_labelled(WIKILINK, None)
        unresolved = []
        for start in range(0, len(ids), _PART):
            part = services.index.get_many(ids[start : start + _PART])
            linking = [(source, target) for source in part for target in source.wikilinks]
            for source, target, found in resolve(services, linking):
                if found is None and not _ATTACHMENT.search(target):
                    unresolved.append(UnresolvedLink(source.id, source.title, target))
        return unresolved


def resolve(
    services: Services, linking: Sequence[tuple[Memory, str]]
) -> list[tuple[Memory, str, Memory | None]]:
    """Return wikilinks, each with the memory that it means. Linking: sources and targets."""
    if not linking:
        return []
    keys = {make_link_key(target) for _, target in linking}
    ids = {normalize_name(target) for _, target in linking}
    ids.update(services.index.find_labelled(NAME, list(keys)))
    for end in {find_id_end(target) for _, target in linking} - {""}:
        ids.update(services.index.find_ids(end, limit=_PART))
    by_key: dict[str, dict[str, Memory]] = {}
    for memory in services.index.get_many(list(ids)):
        for name in (memory.id, *list_names(memory)):
            by_key.setdefault(make_link_key(name), {})[memory.id] = memory
    resolved = []
    for source, target in linking:
        candidates = by_key.get(make_link_key(target), {}).values()
        resolved.append((source, target, choose_target(source, target, candidates)))
    return resolved

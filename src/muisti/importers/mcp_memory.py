"""The MCP memory server: `memory.jsonl` with entities, observations and relations.

An entity becomes a memory with its observations as a list. A relation becomes a link from the
entity, and stays readable in the front matter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from muisti.importers import FormatSpec
from muisti.importers.export_names import make_unique_names
from muisti.importers.jsonl import iterate_lines
from muisti.importers.source import Source
from muisti.model import Draft, LinkType, Memory
from muisti.ports import ImportedLink, ImportedMemory, ImportItem, MemoryCodec, SkippedItem
from muisti.remember.import_values import to_extra

_HEADING = re.compile(r"# (.*?)(?: \(([^()]*)\))?")
TYPES = {
    "supersedes": LinkType.SUPERSEDES,
    "replaces": LinkType.SUPERSEDES,
    "contradicts": LinkType.CONTRADICTS,
    "builds_on": LinkType.BUILDS_ON,
    "extends": LinkType.BUILDS_ON,
    "confirms": LinkType.CONFIRMS,
    "supports": LinkType.CONFIRMS,
    "applies_to": LinkType.APPLIES_TO,
    "depends_on": LinkType.DEPENDS_ON,
    "requires": LinkType.DEPENDS_ON,
    "alternative_to": LinkType.ALTERNATIVE_TO,
}
"""Names of relations that have a link type of their own. Others are RELATED_TO."""


def find_link_type(name: str) -> LinkType:
    """Return the link type for the name of a relation."""
    return TYPES.get(name.strip().lower().replace(" ", "_").replace("-", "_"), LinkType.RELATED_TO)


def sniff(source: Source) -> bool:
    """Return whether the first line is an entity or a relation."""
    if source.suffix not in (".jsonl", ".json"):
        return False
    try:
        first = json.loads(source.read_head(source.files[0]).lstrip().split(b"\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and first.get("type") in ("entity", "relation")


class Entity(NamedTuple):
    """An entity of the file, with all its observations and relations."""

    where: str
    fields: Mapping[str, object]
    observations: list[str]
    relations: list[tuple[str, str]]


def load(source: Source, _: MemoryCodec) -> Iterator[ImportItem]:
    """Yield the entities, with their relations as links."""
    path = source.choose_file(".jsonl", ".json")
    entities: dict[str, Entity] = {}
    relations: list[tuple[str, Mapping[str, str]]] = []
    for where, line in iterate_lines(source, path):
        problem = line if isinstance(line, SkippedItem) else check_line(where, line)
        if problem is not None:
            yield problem
        elif isinstance(line, dict) and line["type"] == "relation":
            relations.append((where, line))
        elif isinstance(line, dict):
            given = line.get("observations")
            texts = [str(one) for one in given or () if str(one).strip()]
            entity = entities.setdefault(line["name"], Entity(where, line, [], []))
            known = entity.observations
            known.extend(text for text in texts if text not in known)
            if entity.where != where:
                yield SkippedItem(where, "entities that are repeated, and merged", expected=True)
    for where, relation in relations:
        unknown = [relation[end] for end in ("from", "to") if relation[end] not in entities]
        if unknown:
            yield SkippedItem(where, f"there is no entity {unknown[0]!r}")
        else:
            pair = (relation["relationType"], relation["to"])
            entities[relation["from"]].relations.append(pair)
            yield SkippedItem(where, "relations, which become links", expected=True)
    for name, entity in entities.items():
        kind = str(entity.fields.get("entityType") or "")
        head = f"# {name} ({kind})" if kind else f"# {name}"
        extra = to_extra(entity.fields, ("type", "name", "observations"))
        if entity.relations:
            extra["relations"] = tuple(f"{verb} {target}" for verb, target in entity.relations)
        yield ImportedMemory(
            Draft(
                content="\n".join(
                    [head, "", *(format_item(text) for text in entity.observations)]
                ).strip(),
                title=name[:300],
                keywords=(kind[:300],) if kind.strip() else (),
                source="mcp-memory",
            ),
            key=f"{source.identity}: {name}",
            where=entity.where,
            extra=extra,
            links=tuple(
                ImportedLink(f"{source.identity}: {target}", find_link_type(verb))
                for verb, target in entity.relations
            ),
        )


def format_item(text: str) -> str:
    """Return an observation as an item of a Markdown list."""
    return "- " + text.replace("\n", "\n  ")


def split_items(text: str) -> list[str] | None:
    """Return the items of a Markdown list; None if a text is not only a list."""
    items: list[str] = []
    for line in text.split("\n") if text else ():
        if line.startswith("- "):
            items.append(line[2:])
        elif items and (line.startswith("  ") or not line):
            items[-1] += "\n" + line[2:]
        else:
            return None
    return items


def check_line(where: str, line: object) -> SkippedItem | None:
    """Return what is wrong with a line, or None."""
    kind = line.get("type") if isinstance(line, dict) else None
    if not isinstance(line, dict) or kind not in ("entity", "relation"):
        return SkippedItem(where, f"`type` must be entity or relation (got {kind!r})")
    for key in ("name",) if kind == "entity" else ("from", "to", "relationType"):
        if not isinstance(line.get(key), str) or not line[key]:
            return SkippedItem(where, f"`{key}` is missing; the format may have changed")
    if kind == "entity" and not isinstance(line.get("observations", []), list):
        return SkippedItem(where, "`observations` must be a list")
    return None


def dump(memories: Sequence[Memory], _codec: MemoryCodec) -> str:
    """Return the memories as entities, and the links between them as relations."""
    names = make_unique_names(memories)
    lines: list[dict[str, object]] = []
    for memory in memories:
        head, _, rest = memory.content.partition("\n\n")
        heading = _HEADING.fullmatch(head)
        items = split_items(rest)
        if heading and heading[1] == memory.title and items is not None:
            # As it was imported.
            kind, observations = heading[2] or "", items
        else:
            kind, observations = memory.kind, [memory.content]
        name = names[memory.id]
        entity = {"type": "entity", "name": name, "entityType": kind, "observations": observations}
        lines.append(entity)
    for memory in memories:
        for link in memory.links:
            if link.target in names and not link.proposed:
                relation = {"type": "relation", "from": names[memory.id], "to": names[link.target]}
                lines.append({**relation, "relationType": link.type.lower()})
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


SPEC = FormatSpec(sniff, load, dump)

"""How values look on a terminal. Rich is imported here and only here, when something is to be drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from muisti.model import (
    CORE_SECTIONS,
    CompactResult,
    CoreMemory,
    EntryType,
    Explanation,
    Extracted,
    Graph,
    HistoryEntry,
    Link,
    LinkType,
    Memory,
    Problem,
    SearchResult,
    Session,
    Stats,
)
from muisti.model.fields import Redaction
from muisti.model.memory import FIELDS
from muisti.recall.snippet import make_snippet

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SNIPPET = 240
MOST_NAME = 16
"""Characters of a project's name in a table: the title needs the room."""
_UNITS = (
    (86_400 * 365, "year"),
    (86_400 * 30, "month"),
    (86_400, "day"),
    (3600, "hour"),
    (60, "minute"),
)


def console() -> Console:
    """Standard output."""
    from rich.console import Console

    return Console(highlight=False, emoji=False)


def new_table(*columns: str) -> Table:
    """A table as wide as the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False, expand=True)
    for column in columns:
        ratio = {"memory": 1, "title": 1, "summary": 1, "reason": 2, "file": 1}.get(column)
        table.add_column(
            column, ratio=ratio, no_wrap=ratio is None, overflow="fold" if ratio else "ellipsis"
        )
    return table


def results(found: Sequence[SearchResult], now: datetime) -> None:
    """Search results: score, title and snippet, kind, age, the end of the id."""
    from rich.text import Text

    table = new_table("score", "memory", "kind", "when", "id")
    for result in found:
        memory = result.memory
        shown = Text(visible(memory.title), style="bold")
        body = visible(" ".join(make_snippet(memory.content, _matched(result), SNIPPET).split()))
        for said in (
            memory.title,
            memory.title.rpartition(" > ")[2],
        ):  # which most texts begin with
            body = body.lstrip("# ").removeprefix(said).strip() if said else body
        if body.strip("… "):
            shown.append("\n").append(body, style="not bold dim")
        shown.highlight_regex(_any_of(result), "not dim yellow")
        table.add_row(
            f"{result.score:.2f}",
            shown,
            _kind(memory),
            ago(memory.created_at, now),
            safe(short(memory.id)),
        )
    console().print(table)


def _any_of(result: SearchResult) -> str:
    """Words that begin like the matched stems, for highlighting."""
    import re

    stems = [re.escape(stem) for stem in _matched(result) if len(stem) > 1]
    return rf"(?i)\b(?:{'|'.join(stems)})\w*" if stems else r"(?!)"


def _matched(result: SearchResult) -> frozenset[str]:
    return (
        frozenset(result.why[0].note.removeprefix("matched ").split(", "))
        if result.why
        else frozenset()
    )


def memories(found: Sequence[Memory], now: datetime) -> None:
    """A list of memories."""
    table = new_table("title", "kind", "salience", "used", "when", "id")
    for memory in found:
        title = (
            f"[dim strike]{safe(memory.title)}[/] (deleted)"
            if memory.deleted_at
            else safe(memory.title)
        )
        used = str(memory.access_count or "")
        table.add_row(
            title,
            _kind(memory),
            f"{memory.salience:.2f}",
            used,
            ago(memory.created_at, now),
            safe(short(memory.id)),
        )
    console().print(table)


def compact(found: Sequence[CompactResult], now: datetime, anchor: str | None = None) -> None:
    """Layers one and two."""
    table = new_table("score" if anchor is None else "", "title", "kind", "when", "id")
    for item in found:
        first = f"{item.score:.2f}" if anchor is None else "→" if item.id == anchor else ""
        table.add_row(
            first, safe(item.title), item.kind, ago(item.created_at, now), safe(short(item.id))
        )
    console().print(table)


def memory(shown: Memory) -> None:
    """One memory, whole."""
    from rich.markdown import Markdown

    out = console()
    out.print(f"[bold]{safe(shown.title)}[/]")
    facts = {
        "id": shown.id,
        "kind": f"{shown.kind}, {shown.sector}, tier {shown.tier}",
        **{name: getattr(shown, name) for name in _NAMED},
        "session": shown.session_id,
        "keywords": ", ".join(shown.keywords),
        "concepts": ", ".join(shown.concepts),
        "files": ", ".join(shown.files),
        "strength": f"importance {shown.importance:g}, salience {shown.salience:.2f}, used {count(shown.access_count, 'time')}",
        "created": f"{shown.created_at:%Y-%m-%d %H:%M} UTC by {shown.source}",
        "updated": f"{shown.updated_at:%Y-%m-%d %H:%M} UTC"
        if shown.updated_at != shown.created_at
        else None,
        "valid": _span(shown),
        "pinned": "upkeep leaves it alone" if shown.pinned else None,
        "trust": None if shown.trusted else "not checked: it came from elsewhere",
        "links": "; ".join(link(one) for one in shown.links),
        "deleted": f"{shown.deleted_at:%Y-%m-%d %H:%M} UTC, in the trash"
        if shown.deleted_at
        else None,
        "file": shown.file_path,
    }
    for name, value in facts.items():
        if value:
            out.print(f"[dim]{name:>9}[/]  {safe(str(value))}", soft_wrap=True)
    out.print()
    out.print(Markdown(visible(shown.content)))


_NAMED = tuple(
    field.name for field in FIELDS if field.redaction is Redaction.NAME and field.default == ""
)
"""What a memory may belong to."""


def explanation(found: Explanation) -> None:
    """Why, or why not."""
    out = console()
    out.print(
        f"[bold]{'Recalled' if found.recalled else 'Not recalled'}[/] for {safe(found.query)!r}"
    )
    out.print(f"[dim]asked for[/]  {safe(', '.join(found.terms))}")
    out.print(f"[dim]  matched[/]  {safe(', '.join(found.matched)) or 'nothing'}")
    for reason in found.reasons:
        out.print(f"[dim]   reason[/]  {safe(reason)}")
    for signal in found.signals:
        out.print(f"[dim]{signal.name:>9}[/]  {signal.score:.3f}  {safe(signal.note)}")


def link(shown: Link) -> str:
    """One link on one line."""
    sure = (
        ""
        if shown.confidence == 1
        else f" ({'proposed, ' if shown.proposed else ''}confidence {shown.confidence:g})"
    )
    return (
        f"{short(shown.source)} {shown.type.lower().replace('_', ' ')} {short(shown.target)}{sure}"
    )


def proposal(shown: Link) -> str:
    """What to do about a link that nobody has confirmed."""
    old, new = shown.target[-8:], shown.source[-8:]
    what = "bring up to date" if shown.type is LinkType.SUPERSEDES else "contradict"
    return (
        f"It seems to {what} …{old} (confidence {shown.confidence:g}). If it takes its place: muisti supersede {old} {new}; "
        f"if not: muisti unlink {new} {shown.type.lower()} {old}"
    )


def links(around: Graph) -> None:
    """The links of a memory, the first of these."""
    titles = {memory.id: memory.title for memory in around.memories}
    table = new_table("from", "link", "to", "title", "confidence", "by")
    mine = around.memories[0].id
    for one in around.links:
        other = one.target if one.source == mine else one.source
        sure = f"{one.confidence:g}{' proposed' if one.proposed else ''}"
        ends = (short(one.source), one.type.lower(), short(one.target))
        table.add_row(*ends, safe(titles.get(other, "")), sure, one.extracted_by)
    console().print(table)


def graph(found: Graph) -> None:
    """A tree: the memory, below it what it is linked with, each memory once."""
    from rich.tree import Tree

    titles = {memory.id: memory.title for memory in found.memories}
    root = found.memories[0].id
    tree = Tree(f"[bold]{safe(titles[root])}[/] {short(root)}")
    branches = {root: tree}
    waiting = [root]
    while waiting:
        here = waiting.pop(0)
        others = [
            one.target if one.source == here else one.source
            for one in found.links
            if here in (one.source, one.target)
        ]
        for other in dict.fromkeys(other for other in others if other not in branches):
            said = _between(found, here, other)
            branches[other] = branches[here].add(
                f"[dim]{said}[/] {safe(titles[other])} {short(other)}"
            )
            waiting.append(other)
    console().print(tree)


def _between(found: Graph, here: str, other: str) -> str:
    out = [
        f"{_words_of(one)} →" for one in found.links if (one.source, one.target) == (here, other)
    ]
    back = [
        f"← {_words_of(one)}" for one in found.links if (one.source, one.target) == (other, here)
    ]
    return ", ".join((*out, *back))


def _words_of(one: Link) -> str:
    return one.type.lower().replace("_", " ") + (f" ({one.confidence:g}?)" if one.proposed else "")


def history(found: Sequence[HistoryEntry]) -> None:
    """What became of a memory, oldest first."""
    table = new_table("when", "what", "reason")
    for one in found:
        lines = [
            f"{one.other_id}" if one.other_id else "",
            one.note,
            f"session {one.session_id}" if one.session_id else "",
        ]
        if one.content is not None:
            lines.append(f"“{make_snippet(one.content, frozenset(), SNIPPET)}”")
        table.add_row(
            f"{one.at:%Y-%m-%d %H:%M}", one.what, safe("\n".join(line for line in lines if line))
        )
    console().print(table)


def core(found: CoreMemory) -> None:
    """Both sections of core memory."""
    out = console()
    for section in CORE_SECTIONS:
        out.print(f"[bold]{section}[/]")
        for key, value in getattr(found, section).items():
            out.print(f"  [dim]{safe(key)}[/]  {safe(value)}", soft_wrap=True)


def extracted(found: Sequence[Extracted]) -> None:
    """What is worth keeping of a talk."""
    table = new_table("importance", "memory", "kind")
    for one in found:
        table.add_row(f"{one.importance:.2f}", safe(one.content), one.kind)
    console().print(table)


def sessions(found: Sequence[Session], now: datetime) -> None:
    """A list of sessions."""
    table = new_table("id", "project", "status", "started", "tool calls", "summary")
    for session in found:
        calls = str(session.tool_calls or "")
        table.add_row(
            short(session.id),
            session.project,
            session.status,
            ago(session.started_at, now),
            calls,
            safe(session.summary),
        )
    console().print(table)


def stats(shown: Stats, root: str) -> None:
    """The vault in numbers."""
    pairs: Mapping[str, object] = {
        "vault": root,
        "memories": shown.total_count,
        "in the trash": shown.deleted_count,
        "sessions": shown.session_count,
        "tokens, about": f"{shown.total_tokens:,}",
        "mean salience": f"{shown.avg_salience:.2f}",
        "oldest": f"{shown.oldest_memory:%Y-%m-%d}" if shown.oldest_memory else "none",
        "newest": f"{shown.newest_memory:%Y-%m-%d}" if shown.newest_memory else "none",
        "index": f"{shown.index_size_bytes / 1e6:.1f} MB",
        "vectors": (shown.embedding_model or "none yet")
        + (f", {shown.waiting_count} wait" if shown.waiting_count else ""),
        "kinds": _counts(shown.by_kind),
        "sectors": _counts(shown.by_sector),
        "projects": _counts({name or "(none)": count for name, count in shown.by_project.items()}),
    }
    out = console()
    for name, value in pairs.items():
        out.print(f"[dim]{name:>14}[/]  {safe(str(value))}")
    problems(shown.problems)


def problems(found: Sequence[Problem]) -> None:
    """Files that need a person."""
    if not found:
        return
    table = new_table("file", "reason")
    for problem in found:
        table.add_row(safe(problem.path), safe(problem.reason))
    console().print(table)


def ago(at: datetime, now: datetime) -> str:
    """`3 days ago`."""
    seconds = (now - at).total_seconds()
    for size, unit in _UNITS:
        if abs(seconds) >= size:
            count = int(abs(seconds) // size)
            span = f"{count} {unit}{'s' if count > 1 else ''}"
            return f"{span} ago" if seconds > 0 else f"in {span}"
    return "just now"


def count(number: int, what: str) -> str:
    """`1 file`, `2 files`, `3 memories`."""
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number} {what if number == 1 else plural}"


def now() -> datetime:
    """The present moment."""
    return datetime.now(UTC)


def short(memory_id: str) -> str:
    """The end of an id: the part that tells two memories of the same minute apart."""
    return memory_id if len(memory_id) <= 8 else f"…{memory_id[-8:]}"


def _kind(memory: Memory) -> str:
    whole = memory.source if memory.origin is EntryType.DOCUMENT else memory.project
    name = (
        whole
        if len(whole) <= MOST_NAME
        else f"…{whole[1 - MOST_NAME :]}"
        if memory.origin is EntryType.DOCUMENT
        else f"{whole[: MOST_NAME - 1]}…"
    )
    return f"{memory.kind}\n[dim]{safe(name)}[/]" if name else memory.kind


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def _span(shown: Memory) -> str | None:
    if not shown.valid_from and not shown.valid_until:
        return None
    start = f"{shown.valid_from:%Y-%m-%d}" if shown.valid_from else "the beginning"
    end = f"{shown.valid_until:%Y-%m-%d}" if shown.valid_until else "now"
    return f"{start} to {end}"


def safe(text: str) -> str:
    """Text of memories is shown, never taken for markup."""
    from rich.markup import escape

    return escape(visible(text))


def visible(text: str) -> str:
    """Text of memories must not command the terminal."""
    return "".join(
        char if char.isprintable() or char in _INVISIBLE else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )


_INVISIBLE = "\n\t\u200c\u200d"
"""Line ends, tabs, and the joiners of which emoji families and Persian words are made."""

"""How values look on a terminal. Rich is imported only when there is something to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from muisti.model.fields import Redaction
from muisti.model.memory import CORE_SECTIONS, FIELDS, LinkType, Memory
from muisti.model.summaries import describe_range
from muisti.recall.snippet import make_snippet

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from muisti.model import (
        CoreMemory,
        Explanation,
        Extracted,
        Graph,
        HistoryEntry,
        Link,
        Problem,
        Session,
        Stats,
        UnresolvedLink,
    )

SNIPPET_LENGTH = 240
LONGEST_NAME = 16
"""Characters of the name of a project or user in a table. The title needs the room."""
_RATIOS = {
    "details": 1,
    "file": 1,
    "label": 1,
    "memory": 1,
    "path": 1,
    "reason": 2,
    "summary": 1,
    "title": 1,
    "wikilink": 1,
}
"""The columns that share what is left of a table's width, and wrap."""
_UNITS = (
    (86_400 * 365, "year"),
    (86_400 * 30, "month"),
    (86_400, "day"),
    (3600, "hour"),
    (60, "minute"),
)
_OWNERS = tuple(
    field.name for field in FIELDS if field.redaction is Redaction.NAME and field.default == ""
)
"""The fields that name what a memory belongs to: project, user, agent."""
_ALLOWED = "\n\t\u200c\u200d"
"""Line ends, tabs, and the joiners that emoji families and Persian words need."""

_AFTER_TITLE = "*_`~)]”’\"'.!?。！？:：…"
"""Closing marks that belong to the title before them."""


# -- Text


def replace_unprintable(text: str) -> str:
    """Replace control characters, so that a memory's text cannot control the terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in _ALLOWED else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )


def escape(text: str) -> str:
    """Return text that Rich prints as it is, without taking it for markup."""
    from rich.markup import escape as escape_markup

    return escape_markup(replace_unprintable(text))


def find_title_end(text: str, title: str) -> int:
    """Return where a text continues after its title; 0 if it does not begin with its title.

    Only letters and digits are compared, because Markdown adds marks.
    """
    letters = ((at, char) for at, char in enumerate(text) if char.isalnum())
    end = 0
    for wanted in filter(str.isalnum, title):
        at, char = next(letters, (0, ""))
        if char.lower() != wanted.lower():
            return 0
        end = at + 1
    while 0 < end < len(text) and text[end] in _AFTER_TITLE:
        end += 1
    return end


def short_id(memory_id: str) -> str:
    """Return the end of an ID: the part that differs between memories of the same minute.

    Of a section of a document: the name of the file and the section, as headings are not unique.
    """
    if "." in memory_id and not memory_id.startswith("message:"):
        path, mark, anchor = memory_id.partition("#")
        folder, _, name = path.rpartition("/")
        return f"…/{name}{mark}{anchor}" if folder else memory_id
    return memory_id if len(memory_id) <= 8 else f"…{memory_id[-8:]}"


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 file`, `2 files`, `3 memories`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def format_age(at: datetime, now: datetime) -> str:
    """Return how long ago a time is, such as `3 days ago`."""
    seconds = (now - at).total_seconds()
    for size, unit in _UNITS:
        if abs(seconds) >= size:
            span = format_count(int(abs(seconds) // size), unit)
            return f"{span} ago" if seconds > 0 else f"in {span}"
    return "just now"


def format_link(link: Link) -> str:
    """Return one link on one line."""
    certainty = ""
    if link.confidence != 1:
        state = "suggested, " if link.proposed else ""
        certainty = f" ({state}confidence {link.confidence:g})"
    verb = link.type.lower().replace("_", " ")
    return f"{short_id(link.source)} {verb} {short_id(link.target)}{certainty}"


def format_suggestion(link: Link, title: str) -> str:
    """Return how to confirm or reject a suggested link of a new memory to the one with a title."""
    old, new = link.target[-8:], link.source[-8:]
    verb = "replace" if link.type is LinkType.SUPERSEDES else "contradict"
    return (
        f"It may {verb} …{old}  {replace_unprintable(title)} (confidence {link.confidence:g}).\n"
        f"  To replace it: muisti supersede {old} {new}\n"
        f"  To keep both:  muisti unlink {new} {link.type.lower()} {old}"
    )


def current_time() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


# -- Tables


def new_console() -> Console:
    """Return a console that writes to standard output."""
    from rich.console import Console

    class OutputConsole(Console):
        def on_broken_pipe(self) -> None:  # Rich would exit with 1
            raise BrokenPipeError

    return OutputConsole(highlight=False, emoji=False)


def new_table(*columns: str, wrap: bool = True) -> Table:
    """Return an empty table as wide as the terminal. Without wrap, long cells are cut."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        box=SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False, expand=True
    )
    for column in columns:
        ratio = _RATIOS.get(column)
        if ratio is None:
            table.add_column(column, no_wrap=True, overflow="ellipsis")
        elif wrap:
            table.add_column(column, ratio=ratio, overflow="fold")
        else:
            table.add_column(column, ratio=ratio, no_wrap=True, overflow="ellipsis")
    return table


Outdated = Mapping[str, Memory | None]
"""Memories that are outdated, by ID, each with the memory that replaced it: `find_outdated`."""


def format_outdated(memory_id: str, outdated: Outdated | None) -> str:
    """Return the mark of an outdated memory, with the memory that replaced it, if known."""
    replacement = outdated.get(memory_id) if outdated else None
    if replacement is None:
        return "outdated"
    title = replace_unprintable(replacement.title)
    return f"outdated, replaced by {short_id(replacement.id)}  {title}"


def print_memory(
    memory: Memory, outdated: Outdated | None = None, replaced: Sequence[Memory] = ()
) -> None:
    """Print one memory in full, which one replaced it, and which ones it replaced."""
    from rich.markdown import Markdown

    out = new_console()
    if not find_title_end(memory.content, memory.title):
        out.print(f"[bold]{escape(memory.title)}[/]")
    updated = memory.updated_at if memory.updated_at != memory.created_at else None
    valid_from = f"from {memory.valid_from:%Y-%m-%d}" if memory.valid_from else ""
    valid_until = f"until {memory.valid_until:%Y-%m-%d}" if memory.valid_until else ""
    rows = {
        "ID": memory.id,
        "kind": f"{memory.kind}, {memory.sector}, tier {memory.tier}",
        **{name: getattr(memory, name) for name in _OWNERS},
        "session": memory.session_id,
        "covers": describe_range(memory),
        "aliases": ", ".join(memory.aliases),
        "keywords": ", ".join((*memory.keywords, *(f"#{tag}" for tag in memory.hashtags))),
        "categories": ", ".join(memory.categories),
        "concepts": ", ".join(memory.concepts),
        "files": ", ".join(memory.files),
        "strength": f"importance {memory.importance:g}, salience {memory.salience:.2f}, "
        f"recalled {format_count(memory.access_count, 'time')}",
        "created": f"{memory.created_at:%Y-%m-%d %H:%M} UTC by {memory.source}",
        "updated": f"{updated:%Y-%m-%d %H:%M} UTC" if updated else None,
        "valid": f"{valid_from} {valid_until}".strip(),
        "outdated": _format_replacement(memory, outdated or {}),
        "replaces": "; ".join(f"{short_id(one.id)}  {one.title}" for one in replaced),
        "pinned": "yes; maintenance never moves it" if memory.pinned else None,
        "trust": None if memory.trusted else "unconfirmed",
        "links": "; ".join(map(format_link, memory.links)),
        "deleted": f"{memory.deleted_at:%Y-%m-%d %H:%M} UTC" if memory.deleted_at else None,
        "file": memory.file_path,
    }
    for name, value in rows.items():
        if value:
            out.print(f"[dim]{name:>9}[/]  {escape(str(value))}", soft_wrap=True)
    out.print()
    out.print(Markdown(replace_unprintable(memory.content)))


def _format_replacement(memory: Memory, outdated: Outdated) -> str:
    """Return which memory replaced this one; "" for a memory that is current."""
    if memory.id not in outdated:
        return ""
    replacement = outdated[memory.id]
    if replacement is None:
        return "yes; its validity has ended"
    return f"replaced by {short_id(replacement.id)}  {replacement.title}"


def print_explanation(explanation: Explanation) -> None:
    """Print why a memory was found or not."""
    out = new_console()
    verdict = "Found" if explanation.recalled else "Not found"
    out.print(f"[bold]{verdict}[/] for {escape(explanation.query)!r}")
    out.print(f"[dim] searched[/]  {escape(', '.join(explanation.terms))}")
    out.print(f"[dim]  matched[/]  {escape(', '.join(explanation.matched)) or 'nothing'}")
    if explanation.score is not None:
        out.print(f"[dim]    score[/]  {explanation.score:.2f}")
    for reason in explanation.reasons:
        out.print(f"[dim]   reason[/]  {escape(reason)}")
    for signal in explanation.signals:
        out.print(f"[dim]{signal.name:>9}[/]  {signal.score:.3f}  {escape(signal.note)}")


def print_links(graph: Graph) -> None:
    """Print the links of a graph's first memory."""
    titles = {memory.id: memory.title for memory in graph.memories}
    table = new_table("from", "link", "to", "title", "confidence", "by")
    this = graph.memories[0].id
    for link in graph.links:
        other = link.target if link.source == this else link.source
        confidence = f"{link.confidence:g}{' suggested' if link.proposed else ''}"
        ends = (short_id(link.source), link.type.lower(), short_id(link.target))
        table.add_row(*ends, escape(titles.get(other, "")), confidence, link.extracted_by)
    new_console().print(table)


def print_unresolved(missing: Sequence[UnresolvedLink]) -> None:
    """Print wikilinks that lead to no memory."""
    table = new_table("in", "title", "wikilink")
    for link in missing:
        table.add_row(short_id(link.source), escape(link.title), escape(f"[[{link.target}]]"))
    new_console().print(table)


def print_graph(graph: Graph) -> None:
    """Print a tree: the first memory, below it the linked ones, each memory once."""
    from rich.tree import Tree

    titles = {memory.id: memory.title for memory in graph.memories}
    root = graph.memories[0].id
    tree = Tree(f"[bold]{escape(titles[root])}[/] {short_id(root)}")
    branches = {root: tree}
    queue = [root]
    while queue:
        current = queue.pop(0)
        for link in graph.links:
            if current not in (link.source, link.target):
                continue
            other = link.target if link.source == current else link.source
            if other in branches:
                continue
            label = f"[dim]{_describe_links(graph, current, other)}[/]"
            branches[other] = branches[current].add(
                f"{label} {escape(titles[other])} {short_id(other)}"
            )
            queue.append(other)
    new_console().print(tree)


def _describe_links(graph: Graph, one: str, other: str) -> str:
    """Return all links between two memories, such as `supersedes →, ← related to`."""
    outgoing, incoming = [], []
    for link in graph.links:
        label = link.type.lower().replace("_", " ")
        if link.proposed:
            label += f" ({link.confidence:g}?)"
        if (link.source, link.target) == (one, other):
            outgoing.append(f"{label} →")
        elif (link.source, link.target) == (other, one):
            incoming.append(f"← {label}")
    return ", ".join((*outgoing, *incoming))


def print_history(entries: Sequence[HistoryEntry]) -> None:
    """Print what happened to a memory, oldest first."""
    table = new_table("when", "what", "reason")
    table.columns[2].header = "details"
    for entry in entries:
        lines = [
            entry.other_id or "",
            entry.note,
            f"session {entry.session_id}" if entry.session_id else "",
        ]
        if entry.content is not None:
            lines.append(f"“{make_snippet(entry.content, frozenset(), SNIPPET_LENGTH)}”")
        details = "\n".join(line for line in lines if line)
        table.add_row(f"{entry.at:%Y-%m-%d %H:%M}", entry.what, escape(details))
    new_console().print(table)


def print_core(core: CoreMemory) -> None:
    """Print both sections of core memory."""
    out = new_console()
    for section in CORE_SECTIONS:
        out.print(f"[bold]{section}[/]")
        for key, value in getattr(core, section).items():
            out.print(f"  [dim]{escape(key)}[/]  {escape(value)}", soft_wrap=True)


def print_extracted(extracted: Sequence[Extracted]) -> None:
    """Print what was extracted from a conversation."""
    table = new_table("importance", "memory", "kind")
    for memory in extracted:
        table.add_row(f"{memory.importance:.2f}", escape(memory.content), memory.kind)
    new_console().print(table)


def print_sessions(sessions: Sequence[Session], now: datetime) -> None:
    """Print a list of sessions."""
    owners = ["project", *(["user"] if any(session.user for session in sessions) else [])]
    table = new_table("ID", *owners, "status", "started", "tool calls", "summary")
    for session in sessions:
        table.add_row(
            short_id(session.id),
            *(escape(getattr(session, name)) for name in owners),
            session.status,
            format_age(session.started_at, now),
            str(session.tool_calls or ""),
            escape(session.summary),
        )
    new_console().print(table)


def print_stats(stats: Stats, root: str) -> None:
    """Print the vault's statistics, then the files that cannot be read."""
    embeddings = stats.embedding_model or "none yet"
    if stats.embedder not in ("", embeddings):
        embeddings += f" ({stats.embedder})"
    if stats.waiting_count:
        embeddings += f", {format_count(stats.waiting_count, 'memory')} not embedded yet"
    projects = {name or "(none)": number for name, number in stats.by_project.items()}
    long = [f"{id_} (about {tokens:,} tokens)" for id_, tokens in stats.long_sessions.items()]
    rows: Mapping[str, object] = {
        "vault": root,
        "memories": stats.total_count,
        "trash": stats.deleted_count,
        "sessions": stats.session_count,
        "tokens": f"about {stats.total_tokens:,}",
        "mean salience": f"{stats.avg_salience:.2f}",
        "oldest": f"{stats.oldest_memory:%Y-%m-%d}" if stats.oldest_memory else "none",
        "newest": f"{stats.newest_memory:%Y-%m-%d}" if stats.newest_memory else "none",
        "index": f"{stats.index_size_bytes / 1e6:.1f} MB",
        "embeddings": embeddings,
        "kinds": _format_counts(stats.by_kind),
        "sectors": _format_counts(stats.by_sector),
        "projects": _format_counts(projects),
    }
    if long:
        rows = {**rows, "to summarize": ", ".join(long)}
    out = new_console()
    for name, value in rows.items():
        out.print(f"[dim]{name:>14}[/]  {escape(str(value))}", soft_wrap=True)
    print_problems(stats.problems)


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.items()) or "none"


def print_problems(problems: Sequence[Problem]) -> None:
    """Print files that cannot be read, with the reason; nothing if there are none.

    Paths are printed whole, however long, so that they can be copied.
    """
    if not problems:
        return
    from rich.padding import Padding

    console = new_console()
    for problem in problems:
        console.print(escape(problem.path), soft_wrap=True)
        console.print(Padding(escape(problem.reason), (0, 0, 0, 2)))

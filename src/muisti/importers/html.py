"""HTML: all memories in one page to read offline. It needs no other file and runs no script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from muisti.importers import FormatSpec
from muisti.importers.source import Source
from muisti.model import Memory
from muisti.ports import MemoryCodec
from muisti.ports.link_names import make_link_key
from muisti.text.wikilinks import WIKILINK, to_wikilink

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Memories</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem }
article { border-top: 1px solid #ccc; padding: 1rem 0 }
td, th { border: 1px solid #ccc; padding: .2rem .5rem }
.details { color: #666; font-size: .85rem }
pre, code { white-space: pre-wrap; overflow-wrap: anywhere }
@media (prefers-color-scheme: dark) { body { background: #161616; color: #ddd } a { color: #9cf } }
</style>
</head>
<body>
"""


def sniff(_: Source) -> bool:
    """Return False: pages are not imported."""
    return False


def make_parser(memories: Sequence[Memory]) -> MarkdownIt:
    """Return a parser whose wikilinks lead to these memories on the same page."""
    from markdown_it import MarkdownIt

    ids = {make_link_key(alias): one.id for one in memories for alias in one.aliases}
    ids |= {make_link_key(one.title): one.id for one in memories}

    def parse_wikilink(state: StateInline, silent: bool) -> bool:
        match = WIKILINK.match(state.src, state.pos, state.posMax)
        link = to_wikilink(match) if match is not None else None
        if match is None or link is None or not link.target:
            return False
        if not silent:
            id_ = ids.get(make_link_key(link.target))
            if id_ is not None:
                state.push("link_open", "a", 1).attrSet("href", f"#{id_}")
            state.push("text", "", 0).content = link.label or link.target
            if id_ is not None:
                state.push("link_close", "a", -1)
        state.pos = match.end()
        return True

    # Without images, the page loads nothing; without raw HTML, a memory cannot change it.
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    parser.disable("image").enable(["table", "strikethrough"])
    parser.inline.ruler.before("link", "wikilink", parse_wikilink)
    return parser


def dump(memories: Sequence[Memory], _: MemoryCodec) -> str:
    """Return the page: a list of contents by kind, then each memory."""
    parser = make_parser(memories)
    titles = {memory.id: memory.title for memory in memories}
    kinds: dict[str, list[Memory]] = {}
    for memory in memories:
        kinds.setdefault(memory.kind, []).append(memory)
    parts = [_HEAD, f"<h1>{len(memories)} memories</h1>\n<nav>\n"]
    for kind, some in sorted(kinds.items()):
        parts.append(f"<h2>{escape(kind)}</h2>\n<ul>\n")
        parts += [
            f'<li><a href="#{escape(memory.id)}">{escape(memory.title)}</a></li>\n'
            for memory in some
        ]
        parts.append("</ul>\n")
    parts.append("</nav>\n<main>\n")
    for memory in memories:
        details = [memory.kind, f"{memory.created_at:%Y-%m-%d}", memory.project, memory.user]
        details += [", ".join(memory.keywords), "" if memory.trusted else "unconfirmed"]
        line = " · ".join(escape(one) for one in details if one)
        parts.append(f'<article id="{escape(memory.id)}">\n<h2>{escape(memory.title)}</h2>\n')
        parts.append(f'<p class="details">{line}</p>\n{parser.render(memory.content)}')
        for link in memory.links:
            title = escape(titles.get(link.target, link.target))
            name = escape(link.type.lower().replace("_", " "))
            target = f'<a href="#{escape(link.target)}">{title}</a>'
            parts.append(f"<p>{name} {target if link.target in titles else title}</p>\n")
        parts.append("</article>\n")
    return "".join([*parts, "</main>\n</body>\n</html>\n"])


SPEC = FormatSpec(sniff, None, dump)

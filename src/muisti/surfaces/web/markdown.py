"""Markdown as safe HTML: no raw HTML, no remote images, only web and mail links."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping, Sequence

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup

from muisti.text.wikilinks import WIKILINK, to_wikilink

MAX_CHARS = 200_000
"""A longer text is shown unformatted."""
_ALLOWED_URL = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


def render_markdown(text: str, targets: Mapping[str, str | None] | None = None) -> Markup:
    """Return a text as HTML, with headings one level lower than written.

    Targets: the address that each `[[wikilink]]` leads to, None if it leads nowhere. Without them,
    wikilinks are shown as they are written.
    """
    if len(text) > MAX_CHARS:
        return Markup('<pre class="plain">{}</pre>').format(text)
    # markdown-it escapes all text and emits only its own tags.
    return Markup(_MARKDOWN.render(text, {"targets": targets or {}}))


def _parse_wikilink(state: StateInline, silent: bool) -> bool:
    """Read a wikilink, as a rule of markdown-it: return whether there is one at this place."""
    if state.src[state.pos] not in "[!":
        return False
    match = WIKILINK.match(state.src, state.pos, state.posMax)
    targets = state.env["targets"]
    link = to_wikilink(match) if match else None
    if match is None or link is None or link.target not in targets:
        return False
    if not silent:
        token = state.push("wikilink", "", 0)
        token.content = link.label or link.target
        token.meta = {"href": targets[link.target]}
    state.pos = match.end()
    return True


def _render_wikilink(_: RendererHTML, tokens: Sequence[Token], at: int, *_rest: object) -> str:
    text, href = escapeHtml(tokens[at].content), tokens[at].meta["href"]
    if href is None:
        return f'<span class="wikilink missing" title="No memory has this title">{text}</span>'
    return f'<a class="wikilink" href="{escapeHtml(href)}">{text}</a>'


def _render_image(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    at: int,
    options: OptionsDict,
    env: MutableMapping[str, object],
) -> str:
    """Return the alternative text only: loading the image would tell its host who reads this."""
    alt = renderer.renderInlineAsText(tokens[at].children or [], options, env)
    return f'<span class="picture">{escapeHtml(alt or "picture")}</span>'


def _render_link_open(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    at: int,
    options: OptionsDict,
    env: MutableMapping[str, object],
) -> str:
    if not _ALLOWED_URL.match(str(tokens[at].attrs.get("href", ""))):
        tokens[at].attrs.pop("href", None)  # an empty one would link to this page
    tokens[at].attrSet("rel", "noopener noreferrer nofollow")
    return renderer.renderToken(tokens, at, options, env)


def _render_heading(_: RendererHTML, tokens: Sequence[Token], at: int, *_rest: object) -> str:
    level = min(6, int(tokens[at].tag[1:]) + 1)
    return f"<h{level}>" if tokens[at].nesting == 1 else f"</h{level}>\n"


def _render_cell(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    at: int,
    options: OptionsDict,
    env: MutableMapping[str, object],
) -> str:
    """Return a cell aligned by a class: the page's policy forbids inline styles."""
    alignment = str(tokens[at].attrs.pop("style", "")).removeprefix("text-align:")
    if alignment in ("left", "center", "right"):
        tokens[at].attrSet("class", f"to-{alignment}")
    return renderer.renderToken(tokens, at, options, env)


class SafeMarkdown(MarkdownIt):
    """Turns Markdown into HTML, with only the links that are allowed."""

    def validateLink(self, url: str) -> bool:
        """Return whether the text becomes a link."""
        return _ALLOWED_URL.match(url) is not None


_MARKDOWN = SafeMarkdown("commonmark", {"html": False}).enable(["table", "strikethrough"])
_MARKDOWN.inline.ruler.before("link", "wikilink", _parse_wikilink)
_MARKDOWN.add_render_rule("wikilink", _render_wikilink)
_MARKDOWN.add_render_rule("image", _render_image)
_MARKDOWN.add_render_rule("link_open", _render_link_open)
_MARKDOWN.add_render_rule("heading_open", _render_heading)
_MARKDOWN.add_render_rule("heading_close", _render_heading)
_MARKDOWN.add_render_rule("th_open", _render_cell)
_MARKDOWN.add_render_rule("td_open", _render_cell)

"""Markdown as HTML that cannot do anything: no raw HTML, no foreign pictures, links that lead to the web or to mail."""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup

LONGEST = 200_000
"""Characters; a longer text is shown as it is."""
_ALLOWED = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


def rendered(text: str) -> Markup:
    """A text of a memory as HTML, with headings below those of the page."""
    if len(text) > LONGEST:
        return Markup('<pre class="plain">{}</pre>').format(text)
    return Markup(
        _MARKDOWN.render(text)
    )  # markdown-it escapes all text, and makes no tags but its own


def _image(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    at: int,
    options: OptionsDict,
    env: MutableMapping[str, object],
) -> str:
    """What a picture shows, in words: to load it would tell a stranger that this memory is being read."""
    words = renderer.renderInlineAsText(tokens[at].children or [], options, env)
    return f'<span class="picture">{escapeHtml(words or "picture")}</span>'


def _link_open(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    at: int,
    options: OptionsDict,
    env: MutableMapping[str, object],
) -> str:
    if not _ALLOWED.match(str(tokens[at].attrs.get("href", ""))):
        tokens[at].attrs.pop("href", None)  # an empty address would lead to the page itself
    tokens[at].attrSet("rel", "noopener noreferrer nofollow")
    return renderer.renderToken(tokens, at, options, env)


def _heading(_: RendererHTML, tokens: Sequence[Token], at: int, *_rest: object) -> str:
    level = min(6, int(tokens[at].tag[1:]) + 1)
    return f"<h{level}>" if tokens[at].nesting == 1 else f"</h{level}>\n"


def _cell(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    at: int,
    options: OptionsDict,
    env: MutableMapping[str, object],
) -> str:
    """A cell whose side is a class: the page's policy lets no style stand in the text."""
    side = str(tokens[at].attrs.pop("style", "")).removeprefix("text-align:")
    if side in ("left", "center", "right"):
        tokens[at].attrSet("class", f"to-{side}")
    return renderer.renderToken(tokens, at, options, env)


def _markdown() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.validateLink = lambda url: _ALLOWED.match(url) is not None  # type: ignore[method-assign]
    made.add_render_rule("image", _image)
    made.add_render_rule("link_open", _link_open)
    for name in ("heading_open", "heading_close"):
        made.add_render_rule(name, _heading)
    for name in ("th_open", "td_open"):
        made.add_render_rule(name, _cell)
    return made


_MARKDOWN = _markdown()

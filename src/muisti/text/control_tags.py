"""Neutralize the control tags of agents and models in recalled text (contract K4).

A host or a model gives a meaning of its own to `<system-reminder>`, `<function_calls>`,
`<|im_start|>` or `[INST]`. In a memory they are only text: their opening bracket becomes `(`, so
that `</system-reminder>` reads `(/system-reminder>`. A bracket is not escaped as `&lt;`, because
some readers decode that.

A tag is recognized in any case, with full-width and look-alike characters, with invisible
characters and combining marks inside, and written with entities or escapes, such as `&lt;`.
"""

from __future__ import annotations

import html
import re
import sys
import unicodedata
from collections.abc import Callable

from muisti.text.invisible_chars import INVISIBLE

TAGS = frozenset(
    """
    system system-reminder system-prompt system-message system-instruction system-instructions
    system-warning developer assistant human user user-query user-prompt-submit-hook
    session-start-hook post-tool-use-hook user-instructions instruction instructions
    environment-context environment-details function functions function-call function-calls
    function-result function-results invoke parameter tool tools tool-use tool-call tool-calls
    tool-code tool-result tool-results tool-response tool-output tool-outputs use-mcp-tool
    command-name command-message command-args local-command-stdout local-command-stderr
    task-notification ide-selection ide-opened-file ephemeral-message additional-data think
    thinking reasoning scratchpad start-of-turn end-of-turn bos eos s sys
    """.split()
)
"""Names in angle brackets; `-` stands for `-`, `_` or a space. A prefix such as `antml:` may
precede each."""
SQUARE_TAGS = frozenset(
    "inst sys system-prompt available-tools tool-calls tool-results tool-content".split()
)
"""Names in square brackets."""
TOKENS = frozenset(
    """
    im-start im-end im-sep eot-id eom-id start-header-id end-header-id begin-of-text end-of-text
    endoftext endofprompt system user assistant tool
    """.split()
)
"""Names after `<|`, even if no `|>` follows. With `|>` every name is a token."""
_LOOK_ALIKES = {
    "<": "\u00ab\u02c2\u1438\u2039\u2329\u226a\u226e\u22d6\u2770\u276c\u276e\u27e8\u27ea\u29fc"
    "\u2a79\u3008\u300a\ufe64\uff1c\U0001f8b0\U00016f76",
    ">": "\u00bb\u02c3\u1433\u203a\u232a\u226b\u22d7\u2771\u276d\u276f\u27e9\u27eb\u29fd"
    "\u2a7a\u3009\u300b\ufe65\uff1e\U0001f8b2\U00016f3f",
    "[": "\u2045\u2772\u27e6\u2983\u3010\u3014\u3016\u3018\u301a\ufe5d\uff3b\u2e22",
    "]": "\u2046\u2773\u27e7\u2984\u3011\u3015\u3017\u3019\u301b\ufe5e\uff3d\u2e23",
    "/": "\u2044\u2215\u2571\u29f8\u2f03\u3033\uff0f",
    "|": "\u01c0\u05c0\u2223\u23d0\u2502\u2503\u2758\u2759\uff5c\uffe8\u2016\u2225",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d\u02d7\u06d4",
    "_": "\u2581\uff3f\ufe4d\ufe4e\ufe4f\u02cd",
    ":": "\u2236\u02d0\ua789\ufe55\uff1a\u05c3",
    "a": "\u0430\u03b1\u0251",
    "b": "\u042c\u0412\u0392\u13cf",
    "c": "\u0441\u03f2\u0421\u03f9",
    "d": "\u0501",
    "e": "\u0435\u0415\u0395\u0451",
    "f": "\u03dd\u017f\u0493",
    "g": "\u0261\u0581",
    "h": "\u04bb\u041d\u0397\u210e",
    "i": "\u0456\u0406\u0399\u03b9\u0131\u0269\u04c0",
    "k": "\u043a\u041a\u039a\u03ba",
    "l": "\u04cf\u01c0",
    "m": "\u043c\u041c\u039c",
    "n": "\u0578\u039d\u03b7",
    "o": "\u043e\u041e\u039f\u03bf\u0585",
    "p": "\u0440\u0420\u03a1\u03c1",
    "q": "\u051b",
    "r": "\u0433\u1d26",
    "s": "\u0455\u0405\u017f\ua731",
    "t": "\u0442\u0422\u03a4\u03c4",
    "u": "\u057d\u03c5\u1d1c",
    "v": "\u0475\u03bd\u1d20",
    "w": "\u051d\u0461",
    "x": "\u0445\u0425\u03a7\u03c7",
    "y": "\u0443\u04af\u0423\u03a5",
    "z": "\u1d22\u0396",
}
"""Characters that look like those of a tag. Compatibility forms, such as full-width letters, come
from Unicode itself."""
_ESCAPE = re.compile(
    r"&(?:amp;?|#0*38;?|#x0*26;?)*+"
    r"(?:#(?:[0-9]{1,12}|x[0-9a-f]{1,12});?|(?:lt|gt|laquo)(?![a-z]*;)|[a-z]{2,24};)"
    r"|(?<!\\)\\++(?:u(?:[0-9a-f]{4}|\{[0-9a-f]{1,8}\})|x[0-9a-f]{2}|(?=[</|>\[\]]))"
    r"|%(?:25)*+[0-9a-f]{2}",
    re.IGNORECASE,
)
_PADDING, _UNSEEN = "\0", "\1"
"""Stand for the rest of an escape, and for a character that is not seen."""
_HIDDEN = _PADDING + _UNSEEN


def neutralize_tags(text: str) -> str:
    """Return a text whose control tags begin with `(`. Takes linear time. Idempotent."""
    return _replace_brackets(text, _is_control_tag, "(")


def neutralize_fence_tags(text: str) -> str:
    """Return a text whose `<memory…` and `</memory…` tags begin with `&lt;`, and so close none."""
    return _replace_brackets(
        text, lambda bracket, rest: bracket == "<" and bool(_FENCE.match(rest)), "&lt;"
    )


def _replace_brackets(text: str, is_tag: Callable[[str, str], bool], bracket: str) -> str:
    plain = _simplify(text)
    if "<" not in plain and "[" not in plain:
        return text
    parts, end = [], 0
    for found in _OPENING.finditer(plain):
        if is_tag(found["opening"][0], _remove_hidden("", found["rest"]).lstrip("< \t\r\n")):
            parts += [text[end : found.start()], bracket]
            end = found.start() + len(found["opening"])
    return "".join((*parts, text[end:])) if parts else text


def _simplify(text: str) -> str:
    """Return a text of the same length in plain lower-case characters.

    Escapes are decoded and followed by padding.
    """
    if "&" in text or "\\" in text or "%" in text:
        text = _ESCAPE.sub(_decode, text)
    return text.lower() if text.isascii() else text.translate(_TABLE)


def _decode(found: re.Match[str]) -> str:
    escape = found[0].lower()
    if escape[0] == "&":
        name = re.sub(r"\A(?:&?(?:amp|#0*38|#x0*26);?)++(?=[#a-z])", "&", escape)
        char = html.unescape(name if name.endswith(";") else f"{name};")
    else:
        digits = re.sub(r"[\\%ux{}]", "", escape[3:] if "%25" in escape else escape)[-8:]
        code = int(digits, 16) if digits else 0
        char = chr(code) if code <= sys.maxunicode else ""
    if len(char) != 1 and escape[0] == "&":
        return found[0]  # not an entity
    return (char or _PADDING).ljust(len(escape), _PADDING)


class _Table(dict[int, str]):
    """What each character is simplified to, for `str.translate`; found out on first use."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if unicodedata.category(char) in ("Mn", "Me", "Cf") or _INVISIBLE.match(char):
            plain = _UNSEEN
        else:
            plain = unicodedata.normalize("NFKD", char)[0]
            plain = plain.lower() if plain.isascii() and plain.isprintable() else char
        self[code] = plain
        return plain


_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_remove_hidden = re.compile(f"[{_HIDDEN}]+").sub
_TABLE = _Table({ord(like): char for char, likes in _LOOK_ALIKES.items() for like in likes})


_OPENING = re.compile(
    rf"(?P<opening>[<\[]{_PADDING}*+)"
    rf"(?=(?P<rest>(?:[\s{_HIDDEN}]*+<)?[\s{_HIDDEN}]*+"
    rf"(?:[^<\[\s{_HIDDEN}][\s{_HIDDEN}]*+){{1,80}}))"
)
"""An opening bracket and what follows it, far enough for the longest name."""
_NAME = re.compile(r"/?\s*+(?:[\w.-]{1,20}:)?(?P<name>[a-z]+(?:[-_ ][a-z]+){0,4})(?![\w-])")
_TOKEN = re.compile(r"\|\s*+/?\s*+(?:[\w.-]{1,60}\s*+\||(?P<name>[a-z]+(?:[-_ ][a-z]+){0,3}))")
_FENCE = re.compile(r"/?\s*+memor")


def _is_control_tag(bracket: str, rest: str) -> bool:
    if bracket == "[":
        return _begins_with(SQUARE_TAGS, _NAME.match(rest))
    if rest.startswith("|"):
        found = _TOKEN.match(rest)
        return found is not None and (found["name"] is None or _begins_with(TOKENS, found))
    return _begins_with(TAGS, _NAME.match(rest))


def _begins_with(names: frozenset[str], found: re.Match[str] | None) -> bool:
    """Return whether a name, or its words before a space, is one of these."""
    if found is None:
        return False
    words = found["name"].replace("_", "-").split(" ")
    return any("-".join(words[:count]) in names for count in range(1, len(words) + 1))

"""A text as the words that it comes down to: what must be equal in two texts that say the same (contract C3).

Case, white space, quotes, dashes and punctuation go; contractions and short forms are written out; numbers and dates get one
form (`1,000` is `1000`, `ten` is `10`, `15 March` is `March 15`), but `1.10` stays apart from `1.1`. Paths, addresses,
identifiers and code stay whole. Scripts without spaces become single characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from muisti.remember.similarity.abbreviations import (
    ABBREVIATED,
    CANONICAL,
    ENGLISH,
    LIGHT,
    LIGHT_FINNISH,
    PHRASES,
    PLACES,
    WEEKDAYS,
)
from muisti.remember.similarity.numbers import join_numbers, parse_number
from muisti.remember.similarity.spelling import load_real_words
from muisti.text.normalize import to_nfkc
from muisti.text.scripts import CJK

# Not split_words: this reads numbers, paths, operators and stops apart, since each has its own way to be the same.
# The bounds on repetitions keep the search linear: `x@x@x@…` would be looked at from each x to the end.
_W = rf"[^\W{CJK}]"
_TOKEN = re.compile(
    rf"""
    (?P<plain>[A-Za-z]+(?=[\s,;!?)"\]]|\.(?:\s|$)|-[A-Za-z]|$))
  | (?P<code>```.+?```|(?<!`)`(?!`)[^`\n]+`(?!`))
  | (?P<path>{_W}+://[^\s<>"{CJK}]+ | {_W}(?:{_W}|[.+-]){{0,63}}@{_W}+(?:[.-]{_W}+)+
      | (?<!{_W})(?<![/\\])(?:{_W}:|~|\.{{1,2}})?[/\\]{{0,2}}(?:{_W}|[.@-]){{0,99}}(?:{_W}|@)(?:[/\\]+(?:{_W}|[.@*-])+)+[/\\]?
      | (?<!{_W})(?<![/\\<])(?:~|\.{{1,2}})?/{_W}(?:{_W}|[.-])*
      | (?<!{_W})(?<!\.)\.[a-zA-Z]{_W}+)
  | (?P<flag>(?<!{_W})(?<!-)--?[A-Za-z](?:{_W}|-)*)
  | (?P<number>(?:(?<!{_W})(?<![)\]%])-)?(?:(?<!{_W})(?<!\.)\.)?\d+(?:[.,:]\d+)*{_W}*)
  | (?P<cjk>[{CJK}])
  | (?P<word>{_W}+(?:['.:_]+{_W}+)*[+#]{{0,2}})
  | (?P<operator>[!=<>]=+|[-=]>|<-|&&|\|\||(?<!\w)!(?=\w)|(?<=\w)\*(?=\w)|(?<=\w\ )\*(?=\ \w)|~(?=\d)|~~|/)
  | (?P<stop>[.!?;。\u0964]+|\n\s*\n)
  | (?P<comma>[,:、])
  | (?P<sign>[^\w\s])
    """,
    re.VERBOSE | re.DOTALL,
)
_STRAIGHT = str.maketrans("‘’ʼ‛′´“”„«»″‐‑‒–—―−ёЁ", "''''''\"\"\"\"\"\"-------еЕ")
_RAISED = re.compile(
    r"(?<=\w)(?=[\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089\u00bc-\u00be\u2150-\u215e\u2189])"
)
"""Before a raised digit or a fraction: NFKC would make 102 of 10², and 21/2 of 2½."""
_SIGNS = frozenset("$%&+<>=^")
"""ASCII signs that say something. The others are Markdown's, or mark a tag or a mention."""
_KEPT = frozenset(("So", "Sk", "Sm", "Sc", "Mn", "Mc", "Me"))
_SPELLED = {"%": "percent", "&": "and"}
_ASKING = frozenset("is are was were does did can could should would will has am".split())
_HUMP = re.compile(r"[^\W\d_A-Z][A-Z]")
_FINNISH = re.compile(r"[äö]|aa|ii|uu")
_PLAIN = re.compile(r"[\w./\\:@-]+")
_LAST_WORD = re.compile(r"[^\W\d_](?:\w|\.(?=\w))*$")
_EMPHASIS = re.compile(r"_([^_]+)_|_+$")
_WITH = re.compile(r"\b([wW])/(?=\s)")
_LABEL = "A"
_ENDED = frozenset((".", "?"))
_AFTER_LABEL = frozenset(". , ? is are was were has have will can and or".split())
"""What follows no article: an `a` before it is a label as well."""
MARKS = frozenset((".", ","))
"""Where a sentence or a part of one ends: of use to tell what was moved, and nowhere else."""


@dataclass(frozen=True, slots=True)
class NormalForm:
    """One text, read."""

    tokens: tuple[str, ...]
    """Everything in order, with light words and MARKS."""
    content: tuple[str, ...]
    """The tokens that must be equal."""
    names: frozenset[str]
    """Words written with a capital."""
    exact: tuple[str, ...]
    """Paths, identifiers and code as written: in these, case matters."""
    text: str
    """What was read, with plain quotes and dashes."""
    cased: bool
    """Whether its capitals tell anything: not for lower, UPPER or Title."""
    english: bool


def normalize(text: str) -> NormalForm:
    """The text's words; remembered for short texts, since a new memory is held against many."""
    return _remembered(text) if len(text) <= 4000 else _read(text)


def straighten(text: str) -> str:
    """With plain quotes and dashes, and one space for any white space: as little as can be called the same text."""
    return " ".join(text.translate(_STRAIGHT).split())


def _read(text: str) -> NormalForm:
    if not text.isascii():
        text = to_nfkc(_RAISED.sub(" ^", text)).translate(_STRAIGHT)
    if "w/" in text:
        text = _WITH.sub("with", text)
    found = _Found([], set(), [], 0, 0)
    for piece in _TOKEN.finditer(text):
        if piece.lastgroup == "plain":
            _take_plain(piece[0], found)
        else:
            _take(piece, found)
    tokens = join_numbers(_phrased(_asked(found.tokens)))
    cased = (
        not text.islower() and not text.isupper() and not found.capitals > 0.75 * found.words > 2
    )
    if not cased:
        tokens = ["a" if token == _LABEL else token for token in tokens]
    exact = tuple(raw for raw in found.exact if raw.lower() != raw.upper())
    english = not ENGLISH.isdisjoint(tokens) or len(load_real_words().intersection(tokens)) > 1
    light = LIGHT_FINNISH if not english and _FINNISH.search(text) else LIGHT
    return NormalForm(
        tuple(tokens),
        tuple(_content(tokens, light)),
        frozenset(found.names),
        exact,
        text,
        cased,
        english,
    )


_remembered = lru_cache(maxsize=256)(_read)


@dataclass(slots=True)
class _Found:
    tokens: list[str]
    names: set[str]
    exact: list[str]
    words: int
    capitals: int


def _take_plain(raw: str, found: _Found) -> None:
    """Nine words of ten: letters, and nothing that could make them a part of something."""
    word = raw.lower()
    found.words += 1
    if raw == "A" and found.tokens and found.tokens[-1] not in _ENDED:
        word = _LABEL  # vitamin A, plan A
    elif raw != word:
        if raw[0] <= "Z":
            found.capitals += 1
            found.names.add(word)
        if _HUMP.search(raw):
            found.exact.append(raw)
    known = CANONICAL.get(word)
    if known is None:
        found.tokens.append(word)
    else:
        found.tokens += known


def _take(piece: re.Match[str], found: _Found) -> None:
    raw, group = piece[0], piece.lastgroup
    if group == "word":
        _take_word(raw, found)
    elif group == "stop":
        if "?" in raw:
            found.tokens.append("?")
        elif not (raw == "." and _shortens(piece)):
            found.tokens.append(".")
    elif group == "comma":
        found.tokens.append(",")
    elif group == "number":
        tokens = parse_number(raw.casefold())
        found.tokens += tokens
        if tokens[-1] == raw.casefold() and not raw.lower().endswith("th"):
            found.exact.append(raw)
    elif group == "cjk":
        found.tokens.append(raw)
    elif group == "sign":
        if raw in _SIGNS or (
            not raw.isascii() and unicodedata.category(raw) in _KEPT and raw not in "\ufe0e\ufe0f"
        ):
            found.tokens.append(_SPELLED.get(raw, raw))
    elif group == "operator":
        found.tokens.append(raw)
    else:
        _take_code(raw, found)


def _shortens(piece: re.Match[str]) -> bool:
    """Whether a full stop belongs to the word before it: `Inc.`, `J.`, `U.S.`."""
    before = _LAST_WORD.search(piece.string, max(0, piece.start() - 8), piece.start())
    return before is not None and (
        before[0].casefold() in ABBREVIATED or len(before[0]) == 1 or before[0][-2] == "."
    )


def _take_word(raw: str, found: _Found) -> None:
    if raw[0] == "_":
        raw = _EMPHASIS.sub(r"\1", raw)
        if not raw:
            return
    word = raw.casefold()
    found.words += 1
    if raw[0].isupper():
        found.capitals += 1
        found.names.add(word.removesuffix("'s"))
    known = CANONICAL.get(word)
    if known is not None:
        found.tokens += known
    elif word.isalpha():
        found.tokens.append(word)
    else:
        found.tokens += _composed(raw, word, found)
    if not raw.islower() and _HUMP.search(raw):
        found.exact.append(raw)


def _composed(raw: str, word: str, found: _Found) -> Sequence[str]:
    """A word with an apostrophe, a dot, an underscore or a digit in it."""
    if "'" in word:
        return _uncontracted(word)
    if "." in word and all(len(part) == 1 for part in word.split(".")):
        joined = word.replace(".", "")
        return CANONICAL.get(joined, (joined,))
    if ":" in word and "::" not in word:  # `note:text`, and a speaker's name
        return [part for half in word.split(":") for part in (*CANONICAL.get(half, (half,)), ",")][
            :-1
        ]
    found.exact.append(raw)
    return (word,)


def _uncontracted(word: str) -> Sequence[str]:
    if word.endswith("n't") and len(word) > 3:
        stem = word[:-3]
        return (*CANONICAL.get(stem, (stem,)), "not")
    head, _, tail = word.rpartition("'")
    head = head.rstrip(".")
    ending = {
        "re": ("are",),
        "ve": ("have",),
        "ll": ("will",),
        "m": ("am",),
        "s": (),
        "d": ("'d",),
    }.get(tail)
    if ending is None:
        return (word.replace("'", ""),)
    return (*CANONICAL.get(head, (head,)), *ending)


def _take_code(raw: str, found: _Found) -> None:
    """A code span, path, address or flag. A code span around one plain word is that word."""
    inner = raw.strip("`")
    if raw[0] == "`" and not _PLAIN.fullmatch(inner.strip()):
        # In a block indentation may be a fact; in a span it is none.
        found.tokens.append(
            "`"
            + (
                "\n".join(map(str.rstrip, inner.strip().split("\n")))
                if "\n" in inner
                else " ".join(inner.split())
            )
        )
        return
    if raw[0] == "`" and inner.strip().isalnum():
        _take_word(inner.strip(), found)
        found.exact.append(inner.strip())
        found.names.add(inner.strip().casefold())  # as with a name, one letter more is another
        return
    known = CANONICAL.get(raw.casefold())  # `w/o`
    if known is not None:
        found.tokens += known
        return
    bare = inner.strip().rstrip(".,;:!?)'\"/\\") or inner
    found.exact.append(bare)
    found.tokens.append(bare.casefold())
    if raw.endswith((".", "!")):
        found.tokens.append(".")
    elif raw.endswith("?"):
        found.tokens.append("?")


def _asked(tokens: list[str]) -> list[str]:
    """With a `?` at the end of each sentence that begins like a question, whether or not one was typed; no empty sentences."""
    found: list[str] = []
    start = 0
    for token in (*tokens, "."):
        if token not in (".", "?"):
            found.append(token)
            continue
        if len(found) > start:
            asks = token == "?" or (len(found) - start > 2 and found[start] in _ASKING)
            found.append("?" if asks else ".")
        start = len(found)
    return found


def _phrased(tokens: list[str]) -> list[str]:
    if _STARTS.keys().isdisjoint(tokens):
        return tokens
    found: list[str] = []
    at = 0
    while at < len(tokens):
        phrases = _STARTS.get(tokens[at])
        match = (
            next((p for p in phrases if tuple(tokens[at : at + len(p)]) == p), None)
            if phrases
            else None
        )
        found += PHRASES[match] if match else (tokens[at],)
        at += len(match) if match else 1
    return found


_STARTS: dict[str, list[tuple[str, ...]]] = {}
for _phrase in sorted(PHRASES, key=len, reverse=True):
    _STARTS.setdefault(_phrase[0], []).append(_phrase)


def _content(tokens: Sequence[str], light: frozenset[str]) -> Iterator[str]:
    for at, token in enumerate(tokens):
        if token in MARKS or (
            token in light and not (token == "a" and tokens[at + 1] in _AFTER_LABEL)
        ):
            continue
        if (
            token in ("on", "in")
            and at + 1 < len(tokens)
            and (tokens[at + 1] in WEEKDAYS or tokens[at + 1][0] == "@")
        ):
            continue  # `on Monday` is `Monday`
        yield (
            "in"
            if token in PLACES and at + 1 < len(tokens) and not tokens[at + 1][0].isdigit()
            else token
        )

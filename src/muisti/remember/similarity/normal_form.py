"""The normal form of a text: the words that must be equal in duplicates (contract C3).

Case, white space, quotes, dashes and punctuation are dropped; contractions and short forms are
expanded; numbers and dates get one form (`1,000` is `1000`, `ten` is `10`, `15 March` is `March
15`), but `1.10` is not `1.1`. Paths, addresses, identifiers and code stay whole. Scripts without
spaces become single characters.
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

# Not split_words: numbers, paths, operators and stops are groups, since each is normalized its own
# way. The bounds on repetitions keep the search linear, also for `x@x@x@…`.
_W = rf"[^\W{CJK}]"
_TOKEN = re.compile(
    rf"""
    (?P<plain>[A-Za-z]+(?=[\s,;!?)"\]]|\.(?:\s|$)|-[A-Za-z]|$))
  | (?P<code>```.+?```|(?<!`)`(?!`)[^`\n]+`(?!`))
  | (?P<path>{_W}+://[^\s<>"{CJK}]+ | {_W}(?:{_W}|[.+-]){{0,63}}@{_W}+(?:[.-]{_W}+)+
      | (?<!{_W})(?<![/\\])(?:{_W}:|~|\.{{1,2}})?[/\\]{{0,2}}
        (?:{_W}|[.@-]){{0,99}}(?:{_W}|@)(?:[/\\]+(?:{_W}|[.@*-])+)+[/\\]?
      | (?<!{_W})(?<![/\\<])(?:~|\.{{1,2}})?/{_W}(?:{_W}|[.-])*
      | (?<!{_W})(?<!\.)\.[a-zA-Z]{_W}+)
  | (?P<flag>(?<!{_W})(?<!-)--?[A-Za-z](?:{_W}|-)*)
  | (?P<number>(?:(?<!{_W})(?<![)\]%])-)?(?:(?<!{_W})(?<!\.)\.)?\d+(?:[.,:]\d+)*{_W}*)
  | (?P<cjk>[{CJK}])
  | (?P<word>{_W}+(?:['.:_]+{_W}+)*[+#]{{0,2}})
  | (?P<operator>[!=<>]=+|[-=]>|<-|&&|\|\||(?<!\w)!(?=\w)
      |(?<=\w)\*(?=\w)|(?<=\w\ )\*(?=\ \w)|~(?=\d)|~~|/)
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
"""Before a raised digit or a fraction: NFKC would turn 10² into 102, and 2½ into 21/2."""
_SIGNS = frozenset("$%&+<>=^")
"""ASCII signs with a meaning. The others are Markdown, tags or mentions."""
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
"""Words that follow no article: an `a` before them is a label."""
_CONTRACTIONS = {
    "re": ("are",),
    "ve": ("have",),
    "ll": ("will",),
    "m": ("am",),
    "s": (),
    "d": ("'d",),
}
MARKS = frozenset((".", ","))
"""The ends of sentences and clauses. They only matter for finding moved parts."""


@dataclass(frozen=True, slots=True)
class NormalForm:
    """The normal form of one text."""

    tokens: tuple[str, ...]
    """All tokens in order, with light words and MARKS."""
    content: tuple[str, ...]
    """The tokens that must be equal."""
    names: frozenset[str]
    """Words written with a capital."""
    exact: tuple[str, ...]
    """Paths, identifiers and code as written: their case matters."""
    text: str
    """The text with plain quotes and dashes."""
    cased: bool
    """Whether capitals have a meaning: not in a text in lower case, UPPER CASE or Title Case."""
    english: bool


def normalize(text: str) -> NormalForm:
    """Return the normal form; cached for short texts: a new memory is compared with many."""
    return _normalize_cached(text) if len(text) <= 4000 else _normalize(text)


def straighten(text: str) -> str:
    """Return the text with plain quotes and dashes, and one space for any white space."""
    return " ".join(text.translate(_STRAIGHT).split())


def _normalize(text: str) -> NormalForm:
    if not text.isascii():
        text = to_nfkc(_RAISED.sub(" ^", text)).translate(_STRAIGHT)
    if "w/" in text:
        text = _WITH.sub("with", text)
    reader = _Reader()
    for piece in _TOKEN.finditer(text):
        if piece.lastgroup == "plain":
            reader.read_plain(piece[0])
        else:
            reader.read(piece)
    tokens = join_numbers(_shorten_phrases(_mark_questions(reader.tokens)))
    is_title_case = reader.capitals > 0.75 * reader.words > 2
    cased = not text.islower() and not text.isupper() and not is_title_case
    if not cased:
        tokens = ["a" if token == _LABEL else token for token in tokens]
    exact = tuple(raw for raw in reader.exact if raw.lower() != raw.upper())
    english = not ENGLISH.isdisjoint(tokens) or len(load_real_words().intersection(tokens)) > 1
    light = LIGHT_FINNISH if not english and _FINNISH.search(text) else LIGHT
    content = tuple(_select_content(tokens, light))
    names = frozenset(reader.names)
    return NormalForm(tuple(tokens), content, names, exact, text, cased, english)


_normalize_cached = lru_cache(maxsize=256)(_normalize)


class _Reader:
    """Collects the tokens of a text."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.names: set[str] = set()
        self.exact: list[str] = []
        self.words = 0
        self.capitals = 0

    def read_plain(self, raw: str) -> None:
        """Read a word of ASCII letters only: nine of ten words."""
        word = raw.lower()
        self.words += 1
        if raw == "A" and self.tokens and self.tokens[-1] not in _ENDED:
            word = _LABEL  # vitamin A, plan A
        elif raw != word:
            if raw[0] <= "Z":
                self.capitals += 1
                self.names.add(word)
            if _HUMP.search(raw):
                self.exact.append(raw)
        known = CANONICAL.get(word)
        if known is None:
            self.tokens.append(word)
        else:
            self.tokens += known

    def read(self, piece: re.Match[str]) -> None:
        """Read any other token."""
        raw, group = piece[0], piece.lastgroup
        if group == "word":
            self._read_word(raw)
        elif group == "stop":
            if "?" in raw:
                self.tokens.append("?")
            elif not (raw == "." and _ends_abbreviation(piece)):
                self.tokens.append(".")
        elif group == "comma":
            self.tokens.append(",")
        elif group == "number":
            tokens = parse_number(raw.casefold())
            self.tokens += tokens
            if tokens[-1] == raw.casefold() and not raw.lower().endswith("th"):
                self.exact.append(raw)
        elif group in ("cjk", "operator"):
            self.tokens.append(raw)
        elif group != "sign":
            self._read_code(raw)
        elif raw in _SIGNS:
            self.tokens.append(_SPELLED.get(raw, raw))
        elif not raw.isascii() and unicodedata.category(raw) in _KEPT and raw not in "\ufe0e\ufe0f":
            self.tokens.append(raw)

    def _read_word(self, raw: str) -> None:
        if raw[0] == "_":
            raw = _EMPHASIS.sub(r"\1", raw)
            if not raw:
                return
        word = raw.casefold()
        self.words += 1
        if raw[0].isupper():
            self.capitals += 1
            self.names.add(word.removesuffix("'s"))
        known = CANONICAL.get(word)
        if known is not None:
            self.tokens += known
        elif word.isalpha():
            self.tokens.append(word)
        else:
            self._read_composed(raw, word)
        if not raw.islower() and _HUMP.search(raw):
            self.exact.append(raw)

    def _read_composed(self, raw: str, word: str) -> None:
        """Read a word with an apostrophe, a dot, an underscore or a digit in it."""
        if word.endswith("n't") and len(word) > 3:
            self.tokens += (*_canonicalize(word[:-3]), "not")
        elif "'" in word:
            head, _, tail = word.rpartition("'")
            if tail in _CONTRACTIONS:
                self.tokens += (*_canonicalize(head.rstrip(".")), *_CONTRACTIONS[tail])
            else:
                self.tokens.append(word.replace("'", ""))
        elif "." in word and all(len(part) == 1 for part in word.split(".")):  # `u.s.a`
            self.tokens += _canonicalize(word.replace(".", ""))
        elif ":" in word and "::" not in word:  # `note:text`, and a speaker's name
            first, *rest = word.split(":")
            self.tokens += _canonicalize(first)
            for part in rest:
                self.tokens += (",", *_canonicalize(part))
        else:
            self.exact.append(raw)
            self.tokens.append(word)

    def _read_code(self, raw: str) -> None:
        """Read a code span, path, address or flag. A span around one plain word is that word."""
        is_span = raw[0] == "`"
        inner = raw.strip("`").strip() if is_span else raw.strip("`")
        if is_span and not _PLAIN.fullmatch(inner):
            if "\n" in raw.strip("`"):  # in a block, indentation may matter
                code = "\n".join(map(str.rstrip, inner.split("\n")))
            else:
                code = " ".join(inner.split())
            self.tokens.append(f"`{code}")
            return
        if is_span and inner.isalnum():
            self._read_word(inner)
            self.exact.append(inner)
            self.names.add(inner.casefold())  # like a name, it may not have another letter
            return
        known = CANONICAL.get(raw.casefold())  # `w/o`
        if known is not None:
            self.tokens += known
            return
        bare = inner.strip().rstrip(".,;:!?)'\"/\\") or raw.strip("`")
        self.exact.append(bare)
        self.tokens.append(bare.casefold())
        if raw.endswith((".", "!")):
            self.tokens.append(".")
        elif raw.endswith("?"):
            self.tokens.append("?")


def _ends_abbreviation(piece: re.Match[str]) -> bool:
    """Whether a full stop belongs to the word before it: `Inc.`, `J.`, `U.S.`."""
    before = _LAST_WORD.search(piece.string, max(0, piece.start() - 8), piece.start())
    return before is not None and (
        before[0].casefold() in ABBREVIATED or len(before[0]) == 1 or before[0][-2] == "."
    )


def _canonicalize(word: str) -> Sequence[str]:
    """Return the tokens of a word; none for an empty one, as after the colon in `_note:_`."""
    return CANONICAL.get(word, (word,)) if word else ()


def _mark_questions(tokens: list[str]) -> list[str]:
    """End each sentence that begins like a question with `?`; drop empty sentences."""
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


_PHRASES_BY_WORD: dict[str, list[tuple[str, ...]]] = {}
for _phrase in sorted(PHRASES, key=len, reverse=True):
    _PHRASES_BY_WORD.setdefault(_phrase[0], []).append(_phrase)


def _shorten_phrases(tokens: list[str]) -> list[str]:
    """Replace each phrase of PHRASES with its short form; the longest phrase wins."""
    if _PHRASES_BY_WORD.keys().isdisjoint(tokens):
        return tokens
    found: list[str] = []
    at = 0
    while at < len(tokens):
        for phrase in _PHRASES_BY_WORD.get(tokens[at], ()):
            if tuple(tokens[at : at + len(phrase)]) == phrase:
                found += PHRASES[phrase]
                at += len(phrase)
                break
        else:
            found.append(tokens[at])
            at += 1
    return found


def _select_content(tokens: Sequence[str], light: frozenset[str]) -> Iterator[str]:
    """Yield the tokens that must be equal, without marks and light words."""
    for at, token in enumerate(tokens):
        following = tokens[at + 1] if at + 1 < len(tokens) else ""
        if token in MARKS:
            continue
        if token in light and not (token == "a" and following in _AFTER_LABEL):
            continue
        if token in ("on", "in") and (following in WEEKDAYS or following[:1] == "@"):
            continue  # `on Monday` is `Monday`
        yield "in" if token in PLACES and following and not following[0].isdigit() else token

"""The words of a text: for the index (`tokenize`), and as they are written (`split_words`).

Index words are made in the same way of what is stored and of what is asked (contract E1):

- Words are lower-cased, stemmed by their script's Snowball stemmer, and lose their diacritics.
- Identifiers and paths are kept whole and in parts: `src/auth/index.ts`, `snake_case`, `camelCase`.
- Scripts without spaces (and Korean, with its endings) become overlapping pairs of characters; the last
  character of a run stands alone too, so that a question of one character finds every run it occurs in.
- Every other visible symbol, emoji included, is a word of its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from muisti.text.normalize import to_nfkc
from muisti.text.scripts import PAIRED

MAX_WORD = 64
_DECORATION = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f]")
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
"""Vowel signs and the like, which Python's `\\w` leaves out, and the scripts that cannot be read without them."""


@cache
def _pieces(script: str) -> re.Pattern[str]:
    """Made when the first text is read: it is dear to compile, and who only lists memories reads none."""
    letter = {"ascii": r"\w", "any": rf"[^\W{PAIRED}]", "marked": rf"[\w{_MARKS}]"}[script]
    joined = rf"{letter}+(?:['’]{letter}+|[./\\:@#+_-]+{letter}+)*[+#]{{0,2}}|[^\w\s]"
    return (
        re.compile(joined, re.ASCII) if script == "ascii" else re.compile(rf"[{PAIRED}]+|{joined}")
    )


_PAIRED_RUN = re.compile(f"[{PAIRED}]+")
_LETTER = re.compile(rf"[\w{_MARKS}]")
_HAS_MARKS = re.compile(f"[{_MARKS}]")
_WORD = re.compile(r"\w+")
_PART = re.compile(r"[^\W_]+")
_PART_WITH_MARKS = re.compile(rf"(?:(?!_)[\w{_MARKS}])+")
_CAMEL = re.compile(r"[A-Z]+(?![^\W\dA-Z_])|[A-Z]?[^\WA-Z_]+|\d+")
_SYMBOLS_KEPT = frozenset(("So", "Sk", "Sm", "Sc"))


def tokenize(text: str, *, query: bool = False) -> list[str]:
    """The index words of a text, in order, with repetitions. Query: of a question, which names no lone last characters."""
    if not text.isascii():
        text = to_nfkc(text)
    return " ".join(map((_of_query if query else _stored).__getitem__, text.split())).split()


def split_words(text: str, *, identifiers: bool = True) -> list[str]:
    """Return the runs of letters and digits of a text as they are written, in order, with repetitions.

    With `identifiers`, underscores count as letters, so that `snake_case` stays one word; without, they separate words.
    """
    return (_WORD if identifiers else _PART).findall(text)


@lru_cache(maxsize=1024)
def compile_whole_words(pattern: str) -> re.Pattern[str]:
    """Compile a pattern that matches whole words only; in scripts without spaces, anywhere. Case does not count."""
    if (
        max(pattern) >= PAIRED[0]
    ):  # it may have such characters; the look-arounds are only then worth compiling
        begin, end = rf"(?:(?<!\w)|(?=[{PAIRED}]))", rf"(?:(?!\w)|(?<=[{PAIRED}]))"
    else:
        begin, end = r"(?<!\w)", r"(?!\w)"
    return re.compile(f"{begin}(?:{pattern}){end}", re.IGNORECASE)


class _Forms(dict[str, str]):
    """The index words of each run without spaces that was seen so far: most texts have no new ones, and so are read quickly."""

    def __init__(self, *, lone: bool) -> None:
        super().__init__()
        self._lone = lone

    def __missing__(self, run: str) -> str:
        forms = " ".join(form for piece in _cut(run) for form in self._made(piece))
        if len(run) <= MAX_WORD:
            if len(self) >= _MOST_FORMS:
                self.clear()
            self[run] = forms
        return forms

    def _made(self, piece: str) -> tuple[str, ...]:
        if _PAIRED_RUN.match(piece):
            pairs = tuple(piece[at : at + 2] for at in range(len(piece) - 1))
            return (*pairs, piece[-1]) if len(piece) == 1 or self._lone else pairs
        if not _LETTER.match(piece):
            return (piece,) if unicodedata.category(piece) in _SYMBOLS_KEPT else ()
        return tuple(filter(None, _word(piece)))


def _cut(run: str) -> list[str]:
    """A run without spaces as words, with what holds them together, and as symbols."""
    script = "ascii"
    if not run.isascii():
        script = "any"
        if _HAS_MARKS.search(run):
            run, script = _PAIRED_RUN.sub(r" \g<0> ", run), "marked"
    return _pieces(script).findall(run)


_MOST_FORMS = 100_000
_stored, _of_query = _Forms(lone=True), _Forms(lone=False)


def is_spaceless(text: str) -> bool:
    """Whether a text consists of characters that are indexed in pairs."""
    return _PAIRED_RUN.fullmatch(text) is not None


def _word(raw: str) -> tuple[str, ...]:
    """One run without spaces: the whole, and where it has parts, the parts."""
    parts = (_PART if raw.isascii() else _PART_WITH_MARKS).findall(raw)
    if len(parts) == 1 and parts[0] == raw:
        humps = _CAMEL.findall(raw) if raw != raw.lower() and not raw.isupper() else []
        if len(humps) < 2 or humps == [raw]:
            return (stem(raw),)
        return (_folded(raw.casefold())[:MAX_WORD], *_stems(humps))
    if not parts:
        return ()  # underscores alone are no word
    if "'" in raw or "’" in raw:
        bare = re.sub(r"['’]s?(?=\W|$)|['’]", "", raw)
        if _PART_WITH_MARKS.fullmatch(bare):
            return (stem(bare),)
    whole = _folded(raw.casefold())[:MAX_WORD]
    humps = [hump for part in parts for hump in (_CAMEL.findall(part) or [part])]
    joined = [stem(part) for part in parts if len(parts) > 1 and len(_CAMEL.findall(part)) > 1]
    return tuple(dict.fromkeys((whole, *joined, *_stems(humps))))


def _stems(parts: Iterable[str]) -> Iterator[str]:
    return (stem(part) for part in parts)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word without its ending, case and diacritics."""
    lowered = word.casefold()[:MAX_WORD]
    folded = _folded(lowered)
    folded = _irregular().get(folded, folded)
    if folded.isascii():  # diacritics go first: `naïve` and `naive` must become the same
        return str(_stemmer("english").stemWord(folded))
    language = _language(lowered[0])
    return _folded(_stemmer(language).stemWord(lowered)) if language else folded


_IRREGULAR = """
arise arose arisen; become became; begin began begun; bite bit bitten; blow blew blown; break broke broken; bring brought;
build built; buy bought; catch caught; choose chose chosen; come came; creep crept; deal dealt; dig dug; draw drew drawn;
drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found;
fly flew flown; forbid forbade forbidden; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen;
get got gotten; give gave given; go went gone; grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept;
know knew known; lead led; lend lent; lose lost; make made; mean meant; meet met; pay paid; ride rode ridden; ring rang rung;
rise rose risen; run ran; say said; see saw seen; seek sought; sell sold; send sent; shake shook shaken; shine shone;
shoot shot; show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; speak spoke spoken;
spend spent; stand stood; steal stole stolen; stick stuck; strike struck; swear swore sworn; swim swam swum; swing swung;
take took taken; teach taught; tear tore torn; tell told; think thought; throw threw thrown; understand understood;
wake woke woken; wear wore worn; win won; write wrote written; child children; man men; woman women; person people;
foot feet; tooth teeth; mouse mice; goose geese; live life lives; wife wives; knife knives; half halves; shelf shelves
"""
"""English words that no ending explains: each line of forms counts as its first."""


@lru_cache(maxsize=1)
def _irregular() -> dict[str, str]:
    groups = (group.split() for group in _IRREGULAR.split(";"))
    return {form: forms[0] for forms in groups for form in forms[1:]}


_STEMMERS = (
    ("CYRILLIC", "russian"),
    ("GREEK", "greek"),
    ("ARABIC", "arabic"),
    ("ARMENIAN", "armenian"),
)


@lru_cache(maxsize=64)
def _language(first: str) -> str | None:
    name = unicodedata.name(first, "")
    return next((language for script, language in _STEMMERS if name.startswith(script)), None)


@lru_cache(maxsize=8)
def _stemmer(language: str):  # type: ignore[no-untyped-def]  # PyStemmer has no types
    import Stemmer

    return Stemmer.Stemmer(language, 0)


def _folded(word: str) -> str:
    """Without diacritics, where letters have them as decoration: é is e, but a Devanagari vowel stays."""
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", _DECORATION.sub("", decomposed))

"""Splits text into words: index words (`tokenize`) and words as written (`split_words`).

Stored texts and queries are tokenized in the same way (contract E1):

- Words are lowercased, stemmed by their script's Snowball stemmer, and lose their diacritics.
- Identifiers and paths are indexed whole and in parts: `src/auth/index.ts`, `snake_case`.
- Scripts without spaces, and Korean, become overlapping pairs of characters. The last character of
  a run is also indexed alone, so that a query of one character finds every run that contains it.
- Every other visible symbol, emoji included, is a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

from muisti.text.normalize import to_nfkc
from muisti.text.scripts import PAIRED

MAX_WORD = 64
_DECORATION = "[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f]"
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
"""Vowel signs and similar marks that `\\w` does not match, and scripts that need them."""


@cache
def _compile_pieces(script: str) -> re.Pattern[str]:
    """Compile on first use: compiling is slow, and listing memories does not need it."""
    letter = {"ascii": r"\w", "any": rf"[^\W{PAIRED}]", "marked": rf"[\w{_MARKS}]"}[script]
    joined = rf"{letter}+(?:['’]{letter}+|[./\\:@#+_-]+{letter}+)*[+#]{{0,2}}|[^\w\s]"
    if script == "ascii":
        return re.compile(joined, re.ASCII)
    return re.compile(rf"[{PAIRED}]+|{joined}")


_compile: Callable[[str], re.Pattern[str]] = cache(re.compile)
_PAIRED_RUN = f"[{PAIRED}]+"
_WORD = re.compile(r"\w+")
_PART = re.compile(r"[^\W_]+")
_PART_WITH_MARKS = rf"(?:(?!_)[\w{_MARKS}])+"
_CAMEL = re.compile(r"[A-Z]+(?![^\W\dA-Z_])|[A-Z]?[^\WA-Z_]+|\d+")
_BESIDE_WORDS = '.,;:!?"()[]{}'
"""Characters beside a word that are no words and do not belong to it."""
_SYMBOLS_KEPT = frozenset(("So", "Sk", "Sm", "Sc"))


def tokenize(text: str, *, query: bool = False) -> list[str]:
    """Return the index words of a text, in order, with repetitions.

    Query: the words of a query, without the single last characters that stored texts have.
    """
    if not text.isascii():
        text = to_nfkc(text)
    forms = _query_forms if query else _stored_forms
    return " ".join(map(forms.__getitem__, text.split())).split()


def split_words(text: str, *, identifiers: bool = True) -> list[str]:
    """Return the runs of letters and digits in a text as written, in order, with repetitions.

    With `identifiers`, underscores are letters: `snake_case` is one word, else two.
    """
    return (_WORD if identifiers else _PART).findall(text)


@lru_cache(maxsize=1024)
def compile_whole_words(pattern: str) -> re.Pattern[str]:
    """Compile a pattern that matches whole words, or anywhere in scripts without spaces.

    Case is ignored.
    """
    if max(pattern) >= PAIRED[0]:  # only then it may have characters of such scripts
        begin, end = rf"(?:(?<!\w)|(?=[{PAIRED}]))", rf"(?:(?!\w)|(?<=[{PAIRED}]))"
    else:
        begin, end = r"(?<!\w)", r"(?!\w)"
    return re.compile(f"{begin}(?:{pattern}){end}", re.IGNORECASE)


class _Forms(dict[str, str]):
    """A cache of the index words of each run without spaces: most runs have been seen before."""

    def __init__(self, *, single_last: bool) -> None:
        super().__init__()
        self._single_last = single_last

    def __missing__(self, run: str) -> str:
        word = run.strip(_BESIDE_WORDS)
        if word.isascii() and word.isalpha() and (word[1:].islower() or word.isupper()):
            forms = stem(word)  # most runs are one word, maybe with a comma: what follows finds it
        else:
            forms = self._find_forms(run)
        if len(run) <= MAX_WORD:
            if len(self) >= _MAX_FORMS:
                self.clear()
            self[run] = forms
        return forms

    def _find_forms(self, run: str) -> str:
        script, text, letter = "ascii", run, _WORD
        if not run.isascii():
            script, letter = "any", _compile(rf"[\w{_MARKS}]")
            if _compile(f"[{_MARKS}]").search(run):
                script, text = "marked", _compile(_PAIRED_RUN).sub(r" \g<0> ", run)
        words: list[str] = []
        for piece in _compile_pieces(script).findall(text):
            if script != "ascii" and _compile(_PAIRED_RUN).match(piece):
                words += [piece[at : at + 2] for at in range(len(piece) - 1)]
                if len(piece) == 1 or self._single_last:
                    words.append(piece[-1])
            elif letter.match(piece):
                words += filter(None, _split_identifier(piece))
            elif unicodedata.category(piece) in _SYMBOLS_KEPT:
                words.append(piece)
        return " ".join(words)


_MAX_FORMS = 100_000
_stored_forms, _query_forms = _Forms(single_last=True), _Forms(single_last=False)


def is_spaceless(text: str) -> bool:
    """Return whether a text consists of characters that are indexed in pairs."""
    return not text.isascii() and _compile(_PAIRED_RUN).fullmatch(text) is not None


def _split_identifier(raw: str) -> tuple[str, ...]:
    """Return the index words of a run: the whole and, if it has parts, the parts."""
    parts = (_PART if raw.isascii() else _compile(_PART_WITH_MARKS)).findall(raw)
    if len(parts) == 1 and parts[0] == raw:
        humps = _CAMEL.findall(raw) if raw != raw.lower() and not raw.isupper() else []
        if len(humps) < 2 or humps == [raw]:
            return (stem(raw),)
        return (_fold(raw.casefold())[:MAX_WORD], *map(stem, humps))
    if not parts:
        return ()  # only underscores
    if "'" in raw or "’" in raw:
        bare = re.sub(r"['’]s?(?=\W|$)|['’]", "", raw)
        if _compile(_PART_WITH_MARKS).fullmatch(bare):
            return (stem(bare),)
    whole = _fold(raw.casefold())[:MAX_WORD]
    humps = [hump for part in parts for hump in (_CAMEL.findall(part) or [part])]
    joined = [stem(part) for part in parts if len(parts) > 1 and len(_CAMEL.findall(part)) > 1]
    return tuple(dict.fromkeys((whole, *joined, *map(stem, humps))))


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return a word without its ending, case and diacritics."""
    lowered = word.casefold()[:MAX_WORD]
    folded = _fold(lowered)
    folded = _IRREGULAR.get(folded, folded)
    if folded.isascii():  # diacritics go first, so that `naïve` and `naive` are the same
        return str(_make_stemmer("english").stemWord(folded))
    language = _find_language(lowered[0])
    return _fold(_make_stemmer(language).stemWord(lowered)) if language else folded


_IRREGULAR_FORMS = """
arise arose arisen; become became; begin began begun; bite bit bitten; blow blew blown; break broke
broken; bring brought; build built; buy bought; catch caught; choose chose chosen; come came; creep
crept; deal dealt; dig dug; draw drew drawn; drink drank drunk; drive drove driven; eat ate eaten;
fall fell fallen; feed fed; feel felt; fight fought; find found; fly flew flown; forbid forbade
forbidden; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten;
give gave given; go went gone; grow grew grown; hang hung; hear heard; hide hid hidden; hold held;
keep kept; know knew known; lead led; lend lent; lose lost; make made; mean meant; meet met; pay
paid; ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw seen; seek
sought; sell sold; send sent; shake shook shaken; shine shone; shoot shot; show shown; shrink shrank
shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; speak spoke spoken; spend spent; stand
stood; steal stole stolen; stick stuck; strike struck; swear swore sworn; swim swam swum; swing
swung; take took taken; teach taught; tear tore torn; tell told; think thought; throw threw thrown;
understand understood; wake woke woken; wear wore worn; win won; write wrote written; child
children; man men; woman women; person people; foot feet; tooth teeth; mouse mice; goose geese; live
life lives; wife wives; knife knives; half halves; shelf shelves
"""
_GROUPS = [group.split() for group in _IRREGULAR_FORMS.split(";")]
_IRREGULAR = {form: group[0] for group in _GROUPS for form in group}
"""Irregular forms of English words, and the form they are indexed as: the first of their group."""


_STEMMERS = (
    ("CYRILLIC", "russian"),
    ("GREEK", "greek"),
    ("ARABIC", "arabic"),
    ("ARMENIAN", "armenian"),
)


@lru_cache(maxsize=64)
def _find_language(first: str) -> str | None:
    """Return the stemmer for a word in another script than Latin, by its first letter."""
    name = unicodedata.name(first, "")
    return next((language for script, language in _STEMMERS if name.startswith(script)), None)


@lru_cache(maxsize=8)
def _make_stemmer(language: str):  # type: ignore[no-untyped-def]  # PyStemmer has no types
    import Stemmer

    return Stemmer.Stemmer(language, 0)


def _fold(word: str) -> str:
    """Remove diacritics that decorate a letter: é becomes e, but Devanagari vowels stay."""
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", _compile(_DECORATION).sub("", decomposed))

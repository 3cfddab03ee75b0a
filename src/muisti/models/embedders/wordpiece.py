"""BERT's uncased WordPiece tokenizer in plain Python: the same token ids as the original, without a library.

A text is cleaned of control characters, lower-cased, stripped of accents, split at spaces, punctuation and Chinese
characters, and each word is cut greedily into the longest pieces that the vocabulary has. All of this looks at one
character at a time, so one table does it in one pass, in linear time, for any `str` at all.

Special tokens that stand in a text, such as `[SEP]`, are read as ordinary characters: a text cannot end itself.
"""

from __future__ import annotations

import gzip
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import resources

MAX_WORD = 100
"""Characters; a longer word is one unknown token, as in the original."""
_CACHED_WORDS = 50_000
# BERT's own list, not `text.scripts`: token ids must be those that the models learned with.
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # the original has this gap after 2B81F, and the models learned with it
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class _Characters(dict[int, str]):
    """What each character becomes; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        made = self[code] = _normal(chr(code))
        return made


def _normal(char: str) -> str:
    """One character: dropped, spaced out, lower-cased, or as it is."""
    if char in "\t\n\r":
        return " "
    if char == "\ufffd" or unicodedata.category(char) in {"Cc", "Cf", "Co", "Cs"}:
        return ""
    if char.isspace():
        return " "
    bare = "".join(
        part for part in unicodedata.normalize("NFD", char) if unicodedata.category(part) != "Mn"
    )
    spaced = "".join(
        f" {low} " if _is_punctuation(low) else low for part in bare for low in part.lower()
    )
    return f" {spaced} " if any(first <= ord(char) <= last for first, last in _CJK) else spaced


def _is_punctuation(char: str) -> bool:
    if char.isascii():
        return (
            char.isprintable() and not char.isalnum() and char != " "
        )  # BERT counts $ + < = > ^ ` | ~ as punctuation
    return unicodedata.category(char).startswith("P")


_CHARACTERS = _Characters()


class WordPiece:
    """Cuts texts into the tokens of one vocabulary. Threads may share it."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._ids = {piece: number for number, piece in enumerate(vocabulary)}
        self._unknown = self._ids["[UNK]"]
        self._start = self._ids["[CLS]"]
        self._end = self._ids["[SEP]"]
        self._known = lru_cache(maxsize=_CACHED_WORDS)(self._cut)

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """Token ids from [CLS] to [SEP], never more than `max_tokens` of them (at least 2)."""
        room = max(0, max_tokens - 2)
        ids: list[int] = []
        for pieces in self._pieces(text):
            ids += pieces
            if len(ids) >= room:
                break
        return [self._start, *ids[:room], self._end]

    def count(self, text: str) -> int:
        """How many tokens a text is, [CLS] and [SEP] not counted."""
        return sum(map(len, self._pieces(text)))

    def _pieces(self, text: str) -> Iterator[tuple[int, ...]]:
        unknown = (self._unknown,)
        for word in text.translate(_CHARACTERS).split():
            yield self._known(word) if len(word) <= MAX_WORD else unknown

    def _cut(self, word: str) -> tuple[int, ...]:
        found: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._ids.get(mark + word[start:end])
                if number is not None:
                    break
            else:
                return (self._unknown,)  # one piece unknown makes the whole word unknown
            found.append(number)
            start = end
        return tuple(found)


@lru_cache(maxsize=1)
def load_bert_uncased() -> WordPiece:
    """The tokenizer with the 30,522 pieces of BERT uncased, which every model of the catalogue uses."""
    packed = resources.files(__package__).joinpath("vocab", "bert_uncased.txt.gz").read_bytes()
    return WordPiece(gzip.decompress(packed).decode("utf-8").rstrip("\n").split("\n"))

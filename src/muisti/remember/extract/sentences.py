"""The sentences that a person wrote in a chat message: without code, tables, quotations and pictures.

Everything works line by line with bounded patterns, so that hostile text costs no more than its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from muisti.text.sentences import split_sentences

READ = 20_000
"""Characters of one message that are looked at: what comes later is pasted, not said."""
LONGEST = 600
"""Characters of a sentence; a longer one is a dump or a list, and no memory can be short enough to hold it."""

_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_MARKER = re.compile(r"\s*(?:[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_CODE_LINE = re.compile(
    r"\s*(?:def |class \w+[:(]|import \w|from \w+ import|function |const |let \w+ =|var \w+ =|"
    r"return\b.*;|if \(|"
    r"for \(|while \(|"
    r"#include|@\w+\s*$|<[/!?]?[a-z]+[ >/]|\$ |>>> |\.\.\. |Traceback|File \"|at [\w.$]+\(|"
    r"SELECT .* FROM |"
    r"[{}\[\]()]+[,;]?\s*$|[{\[]\s*[\"'{\[])"
)
_CODE_SIGNS = frozenset("{}[]();=<>|\\&^~")
_PICTURE = re.compile(
    r"!\[[^\]\n]{0,300}\]\([^)\n]{0,500}\)|\[(?:image|photo|picture|img|sticker|"
    r"gif):[^\]\n]{0,500}\]",
    re.I,
)
_LINK = re.compile(r"(?<!!)\[([^\]\n]{1,200})\]\([^)\s]{1,500}\)")
_EMPHASIS = re.compile(r"\*\*|(?<!\w)\*{1,3}(?=\w)|(?<=[\w.!?])\*{1,3}(?!\w)")
_UNDERLINED = re.compile(r"(?<!\w)_([^_\n]{1,100})_(?!\w)")
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d\u2b50]+|(?<!\\S)[:;]-?[)(DPp](?!\\S)"
)
_LONG_ADDRESS = re.compile(r"https?://\S{100,}")
_ONLY_ADDRESS = re.compile(r"(?:(?:https?://|www\.)\S+(?:\s+|$))+")
_WHOLE_QUOTATION = re.compile(r"[\"«「][^\"»」]*[\"»」]?[.!?]?")
"""From its first character to its last, or to the next sentence: another's words."""
_STRAIGHT = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "\u00a0": " ", "\u3000": " "}
)

_WRITTEN_OUT: Mapping[str, str] = {
    "i": "I", "im": "I'm", "ive": "I've", "i'm": "I'm", "i've": "I've", "i'll": "I'll", "i'd": "I'd", "dont": "don't",
    "cant": "can't", "didnt": "didn't", "doesnt": "doesn't", "isnt": "isn't", "wasnt": "wasn't", "havent": "haven't",
}  # fmt: skip
_HASTY = re.compile(
    rf"(?<![\w./'-])(?:{'|'.join(sorted(_WRITTEN_OUT, key=len, reverse=True))})(?![\w./'-]\w|\w)",
    re.I,
)


def read_sentences(text: str) -> list[str]:
    """In order, each in one line with plain apostrophes and single spaces. Questions are among them."""
    found = (
        one.strip()
        for line in _prose(text[:READ])
        for one in split_sentences(line, abbreviations=True)
    )
    return [sentence for sentence in found if _is_said(sentence)]


def expand_shorthand(sentence: str) -> str:
    """With the capitals and apostrophes of the first person that fast typing leaves out: "im", "dont", "i"."""
    return _HASTY.sub(lambda word: _WRITTEN_OUT.get(word[0].lower(), word[0]), sentence)


def _prose(text: str) -> Iterator[str]:
    """The lines that are someone's own words; lines of one paragraph are joined."""
    paragraph: list[str] = []
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not _is_foreign(line):
            if paragraph and (
                _MARKER.match(line)
                or not line.strip()
                or paragraph[-1].endswith((".", "!", "?", ":", "。"))
            ):
                yield " ".join(paragraph)
                paragraph = []
            paragraph.append(_cleaned(line))
            continue
        if paragraph:
            yield " ".join(paragraph)
            paragraph = []
    if paragraph:
        yield " ".join(paragraph)


def _is_foreign(line: str) -> bool:
    """Whether a line is code, data, a heading, a table's row or another's words."""
    bare = line.strip()
    if (
        bare.startswith((">", "|"))
        or bare.count("|") > 1
        or _HEADING.match(line)
        or _CODE_LINE.match(line)
    ):
        return True
    signs = sum(character in _CODE_SIGNS for character in bare)
    return signs > 3 and signs * 8 > len(bare)


def _cleaned(line: str) -> str:
    line = line.translate(_STRAIGHT)
    marker = _MARKER.match(line)
    line = line[marker.end() :] if marker else line
    line = _LINK.sub(r"\1", _PICTURE.sub(" ", line))
    line = _LONG_ADDRESS.sub(" ", line)
    if not line.isascii() or ":" in line or ";" in line:
        line = _EMOJI.sub(" ", line)
    if "*" in line or "_" in line:
        line = _UNDERLINED.sub(r"\1", _EMPHASIS.sub("", line))
    return " ".join(line.split())


def _is_said(sentence: str) -> bool:
    if len(sentence) > LONGEST or not any(character.isalnum() for character in sentence):
        return False
    return not (_ONLY_ADDRESS.fullmatch(sentence) or _WHOLE_QUOTATION.fullmatch(sentence))

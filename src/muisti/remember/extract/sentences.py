"""Read the sentences of a message, without code, tables, quotations and pictures.

It works line by line with bounded patterns, so that the time is linear for hostile text too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from muisti.text.sentences import split_sentences

READ = 20_000
"""Characters of a message that are read: the rest is pasted, not typed."""
LONGEST = 600
"""Characters of a sentence; a longer one is a dump or a list."""

_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_MARKER = re.compile(r"\s*(?:[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_CODE_LINE = re.compile(
    r"\s*(?:def |class \w+[:(]|import \w|from \w+ import|function |const |let \w+ =|var \w+ =|"
    r"return\b.*;|if \(|"
    r"for \(|while \(|"
    r"#include|@\w+\s*$|<[/!?]?[a-z]+[ >/]|\$ |>>> |\.\.\. |Traceback|File \"|at [\w.$]+\(|"
    r"SELECT .* FROM |"
    r"[{}\[\]()]+[,;]?\s*$|[{\[]\s*[\"'{\[]|"
    r"[a-z]\w{0,40}_\w{0,40} [-+*/]?= \S)"
)
_CODE_CHARS = frozenset("{}[]();=<>|\\&^~")
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
"""A sentence that is a quotation as a whole, or begins one."""
_STRAIGHT = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "\u00a0": " ", "\u3000": " "}
)

_WRITTEN_OUT: Mapping[str, str] = {
    "i": "I", "im": "I'm", "ive": "I've", "i'm": "I'm", "i've": "I've", "i'll": "I'll",
    "i'd": "I'd", "dont": "don't", "cant": "can't", "didnt": "didn't", "doesnt": "doesn't",
    "isnt": "isn't", "wasnt": "wasn't", "havent": "haven't",
}  # fmt: skip
_HASTY = re.compile(
    rf"(?<![\w./'-])(?:{'|'.join(sorted(_WRITTEN_OUT, key=len, reverse=True))})(?![\w./'-]\w|\w)",
    re.I,
)


def read_sentences(text: str) -> list[str]:
    """Return the sentences in order, questions included.

    Each is one line with plain apostrophes and single spaces.
    """
    found = []
    for paragraph in _read_paragraphs(text[:READ]):
        for sentence in split_sentences(paragraph, abbreviations=True):
            sentence = sentence.strip()  # noqa: PLW2901
            if len(sentence) > LONGEST or not any(char.isalnum() for char in sentence):
                continue
            if _ONLY_ADDRESS.fullmatch(sentence) or _WHOLE_QUOTATION.fullmatch(sentence):
                continue
            found.append(sentence)
    return found


def expand_shorthand(sentence: str) -> str:
    """Restore the capitals and apostrophes that fast typing omits: "im", "dont", "i"."""
    return _HASTY.sub(lambda word: _WRITTEN_OUT.get(word[0].lower(), word[0]), sentence)


def _read_paragraphs(text: str) -> Iterator[str]:
    """Yield the user's own paragraphs, each as one line."""
    paragraph: list[str] = []
    is_fenced = False
    for line in text.splitlines():
        is_own = False
        if _FENCE.match(line):
            is_fenced = not is_fenced
        elif not is_fenced:
            is_own = not _is_quoted_or_code(line)
        begins_another = paragraph and (
            not is_own
            or not line.strip()
            or _MARKER.match(line)
            or paragraph[-1].endswith((".", "!", "?", ":", "。"))
        )
        if begins_another:
            yield " ".join(paragraph)
            paragraph = []
        if is_own:
            paragraph.append(_clean_line(line))
    if paragraph:
        yield " ".join(paragraph)


def _is_quoted_or_code(line: str) -> bool:
    """Whether a line is code, data, a heading, a table row or a quotation."""
    bare = line.strip()
    if bare.startswith((">", "|")) or bare.count("|") > 1:
        return True
    if _HEADING.match(line) or _CODE_LINE.match(line):
        return True
    code = sum(char in _CODE_CHARS for char in bare)
    return code > 3 and code * 8 > len(bare)


def _clean_line(line: str) -> str:
    """Return a line without list markers, pictures, emoji, long addresses and emphasis."""
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

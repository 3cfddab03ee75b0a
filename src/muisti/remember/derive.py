"""What muisti works out by itself: title, concepts, hashes."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import replace

from muisti.model import Memory
from muisti.remember.concepts import extract_concepts
from muisti.text.normalize import to_nfkc
from muisti.text.sentences import get_first_sentence
from muisti.text.simhash import simhash

TITLE_LENGTH = 80
_HEADING = re.compile(r"#{1,6}[ \t]+(\S.*)")
# An underscore inside a word is a letter of an identifier, and one tilde is somebody's home folder.
_MARKUP = re.compile(
    r"[*`]{1,3}(?=\S)|(?<=\S)[*`]{1,3}|~~|(?<!\w)_{1,3}(?=[^\W_]+[^\w]|[^\W_]+_{1,3}(?!\w))|(?<=[^\W_])_{1,3}(?!\w)"
    r"|^\s*(?:[-*+>]|\d+[.)])\s+"
)


def derive_fields(memory: Memory) -> Memory:
    """The memory with everything that follows from its content."""
    return replace(
        memory,
        concepts=memory.concepts or extract_concepts(memory.content),
        content_hash=hash_content(memory.content),
        simhash=simhash(memory.content),
    )


def hash_content(content: str) -> str:
    """Equal for texts that differ only in white space and in compatible forms of the same characters."""
    folded = content if _is_folded(content) else " ".join(to_nfkc(content).split())
    return hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()


def _is_folded(content: str) -> bool:
    """Whether it is plain text on one line with single blanks, as most messages are: then there is nothing to fold."""
    return (
        content.isascii()
        and content.isprintable()
        and "  " not in content
        and content[:1] != " "
        and content[-1:] != " "
    )


def derive_title(content: str) -> str:
    """The heading that the text begins with, else its first sentence, cut at a word."""
    line = next((line.strip() for line in content.splitlines() if line.strip()), "")
    heading = _HEADING.match(line)
    plain = _MARKUP.sub("", heading[1].rstrip("# \t") if heading else line).strip() or line
    if not heading:
        plain = get_first_sentence(plain).strip() or plain
    visible = "".join(
        " " if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") else char for char in plain
    )
    return _shortened(" ".join(visible.split()))


def _shortened(text: str) -> str:
    if len(text) <= TITLE_LENGTH:
        return text
    cut = text[: TITLE_LENGTH - 1]
    at_word = cut.rsplit(" ", 1)[0] if " " in cut[TITLE_LENGTH // 2 :] else cut
    return f"{at_word}…"

"""A short summary of a session, made by rules from its messages and memories. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from muisti.model import Memory, Message
from muisti.text.routine_words import is_routine
from muisti.text.sentences import split_sentences
from muisti.text.stop_words import remove_stop_words
from muisti.text.tokens import tokenize

MAX_CHARS = 160
"""Characters of a line."""
FIRST, LAST = 2, 4
"""How many of the first and the last requests are listed."""
MAX_MEMORIES = 6
_DECISION_KINDS = ("decision", "preference", "insight", "bugfix", "discovery")
_CODE = re.compile(r"(?s)```.*?(?:```|\Z)")


def summarize_session(messages: Sequence[Message], memories: Sequence[Memory]) -> str:
    """Return requests, decisions and the last reply; without requests, what was saved.

    "" if the user requested nothing specific and nothing was saved.
    """
    prompts = [one.content for one in messages if one.role == "user"]
    requests = _unique([_first_sentence(one) for one in prompts if _is_specific(one)])
    if not requests:
        saved = _unique([_first_sentence(one.content) for one in memories])[-MAX_MEMORIES:]
        return "\n".join(["Saved:", *(f"- {line}" for line in saved)]) if saved else ""
    if len(requests) > FIRST + LAST:
        requests = [*requests[:FIRST], *requests[-LAST:]]
    lines = ["Asked:", *(f"- {line}" for line in requests)]
    found = [_first_sentence(one.content) for one in memories if one.kind in _DECISION_KINDS]
    if decisions := _unique(found)[-MAX_MEMORIES:]:
        lines += ["Decided or learned:", *(f"- {line}" for line in decisions)]
    if replies := [one.content for one in messages if one.role == "assistant"]:
        lines += ["Last answer:", f"- {_first_sentence(replies[-1])}"]
    return "\n".join(lines)


def _unique(lines: list[str]) -> list[str]:
    return list(dict.fromkeys(lines))


def _is_specific(text: str) -> bool:
    """Return whether it says more than "thanks", "continue" or "run the tests"."""
    words = remove_stop_words(list(dict.fromkeys(tokenize(text[:1000], query=True))))
    return len(words) > 1 and any(not is_routine(word) for word in words)


def _first_sentence(text: str) -> str:
    """Return the first specific sentence on one line, without code blocks."""
    plain = " ".join((_CODE.sub(" ", text[: 20 * MAX_CHARS]) or text[:MAX_CHARS]).split())
    sentences = [one.strip() for one in split_sentences(plain)] or [plain]
    first = next((one for one in sentences if _is_specific(one)), sentences[0])
    return first if len(first) <= MAX_CHARS else f"{first[: MAX_CHARS - 1].rstrip()}…"

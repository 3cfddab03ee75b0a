"""Which of the memories that a search found really matter for a prompt. Pure.

A search answers whatever it is asked: its best is the best there is, and most prompts ask for nothing that is remembered.
So a memory has to have at least two telling words of the prompt, close together; they must be most of what the prompt
says, by how rare each word is; and they must be rarer together than what one of so many memories has by chance.
In a question, one word is enough if hardly any other memory has it: "who is Sanna?".
Measured by `benchmarks/hooks.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache

from muisti.text.tokens import stem, tokenize

COVERED = 0.45
"""Which share of the prompt, weighed by how rare its words are, a memory must have."""
TELLING = 1.0
"""How rare its words must be together: 1 is one memory of all there are."""
FEWEST = 2
RARE = 0.8
"""How rare the word of a question must be, if it is the only one: of 10,000 memories no more than five may have it."""
WINDOW = 300
"""Characters within which the words must stand."""
MOST_READ = 6_000
UNSEEN_TEXTS = 200
"""Texts without the word that are counted in addition: in a vault of three, no word is common for being in two."""
LONGEST_PROMPT = 1_000
_ROUTINE = """
accept add again agree apply build change check clean code commit complete continue correct debug delete diff done edit
error execute explain fail file finish fix function go good great hello help hi implement improve issue keep lint line list look
make method morning move name next nice now ok okay open perfect problem proceed pull push ready refactor remove rename
repeat request rerun retry revert review right run save see show short simplify start step stop sure test thank thanks think
thing try undo update use variable wait warning work write wrong yep yes
"""
"""What people tell a coding agent all day: no reason to recall anything, unless it is part of a question."""
_ASKS = re.compile(
    r"\?|^\W*(?:what|which|how|where|when|who|whom|whose|why|did|does|do|is|are|was|were|can|could|should|have|has|remind|recall"
    r"|remember)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?s)```.*?(?:```|\Z)")
_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|\Z)")


def extract_text(prompt: str) -> str:
    """What of a prompt is worth a search: no pasted code, the beginning and the end of a long one. May be ""."""
    text = _CODE.sub(" ", prompt).strip()
    if is_command(text):
        return ""
    return (
        text
        if len(text) <= LONGEST_PROMPT
        else f"{text[: LONGEST_PROMPT * 6 // 10]} {text[-LONGEST_PROMPT * 4 // 10 :]}"
    )


def is_command(prompt: str) -> bool:
    """Whether it is an order to the agent's own program, such as `/compact`."""
    return bool(_COMMAND.match(prompt.strip()))


def is_relevant(
    asks: bool, told: Sequence[str], counts: Mapping[str, int], texts: int, memory: str
) -> bool:
    """Whether a memory matters for a prompt.

    Asks: the prompt is a question. Told: its index words. Counts: in how many of all texts each stands.
    """
    everything = texts + UNSEEN_TEXTS
    weights = {word: math.log(everything / (counts.get(word, 0) + 1)) for word in told}
    best = alone = 0.0
    for own in _windows(memory):
        found = {
            word: weight
            for word, weight in weights.items()
            if word in own and (asks or word not in _routine())
        }
        if len(found) >= FEWEST:
            best = max(best, math.fsum(found.values()))
        elif asks:
            alone = max(
                alone, *(weight for word, weight in found.items() if word not in _routine()), 0.0
            )
    enough = COVERED * math.fsum(weights.values())
    return best >= max(enough, TELLING * math.log(everything)) or alone >= max(
        enough, RARE * math.log(everything)
    )


def is_specific(prompt: str, telling: int) -> bool:
    """Whether a prompt with so many telling words says enough to look for anything."""
    return telling >= (1 if is_question(prompt) else FEWEST)


def is_question(prompt: str) -> bool:
    """Whether something is asked, rather than told to be done."""
    return bool(_ASKS.search(prompt))


def _windows(memory: str) -> list[set[str]]:
    text = memory[:MOST_READ]
    half = WINDOW // 2
    return [
        set(tokenize(text[at : at + WINDOW])) for at in range(0, max(1, len(text) - half), half)
    ]


def is_routine(word: str) -> bool:
    """Whether an index word says nothing by itself: it is said to a coding agent all day."""
    return word in _routine()


@cache
def _routine() -> frozenset[str]:
    return frozenset(map(stem, _ROUTINE.split()))

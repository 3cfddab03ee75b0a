"""Decide whether a memory that a search found is relevant to a prompt. Pure.

A search always returns its best results, but most prompts are not about anything remembered. Weak
results, those below the floor of `muisti.recall.confidence`, are left out before. Where vectors
were compared, the score is enough if it is high, unless the prompt is routine. It was fitted to
questions, but many prompts are instructions. So otherwise a memory must also contain at least two
significant words of the prompt, close together. Weighted by how rare each word is, they must cover
much of the prompt, and be rarer together than chance explains. In a question one word is enough if
hardly any other memory has it: "who is Sanna?".
The constants were measured with `benchmarks/hooks.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from muisti.text.routine_words import is_routine
from muisti.text.tokens import tokenize

CONFIDENT = 0.3
"""The score of a hybrid search from which no word has to match."""
MIN_SCORE = 0.08
"""The least score of a memory that contains much of the prompt."""
MIN_COVERAGE = 0.4
"""The share of the prompt that a memory must contain, weighted by how rare the words are."""
MIN_RARITY = 1.0
"""How rare the words must be together; 1 means that one memory of all has them."""
MIN_WORDS = 2
MIN_RARITY_ALONE = 0.8
"""How rare a question's only word must be: at most five of 10,000 memories have it."""
WINDOW = 300
"""Characters within which the words must occur."""
MAX_CHARS = 6_000
SMOOTHING = 200
"""Added to the number of texts, so that in a small vault no word counts as common."""
MAX_QUERY_CHARS = 1_000
_QUESTION = re.compile(
    r"\?|^\W*(?:what|which|how|where|when|who|whom|whose|why|did|does|do|is|are|was|were|can|could"
    r"|should|have|has|remind|recall|remember)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?s)```.*?(?:```|\Z)")
_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|\Z)")


def extract_text(prompt: str) -> str:
    """Return the searchable text: without code blocks, and with the middle of a long one cut."""
    text = _CODE.sub(" ", prompt).strip()
    if is_command(text):
        return ""
    if len(text) <= MAX_QUERY_CHARS:
        return text
    return f"{text[: MAX_QUERY_CHARS * 6 // 10]} {text[-MAX_QUERY_CHARS * 4 // 10 :]}"


def is_command(prompt: str) -> bool:
    """Return whether the prompt is a command of the agent's own program, such as `/compact`."""
    return bool(_COMMAND.match(prompt.strip()))


def is_confident(score: float, words: Sequence[str]) -> bool:
    """Return whether a hybrid search is sure enough, for a prompt with these index words."""
    return score >= CONFIDENT and sum(not is_routine(word) for word in words) >= MIN_WORDS


def is_relevant(
    is_question: bool, words: Sequence[str], counts: Mapping[str, int], texts: int, memory: str
) -> bool:
    """Return whether a memory is relevant to a prompt.

    Words: the prompt's index words. Counts: how many of all `texts` contain each word.
    """
    total = texts + SMOOTHING
    weights = {word: math.log(total / (counts.get(word, 0) + 1)) for word in words}
    best = alone = 0.0
    text = memory[:MAX_CHARS]
    step = WINDOW // 2
    for start in range(0, max(1, len(text) - step), step):
        window = set(tokenize(text[start : start + WINDOW]))
        found = [word for word in weights if word in window]
        if not is_question:
            found = [word for word in found if not is_routine(word)]
        if len(found) >= MIN_WORDS:
            best = max(best, math.fsum(weights[word] for word in found))
        elif is_question and found and not is_routine(found[0]):
            alone = max(alone, weights[found[0]])
    coverage = MIN_COVERAGE * math.fsum(weights.values())
    return best >= max(coverage, MIN_RARITY * math.log(total)) or alone >= max(
        coverage, MIN_RARITY_ALONE * math.log(total)
    )


def is_specific(prompt: str, significant_words: int) -> bool:
    """Return whether a prompt with this many significant words is worth a search."""
    return significant_words >= (1 if is_question(prompt) else MIN_WORDS)


def is_question(prompt: str) -> bool:
    """Return whether the prompt asks something, rather than giving an instruction."""
    return bool(_QUESTION.search(prompt))

"""Choose the part of a text to show. Pure."""

from __future__ import annotations

from itertools import pairwise

from muisti.text.tokens import tokenize

LENGTH = 500
"""Most memories are shorter, and are shown whole."""
_READ = 40_000


def make_snippet(content: str, wanted: frozenset[str], length: int = LENGTH) -> str:
    """Return at most `length` characters around the place with the most wanted words.

    The text is cut between sentences where possible.
    """
    if len(content) <= length:
        return content.strip()
    from muisti.text.sentences import find_sentence_ends  # slow to import, and most are short

    text = content[:_READ]
    edges = [0, *find_sentence_ends(text, lines=True), len(text)]
    sentences = [(begin, end) for begin, end in pairwise(edges) if begin < end]

    def count_distinct(sentence: tuple[int, int]) -> int:
        return len(wanted.intersection(tokenize(text[sentence[0] : sentence[1]])))

    def count_all(at: int) -> int:
        return sum(word in wanted for word in tokenize(text[at : at + length]))

    start, end = max(sentences, key=count_distinct)
    if end - start > length:
        # One overlong sentence: show the best window of it.
        steps = [*range(start, end - length, length // 2), end - length]
        start = max(steps, key=count_all)
        end = min(end, start + length)
    else:
        for _, next_end in sentences:
            if end < next_end <= start + length:
                end = next_end
    shown = " ".join(content[start:end].split())
    before = "… " if start > 0 else ""
    after = " …" if end < len(content.rstrip()) else ""
    return f"{before}{shown}{after}"

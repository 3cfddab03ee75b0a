"""A text in the pieces that an embedder reads: by its own tokens, and broken where a reader would pause. Pure.

Tokens of pieces are counted once and added up. That is safe because pieces meet at white space or at the end of a sentence:
a tokenizer that reads both at once can only merge across the seam, so a join never has more tokens than its parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from muisti.text.markdown import Block, parse_blocks, trim_span
from muisti.text.sentences import find_sentence_ends

SIZE = 400
OVERLAP = 80
SMALLEST = 16
"""Below this many tokens there is no room for a heading and a word."""
LONGEST_TOKEN = 16
"""Characters that count as a token at least: tokenizers read a word they do not know, however long, as one."""
_SEPARATOR = " > "
_LINE = re.compile(r"\r\n?|\n")
_WHITE = re.compile(r"\s*+")
_Ends = Callable[[str, int, int], Iterator[int]]
"""Where a part of a text may be broken."""


def _line_ends(content: str, start: int, end: int) -> Iterator[int]:
    return (match.end() for match in _LINE.finditer(content, start, end))


_PROSE: tuple[_Ends, ...] = (find_sentence_ends, _line_ends)
_CODE: tuple[_Ends, ...] = (_line_ends,)  # a full stop in code ends nothing
_REMEMBERED = 64
"""Texts up to this length are counted once: gaps, list marks and short lines come again and again."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """`content[start:end]`, with the path of the headings above it, cut to what there is room for.

    `title_shown` is how many characters of the title there is room for.
    """

    start: int
    end: int
    heading: tuple[str, ...] = ()
    title_shown: int = 0

    def text(self, content: str) -> str:
        """The chunk's own words."""
        return content[self.start : self.end]


def format_for_embedding(content: str, title: str, chunk: Chunk) -> str:
    """What the embedder reads: the title and the headings above, an empty line, and the chunk's own words."""
    return _lead(title[: chunk.title_shown], chunk.heading) + chunk.text(content)


def split_chunks(
    content: str,
    count_tokens: Callable[[str], int],
    *,
    title: str = "",
    size: int = SIZE,
    overlap: int = OVERLAP,
) -> list[Chunk]:
    """The chunks of a Markdown text, in order; none for one without a word.

    Every character but white space is in at least one; starts strictly increase; `embedded_text` with the same title is at
    most `size` tokens. Headings, code, list items and table rows that fit are whole. A chunk begins with the last
    blocks or sentences of the one before it, up to `overlap` tokens, unless a section of level 1 or 2 begins.
    Raises ValueError if `size` is below SMALLEST or `overlap` is negative.
    """
    if size < SMALLEST or overlap < 0:
        raise ValueError(
            f"a chunk needs at least {SMALLEST} tokens and an overlap that is not negative"
        )
    whole = trim_span(content, 0, len(content))
    if whole is None:
        return []
    budget = _Budget(count_tokens, title, size)
    if budget.cost(content[slice(*whole)]) <= budget.room(()):
        return [Chunk(*whole, title_shown=budget.title_shown)]
    breaker = _Breaker(content, budget)
    packer = _Packer(content, breaker, min(overlap, size // 2))
    return list(packer.packed(_groups(breaker, parse_blocks(content))))


def _lead(title: str, heading: Sequence[str]) -> str:
    lines = [line for line in (title, _SEPARATOR.join(heading)) if line]
    return "\n".join(lines) + "\n\n" if lines else ""


class _Budget:
    """What texts cost, and how much a chunk may hold below its headings."""

    def __init__(self, count_tokens: Callable[[str], int], title: str, size: int) -> None:
        self._count = count_tokens
        self._empty = count_tokens(
            ""
        )  # the marks that a tokenizer puts around every text: paid once, not per piece
        self._costs: dict[str, int] = {}
        self._leads: dict[tuple[str, ...], tuple[tuple[str, ...], int]] = {}
        self.size = size
        self.title_shown = self.prefix(title, size // 8) if title else 0
        self._title = title[: self.title_shown]

    def cost(self, text: str) -> int:
        """Tokens of a text; for one far too long, an estimate that is too long as well, without reading it."""
        least = len(text) // LONGEST_TOKEN
        if least > self.size:
            return least
        known = self._costs.get(text)
        if known is None:
            known = max(least, self._count(text) - self._empty) if text else 0
            if len(text) <= _REMEMBERED:
                self._costs[text] = known
        return known

    def prefix(self, text: str, room: int) -> int:
        """How many characters of a text fit into `room`, at least one: up to a white space, if there is one."""
        length = min(len(text), 6 * room)
        while length > 1 and (cost := self.cost(text[:length])) > room:
            length = max(1, min(length - 1, length * room // cost))
        if length == len(text):
            return length
        space = max(text.rfind(white, 1, length + 1) for white in " \n\r\t　")
        return space if space > 0 else length

    def heading(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """The nearest headings of a path, as many as a quarter of the chunk holds."""
        return self._led(path)[0]

    def room(self, path: tuple[str, ...]) -> int:
        """Tokens that are left for the text below a path of headings."""
        return self.size - self._empty - self._led(path)[1]

    def _led(self, path: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
        if path not in self._leads:
            shown = self._cut(path)
            self._leads[path] = shown, self.cost(_lead(self._title, shown))
        return self._leads[path]

    def _cut(self, path: tuple[str, ...]) -> tuple[str, ...]:
        while len(path) > 1 and self.cost(_SEPARATOR.join(path)) > self.size // 4:
            path = path[1:]
        return tuple(title[: self.prefix(title, self.size // 4)] for title in path if title)


@dataclass(frozen=True, slots=True)
class _Piece:
    """What is never broken again: a block, or a part of one that was too long."""

    start: int
    end: int
    tokens: int
    path: tuple[str, ...]
    level: int = 0
    code: bool = True


class _Breaker:
    """Blocks into pieces that fit."""

    def __init__(self, content: str, budget: _Budget) -> None:
        self._content = content
        self.budget = budget

    def broken(self, block: Block, room: int, path: tuple[str, ...]) -> Iterator[_Piece]:
        """The block in one piece if it fits; otherwise its inner blocks, or its sentences, lines, words, in this order."""
        prose = not (block.code or block.inner)
        tokens = self._cost(block.start, block.end)
        if tokens <= room:
            yield _Piece(block.start, block.end, tokens, path, block.level, code=not prose)
            return
        for inner in block.inner:
            yield from self.broken(inner, room, path)
        if not block.inner:
            for start, end, cost in self._split(
                block.start, block.end, room, _CODE if block.code else _PROSE
            ):
                yield _Piece(start, end, cost, path, block.level, code=block.code)

    def extent(self, pieces: Sequence[_Piece]) -> int:
        """Tokens from the first piece to the last, with what is between them."""
        return sum(piece.tokens for piece in pieces) + sum(map(self.gap, pieces, pieces[1:]))

    def gap(self, before: _Piece, after: _Piece) -> int:
        """Tokens of the white space between two pieces."""
        return self._cost(before.end, after.start)

    def _cost(self, start: int, end: int) -> int:
        return self.budget.cost(self._content[start:end])

    def _split(
        self, start: int, end: int, room: int, ladder: tuple[_Ends, ...]
    ) -> Iterator[tuple[int, int, int]]:
        cost = self._cost(start, end)
        if cost <= room:
            yield start, end, cost
        elif ladder:
            for part in _parted(self._content, start, end, ladder[0]):
                yield from self._split(*part, room, ladder[1:])
        else:
            yield from self._cut(start, end, room)

    def _cut(self, start: int, end: int, room: int) -> Iterator[tuple[int, int, int]]:
        """Between words, or anywhere in a word that is too long."""
        while start < end:
            window = self._content[start : min(end, start + LONGEST_TOKEN * room)]
            stop = start + self.budget.prefix(window, room)
            yield start, stop, self._cost(start, stop)
            start = _skipped(self._content, stop)


def _skipped(content: str, at: int) -> int:
    """The next place that is not white space."""
    found = _WHITE.match(content, at)
    return found.end() if found else at


def _parted(content: str, start: int, end: int, ends: _Ends) -> Iterator[tuple[int, int]]:
    """The parts of a span between its borders, without those that are white space only."""
    edges = [start, *ends(content, start, end), end]
    for begin, stop in pairwise(edges):
        if span := trim_span(content, begin, stop):
            yield span


def _groups(breaker: _Breaker, found: Iterable[Block]) -> Iterator[list[_Piece]]:
    """Pieces in order; headings come in one group with the piece that follows them."""
    budget = breaker.budget
    path: tuple[tuple[int, str], ...] = ()
    heads: list[_Piece] = []
    for block in found:
        above = tuple(head for head in path if not block.level or head[0] < block.level)
        titles = tuple(title for _, title in above)
        room = budget.room(titles)
        if block.level:
            heads += breaker.broken(block, room, titles)
            path = (*above, (block.level, block.title))
            if breaker.extent(heads) > budget.size // 4:
                yield from ([head] for head in heads)
                heads = []
            continue
        if heads:
            room = min(room, budget.room(heads[0].path) - breaker.extent(heads))
        first, *rest = breaker.broken(block, room, titles)
        together = [*heads, first]
        if breaker.extent(together) <= budget.room(together[0].path):
            yield together
        else:  # more empty lines between them than a chunk holds
            yield from ([piece] for piece in together)
        yield from ([piece] for piece in rest)
        heads = []
    if heads:
        yield heads


class _Packer:
    """Groups of pieces into chunks."""

    def __init__(self, content: str, breaker: _Breaker, overlap: int) -> None:
        self._content = content
        self._breaker = breaker
        self._budget = breaker.budget
        self._overlap = overlap

    def packed(self, groups: Iterable[list[_Piece]]) -> Iterator[Chunk]:
        """Each chunk takes what it can hold; a section of level 1 or 2 begins a new one once the last is half full."""
        held: list[_Piece] = []
        used = 0
        for group in groups:
            extent = self._breaker.extent(group)
            if held:
                joined = used + self._breaker.gap(held[-1], group[0]) + extent
                room = self._budget.room(held[0].path)
                if joined <= room and not (_opens_section(group[0]) and used > room // 2):
                    held += group
                    used = joined
                    continue
                yield self._chunk(held)
            held = self._begun(held, group)
            used = self._breaker.extent(held)
        if held:
            yield self._chunk(held)

    def _chunk(self, held: Sequence[_Piece]) -> Chunk:
        return Chunk(
            held[0].start,
            held[-1].end,
            self._budget.heading(held[0].path),
            self._budget.title_shown,
        )

    def _begun(self, before: Sequence[_Piece], group: list[_Piece]) -> list[_Piece]:
        """The end of the chunk before, as far as it fits, and the group."""
        tail = [] if _opens_section(group[0]) else self._tail(before)
        while tail and self._breaker.extent([*tail, *group]) > self._budget.room(tail[0].path):
            tail.pop(0)
        return [*tail, *group]

    def _tail(self, before: Sequence[_Piece]) -> list[_Piece]:
        """The last whole pieces and sentences within the overlap; never the first, so that every chunk begins later."""
        tail: list[_Piece] = []
        for at in range(len(before) - 1, -1, -1):
            piece = before[at]
            whole = self._breaker.extent([piece, *tail]) <= self._overlap
            if _opens_section(piece):
                break
            if at == 0 or not whole:
                return [*self._last_sentences(piece, tail), *tail]
            tail.insert(0, piece)
        return tail

    def _last_sentences(self, piece: _Piece, tail: Sequence[_Piece]) -> list[_Piece]:
        if piece.code or piece.level:
            return []
        found: list[_Piece] = []
        for start, end in reversed(
            list(_parted(self._content, piece.start, piece.end, find_sentence_ends))[1:]
        ):
            sentence = _Piece(
                start, end, self._budget.cost(self._content[start:end]), piece.path, code=False
            )
            if self._breaker.extent([sentence, *found, *tail]) > self._overlap:
                break
            found.insert(0, sentence)
        return found


def _opens_section(piece: _Piece) -> bool:
    return piece.level in (1, 2)

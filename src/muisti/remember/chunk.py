"""Split a text into chunks for an embedder, by its own tokens, where a reader would pause. Pure.

The tokens of pieces are counted once and added up. That is safe: pieces meet at white space or at
the end of a sentence, where a tokenizer can only merge, so a join never has more tokens than its
parts.
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
"""Tokens; a smaller chunk has no room for a heading and a word."""
LONGEST_TOKEN = 16
"""Characters that count as at least one token: an unknown word is one token, however long."""
_SEPARATOR = " > "
_LINE = re.compile(r"\r\n?|\n")
_WHITE = re.compile(r"\s*+")
_Ends = Callable[[str, int, int], Iterator[int]]
"""Yields the positions where a span of a text may be split."""


def _find_line_ends(content: str, start: int, end: int) -> Iterator[int]:
    return (match.end() for match in _LINE.finditer(content, start, end))


_PROSE: tuple[_Ends, ...] = (find_sentence_ends, _find_line_ends)
_CODE: tuple[_Ends, ...] = (_find_line_ends,)  # a full stop in code ends no sentence
_CACHED = 64
"""Characters; the counts of texts up to this length are cached: gaps, list marks, short lines."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The span `content[start:end]` and the context that is embedded with it."""

    start: int
    end: int
    heading: tuple[str, ...] = ()
    """The headings above it, as many as there is room for."""
    title_shown: int = 0
    """How many characters of the title there is room for."""

    def text(self, content: str) -> str:
        """Return the chunk's text."""
        return content[self.start : self.end]


def format_for_embedding(content: str, title: str, chunk: Chunk) -> str:
    """Return what is embedded: the title, the headings, an empty line and the chunk's text."""
    return _format_lead(title[: chunk.title_shown], chunk.heading) + chunk.text(content)


def split_chunks(
    content: str,
    count_tokens: Callable[[str], int],
    *,
    title: str = "",
    size: int = SIZE,
    overlap: int = OVERLAP,
) -> list[Chunk]:
    """Return the chunks of a Markdown text in order; none for white space.

    Every character but white space is in a chunk. `format_for_embedding` with the same title
    returns at most `size` tokens. Starts strictly increase. Headings, code, list items and table
    rows that fit are not split. A chunk begins with the last blocks or sentences of the one before
    it, up to `overlap` tokens, unless a section of level 1 or 2 begins.
    Raises ValueError if `size` is below SMALLEST or `overlap` is negative.
    """
    if size < SMALLEST or overlap < 0:
        raise ValueError(f"size must be at least {SMALLEST}, overlap at least 0")
    whole = trim_span(content, 0, len(content))
    if whole is None:
        return []
    budget = _Budget(count_tokens, title, size)
    text, room = content[slice(*whole)], budget.room(())
    # A token has at least one letter of an ASCII text, so that a short one need not be counted.
    if (text.isascii() and len(text) < room) or budget.count(text) <= room:
        return [Chunk(*whole, title_shown=budget.title_shown)]
    splitter = _Splitter(content, budget)
    packer = _Packer(content, splitter, min(overlap, size // 2))
    return list(packer.pack(_group_pieces(splitter, parse_blocks(content))))


def _format_lead(title: str, heading: Sequence[str]) -> str:
    lines = [line for line in (title, _SEPARATOR.join(heading)) if line]
    return "\n".join(lines) + "\n\n" if lines else ""


class _Budget:
    """Counts tokens, and knows how many a chunk may have below its headings."""

    def __init__(self, count_tokens: Callable[[str], int], title: str, size: int) -> None:
        self._count = count_tokens
        self._empty = count_tokens("")  # the special tokens around a text: not per piece
        self._counts: dict[str, int] = {}
        self._leads: dict[tuple[str, ...], tuple[tuple[str, ...], int]] = {}
        self.size = size
        self.title_shown = self.measure_prefix(title, size // 8) if title else 0
        self._title = title[: self.title_shown]

    def count(self, text: str) -> int:
        """Return the tokens of a text; for one far too long, an estimate that is too high too."""
        least = len(text) // LONGEST_TOKEN
        if least > self.size:
            return least
        known = self._counts.get(text)
        if known is None:
            known = max(least, self._count(text) - self._empty) if text else 0
            if len(text) <= _CACHED:
                self._counts[text] = known
        return known

    def measure_prefix(self, text: str, room: int) -> int:
        """Return how many characters fit into `room`, at least one; up to a white space, if any."""
        length = min(len(text), 6 * room)
        while length > 1 and (tokens := self.count(text[:length])) > room:
            length = max(1, min(length - 1, length * room // tokens))
        if length == len(text):
            return length
        space = max(text.rfind(white, 1, length + 1) for white in " \n\r\t　")
        return space if space > 0 else length

    def shorten(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """Return the nearest headings of a path, as many as fit into a quarter of a chunk."""
        return self._fit_lead(path)[0]

    def room(self, path: tuple[str, ...]) -> int:
        """Return how many tokens are left for the text below these headings."""
        return self.size - self._empty - self._fit_lead(path)[1]

    def _fit_lead(self, path: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
        """Return the shortened headings, and the tokens of title and headings."""
        if path not in self._leads:
            quarter = self.size // 4
            nearest = path
            while len(nearest) > 1 and self.count(_SEPARATOR.join(nearest)) > quarter:
                nearest = nearest[1:]
            shown = tuple(name[: self.measure_prefix(name, quarter)] for name in nearest if name)
            self._leads[path] = shown, self.count(_format_lead(self._title, shown))
        return self._leads[path]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A block that fits into a chunk, or a part of one that does not. Never split again."""

    start: int
    end: int
    tokens: int
    path: tuple[str, ...]
    level: int = 0
    code: bool = True


class _Splitter:
    """Splits blocks into pieces that fit into a chunk."""

    def __init__(self, content: str, budget: _Budget) -> None:
        self._content = content
        self.budget = budget

    def split(self, block: Block, room: int, path: tuple[str, ...]) -> Iterator[_Piece]:
        """Yield the block if it fits; else its inner blocks, or sentences, lines, then words."""
        tokens = self._count(block.start, block.end)
        if tokens <= room:
            is_code = bool(block.code or block.inner)
            yield _Piece(block.start, block.end, tokens, path, block.level, code=is_code)
        elif block.inner:
            for inner in block.inner:
                yield from self.split(inner, room, path)
        else:
            borders = _CODE if block.code else _PROSE
            for start, end, count in self._split_span(block.start, block.end, room, borders):
                yield _Piece(start, end, count, path, block.level, code=block.code)

    def measure(self, pieces: Sequence[_Piece]) -> int:
        """Return the tokens from the first piece to the last, with the gaps between them."""
        return sum(piece.tokens for piece in pieces) + sum(map(self.gap, pieces, pieces[1:]))

    def gap(self, before: _Piece, after: _Piece) -> int:
        """Return the tokens of the white space between two pieces."""
        return self._count(before.end, after.start)

    def _count(self, start: int, end: int) -> int:
        return self.budget.count(self._content[start:end])

    def _split_span(
        self, start: int, end: int, room: int, borders: tuple[_Ends, ...]
    ) -> Iterator[tuple[int, int, int]]:
        count = self._count(start, end)
        if count <= room:
            yield start, end, count
        elif borders:
            for part in _split_at(self._content, start, end, borders[0]):
                yield from self._split_span(*part, room, borders[1:])
        else:  # between words, or anywhere in a word that is too long
            while start < end:
                window = self._content[start : min(end, start + LONGEST_TOKEN * room)]
                stop = start + self.budget.measure_prefix(window, room)
                yield start, stop, self._count(start, stop)
                white = _WHITE.match(self._content, stop)
                start = white.end() if white else stop


def _split_at(content: str, start: int, end: int, find_ends: _Ends) -> Iterator[tuple[int, int]]:
    """Yield the parts of a span between its borders, without those of white space only."""
    edges = [start, *find_ends(content, start, end), end]
    for begin, stop in pairwise(edges):
        if span := trim_span(content, begin, stop):
            yield span


def _group_pieces(splitter: _Splitter, blocks: Iterable[Block]) -> Iterator[list[_Piece]]:
    """Yield the pieces in order; headings are in one group with the piece that follows them."""
    budget = splitter.budget
    path: tuple[tuple[int, str], ...] = ()
    headings: list[_Piece] = []
    used = 0
    for block in blocks:
        above = tuple(heading for heading in path if not block.level or heading[0] < block.level)
        titles = tuple(title for _, title in above)
        room = budget.room(titles)
        if block.level:
            before = headings[-1:]
            added = list(splitter.split(block, room, titles))
            used += splitter.measure([*before, *added]) - splitter.measure(before)
            headings += added
            path = (*above, (block.level, block.title))
            if used > budget.size // 4:
                yield from ([heading] for heading in headings)
                headings, used = [], 0
            continue
        if headings:
            room = min(room, budget.room(headings[0].path) - used)
        first, *rest = splitter.split(block, room, titles)
        group = [*headings, first]
        if splitter.measure(group) <= budget.room(group[0].path):
            yield group
        else:  # there are more empty lines between them than fit into a chunk
            yield from ([piece] for piece in group)
        yield from ([piece] for piece in rest)
        headings, used = [], 0
    if headings:
        yield headings


class _Packer:
    """Packs groups of pieces into chunks."""

    def __init__(self, content: str, splitter: _Splitter, overlap: int) -> None:
        self._content = content
        self._splitter = splitter
        self._budget = splitter.budget
        self._overlap = overlap

    def pack(self, groups: Iterable[list[_Piece]]) -> Iterator[Chunk]:
        """Yield full chunks; a section of level 1 or 2 ends a chunk that is half full."""
        held: list[_Piece] = []
        used = 0
        for group in groups:
            if held:
                joined = used + self._splitter.gap(held[-1], group[0])
                joined += self._splitter.measure(group)
                room = self._budget.room(held[0].path)
                if joined <= room and not (_opens_section(group[0]) and used > room // 2):
                    held += group
                    used = joined
                    continue
                yield self._make_chunk(held)
            overlap = [] if _opens_section(group[0]) else self._find_overlap(held)
            while overlap:
                if self._splitter.measure([*overlap, *group]) <= self._budget.room(overlap[0].path):
                    break
                overlap.pop(0)
            held = [*overlap, *group]
            used = self._splitter.measure(held)
        if held:
            yield self._make_chunk(held)

    def _make_chunk(self, held: Sequence[_Piece]) -> Chunk:
        first, last = held[0], held[-1]
        headings = self._budget.shorten(first.path)
        return Chunk(first.start, last.end, headings, self._budget.title_shown)

    def _find_overlap(self, before: Sequence[_Piece]) -> list[_Piece]:
        """Return the last pieces and sentences of a chunk; not its first: starts must increase."""
        tail: list[_Piece] = []
        for at in range(len(before) - 1, -1, -1):
            piece = before[at]
            if _opens_section(piece):
                break
            if at == 0 or self._splitter.measure([piece, *tail]) > self._overlap:
                # Of this piece, take the last sentences that fit.
                if piece.code or piece.level:
                    break
                spans = list(_split_at(self._content, piece.start, piece.end, find_sentence_ends))
                for start, end in reversed(spans[1:]):
                    tokens = self._budget.count(self._content[start:end])
                    sentence = _Piece(start, end, tokens, piece.path, code=False)
                    if self._splitter.measure([sentence, *tail]) > self._overlap:
                        break
                    tail.insert(0, sentence)
                break
            tail.insert(0, piece)
        return tail


def _opens_section(piece: _Piece) -> bool:
    return piece.level in (1, 2)

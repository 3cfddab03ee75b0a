"""Reads the elements of a large JSON array one by one, so that memory stays bounded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from muisti.errors import ImportFailed

MAX_ITEM = 1 << 25
"""The most bytes of one element: parsed, it takes several times as much memory."""
UTF8_MARK = b"\xef\xbb\xbf"
_PIECE = 1 << 20
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["{}\[\],]', re.DOTALL)
"""A complete string, the beginning of an incomplete one, or a bracket or comma."""


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return this many bytes, or fewer at the end."""
        ...


class Element(NamedTuple):
    """One element of an array; `error` says why it could not be read."""

    value: object
    error: str = ""


def iterate_array(stream: Readable, shown: str) -> Iterator[Element]:  # noqa: PLR0912
    """Yield the elements of the array in a stream. Raises ImportFailed if it is not an array.

    An element that is not valid JSON is yielded with its error; the next ones are read.
    """
    data = stream.read(_PIECE).removeprefix(UTF8_MARK).lstrip()
    if not data.startswith(b"["):
        raise ImportFailed(f"{shown}: must be a JSON array")
    at = start = 1
    depth = 1
    is_large = False
    while True:
        for token in _TOKEN.finditer(data, at):
            first = data[token.start()]
            if first == 0x22:  # a quotation mark
                if token.end() - token.start() == 1:
                    at = token.start()
                    break
            elif first in b"{[":
                depth += 1
            elif first in b"}]":
                depth -= 1
            at = token.end()
            if depth == 0 or (depth == 1 and first == 0x2C):  # the end of the array, or a comma
                part = data[start : token.start()].strip()
                if is_large:
                    yield Element(None, f"has more than {MAX_ITEM >> 20} MiB")
                elif part or first == 0x2C:
                    yield parse_element(part)
                start, is_large = at, False
            if depth == 0:
                return
        else:
            at = len(data)
        is_large = is_large or len(data) - start > MAX_ITEM
        if is_large and len(data) - at > MAX_ITEM:
            reason = f"has a text of more than {MAX_ITEM >> 20} MiB; the rest is not read"
            yield Element(None, reason)
            return
        kept = at if is_large else start
        data, start, at = data[kept:], 0, at - kept
        piece = stream.read(max(_PIECE, len(data)))
        if not piece:
            yield Element(None, "is not valid JSON (the file ends in the middle of it)")
            return
        data += piece


def parse_element(part: bytes) -> Element:
    """Parse one element, or return why that failed."""
    try:
        return Element(json.loads(part))
    except UnicodeDecodeError as error:
        return Element(None, f"is not UTF-8 text (byte {error.start})")
    except (ValueError, RecursionError) as error:
        return Element(None, f"is not valid JSON ({error})")

"""The file format: a header in JSON that names the arrays, then the arrays."""

from __future__ import annotations

import json
import mmap
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from muisti import filesystem
from muisti.filesystem import Tree, create_file
from muisti.storage.snapshot.source import Array, Shapes, Values

MAGIC = b"muisti-1"
VERSION = 4
"""Of the arrays and what they mean. A snapshot of another version is built again."""
_ALIGNMENT = 64
_MAX_HEADER = 1_000_000
_SPARE = 8000
"""Bytes for what the header gets when all arrays are written: their checksums."""
_UNCHECKED = ("posting", "vector")
"""The arrays that begin with these names are large. Damage in them shows when they are read."""
_START = len(MAGIC) + 8
"""The header begins after its length and its checksum."""


class UnusableSnapshot(Exception):
    """A snapshot is missing, damaged, incomplete, of another index or of another version."""


def map_snapshot(folder: Path, name: str, index: str) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the arrays of a snapshot and its other values. Raises UnusableSnapshot.

    `index` is the name of the index file that it must have been made from. The checksums of
    postings and vectors are not checked: they are read when a search needs them.
    """
    try:
        fd, status = Tree(folder).open(name, os.O_RDONLY)
    except OSError as error:
        raise UnusableSnapshot(f"{name} cannot be opened: {error}") from error
    try:
        if status.st_size < _START:
            raise UnusableSnapshot(f"{name} is incomplete")
        data = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise UnusableSnapshot(f"{name} cannot be mapped: {error}") from error
    finally:
        os.close(fd)
    length = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 4], "little")
    checksum = int.from_bytes(data[len(MAGIC) + 4 : _START], "little")
    header = data[_START : _START + length] if length <= _MAX_HEADER else b""
    if data[: len(MAGIC)] != MAGIC or zlib.crc32(header) != checksum:
        raise UnusableSnapshot(f"{name} is damaged")
    described = json.loads(header)
    if described["version"] != VERSION or described["index"] != index:
        raise UnusableSnapshot(f"{name} is of another index or another version of muisti")
    if described["size"] != status.st_size:
        raise UnusableSnapshot(f"{name} is incomplete")
    arrays = {}
    for key, (dtype, shape, offset) in described["arrays"].items():
        count = int(np.prod(shape))
        if count:
            arrays[key] = np.frombuffer(data, dtype, count, offset).reshape(shape)
        else:
            arrays[key] = np.empty(shape, dtype)
        is_large = key.startswith(_UNCHECKED)
        if not is_large and zlib.crc32(arrays[key].data) != described["checksums"][key]:
            raise UnusableSnapshot(f"{name} is damaged")
    return arrays, described["values"]


class SnapshotWriter:
    """Writes a snapshot. The arrays can be written in any order; `finish` makes it valid."""

    def __init__(self, path: Path, shapes: Shapes, index: str, values: Values) -> None:
        """Create the file. Raises OSError."""
        size = _SPARE
        self._arrays: dict[str, Any] = {}
        for key, (dtype, shape) in shapes.items():
            self._arrays[key] = [dtype, list(shape), size]
            end = size + int(np.prod(shape)) * np.dtype(dtype).itemsize
            size = -(-end // _ALIGNMENT) * _ALIGNMENT
        self._checksums = dict.fromkeys(shapes, 0)
        self._size = size
        self._header = {
            "version": VERSION,
            "index": index,
            "size": size,
            "values": dict(values),
            "arrays": self._arrays,
            "checksums": self._checksums,
        }
        self._fd = create_file(path)

    def write(self, key: str, rows: Array, at: int = 0) -> None:
        """Write the next rows of an array, beginning with row `at`. Raises OSError."""
        dtype, shape, offset = self._arrays[key]
        data = memoryview(np.ascontiguousarray(rows, dtype).tobytes())
        self._checksums[key] = zlib.crc32(data, self._checksums[key])
        position = offset + at * int(np.prod(shape[1:])) * np.dtype(dtype).itemsize
        os.lseek(self._fd, position, os.SEEK_SET)
        while data:
            data = data[os.write(self._fd, data) :]

    def finish(self) -> None:
        """Write the header and sync the file. Raises OSError."""
        header = json.dumps(self._header).encode()
        length = len(header).to_bytes(4, "little")
        checksum = zlib.crc32(header).to_bytes(4, "little")
        os.ftruncate(self._fd, self._size)
        os.lseek(self._fd, 0, os.SEEK_SET)
        os.write(self._fd, MAGIC + length + checksum + header)
        filesystem.system.sync(self._fd)

    def close(self) -> None:
        """Close the file. Without `finish` it is not valid."""
        os.close(self._fd)

"""A JSON array is read element by element, with the same values as `json.loads` gives."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.errors import ImportFailed
from muisti.importers import json_stream, source
from muisti.importers.json_stream import iterate_array

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


class Slow(io.BytesIO):
    """A stream that returns few bytes at a time."""

    def __init__(self, data: bytes, most: int) -> None:
        super().__init__(data)
        self._most = most

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self._most)


def read(data: bytes, most: int = 1 << 20) -> list[Any]:
    return [element.error or element.value for element in iterate_array(Slow(data, most), "x")]


@given(values=st.lists(JSON, max_size=6), most=st.integers(1, 40), ascii=st.booleans())
def test_the_elements_are_those_of_the_array(values: list[Any], most: int, ascii: bool) -> None:
    data = json.dumps(values, ensure_ascii=ascii, indent=1 if ascii else None)
    try:
        encoded = data.encode()
    except UnicodeEncodeError:
        return
    assert read(b"\xef\xbb\xbf  " + encoded, most + 6) == values


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"[]", []),
        (b'[1, {"a": nope}, 3]', [1, "is not valid JSON", 3]),
        (b'[1, "\xff", 3]', [1, "is not UTF-8 text", 3]),
        (b"[1,, 3]", [1, "is not valid JSON", 3]),
        (b'[1, {"a": "b', [1, "is not valid JSON (the file ends in the middle of it)"]),
        (b"[1] and more", [1]),
        (b"[" * 2000, ["is not valid JSON (the file ends in the middle of it)"]),
    ],
)
@pytest.mark.parametrize("most", [5, 1 << 20])
def test_a_bad_element_does_not_end_the_others(data: bytes, expected: list[Any], most: int) -> None:
    found = read(data, most)
    assert len(found) == len(expected)
    for got, wanted in zip(found, expected, strict=True):
        assert got == wanted or str(got).startswith(str(wanted))


def test_an_element_that_is_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "MAX_ITEM", 1000)
    many = [["x" * 100] * 50]
    assert read(json.dumps([1, *many, 2]).encode(), 300)[::2] == [1, 2]
    found = read(json.dumps([1, "x" * 5000, 2]).encode(), 300)
    assert found[0] == 1
    assert "the rest is not read" in found[1]


def test_only_an_array_is_read() -> None:
    with pytest.raises(ImportFailed, match="x: must be a JSON array"):
        read(b'{"a": 1}')


def test_a_zip_bomb_is_named_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LARGE", 1 << 20)
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("big.md", b"\0" * (1 << 23))
        packed.writestr("good.md", "Good")
    with source.open_source(bomb) as opened:
        [(shown, reason)] = opened.problems
        assert shown == f"{bomb}/big.md"
        assert "as a zip bomb does" in reason
        assert opened.files == ["good.md"], "no part of the other is left"
    monkeypatch.setattr(source, "MAX_UNPACKED", 1000)
    with pytest.raises(ImportFailed, match="split the archive"), source.open_source(bomb):
        pass
    monkeypatch.setattr(source, "MAX_UNPACKED", 3 << 20)
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as packed:
        for number in range(4):
            packed.writestr(f"{number}.md", b"\0" * (1 << 23))
    with pytest.raises(ImportFailed, match="split the archive"), source.open_source(bomb):
        pass
    monkeypatch.setattr(source, "MAX_ENTRIES", 1)
    with pytest.raises(ImportFailed, match="more than 1 files"), source.open_source(bomb):
        pass


def test_nothing_of_a_damaged_entry_is_imported(tmp_path: Path) -> None:
    archive = tmp_path / "notes.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("crc.md", "Spoiled text")
        packed.writestr("file.md", "A file")
        packed.writestr("file.md/is/no/folder.md", "A file")
        packed.writestr("good.md", "Good text")
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("stream.md", "Deflated " * 100)
        at = packed.getinfo("stream.md").header_offset + 30 + len("stream.md")
    data = bytearray(archive.read_bytes().replace(b"Spoiled text", b"Spoiled_text"))
    data[at : at + 4] = b"\xff\xff\xff\xff"
    archive.write_bytes(data)
    with source.open_source(archive) as opened:
        assert opened.files == ["file.md", "good.md"]
        refused = [Path(shown).name for shown, _ in opened.problems]
        assert refused == ["crc.md", "folder.md", "stream.md"]
        assert all(reason.startswith("cannot be unpacked (") for _, reason in opened.problems)


def test_no_path_of_an_archive_leads_out_of_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    paths = ["../outside/evil.md", "a/../../evil.md", f"{outside}/evil.md", f"/{outside}/evil.md"]
    paths += [f"///{outside}/evil.md", *(path.replace("/", "\\") for path in paths)]
    archive = tmp_path / "notes.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in paths:
            packed.writestr(path, "Outside")
        packed.writestr("12:30 meeting.md", "A colon is no drive")
    with source.open_source(archive) as opened:
        reasons = [reason for _, reason in opened.problems]
        if os.name != "nt":
            assert opened.files == ["12:30 meeting.md"]
            assert reasons == ["its path leads out of the archive"] * len(paths)
    assert not outside.exists()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["notes.zip"]


@pytest.mark.parametrize("cut", [10, 60, -10])
def test_a_damaged_archive_is_named(tmp_path: Path, cut: int) -> None:
    whole = tmp_path / "whole.zip"
    with zipfile.ZipFile(whole, "w") as packed:
        packed.writestr("good.md", "Good and more text")
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(whole.read_bytes()[:cut])
    message = r"damaged\.zip: is not a readable zip"
    with pytest.raises(ImportFailed, match=message), source.open_source(damaged):
        pass

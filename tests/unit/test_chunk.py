"""Where texts are broken for the embedder."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.remember.chunk import SMALLEST, Chunk, format_for_embedding, split_chunks
from tests.unit.timing import grows_linearly

EXAMPLES = Path("/work/shared/data/commonmark.json")


def by_words(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))


def marked(text: str) -> int:
    """As tokenizers that put a mark before and behind every text."""
    return by_words(text) + 2


COUNTERS = [len, by_words, marked, lambda text: len(text.encode(errors="surrogatepass"))]
MARKDOWN = st.lists(
    st.sampled_from(
        [
            *"# A|## B c|### D|Title\n===|word|One. Two! 三。四！|- item|  - inner|1. one|> quote|```|~~~|    code|<div>|---|a|b|\n|-|-|\n|1|2|é🙂|\t|.|\r\n|x".split(
                "|"
            ),
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "",
            "",
            "w" * 70,
            " " * 40,
            "a b c d e f g h. " * 9,
        ]
    )
    | st.text(max_size=12)
).map("\n".join)


def texts(content: str, **options: int) -> list[str]:
    return [chunk.text(content) for chunk in split_chunks(content, by_words, **options)]


def check(
    content: str, count: Callable[[str], int], title: str, size: int, overlap: int
) -> list[Chunk]:
    found = split_chunks(content, count, title=title, size=size, overlap=overlap)
    covered = bytearray(len(content))
    for chunk in found:
        assert count(format_for_embedding(content, title, chunk)) <= size
        covered[chunk.start : chunk.end] = b"\1" * (chunk.end - chunk.start)
    assert all(there or letter.isspace() for there, letter in zip(covered, content, strict=True))
    assert all(a.start < b.start and a.end < b.end for a, b in itertools.pairwise(found))
    return found


@given(
    MARKDOWN | st.text(),
    st.sampled_from(COUNTERS),
    st.text(max_size=40),
    st.integers(48, 120),
    st.integers(0, 90),
)
def test_nothing_is_lost_and_nothing_is_too_long(content, count, title, size, overlap) -> None:
    check(content, count, title, size, overlap)


def test_commonmark_examples() -> None:
    if not EXAMPLES.exists():
        pytest.skip(f"the CommonMark examples are missing: {EXAMPLES}")
    examples = [example["markdown"] for example in json.loads(EXAMPLES.read_text())]
    for content in [*examples, "\n".join(examples)]:
        check(content, len, "Title", 64, 16)


@pytest.mark.parametrize("content", ["", " \n\t\r\n"])
def test_no_words_no_chunks(content: str) -> None:
    assert split_chunks(content, len) == []


def test_a_text_that_fits_is_one_chunk_without_the_parser() -> None:
    code = "import sys; from muisti.remember.chunk import split_chunks; split_chunks('A b.', len); assert 'markdown_it' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert texts("\n\n# A\n\nb\n") == ["# A\n\nb"]


WORDS = "word " * 11 + "end."


@pytest.mark.parametrize(
    ("content", "whole"),
    [
        (f"{WORDS}\n\n# Heading\n\n{WORDS}", f"# Heading\n\n{WORDS}"),
        (f"{WORDS}\n\nSetext\n---\n\n{WORDS}", f"Setext\n---\n\n{WORDS}"),
        (
            f"{WORDS}\n\n```\n# no heading. At all.\n\n{'x ' * 5}\n```\n\n{WORDS}",
            "```\n# no heading. At all.\n\nx x x x x \n```",
        ),
        (
            f"{WORDS}\r\n\r\n- a b c. d e\r\n  f g h i j k l\r\n- {WORDS}",
            "- a b c. d e\r\n  f g h i j k l",
        ),
        (f"{WORDS}\n\n- a\n  - b c. d\n  - e\n\n{WORDS}", "- a\n  - b c. d\n  - e"),
        (f"{WORDS}\n\n| a | b. c |\n|---|---|\n| {WORDS} | 2 |", f"| {WORDS} | 2 |"),
    ],
)
def test_what_is_not_broken(content: str, whole: str) -> None:
    assert any(whole in text for text in texts(content, size=20, overlap=0))


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("a b c d e f g h. " * 3, ["a b c d e f g h."] * 3),
        (
            "一二三四五六七八九。" * 2 + "a b c d e f g h i j k l m n.",
            ["一二三四五六七八九。一二三四五六七八九。", "a b c d e f g h i j k l m n."],
        ),
        ("a b c d e f g h i\n" * 2, ["a b c d e f g h i"] * 2),
        (
            "```\n" + "f.x = 1. + y\n" * 3 + "```",
            ["```\nf.x = 1. + y", "f.x = 1. + y\nf.x = 1. + y", "```"],
        ),
    ],
)
def test_where_an_oversize_block_breaks(content: str, parts: list[str]) -> None:
    assert texts(content, size=16, overlap=0) == parts


def test_the_heading_path_is_that_above_the_start() -> None:
    content = (
        f"# The *big* `one`\n\n{WORDS}\n\n## Part\n\n{WORDS} {WORDS} {WORDS}\n\n# Next\n\n{WORDS}"
    )
    found = split_chunks(content, by_words, size=32, overlap=0)
    assert found[0].heading == ()
    assert ("The big one", "Part") in [chunk.heading for chunk in found]
    assert found[-1].heading == ()
    assert found[-1].text(content).startswith("# Next")


def test_the_next_chunk_begins_with_the_last_sentences() -> None:
    content = " ".join(f"This is sentence {number}." for number in range(20))
    first, second, *_ = texts(content, size=30, overlap=12)
    assert second.startswith("This is sentence 4. This is sentence 5.")
    assert first.endswith("This is sentence 5.")


def test_a_section_begins_clean() -> None:
    content = f"Short one. {WORDS}\n\n## Part\n\n{WORDS} {WORDS}"
    assert any(text.startswith("## Part") for text in texts(content, size=30, overlap=10))


@pytest.mark.parametrize(("size", "overlap"), [(SMALLEST - 1, 0), (100, -1)])
def test_sizes_that_cannot_be(size: int, overlap: int) -> None:
    with pytest.raises(ValueError):
        split_chunks("a", len, size=size, overlap=overlap)


@pytest.mark.parametrize(
    "unit",
    [
        "w",
        "word ",
        "#",
        "# a\n",
        "- item\n",
        "> ",
        "- ",
        "a. ",
        ".",
        "\n",
        "```\n~~~\n",
        "|a|b|\n|-|-|\n",
        "数",
        "# a\n\nb c d.\n\n",
    ],
)
def test_time_grows_with_the_text_only(unit: str) -> None:
    assert grows_linearly(
        lambda text: split_chunks(text, len), lambda size: unit * (size // len(unit)), 60_000
    )

"""`read_values` reads the same as `parse`, whatever a file looks like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.storage.files.errors import BadFrontMatter
from muisti.storage.files.frontmatter import parse, read_values
from muisti.storage.files.safe_read import MAX_HEAD

LINES = [
    "id: 0197a3b2-0000-7000-8000-000000000000",
    'title: "A \\"title\\" \\u00e4"',
    "kind: fact",
    "kind: note",
    "importance: 0.5",
    "created_at: 2026-01-31T12:00:00.5Z",
    "keywords:",
    "  - one",
    "tags: [a, b]",
    "summary: 'quoted: x'",
    "# a comment",
    "own key: x",
    "---",
    "...",
    "--- ",
    "",
    "title: x\r",
    'title: "\\ud800"',
    "empty:",
    "text: |",
    "  block",
]


def read_both(text: str) -> tuple[object, object]:
    found: list[object] = []
    for read in (read_values, lambda text: (parse(text).values, parse(text).body)):
        try:
            found.append(read(text))
        except BadFrontMatter as error:
            found.append(str(error))
    return found[0], found[1]


@given(
    st.sampled_from(["---\n", "---\r\n", "--- \n", "\ufeff---\n", ""]),
    st.lists(st.sampled_from(LINES), max_size=7),
    st.sampled_from(["---\n", "---", "...\n", "---\n\n", "---\r\n", ""]),
    st.sampled_from(
        ["Body\n", "\nBody\n", "\n\nBody\n\n", "\r\nBody\r\n", "\rBody", "", "\n---\n"]
    ),
)
def test_the_same_as_parse(opening: str, lines: list[str], closing: str, body: str) -> None:
    fast, slow = read_both(opening + "".join(f"{line}\n" for line in lines) + closing + body)
    assert fast == slow


@pytest.mark.parametrize("size", [MAX_HEAD - 20, MAX_HEAD - 8, MAX_HEAD, MAX_HEAD + 20])
def test_long_front_matter(size: int) -> None:
    fast, slow = read_both(f"---\nkind: fact\ntitle: {'a' * size}\n---\n\nBody\n")
    assert fast == slow

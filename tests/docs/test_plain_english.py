"""Texts that people and models read use standard words: see docs/glossary.md."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "muisti"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "plugin").rglob("*.md")),
]
WORD_LISTS = (
    "recall/query.py",
    "remember/extract",
    "remember/similarity",
    "remember/classify.py",
    "text/",
)
"""Modules whose strings are words of users, not texts for them."""
ODD_WORDS = {
    r"slips? of the pen": "typo",
    r"\bcures?\b": "fix",
    r"\banew\b": "again",
    r"\bwhoever\b|\bwhosoever\b": "the caller, the process …",
    r"\bsomebody\b": "a person, another process …",
    r"\bsteps? (?:back|behind)\b": "ranks lower",
    r"\btrue no longer\b": "outdated",
    r"\bworked out\b": "inferred, computed",
    r"\bheeded\b": "respected",
    r"\bmends?\b|\bmended\b": "repair",
    r"\battic\b": "trash, archive",
    r"(?<!small )\btalks?\b": "conversation",
    r"\bis dear\b": "is expensive",
    r"\bsays? the same\b": "is a duplicate",
    r"\bshel(?:f|ves)\b": "document source",
    r"(?<!there )(?<!and )\bis no (?!longer|such|other|more|error|nearer)\w+": "is not a …",
    r"\bput away\b": "archived, moved",
    r"\bby hand\b|\bhand edits?\b": "manually, outside muisti",
    r"\bupkeep\b(?! ?\()": "maintenance",
    r"\bkind of thing\b|\bwhat there is\b": "say what it is",
    r"\bso many (?:files?|rows?|texts?|seconds|lines|vectors|bytes)\b(?! (?:are|that))": "this many",
}
NAMES = re.compile(
    r"`[^`]*`|muisti upkeep|\bupkeep[-_.]\w+|\w+_upkeep|[\w./-]+\.(?:md|py|html|json|toml)|https?://\S+"
)
"""Names in code style and paths may contain anything."""


SQL = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE)\b")


def _docstrings_and_comments(path: Path) -> Iterator[str]:
    source = path.read_text("utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


def _messages(path: Path) -> Iterator[str]:
    """Strings with a space in them: messages, help, labels."""
    if str(path.relative_to(SOURCE)).startswith(WORD_LISTS):
        return
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and " " in text and not SQL.search(text):
            yield text


def _odd(texts: Iterator[str]) -> list[str]:
    found = []
    for text in texts:
        plain = NAMES.sub("", text)
        for odd, better in ODD_WORDS.items():
            for match in re.finditer(odd, plain, re.IGNORECASE):
                around = plain[max(0, match.start() - 40) : match.end() + 30].replace("\n", " ")
                found.append(f"{match[0]!r} (say: {better}) in: …{around}…")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documentation(page: Path) -> None:
    text = page.read_text("utf-8")
    text = re.sub(r"^```.*?^```|^#+ \w+$|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL)
    assert _odd(iter([text])) == []


def test_docstrings_and_comments() -> None:
    found = {
        str(path.relative_to(ROOT)): odd
        for path in sorted(SOURCE.rglob("*.py"))
        if (odd := _odd(_docstrings_and_comments(path)))
    }
    assert found == {}


def test_messages() -> None:
    found = {
        str(path.relative_to(ROOT)): odd
        for path in sorted(SOURCE.rglob("*.py"))
        if (odd := _odd(_messages(path)))
    }
    assert found == {}


def test_templates() -> None:
    found = {
        path.name: odd
        for path in sorted(SOURCE.rglob("*.html"))
        if (odd := _odd(iter(re.findall(r">([^<>{}]+)<", path.read_text("utf-8")))))
    }
    assert found == {}

"""Surfaces and integrations call verbs of the engine: where the files are is none of their
business.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import muisti

PACKAGE = Path(muisti.__file__).parent
FILES = [
    path
    for folder in ("surfaces", "integrations")
    for path in sorted((PACKAGE / folder).rglob("*.py"))
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_nobody_touches_the_root_of_a_vault(path: Path) -> None:
    """`location`, `check_available`, `watch_files`, `notebook` … serve instead; `Muisti.root` is
    for users of the library.
    """
    tree = ast.parse(path.read_text("utf-8"))
    touched = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "root"
    ]
    assert touched == []

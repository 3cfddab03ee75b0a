"""Prints what is larger than this house likes it, and fails if anything is. See CONTRIBUTING.md.

A place that breaks a rule for a good reason says so in a comment `shape: why` on its first line.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

FILE_LINES = 500
FUNCTION_LINES = 60
METHODS = 20
ARGUMENTS = 8
SHORT, SHARE = 30, 0.9
FACADES = {"Muisti", "MemoryService"}
"""They only delegate, so they may have as many methods as the product has verbs."""
DRAWERS = {"utils", "helpers", "manager", "common", "misc", "base"}


def main() -> int:
    """Check src, tests and benchmarks."""
    found: list[str] = []
    lengths: list[int] = []
    for path in sorted(
        path
        for folder in ("src", "tests", "benchmarks", "scripts")
        for path in Path(folder).rglob("*.py")
    ):
        text = path.read_text("utf-8")
        lines = text.splitlines()
        if len(lines) > FILE_LINES:
            found.append(f"{path}: {len(lines)} lines (at most {FILE_LINES})")
        if path.stem in DRAWERS:
            found.append(f"{path}: a drawer's name; say what is in it")
        for node in ast.walk(ast.parse(text)):
            found += [
                f"{path}:{what}" for what in _too_large(node, lines, source=path.parts[0] == "src")
            ]
            if path.parts[0] == "src" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lengths.append(_lines(node))
    share = sum(length <= SHORT for length in lengths) / len(lengths)
    if share < SHARE:
        found.append(
            f"only {share:.0%} of the functions have at most {SHORT} lines ({SHARE:.0%} should)"
        )
    print(
        "\n".join(found)
        or f"shape: fine; {share:.0%} of {len(lengths)} functions have at most {SHORT} lines"
    )
    return 1 if found else 0


def _too_large(node: ast.AST, lines: list[str], *, source: bool) -> Iterator[str]:
    if (
        not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        or "# shape:" in lines[node.lineno - 1]
    ):
        return
    where = f"{node.lineno} {node.name}"
    if isinstance(node, ast.ClassDef):
        methods = sum(
            isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) for item in node.body
        )
        if methods > METHODS and node.name not in FACADES and source:
            yield f"{where}: {methods} methods (at most {METHODS})"
        return
    if _lines(node) > FUNCTION_LINES:
        yield f"{where}: {_lines(node)} lines (at most {FUNCTION_LINES})"
    count = len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)
    if count > ARGUMENTS + 1:
        yield f"{where}: {count} arguments (at most {ARGUMENTS}); make them a value"


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


if __name__ == "__main__":
    sys.exit(main())

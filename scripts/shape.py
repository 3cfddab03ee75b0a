"""Check the sizes of files, classes and functions against the limits of CONTRIBUTING.md.

A place that exceeds a limit for a good reason says so in a comment `# shape: why` before the body.
Ruff checks the length of lines.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("src", "tests", "benchmarks", "scripts")
FILE_LINES = 500
FUNCTION_LINES = 60
SHORT_LINES, SHORT_SHARE = 30, 0.90
METHODS = 20
ARGUMENTS = 8
ONE_USE_SHARE = 0.45
FACADES = {"Muisti", "MemoryService"}
"""Classes that only delegate: they have as many methods as the product has operations."""
VAGUE_NAMES = {"utils", "helpers", "manager", "common", "misc", "base"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> int:
    """Print what is too large and return the exit code."""
    problems: list[str] = []
    lengths: list[int] = []
    private = one_use = 0
    for path in sorted(path for folder in FOLDERS for path in Path(folder).rglob("*.py")):
        text = path.read_text("utf-8")
        tree = ast.parse(text)
        problems += file_problems(path, tree, text.splitlines())
        if path.parts[0] == "src":
            functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
            lengths += map(line_count, functions)
            uses = private_uses(tree, functions)
            private += len(uses)
            one_use += sum(count <= 1 for count in uses)

    short_share = sum(length <= SHORT_LINES for length in lengths) / len(lengths)
    short = f"{short_share:.0%} of {len(lengths)} functions have at most {SHORT_LINES} lines"
    if short_share < SHORT_SHARE:
        problems.append(f"{short} (at least {SHORT_SHARE:.0%} should)")
    one_use_share = one_use / private
    used_once = f"{one_use_share:.0%} of {private} private functions are used at most once"
    if one_use_share > ONE_USE_SHARE:
        problems.append(f"{used_once} (at most {ONE_USE_SHARE:.0%} should be)")
    print("\n".join([*problems, f"shape: {short}; {used_once}"]))
    return 1 if problems else 0


def file_problems(path: Path, tree: ast.Module, lines: list[str]) -> Iterator[str]:
    """Yield a line for each limit that a file breaks."""
    if len(lines) > FILE_LINES:
        yield f"{path}: {len(lines)} lines (at most {FILE_LINES})"
    if path.stem in VAGUE_NAMES:
        yield f"{path}: a vague name; name the file after its contents"
    for node in ast.walk(tree):
        if not isinstance(node, Function | ast.ClassDef):
            continue
        signature = lines[node.lineno - 1 : max(node.lineno, node.body[0].lineno - 1)]
        if any("# shape:" in line for line in signature):
            continue
        where = f"{path}:{node.lineno} {node.name}"
        if isinstance(node, ast.ClassDef):
            methods = sum(isinstance(item, Function) for item in node.body)
            if methods > METHODS and node.name not in FACADES and path.parts[0] == "src":
                yield f"{where}: {methods} methods (at most {METHODS})"
            continue
        if line_count(node) > FUNCTION_LINES:
            yield f"{where}: {line_count(node)} lines (at most {FUNCTION_LINES})"
        arguments = argument_count(node)
        if arguments > ARGUMENTS:
            yield f"{where}: {arguments} arguments (at most {ARGUMENTS}); group them in a class"


def line_count(function: Function) -> int:
    """Return the number of lines of a function, without its decorators."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def argument_count(function: Function) -> int:
    """Return the number of named arguments, without `self` and `cls`."""
    names = [
        argument.arg
        for group in (function.args.posonlyargs, function.args.args, function.args.kwonlyargs)
        for argument in group
    ]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def private_uses(tree: ast.Module, functions: list[Function]) -> list[int]:
    """Return how often a module refers to each of its private functions and methods."""
    references = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )
    names = [function.name for function in functions]
    return [
        references[name] for name in names if name.startswith("_") and not name.startswith("__")
    ]


if __name__ == "__main__":
    sys.exit(main())

"""Calls every method of the Python API with a secret in each argument."""

from __future__ import annotations

import inspect
import tempfile
import typing
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from muisti import Muisti, Utterance
from muisti.model import Draft, Extracted
from muisti.recall.filters import FilterOptions, ScopeOptions
from muisti.remember.options import SaveOptions, UpdateOptions

OPTIONS = {
    "FilterOptions": FilterOptions,
    "ScopeOptions": ScopeOptions,
    "SaveOptions": SaveOptions,
    "UpdateOptions": UpdateOptions,
}
LEFT_OUT = {"open", "close", "watch_files", "notebook", "location", "settings", "name"}
"""`notebook` is the folder of an integration, which has its own tests."""
AT = datetime(2026, 3, 10, tzinfo=UTC)


class Case(NamedTuple):
    """One argument of one method."""

    method: str
    argument: str
    call: Callable[[Muisti, str], object]

    def __str__(self) -> str:
        return f"{self.method}({self.argument})"


def list_cases() -> list[Case]:
    """Return a call for every argument that takes text, found by signature."""
    return [case for name in dir(Muisti) if not name.startswith("_") for case in _cases_of(name)]


def _cases_of(name: str) -> Iterator[Case]:
    method = getattr(Muisti, name)
    if name in LEFT_OUT or not callable(method):
        return
    signature = inspect.signature(method)
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            options = next(OPTIONS[word] for word in OPTIONS if word in str(parameter.annotation))
            for option, type_ in typing.get_type_hints(options).items():
                if make := _maker(option, str(type_)):
                    yield Case(name, option, _make_call(name, signature, option, make))
        elif make := _maker(parameter.name, str(parameter.annotation)):
            yield Case(name, parameter.name, _make_call(name, signature, parameter.name, make))


def _maker(name: str, annotation: str) -> Callable[[str], object] | None:
    """Return how to put a secret into an argument; None if it takes no text."""
    special: dict[str, Callable[[str], object]] = {
        "meta": lambda secret: {secret: 1, "a": {secret: [secret, {secret: secret}]}},
        "talk": lambda secret: [Utterance(f"I decided to use {secret}", secret, "user", AT)],
        "found": lambda secret: [Extracted(f"We use {secret}", "fact", 0.9, secret, AT)],
        "items": lambda secret: [
            f"First {secret}",
            {"content": "b", "title": secret},
            Draft(content=secret),
        ],
        "memories": lambda secret: [],
        "path": lambda secret: _write_file(secret, ".md"),
        "source_path": lambda secret: _write_file(secret, ".json"),
    }
    if name in special:
        return special[name]
    if (
        "Sequence[str]" in annotation
        or "Collection[str]" in annotation
        or "tuple[str" in annotation
    ):
        return lambda secret: ["one", secret]
    if "str" in annotation or "Mode" in annotation or "PathLike" in annotation:
        return lambda secret: secret
    if any(kind in annotation for kind in ("int", "float", "datetime", "Sector", "Tier")):
        return lambda secret: secret  # of the wrong type: the error may quote it
    return None


def _make_call(
    name: str, signature: inspect.Signature, argument: str, make: Callable[[str], object]
) -> Callable[[Muisti, str], object]:
    def call(memory: Muisti, secret: str) -> object:
        given = _fill(memory, signature, argument)
        given[argument] = make(secret)
        positional = [
            given.pop(parameter.name)
            for parameter in signature.parameters.values()
            if parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in given
        ]
        return getattr(memory, name)(*positional, **given)

    return call


def _fill(memory: Muisti, signature: inspect.Signature, argument: str) -> dict[str, Any]:
    """Return valid values for the other arguments that are required."""
    ids = [one.id for one in memory.list(limit=2)]
    values: dict[str, Any] = {
        "memory_id": ids[0], "source_id": ids[0], "target_id": ids[1], "old_id": ids[0], "new_id": ids[1],
        "ids": [ids[0]], "conversation": "canary_1", "role": "user", "content": "Some text", "section": "user",
        "key": "name", "value": "Anna", "session_id": "session-1", "user_message": "I decided to use PostgreSQL.",
        "query": "text", "keywords": ["one"], "message_ids": ["m"], "type": "RELATED_TO", "path": _write_file("notes", ".md"),
        "source": "some text", "source_path": _write_file("some", ".json"), "part": "0", "words": ["one"], "folder": "a",
        "memories": [], "talk": [Utterance("I decided to use Go", "Anna", "user", AT)], "items": ["a text"],
        "found": [Extracted("We use Go", "fact", 0.9, "user", AT)],
    }  # fmt: skip
    required = {
        parameter.name: values[parameter.name]
        for parameter in signature.parameters.values()
        if parameter.default is parameter.empty
        and parameter.name in values
        and parameter.name != argument
    }
    if "user_message" in required or argument == "user_message":
        required["session_id"] = "session-1"
    return required


def _write_file(name: str, suffix: str) -> str:
    """Write a file with the secret in its path: with a slash, part of it is a folder."""
    name = "notes" if "//" in name else name[:200].lstrip("/")  # no path has two slashes
    path = Path(tempfile.mkdtemp(prefix="muisti-canary-")) / f"{name}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[]" if suffix == ".json" else "# Notes\n\nSome text.\n")
    return str(path)


def find_secret(folder: Path, secret: str) -> list[str]:
    """Return the files and names below a folder that have the secret, or a long part of it."""
    parts = [part.encode() for part in _parts_of(secret)]
    found = []
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        data = name.encode() + b"\n" + (path.read_bytes() if path.is_file() else b"")
        if any(part in data for part in parts):
            found.append(name)
    return sorted(found)


def has_secret(text: str, secret: str) -> bool:
    """Return whether a text has the secret, or a long part of it."""
    return any(part in text for part in _parts_of(secret))


def _parts_of(secret: str) -> set[str]:
    """Beginning, middle and end: a text may have been cut."""
    half = len(secret) // 2
    return {secret[:24], secret[half : half + 24] if half >= 24 else secret, secret[-24:]}


def describe(error: BaseException) -> str:
    """Return all texts of an error and of what caused it, unless that is hidden."""
    texts = []
    seen: BaseException | None = error
    while seen is not None:
        texts += [str(seen), repr(seen)]
        seen = seen.__cause__
    return "\n".join(texts)

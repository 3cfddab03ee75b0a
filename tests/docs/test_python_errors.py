"""The errors that docs/python.md lists for each method are those that it raises."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from scripts.docs_python import find_raised, public_methods

from muisti import Muisti, MuistiError, errors

METHODS = dict(public_methods())
VALUES: dict[str, Any] = {
    "items": ["one"], "ids": ["unknown"], "memories": [], "keywords": ["tea"], "limit": 5, "role": "user", "type": "RELATED_TO",
    "conversation": "web_nobody", "message_ids": ["unknown"], "min_salience": 0.1, "section": "user", "utterances": ["I like tea"],
    "source": "/nowhere/at/all.json", "path": "/nowhere/at/all", "extracted": [], "found": [], "use": "recalled", "mode": "default",
}  # fmt: skip
"""Values of required arguments that are not just any text."""
WRONG: dict[str, Any] = {
    "session_id": "", "memory_id": "unknown", "limit": -1, "offset": -1, "amount": -1.0, "depth": -1, "before": -1,
    "min_salience": 7.0, "max_bytes": -1, "budget": -1, "tool_calls": -1, "type": "NONSENSE", "use": "admired", "order_by": "colour",
    "mode": "nonsense", "project": "a/b", "user": "a\nb", "kind": "nonsense", "timeout": -1.0, "format": "nonsense", "importance": 7.0,
}  # fmt: skip
"""A value of each argument that is not valid."""
ANYWHERE = {"session_id": "SessionNotFound", "project": "InvalidMemory", "user": "InvalidMemory"}
"""What the page says once for all methods."""
LEFT_OUT = {"close", "open", "take_over", "watch_files", "notebook", "resume_extraction"}


def find_wrong_calls() -> list[tuple[str, str]]:
    return [
        (name, argument)
        for name, function in METHODS.items()
        for argument in inspect.signature(function).parameters
        if argument in WRONG and name not in LEFT_OUT
    ]


@pytest.mark.parametrize("name", METHODS)
def test_what_a_docstring_says_is_raised_is_an_error(name: str) -> None:
    for raised in find_raised(name):
        assert issubclass(getattr(errors, raised.strip("`")), MuistiError)


def test_an_error_that_a_method_raises_is_in_its_docstring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some arguments are names of files to write
    undocumented = set()
    with Muisti.open(":memory:", embedder="none") as memory:
        memory.save("I like tea")
        for name, argument in find_wrong_calls():
            required = [
                one.name
                for one in list(inspect.signature(METHODS[name]).parameters.values())[1:]
                if one.default is one.empty
            ]
            wrong = {argument: WRONG[argument]}
            if argument == "session_id":
                wrong = {argument: f"nobody-{name}"}  # a write begins it
            values = [(wrong | VALUES | wrong).get(one, "text") for one in required]
            others = {} if argument in required else wrong
            try:
                getattr(memory, name)(*values, **others)
            except MuistiError as error:
                named = {cls.__name__ for cls in type(error).__mro__}
                expected = {raised.strip("`") for raised in find_raised(name)}
                if not named & (expected | {ANYWHERE.get(argument)}):
                    undocumented.add(f"{name}({argument}=…) raises {type(error).__name__}")
    assert not undocumented, "\n".join(sorted(undocumented))

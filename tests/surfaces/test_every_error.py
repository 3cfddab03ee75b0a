"""One table of errors: what stands beside a class in `errors.py` is what every surface shows
(contract J2, J3, J4, J5).
"""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import muisti
from muisti import Muisti, bootstrap, errors
from muisti.surfaces.cli import group
from muisti.surfaces.cli.main import MODULES
from muisti.surfaces.hooks.run import describe_error as logged
from muisti.surfaces.mcp.errors import STEPS, describe_error
from muisti.surfaces.mcp.vault import LazyVault
from muisti.surfaces.setup.errors import ConfigurationProblem
from tests.rest.conftest import client_of
from tests.surfaces.mcp.clients import call_failing_tool, connect_in_process, run

COMMAND = re.compile(rf"muisti (?:{'|'.join(name for name in MODULES if name != 'trust')})\b")
"""A command that only a person can run. Agents tell the user about `muisti trust`, by its name."""
QUOTED = "the lamp is green"
"""What only an error that may quote a memory says."""
MADE: dict[type[errors.MuistiError], errors.MuistiError] = {
    errors.InvalidMemory: errors.InvalidMemory("title", QUOTED, "it is too long"),
    errors.InvalidRequest: errors.InvalidRequest("mode", QUOTED, "choose hybrid"),
    errors.CoreEntryNotFound: errors.CoreEntryNotFound("user", QUOTED, ()),
    errors.ConversationNotFound: errors.ConversationNotFound(QUOTED),
    errors.MessageNotFound: errors.MessageNotFound(QUOTED, "cli_1"),
    errors.Unsupported: errors.Unsupported(
        "sync", "a vault in memory has no files; open a folder instead"
    ),
    errors.ScopeDenied: errors.ScopeDenied("write", "read"),
    errors.TooManyRequests: errors.TooManyRequests(60, 7),
    errors.QuotaExceeded: errors.QuotaExceeded("memories", 5, 5),
    errors.BrokenFile: errors.BrokenFile("facts/a.md", "has no front matter"),
    ConfigurationProblem: ConfigurationProblem(Path("settings.json"), "is no JSON"),
}
"""One of each class whose constructor takes more than a message."""


def _every(kind: type[errors.MuistiError]) -> Iterator[type[errors.MuistiError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _every(below)


def _all_errors() -> list[type[errors.MuistiError]]:
    """Every class of the package, wherever it is defined. Those of optional packages that are
    missing cannot be raised.
    """
    for module in pkgutil.walk_packages(muisti.__path__, "muisti."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError:
                continue
    return [
        one
        for one in dict.fromkeys(_every(errors.MuistiError))
        if one.__module__.startswith("muisti.")
    ]


ERRORS = _all_errors()
every_error = pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)


def _made(kind: type[errors.MuistiError]) -> errors.MuistiError:
    return MADE[kind] if kind in MADE else kind(QUOTED)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Muisti]:
    """An open vault of which a method is made to fail."""
    with bootstrap.open(
        tmp_path_factory.mktemp("errors") / "vault", settings={"embedder": "none"}
    ) as memory:
        yield memory


@pytest.fixture(scope="module")
def client(broken: Muisti) -> Iterator[TestClient]:
    with client_of(broken, web_page=True) as client:
        yield client


def test_all_of_them_were_found() -> None:
    names = {kind.__name__ for kind in ERRORS}
    assert {
        "MuistiError",
        "Unsupported",
        "ConfigurationProblem",
        "CommandRefused",
        "VaultReadOnly",
    } <= names


@every_error
def test_each_says_what_it_means(kind: type[errors.MuistiError]) -> None:
    assert kind.status in (401, 403, 404, 409, 422, 429, 500, 501, 503, 507)
    assert "title" in vars(kind), "each class has a title of its own"
    assert kind.title[0].isupper()
    assert not kind.title.endswith(".")
    assert not kind.next_step or (kind.next_step[0].isupper() and kind.next_step.endswith("."))
    assert kind.exit_code == 1
    assert kind.__doc__


def test_no_two_have_the_same_title() -> None:
    assert len({kind.title for kind in ERRORS}) == len(ERRORS)


@every_error
def test_rest_page_and_agents_tell_the_same(
    client: TestClient,
    broken: Muisti,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[errors.MuistiError],
) -> None:
    error = _made(kind)

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(broken, "get_stats", fail)

    problem = client.get("/api/stats")
    body = problem.json()
    assert (problem.status_code, body["status"], body["title"]) == (
        kind.status,
        kind.status,
        kind.title,
    )
    assert body["detail"] == str(error)
    assert body.get("nextStep", "") == kind.next_step

    page = client.get("/numbers", headers={"Accept": "text/html"})
    assert page.status_code == kind.status
    assert f"<h1>{kind.title}</h1>" in page.text
    assert kind.next_step in unescape(page.text)

    part = client.get("/numbers", headers={"HX-Request": "true"})
    assert part.status_code == kind.status
    assert kind.title in part.text

    async def asked() -> str:
        async with connect_in_process(LazyVault(fail)) as agent:  # type: ignore[arg-type]
            return await call_failing_tool(agent, "memory_core_get")

    message = run(asked)
    assert message.startswith(f"{kind.title}: ")
    steps = [STEPS[one] for one in kind.__mro__ if one in STEPS]
    assert not steps or steps[0] in message
    assert ("Tell the user" in message) == (
        kind.status in (403, 500, 501, 503, 507) and not kind.is_temporary
    )


@every_error
def test_J4_agents_are_told_no_command(kind: type[errors.MuistiError]) -> None:
    """A model cannot run `muisti …`: neither its own steps nor those for people may name it."""
    assert kind.next_step == "" or not COMMAND.search(describe_error(_made(kind)))
    if kind in (errors.MemoryNotFound, errors.SessionNotFound, *MADE):
        told = describe_error(_made(kind))
    else:
        told = describe_error(kind(f"{QUOTED}; run `muisti reindex` and try again"))
    assert not COMMAND.search(told)
    assert told.startswith(f"{kind.title}: ")
    assert not any(COMMAND.search(step) for step in STEPS.values())


def test_J4_agents_are_told_no_command_of_any_message() -> None:
    """Every message of the source that names a command, whole, as an error for an agent."""
    found = 0
    for file in Path(muisti.__file__).parent.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
        joined = [node for node in nodes if isinstance(node, ast.JoinedStr)]
        inside = {id(part) for node in joined for part in node.values}
        for node in nodes:
            if id(node) in inside:
                continue
            if isinstance(node, ast.JoinedStr):
                parts = [one.value if isinstance(one, ast.Constant) else "x" for one in node.values]
                text = "".join(str(part) for part in parts)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            if "`muisti " in text and "\n" not in text:
                found += 1
                told = describe_error(errors.MuistiError(text))
                assert not COMMAND.search(told), f"{file}: {text}"
    assert found > 20


@every_error
def test_the_command_line_tells_the_same(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: type[errors.MuistiError],
) -> None:
    error = _made(kind)

    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(group.cli, "main", fail)
    for arguments in ([], ["--json"]):
        monkeypatch.setattr("sys.argv", ["muisti", "stats", *arguments])
        with pytest.raises(SystemExit) as ended:
            group.run()
        assert ended.value.code == kind.exit_code
        said = capsys.readouterr().err
        if arguments:
            expected = {
                "error": kind.__name__,
                "message": str(error),
                "title": kind.title,
                "next_step": kind.next_step,
            }
            assert json.loads(said) == expected
        else:
            assert said == f"error: {error}\n"


@every_error
def test_the_log_of_hooks_tells_the_same_and_quotes_nobody(kind: type[errors.MuistiError]) -> None:
    error = _made(kind)
    said = logged(error)
    assert said.startswith(f"{kind.__name__}: ")
    if kind.may_quote:
        assert kind.title in said
        assert str(error) not in said
        assert QUOTED not in said
    else:
        assert str(error) in said

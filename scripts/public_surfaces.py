"""The public names of the servers, of errors and of what `muisti install` writes.

A part of `public_names.py`. What can be asked of a running program is asked of it, so that this
does not depend on where in the package something is.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import click
from click.testing import CliRunner

import muisti
from muisti import Muisti, MuistiError, errors

SOURCES = str(Path(muisti.__file__).parents[1])
METHODS = ("get", "put", "post", "patch", "delete")
HIDDEN_PATHS = {
    "/api/chats": "/api/conversations",
    "/api/chats/{chat}/messages": "/api/conversations/{conversation}/messages",
    "/api/chats/{chat}/break": "/api/conversations/{conversation}/break",
}
"""Old paths that keep working and are not in the schema, with their new names (contract M2)."""
VAULT = "VAULT"
"""Stands for the path of the vault in recorded commands."""
INTERRUPTED = """\
import sys, muisti
def interrupted(self): raise KeyboardInterrupt
muisti.Muisti.get_stats = interrupted
sys.argv = ["muisti", "stats", "--vault", sys.argv[1]]
from muisti.surfaces.cli.main import main
main()
"""


@contextmanager
def empty_vault() -> Iterator[Muisti]:
    """A vault that is thrown away."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        yield stack.enter_context(Muisti.open(Path(folder, "vault"), embedder="none"))


@contextmanager
def _app() -> Iterator[Any]:
    """The application of a server of an empty vault."""
    from muisti.surfaces.rest.app import create_app

    with empty_vault() as memory:
        yield create_app(memory)


# -- REST


def rest_names() -> Iterator[str]:
    """Addresses with their methods, parameters and the fields of their JSON."""
    with _app() as app:
        document = app.openapi()
        routes = set(_routes(app.routes))  # those of the page too, which no description lists
    for path, operations in document["paths"].items():
        for method in METHODS:
            if method in operations:
                yield from _operation(f"{method.upper()} {path}", operations[method], document)
    for old, new in HIDDEN_PATHS.items():
        for method, operation in document["paths"][new].items():
            served = f"{method.upper()} {old}".replace("{chat}", "{conversation}")
            assert served in routes, f"{served} is gone"
            routes.discard(served)
            for name in _operation(f"{method.upper()} {old}", operation, document):
                yield name.replace("path conversation", "path chat")
    from muisti.surfaces.rest.schemas_conversations import NewMessage, Utterance

    assert Utterance.model_validate({"text": "x"}).content == "x"
    yield "POST /api/extract/preview request messages[].text"
    assert NewMessage.model_validate({"role": "user", "text": "x"}).content == "x"
    yield "POST /api/conversations/{conversation}/messages request text"
    yield from routes


def _routes(routes: list[Any]) -> Iterator[str]:
    for route in routes:
        included = getattr(route, "original_router", route)  # FastAPI keeps routers as they are
        if hasattr(included, "path"):
            methods = getattr(included, "methods", None) or {"ANY"}
            yield from (f"{method} {included.path}" for method in methods - {"HEAD"})
        else:
            yield from _routes(included.routes)


def _operation(name: str, operation: dict[str, Any], told: dict[str, Any]) -> Iterator[str]:
    yield name
    for parameter in operation.get("parameters", ()):
        yield f"{name} {parameter['in']} {parameter['name']}"
    for schema in _schemas(operation.get("requestBody", {})):
        yield from (f"{name} request {field}" for field in _fields(schema, told))
    for status, response in operation["responses"].items():
        if int(status) < 400:
            yield f"{name} {status}"
            for schema in _schemas(response):
                yield from (f"{name} {status} {field}" for field in _fields(schema, told))


def _schemas(holder: dict[str, Any]) -> list[dict[str, Any]]:
    return [content.get("schema", {}) for content in holder.get("content", {}).values()]


def _fields(schema: dict[str, Any], told: dict[str, Any], above: str = "") -> Iterator[str]:
    """The paths of all fields below a schema. Schemas that hold themselves do not exist here."""
    if "$ref" in schema:
        schema = told["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    for key in ("anyOf", "oneOf", "allOf"):
        for choice in schema.get(key, ()):
            yield from _fields(choice, told, above)
    if isinstance(schema.get("items"), dict):
        yield from _fields(schema["items"], told, f"{above}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _fields(schema["additionalProperties"], told, f"{above}{{}}")
    for name, field in schema.get("properties", {}).items():
        path = f"{above}.{name}" if above else name
        yield path
        yield from _fields(field, told, path)


def error_names() -> Iterator[str]:
    """Classes of errors with what they are over HTTP; fields of a problem."""
    with _app() as app:
        handler = app.exception_handlers[MuistiError]
        told = app.openapi()
        for kind in _errors():
            response = handler(None, kind.__new__(kind))
            problem = json.loads(response.body)
            yield f"{kind.__name__}: {response.status_code} {problem['type']}"
    for field in _fields({"$ref": "#/components/schemas/Problem"}, told):
        yield f"problem+json {field}"


def _errors() -> list[type[MuistiError]]:
    found = [value for value in vars(errors).values() if isinstance(value, type)]
    return [kind for kind in found if issubclass(kind, MuistiError)]


def metric_names() -> Iterator[str]:
    """Counters of `Muisti.metrics()` and the families at `/metrics`."""
    from starlette.testclient import TestClient

    with _app() as app:
        metrics = app.state.memory.metrics()
        yield from (f"counter {name}" for name in metrics.counters)
        yield from (f"latency {name}" for name in metrics.latencies)
        client = TestClient(app, base_url="http://127.0.0.1")
        client.get("/api/health")
        text = client.get("/metrics").text
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE):
        if not name.endswith("_created"):  # the client's own, and can be switched off
            yield f"{kind} {name}"
    for name, labels in re.findall(r"^(muisti_\w+)_count\{([^}]*)\}", text, re.MULTILINE):
        yield from (f"label {name}{{{label}}}" for label in re.findall(r"(\w+)=", labels))


# -- MCP


def mcp_names() -> Iterator[str]:
    """Tools with what they take and answer, resources, prompts."""
    from muisti.surfaces.mcp.server import OLD_CORE_DELETE, OLD_NAMES, build_server
    from muisti.surfaces.mcp.vault import make_vault

    server: Any = build_server(make_vault(None))  # opens nothing before it is asked something
    for tool in anyio.run(server.list_tools):
        old_names = [old for old, new in OLD_NAMES.items() if new == tool.name]
        if tool.name == OLD_NAMES["core_update"]:
            old_names.append(OLD_CORE_DELETE)
        for called in (tool.name, *old_names):  # old names are accepted and not listed
            yield f"tool {called}"
            yield from (f"tool {called}({name})" for name in tool.input_schema["properties"])
            yield from (f"tool {called} -> {name}" for name in _fields(tool.output_schema, {}))
    for resource in anyio.run(server.list_resources):
        yield f"resource {resource.uri}"
    for template in anyio.run(server.list_resource_templates):
        yield f"resource {template.uri_template}"
    for prompt in anyio.run(server.list_prompts):
        yield f"prompt {prompt.name}"
        yield from (f"prompt {prompt.name}({one.name})" for one in prompt.arguments or ())


# -- Commands


def exit_codes() -> Iterator[str]:
    """What the command returns in each sort of case."""
    with tempfile.TemporaryDirectory() as folder:
        vault = str(Path(folder, "vault"))
        cases = {
            "done": ["-m", "muisti", "init", vault],
            "an error": ["-m", "muisti", "show", "0000", "--vault", vault],
            "wrong usage": ["-m", "muisti", "list", "--no-such-option"],
            "interrupted": ["-c", INTERRUPTED, vault],
            "a hook that cannot be understood": ["-m", "muisti", "hook", "Stop"],
        }
        for case, arguments in cases.items():
            yield f"{case}: {_run(arguments, folder).returncode}"
        wrong = Path(vault, "facts", "broken.md")
        wrong.parent.mkdir()
        wrong.write_text("---\ntitle: [\n---\n")
        verified = _run(["-m", "muisti", "verify", "--vault", vault], folder)
        yield f"verify finds a problem: {verified.returncode}"
        told = _run([*cases["an error"], "--json"], folder)
        yield from (f"an error as JSON: {name}" for name in json.loads(told.stderr))


def _run(arguments: list[str], home: str) -> subprocess.CompletedProcess[str]:
    """Run Python as a user whose folders are all empty."""
    environ = {name: value for name, value in _environment(home).items() if value is not None}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=home,
        env=environ,
        input="",
        capture_output=True,
        text=True,
        check=False,
    )


def _environment(home: str) -> dict[str, str | None]:
    """Variables of the environment; None: to be unset."""
    theirs = ("MUISTI", "CLAUDE", "CODEX", "GEMINI")
    kept = {name: None if name.startswith(theirs) else text for name, text in os.environ.items()}
    folders = {name: f"{home}/{name.lower()}" for name in ("XDG_DATA_HOME", "XDG_STATE_HOME")}
    own = {"HOME": home, "XDG_CONFIG_HOME": f"{home}/.config", "PYTHONPATH": SOURCES}
    return {**kept, **folders, **own, "MUISTI_EMBEDDER": "none"}


def installed_commands() -> Iterator[str]:
    """The commands that `muisti install` writes into the configuration of each agent."""
    from muisti.surfaces.cli import main

    install: Any = main.cli.get_command(click.Context(main.cli), "install")
    for agent in install.params[0].type.choices:
        for with_vault in (False, True):
            with tempfile.TemporaryDirectory() as home:
                vault = f"{home}/vault"
                arguments = [agent, "--yes", *(["--vault", vault] if with_vault else [])]
                done = CliRunner().invoke(install, arguments, env=_environment(home))
                assert done.exit_code == 0, done.output
                for command in _written(Path(home)):
                    yield f"{agent}: {command.replace(vault, VAULT)}"


def _written(home: Path) -> Iterator[str]:
    for path in sorted(home.rglob("*")):
        if path.suffix == ".json":
            yield from _found_in(json.loads(path.read_text("utf-8")))
        elif path.suffix == ".toml":
            yield from _found_in(tomllib.loads(path.read_text("utf-8")))


def _found_in(value: Any) -> Iterator[str]:
    """Commands anywhere in a configuration, without the path of the program."""
    if isinstance(value, list):
        for one in value:
            yield from _found_in(one)
    elif isinstance(value, dict) and isinstance(value.get("command"), str):
        words = [*value["command"].split(), *value.get("args", ())]
        verb = next(number for number, word in enumerate(words) if word in ("mcp", "hook"))
        yield " ".join(["muisti", *words[verb:]])
    elif isinstance(value, dict):
        for one in value.values():
            yield from _found_in(one)

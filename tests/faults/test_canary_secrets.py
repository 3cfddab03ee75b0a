"""C1 · A secret in any argument of any verb is stored, logged and shown nowhere."""

from __future__ import annotations

import io
import json
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import pytest
from starlette.testclient import TestClient

from muisti import Muisti, MuistiError, Utterance
from muisti.surfaces.cli.group import cli, run
from muisti.surfaces.rest.app import create_app
from muisti.surfaces.rest.config import ServerConfig
from tests.chat_server import serving
from tests.conftest import Opener
from tests.faults.canary import AT, Case, describe, find_secret, has_secret, list_cases
from tests.showing import show_all
from tests.surfaces.mcp.clients import connect_in_process
from tests.surfaces.mcp.clients import run as run_async
from tests.tiers import amount, sample, spread
from tests.unit.test_secrets import WHOLE

SECRETS = list(dict.fromkeys(secret for _, secret in WHOLE))
ONE_LINE = [secret for secret in SECRETS if secret.isprintable() and " " not in secret]
SHORT = [secret for secret in ONE_LINE if len(secret) <= 100]
CASES = list_cases()


def choose_secrets(number: int, secrets: list[str]) -> list[str]:
    """Return other secrets for each argument, and all of them in the long tier."""
    count = amount(quick=1, all=2, long=len(secrets))
    return [secrets[(number * count + at) % len(secrets)] for at in range(count)]


@pytest.fixture
def memory(opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Muisti:
    monkeypatch.chdir(tmp_path)  # some arguments are names of files to write
    memory = opened(embedder="none")
    fill(memory)
    memory.start_session(session_id="session-1")
    memory.append_message("canary_1", "user", "Hello there")
    return memory


def fill(memory: Muisti) -> None:
    """Replace what earlier calls removed."""
    for animal in ("cats", "dogs", "birds"):
        if len(memory.list(limit=3)) < 3:
            memory.save(f"Some text about {animal}, once more")


def test_C1_A4_a_secret_in_any_argument_of_any_method_is_nowhere(
    memory: Muisti, vault: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert len(CASES) > 300
    leaks = []
    used: dict[str, list[str]] = {}
    with caplog.at_level(logging.DEBUG):
        for number, case in enumerate(CASES):
            fill(memory)
            for secret in choose_secrets(number, SECRETS):
                used.setdefault(secret, []).append(str(case))
                if told := call(case, memory, secret):
                    leaks.append(f"{case} told {told}")
        memory.flush()
    memory.close()
    for secret, cases in used.items():
        if files := find_secret(vault, secret):
            leaks.append(f"{secret[:12]}… of {cases} is in {files}")
        if has_secret(caplog.text, secret):
            leaks.append(f"{secret[:12]}… of {cases} is in the log")
    assert "\n".join(leaks) == ""


def call(case: Case, memory: Muisti, secret: str) -> str:
    """Return what a call said about the secret; "" if nothing."""
    try:
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            result = case.call(memory, secret)
        told = f"{show_all(result)} {getattr(result, 'hint', '')}"
    except (MuistiError, TypeError) as error:
        told = describe(error)
    return told[:300] if has_secret(told, secret) else ""


def test_C1_A4_names_in_any_place_of_the_rest_interface(memory: Muisti, vault: Path) -> None:
    app = create_app(memory, ServerConfig(web_page=False, watch=False))
    leaks = []
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        for number, (method, path, place, name) in enumerate(list_rest(app.openapi())):
            for secret in choose_secrets(number, ONE_LINE):
                sent: dict[str, Any] = {"params": {}, "json": {}}
                sent[place] = {name: secret} if place != "path" else {}
                address = path.replace("{" + name + "}", secret.replace("/", "%2F"))
                address = address.split("{")[0] + "x" if "{" in address else address
                if method == "get":
                    del sent["json"]
                sent.pop("path", None)
                answer = client.request(method, address, **sent)
                if has_secret(answer.text, secret):
                    leaks.append(f"{method} {path} {name}: {answer.text[:200]}")
    memory.close()
    assert [*leaks, *(file for one in ONE_LINE for file in find_secret(vault, one))] == []


def list_rest(openapi: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield method, path, place and name of every parameter and body field."""
    schemas = openapi["components"]["schemas"]
    for path, methods in openapi["paths"].items():
        if "events" in path:  # an endless stream
            continue
        for method, operation in methods.items():
            for one in operation.get("parameters", ()):
                if one["in"] in ("query", "path"):
                    yield method, path, {"query": "params", "path": "path"}[one["in"]], one["name"]
            for body in operation.get("requestBody", {}).get("content", {}).values():
                reference = body["schema"].get("$ref", "").rpartition("/")[2]
                yield method, path, "json", "no_such_field"
                for name in schemas.get(reference, {}).get("properties", ()):
                    yield method, path, "json", name


COMMANDS_LEFT_OUT = {
    "init",
    "serve",
    "worker",
    "mcp",
    "demo",
    "hook",
    "install",
    "uninstall",
    "doctor",
    "model",
}
"""Programs that do not end, and a path that the user chooses for a vault or an agent."""


def list_commands(
    group: click.Group, names: list[str]
) -> Iterator[tuple[list[str], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or name in COMMANDS_LEFT_OUT:
            continue
        if isinstance(command, click.Group):
            yield from list_commands(command, [*names, name])
        else:
            yield [*names, name], command


def make_lines(words: list[str], command: click.Command, secret: str) -> Iterator[list[str]]:
    """Yield a command line with the secret in each argument and option in turn."""
    arguments = [one for one in command.params if isinstance(one, click.Argument)]
    for at in range(max(1, len(arguments))):
        yield [*words, *(secret if at == n else "x" for n in range(len(arguments))), "--json"]
    for option in command.params:
        if isinstance(option, click.Option) and not option.is_flag and option.name != "vault":
            yield [*words, *("x" for _ in arguments), f"{option.opts[-1]}={secret}"]
    yield [*words, "--no-such-option", secret]
    yield [secret, *words]


def test_C1_A4_a_secret_in_any_option_of_the_command_line(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    Muisti.open(vault, embedder="none").close()
    monkeypatch.setenv("MUISTI_VAULT", str(vault))
    monkeypatch.setenv("MUISTI_EMBEDDER", "none")
    monkeypatch.chdir(tmp_path)
    leaks = []
    commands = list(list_commands(cli, []))
    for number, (words, command) in enumerate(spread(commands, amount(quick=12, all=200))):
        for secret in choose_secrets(number, ONE_LINE):
            for line in make_lines(words, command, secret):
                monkeypatch.setattr(sys, "argv", ["muisti", *line])
                monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
                with suppress(SystemExit):
                    run()
                said = capfd.readouterr()
                if has_secret(said.out + said.err, secret):
                    leaks.append(f"{line}: {(said.out + said.err)[:200]}")
    found = [(one[:12], files) for one in ONE_LINE if (files := find_secret(vault, one))]
    assert "\n".join([*leaks, *map(str, found)]) == ""


def test_C1_A4_a_secret_in_any_argument_of_an_mcp_tool(vault: Path) -> None:
    Muisti.open(vault, embedder="none").close()
    (vault / "muisti.toml").write_text('embedder = "none"\n')
    leaks: list[str] = []

    async def work() -> None:
        async with connect_in_process(vault) as client:
            tools = (await client.list_tools()).tools
            number = 0
            for tool in tools:
                schema = tool.input_schema
                for name in [*schema["properties"], "no_such_argument"]:
                    number += 1
                    for secret in choose_secrets(number, ONE_LINE):
                        given = dict.fromkeys(schema.get("required", ()), "x")
                        for value in (secret, [secret]):
                            answer = await client.call_tool(tool.name, {**given, name: value})
                            told = answer.model_dump_json()
                            if has_secret(told, secret):
                                leaks.append(f"{tool.name} {name}: {told[:200]}")

    run_async(work)
    assert "\n".join(leaks) == ""
    assert [(one[:12], files) for one in ONE_LINE if (files := find_secret(vault, one))] == []


def test_C1_the_values_that_are_quoted_are_redacted_before_they_are_cut() -> None:
    long = "eyJ" + "hbGciOiJIUzI1NiJ9" + "." + "eyJzdWIi" * 20 + "." + "a1B2c3D4" * 10
    for error in (
        MuistiError(f"bad {long}"),
        *(kind("x", long, "must be short") for kind in _kinds()),
        *(kind("x", [long, {long: 1}], "must be short") for kind in _kinds()),
    ):
        assert "eyJ" not in json.dumps(describe(error))


def _kinds() -> tuple[Any, ...]:
    from muisti import InvalidMemory, InvalidRequest

    return InvalidMemory, InvalidRequest


def test_C1_no_request_to_a_model_has_a_secret(opened: Opener, vault: Path) -> None:
    with serving() as server:
        server.reply = '{"memories": []}'
        memory = opened(
            embedder="none", extractor="openai", extractor_url=server.url, extractor_model="m"
        )
        for number, secret in enumerate(sample(SHORT, 10)):
            memory.extract_and_save(f"s{number}", f"I use {secret}", secret, speaker=secret)
            memory.extract([Utterance(f"We decided to use {secret}", secret, "user", AT)])
        assert memory.flush()
        sent = "".join(repr(one) for one in server.requests)
    assert sent
    assert [secret[:12] for secret in ONE_LINE if has_secret(sent, secret)] == []

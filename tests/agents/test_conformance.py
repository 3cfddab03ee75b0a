"""J4, K3 · The official conformance suite of MCP, run against `/mcp` of a real `muisti serve`.

Once as it is, and once with the tools, resources and prompts that most scenarios call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.mcp.clients import run_server

from .mcp_clients import new_vault, package, run

pytestmark = pytest.mark.exhaustive
APPLY = (
    "server-initialize",
    "ping",
    "completion-complete",
    "tools-list",
    "tools-call-error",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
)
"""Scenarios that the product passes as it is."""
WITH_FIXTURES = (
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-with-progress",
    "json-schema-2020-12",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
)
"""Scenarios that call something of the suite's own: `conformance_server` adds it."""
LOGGING = "no log messages are offered to clients; the protocol has deprecated them"
STATELESS = "the server asks the client nothing: each request stands for itself"
SUBSCRIBING = "subscriptions are not offered: a memory is read when it is needed"
DO_NOT_APPLY = {
    "logging-set-level": LOGGING,
    "tools-call-with-logging": LOGGING,
    "tools-call-sampling": STATELESS + "; the client's model is never used",
    "tools-call-elicitation": STATELESS + "; the user is never asked",
    "elicitation-sep1034-defaults": STATELESS + "; the user is never asked",
    "elicitation-sep1330-enums": STATELESS + "; the user is never asked",
    "server-sse-polling": "answers are short and need no resuming",
    "server-sse-multiple-streams": "needs a session; without one, a new start breaks no client",
    "resources-subscribe": SUBSCRIBING,
    "resources-unsubscribe": SUBSCRIBING,
}
Statuses = dict[str, list[str]]
"""The statuses of each scenario's checks."""


def run_suite(program: Path, url: str, folder: Path) -> Statuses:
    """Run the whole suite and return how the checks of each scenario ended."""
    results = folder / "results"
    run(program, "server", "--url", f"{url}/mcp", "--suite", "all", "-o", str(results), home=folder)
    found: Statuses = {}
    for file in results.glob("server-*/checks.json"):
        (name,) = re.findall(r"^server-(.+)-\d{4}-\d\d-\d\dT", file.parent.name)
        statuses = [check["status"] for check in json.loads(file.read_text())]
        found[name] = [status for status in statuses if status not in ("INFO", "SKIPPED")]
    return found


@pytest.fixture(scope="module")
def program() -> Path:
    return package("conformance", "dist", "index.js")


@pytest.fixture(scope="module")
def plain(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Statuses]:
    folder = tmp_path_factory.mktemp("plain")
    with run_server(new_vault(folder / "vault")) as url:
        yield run_suite(program, url, folder)


@pytest.fixture(scope="module")
def fitted(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Statuses]:
    folder = tmp_path_factory.mktemp("fitted")
    with run_server(new_vault(folder / "vault"), "tests.agents.conformance_server") as url:
        yield run_suite(program, url, folder)


@pytest.mark.parametrize("scenario", APPLY)
def test_J4_the_scenario_passes(plain: Statuses, scenario: str) -> None:
    assert set(plain[scenario]) == {"SUCCESS"}


@pytest.mark.parametrize("scenario", [*APPLY, *WITH_FIXTURES])
def test_J4_the_scenario_passes_with_what_it_calls(fitted: Statuses, scenario: str) -> None:
    assert set(fitted[scenario]) == {"SUCCESS"}


@pytest.mark.parametrize("scenario", DO_NOT_APPLY)
def test_J4_what_does_not_apply_does_not_pass(fitted: Statuses, scenario: str) -> None:
    assert set(fitted[scenario]) != {"SUCCESS"}, "it applies now: list it above"


def test_J4_every_scenario_is_run_or_has_a_reason(
    program: Path, plain: Statuses, tmp_path: Path
) -> None:
    listed = run(program, "list", "--server", home=tmp_path / "home").stdout
    known = set(re.findall(r"^  - ([a-z0-9-]+)", listed, re.MULTILINE))
    named = [*APPLY, *WITH_FIXTURES, *DO_NOT_APPLY]
    assert known == set(named) == set(plain)
    assert len(named) == len(set(named))
    assert all(DO_NOT_APPLY.values())

"""J4, K3 · The official conformance suite of MCP, run against `/mcp` of a real `muisti serve`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.mcp.clients import run_server

from .mcp_clients import new_vault, package, run

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
FIXTURE = "wants a tool of the suite's own test server: "
DO_NOT_APPLY = {
    "logging-set-level": "no log messages are offered to clients; the protocol has deprecated them",
    "tools-call-simple-text": FIXTURE + "test_simple_text",
    "tools-call-image": FIXTURE + "test_image_content; memories are text",
    "tools-call-audio": FIXTURE + "test_audio_content; memories are text",
    "tools-call-embedded-resource": FIXTURE + "test_embedded_resource",
    "tools-call-mixed-content": FIXTURE + "test_multiple_content_types",
    "tools-call-with-logging": FIXTURE + "test_tool_with_logging",
    "tools-call-with-progress": FIXTURE
    + "test_tool_with_progress; progress is tested in tests/surfaces/mcp",
    "tools-call-sampling": FIXTURE + "test_sampling; the client's model is never asked",
    "tools-call-elicitation": FIXTURE + "test_elicitation; the user is never asked",
    "elicitation-sep1034-defaults": FIXTURE + "test_elicitation_sep1034_defaults",
    "elicitation-sep1330-enums": FIXTURE + "test_elicitation_sep1330_enums",
    "json-schema-2020-12": FIXTURE + "json_schema_2020_12_tool",
    "server-sse-polling": FIXTURE + "test_reconnection; answers are short and need no resuming",
    "server-sse-multiple-streams": "needs a session; each request stands for itself here, so that a new start breaks no client",
    "resources-read-text": "wants the resource test://static-text",
    "resources-read-binary": "wants the resource test://static-binary",
    "resources-templates-read": "wants the resource test://template/{id}/data",
    "resources-subscribe": "subscriptions are not offered: a memory is read when it is needed",
    "resources-unsubscribe": "subscriptions are not offered: a memory is read when it is needed",
    "prompts-get-simple": "wants the prompt test_simple_prompt",
    "prompts-get-with-args": "wants the prompt test_prompt_with_arguments",
    "prompts-get-embedded-resource": "wants the prompt test_prompt_with_embedded_resource",
    "prompts-get-with-image": "wants the prompt test_prompt_with_image",
}


@pytest.fixture(scope="module")
def program() -> Path:
    return package("conformance", "dist", "index.js")


@pytest.fixture(scope="module")
def url(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with run_server(new_vault(tmp_path_factory.mktemp("conformance") / "vault")) as url:
        yield f"{url}/mcp"


@pytest.mark.parametrize("scenario", APPLY)
def test_J4_the_scenario_passes(program: Path, url: str, tmp_path: Path, scenario: str) -> None:
    done = run(program, "server", "--url", url, "--scenario", scenario, home=tmp_path / "home")
    passed = re.search(r"Passed: (\d+)/(\d+), 0 failed, 0 warnings", done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert passed, done.stdout
    assert passed[1] == passed[2] != "0", done.stdout


def test_J4_every_scenario_is_run_or_has_a_reason(program: Path, tmp_path: Path) -> None:
    listed = run(program, "list", "--server", home=tmp_path / "home").stdout
    known = set(re.findall(r"^  - ([a-z0-9-]+)", listed, re.MULTILINE))
    assert known == {*APPLY, *DO_NOT_APPLY}
    assert not set(APPLY) & set(DO_NOT_APPLY)
    assert all(DO_NOT_APPLY.values())

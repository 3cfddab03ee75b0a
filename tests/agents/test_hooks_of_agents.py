"""J6 · Codex, Gemini CLI, OpenCode and the Copilot CLI, as npm brings them, with the plugins and hooks of muisti: a
memory is in what they send to their model, and what was said is in the vault.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from muisti import Message, Muisti, bootstrap
from tests.surfaces.strangers import git

from .claude_code import PLUGIN, ROOT, waited
from .model_apis import SAID, ModelApis, serving
from .test_opencode import find_program

pytestmark = pytest.mark.exhaustive
PACKAGES = ROOT / ".venv" / "node" / "agents" / "node_modules"
NODE = Path(sys.executable).with_name("node")
MISSING = "not installed: python scripts/node.py agents"
PROMPT = "Which bird guards the harbour of Rauma?"
Done = subprocess.CompletedProcess[str]
KNOWN = "A heron guards the harbour of Rauma"


@dataclass
class Home:
    """An agent's home, a repository to work in, and a vault with one memory of that project."""

    folder: Path
    api: ModelApis

    def __post_init__(self) -> None:
        git(self.folder, "init", "-q", "work")
        with self.open() as memory:
            memory.save(KNOWN, project="work")
            memory.save("A goose guards the harbour of Rauma", project="elsewhere")

    def open(self) -> Muisti:
        return bootstrap.open(self.folder / "vault", settings={"embedder": "none"})

    def run(self, *command: str, given: str = "", **environment: str) -> Done:
        done = subprocess.run(
            command,
            cwd=self.folder / "work",
            env={
                "PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.defpath}",
                "HOME": str(self.folder),
                "MUISTI_VAULT": str(self.folder / "vault"),
                "MUISTI_STATE": str(self.folder / "state"),
                "MUISTI_EMBEDDER": "none",
                "MUISTI_WARM": "0",
                "HTTP_PROXY": self.api.url,
                "HTTPS_PROXY": self.api.url,
                "NO_PROXY": "127.0.0.1,localhost",
                **environment,
            },
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def heard(self, agent: str) -> list[Message]:
        """Return the stored conversation of the agent's only session, as soon as it is whole."""

        def look() -> list[Message]:
            with self.open() as memory:
                found = [one.id for one in memory.list_sessions()]
                return memory.window(f"{agent}_{found[0]}", 9, whole=True) if found else []

        return list(waited(look, lambda messages: len(messages) >= 2))

    def check(self, agent: str, *, times: int = 1) -> None:
        """Check that the model was told the memory once, and that the vault has what was said.

        `opencode run` puts quotes around a prompt with spaces.
        """
        asked = next(text for text in self.api.asked if PROMPT in text and "tools" in text)
        assert 1 <= asked.count(KNOWN) <= times
        assert "A goose guards" not in asked
        heard = [(one.role, one.content.strip('"')) for one in self.heard(agent)]
        assert heard == [("user", PROMPT), ("assistant", SAID)]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with serving() as api:
        yield Home(tmp_path, api)


def test_J6_codex_with_the_plugin(home: Home) -> None:
    found = sorted(PACKAGES.glob("@openai/codex-linux-*/vendor/*/bin/codex"))
    if not found:
        pytest.skip(f"Codex is {MISSING}")
    codex = str(found[0])
    (home.folder / ".codex").mkdir()
    home.run(codex, "plugin", "marketplace", "add", str(ROOT))
    home.run(codex, "plugin", "add", "muisti@muisti")
    assert "muisti" in home.run(codex, "mcp", "list").stdout
    provider = (
        f'{{name="scripted", base_url="{home.api.url}/v1", wire_api="responses", env_key="KEY"}}'
    )
    done = home.run(
        codex,
        "exec",
        "--dangerously-bypass-hook-trust",
        "-c",
        'model_provider="scripted"',
        "-c",
        f"model_providers.scripted={provider}",
        PROMPT,
        KEY="made-up-for-a-test",
    )
    for event in ("SessionStart", "UserPromptSubmit", "Stop"):
        assert done.stderr.count(f"hook: {event} Completed") == 1, done.stderr
    home.check("codex")


def test_J6_codex_reads_what_was_installed(home: Home) -> None:
    found = sorted(PACKAGES.glob("@openai/codex-linux-*/vendor/*/bin/codex"))
    if not found:
        pytest.skip(f"Codex is {MISSING}")
    muisti = (sys.executable, "-m", "muisti")
    home.run(*muisti, "install", "codex", "--yes")
    told = json.loads(home.run(str(found[0]), "mcp", "get", "muisti", "--json").stdout)
    assert told["transport"]["args"][-1] == "mcp"
    home.run(*muisti, "uninstall", "codex", "--yes")
    assert "No MCP servers" in home.run(str(found[0]), "mcp", "list").stdout


def test_J6_gemini_with_the_extension(home: Home) -> None:
    program = PACKAGES / "@google" / "gemini-cli" / "bundle" / "gemini.js"
    if not program.is_file():
        pytest.skip(f"Gemini CLI is {MISSING}")
    gemini = (str(NODE), str(program))
    settings = home.folder / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    extension = str(PLUGIN / "gemini")
    installed = home.run(*gemini, "extensions", "install", "--consent", extension, given="y\n")
    assert 'Extension "muisti" installed successfully' in installed.stdout + installed.stderr
    home.run(
        *gemini,
        "--skip-trust",
        "-m",
        "gemini-2.5-flash",
        "-p",
        PROMPT,
        GEMINI_API_KEY="made-up-for-a-test",
        GOOGLE_GEMINI_BASE_URL=home.api.url,
    )
    home.check("gemini")


def test_J6_copilot_with_the_hooks_of_vscode(home: Home) -> None:
    program = PACKAGES / ".bin" / "copilot"
    if not program.is_file():
        pytest.skip(f"The Copilot CLI is {MISSING}")
    home.run(sys.executable, "-m", "muisti", "install", "vscode", "--yes")
    home.run(
        str(NODE),
        str(program),
        "--allow-all-tools",
        "-p",
        PROMPT,
        COPILOT_OFFLINE="true",
        COPILOT_MODEL="scripted",
        COPILOT_PROVIDER_BASE_URL=f"{home.api.url}/v1",
        COPILOT_PROVIDER_API_KEY="made-up-for-a-test",
    )
    home.check("vscode", times=2)  # it runs the hooks of the start and of the prompt at once


def test_J6_opencode_with_the_plugin(home: Home) -> None:
    program = find_program()
    if program is None:
        pytest.skip(f"OpenCode is {MISSING}")
    home.run(sys.executable, "-m", "muisti", "install", "opencode", "--yes")
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{home.api.url}/v1", "apiKey": "made-up-for-a-test"},
        "models": {"scripted": {"name": "scripted"}},
    }
    settings = {
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "provider": {"scripted": provider},
    }
    home.run(
        str(program),
        "run",
        PROMPT,
        OPENCODE_CONFIG_CONTENT=json.dumps(settings),
        OPENCODE_DISABLE_AUTOUPDATE="1",
        OPENCODE_DISABLE_MODELS_FETCH="1",
    )
    home.check("opencode")

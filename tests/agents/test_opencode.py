"""J6 · `muisti install opencode`, as the real OpenCode sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from muisti.surfaces.setup.agents import AGENTS
from muisti.surfaces.setup.scripts import render_script

from .model_apis import serving

pytestmark = pytest.mark.exhaustive
ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / ".venv" / "node" / "agents" / "node_modules"


@cache
def find_program() -> Path | None:
    """Return the package's program for this machine: npm brings more than one."""
    for found in sorted(PACKAGES.glob("opencode-*/bin/opencode*")):
        try:
            done = subprocess.run(
                [found, "--version"], capture_output=True, check=False, timeout=60
            )
        except OSError:
            continue
        if done.returncode == 0:
            return found
    return None


USES = """
import { Muisti } from "./muisti.mjs";
const plugin = await Muisti({ directory: "." });
const parts = [{ type: "text", text: "Which bird?" }];
const emit = (type, properties) => plugin.event({ event: { type, properties } });
await emit("session.created", { info: { id: "s" } });
await plugin["chat.message"]({ sessionID: "s" }, { message: { id: "m" }, parts });
await plugin["chat.message"]({ sessionID: "s" }, {});
await emit("message.updated", { info: { id: "a", sessionID: "s", role: "assistant" } });
await emit("message.part.updated", { part: { type: "text", text: "A heron.", sessionID: "s", messageID: "a" } });
await emit("session.idle", { sessionID: "s" });
for (const type of ["session.idle", "message.updated", "session.deleted", "unknown"]) await emit(type, undefined);
await plugin["tool.execute.after"]({ sessionID: "s" });
await plugin["experimental.session.compacting"]({ sessionID: "s" });
console.log(parts.length);
"""


@pytest.mark.parametrize("program", ["/nowhere/muisti", "/bin/false", "/bin/cat"])
def test_J6_the_plugin_never_disturbs_opencode(tmp_path: Path, program: str) -> None:
    node = Path(sys.executable).with_name("node")
    if not node.is_file():
        pytest.skip("Node is not installed")
    hooks = AGENTS["opencode"].user[1].hooks
    assert hooks is not None
    script = render_script("opencode_plugin.js", hooks, (program,), None)
    (tmp_path / "muisti.mjs").write_text(script)
    (tmp_path / "uses.mjs").write_text(USES)
    done = subprocess.run(
        [node, "uses.mjs"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


@pytest.fixture
def proxy() -> Iterator[str]:
    """Return the address of a proxy that refuses everybody at once. OpenCode looks for packages
    of its plugins, and tries again for a minute if nobody answers.
    """
    with serving() as api:
        yield api.url


def test_J6_opencode_starts_the_server_that_was_installed(tmp_path: Path, proxy: str) -> None:
    program = find_program()
    if program is None:
        pytest.skip("OpenCode is not installed: python scripts/node.py agents")
    environment = {
        "PATH": os.defpath,
        "HOME": str(tmp_path),
        "MUISTI_STATE": str(tmp_path / "state"),
        "MUISTI_EMBEDDER": "none",
        "HTTPS_PROXY": proxy,
        "HTTP_PROXY": proxy,
        "NO_PROXY": "127.0.0.1,localhost",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }
    work = tmp_path / "work"
    work.mkdir()

    def run(*command: str) -> str:
        done = subprocess.run(
            command,
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    muisti = (sys.executable, "-m", "muisti")
    vault = str(tmp_path / "vault")
    run(*muisti, "init", vault)
    run(*muisti, "install", "opencode", "--yes", "--vault", vault)
    listed = run(str(program), "mcp", "list")
    assert "muisti" in listed
    assert "connected" in listed
    run(*muisti, "uninstall", "opencode", "--yes")
    assert "muisti" not in run(str(program), "mcp", "list")

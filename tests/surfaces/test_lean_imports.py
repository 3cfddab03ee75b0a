"""What a search or a hook may import in a process of its own: every module costs each call time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from muisti import bootstrap
from muisti.storage.files.sync.differences import TICK_NS

RUN = """
import os, sys
report = os.dup(2)
leave = os._exit
def list_modules(code):
    os.write(report, ("\\nMODULES " + " ".join(sys.modules)).encode())
    leave(code)
os._exit = list_modules
from muisti.surfaces.cli.main import main
main()
leave(1)  # both end by `os._exit`
"""
HEAVY = {
    "asyncio",
    "bz2",
    "concurrent.futures",
    "ctypes",
    "hashlib",
    "httpx2",
    "logging",
    "lzma",
    "muisti.engine.facade",
    "muisti.model.conversations",
    "muisti.model.documents",
    "muisti.model.draft",
    "muisti.model.reports",
    "muisti.ports.vectors",
    "muisti.remember.embedding_worker",
    "muisti.remember.index_rows",
    "muisti.remember.pipeline",
    "muisti.storage.files.frontmatter",
    "muisti.storage.files.memory_codec",
    "muisti.storage.files.sync.reconcile",
    "muisti.storage.files.versions",
    "muisti.text.named_secrets",
    "numpy",
    "onnxruntime",
    "platformdirs",
    "pydantic",
    "rich",
    "ruamel",
    "shutil",
    "ssl",
    "subprocess",
    "tempfile",
    "tokenizers",
    "uuid",
}
"""What neither needs. `hashlib` loads OpenSSL. Some of it takes longer to import than a search takes."""
FOR_SEARCHES = HEAVY | {"click", "muisti.model.core_memory", "muisti.surfaces.cli.shared"}
"""A search with the most frequent options is parsed without click."""
FOR_HOOKS = HEAVY | {
    "click",
    "muisti.storage.files.store",
    "muisti.storage.files.sync.reconciler",
    "muisti.surfaces.cli.shared",
}
"""A hook also parses no command line with click, and does not look for edited files."""


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MUISTI_WARM", "0")
    with bootstrap.open(tmp_path / "vault", role="library", settings={"embedder": "none"}) as one:
        one.save("We chose PostgreSQL as our database", kind="decision")
        time.sleep(2 * TICK_NS / 1e9)  # a file that has just been written is read again
        one.sync()
    return tmp_path / "vault"


def run(*arguments: str, data: bytes = b"") -> tuple[bytes, set[str]]:
    """Run muisti in a fresh process; return its output and the modules that it imported."""
    command = [sys.executable, "-P", "-c", RUN, *arguments]
    done = subprocess.run(command, input=data, capture_output=True, check=False, cwd="/")
    modules = done.stderr.rpartition(b"MODULES ")[2].decode().split()
    assert done.returncode == 0, done.stderr
    assert "muisti.surfaces.cli.main" in modules
    return done.stdout, set(modules)


def count_own(modules: set[str]) -> int:
    return sum(name.partition(".")[0] == "muisti" for name in modules)


def test_J2_a_search_by_keyword_imports_little(vault: Path) -> None:
    words = ["which", "database"]
    output, modules = run("search", "--vault", str(vault), "--mode", "keyword", *words)
    assert b"PostgreSQL" in output
    assert FOR_SEARCHES & modules == set()
    assert count_own(modules) <= 157


def test_J6_a_hook_imports_little(vault: Path) -> None:
    prompt = {"session_id": "s1", "cwd": "/", "prompt": "Which database did we choose, PostgreSQL?"}
    arguments = ("hook", "UserPromptSubmit", "--vault", str(vault))
    output, modules = run(*arguments, data=json.dumps(prompt).encode())
    assert b"PostgreSQL" in output
    assert FOR_HOOKS & modules == set()
    assert count_own(modules) <= 130

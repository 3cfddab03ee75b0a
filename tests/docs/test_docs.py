"""The examples in the documentation run, its links work, and its generated pages are current."""

from __future__ import annotations

import configparser
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
CHAT_BOT = ROOT / "docs" / "chat-bot.md"
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    "page", ["README.md", "docs/conversations.md", "docs/chat-bot.md", "docs/users.md"]
)
def test_python_examples_run(page: str, tmp_path: Path) -> None:
    blocks = _blocks(ROOT / page, "python")
    assert blocks
    for block in blocks:
        done = subprocess.run(
            [sys.executable, "-c", block],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        if page == "README.md":
            assert "The relaunch is on March 15" in done.stdout
    assert list(tmp_path.rglob("*.jsonl"))


def test_readme_commands_run(tmp_path: Path) -> None:
    """Run the lines with `muisti` in order, in a shell, on a temporary vault."""
    block = next(block for block in _blocks(ROOT / "README.md", "sh") if "muisti save" in block)
    first, *others = block.splitlines()
    newest = 'ID="$(muisti list --json -n 1 | grep -o \'"id": "[^"]*"\' | cut -c 8-43)"'
    script = "\n".join([first, newest, *others]).replace("3f2a91c0", "$ID")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text("# Guide\n\nRestart the server after a deploy.\n")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "MUISTI_VAULT": str(tmp_path / "vault"), "PATH": path}
    done = subprocess.run(
        ["bash", "-euc", script],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0, f"{script}\n{done.stderr}"
    found = re.search(
        r"^We chose PostgreSQL as our database.*\n  …\w+ · 0\.\d\d · ", done.stdout, re.M
    )
    assert found, "the search of the README finds nothing"


def test_readme_shows_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert "make demo" in text
    assert "make test" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", text):
        if "://" in link:
            continue
        target = page.parent / link if link else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor and target.suffix == ".md":
            assert anchor in _anchors(target), f"{page.name} links to {link}#{anchor}"


def _anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.exhaustive
def test_generated_pages_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.docs", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_pins_name_no_registry() -> None:
    pins = (ROOT / "requirements" / "dev.txt").read_text("utf-8")
    assert "://" not in pins
    assert "--index" not in pins
    assert not (ROOT / "uv.lock").exists()


def test_front_matter_example_in_the_docs_is_a_memory(tmp_path: Path) -> None:
    from muisti import Muisti

    (example,) = _blocks(ROOT / "docs" / "vault.md", "markdown")
    (tmp_path / "decisions").mkdir()
    (tmp_path / "decisions" / "example.md").write_text(example, "utf-8")
    with Muisti.open(tmp_path) as memory:
        (found,) = memory.list()
        assert (found.title, found.kind, found.keywords) == (
            "Python and FastAPI",
            "decision",
            ("python", "backend"),
        )
        assert memory.verify(deep=True).ok
    assert (tmp_path / "decisions" / "example.md").read_text("utf-8") == example


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[str]:
    """The address of the server of docs/chat-bot.md, which runs in a process of its own."""
    code = next(block for block in _blocks(CHAT_BOT, "python") if "FastAPI(" in block)
    (tmp_path / "bot.py").write_text(code, "utf-8")
    (tmp_path / "tokens.json").write_text('{"anna": "secret-a", "ben": "secret-b"}', "utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {"BOT_VAULT": "memory", "BOT_TOKENS": "tokens.json", "MUISTI_EMBEDDER": "none"}
    server = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "bot:app", "--port", str(port)],
        cwd=tmp_path,
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    for line in server.stderr:
        if "Uvicorn running" in line:
            break
    yield f"http://127.0.0.1:{port}"
    server.terminate()
    server.communicate(timeout=60)


def _ask(url: str, token: str, said: str | None = None) -> Any:
    body = None if said is None else json.dumps({"text": said}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as reply:
        return json.load(reply)


def test_the_chat_bot_of_the_guide_serves_two_people(bot: str) -> None:
    assert _ask(f"{bot}/chat", "secret-a", "My dog is called Musti.") == {
        "reply": "I will remember that."
    }
    deadline = time.monotonic() + 60
    while not _ask(f"{bot}/memories", "secret-a") and time.monotonic() < deadline:
        time.sleep(0.05)  # facts are extracted in the background
    assert "Musti" in _ask(f"{bot}/chat", "secret-a", "What is my dog called?")["reply"]
    assert "Musti" not in _ask(f"{bot}/chat", "secret-b", "What is my dog called?")["reply"]
    assert "Musti" not in str(_ask(f"{bot}/memories", "secret-b"))
    for token in ("", "secret-c"):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            _ask(f"{bot}/memories", token)


def test_the_chat_bot_of_the_guide_can_be_deployed() -> None:
    unit = configparser.ConfigParser(strict=False)
    unit.read_string(_blocks(CHAT_BOT, "ini")[0])
    assert unit["Service"]["ExecStart"].endswith("uvicorn bot:app --host 127.0.0.1 --port 8000")
    compose = YAML(typ="safe").load(_blocks(CHAT_BOT, "yaml")[0])
    assert compose["services"]["bot"]["environment"]["BOT_VAULT"] == "/memory"
    assert compose["services"]["bot"]["ports"] == ["127.0.0.1:8000:8000"]
    assert compose["services"]["bot"]["secrets"] == list(compose["secrets"])


def test_the_compose_example_starts_commands_that_exist() -> None:
    compose = YAML(typ="safe").load((ROOT / "examples" / "compose.yaml").read_text("utf-8"))
    services = compose["services"]
    assert list(services) == ["database", "server", "second", "worker"]
    for name in ("server", "second", "worker"):
        service = services[name]
        assert set(service["secrets"]) <= set(compose["secrets"])
        assert service["depends_on"]["database"]["condition"] == "service_healthy"
        command = " ".join(service["command"].split()).rstrip('"')
        verb, *arguments = command.partition("exec muisti ")[2].split()
        help_command = [sys.executable, "-m", "muisti", verb, "--help"]
        told = subprocess.run(help_command, check=True, capture_output=True, text=True).stdout
        assert {one for one in arguments if one.startswith("--")} <= {*told.split()}

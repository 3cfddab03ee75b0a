"""`muisti serve`: starts, prints its URL, stops on a signal (contract J3, K3)."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from muisti import Muisti
from muisti.errors import MuistiError
from muisti.surfaces import extras
from tests.rest.conftest import until

TOKEN = "correct-horse-battery-staple"
RUN = "import sys; from muisti.surfaces.cli.serve import serve; from muisti.errors import MuistiError\ntry: serve(sys.argv[1:])\nexcept MuistiError as error: sys.exit(f'Error: {error}')"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    with Muisti.open(tmp_path / "vault", embedder="none") as memory:
        memory.save("Redis holds the sessions")
    (tmp_path / "vault" / "muisti.toml").write_text('embedder = "none"\n')
    return tmp_path / "vault"


def run(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def serving(vault: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = run("--vault", str(vault), "--port", "0", "--json", *arguments)
    told = ""
    assert process.stdout is not None
    while not told.endswith("}\n"):
        line = process.stdout.readline()
        assert line, process.stderr and process.stderr.read()
        told += line
    try:
        yield process, json.loads(told)["url"]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_J3_it_serves_until_a_signal(vault: Path, sign: signal.Signals) -> None:
    with serving(vault) as (process, url):
        assert httpx2.get(f"{url}/api/stats", timeout=60).json()["totalCount"] == 1
        assert (
            httpx2.post(
                f"{url}/api/memories", json={"content": "The office is in Oulu"}, timeout=60
            ).status_code
            == 201
        )
        process.send_signal(sign)
        _, told = process.communicate(timeout=20)
        assert (process.returncode, "Stopped." in told) == (0, True)
    with Muisti.open(vault, embedder="none") as memory:
        assert memory.get_stats().total_count == 2
        assert memory.verify().ok


def test_K3_it_refuses_other_machines_without_a_token(vault: Path) -> None:
    _, told = run("--vault", str(vault), "--host", "0.0.0.0").communicate(timeout=20)
    assert "0.0.0.0 can be reached by other machines: set a token" in told


def test_K3_token_file(vault: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    file.chmod(0o644)
    _, told = run("--vault", str(vault), "--token-file", str(file)).communicate(timeout=20)
    assert "is readable by other users" in told
    file.chmod(0o600)
    with serving(vault, "--token-file", str(file)) as (_, url):
        assert httpx2.get(f"{url}/api/stats", timeout=60).status_code == 401
        assert (
            httpx2.get(
                f"{url}/api/stats", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60
            ).status_code
            == 200
        )


def test_J3_a_port_that_is_taken(vault: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        _, told = run("--vault", str(vault), "--port", str(taken.getsockname()[1])).communicate(
            timeout=20
        )
    assert "try another --port" in told


def test_J3_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.NEEDS, "muisti serve", ("server", ("fastapi", "no_such_module")))
    with pytest.raises(
        MuistiError, match=r"needs no_such_module; run pip install 'muisti\[server\]'"
    ):
        extras.check_installed("muisti serve")


def test_I1_a_restarted_server_extracts_what_was_queued(vault: Path) -> None:
    unreachable = (
        'extractor = "ollama"\nextractor_model = "none"\nextractor_url = "http://127.0.0.1:9"\n'
    )
    (vault / "muisti.toml").write_text(f'embedder = "none"\n{unreachable}')
    body = {"userMessage": "I moved to Turku last month.", "assistantResponse": "Noted."}
    with serving(vault) as (process, url):
        answer = httpx2.post(f"{url}/api/extract", json={"sessionId": "s1", **body}, timeout=60)
        assert answer.status_code == 202, answer.text
        process.kill()
        process.wait()
    (vault / "muisti.toml").write_text('embedder = "none"\n')
    with serving(vault) as (_, url):
        until(lambda: httpx2.get(f"{url}/api/stats", timeout=60).json()["totalCount"] > 1)

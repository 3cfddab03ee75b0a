"""A vault over HTTP: in-process for most tests, behind a real socket where that matters."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import httpx2
import pytest
from starlette.testclient import TestClient

from muisti import Muisti
from muisti.surfaces.rest.app import create_app
from muisti.surfaces.rest.config import ServerConfig
from muisti.surfaces.rest.server import make_server
from tests.conftest import Opener

QUIET = ServerConfig(web_page=False, watch=False)
BASE = "http://127.0.0.1:8765"


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


@contextmanager
def client_of(memory: Muisti, **options: object) -> Iterator[TestClient]:
    """A client of the application, without a socket."""
    app = create_app(memory, replace(QUIET, **options))
    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def client(memory: Muisti) -> Iterator[TestClient]:
    with client_of(memory) as client:
        yield client


@contextmanager
def served(memory: Muisti, **options: object) -> Iterator[str]:
    """Run a real server in a thread; the URL."""
    server, listening, serving = make_server(memory, replace(QUIET, port=0, **options))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    until(lambda: server.started)
    try:
        yield serving.base_url
    finally:
        server.should_exit = True
        thread.join(timeout=15)
        listening.close()
        assert not thread.is_alive()


def until(true: Callable[[], object], seconds: float = 60.0) -> float:
    """Wait until a condition is true. Returns the seconds it took."""
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < seconds, "timed out"
        time.sleep(0.01)
    return time.monotonic() - begun


def check_problem(response: httpx2.Response, status: int, name: str) -> dict[str, object]:
    """Check that a response is this problem document, and return it."""
    told: dict[str, object] = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert (response.status_code, told["status"], told["type"]) == (
        status,
        status,
        f"urn:muisti:{name}",
    ), response.text
    assert told["title"]
    assert told["detail"]
    return told

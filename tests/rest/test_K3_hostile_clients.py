"""Endless, huge and slow clients on a real socket are refused; the server keeps serving (K3)."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import httpx2
import pytest

from muisti import Muisti
from tests.rest.conftest import check_problem, served

MEGABYTE = b"x" * 2**20
Connect = Callable[[], socket.socket]
HEAD = "POST /api/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@pytest.fixture
def base(memory: Muisti) -> Iterator[str]:
    with served(memory, body_limit=2**20, body_seconds=1.0, header_seconds=1.0) as base:
        yield base
        assert httpx2.get(f"{base}/health", timeout=60).json() == {"status": "ok"}
        assert memory.get_stats().total_count == 0


@pytest.fixture
def connected(base: str) -> Iterator[Connect]:
    """Opens connections to the server; all are closed at the end."""
    parts = urlsplit(base)
    made: list[socket.socket] = []

    def connect() -> socket.socket:
        made.append(socket.create_connection((parts.hostname, parts.port), timeout=10))
        return made[-1]

    yield connect
    for one in made:
        one.close()


def answer_of(connection: socket.socket) -> bytes:
    told = b""
    try:
        while piece := connection.recv(65536):
            told += piece
    except ConnectionResetError:
        pass  # it was closed while we still had something to say
    return told


def test_K3_a_gigabyte_in_pieces_is_refused_early(base: str, connected: Connect) -> None:
    sent = 0
    connection = connected()
    connection.sendall(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
    try:
        for _ in range(1024):
            connection.sendall(b"100000\r\n" + MEGABYTE + b"\r\n")
            sent += 1
    except OSError:
        pass  # the server has hung up
    assert sent < 50  # MB that the socket's buffers took before it was noticed


def test_K3_a_chunked_body_over_the_limit_gets_a_response(base: str, connected: Connect) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"content": "'
        for _ in range(20):
            yield MEGABYTE[: 2**16]
        time.sleep(0.5)

    check_problem(
        httpx2.post(
            f"{base}/api/memories",
            content=pieces(),
            headers={"Content-Type": "application/json"},
            timeout=60,
        ),
        413,
        "too-large",
    )


@pytest.mark.parametrize("length", [str(2**20 + 1), str(2**40), "9" * 18])
def test_K3_a_declared_length_over_the_limit_is_refused_unread(
    base: str, connected: Connect, length: str
) -> None:
    connection = connected()
    connection.sendall(f"{HEAD}Content-Length: {length}\r\n\r\n{{".encode())
    told = answer_of(connection)
    assert told.startswith(b"HTTP/1.1 413"), told[:200]
    assert b"urn:muisti:too-large" in told


def test_K3_a_refused_client_gets_the_reason_and_can_continue(base: str) -> None:
    with httpx2.Client(base_url=base, timeout=60) as client:
        for _ in range(5):
            refused = client.post(
                "/api/memories", content=b"x" * 60_000, headers={"Content-Type": "text/plain"}
            )
            check_problem(refused, 415, "not-json")
            check_problem(
                client.post(
                    "/api/memories", json={"content": "x" * 60_000}, headers={"Origin": "null"}
                ),
                403,
                "wrong-origin",
            )
        assert client.get("/health").status_code == 200


def test_K3_a_wrong_content_length_does_not_help(base: str, connected: Connect) -> None:
    connection = connected()
    connection.sendall(f"{HEAD}Content-Length: 10\r\n\r\n".encode() + MEGABYTE)
    assert b"HTTP/1.1 400" in answer_of(connection)[:2000]


def test_K3_a_slow_body_times_out(base: str, connected: Connect) -> None:
    connection = connected()
    connection.sendall(f"{HEAD}Content-Length: 1000\r\n\r\n".encode())
    begun = time.monotonic()
    try:
        for _ in range(30):
            connection.sendall(b" ")
            time.sleep(0.1)
    except OSError:
        pass
    told = answer_of(connection)
    assert time.monotonic() - begun < 60
    assert told.startswith(b"HTTP/1.1 408") or told == b""  # a reset may have overtaken it
    assert b"urn:muisti:too-slow" in told or told == b""


def test_K3_a_missing_body_times_out(base: str, connected: Connect) -> None:
    connection = connected()
    connection.sendall(f"{HEAD}Content-Length: 1000\r\n\r\n".encode())
    assert b"urn:muisti:too-slow" in answer_of(connection)


@pytest.mark.parametrize(
    "head", [b"", b"GET /health HTTP/1.1\r\n", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "]
)
def test_K3_slow_headers_time_out(base: str, connected: Connect, head: bytes) -> None:
    connection = connected()
    connection.sendall(head)
    begun = time.monotonic()
    given_up = False
    try:
        while not given_up and time.monotonic() - begun < 60:
            if head:
                connection.sendall(b"a")
            connection.settimeout(0.2)
            try:
                given_up = connection.recv(1000) == b""
            except TimeoutError:
                continue
    except OSError:
        given_up = True
    assert given_up


def test_K3_slow_headers_of_a_second_request_time_out(base: str, connected: Connect) -> None:
    connection = connected()
    connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    connection.sendall(b"GET /hea")
    begun = time.monotonic()
    answer_of(connection)
    assert time.monotonic() - begun < 60


def test_K3_a_hundred_slow_clients_do_not_keep_others_out(base: str, connected: Connect) -> None:
    slow = [connected() for _ in range(100)]
    for one in slow:
        one.sendall(f"{HEAD}Content-Length: 1000\r\n\r\n".encode())
    begun = time.monotonic()
    assert httpx2.get(f"{base}/api/stats", timeout=60).status_code == 200
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize(
    "lines",
    [
        "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.com\r\n\r\n",
        "GET /health HTTP/1.0\r\n\r\n",
        "GET http://evil.com/health HTTP/1.1\r\nHost: evil.com\r\n\r\n",
        f"{HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + "a" * 2**20 + "\r\n\r\n",
    ],
)  # fmt: skip
def test_K3_ambiguous_requests_are_refused(base: str, connected: Connect, lines: str) -> None:
    connection = connected()
    with suppress(OSError):  # it may have hung up already
        connection.sendall(lines.encode())
        connection.shutdown(socket.SHUT_WR)
    status = answer_of(connection)[:12]
    assert status in (b"HTTP/1.1 400", b"HTTP/1.1 421", b"HTTP/1.1 422", b""), status

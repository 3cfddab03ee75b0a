"""One question over HTTP: whatever stands in its way is told as the trouble of what it is asked
for.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from muisti.errors import ExtractorUnavailable
from muisti.models.http.json_client import JsonClient
from muisti.models.http.purpose import EMBEDDER, EXTRACTOR, Purpose
from muisti.ports.waiting import get_wait_left, limit_wait
from tests.chat_server import ChatServer, saying, serving

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as running:
        yield running


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:pass@[::1]:9/x?key=1#2", "http://[::1]:9/x"),
        ("https://Example.com", "https://Example.com"),
    ],
)
def test_the_address_that_is_shown(url: str, shown: str) -> None:
    assert JsonClient(url, EXTRACTOR).shown == shown


@pytest.mark.parametrize("purpose", [EMBEDDER, EXTRACTOR], ids=["embedder", "extractor"])
@pytest.mark.parametrize("key", [f"{KEY}ä", f"{KEY}\n{KEY}", f"{KEY}\0x"])
def test_a_key_that_no_header_can_hold(purpose: Purpose, key: str) -> None:
    with pytest.raises(purpose.unavailable, match=f"the {purpose.name}'s key") as caught:
        JsonClient("http://127.0.0.1:9/", purpose, key=key)({})
    assert KEY not in "".join(
        map(str, (caught.value, caught.value.__cause__, caught.value.__context__))
    )


def test_a_client_that_was_closed_meanwhile(server: ChatServer) -> None:
    post = JsonClient(f"{server.url}/api/chat", EXTRACTOR)
    post._open().close()
    with pytest.raises(ExtractorUnavailable, match="was closed"):
        post({})
    post.close()
    assert post({})
    post.close()


def test_an_operation_that_has_no_time_left_sends_nothing(server: ChatServer) -> None:
    post = JsonClient(f"{server.url}/api/chat", EXTRACTOR)
    with limit_wait(3600.0), limit_wait(0.0), limit_wait(3600.0):
        assert get_wait_left() == 0.0
        with pytest.raises(ExtractorUnavailable, match="no time left"):
            post({})
    assert (server.requests, get_wait_left()) == ([], None)
    assert post({})
    post.close()


@pytest.mark.parametrize("host", ["a" * 70, "a..b"])
def test_a_host_that_cannot_be_looked_up(host: str) -> None:
    post = JsonClient(f"http://{host}/", EXTRACTOR)
    with pytest.raises(ExtractorUnavailable, match="check the extractor's url"):
        post({})
    post.close()


@pytest.mark.parametrize(
    ("variable", "value"), [("HTTPS_PROXY", "gopher://x"), ("SSL_CERT_FILE", "/nowhere")]
)
def test_an_environment_that_cannot_be_used(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ExtractorUnavailable, match="proxies and certificates"):
        JsonClient("https://192.0.2.1/", EXTRACTOR)({})


@pytest.mark.parametrize(("timeout", "wait"), [(2.0, "4"), (60.0, "6"), (3600.0, "9" * 400)])
def test_a_wait_that_is_too_long_is_not_waited_for(
    server: ChatServer, timeout: float, wait: str
) -> None:
    post = JsonClient(f"{server.url}/api/chat", EXTRACTOR, timeout=timeout)
    server.script = [saying("later", 429, Retry_After=wait)]
    with pytest.raises(ExtractorUnavailable, match="429"):
        post({})
    post.close()
    assert len(server.requests) == 1

"""Access control: Host, Origin, token, rate limit (contract K3)."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from muisti import Muisti
from muisti.errors import SettingsError
from muisti.surfaces.rest.config import ServerConfig, is_loopback, parse_host
from muisti.surfaces.rest.security import RateLimitMiddleware
from tests.rest.conftest import BASE, check_problem, client_of

TOKEN = "correct-horse-battery-staple"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    "host",
    [
        "evil.com", "evil.com:8765", "127.0.0.1.evil.com", "localhost.evil.com", "evil-localhost", "localhost@evil.com", "evil.com#localhost",
        "127.0.0.2", "0.0.0.0", "169.254.169.254", "[::ffff:127.0.0.1]", "", " ", "localhost, evil.com", "local\thost", "2130706433", "localhost:evil",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "path", ["/api/stats", "/health", "/docs", "/openapi.json", "/metrics", "/nothing"]
)
def test_K3_a_forged_host_is_refused_on_every_path(
    client: TestClient, host: str, path: str
) -> None:
    check_problem(client.get(path, headers={"Host": host}), 421, "wrong-host")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8765", "127.0.0.1", "127.0.0.1:9999", "[::1]", "[::1]:8765"]
)
def test_K3_this_machine_has_several_names(client: TestClient, host: str) -> None:
    assert client.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "null", "http://evil.com", "https://127.0.0.1.evil.com", "http://127.0.0.1:3000", "http://localhost:8765", "http://127.0.0.1:8765.evil.com",
        "file://", "chrome-extension://abc", "http://127.0.0.1:8765/", "http://user@127.0.0.1:8765", "", "http://", "127.0.0.1:8765", "ws://127.0.0.1:8765",
    ],
)  # fmt: skip
def test_K3_other_origins_are_refused(client: TestClient, memory: Muisti, origin: str) -> None:
    headers = {"Origin": origin}
    check_problem(client.get("/api/stats", headers=headers), 403, "wrong-origin")
    check_problem(client.get("/health", headers=headers), 403, "wrong-origin")
    check_problem(
        client.post("/api/memories", json={"content": "x"}, headers=headers), 403, "wrong-origin"
    )
    check_problem(client.options("/api/memories", headers=headers), 403, "wrong-origin")
    assert memory.get_stats().total_count == 0


def test_K3_our_own_origin_is_allowed(client: TestClient) -> None:
    assert client.get("/api/stats", headers={"Origin": "http://127.0.0.1:8765"}).status_code == 200
    same = {"Origin": "http://localhost:8765", "Host": "localhost:8765"}
    response = client.get("/api/stats", headers=same)
    assert response.status_code == 200
    assert "access-control-allow-origin" not in response.headers


def test_K3_cross_site_requests_without_origin_are_refused(client: TestClient) -> None:
    for site in ("cross-site", "same-site"):
        check_problem(
            client.get("/api/stats", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}),
            403,
            "wrong-origin",
        )
        check_problem(
            client.get(
                "/api/export", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
            ),
            403,
            "wrong-origin",
        )
        assert (
            client.get(
                "/docs", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
            ).status_code
            == 200
        )
    assert client.get("/api/stats", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


def test_K3_an_allowed_origin(memory: Muisti) -> None:
    with client_of(memory, allowed_origins=("http://localhost:3000",)) as client:
        headers = {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "cross-site"}
        ahead = client.options("/api/memories", headers=headers)
        assert (ahead.status_code, ahead.headers["access-control-allow-origin"]) == (
            204,
            "http://localhost:3000",
        )
        made = client.post("/api/memories", json={"content": "Asked by a page"}, headers=headers)
        assert (made.status_code, made.headers["access-control-allow-origin"]) == (
            201,
            "http://localhost:3000",
        )
        assert "access-control-allow-credentials" not in made.headers
        check_problem(
            client.get("/api/stats", headers={"Origin": "http://localhost:3001"}),
            403,
            "wrong-origin",
        )


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer ü",
    ],
)
def test_K3_without_the_token_everything_is_refused(memory: Muisti, given: str | None) -> None:
    headers = {} if given is None else {"Authorization": given.encode()}
    with client_of(memory, token=TOKEN) as client:
        for path in ("/api/stats", "/metrics", "/openapi.json", "/docs", "/ready", "/nothing"):
            response = client.get(path, headers=headers)
            check_problem(response, 401, "wrong-token")
            assert response.headers["www-authenticate"] == "Bearer"
        assert (
            client.post("/api/memories", json={"content": "x"}, headers=headers).status_code == 401
        )
        assert client.get("/health", headers=headers).json() == {"status": "ok"}
    assert memory.get_stats().total_count == 0


def test_K3_with_the_token(memory: Muisti) -> None:
    with client_of(memory, token=TOKEN) as client:
        assert client.get("/api/stats", headers=BEARER).status_code == 200
        assert (
            client.get("/api/stats", headers={"Authorization": f"bearer {TOKEN}"}).status_code
            == 200
        )
        check_problem(
            client.get("/api/stats", headers={**BEARER, "Host": "evil.com"}), 421, "wrong-host"
        )
        check_problem(
            client.get("/api/stats", headers={**BEARER, "Origin": "null"}), 403, "wrong-origin"
        )
        assert client.get("/openapi.json", headers=BEARER).json()["security"] == [{"token": []}]


def test_K3_a_browser_signs_in_with_the_url_and_then_a_cookie(memory: Muisti) -> None:
    with client_of(memory, token=TOKEN) as client:
        let_in = client.get("/docs", params={"token": TOKEN, "x": "1"}, follow_redirects=False)
        assert (let_in.status_code, let_in.headers["location"]) == (303, "/docs?x=1")
        cookie = let_in.headers["set-cookie"]
        assert TOKEN not in cookie
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert client.get("/api/stats").status_code == 200
        check_problem(
            client.post(
                "/api/memories", json={"content": "x"}, headers={"Origin": "http://evil.com"}
            ),
            403,
            "wrong-origin",
        )
    with client_of(memory, token=TOKEN) as other:
        check_problem(other.get("/docs", params={"token": "wrong"}), 401, "wrong-token")
        check_problem(other.get("/api/stats", params={"token": TOKEN}), 401, "wrong-token")
        assert (
            other.get(
                f"{BASE}//evil.com/x", params={"token": TOKEN}, follow_redirects=False
            ).headers["location"]
            == "/evil.com/x"
        )
        other.cookies.clear()
        other.cookies.set("muisti-8765", cookie.split("=", 1)[1].split(";")[0])
        check_problem(other.get("/api/stats"), 401, "wrong-token")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "example.com", ""])
def test_K3_other_machines_only_with_a_token(host: str) -> None:
    with pytest.raises(SettingsError, match="token"):
        ServerConfig(host=host)
    ServerConfig(host=host, token=TOKEN)


@pytest.mark.parametrize("token", ["", "short", "with a space in it", "ünïcödé-ünïcödé-ünïcödé"])
def test_K3_weak_tokens_are_refused(token: str) -> None:
    with pytest.raises(SettingsError, match="token"):
        ServerConfig(token=token)


@pytest.mark.parametrize(
    "origin", ["null", "*", "localhost:3000", "http://a/", "http://a/b", "ftp://a"]
)
def test_K3_invalid_allowed_origins(origin: str) -> None:
    with pytest.raises(SettingsError, match="origin"):
        ServerConfig(allowed_origins=(origin,))


def test_K3_a_wildcard_server_accepts_ip_addresses_and_allowed_hosts(memory: Muisti) -> None:
    with client_of(memory, host="0.0.0.0", token=TOKEN, allowed_hosts=("Memory.Home",)) as client:
        for host, status in (("192.168.1.5:8765", 200), ("memory.home", 200), ("evil.com", 421)):
            assert client.get("/health", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    "kind",
    [
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/jsonp",
        "application/json-patch+json",
        "text/json",
    ],
)
def test_K3_a_body_must_be_json(client: TestClient, memory: Muisti, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    check_problem(
        client.post("/api/memories", content=b'{"content": "x"}', headers=headers), 415, "not-json"
    )
    check_problem(
        client.post("/api/memories/x/restore", content=b"a=b", headers=headers), 415, "not-json"
    )
    assert memory.get_stats().total_count == 0


def test_K3_json_with_a_charset_is_json(client: TestClient) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    assert (
        client.post("/api/memories", content=b'{"content": "x y z"}', headers=headers).status_code
        == 201
    )


def test_K3_writes_are_rate_limited(memory: Muisti) -> None:
    with client_of(memory, write_rate=0.5, write_burst=3) as client:
        codes = [client.post("/api/sessions", json={}).status_code for _ in range(5)]
        assert codes == [201, 201, 201, 429, 429]
        late = client.post("/api/sessions", json={})
        check_problem(late, 429, "too-many-changes")
        assert int(late.headers["Retry-After"]) >= 1
        assert client.get("/api/sessions").status_code == 200
        assert client.post("/api/search", json={"query": "x"}).status_code == 200


def test_K3_each_client_has_a_token_bucket() -> None:
    now = 0.0
    pace = RateLimitMiddleware(
        lambda *_: None, ServerConfig(write_rate=2, write_burst=2), clock=lambda: now
    )

    def take(client: str) -> bool:
        return pace._take_token({"client": (client, 1)})

    assert [take("a") for _ in range(3)] == [True, True, False]
    assert take("b")
    now = 0.5
    assert [take("a"), take("a")] == [True, False]
    now = 100.0
    assert [take("a") for _ in range(3)] == [True, True, False]
    for n in range(5000):
        take(f"client {n}")
    assert len(pace._buckets) <= RateLimitMiddleware.MAX_CLIENTS


@pytest.mark.parametrize(
    "path", ["/health", "/api/stats", "/docs", "/nothing", "/api/memories/none"]
)
def test_K3_every_response_has_security_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert not re.search(r"unsafe|\*|https?:", policy)
    assert (headers["x-content-type-options"], headers["x-frame-options"]) == ("nosniff", "DENY")
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"


def test_K3_malformed_cookies_and_hosts() -> None:
    assert [parse_host(one) for one in ("a:0", "a:99999", "[::1", "a b", "a/b")] == [None] * 5
    assert [
        is_loopback(one) for one in ("localhost", "127.9.9.9", "::1", "10.0.0.1", "evil.com", "")
    ] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_K3_odd_cookies_do_not_sign_in(memory: Muisti) -> None:
    with client_of(memory, token=TOKEN) as client:
        for cookie in ("muisti-8765=", 'muisti-8765="', ";;=;", "a" * 5000):
            check_problem(client.get("/api/stats", headers={"Cookie": cookie}), 401, "wrong-token")

"""An unknown parameter or field is refused with the name that was probably meant (contract J3)."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.rest.conftest import check_problem


@pytest.mark.parametrize(
    ("method", "path", "body", "unknown", "meant"),
    [
        ("GET", "/api/search?q=x", None, "q", "query"),
        ("GET", "/api/search?query=x&tags=y", None, "tags", "keywords"),
        ("GET", "/api/search?query=x&top_k=3", None, "top_k", "limit"),
        ("GET", "/api/search?query=x&session_id=3", None, "session_id", "sessionId"),
        ("GET", "/api/memories?type=fact", None, "type", "kind"),
        ("GET", "/api/memories?sort=asc", None, "sort", "orderBy"),
        ("POST", "/api/memories", {"text": "x"}, "text", "content"),
        ("POST", "/api/memories", {"content": "x", "tags": ["y"]}, "tags", "keywords"),
        ("POST", "/api/memories", {"content": "x", "user_id": "y"}, "user_id", "user"),
        ("POST", "/api/search", {"q": "x"}, "q", "query"),
        ("POST", "/api/memories/batch", {"items": [{"txt": "x"}]}, "items.0.txt", ""),
        ("POST", "/api/memories/batch", {"items": [{"tag": "x"}]}, "items.0.tag", "keywords"),
        ("POST", "/api/sessions/s/end", {"toolCall": 1}, "toolCall", "toolCalls"),
        ("POST", "/api/context", {"query": "x", "max_tokens": 9}, "max_tokens", "budget"),
        ("POST", "/api/core", {"content": "x"}, "content", "text"),
    ],
)
def test_J3_an_unknown_name_gets_a_suggestion(
    client: TestClient, method: str, path: str, body: object, unknown: str, meant: str
) -> None:
    response = client.request(method, path, json=body)
    problem = check_problem(response, 422, "invalid-request")
    what = "field" if body is not None else "parameter"
    hint = f"; did you mean {meant}?" if meant else ""
    assert problem["detail"] == f"{unknown}: unknown {what}{hint}"
    assert problem["field"] == unknown


def test_J3_a_hostile_name_is_not_compared_for_long(client: TestClient) -> None:
    response = client.post("/api/memories", json={"content": "x", "k" * 100_000: 1})
    assert len(check_problem(response, 422, "invalid-request")["detail"]) < 300

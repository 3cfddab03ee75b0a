"""Names that try to get out of the vault, in every field: refused or harmless (contract K3)."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from muisti import Muisti

CORPUS = [
    "../../../etc/passwd", "..\\..\\..\\windows\\win.ini", "/etc/passwd", "....//....//etc/passwd", "%2e%2e%2f%2e%2e%2fetc/passwd", "..%252f..%252fetc",
    "..", ".", "~", "~/x", "file:///etc/passwd", "C:\\x", "\\\\host\\share", "x\0.md", "..;/x", "a/../../b", ".muisti/lock", ".trash/x", "con", "nul.md",
    "‥/‥/etc", "．．／etc", "-rf", "$(id)", "`id`", "x" * 5000, "\u202e../x", "a\nb", " ", "*", "?", "<script>alert(1)</script>",
]  # fmt: skip
ROUTES = [
    ("GET", "/api/memories/{}"), ("DELETE", "/api/memories/{}"), ("DELETE", "/api/memories/{}?hard=true"), ("POST", "/api/memories/{}/restore"),
    ("POST", "/api/memories/{}/touch"), ("POST", "/api/memories/{}/unmerge"), ("GET", "/api/memories/{}/history"), ("GET", "/api/memories/{}/graph"),
    ("GET", "/api/sessions/{}"), ("GET", "/api/sessions/{}/memories"), ("GET", "/api/sessions/s/memories/{}"), ("GET", "/api/conversations/{}/messages"),
    ("POST", "/api/conversations/{}/break"), ("DELETE", "/api/core/user/{}"), ("GET", "/api/search/timeline/{}"), ("DELETE", "/api/documents?path={}"),
    ("GET", "/api/search?query=x&project={}"), ("GET", "/api/search?query=x&source={}"), ("GET", "/api/memories?files={}"), ("GET", "/docs/{}"), ("GET", "/{}"),
]  # fmt: skip
BODIES = [
    ("/api/memories", {"content": "Some text about {name}", "project": "{name}"}),
    ("/api/memories", {"content": "Some text about {name}", "kind": "{name}"}),
    ("/api/memories", {"content": "Some text about {name}", "title": "{name}"}),
    ("/api/memories", {"content": "Some text about {name}", "sessionId": "{name}"}),
    (
        "/api/memories",
        {
            "content": "Some text about {name}",
            "files": ["{name}"],
            "keywords": ["{name}"],
            "source": "{name}",
        },
    ),
    ("/api/sessions", {"project": "{name}"}),
    ("/api/sessions", {"sessionId": "{name}"}),
    ("/api/documents", {"path": "{name}"}),
    (
        "/api/import",
        {
            "memories": [
                {
                    "id": "{name}",
                    "content": "Imported text",
                    "file_path": "{name}",
                    "project": "{name}",
                }
            ]
        },
    ),
    ("/api/search/details", {"ids": ["{name}"]}),
    ("/api/extract", {"sessionId": "{name}", "userMessage": "I prefer tea", "project": "{name}"}),
    ("/api/core", {"text": "- Name: {name}"}),
]


def filled(value: object, name: str) -> object:
    if isinstance(value, str):
        return value.replace("{name}", name)
    if isinstance(value, list):
        return [filled(item, name) for item in value]
    return (
        {key: filled(item, name) for key, item in value.items()}
        if isinstance(value, dict)
        else value
    )


def outside(vault: Path) -> set[Path]:
    return {path for path in vault.parent.rglob("*") if not path.is_relative_to(vault)}


def check_inside(memory: Muisti, before: set[Path]) -> None:
    assert outside(memory.root) == before
    for path in memory.root.rglob("*"):
        assert path.resolve().is_relative_to(memory.root.resolve())
    assert memory.verify().ok


@pytest.mark.parametrize(("method", "template"), ROUTES, ids=lambda value: value)
def test_K3_traversal_in_every_path(
    client: TestClient, memory: Muisti, method: str, template: str
) -> None:
    memory.save("PostgreSQL keeps the orders")
    before = outside(memory.root)
    for name in CORPUS:
        response = client.request(method, template.replace("{}", quote(name, safe="")))
        assert response.status_code < 500, name
        assert "root:" not in response.text
    assert memory.get_stats().total_count == 1
    check_inside(memory, before)


@pytest.mark.parametrize(
    ("path", "body"), BODIES, ids=lambda value: value if isinstance(value, str) else ",".join(value)
)
def test_K3_traversal_in_every_body(
    client: TestClient, memory: Muisti, path: str, body: dict[str, object]
) -> None:
    before = outside(memory.root)
    for name in CORPUS:
        response = client.post(path, json=filled(body, name))
        assert response.status_code < 500, name
        if response.status_code < 300 and path == "/api/memories":
            assert ".." not in Path(response.json()["filePath"]).parts
    assert memory.flush(timeout=20)
    check_inside(memory, before)


def test_K3_traversal_in_conversations_and_core_memory(client: TestClient, memory: Muisti) -> None:
    before = outside(memory.root)
    for name in CORPUS:
        said = {"role": "user", "content": "hello", "id": name if name.strip() else "x"}
        for chat in (name, f"telegram_{name}"):
            assert (
                client.post(
                    f"/api/conversations/{quote(chat, safe='')}/messages", json=said
                ).status_code
                < 500
            )
        assert (
            client.put(f"/api/core/user/{quote(name, safe='')}", json={"value": name}).status_code
            < 500
        )
    check_inside(memory, before)

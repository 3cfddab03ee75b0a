"""Talks to `muisti serve`: `python examples/rest.py [http://127.0.0.1:8765]`."""

import sys

import httpx2

with httpx2.Client(
    base_url=sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8765"
) as server:
    saved = server.post(
        "/api/memories", json={"content": "The office cat is called Viiru", "kind": "fact"}
    )
    found = server.get("/api/search", params={"query": "what is the cat called?"})
    print(
        saved.raise_for_status().json()["id"],
        found.raise_for_status().json()["results"][0]["memory"]["content"],
    )

"""Use `muisti serve` from Python: `python examples/rest.py [http://127.0.0.1:8765]`.

Needs `pip install httpx2`.
"""

import sys

import httpx2

SERVER = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8765"
MEMORY = {"content": "The office cat is called Viiru", "kind": "fact"}

with httpx2.Client(base_url=SERVER) as server:
    saved = server.post("/api/memories", json=MEMORY).raise_for_status().json()
    query = {"query": "what is the cat called?"}
    found = server.get("/api/search", params=query).raise_for_status().json()
    print(saved["id"], found["results"][0]["memory"]["content"])

#!/bin/sh
# Use `muisti serve` with curl: save, search, and extract facts from an exchange. Usage: examples/rest.sh [http://127.0.0.1:8765]
set -eu
server="${1:-http://127.0.0.1:8765}"
json='Content-Type: application/json'

curl -fsS -X POST "$server/api/memories" -H "$json" -d '{"content": "The pilot deadline is 29 March", "kind": "fact"}'
echo
curl -fsS "$server/api/search?query=when+is+the+pilot+due"
echo
curl -fsS -X POST "$server/api/extract" -H "$json" \
    -d '{"sessionId": "example", "userMessage": "I moved to Turku last month.", "assistantResponse": "Noted."}'
echo

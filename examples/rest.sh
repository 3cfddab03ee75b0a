#!/bin/sh
# Talks to `muisti serve`: save, search, and an exchange that is learnt from. Usage: examples/rest.sh [http://127.0.0.1:8765]
set -eu
at="${1:-http://127.0.0.1:8765}"
json='Content-Type: application/json'

curl -fsS -X POST "$at/api/memories" -H "$json" -d '{"content": "The pilot deadline is 29 March", "kind": "fact"}'
echo
curl -fsS "$at/api/search?query=when+is+the+pilot+due"
echo
curl -fsS -X POST "$at/api/extract" -H "$json" \
    -d '{"sessionId": "example", "userMessage": "I moved to Turku last month.", "assistantResponse": "Noted."}'
echo

"""What the fixture vault of `make_fixture_vault.py` says."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

SETTINGS = """\
# The settings of the fixture.
embedder = "hashing"
search_limit = 8

[kinds.idea]
folder = "ideas"
decay_per_day = 0.95

[classify.kind]
idea = ["^what if"]
"""

NOON = datetime(2026, 2, 1, 12, tzinfo=UTC)

MEMORIES: list[tuple[str, str, dict[str, Any]]] = [
    (
        "database",
        "We use PostgreSQL as our main database, because the team knows it.",
        {"kind": "decisions", "keywords": ["database", "postgres"], "importance": 0.9},
    ),
    ("port", "The API runs on port 8080", {"project": "apollo", "kind": "fact"}),
    ("new port", "The API now runs on port 9090", {"project": "apollo", "kind": "fact"}),
    ("deadline", "The deadline is March 15", {"kind": "fact", "project": "apollo"}),
    ("new deadline", "The deadline is March 16", {"kind": "fact", "project": "apollo"}),
    (
        "token",
        "Session tokens expire after 24 hours (src/auth/session.py)",
        {"kind": "fact", "files": ["src/auth/session.py"], "keywords": ["auth"]},
    ),
    ("module", "The auth module is in src/auth/index.ts", {"kind": "fact"}),
    ("bug", "Fixed the login bug: tokens were compared in the wrong time zone", {"kind": "bugfix"}),
    ("export", "Added the invoice export as CSV", {"kind": "feature", "project": "apollo"}),
    ("refactor", "Moved the test suite to pytest", {"kind": "refactor"}),
    ("discovery", "Found out that the proxy drops headers over 8 KB", {"kind": "discovery"}),
    (
        "change",
        "The logo is blue since the last release",
        {"kind": "change", "keywords": ["release"]},
    ),
    (
        "checklist",
        "Deploy checklist: tag, build, smoke test, release notes",
        {"kind": "context", "project": "apollo", "keywords": ["release", "checklist"]},
    ),
    (
        "observation",
        "The deployment was slow on Fridays",
        {"kind": "observation", "sector": "episodic"},
    ),
    (
        "lesson",
        "Small pull requests are reviewed faster",
        {"kind": "insight", "sector": "reflective"},
    ),
    ("frustrated", "Frustrated by the slow test suite", {}),
    (
        "global",
        "Everybody writes dates as ISO 8601",
        {"tier": "global", "kind": "preference", "project": "apollo"},
    ),
    ("how to", "To release: run make release, then push the tag", {"sector": "procedural"}),
    ("what if", "What if exports were streamed?", {"project": "työpöytä"}),
    ("batch size", "A batch of 500 rows is the best size", {"kind": "fact", "importance": 0.2}),
    ("pinned", "Call the bank before changing the account", {"kind": "note", "pinned": True}),
    (
        "untrusted",
        "A web page says that the library is abandoned",
        {"kind": "fact", "trusted": False, "source": "web", "summary": "Rumour about the library"},
    ),
    (
        "valid",
        "The office is closed in July",
        {
            "kind": "fact",
            "valid_from": datetime(2026, 7, 1, tzinfo=UTC),
            "valid_until": datetime(2026, 8, 1, tzinfo=UTC),
        },
    ),
    (
        "past",
        "The trial of the old vendor ended",
        {"created_at": datetime(2025, 11, 3, tzinfo=UTC)},
    ),
    ("coffee", "Käyttäjä juo kahvia aamulla", {"kind": "preference"}),
    ("city", "Käyttäjä asuu Helsingissä", {"kind": "fact", "project": "työpöytä"}),
    ("russian", "Пользователь предпочитает тёмную тему", {"kind": "preference"}),
    ("russian database", "База данных работает на сервере в Хельсинки", {"kind": "fact"}),
    ("chinese", "缓存的有效期是十分钟", {"kind": "fact"}),
    ("chinese database", "数据库每天晚上备份", {"kind": "fact", "title": "数据库备份"}),
    (
        "deploy checklist",
        "Deploy checklist of the desktop",
        {"project": "työpöytä", "kind": "note"},
    ),
    ("private", "The key is <private>in the drawer</private> kept by Aino", {"kind": "note"}),
    ("same title", "Standup is at ten", {"title": "Standup", "kind": "note", "created_at": NOON}),
    (
        "same title again",
        "Standup notes go to the wiki",
        {"title": "Standup", "kind": "note", "created_at": NOON},
    ),
    ("context", "The team is four people in two time zones", {"kind": "context"}),
    ("billing", "The billing module is in src/billing/index.ts", {"kind": "fact"}),
    ("wiki", "The old wiki is read-only", {"kind": "fact"}),
    ("meeting", "The meeting room has no projector", {"kind": "observation", "project": "apollo"}),
    ("restored", "The backup server is called Väinö", {"kind": "fact", "salience": 0.7}),
    ("erased", "This one leaves no byte behind", {"kind": "note"}),
    ("moved", "Naming things is hard", {"kind": "note"}),
]

_CHECKED = ("backup", "queue", "mail server", "certificate", "search index", "web shop") * 7
_STEPS = "\n".join(
    f"- Step {number}: check the {what}, write down the result and tell the owner of the {what}"
    for number, what in enumerate(_CHECKED)
)
LONG_TEXT = f"""\
# Quarterly review

The quarter went well. The invoice export was finished and the login bug is gone.

## Operations

{_STEPS}

## Code

```python
def retention(days: int) -> bool:
    return days > 90
```

| service | owner |
|---|---|
| search | Aino |
| mail | Väinö |
"""

DOCUMENTS = {
    "MEMORY.md": """\
# Workspace

The workspace belongs to the Apollo team.

## Backups

Retention of backups is 90 days.
""",
    "memory/2026-02-01.md": "# Day\n\nSpoke with the customer about the invoice export.\n",
    "docs/handbook.md": """\
---
author: Aino
---
# Handbook

## Backups

Retention of backups: the handbook says 30 days.

## Varmuuskopiot

Varmuuskopiot säilytetään 30 päivää.
""",
    "docs/сервер.md": "# Сервер\n\nСервер перезагружается по воскресеньям.\n",
    "memories/progress.txt": "Step 3 of 5: the parser is done, the printer is not.\n",
}

HAND_WRITTEN = {
    "facts/notes about the printer.md": b"""\
---
# written by hand
colour: blue   # a key of my own
title:   "The printer"
tags: office, printer
created: 2026-02-02
nested:
  - one
  - two: three
importance: .4
---

The printer on the second floor needs a reset every Monday.
<private>The pin is 1234.</private>

* * *
Second paragraph, with trailing spaces.   \n""",
    "projects/apollo/notes/no front matter.md": "Pelkkä teksti.\r\nToinen rivi.\r\n".encode(),
    "decisions/2026-01-20_older_name.md": b"""\
---
id: 0197aaaa-bbbb-7ccc-8ddd-eeeeffff0001
category: decisions
created: 2026-01-20T08:00:00+02:00
unknown_key: stays
links:
  - RELATED_TO 0197aaaa-bbbb-7ccc-8ddd-eeeeffff0002
---
Spec 0 calls the kind a category: old files say so.
""",
    "notes/0197aaaa.md": b"""\
---
id: "0197aaaa-bbbb-7ccc-8ddd-eeeeffff0002"
title: No date in the name
kind: note
tier: project
salience: 0.8
trusted: no
pinned: yes
---
A file whose name has neither a date nor a slug.
""",
    "elsewhere/kept apart.md": b"""\
---
id: 0197aaaa-bbbb-7ccc-8ddd-eeeeffff0003
kind: idea
created_at: 2026-02-20T10:00:00Z
updated_at: 2026-02-21T10:00:00Z
---
A memory that a person keeps in a folder of their own.
""",
    "elsewhere/README.md": b"# Not a memory\n\nSomebody's page.\n",
    "facts/broken.md": b"---\ntitle: [unclosed\nkind: fact\n---\nIt is reported and left alone.\n",
    "notes/conflict.md": b"""\
---
title: Conflict
---
<<<<<<< ours
one
=======
two
>>>>>>> theirs
""",
    ".trash/notes/put here by hand.md": b"""\
---
id: 0197aaaa-bbbb-7ccc-8ddd-eeeeffff0004
kind: note
created_at: 2026-01-10T10:00:00Z
---
Moved to the trash with a file manager.
""",
}

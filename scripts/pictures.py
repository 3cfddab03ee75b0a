"""Take the screenshots docs/page-*.png in Chromium. Needs `python scripts/node.py browser`.

The vault is always the same; its days are counted back from today.
"""

from __future__ import annotations

import sys
import tempfile
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.web.browsing import launched, served  # noqa: E402

from muisti import (  # noqa: E402
    Memory,
    Muisti,
    bootstrap,
)

DOCS = ROOT / "docs"
STORY: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
MAX_BYTES = 250_000


class StoryClock:
    """A clock that can be set back by days."""

    def __init__(self) -> None:
        self.today = datetime.now(UTC).replace(hour=9, minute=30, second=0, microsecond=0)
        self.at = self.today

    def now(self) -> datetime:
        """Return the time it is set to."""
        return self.at

    def set_back(self, days: float) -> None:
        """Set it to so many days before today."""
        self.at = self.today - timedelta(days=days)


def create_vault(root: Path) -> Muisti:
    """Return the vault that the screenshots show."""
    clock = StoryClock()
    memory = bootstrap.open(root, clock=clock, settings={})
    saved = _save_memories(memory, clock)
    for source, kind, target in STORY["links"]:
        memory.link(saved[source].id, saved[target].id, kind)
    memory.supersede(saved["Pilot begins on 2 March"].id, saved["Pilot begins on 16 March"].id)
    _add_messages(memory, clock)
    for days, query in STORY["asked"]:
        clock.set_back(days)
        memory.search(query, limit=4, project="*")
        memory.flush()
    _change_memories(memory, clock, saved)
    _add_sessions(memory, clock, saved)
    clock.set_back(0)
    return memory


def _save_memories(memory: Muisti, clock: StoryClock) -> dict[str, Memory]:
    made = {}
    for days, kind, project, title, text in STORY["memories"]:
        clock.set_back(days)
        trusted = not text.startswith("A README")
        source = "user" if trusted else "import"
        made[title] = memory.save(
            text, title=title, kind=kind, project=project or None, trusted=trusted, source=source
        )
    return made


def _add_messages(memory: Muisti, clock: StoryClock) -> None:
    for conversation, messages in STORY["conversations"].items():
        for number, (role, text) in enumerate(messages):
            clock.set_back(2.2 - number / 500)
            memory.append_message(conversation, role, text)
    for section, key, value in STORY["core"]:
        memory.core_update(section, key, value)


def _add_sessions(memory: Muisti, clock: StoryClock, saved: dict[str, Memory]) -> None:
    for days, name, project, user, summary, tool_calls in STORY["sessions"]:
        clock.set_back(days)
        memory.start_session(project, session_id=name, user=user)
        uses = [use[1:] for use in STORY["session_uses"] if use[0] == name]
        for minutes, what, title in uses:
            clock.set_back(days - minutes / 1440)
            memory.link_to_session(saved[title].id, name, what)
        if summary:
            memory.end_session(name, summary, tool_calls=tool_calls)


def _change_memories(memory: Muisti, clock: StoryClock, saved: dict[str, Memory]) -> None:
    one = saved["PostgreSQL for the orders"]
    clock.set_back(20)
    memory.update(
        one.id,
        content=one.content.replace("PostgreSQL 16", "PostgreSQL 17"),
        keywords=["database", "orders"],
    )
    clock.set_back(3)
    memory.reinforce(one.id)
    memory.delete(saved["Rewrite in a weekend"].id)


def take_screenshots(memory: Muisti, address: str, browser: Any) -> None:
    """Take all screenshots."""
    one = next(
        found
        for found in memory.list(limit=None, project="*")
        if found.title == "PostgreSQL for the orders"
    )
    wide, phone = {"width": 1240, "height": 860}, {"width": 390, "height": 844}
    for name, path, size, look in (
        ("search", "/?q=which+database+did+we+choose+and+why", wide, "light"),
        ("memory", f"/memory/{one.id}", {**wide, "height": 1240}, "light"),
        ("timeline", "/timeline", wide, "light"),
        ("graph", "/graph", wide, "light"),
        ("graph-dark", "/graph", wide, "dark"),
        ("sessions", "/sessions", wide, "light"),
        ("stats", "/stats", {**wide, "height": 1300}, "light"),
        ("changes", f"/memory/{one.id}/changes", {**wide, "height": 620}, "light"),
        ("dark", "/?q=why+was+the+report+slow", wide, "dark"),
        ("phone", "/?q=pilot", phone, "light"),
    ):
        context = browser.new_context(
            viewport=size,
            color_scheme=look,
            locale="en-GB",
            device_scale_factor=2 if size is phone else 1.25,
        )
        page = context.new_page()
        page.goto(f"{address}{path}")
        page.wait_for_load_state("networkidle")
        if name.startswith("graph"):
            page.locator("#graph[data-drawn]").wait_for()
        if name == "graph-dark":
            page.locator("#find").fill("one queue")
            page.wait_for_timeout(500)  # the drawing moves
        if name in ("search", "dark"):
            page.get_by_text("Why this result").first.click()
        _write(name, page.screenshot())
        context.close()


def _write(name: str, png: bytes) -> None:
    path = DOCS / f"page-{name}.png"
    if len(png) > MAX_BYTES:
        sys.exit(f"{path.name} is {len(png):,} bytes; at most {MAX_BYTES:,} are allowed")
    path.write_bytes(png)
    print(f"{path.name}: {len(png):,} bytes")


def main() -> None:
    """Create the vault, take the screenshots, delete the vault."""
    with tempfile.TemporaryDirectory() as folder:
        memory = create_vault(Path(folder) / "vault")
        with served(memory) as address, launched() as browser:
            take_screenshots(memory, address, browser)
        memory.close()


if __name__ == "__main__":
    main()

"""A text is shown once where its title is shown too."""

from __future__ import annotations

import pytest

from muisti.remember.derive import derive_title
from muisti.surfaces.web.highlight import strip_markdown
from muisti.surfaces.web.titles import skip_title, skip_title_in_markdown
from tests.web.conftest import Browser

LONG = (
    "The pilot begins on 16 March with three shops; the contract with the bakery came late, "
    "and nobody minded."
)
VERY_LONG = LONG.replace(
    ", and", ", as was known for weeks, and all shops were told by letter, and"
)


@pytest.mark.parametrize(
    ("title", "text", "rest"),
    [
        ("We deploy on Tuesdays.", "We deploy on Tuesdays.", ""),
        ("We deploy on Tuesdays", "We deploy on Tuesdays.", ""),
        ("We deploy on Tuesdays.", "We deploy on Tuesdays. Never on Fridays.", "Never on Fridays."),
        ("We deploy", "We deploy on Tuesdays.", "…on Tuesdays."),
        ("Deploys", "Deploys: on Tuesdays.", "on Tuesdays."),
        ("Why", "## Why\n\n- jsonb", "- jsonb"),
        ("jsonb is fast", "- **jsonb** is fast\n- and known", "- and known"),
        ("Use the src folder.", "Use the `src` folder.", ""),
        ("Pilot", "Pilots fly.", "Pilots fly."),
        ("PostgreSQL", "We chose PostgreSQL.", "We chose PostgreSQL."),
        ("数据库迁移", "数据库迁移必须在周末进行。", "…必须在周末进行。"),
        ("לא ביום שישי.", "לא ביום שישי.", ""),
        ("🚀 Ship it", "🚀 Ship it on Tuesday", "…on Tuesday"),
        ("A long title of the text", "A long title …", ""),
        ("Title", "", ""),
        ("", "Text", "Text"),
        ("…", "Text", "Text"),
    ],
)
def test_J5_a_text_continues_where_its_title_ends(title: str, text: str, rest: str) -> None:
    assert skip_title(text, title) == rest


@pytest.mark.parametrize(
    "content",
    [
        "We deploy on Tuesdays.",
        "# Deploys\n\nOn Tuesdays.",
        "1. first\n2. second",
        "> said\n\nand more",
        "Use **bold** and `code` here.\n\nMore text.",
        LONG,
        "数据库迁移必须在周末进行，" * 12,
        "x" * 300,
        "Line one\nLine two",
    ],
)
def test_J5_a_derived_title_and_the_rest_have_each_word_once(content: str) -> None:
    title = derive_title(content)
    shown = title.rstrip("…") + strip_markdown(skip_title(content, title)).lstrip("…")
    assert "".join(shown.split()) == "".join(strip_markdown(content).split()).removeprefix("1.")


@pytest.mark.parametrize(
    ("content", "rest"),
    [
        ("# Deploys\n\nOn Tuesdays.", "On Tuesdays."),
        ("Deploys\n=======\n\nOn Tuesdays.", None),
        ("| Deploys |\n|---|\n| Tuesday |", None),
        ("- Deploys\n- Tests", None),
        ("See [the docs](https://example.org) first. Then ask.", None),
        ("```\ncode\n```", None),
        ("Deploys\non Tuesdays.", "on Tuesdays."),
        (" Deploys are early.", ""),
        ("    deploy --now", None),
        ("Deploys\n- on Tuesdays", "- on Tuesdays"),
    ],
)
def test_J5_markdown_is_cut_only_between_its_blocks(content: str, rest: str | None) -> None:
    assert skip_title_in_markdown(content, derive_title(content)) == rest


def test_J5_a_short_memory_is_shown_once_on_every_page(empty: Browser) -> None:
    text = "The lighthouse listens on port 9090."
    one = empty.memory.save(text, trusted=False)
    pages = ["/", "/?q=lighthouse", "/timeline", "/review", f"/memory/{one.id}"]
    for path in pages:
        _, _, main = empty.client.get(path).text.partition("<main")
        plain = main.replace("<mark>", "").replace("</mark>", "")
        seen = plain.partition("<textarea")[0].count(f">{text}<")
        assert seen == 1, path
    empty.memory.delete(one.id)
    _, _, main = empty.client.get(f"/memory/{one.id}/erase").text.partition("<main")
    assert main.count(text) == 1


def test_J5_a_page_has_room_for_a_title_that_was_cut(empty: Browser) -> None:
    one = empty.memory.save(LONG + " Then summer came.", project="orders")
    assert one.title.endswith("…")
    for path in ("/", "/timeline", f"/memory/{one.id}"):
        page = empty.client.get(path).text
        assert f">{LONG}</" in page, path
        assert page.count("nobody minded") == 1 + page.count("<title>The pilot"), path
        assert ">Then summer came.<" in page, path


def test_J5_the_page_of_a_long_sentence_shows_it_whole(empty: Browser) -> None:
    one = empty.memory.save(VERY_LONG)
    page = empty.get(f"/memory/{one.id}")
    assert [one.get("class") for one in page.all("h1")] == ["visually-hidden"]
    assert VERY_LONG in page.text
    rows = empty.get("/timeline").text
    assert one.title in rows
    assert VERY_LONG not in rows
    assert "…" + VERY_LONG.removeprefix(one.title.rstrip("…")).strip() in rows

"""Every form of the page, with valid and invalid input."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.web.conftest import Browser, Filled


def test_J5_create_a_memory(empty: Browser) -> None:
    page = empty.post(
        "/new",
        {
            "content": "We deploy on Tuesdays.",
            "importance": "0.8",
            "trusted": "yes",
            "keywords": "ops, deploy",
        },
    )
    assert "Memory saved." in page.text
    saved = empty.memory.list()[0]
    assert (saved.content, saved.importance, saved.keywords) == (
        "We deploy on Tuesdays.",
        0.8,
        ("ops", "deploy"),
    )
    assert "Already known" in empty.post("/new", {"content": "We deploy on Tuesdays."}).text
    assert len(empty.memory.list()) == 1


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"content": ""}, "Content must"),
        ({"content": "  \n "}, "Content must"),
        ({"content": "x", "importance": "2"}, "Importance must"),
        ({"content": "x", "importance": "much"}, "between 0 and 1"),
        ({"content": "x", "kind": "poem"}, "Kind must"),
        ({"content": "x", "project": "../../etc"}, "Project "),
        ({"content": "x", "title": "a\x00b"}, "Title "),
    ],
)
def test_A4_bad_input_is_explained_and_kept_in_the_form(
    empty: Browser, fields: dict[str, str], sentence: str
) -> None:
    page = empty.post("/new", fields, status=422)
    assert sentence in page.text
    assert empty.memory.list() == []


def test_J5_an_edit_changes_what_was_changed_and_no_more(filled: Filled) -> None:
    path = f"/memory/{filled.decision.id}/edit"
    before = filled.memory.get(filled.decision.id)
    fields = filled.form(path)
    assert "Changes saved." in filled.post(path, fields).text
    assert filled.memory.get(filled.decision.id) == before
    filled.post(
        path,
        {
            **fields,
            "title": "PostgreSQL 16",
            "kind": "insight",
            "pinned": "yes",
            "importance": "0.7",
        },
    )
    changed = filled.memory.get(filled.decision.id)
    assert changed is not None
    assert (changed.title, changed.kind, changed.pinned, changed.importance) == (
        "PostgreSQL 16",
        "insight",
        True,
        0.7,
    )
    assert changed.content == filled.decision.content


def test_J5_two_editors_do_not_overwrite_each_other(filled: Filled) -> None:
    path = f"/memory/{filled.decision.id}/edit"
    mine = filled.form(path)
    filled.memory.update(
        filled.decision.id, content="We chose SQLite after all.", keywords=["theirs"]
    )
    page = filled.post(path, {**mine, "content": "We chose PostgreSQL, I say."}, status=409)
    assert "We chose SQLite after all." in page.text
    assert "We chose PostgreSQL, I say." in page.text
    assert filled.memory.get(filled.decision.id).content == "We chose SQLite after all."  # type: ignore[union-attr]
    again = {
        one["name"]: one.get("value", "")
        for one in page.all("input")
        if "name" in one and one.get("type") != "checkbox"
    }
    assert (
        "Changes saved."
        in filled.post(path, {**again, "kind": "decision", "content": "Both, then."}).text
    )
    merged = filled.memory.get(filled.decision.id)
    assert merged is not None
    assert merged.content == "Both, then."


def test_J5_another_persons_title_survives_my_edit(filled: Filled) -> None:
    path = f"/memory/{filled.decision.id}/edit"
    mine = filled.form(path)
    filled.memory.update(filled.decision.id, title="Theirs")
    filled.post(path, {**mine, "importance": "0.9"})
    found = filled.memory.get(filled.decision.id)
    assert found is not None
    assert (found.title, found.importance) == ("Theirs", 0.9)


@pytest.mark.parametrize(
    ("field", "value"),
    [("content", ""), ("importance", "-1"), ("kind", "poem"), ("title", "a\x00")],
)
def test_A4_a_bad_edit_is_explained(filled: Filled, field: str, value: str) -> None:
    path = f"/memory/{filled.decision.id}/edit"
    before = filled.memory.get(filled.decision.id)
    page = filled.post(path, {**filled.form(path), field: value}, status=422)
    assert any(one.get("role") == "alert" for one in page.all("p"))
    assert filled.memory.get(filled.decision.id) == before


def test_J5_confirm_with_one_button(filled: Filled) -> None:
    filled.post(
        f"/memory/{filled.guess.id}/edit",
        {"trusted": "yes", "was_trusted": "", "expected_hash": filled.guess.content_hash},
    )
    found = filled.memory.get(filled.guess.id)
    assert found is not None
    assert found.trusted
    assert found.title == "Fridays"


def test_B6_delete_restore_erase(filled: Filled) -> None:
    url = f"/memory/{filled.decision.id}"
    assert "In the trash" in filled.post(f"{url}/delete").text
    assert filled.memory.get(filled.decision.id) is None
    assert "restore it first" in filled.get(f"{url}/edit", 422).text
    assert "Restored." in filled.post(f"{url}/restore").text
    filled.post(f"{url}/delete")
    assert "Check the box" in filled.post(f"{url}/erase", {}, status=422).text
    assert filled.memory.get(filled.decision.id, include_deleted=True) is not None
    assert "Deleted permanently." in filled.post(f"{url}/erase", {"confirm": "yes"}).text
    filled.get(url, 404)


def test_G3_out_of_the_archive(filled: Filled) -> None:
    assert "Restored." in filled.post(f"/memory/{filled.archived.id}/restore").text
    assert filled.memory.get(filled.archived.id) is not None


def test_H1_links_are_added_and_removed(filled: Filled) -> None:
    url = f"/memory/{filled.newer.id}"
    picked = filled.get(f"{url}/pick?q=postgresql", part=True)
    assert [one["value"] for one in picked.all("input")] == [filled.decision.id]
    assert (
        "Link added."
        in filled.post(f"{url}/link", {"target": filled.decision.id, "type": "DEPENDS_ON"}).text
    )
    assert (
        "exists already"
        in filled.post(
            f"{url}/link", {"target": filled.decision.id, "type": "DEPENDS_ON"}, 422
        ).text
    )
    ends = {"source": filled.newer.id, "target": filled.decision.id, "type": "DEPENDS_ON"}
    assert "Link removed." in filled.post(f"{url}/unlink", ends).text
    assert "must be chosen" in filled.post(f"{url}/link", {"q": "no such words"}, 422).text
    assert "Link added." in filled.post(f"{url}/link", {"q": filled.decision.id[-12:]}).text
    assert (
        "must be one of"
        in filled.post(f"{url}/link", {"target": filled.guess.id, "type": "LIKES"}, 422).text
    )
    assert "another memory" in filled.post(f"{url}/link", {"target": filled.newer.id}, 422).text
    filled.post(f"{url}/link", {"target": "unknown"}, 404)


def test_H1_replaced_by_another_or_by_a_new_one(filled: Filled) -> None:
    url = f"/memory/{filled.decision.id}"
    page = filled.post(f"{url}/link", {"target": filled.guess.id, "type": "REPLACED_BY"})
    assert "Outdated. Replaced by Fridays." in page.text
    assert "Replace Pilot deadline moved" in filled.get(f"/new?replaces={filled.newer.id}").text
    fields = {
        "replaces": filled.newer.id,
        "content": "The pilot was cancelled; Kesko wants a demonstration in May.",
        "project": "orders",
    }
    filled.post("/new", fields)
    assert "Outdated." in filled.get(f"/memory/{filled.newer.id}").text


def test_H3_a_suggested_link_is_confirmed_or_rejected(filled: Filled) -> None:
    for way, left in (("confirm", False), ("unlink", None)):
        filled.memory.link(
            filled.guess.id, filled.newer.id, "CONTRADICTS", confidence=0.6, extracted_by="system"
        )
        page = filled.get(f"/memory/{filled.guess.id}")
        assert "suggested, 60 % confidence" in page.text
        filled.post(
            f"/memory/{filled.guess.id}/{way}",
            {"source": filled.guess.id, "target": filled.newer.id, "type": "CONTRADICTS"},
        )
        links = [
            one.proposed
            for one in filled.memory.links(filled.guess.id)
            if one.type == "CONTRADICTS"
        ]
        assert links == ([] if left is None else [left])
        if links:
            filled.memory.unlink(filled.guess.id, filled.newer.id, "CONTRADICTS")


def test_C3_a_merge_is_undone(filled: Filled) -> None:
    action = next(
        one["action"]
        for one in filled.get("/merged").all("form")
        if one["action"].endswith("/unmerge")
    )
    assert "Merge undone." in filled.post(action).text
    assert "No merged duplicates" in filled.get("/merged").text


def test_C5_reinforce_and_deemphasize(filled: Filled) -> None:
    assert (
        "De-emphasized."
        in filled.post(f"/memory/{filled.newer.id}/salience", {"change": "weaker"}).text
    )
    weak = filled.memory.get(filled.newer.id).salience  # type: ignore[union-attr]
    assert (
        "Reinforced."
        in filled.post(f"/memory/{filled.newer.id}/salience", {"change": "stronger"}).text
    )
    assert filled.memory.get(filled.newer.id).salience > weak  # type: ignore[union-attr]


def test_J5_an_earlier_text_is_restored(filled: Filled) -> None:
    filled.memory.update(filled.decision.id, content="Something else entirely.")
    history = filled.get(f"/memory/{filled.decision.id}/history")
    old = next(one["value"] for one in history.all("input") if one.get("name") == "content")
    now = filled.memory.get(filled.decision.id)
    assert now is not None
    filled.post(
        f"/memory/{filled.decision.id}/edit", {"content": old, "expected_hash": now.content_hash}
    )
    assert filled.memory.get(filled.decision.id).content == filled.decision.content  # type: ignore[union-attr]


def test_F4_core_entries(filled: Filled) -> None:
    assert (
        "Core memory updated."
        in filled.post(
            "/core", {"section": "agent", "key": "tone", "value": "Short.", "do": "set"}
        ).text
    )
    assert filled.memory.core_get().agent == {"tone": "Short."}
    filled.post("/core", {"section": "user", "key": "name", "do": "remove"})
    assert filled.memory.core_get().user == {}
    for fields in (
        {"section": "user", "key": "nobody", "do": "remove"},
        {"section": "user", "key": "", "value": "x"},
        {"section": "elsewhere", "key": "a", "value": "x"},
        {"section": "user", "key": "a", "value": " "},
        {"section": "user", "key": "a", "value": "x" * 30_000},
    ):
        answer = filled.send("/core", fields)
        assert answer.status_code in (404, 422)
        assert 'role="alert"' in answer.text


def test_B3_the_index_is_rebuilt_with_progress(filled: Filled) -> None:
    answer = filled.send("/status/reindex", {}, **{"HX-Request": "true"})
    assert answer.status_code == 200
    for _ in range(200):
        part = filled.get("/status/progress", part=True)
        if "Index rebuilt" in part.text:
            break
        assert any(one.get("hx-trigger") == "every 400ms" for one in part.all("div"))
        time.sleep(0.05)
    else:
        pytest.fail("it never ended")
    assert "Pilot deadline" in filled.get("/?q=pilot").text


def test_B5_external_changes_and_missing_files(filled: Filled, vault: Path) -> None:
    (vault / "facts").mkdir(exist_ok=True)
    (vault / "facts" / "by_hand.md").write_text("Written by hand about lighthouses.")
    assert "Files rescanned." in filled.post("/status/sync").text
    assert "lighthouses" in filled.get("/?q=lighthouses").text
    (vault / "facts" / "broken.md").write_text("---\nid: [unclosed\n---\nx")
    filled.post("/status/sync")
    health = filled.get("/status").text
    assert "Problems found" in health
    assert "broken.md" in health
    for path in (*vault.glob("facts/*.md"), *vault.glob("projects/*/*/*.md")):
        path.unlink()
    page = filled.post("/status/sync", {}, status=409)
    assert "files are missing" in page.text
    filled.post("/status/sync", {"confirm": "yes"})
    assert "missing" not in filled.get("/status").text


def test_B4_the_page_of_a_vault_that_is_full_or_gone(
    filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    from muisti.errors import VaultFull

    def full(*_: object, **__: object) -> None:
        raise VaultFull("no space is left on the disk; what was there is intact")

    monkeypatch.setattr(filled.memory, "save", full)
    answer = filled.send("/new", {"content": "x"})
    assert answer.status_code == 507
    assert "No space is left on the disk" in answer.text


def test_J5_an_unexpected_error_is_a_page_too(
    filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filled.memory, "list_conversations", lambda: 1 / 0)
    assert "unexpected error" in filled.get("/conversations", 500).text

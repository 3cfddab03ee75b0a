"""C3 · Dedup: what says the same strengthens what is there, what says something else never does."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from muisti import InvalidRequest, Memory, MemoryNotFound, Muisti
from tests.conftest import FakeClock, Opener

AUTH = "The auth module is in src/auth/index.ts"
AUTHENTICATION = "The authentication module is located in src/auth/index.ts"


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def kept_texts(vault: Path) -> list[str]:
    return [path.read_text() for path in sorted(vault.glob(".history/*/*.merged.md"))]


def state(memory: Muisti) -> list[Memory]:
    return memory.list(limit=None, order="asc", project="*")


# -- One memory


@pytest.mark.parametrize(
    "again",
    [
        AUTH,
        f"  {AUTH}\n\n",
        "The auth module  is\nin src/auth/index.ts",
        "Ｔｈｅ auth module is in src/auth/index.ts",
        AUTHENTICATION,
    ],
    ids=["exact", "around", "folded", "NFKC", "near"],
)
def test_C3_saying_the_same_reinforces_what_is_there_and_returns_it(
    memory: Muisti, clock: FakeClock, vault: Path, again: str
) -> None:
    session = memory.start_session()
    first = memory.save(AUTH)
    memory.deemphasize(first.id, 0.5)
    clock.forward(minutes=1)
    said = memory.save(again, session_id=session.id)
    assert (said.id, said.content, said.file_path) == (first.id, AUTH, first.file_path)
    assert said.salience == pytest.approx(0.5 + 0.1 * 0.5)
    assert said.importance == pytest.approx(0.5 + 0.1 * 0.5)
    assert (said.access_count, said.last_accessed) == (1, clock.now())
    assert [(use.memory_id, use.use) for use in memory.session_uses(session.id)] == [
        (first.id, "reinforced")
    ]
    assert state(memory) == [said]
    assert len(list(vault.glob("*/*.md"))) == 1


def test_C3_reinforcement_has_diminishing_returns(memory: Muisti) -> None:
    first = memory.save(AUTH)
    memory.deemphasize(first.id, 0.5)
    found = [memory.save(AUTH) for _ in range(3)]
    assert [said.salience for said in found] == pytest.approx([0.55, 0.595, 0.6355])
    assert [said.importance for said in found] == pytest.approx([0.55, 0.595, 0.6355])


def test_C3_it_matters_at_least_as_much_as_whoever_repeats_it_thinks(memory: Muisti) -> None:
    memory.save(AUTH, importance=0.2)
    assert memory.save(AUTHENTICATION, importance=0.8).importance == pytest.approx(0.82)
    assert memory.save(AUTHENTICATION, importance=0.1).importance == pytest.approx(0.838)
    assert memory.save(AUTH, importance=1.0).importance == 1.0


def test_C3_a_person_who_gave_it_another_importance_is_not_overruled_downwards(
    memory: Muisti, vault: Path
) -> None:
    first = memory.save(AUTH, importance=0.2)
    path = vault / str(first.file_path)
    path.write_text(path.read_text().replace("importance: 0.2", "importance: 0.9"))
    memory.save(AUTHENTICATION)
    assert "importance: 0.9" in path.read_text()


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (AUTH, AUTHENTICATION),
        ("The deadline is March 15, 2025", "The deadline is 15 March 2025"),
        (
            "Auth-moduuli on tiedostossa src/auth/index.ts",
            "Auth-moduuli sijaitsee tiedostossa src/auth/index.ts.",
        ),
        ("Käyttäjä suosii tummaa teemaa", "käyttäjä suosii tummaa teemaa!"),
        ("Модуль находится в src/auth", "Модуль расположен в src/auth"),
        ("Пользователь ещё любит кофе", "пользователь еще любит кофе."),
        ("认证模块在 src/auth/index.ts 中。", "认证模块位于 src/auth/index.ts 中"),
        ("用户喜欢咖啡", "用户喜欢咖啡。"),
    ],
)
def test_C3_near_twins_are_one_in_every_language(memory: Muisti, first: str, again: str) -> None:
    assert memory.save(again).id == memory.save(first).id
    assert len(state(memory)) == 1


# -- Two memories

APART = {
    "number": [
        ("The API runs on port 8080", "The API runs on port 8081"),
        ("Rajapinta toimii portissa 8080", "Rajapinta toimii portissa 8081"),
        ("Сервер слушает порт 8080", "Сервер слушает порт 8081"),
        ("服务运行在端口8080", "服务运行在端口8081"),
    ],
    "date": [
        ("The deadline is March 15", "The deadline is March 16"),
        ("Määräaika on 15. maaliskuuta", "Määräaika on 16. maaliskuuta"),
        ("Дедлайн — 15 марта", "Дедлайн — 16 марта"),
        ("截止日期是三月十五日", "截止日期是三月十六日"),
    ],
    "name": [
        ("The release is led by Martin Smith", "The release is led by Marvin Smith"),
        ("Julkaisua johtaa Matti Virtanen", "Julkaisua johtaa Antti Virtanen"),
        ("Релизом руководит Анна Петрова", "Релизом руководит Инна Петрова"),
        ("发布由张伟负责", "发布由张强负责"),
    ],
    "path": [
        ("The config is in src/app/a.toml", "The config is in src/app/b.toml"),
        ("Asetukset ovat tiedostossa src/app/a.toml", "Asetukset ovat tiedostossa src/app/b.toml"),
        ("Настройки лежат в src/app/a.toml", "Настройки лежат в src/app/b.toml"),
        ("配置在src/app/a.toml里", "配置在src/app/b.toml里"),
    ],
    "code": [
        ("Run `make test` before a release", "Run `make tests` before a release"),
        ("Aja `make test` ennen julkaisua", "Aja `make tests` ennen julkaisua"),
        ("Запусти `make test` перед релизом", "Запусти `make tests` перед релизом"),
        ("发布前运行`make test`", "发布前运行`make tests`"),
    ],
    "negation": [
        ("The tests are run on every push", "The tests are not run on every push"),
        ("Käyttäjä pitää kahvista", "Käyttäjä ei pidä kahvista"),
        ("Пользователь любит кофе", "Пользователь не любит кофе"),
        ("用户喜欢咖啡", "用户不喜欢咖啡"),
    ],
}


@pytest.mark.parametrize(("first", "other"), [pair for pairs in APART.values() for pair in pairs])
def test_C3_what_differs_in_substance_is_never_merged(
    memory: Muisti, first: str, other: str
) -> None:
    saved = [memory.save(first), memory.save(other)]
    assert len({one.id for one in saved}) == 2
    assert [one.content for one in state(memory)] == [first, other]


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ({"project": "web"}, {"project": "api"}),
        ({"project": "web"}, {}),
        ({}, {"tier": "global"}),
        ({"tier": "session", "session_id": "a"}, {"tier": "session", "session_id": "b"}),
        ({"tier": "session", "session_id": "a"}, {"session_id": "a"}),
    ],
)
@pytest.mark.parametrize("text", [AUTH, AUTHENTICATION], ids=["exact", "near"])
def test_C3_another_place_is_another_memory(
    memory: Muisti, mine: Any, theirs: Any, text: str
) -> None:
    assert memory.save(AUTH, **mine).id != memory.save(text, **theirs).id
    assert {one.salience for one in state(memory)} == {1.0}


@pytest.mark.parametrize("text", [AUTH, AUTHENTICATION], ids=["exact", "near"])
@pytest.mark.parametrize("gone", ["deleted", "superseded", "ended"])
def test_C3_what_is_no_longer_there_or_true_absorbs_nothing(
    memory: Muisti, clock: FakeClock, text: str, gone: str
) -> None:
    first = memory.save(AUTH)
    if gone == "deleted":
        memory.delete(first.id)
    elif gone == "superseded":
        memory.supersede(first.id, memory.save("Login moved to an external provider").id)
    else:
        memory.update(first.id, valid_until=clock.now())
    again = memory.save(text)
    assert again.id != first.id
    assert again.content == text


@pytest.mark.parametrize("text", [AUTH, AUTHENTICATION], ids=["exact", "near"])
def test_C3_what_is_said_to_hold_at_another_time_is_another_memory(
    memory: Muisti, clock: FakeClock, text: str
) -> None:
    first = memory.save(AUTH)
    span = {
        "valid_from": clock.now() - timedelta(days=90),
        "valid_until": clock.now() - timedelta(days=60),
    }
    other = memory.save(text, **span)  # type: ignore[arg-type]
    assert other.id != first.id
    assert (other.valid_from, other.valid_until) == (span["valid_from"], span["valid_until"])


def test_C3_within_one_batch(memory: Muisti, vault: Path) -> None:
    saved = memory.save_batch(
        [AUTH, "The deadline is March 15", AUTHENTICATION, "The deadline is March 16", AUTH]
    )
    assert saved[0].id == saved[2].id == saved[4].id
    assert len({one.id for one in saved}) == 3
    assert saved[4].importance == pytest.approx(0.595)
    assert (saved[4].salience, saved[4].access_count) == (1.0, 2)
    assert len(kept_texts(vault)) == 1
    assert memory.unmerge(saved[0].id).content == AUTHENTICATION


@pytest.mark.parametrize("text", [AUTH, AUTHENTICATION], ids=["exact", "near"])
@pytest.mark.parametrize(
    "other", [{"project": "api"}, {"tier": "global"}, {"tier": "session", "session_id": "b"}]
)
def test_C3_another_place_within_one_batch(
    memory: Muisti, text: str, other: dict[str, str]
) -> None:
    mine = {
        "content": AUTH,
        "project": "web",
        "tier": "session" if "session_id" in other else "project",
        "session_id": "a",
    }
    saved = memory.save_batch([mine, {**mine, "content": text, **other}])
    assert [one.content for one in saved] == [AUTH, text]
    assert len(state(memory)) == 2


def test_C3_switched_off_only_the_exact_text_is_the_same(opened: Opener, vault: Path) -> None:
    memory = opened(embedder="none", merge_duplicates=False)
    first = memory.save(AUTH)
    assert memory.save(AUTHENTICATION).id != first.id
    assert memory.save(AUTH).id == first.id
    assert kept_texts(vault) == []


# -- Taking apart


def merged(memory: Muisti, clock: FakeClock, **fields: Any) -> tuple[Memory, Memory]:
    """The memory that was there, and it again after a second text was merged into it."""
    first = memory.save(AUTH)
    clock.forward(hours=1)
    return first, memory.save(AUTHENTICATION, **fields)


def test_C3_unmerge_makes_it_a_memory_of_its_own_again(
    memory: Muisti, clock: FakeClock, vault: Path
) -> None:
    first, said = merged(memory, clock)
    assert said.importance > first.importance
    clock.forward(hours=1)
    apart = memory.unmerge(first.id)
    assert (apart.content, apart.importance, apart.salience, apart.index_pending) == (
        AUTHENTICATION,
        0.5,
        1.0,
        False,
    )
    assert apart.id != first.id
    known = memory.get(first.id)
    assert known is not None
    assert (known.content, known.importance) == (AUTH, 0.5)
    assert [result.memory.id for result in memory.search("authentication located")][:1] == [
        apart.id
    ]
    assert kept_texts(vault) == []
    assert memory.verify(deep=True).ok


def test_C3_the_id_of_the_merged_text_will_do_too_and_it_is_kept(
    memory: Muisti, clock: FakeClock
) -> None:
    first, _ = merged(memory, clock)
    (line,) = [one for one in memory.history(first.id) if one.what == "merged"]
    assert line.other_id is not None
    assert [one.what for one in memory.history(line.other_id)] == ["merged into"]
    assert memory.unmerge(line.other_id).id == line.other_id


def test_C3_the_last_merge_is_taken_apart_first(memory: Muisti, clock: FakeClock) -> None:
    first, _ = merged(memory, clock)
    clock.forward(hours=1)
    third = "The authentication module is in src/auth/index.ts!"
    assert memory.save(third).id == first.id
    assert [memory.unmerge(first.id).content for _ in range(2)] == [third, AUTHENTICATION]


@pytest.mark.parametrize("by", ["first", "apart"])
def test_C3_a_second_unmerge_is_refused(memory: Muisti, clock: FakeClock, by: str) -> None:
    first, _ = merged(memory, clock)
    ids = {"first": first.id, "apart": memory.unmerge(first.id).id}
    before = state(memory)
    with pytest.raises(InvalidRequest, match="no merge to undo"):
        memory.unmerge(ids[by])
    assert state(memory) == before


def test_C3_unmerge_of_nothing(memory: Muisti) -> None:
    saved = memory.save(AUTH)
    memory.save(AUTH)
    with pytest.raises(InvalidRequest, match="no merge to undo"):
        memory.unmerge(saved.id)  # the very same text leaves nothing to take apart
    with pytest.raises(MemoryNotFound, match="nobody"):
        memory.unmerge("nobody")


def test_C3_an_importance_that_was_changed_since_stays(memory: Muisti, clock: FakeClock) -> None:
    first, _ = merged(memory, clock)
    memory.update(first.id, importance=0.9)
    memory.unmerge(first.id)
    known = memory.get(first.id)
    assert known is not None
    assert known.importance == 0.9


def test_C3_a_merged_text_keeps_its_fields(memory: Muisti, clock: FakeClock) -> None:
    fields: dict[str, Any] = {
        "title": "Where login is", "kind": "discovery", "sector": "episodic", "source": "ai", "summary": "Found it",
        "keywords": ("login",), "files": ("src/auth/index.ts",), "importance": 0.3, "session_id": "s", "pinned": True,
        "trusted": False,
    }  # fmt: skip
    first, said = merged(memory, clock, **fields)
    assert (said.title, said.kind, said.keywords, said.session_id) == (
        first.title,
        first.kind,
        (),
        None,
    )
    at = clock.now()
    clock.forward(days=1)
    apart = memory.unmerge(first.id)
    assert {name: getattr(apart, name) for name in fields} == fields
    assert (apart.created_at, apart.salience) == (at, 1.0)


def test_C3_a_text_that_came_back_by_hand_and_was_deleted_is_no_accident(
    memory: Muisti, clock: FakeClock, vault: Path
) -> None:
    first, _ = merged(memory, clock)
    (kept,) = vault.glob(".history/*/*.merged.md")
    shutil.copy(kept, vault / "facts" / "copied.md")
    memory.sync()
    (copied,) = (one for one in state(memory) if one.id != first.id)
    memory.delete(copied.id)
    memory.update(first.id, importance=0.9)
    try:
        assert memory.unmerge(first.id).content == AUTHENTICATION
    except InvalidRequest as error:
        assert copied.id in str(error)  # to refuse it, saying where it is, is right too


def test_C3_history_lists_the_merge_with_its_text(memory: Muisti, clock: FakeClock) -> None:
    session = memory.start_session()
    first, _ = merged(memory, clock, session_id=session.id)
    at = clock.now()
    clock.forward(hours=1)
    apart = memory.unmerge(first.id)
    told = {one.what: one for one in memory.history(first.id)}
    assert list(told) == ["saved", "merged", "unmerged"]
    assert (told["merged"].at, told["merged"].other_id, told["merged"].session_id) == (
        at,
        apart.id,
        session.id,
    )
    assert "similarity" in told["merged"].note
    assert told["unmerged"].other_id == apart.id


def test_C3_history_has_the_merged_text_while_it_is_merged(
    memory: Muisti, clock: FakeClock
) -> None:
    first, _ = merged(memory, clock)
    assert [one.content for one in memory.history(first.id) if one.what == "merged"] == [
        AUTHENTICATION
    ]


def test_C3_and_B3_a_new_index_knows_all_of_it(memory: Muisti, clock: FakeClock) -> None:
    session = memory.start_session()
    first, _ = merged(memory, clock, session_id=session.id)
    memory.deemphasize(first.id, 0.4)
    clock.forward(days=3)
    before = state(memory), memory.session_uses(session.id), memory.history(first.id)
    memory.reindex()
    assert (state(memory), memory.session_uses(session.id), memory.history(first.id)) == before
    apart = memory.unmerge(first.id)
    after = state(memory)
    assert len(after) == 2
    memory.reindex()
    assert state(memory) == after
    with pytest.raises(InvalidRequest, match="no merge to undo"):
        memory.unmerge(apart.id)


# -- Nothing acknowledged is lost


@pytest.mark.parametrize("text", [AUTH, AUTHENTICATION], ids=["exact", "near"])
@pytest.mark.parametrize("how", ["deleted", "edited", "broken", "trashed"])
def test_C3_and_B4_what_a_person_has_just_taken_away_absorbs_nothing(
    memory: Muisti, vault: Path, how: str, text: str
) -> None:
    """The index does not know of it yet: what is said to be remembered must be there all the same."""
    path = vault / str(memory.save(AUTH).file_path)
    if how == "deleted":
        path.unlink()
    elif how == "edited":
        path.write_text(path.read_text().replace(AUTH, "Something else entirely"))
    elif how == "broken":
        path.write_text(path.read_text().replace("importance: 0.5", "importance: often"))
    else:
        (vault / ".trash").mkdir(exist_ok=True)
        path.rename(vault / ".trash" / path.name)
    memory.save(text)
    memory.sync()
    assert text in [one.content for one in state(memory)]

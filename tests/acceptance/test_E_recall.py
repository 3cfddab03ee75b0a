"""E · Recall by keyword: E1, E4 to E8."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muisti import InvalidMemory, InvalidRequest, Muisti
from tests.conftest import FakeClock, Opener
from tests.tiers import amount, sample

NAUGHTY = Path(__file__).parents[3] / "shared" / "data" / "blns.json"

FOUND = [
    ("running", "He runs every morning"),  # stemming
    ("chosen", "We choose wisely"),  # irregular forms
    ("went", "They go there often"),
    ("children", "A child plays"),
    ("cafe", "Meet at the Café de Flore"),  # diacritics
    ("café", "Meet at the cafe on the corner"),
    ("猫", "我喜欢猫和狗"),  # one character, inside a run
    ("狗", "我喜欢猫和狗"),  # … at its end
    ("喜欢", "我喜欢猫和狗"),  # two characters
    ("数据库", "我们决定使用 PostgreSQL 数据库"),
    ("東京", "来週東京に行きます"),  # Japanese
    ("データベース", "データベースを選びました"),
    ("데이터베이스", "새로운 데이터베이스를 선택했다"),  # Korean, with its ending
    ("päätös", "Arkkitehtuuripäätös on tehty"),  # Finnish compound
    ("tietokannasta", "Valitsimme uuden tietokannan"),  # Finnish inflection
    ("решения", "Мы приняли решение вчера"),  # Russian inflection
    ("src/auth/index.ts", "The module is in src/auth/index.ts"),  # a path, whole
    ("auth/index", "The module is in src/auth/index.ts"),  # … in part
    ("index.ts", "The module is in src/auth/index.ts"),
    ("auth", "The module is in src/auth/index.ts"),
    ("snake_case_name", "Rename snake_case_name soon"),  # identifiers
    ("case name", "Rename snake_case_name soon"),
    ("getUserById", "Call getUserById with care"),
    ("user by id", "Call getUserById with care"),
    ("v1.2.3", "Released v1.2.3 yesterday"),
    ("c++", "Written in C++ mostly"),
    ("don't", "Dont forget the milk"),
    ("anna@example.com", "Write to anna@example.com"),
    ("postgers", "We use Postgres everywhere"),  # a slip of the pen
    ("🚀", "Launch day 🚀 at last"),
    (":-)", "A smiley :-) of old"),  # no words at all
]


@pytest.mark.parametrize(("query", "content"), FOUND)
def test_E1_found(memory: Muisti, query: str, content: str) -> None:
    memory.save_batch(
        ["The weather was fine", "Nothing to see here", "Ein ganz anderer Satz", "完全无关的内容"]
    )
    saved = memory.save(content)
    assert [result.memory.id for result in memory.search(query)][:1] == [saved.id]


def test_E1_title_and_keywords_weigh_more_than_the_body(memory: Muisti) -> None:
    filler = "and some more words to make it as long as the others are"
    memory.save_batch([f"Filler number {n} {filler}" for n in range(20)])
    body = memory.save(f"The walrus is mentioned here {filler}", title="Something else")
    title = memory.save(f"It is mentioned above {filler}", title="The walrus")
    keyword = memory.save(f"It is tagged only {filler}", title="Other", keywords=["walrus"])
    order = [result.memory.id for result in memory.search("walrus", mode="keyword")]
    assert order == [title.id, keyword.id, body.id]


def test_E1_question_words_do_not_drown_the_rest(memory: Muisti) -> None:
    memory.save_batch(
        [f"What did we do when and where, who was it and how is it that the {n}" for n in range(30)]
    )
    saved = memory.save("The penguin lives in the zoo of Helsinki")
    assert (
        memory.search("what is it that the penguin did and where is it?")[0].memory.id == saved.id
    )


SYNTAX = [
    '"',
    "'",
    "a AND",
    "NOT",
    "NEAR(a b)",
    "title:x",
    "*",
    "^a",
    "(",
    "a*",
    "-a",
    "{a b}: c",
    "a + b",
    "\\",
    "%",
    "\u0000a",
    "a" * 5000,
]


@pytest.mark.parametrize("query", SYNTAX, ids=lambda q: repr(q)[:12])
def test_E1_no_query_is_a_syntax_error(memory: Muisti, query: str) -> None:
    memory.save('A memory with "quotes" and a * star and a title:x')
    memory.search(query)


@pytest.mark.parametrize("query", ["", "  ", "\n", "\0"])
def test_E1_an_empty_query_is_an_error_that_says_so(memory: Muisti, query: str) -> None:
    with pytest.raises(InvalidRequest, match="query"):
        memory.search(query)


def test_E1_a_query_of_100_kb_and_one_of_stop_words_are_answered(memory: Muisti) -> None:
    saved = memory.save("To be or not to be")
    assert memory.search("be not " * 15_000)[0].memory.id == saved.id
    assert memory.search("to be or not to be")[0].memory.id == saved.id


@pytest.mark.skipif(
    not NAUGHTY.is_file(), reason=f"needs the Big List of Naughty Strings at {NAUGHTY}"
)
def test_E1_naughty_strings_are_kept_unchanged_or_refused(opened: Opener, vault: Path) -> None:
    memory = opened(embedder="hashing")
    for number, text in enumerate(sample(json.loads(NAUGHTY.read_text()), 40)):
        for field in ("content", "title", "keywords", "project", "summary", "session_id"):
            options = {
                "content": f"Naughty {number} as {field}",
                field: [text] if field == "keywords" else text,
            }
            try:
                saved = memory.save(options.pop("content"), **options)  # type: ignore[arg-type]
            except InvalidMemory as error:
                assert error.field == field
                continue
            if (
                field != "content" or saved.access_count == 0
            ):  # else it was the same as an earlier one
                assert getattr(saved, field) in (text, text.strip(), (text.strip(),)) or (
                    field == "title" and not text.strip()
                )
        if text.strip():
            memory.search(text)
    outside = [path for path in vault.parent.iterdir() if path != vault]
    assert all(path.name in ("home", "data") for path in outside)
    memory.close()
    again = opened(embedder="hashing")
    assert again.verify(deep=True).ok


def test_E4_filters_work_inside_the_query(memory: Muisti, clock: FakeClock) -> None:
    for n in range(40):
        clock.forward(days=1)
        memory.save(
            f"otter {n}",
            kind="fact" if n % 10 == 0 else "note",
            keywords=["Rare"] if n == 7 else [],
            files=["a.py"] if n == 8 else [],
        )
    day = datetime(2026, 3, 20, tzinfo=UTC)

    def found(**options: object) -> list[str]:
        return sorted(
            result.memory.content for result in memory.search("otter", limit=4, **options)
        )  # type: ignore[arg-type]

    assert found(kind="fact") == ["otter 0", "otter 10", "otter 20", "otter 30"]
    assert found(keywords=["rare"]) == ["otter 7"]
    assert found(files=["a.py"]) == ["otter 8"]
    assert found(since=day, until=datetime(2026, 3, 22, tzinfo=UTC)) == ["otter 10", "otter 9"]
    assert len(found(kind=["note", "fact"])) == 4
    with pytest.raises(InvalidRequest, match="kind"):
        memory.search("otter", kind="rumour")
    with pytest.raises(InvalidRequest, match="min_salience"):
        memory.search("otter", min_salience=3)
    with pytest.raises(InvalidRequest, match="since"):
        memory.search("otter", since="yesterday")  # type: ignore[arg-type]


def test_E4_as_of_answers_what_was_true_then(memory: Muisti) -> None:
    start, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    memory.save("The office is in Turku", valid_from=start, valid_until=end)
    memory.save("The office is in Oulu", valid_from=end)
    then = memory.search("office", as_of=datetime(2026, 1, 15, tzinfo=UTC))
    assert [result.memory.content for result in then] == ["The office is in Turku"]


def test_E4_decay_never_hides_an_exact_match(memory: Muisti, clock: FakeClock) -> None:
    exact = memory.save("The capybara enclosure opens at noon", importance=0.0)
    memory.deemphasize(exact.id, 1.0)
    clock.forward(days=2000)
    memory.save_batch(
        [{"content": f"The enclosure number {n} opens early", "importance": 1.0} for n in range(30)]
    )
    assert memory.search("capybara enclosure")[0].memory.id == exact.id


def test_E5_a_result_tells_its_score_snippet_and_reasons(memory: Muisti) -> None:
    long = "Nothing of interest here. " * 60 + "The narwhal has a tusk. " + "More of nothing. " * 60
    memory.save(long, keywords=["narwhals"])
    (result,) = memory.search("narwhal")
    assert 0 < result.score <= 1
    assert result.distance is None or 0 <= result.distance <= 1
    assert "The narwhal has a tusk." in result.matched_snippet
    assert len(result.matched_snippet) < 520
    assert result.matched_keywords == ("narwhals",)
    assert result.why[0].name == "keyword"
    assert "narwhal" in result.why[0].note


def test_E6_three_layers(memory: Muisti, clock: FakeClock) -> None:
    ids = []
    for n in range(7):
        clock.forward(minutes=1)
        ids.append(memory.save(f"Layer test {n} with a long text. " + "x " * 500, project="web").id)
    memory.save("Layer of another project", project="api")
    compact = memory.search_compact("layer", project="web", limit=3)
    assert len(compact) == 3
    assert all(
        len(json.dumps([c.id, c.title, c.kind, c.score, c.created_at.isoformat()])) < 400
        for c in compact
    )
    around = memory.timeline(ids[3], before=2, after=1)
    assert [item.id for item in around] == ids[1:5]
    assert [found.id for found in memory.details([ids[5], ids[0]])] == [ids[5], ids[0]]


def test_E6_details_skip_what_is_gone_and_say_so(memory: Muisti, clock: FakeClock) -> None:
    kept = memory.save("The deadline is March 15", project="web")
    gone = memory.save("The office is in Turku", project="web")
    other = memory.save("The pier is in Hanko", project="api")
    memory.delete(gone.id)
    section = "notes.md#heading"
    found = memory.details([gone.id, kept.id, "nope", other.id, gone.id, section])
    assert [one.id for one in found] == [kept.id, other.id]
    assert found.missing == (gone.id, "nope", section)
    scoped = memory.details([kept.id, other.id], project="web")
    assert ([one.id for one in scoped], scoped.missing) == ([kept.id], (other.id,))
    nothing = memory.details([gone.id])
    assert (nothing, nothing.missing) == ([], (gone.id,))
    everything = memory.details([kept.id])
    assert everything.missing == ()
    for wrong in ("", " ", "a b", "é", "x" * 65, "a.md\0", 7, None):
        with pytest.raises(InvalidRequest, match="^ids must be IDs"):
            memory.details([kept.id, wrong])  # type: ignore[list-item]
    with pytest.raises(InvalidRequest, match="^ids must be a list"):
        memory.details(kept.id)
    with pytest.raises(InvalidRequest, match="^ids must be at most 1000"):
        memory.details([kept.id] * 1001)


def test_E6_a_long_title_in_any_script_fits_the_first_layer(memory: Muisti) -> None:
    memory.save("walrus", title="海" * 300)
    memory.save("walrus two", title="sea " * 75)
    for item in memory.search_compact("walrus"):
        assert sum(0.25 if char.isascii() else 1 for char in item.title) <= 42


@pytest.mark.needs_files("opens the vault again")
def test_E7_what_was_returned_is_counted(opened: Opener, clock: FakeClock) -> None:
    memory = opened()
    saved = memory.save("Count me")
    memory.start_session(session_id="s1")
    clock.forward(hours=1)
    memory.search("count", session_id="s1")
    memory.search("count")
    counted = memory.get(saved.id)
    assert counted is not None
    assert (counted.access_count, counted.last_accessed) == (2, clock.now())
    assert [use.use for use in memory.session_uses("s1")] == ["recalled"]
    memory.search_compact("count")
    assert memory.get(saved.id).access_count == 2  # type: ignore[union-attr]
    memory.close()
    assert opened().get(saved.id).access_count == 2  # type: ignore[union-attr]


def test_E8_search_by_keywords(memory: Muisti) -> None:
    both = memory.save("Both", keywords=["Python", "web"])
    one = memory.save("One", keywords=["python"])
    memory.save("None")
    assert [found.id for found in memory.search_by_keywords(["python", "WEB"])] == [both.id, one.id]
    assert [found.id for found in memory.search_by_keywords(["python", "web"], match_all=True)] == [
        both.id
    ]
    with pytest.raises(InvalidRequest, match="keywords"):
        memory.search_by_keywords([])


def test_E8_related_finds_what_is_about_the_same(memory: Muisti) -> None:
    memory.save_batch([f"Unrelated remark number {n} on the weather" for n in range(10)])
    first = memory.save("The payment service retries failed card transactions three times")
    second = memory.save("Card transactions of the payment service are logged in Kafka")
    assert memory.related(first.id)[0].memory.id == second.id
    assert first.id not in [result.memory.id for result in memory.related(first.id)]


def test_E8_explain_tells_why_and_why_not(memory: Muisti) -> None:
    saved = memory.save("The heron stands in the pond", kind="fact", project="zoo")
    yes = memory.explain("heron pond fishing", saved.id)
    assert (yes.recalled, yes.rank, set(yes.matched)) == (True, 1, {"heron", "pond"})
    assert "none of the words" in memory.explain("submarine", saved.id).reasons[0]
    assert any(
        "kind" in reason for reason in memory.explain("heron", saved.id, kind="note").reasons
    )
    assert any(
        "project" in reason for reason in memory.explain("heron", saved.id, project="web").reasons
    )
    memory.delete(saved.id)
    assert any("trash" in reason for reason in memory.explain("heron", saved.id).reasons)


@pytest.mark.parametrize("call", ["get", "touch", "delete", "restore", "related", "timeline"])
def test_A4_a_memory_instead_of_its_id(memory: Muisti, call: str) -> None:
    saved = memory.save("The walrus is remembered")
    for wrong in (saved, None, 5, b"x"):
        with pytest.raises(InvalidRequest, match="^id must be the ID of a memory"):
            getattr(memory, call)(wrong)
    assert memory.get(saved.id) == saved


def test_E8_one_shared_word_of_many_is_little_similarity(memory: Muisti) -> None:
    memory.save_batch([f"Unrelated remark number {n} on the weather" for n in range(10)])
    asked = memory.save("Anna Virtanen leads the payments team from Helsinki")
    memory.save("The mobile team knows REST, caching and queues")
    best = memory.related(asked.id)[0]
    assert best.memory.content.startswith("The mobile team")
    assert best.score < 0.5
    same = memory.save("Anna Virtanen leads the payments team from Helsinki", project="shop")
    best = memory.related(asked.id)[0]
    assert (best.memory.id, best.score > 0.9) == (same.id, True)


def test_E8_related_of_a_memory_with_very_many_words(memory: Muisti) -> None:
    huge = memory.save(
        " ".join(f"word{n}" for n in range(amount(quick=1_000, all=50_000))) + " platypus platypus"
    )
    other = memory.save("A platypus lays eggs")
    memory.save("Nothing of the kind")
    assert [result.memory.id for result in memory.related(huge.id)][:1] == [other.id]

"""C2 · Classify: kind and sector from the words, where nobody said them. The examples are the
specifications'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muisti import Memory, Muisti
from muisti.errors import SettingsError

Save = Callable[..., Memory]


@pytest.fixture
def save(tmp_path: Path) -> Iterator[Save]:
    with Muisti.open(tmp_path / "vault", embedder="none") as memory:
        yield memory.save


def test_C2_fixed_authentication_bug_is_a_bugfix(save: Save) -> None:
    assert save("Fixed authentication bug causing login failures").kind == "bugfix"


def test_C2_added_new_export_feature_is_a_feature(save: Save) -> None:
    assert save("Added new export feature for CSV format").kind == "feature"


def test_C2_the_project_deadline_is_a_fact(save: Save) -> None:
    assert save("The project deadline is March 15th").kind == "fact"


def test_C2_user_prefers_bullet_point_summaries_is_a_preference(save: Save) -> None:
    assert save("User prefers bullet-point summaries").kind == "preference"


def test_C2_revenue_correlates_with_marketing_spend_is_an_insight(save: Save) -> None:
    assert save("Revenue correlates with marketing spend in Q3").kind == "insight"


@pytest.mark.parametrize(
    "content",
    [
        "We decided to use PostgreSQL",
        "Päätettiin käyttää Postgresia",
        "Мы решили использовать PostgreSQL",
        "我们决定使用PostgreSQL",
    ],
)
def test_C2_a_decision_is_one_in_any_language(save: Save, content: str) -> None:
    assert save(content).kind == "decision"


def test_C2_words_that_say_nothing_make_a_note(save: Save) -> None:
    assert save("hello").kind == "note"


def test_C2_user_asked_about_the_authentication_flow_earlier_is_episodic(save: Save) -> None:
    assert save("User asked about the authentication flow earlier").sector == "episodic"


def test_C2_the_auth_handler_is_located_in_is_semantic(save: Save) -> None:
    assert save("The auth handler is located in src/auth/handler.ts").sector == "semantic"


def test_C2_to_deploy_first_run_build_is_procedural(save: Save) -> None:
    assert save("To deploy: first run build, then push to main").sector == "procedural"


def test_C2_frustrated_by_the_slow_test_suite_is_emotional(save: Save) -> None:
    assert save("Frustrated by the slow test suite").sector == "emotional"


def test_C2_this_codebase_favors_composition_is_reflective(save: Save) -> None:
    assert save("This codebase favors composition over inheritance").sector == "reflective"


def test_C2_ambiguous_content_is_semantic(save: Save) -> None:
    assert save("The function returns a string").sector == "semantic"


@pytest.mark.parametrize(
    ("content", "sector"),
    [
        ("User asked about auth flow", "episodic"),
        ("API endpoint is /api/users", "semantic"),
        ("Deploy via `bun run deploy`", "procedural"),
        ("Frustrated by slow tests", "emotional"),
        ("This codebase favors composition", "reflective"),
    ],
)
def test_C2_the_table_of_sectors(save: Save, content: str, sector: str) -> None:
    assert save(content).sector == sector


@pytest.mark.parametrize(
    ("content", "sector"),
    [
        ("happy insight", "emotional"),
        ("insight, he said", "reflective"),
        ("he said: run", "episodic"),
        ("run the module", "procedural"),
    ],
)
def test_C2_a_tie_goes_to_the_more_specific(save: Save, content: str, sector: str) -> None:
    assert save(content).sector == sector


def test_C2_what_the_caller_says_wins(save: Save) -> None:
    saved = save("Fixed authentication bug, so frustrated", kind="fact", sector="semantic")
    assert (saved.kind, saved.sector) == ("fact", "semantic")


PATTERNS = """
[kinds.idea]
[classify.kind]
bugfix = ["hotfix", "post-?mortem"]
idea = ["what if"]
[classify.sector]
emotional = ["ugh"]
"""


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "muisti.toml").write_text(PATTERNS)
    return tmp_path / "vault"


def test_C2_people_add_patterns_of_their_own(vault: Path) -> None:
    with Muisti.open(vault, embedder="none") as memory:
        assert memory.save("What if the index was in memory?").kind == "idea"
        assert memory.save("Post-mortem of the outage").kind == "bugfix"
        assert memory.save("Ugh, the module is a file").sector == "emotional"


def test_C2_patterns_of_their_own_are_for_files_written_by_hand_too(vault: Path) -> None:
    (vault / "ideas").mkdir()
    (vault / "ideas" / "fewer.md").write_text("Ugh, the module is a file\n")
    with Muisti.open(vault, embedder="none") as memory:
        assert [(found.kind, found.sector) for found in memory.list()] == [("idea", "emotional")]


@pytest.mark.parametrize("pattern", ["(oops", "(a+)+b", "x*", ""])
def test_C2_a_pattern_that_cannot_be_used_is_named_and_nothing_is_written(
    vault: Path, pattern: str
) -> None:
    with Muisti.open(vault, embedder="none") as memory:
        memory.save("Something that is there already")
    (vault / "muisti.toml").write_text(f"[classify.kind]\nbugfix = ['{pattern}']\n")
    before = {path: path.stat().st_mtime_ns for path in vault.rglob("*")}
    with pytest.raises(SettingsError) as raised:
        Muisti.open(vault, embedder="none")
    assert f"{vault / 'muisti.toml'}: [classify.kind] bugfix: the pattern {pattern!r}" in str(
        raised.value
    )
    assert {path: path.stat().st_mtime_ns for path in vault.rglob("*")} == before


def test_C5_concepts_include_noun_phrases(save: Save) -> None:
    assert "authentication flow" in save("User asked about the authentication flow").concepts
    assert "slow test suite" in save("Frustrated by the slow test suite").concepts


def test_C5_concepts_include_names_of_other_scripts(save: Save) -> None:
    assert "Анна Петрова" in save("Так сказала Анна Петрова").concepts

"""Settings: file, then environment, then arguments; every mistake is named with its cure."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from muisti.errors import SettingsError
from muisti.model import KINDS, Kind
from muisti.settings import SETTINGS_FILE, Settings, find_vault, load_settings
from muisti.settings_tables import RESERVED_FOLDERS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "vault").mkdir()
    return tmp_path / "vault"


def written(folder: Path, text: str) -> Path:
    (folder / SETTINGS_FILE).write_text(text, encoding="utf-8")
    return folder


def test_defaults(folder: Path) -> None:
    assert load_settings(folder, environ={}) == Settings()
    assert load_settings(None, environ={}) == Settings()
    assert Settings().kinds == KINDS


def test_later_sources_win(folder: Path) -> None:
    written(folder, 'search_limit = 3\nlock_timeout = 1\nproject = "file"\n')
    environ = {
        "MUISTI_LOCK_TIMEOUT": "2",
        "MUISTI_PROJECT": "environment",
        "MUISTI_VAULT": "/x",
        "MUISTI_UNKNOWN": "x",
    }
    found = load_settings(folder, environ=environ, arguments={"project": "argument"})
    assert (found.search_limit, found.lock_timeout, found.project) == (3, 2.0, "argument")


def test_the_environment_is_that_of_the_process_unless_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MUISTI_SEARCH_LIMIT", "7")
    assert load_settings().search_limit == 7


@pytest.mark.parametrize("text", ["", "# only\n  # comments\n\n", "\ufeffsearch_limit = 10\n"])
def test_files_that_say_nothing_new(folder: Path, text: str) -> None:
    assert load_settings(written(folder, text), environ={}) == Settings()


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("true", True),
        ("1", True),
        ("YES", True),
        (" on ", True),
        ("false", False),
        ("0", False),
        ("No", False),
        ("off", False),
    ],
)
def test_yes_and_no_in_the_environment(word: str, expected: bool) -> None:
    assert load_settings(environ={"MUISTI_RECORD_RECALL": word}).record_recall is expected


BAD = [
    ("search_limit", "0", "between 1 and 1000"),
    ("search_limit", "1001", "between 1 and 1000"),
    ("search_limit", "ten", "an integer"),
    ("search_limit", "1.5", "an integer"),
    ("search_limit", "true", "an integer"),
    ("max_content_bytes", "0", "at least 1"),
    ("lock_timeout", "-1", "between 0 and 86400"),
    ("lock_timeout", "nan", "between 0 and 86400"),
    ("index_timeout", "inf", "between 0 and 86400"),
    ("vanished_share", "1.5", "between 0 and 1"),
    ("vanished_share", "[1]", "a number"),
    ("sync_on_open", "2", "true or false"),
    ("sync_on_open", '"maybe"', "true or false"),
]


@pytest.mark.parametrize(("key", "value", "cure"), BAD)
def test_a_bad_value_in_the_file(folder: Path, key: str, value: str, cure: str) -> None:
    if value == "ten":
        value = '"ten"'
    with pytest.raises(SettingsError) as raised:
        load_settings(written(folder, f"{key} = {value}\n"), environ={})
    assert str(folder / SETTINGS_FILE) in str(raised.value)
    assert key in str(raised.value)
    assert cure in str(raised.value)


@pytest.mark.parametrize(("key", "value", "cure"), BAD)
def test_a_bad_value_elsewhere(key: str, value: str, cure: str) -> None:
    with pytest.raises(SettingsError, match=f"^MUISTI_{key.upper()}: {key} = .*{cure}"):
        load_settings(environ={f"MUISTI_{key.upper()}": value.strip('"')})
    with pytest.raises(SettingsError, match=f"^argument: {key} = .*{cure}"):
        load_settings(environ={}, arguments={key: value.strip('"')})


def test_a_text_must_be_a_text(folder: Path) -> None:
    with pytest.raises(SettingsError, match="project = 5 must be a quoted string"):
        load_settings(written(folder, "project = 5\n"), environ={})


@pytest.mark.parametrize(
    ("key", "hint"),
    [("serch_limit", "did you mean 'search_limit'"), ("zzz", "known settings: project, .*kinds")],
)
def test_an_unknown_key(folder: Path, key: str, hint: str) -> None:
    with pytest.raises(SettingsError, match=f"unknown setting '{key}'; {hint}"):
        load_settings(written(folder, f"{key} = 1\n"), environ={})
    with pytest.raises(SettingsError, match=hint):
        load_settings(environ={}, arguments={key: 1})


def test_a_file_that_is_no_toml(folder: Path) -> None:
    with pytest.raises(SettingsError, match=r"muisti\.toml: is not valid TOML .*fix that line"):
        load_settings(written(folder, "search_limit = \n"), environ={})
    (folder / SETTINGS_FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="readable UTF-8"):
        load_settings(folder, environ={})


def test_a_file_that_is_a_folder(folder: Path) -> None:
    (folder / SETTINGS_FILE).mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(folder, environ={})


def test_kinds_of_ones_own(folder: Path) -> None:
    text = '[kinds.idea]\n[kinds.law]\nfolder = "Laws of ours"\ndecay_per_day = 1\nprotected = true\n[kinds.note]\nfolder = "scraps"\n'
    kinds = load_settings(written(folder, text), environ={}).kinds
    assert kinds["idea"] == Kind("idea", "ideas")
    assert kinds["law"] == Kind("law", "Laws of ours", 1, True)
    assert kinds["note"].folder == "scraps"
    assert kinds["decision"] == KINDS["decision"]


BAD_KINDS = [
    ("kinds = 5", "such as \\[kinds.idea\\]"),
    ("[kinds.Idea]", "lowercase"),
    ('[kinds."a b"]', "lowercase"),
    ("[kinds.idea]\ncolour = 1", "may only have folder"),
    ("[kinds]\nidea = 5", "may only have folder"),
    ('[kinds.idea]\nfolder = "a/b"', "a plain folder name"),
    ('[kinds.idea]\nfolder = ".."', "a plain folder name"),
    ('[kinds.idea]\nfolder = ""', "a plain folder name"),
    ("[kinds.idea]\nfolder = 5", "a plain folder name"),
    *(
        (f'[kinds.idea]\nfolder = "{name}"', "a plain folder name")
        for name in sorted(RESERVED_FOLDERS)
    ),
    ("[kinds.idea]\ndecay_per_day = 0", "above 0 and at most 1"),
    ("[kinds.idea]\ndecay_per_day = 1.1", "above 0 and at most 1"),
    ("[kinds.idea]\ndecay_per_day = nan", "above 0 and at most 1"),
    ("[kinds.idea]\ndecay_per_day = true", "above 0 and at most 1"),
    ('[kinds.idea]\nprotected = "yes"', "true or false"),
]


@pytest.mark.parametrize(("text", "cure"), BAD_KINDS)
def test_bad_kinds(folder: Path, text: str, cure: str) -> None:
    with pytest.raises(SettingsError, match=cure):
        load_settings(written(folder, text + "\n"), environ={})


def test_patterns_of_ones_own(folder: Path) -> None:
    text = '[kinds.idea]\n[classify.kind]\nbugfix = ["hotfix", "post-?mortem"]\nidea = ["what if"]\n[classify.sector]\nemotional = ["ugh"]\n'
    found = load_settings(written(folder, text), environ={"MUISTI_CLASSIFY": "x"})
    assert found.classify == {
        "kind": {"bugfix": ("hotfix", "post-?mortem"), "idea": ("what if",)},
        "sector": {"emotional": ("ugh",)},
    }
    assert Settings().classify == {}
    with pytest.raises(SettingsError, match="unknown setting 'classify'"):
        load_settings(environ={}, arguments={"classify": "x"})


BAD_PATTERNS = [
    ("classify = 5", r"\[classify.kind\] and \[classify.sector\]"),
    ("[classify.tier]", r"\[classify.kind\] and \[classify.sector\]"),
    ("[classify]\nkind = 5", r"a table such as \[classify.kind\]"),
    ('[classify.kind]\nidea = ["x"]', "unknown kind 'idea'; known: .*bugfix"),
    ('[classify.sector]\nbugfix = ["x"]', "unknown sector 'bugfix'; known: .*episodic"),
    ('[classify.kind]\nbugfix = "x"', "bugfix = 'x' must be a list of strings"),
    ("[classify.kind]\nbugfix = [5]", "must be a list of strings"),
    ("[classify.kind]\nbugfix = {}", "must be a list of strings"),
    (
        '[classify.kind]\nbugfix = ["(oops"]',
        r"\[classify.kind\] bugfix: the pattern '\(oops' is not a valid regular expression: .* position 0; escape",
    ),
    (
        '[classify.kind]\nbugfix = ["ok", "(a+)+b"]',
        r"the pattern '\(a\+\)\+b' could take very long .*limit repetitions",
    ),
    ('[classify.sector]\nemotional = [""]', "is empty"),
    ('[classify.sector]\nemotional = ["x*"]', "empty string"),
    (f'[classify.kind]\nbugfix = ["{"x" * 501}"]', "501 characters, more than 500"),
    (
        f"[classify.kind]\nbugfix = {['x'] * 60}\nfact = {['x'] * 41}",
        "101 patterns, more than 100",
    ),
]


@pytest.mark.parametrize(("text", "cure"), BAD_PATTERNS)
def test_bad_patterns(folder: Path, text: str, cure: str) -> None:
    with pytest.raises(SettingsError, match=cure) as raised:
        load_settings(written(folder, text + "\n"), environ={})
    assert str(folder / SETTINGS_FILE) in str(raised.value)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("decision", "decision"),
        ("Decisions", "decision"),
        (" note ", "note"),
        ("laws", "law"),
        ("LAWS", "law"),
    ],
)
def test_kinds_are_found_by_name_and_folder(name: str, kind: str) -> None:
    found = Settings(kinds={**KINDS, "law": Kind("law", "Laws")}).kind(name)
    assert found is not None
    assert found.name == kind


def test_every_setting_has_a_sentence_for_the_docs() -> None:
    assert all(field.metadata["doc"].endswith((".", "`.")) for field in fields(Settings))


class TestFindVault:
    """Explicit path, MUISTI_VAULT, the nearest muisti.toml upwards, the user's data (contract B1)."""

    def test_the_explicit_path_wins(self, tmp_path: Path) -> None:
        assert find_vault(tmp_path / "a", environ={"MUISTI_VAULT": "/b"}) == tmp_path / "a"

    def test_then_the_environment(self, tmp_path: Path) -> None:
        (tmp_path / SETTINGS_FILE).touch()
        assert find_vault(start=tmp_path, environ={"MUISTI_VAULT": "/b"}) == Path("/b")

    def test_then_the_nearest_folder_upwards(self, tmp_path: Path) -> None:
        deep = tmp_path / "a" / "b" / "c"
        deep.mkdir(parents=True)
        (tmp_path / SETTINGS_FILE).touch()
        assert find_vault(start=deep, environ={"MUISTI_VAULT": ""}) == tmp_path
        (tmp_path / "a" / SETTINGS_FILE).touch()
        assert find_vault(start=deep, environ={}) == tmp_path / "a"
        (deep / SETTINGS_FILE).mkdir()
        assert find_vault(start=deep, environ={}) == tmp_path / "a"

    def test_then_the_data_of_the_user(self, tmp_path: Path) -> None:
        found = find_vault(start=tmp_path, environ={})
        assert found.is_relative_to(tmp_path)
        assert found.parts[-2:] == ("muisti", "vault")

    def test_a_path_may_be_relative_or_begin_at_home(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert find_vault("x", environ={}) == tmp_path / "x"
        assert find_vault("~/x", environ={}) == tmp_path / "home" / "x"
        assert find_vault(environ={"MUISTI_VAULT": "~/y"}) == tmp_path / "home" / "y"


@pytest.mark.parametrize("name", ["embedder_key_variable", "extractor_key_variable"])
def test_K3_a_vaults_file_names_no_foreign_secret(folder: Path, name: str) -> None:
    """A vault may come with a repository: its file must not have any secret of the environment sent
    away.
    """
    (folder / SETTINGS_FILE).write_text(f'{name} = "AWS_SECRET_ACCESS_KEY"\n')
    with pytest.raises(SettingsError, match=f"{name}.*MUISTI_{name.upper()}=AWS_SECRET_ACCESS_KEY"):
        load_settings(folder, environ={})
    (folder / SETTINGS_FILE).write_text(f'{name} = "MUISTI_MY_KEY"\n')
    assert getattr(load_settings(folder, environ={}), name) == "MUISTI_MY_KEY"
    variable = {f"MUISTI_{name.upper()}": "MY_KEY"}
    assert (
        getattr(load_settings(folder, environ=variable), name) == "MY_KEY"
    )  # whose environment it is may name any


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("", True),
        ("https://api.openai.com/v1", True),
        ("https://api.openai.com.evil.org/v1", False),
        ("http://localhost:1/v1", False),
    ],
)
def test_K3_the_usual_key_goes_to_its_maker_only(
    monkeypatch: pytest.MonkeyPatch, url: str, sent: bool
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the key")
    assert Settings(embedder="openai", embedder_url=url).embedder_key == (
        "the key" if sent else None
    )

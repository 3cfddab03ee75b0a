"""J2 · The command `muisti` in processes of its own, for people and for programs."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from muisti.settings import TABLES
from muisti.surfaces.cli.main import GROUPS, MODULES
from tests.surfaces.cli.forking import run_command


class Cli:
    """Runs the real command in a process of its own."""

    def __init__(self, vault: Path, cwd: Path) -> None:
        self.environment = {
            **os.environ,
            "MUISTI_VAULT": str(vault),
            "COLUMNS": "100",
            "NO_COLOR": "1",
        }
        self.cwd = cwd

    def run(
        self, *arguments: str, given: str | None = None, code: int = 0
    ) -> subprocess.CompletedProcess[str]:
        done = run_command(arguments, self.environment, self.cwd, given or "")
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return done

    def json(self, *arguments: str, given: str | None = None) -> object:
        return json.loads(self.run(*arguments, "--json", given=given).stdout)


@pytest.fixture
def cli(vault: Path, tmp_path: Path) -> Cli:
    made = Cli(vault, tmp_path)
    made.environment["MUISTI_EMBEDDER"] = "none"  # a model takes long to load
    return made


def test_J2_without_a_vault_it_explains_itself(cli: Cli, vault: Path) -> None:
    said = cli.run()
    assert "You have no vault yet" in said.stdout
    assert "muisti save" in said.stdout
    assert not vault.exists()
    assert "muisti init" in cli.run("list", code=1).stderr


def test_J2_save_and_search(cli: Cli) -> None:
    said = cli.run(
        "save",
        "We chose PostgreSQL",
        "for its JSON support",
        "--kind",
        "decision",
        "-k",
        "database",
    )
    assert "Saved decision" in said.stdout
    assert "decisions/" in said.stdout
    cli.run(
        "save",
        "-",
        "--project",
        "shop",
        given="Fixed the login bug\n\nThe cookie was not renewed.\n",
    )
    shown = cli.run("search", "which", "database?").stdout.splitlines()
    assert shown[0] == "We chose PostgreSQL for its JSON support"
    assert "· decision · just now" in shown[1]
    found = cli.json("search", "cookie")
    assert isinstance(found, list)
    assert found[0]["memory"]["content"] == "Fixed the login bug\n\nThe cookie was not renewed."
    assert found[0]["memory"]["kind"] == "bugfix"
    assert 0 < found[0]["score"] <= 1
    nothing = cli.run("search", "submarine")
    assert "No memories match" in nothing.stderr
    assert nothing.stdout == ""
    assert cli.json("search", "submarine") == []


def test_J2_standing_instructions_are_a_group(cli: Cli) -> None:
    cli.run("save", "Always use type hints")
    cli.run("save", "The server always restarts at 3")
    listed = cli.json("list", "--standing")
    assert isinstance(listed, list)
    assert [one["content"] for one in listed] == ["Always use type hints"]


def test_J2_the_end_of_an_id_is_enough(cli: Cli, vault: Path) -> None:
    saved = cli.json("save", "Short names are handy", "--title", "Handy")
    assert isinstance(saved, dict)
    short = saved["id"][-8:]
    assert "Short names are handy" in cli.run("show", short).stdout
    assert cli.run("show", short, "--raw").stdout == "Short names are handy\n"
    assert (
        "Updated"
        in cli.run("update", short, "--importance", "0.9", "--content", "Other text").stdout
    )
    cli.run("touch", short)
    cli.run("deemphasize", short, "--amount", "0.5")
    assert "Salience 0.55" in cli.run("reinforce", short).stdout
    assert "trash" in cli.run("delete", short).stdout
    assert "is in the trash" in cli.run("show", short, code=1).stderr
    assert "Other text" in cli.run("show", short, "--include-deleted").stdout
    assert "Restored" in cli.run("restore", short).stdout
    assert "--yes" in cli.run("delete", "--hard", short, given="n\n", code=1).stderr
    cli.run("delete", "--hard", "--yes", short)
    assert list(vault.rglob("*.md")) == []


def test_J2_layers_and_reasons(cli: Cli) -> None:
    for n in range(3):
        cli.run("save", f"Layered memory {n} about otters", "-k", "otter")
    compact = cli.json("compact", "otters")
    assert isinstance(compact, list)
    marks = {"outdated", "superseded_by"}
    assert set(compact[0]) == {"id", "title", "kind", "score", "created_at"} | marks
    memory_id = compact[0]["id"]
    around = cli.json("timeline", memory_id)
    assert isinstance(around, list)
    assert len(around) == 3
    partly = cli.run("details", "nothing-here", memory_id)
    assert "Not found: nothing-here" in partly.stderr
    assert "otters" in partly.stdout
    assert "nothing-here" in cli.run("details", "nothing-here", code=1).stderr
    details = cli.json("details", memory_id)
    assert isinstance(details, list)
    assert "otters" in details[0]["content"]
    assert "Layered" in cli.run("related", memory_id).stdout
    assert "Found" in cli.run("explain", "otters", memory_id).stdout
    assert "Layered" in cli.run("keywords", "otter", "--all").stdout


def test_J2_sessions(cli: Cli) -> None:
    session = cli.run("session", "start", "--project", "shop").stdout.strip()
    saved = cli.json("save", "Of this session", "--session", session)
    other = cli.json("save", "Used by it")
    assert isinstance(saved, dict)
    assert isinstance(other, dict)
    cli.run("session", "link", other["id"], session)
    assert "Of this session" in cli.run("session", "show", session).stdout
    assert "Used by it" in cli.run("session", "show", session, "--used").stdout
    assert cli.run("session", "show", session, "--raw").stdout == "Of this session\n"
    assert cli.run("session", "tokens", session).stdout == "3\n"
    assert "Ended session" in cli.run("session", "end", session, "--summary", "Done").stdout
    assert "completed" in cli.run("session", "list").stdout
    assert "no session" in cli.run("session", "end", "nobody", code=1).stderr


def test_J2_maintenance(cli: Cli, vault: Path, tmp_path: Path) -> None:
    assert "Created vault" in cli.run("init", str(vault)).stdout
    cli.run("save", "Kept for long", "--kind", "fact")
    file = next(vault.rglob("facts/*.md"))
    file.write_text(file.read_text().replace("Kept for long\n", "Edited by hand\n"))
    assert "1 changed" in cli.run("sync").stdout
    assert "up to date" in cli.run("sync").stdout
    assert "1 memory" in cli.run("reindex").stdout
    assert "no problems" in cli.run("verify", "--deep").stdout
    (vault / "facts" / "bad.md").write_text("---\n: [\n---\n")
    assert "bad.md" in cli.run("verify", code=1).stdout
    assert "bad.md" in cli.run("search", "edited").stderr
    (vault / "facts" / "bad.md").unlink()
    cli.run("export", "-o", str(tmp_path / "out.md"))
    other = tmp_path / "other"
    assert (
        cli.run("import", str(tmp_path / "out.md"), "--vault", str(other)).stdout
        == "Imported 1 new memory.\n"
    )
    assert (
        json.loads(cli.run("export", "--format", "json").stdout)[0]["content"] == "Edited by hand"
    )
    assert "memories" in cli.run("stats").stdout
    assert "search_limit" in cli.run("settings").stdout


BAD_CALLS = [
    (["save", ""], 1, "content"),
    (["save", "x", "--importance", "7"], 1, "importance"),
    (["save", "x", "--importance", "high"], 2, "importance"),
    (["save", "x", "--kind", "rumour"], 1, "kind"),
    (["save", "x", "--valid-from", "soon"], 2, "2026-01-31"),
    (["search", " "], 1, "query"),
    (["search", "x", "--limit", "0"], 1, "limit"),
    (["list", "--order-by", "colour"], 1, "order_by"),
    (["show", "0000-none"], 1, "no memory"),
    (["update", "0000-none"], 1, "error: nothing to update; pass for example --title"),
    (["import", "/nowhere.json"], 1, "nowhere.json"),
    (["export", "--format", "pdf"], 1, "format"),
    (["nonsense"], 2, "no such command"),
    (["save", "x", "--vault", "/dev/null"], 1, "is a file"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "says"), BAD_CALLS, ids=lambda value: str(value)[:30]
)
def test_J2_errors_are_one_line(cli: Cli, arguments: list[str], code: int, says: str) -> None:
    cli.run("init", cli.environment["MUISTI_VAULT"])
    done = cli.run(*arguments, code=code)
    assert says in done.stderr
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


def test_J2_errors_are_json_for_programs(cli: Cli) -> None:
    problem = json.loads(cli.run("save", "", "--json", code=1).stderr)
    assert problem["error"] == "InvalidMemory"
    assert "content" in problem["message"]


def test_J2_errors_name_the_bad_setting(cli: Cli, vault: Path) -> None:
    cli.run("init", str(vault))
    (vault / "muisti.toml").write_text("serch_limit = 3\n")
    assert "did you mean 'search_limit'" in cli.run("list", code=1).stderr
    (vault / "muisti.toml").write_text("search_limit = \n")
    assert "not valid TOML" in cli.run("list", code=1).stderr


def test_J2_help_lists_every_command_once_in_its_group(cli: Cli) -> None:
    said = cli.run("--help").stdout
    for title, names in GROUPS.items():
        section = said.split(f"\n{title}:\n")[1].split("\n\n")[0].splitlines()
        assert [line.split()[0] for line in section] == list(names)
        for line in section:
            text = line.split(maxsplit=1)[1]
            assert len(text) <= 64, text
            assert not text.endswith("..."), text


@pytest.mark.parametrize("command", list(MODULES))
def test_J2_every_command_has_help(cli: Cli, command: str) -> None:
    said = cli.run(command, "--help").stdout
    assert "Usage:" in said
    groups = ("session", "model", "core", "conversation", "warm", "tenants", "git")
    no_tables = ("completion", "demo")
    protocols = ("mcp", "hook")  # what they read and write is JSON already, and is the agent's
    if command not in (*groups, *no_tables, *protocols):
        assert "--json" in said


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_J2_completion_scripts(cli: Cli, shell: str) -> None:
    assert "_MUISTI_COMPLETE" in cli.run("completion", shell).stdout


def test_J2_starting_loads_neither_the_engine_nor_the_tables() -> None:
    code = (
        "import sys; import muisti.surfaces.cli.main; "
        "print({'apsw', 'rich', 'ruamel', 'stop_words'} & set(sys.modules))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "set()"


LIKENESS, SECRETS, WHEN = (
    "muisti.remember.similarity.normal_form",
    "muisti.text.secrets",
    "muisti.text.time_expressions.question",
)
MODELS = ("numpy", "onnxruntime")


@pytest.mark.parametrize(
    ("arguments", "spared"),
    [
        (["list"], [LIKENESS, SECRETS, WHEN, *MODELS]),
        (["show", "ID"], [LIKENESS, SECRETS, WHEN, *MODELS]),
        (["stats"], [LIKENESS, SECRETS, WHEN, *MODELS]),
        (["history", "ID"], [LIKENESS, SECRETS, WHEN, *MODELS]),
        (["search", "database", "--mode", "keyword"], [LIKENESS]),
        (["save", "Another thing altogether"], [WHEN, *MODELS]),
        (["--version"], ["muisti.engine", "apsw", "rich.console"]),
    ],
)
def test_J2_a_command_loads_no_tables_that_it_does_not_need(
    cli: Cli, arguments: list[str], spared: list[str]
) -> None:
    cli.run("save", "We chose PostgreSQL as our database")
    # The first command after a save reads the new file once more, and scans it for secrets.
    saved_id = _only_id(cli)
    cli.environment["PYTHONPROFILEIMPORTTIME"] = "1"
    said = cli.run(*[saved_id if argument == "ID" else argument for argument in arguments]).stderr
    loaded = {
        line.rpartition("|")[2].strip()
        for line in said.splitlines()
        if line.startswith("import time:")
    }
    assert "muisti" in loaded
    assert loaded.isdisjoint(spared)


def test_J2_hostile_text_does_not_reach_the_terminal(cli: Cli) -> None:
    cli.run("save", "-", given="[bold red]not markup[/] \x1b[31mred\x1b[0m \x07 bell")
    for arguments in (["list"], ["search", "markup"], ["show", _only_id(cli)]):
        shown = cli.run(*arguments).stdout
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "not markup" in shown


def _only_id(cli: Cli) -> str:
    found = cli.json("list")
    assert isinstance(found, list)
    return str(found[0]["id"])


def test_J2_settings_are_shown_as_muisti_toml_has_them(cli: Cli) -> None:
    lines = cli.run("settings").stdout.splitlines()
    shown = [line for line in lines if line[:1] != " " and line.split()[0] not in TABLES]
    values = tomllib.loads("\n".join(shown))
    assert values["wikilinks"] is True
    assert values["fusion"] == "scores"
    assert len(values) > 50


def test_J2_demo_runs_and_leaves_nothing(cli: Cli, tmp_path: Path) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    cli.environment["TMPDIR"] = str(place)
    said = cli.run("demo").stdout
    assert "same results as before: yes" in said
    assert "no problems" in said
    assert list(place.iterdir()) == []
    assert cli.json("trust", "--list") == []


def test_K5_only_the_records_of_a_checked_model_and_a_new_vault_are_left_in_the_home(
    cli: Cli, tmp_path: Path
) -> None:
    home = tmp_path / "empty home"
    home.mkdir()
    cli.environment |= {
        "HOME": str(home),
        "TMPDIR": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
    }
    cli.environment.pop("XDG_DATA_HOME", None)
    cli.run("save", "A text that gets a vector")
    assert cli.json("search", "texts with vectors")
    left = [str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()]
    assert [
        name
        for name in left
        if not name.startswith(("cache/muisti/models/", ".local/share/muisti/trusted_vaults."))
    ] == []  # ONNX Runtime 1.29 left a device id


def test_J2_a_terminal_gets_a_progress_bar(cli: Cli) -> None:
    cli.run("save", "Something")
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "muisti", "reindex"]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=child, env=cli.environment, check=True, text=True
    )
    os.close(child)
    os.close(parent)
    assert "Index rebuilt: 1 memory." in done.stdout


def test_J2_saving_the_same_again_is_reported(cli: Cli) -> None:
    cli.run("save", "Said twice", "--kind", "fact")
    again = cli.run("save", "Said twice", "--kind", "decision")
    assert "Already known; reinforced" in again.stdout
    assert "muisti update" in again.stderr


def test_J2_verify_changes_nothing(cli: Cli, vault: Path) -> None:
    cli.run("save", "Something", "--kind", "note")
    new = vault / "notes" / "new.md"
    new.write_text("Made by hand\n")
    assert "new.md" in cli.run("verify", code=1).stdout
    assert new.read_text() == "Made by hand\n"
    cli.run("sync")
    assert "no problems" in cli.run("verify").stdout


def test_J2_init_reports_existing_files_and_the_vault_in_use(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "here" / "notes").mkdir(parents=True)
    (tmp_path / "here" / "notes" / "old.md").write_text("An old note\n")
    said = cli.run("init", str(tmp_path / "here"), "--adopt")
    assert "1 memory from existing files" in said.stdout
    assert "MUISTI_VAULT" in said.stderr


def test_J2_odd_calls_are_reported(cli: Cli, tmp_path: Path) -> None:
    cli.run("save", "Something")
    assert "nowhere" in cli.run("export", "-o", str(tmp_path / "nowhere" / "x.md"), code=1).stderr
    assert "empty" in cli.run("list", "--vault", "", code=1).stderr
    assert "not both" in cli.run("save", "-", "more", given="piped", code=2).stderr
    assert "four" in cli.run("show", "01a", code=1).stderr
    assert "No matching memories" in cli.run("list", "--kind", "decision").stderr


def test_J2_the_end_of_a_session_id_is_enough(cli: Cli) -> None:
    session = cli.run("session", "start", "--project", "web").stdout.strip()
    saved = cli.json("save", "Of the session", "--session", session)
    assert isinstance(saved, dict)
    assert saved["project"] == "web"
    assert "Of the session" in cli.run("session", "show", session[-8:]).stdout
    cli.run("session", "end", session[-8:], "--summary", "Done", "--tool-calls", "3")
    cli.run("session", "end", session[-8:])
    cli.run("session", "start", "--id", session)
    listed = cli.json("session", "list")
    assert isinstance(listed, list)
    kept = listed[0]
    assert (kept["summary"], kept["tool_calls"], kept["project"], kept["status"]) == (
        "Done",
        3,
        "web",
        "active",
    )


def test_H1_save_replaces_another_memory(cli: Cli) -> None:
    old = cli.json("save", "Anna lives in Turku")
    done = cli.run("save", "Anna moved to Espoo", "--replaces", old["id"][-8:])  # type: ignore[index]
    assert done.stdout.startswith("Saved")
    assert f"Replaces …{old['id'][-8:]}, which is outdated now." in done.stderr  # type: ignore[index]
    assert cli.json("show", old["id"])["valid_until"]  # type: ignore[index]
    for wrong in ("no-such-memory", "x"):
        cli.run("save", "Something else", "--replaces", wrong, code=1)
    cli.run("save", "Anna lives in Turku", "--replaces", old["id"], code=0)  # type: ignore[index]
    assert len(cli.json("list")) == 3  # type: ignore[arg-type]

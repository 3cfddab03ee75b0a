"""J2 · The commands for conversations and for documents outside the vault."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.cli.test_cli import Cli

EVIL = "Evil \x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J [bold]markup[/bold]"


@pytest.fixture
def cli(vault: Path, tmp_path: Path) -> Cli:
    made = Cli(vault, tmp_path)
    made.environment |= {"MUISTI_EMBEDDER": "none", "COLUMNS": "80"}
    (tmp_path / "docs").mkdir()
    return made


def write(cli: Cli, path: str, text: str) -> Path:
    place = cli.cwd / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, "utf-8")
    return place


# -- Conversations


def test_J2_conversation_log_window_break_list(cli: Cli) -> None:
    assert (
        cli.run("conversation", "log", "cli_main", "user", "Where", "do otters sleep?").stdout
        == "Logged to cli_main.\n"
    )
    cli.run("conversation", "log", "cli_main", "assistant", "On the water.", "--type", "reply")
    window = cli.run("conversation", "window", "cli_main").stdout
    assert (
        window.index("user")
        < window.index("Where do otters sleep?")
        < window.index("assistant")
        < window.index("On the water.")
    )
    assert "reply" in window
    assert "otters" not in cli.run("conversation", "window", "cli_main", "-n", "1").stdout
    listed = cli.run("conversation", "list").stdout
    assert "cli_main" in listed
    assert "conversation" in listed
    assert all(len(line) <= 80 for line in listed.splitlines())
    assert (
        "Started a new section in cli_main" in cli.run("conversation", "break", "cli_main").stdout
    )
    nothing = cli.run("conversation", "window", "cli_main")
    assert nothing.stdout == ""
    assert "since the last break" in nothing.stderr


def test_J2_conversation_with_json(cli: Cli) -> None:
    said: Any = cli.json(
        "conversation",
        "log",
        "cli_main",
        "user",
        "Hello",
        "--meta",
        '{"model": "m"}',
        "--at",
        "2026-01-31T12:00:00Z",
        "--id",
        "7",
    )
    assert said["chat"] == said["conversation"] == "cli_main"
    assert (said["role"], said["content"], said["id"]) == (
        "user",
        "Hello",
        "7",
    )
    assert (said["meta"], said["at"], said["type"]) == (
        {"model": "m"},
        "2026-01-31T12:00:00Z",
        None,
    )
    again: Any = cli.json("conversation", "log", "cli_main", "user", "Hello", "--id", "7")
    assert again["at"] == said["at"], "written once"
    window: Any = cli.json("conversation", "window", "cli_main")
    assert [one["id"] for one in window] == ["7"]
    chats: Any = cli.json("conversation", "list")
    assert [(one["name"], one["messages"], one["since_break"]) for one in chats] == [
        ("cli_main", 1, 1)
    ]
    broken: Any = cli.json("conversation", "break", "cli_main")
    assert broken["type"] == "session_break"
    assert cli.json("conversation", "window", "cli_main") == []


def test_J2_conversation_search(cli: Cli) -> None:
    cli.run("save", "Otters are remembered")
    cli.run("conversation", "log", "cli_main", "user", "Where do otters sleep?")
    cli.run("conversation", "log", "cli_other", "user", "Do otters hold hands?")
    found = cli.run("conversation", "search", "otters").stdout
    assert "otters sleep" in found
    assert "otters hold" in found
    assert "remembered" not in found
    narrowed: Any = cli.json("conversation", "search", "otters", "--conversation", "cli_main")
    assert [
        (one["source"], one["message"]["chat"], one["message"]["role"]) for one in narrowed
    ] == [("message", "cli_main", "user")]
    nothing = cli.run("conversation", "search", "submarine")
    assert nothing.stdout == ""
    assert "muisti conversation list" in nothing.stderr
    assert cli.json("conversation", "search", "submarine") == []


def test_J2_conversation_log_reads_standard_input(cli: Cli) -> None:
    cli.run("conversation", "log", "cli_main", "user", given="first line\nsecond line\n")
    cli.run("conversation", "log", "cli_main", "user", "-", given="from a pipe\n")
    window: Any = cli.json("conversation", "window", "cli_main")
    assert [one["content"] for one in window] == ["first line\nsecond line", "from a pipe"]
    assert cli.run("conversation", "log", "cli_main", "user", given="\n", code=1).stderr.startswith(
        "error: content "
    )
    arguments = [sys.executable, "-m", "muisti", "conversation", "log", "cli_main", "user"]
    bad = subprocess.run(
        arguments,
        input=b"a \xff b",
        capture_output=True,
        check=False,
        env=cli.environment,
        cwd=cli.cwd,
    )
    assert bad.returncode == 1
    assert bad.stderr.startswith(b"error: stdin is not UTF-8 (byte 2)")
    assert len(cli.json("conversation", "window", "cli_main")) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("log", "../x", "user", "hi"), 1, "error: conversation "),
        (("log", "cli_a/b", "user", "hi"), 1, "error: conversation "),
        (("log", "nochannel", "user", "hi"), 1, "error: conversation "),
        (("log", "cli_main", "robot", "hi"), 2, "ROLE"),
        (("log", "cli_main", "user", " "), 1, "error: content "),
        (("log", "cli_main", "user", "hi", "--meta", "{"), 1, "error: meta "),
        (("log", "cli_main", "user", "hi", "--meta", "[1]"), 1, "error: meta "),
        (("log", "cli_main", "user", "hi", "--meta", '{"a": NaN}'), 1, "error: meta "),
        (("log", "cli_main", "user", "hi", "--meta", "[" * 9000), 1, "error: meta "),
        (("log", "cli_main", "user", "hi", "--type", "a\nb"), 1, "error: type "),
        (("log", "cli_main", "user", "hi", "--id", ""), 1, "error: id "),
        (("log", "cli_main", "user", "hi", "--at", "one fine day"), 2, "2026-01-31"),
        (("window", "cli_main", "-n", "0"), 1, "error: limit "),
        (("window", "../x"), 1, "error: conversation "),
        (("break", "../x"), 1, "error: conversation "),
        (("search", "x", "--chat", "../x"), 1, "error: conversation "),
        (("search", " "), 1, "error: query "),
        (("search",), 2, "QUERY"),
        (("log",), 2, "CONVERSATION"),
        (("log", "cli_main"), 2, "ROLE"),
        (("window",), 2, "CONVERSATION"),
    ],
)
def test_J2_conversation_bad_input(
    cli: Cli, vault: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    cli.run("save", "So that there is a vault")
    refused = cli.run("conversation", *arguments, given="", code=code)
    assert message in refused.stderr
    assert refused.stdout == ""
    assert not list(vault.rglob("*.jsonl.corrupt"))
    assert cli.json("conversation", "list") == []


def test_J2_an_error_is_json_with_json(cli: Cli) -> None:
    refused = cli.run("conversation", "log", "../x", "user", "hi", "--json", code=1)
    assert json.loads(refused.stderr)["message"].startswith("conversation ")
    refused = cli.run("index", "missing", "--json", code=1)
    assert json.loads(refused.stderr)["message"].startswith("path ")


def test_J2_messages_cannot_control_the_terminal(cli: Cli) -> None:
    cli.run("conversation", "log", "cli_main", "user", given=EVIL)
    for arguments in (
        ("conversation", "window", "cli_main"),
        ("conversation", "search", "evil"),
        ("search", "evil"),
        ("compact", "evil"),
    ):
        shown = cli.run(*arguments)
        assert not {"\x1b", "\x07", "\x9b"} & {*shown.stdout, *shown.stderr}, arguments
    assert "[bold]markup[/bold]" in cli.run("conversation", "window", "cli_main").stdout
    window: Any = cli.json("conversation", "window", "cli_main")
    assert [one["content"] for one in window] == [EVIL], "a program gets what was said"


def test_M2_chat_is_a_hidden_alias_of_conversation(cli: Cli) -> None:
    assert cli.run("chat", "log", "cli_main", "user", "Otters sleep").stdout == (
        "Logged to cli_main.\n"
    )
    found: Any = cli.json("chat", "search", "otters", "--chat", "cli_main")
    assert [(one["message"]["chat"], one["message"]["conversation"]) for one in found] == [
        ("cli_main", "cli_main")
    ]
    shown = cli.run("--help").stdout + cli.run("conversation", "search", "--help").stdout
    assert "chat" not in shown


# -- Documents


def test_J2_index_search_list_forget(cli: Cli) -> None:
    write(cli, "docs/guide.md", "# Guide\n\nAbout otters.\n\n## Food\n\nOtters eat clams.\n")
    cli.run("save", "Otters are remembered")
    docs = str(cli.cwd / "docs")
    assert cli.run("index", "docs").stdout == f"Indexed 1 document in {docs}.\n"
    found = cli.run("search", "otters").stdout
    assert "Guide > Food" in found
    assert "document" in found
    narrowed: Any = cli.json("search", "otters", "--source", "docs/guide.md")
    assert {
        (one["source"], one["memory"]["source"], one["memory"]["trusted"]) for one in narrowed
    } == {("document", "docs/guide.md", False)}
    several: Any = cli.json("search", "otters", "--source", "memory", "--source", "message")
    assert [one["source"] for one in several] == ["memory"]
    assert "docs/guide.md" in cli.run("search", "otters", "--source", "nosuch", code=1).stderr
    assert 'trust="unverified"' in cli.run("context", "clams").stdout
    shelf: Any = cli.json("index", "docs", "--source", "manual", "--project", "zoo", "--trusted")
    assert shelf == {
        "path": docs,
        "source": "manual",
        "project": "zoo",
        "user": "",
        "trusted": True,
        "documents": 1,
    }
    assert cli.json("index") == [shelf]
    listed = cli.run("index").stdout
    assert "manual" in listed
    assert "zoo" in listed
    assert all(len(line) <= 80 for line in listed.splitlines())
    assert (
        "docs from the index; its files are unchanged."
        in cli.run("index", "--forget", "docs").stdout
    )
    assert cli.json("search", "clams", "--source", "document") == []
    assert cli.json("index") == []


def test_J2_index_reports_files_it_cannot_read(cli: Cli) -> None:
    write(cli, "docs/good.md", "the otter")
    (cli.cwd / "docs" / "bad.md").write_bytes(b"\xff")
    write(cli, "docs2/bad.md", "")
    (cli.cwd / "docs2" / "bad.md").write_bytes(b"\xff")
    cli.run("index", "docs2")
    said = cli.run("index", "docs").stdout
    assert "save it as UTF-8" in " ".join(said.split())
    assert "docs2" not in said
    assert "bad.md and 1 more" in cli.run("search", "otter").stderr


def test_J2_a_long_path_does_not_hide_what_is_wrong(cli: Cli) -> None:
    place = write(cli, f"docs/{'folder/' * 12}bad.md", "")
    place.write_bytes(b"\xff")
    cli.run("index", "docs")
    assert "save it as UTF-8" in " ".join(cli.run("verify", code=1).stdout.split())


def test_J2_empty_lists_print_the_next_command(cli: Cli, vault: Path) -> None:
    for arguments in (
        ("conversation", "list"),
        ("conversation", "window", "cli_main"),
        ("conversation", "search", "x"),
        ("index",),
        ("index", "--forget", "docs"),
    ):
        assert "muisti init" in cli.run(*arguments, code=1).stderr
    assert not vault.exists(), "asking makes no vault"
    cli.run("init", str(vault))
    for arguments, hint in (
        (("conversation", "list"), "muisti conversation log"),
        (("conversation", "window", "cli_main"), "Start it: muisti conversation log cli_main"),
        (("conversation", "search", "x"), "muisti conversation list"),
        (("index",), "muisti index docs/"),
    ):
        said = cli.run(*arguments)
        assert said.stdout == ""
        assert hint in said.stderr
        assert cli.json(*arguments) == []
    cli.run("conversation", "log", "cli_main", "user", "Hello")
    assert (
        "Existing conversations: cli_main" in cli.run("conversation", "window", "cli_other").stderr
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing",), "error: path "),
        (("docs/a.txt",), "error: path "),
        (("",), "error: path "),
        (("vault",), "error: path "),
        (("vault/facts",), "error: path "),
        (("docs", "--source", "message"), "error: source "),
        (("docs", "--source", "a\nb"), "error: source "),
        (("docs", "--project", "../x"), "error: project "),
        (("--forget",), "error: path "),
        (("--source", "x"), "error: path "),
        (("--forget", "docs"), "error: path "),
    ],
)
def test_J2_index_bad_input(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    cli.run("save", "So that there is a vault", "--kind", "fact")
    write(cli, "docs/a.txt", "no Markdown")
    refused = cli.run("index", *arguments, code=1)
    assert refused.stderr.startswith(message)
    assert refused.stdout == ""
    assert cli.json("index") == []


def test_K3_file_names_cannot_control_the_terminal(cli: Cli) -> None:
    write(cli, "docs/\x1b[2J.md", "the otter")
    (cli.cwd / "docs" / "x\x1b[2J.md").write_bytes(b"\xff")
    for arguments in (
        ("index", "docs"),
        ("index", "docs/\x1b[2J.md"),
        ("index",),
        ("search", "otter"),
        ("compact", "otter"),
        ("timeline", "[2J.md"),
        ("show", "[2J.md"),
        ("index", "--forget", "docs/\x1b[2J.md"),
    ):
        shown = cli.run(*arguments)
        assert "\x1b" not in shown.stdout + shown.stderr, arguments


def test_J2_a_section_is_shown_by_its_id_in_any_language(cli: Cli) -> None:
    write(cli, "docs/Äiti.md", "# Ruoka\n\nAnkka syö leipää.\n")
    cli.run("index", "docs")
    found: Any = cli.json("search", "ankka")
    for part in (found[0]["memory"]["id"], "Äiti.md#ruoka", "#ruoka"):
        assert "Ankka" in cli.run("show", part).stdout


def test_J2_the_short_id_of_a_section_names_its_document(cli: Cli) -> None:
    """Two documents may have the same heading."""
    write(cli, "docs/server.md", "# Installation\n\nOtters need a server.\n")
    write(cli, "docs/client.md", "# Installation\n\nOtters need a client.\n")
    cli.run("index", "docs")
    shown = cli.run("search", "otters").stdout
    for name in ("server", "client"):
        short = f"…/{name}.md#installation"
        assert short in shown
        assert f"Otters need a {name}." in cli.run("show", short).stdout


def test_J2_a_hit_says_which_document_it_is_from(cli: Cli) -> None:
    write(cli, "docs/guide.md", "# Otters\n\nThey sleep.\n")
    cli.run("index", "docs")
    shown = cli.run("search", "otters").stdout
    assert "guide.md" in shown
    assert "# Otters" not in shown, "the heading is the title already"

"""Adding, changing and removing one table of a TOML text."""

from __future__ import annotations

import tomllib

import pytest

from muisti.surfaces.setup import tomledit
from muisti.surfaces.setup.errors import Malformed, locate

PATH = ("mcp_servers", "muisti")
TABLE = {"command": "/bin/muisti", "args": ["mcp"]}
TEXTS = [
    "",
    "# only a comment",
    'model = "gpt-5"\n',
    'model = "gpt-5"',
    'model = "gpt-5"\n\n',
    'model = "gpt-5"\r\n[mcp_servers.docs]\r\nurl = "https://example.org"\r\n',
    '# mine\nmodel = "gpt-5" # best\n\n[mcp_servers.docs] # docs\ncommand = "npx"\nargs = [\n  "-y", # yes\n  "docs",\n]\n\n[mcp_servers.docs.env]\nTOKEN = "x"\n\n\n# last words\n',
    "[mcp_servers]\n",
    "[[profiles]]\nname = 'a'\n[[profiles]]\nname = 'b'\n",
    'mcp_servers.docs.command = "npx"\n',
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_was_added_comes_out_again(text: str) -> None:
    changed, glue = tomledit.add_table(text, PATH, TABLE)
    assert tomledit.get_table(changed, PATH) == TABLE
    assert changed.startswith(text)
    assert ("\r\n" in changed) is ("\r\n" in text)
    assert "\n" not in changed.replace("\r\n", "") or "\r\n" not in text
    assert tomledit.remove_table(changed, PATH, glue) == text


def test_what_a_person_wrote_around_it_stays() -> None:
    text = 'a = 1\n\n[mcp_servers.muisti]\n# why\ncommand = "/bin/muisti" # here\nargs = ["mcp"]\n\n[mcp_servers.muisti.env]\nX = "1"\n\n# of the next\n[z]\nb = 2\n'
    assert tomledit.remove_table(text, PATH) == "a = 1\n\n# of the next\n[z]\nb = 2\n"
    changed = tomledit.update_table(text, PATH, {"command": "/new/muisti"})
    assert changed == text.replace("/bin/muisti", "/new/muisti")


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { muisti = { command = "muisti", args = ["mcp"] }, b = { url = "x" } }\n',
        'mcp_servers.muisti.command = "muisti"\nmcp_servers.muisti.args = ["mcp"]\nmcp_servers.b.url = "x"\n',
        '[mcp_servers]\nmuisti = { command = "muisti", args = ["mcp"] } # us\nb = { url = "x" }\n',
    ],
)
def test_unusual_spellings(text: str) -> None:
    assert tomllib.loads(tomledit.remove_table(text, PATH)) == {"mcp_servers": {"b": {"url": "x"}}}
    assert tomledit.get_table(tomledit.update_table(text, PATH, TABLE), PATH) == TABLE


def test_what_only_looks_like_a_table_stays() -> None:
    text = 'text = """\n[mcp_servers.muisti]\nnot a table\n"""\n'
    changed, glue = tomledit.add_table(text, PATH, TABLE)
    assert tomledit.remove_table(changed, PATH, glue).rstrip("\n") == text.rstrip("\n")


def test_an_inline_table_takes_no_further_one() -> None:
    with pytest.raises(Malformed, match="cannot be changed here"):
        tomledit.add_table('mcp_servers = { b = { url = "x" } }\n', PATH, TABLE)


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ('a = 1\nb = "x\n', (2, 7), "invalid TOML"),
        ("a = 1\na = 2\n", (2, 6), "invalid TOML"),
        ("\ufeffa = 1\n", (1, 1), "byte order mark"),
        ('{"a": 1}', (1, 1), "invalid TOML"),
    ],
)
def test_tells_where_it_is_broken(text: str, place: tuple[int, int], said: str) -> None:
    with pytest.raises(Malformed, match=said) as caught:
        tomledit.parse(text)
    assert locate(text, caught.value.position) == place


@pytest.mark.parametrize(
    "text", ["mcp_servers = 1\n", "mcp_servers = []\n", "[mcp_servers]\nmuisti = 2\n"]
)
def test_does_not_take_something_else_for_a_table(text: str) -> None:
    with pytest.raises(Malformed, match="must be a table"):
        tomledit.get_table(text, PATH)

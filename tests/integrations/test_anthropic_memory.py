"""The memory tool in a vault answers as Anthropic's own does on a file system, call by call; where
not, a table says why.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from muisti import Muisti, bootstrap

from .pairs import Answer, Call, Pair, answer, tree

SECRET = "AKIA" + "IOSFODNN7EXAMPLF"


def view(path: object, view_range: object = None) -> Call:
    return {
        "command": "view",
        "path": path,
        **({} if view_range is None else {"view_range": view_range}),
    }


def create(path: str, file_text: object = "one\ntwo\nthree\n") -> Call:
    return {"command": "create", "path": path, "file_text": file_text}


def str_replace(path: str, old_str: str, new_str: str) -> Call:
    return {"command": "str_replace", "path": path, "old_str": old_str, "new_str": new_str}


def insert(path: str, insert_line: object, insert_text: str) -> Call:
    return {
        "command": "insert",
        "path": path,
        "insert_line": insert_line,
        "insert_text": insert_text,
    }


def delete(path: str) -> Call:
    return {"command": "delete", "path": path}


def rename(old_path: str, new_path: str) -> Call:
    return {"command": "rename", "old_path": old_path, "new_path": new_path}


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def pair(request: pytest.FixtureRequest, tmp_path: Path, opened: Callable[..., Muisti]) -> Pair:
    return Pair(tmp_path / "sdk", opened(embedder="none"), asynchronous=request.param)


A, DEEP = "/memories/a.md", "/memories/people/anna/likes.txt"
SAME: dict[str, list[Call]] = {
    "an empty folder": [view("/memories"), view("/memories/")],
    "a file": [create(A), view(A), view("/memories")],
    "files in folders, two levels deep": [create(DEEP), create("/memories/people/b.md", ""), view("/memories"), view("/memories/people"), view(DEEP)],
    "a name with a trailing slash": [create(A), view(f"{A}/"), str_replace(f"{A}/", "one", "1"), delete(f"{A}/")],
    "paths in other words": [create("/memories//x/./a.md"), view("/memories/x/../x//a.md"), view("/memories/x/.."), view("/memories/../memories/x")],
    "an encoded way out is only a name": [create("/memories/%2e%2e%2fa.md"), view("/memories")],
    "sizes": [create("/memories/big.md", "x" * 1536), create("/memories/large.md", "x" * 2048), create("/memories/odd.md", "é" * 100), view("/memories")],
    "what exists is not overwritten": [create(A), create(A, "other"), view(A), create("/memories"), create("/memories/")],
    "ranges": [create(A, "1\n2\n3\n4\n5"), *(view(A, r) for r in ([2, 4], [1, -1], [3, 3], [4, 2], [0, 2], [-3, 2], [9, 12], [2], [1, 2, 3], [], [2, -2]))],
    "lines that end otherwise": [create(A, "one\r\ntwo\r\n\r\nthree\rfour\u2028five\x0c"), view(A), insert(A, 2, "new\r\n"), str_replace(A, "\r\ntwo", "\r\n2")],
    "no last newline": [create(A, "one"), insert(A, 1, "two"), view(A), insert(A, 0, "zero\n\n"), view(A)],
    "into an empty file": [create(A, ""), view(A), insert(A, 1, "x"), insert(A, 0, ""), view(A), str_replace(A, "", "y"), delete(A), create(A, ""), str_replace(A, "", "y")],
    "replace": [create(A), str_replace(A, "two", "2\n2b"), str_replace(A, "two", "x"), str_replace(A, "o", "x"), str_replace(A, "three\n", ""), view(A)],
    "replace at both ends": [create(A, "\n".join("abcdefghij")), str_replace(A, "a", "A"), str_replace(A, "j", "J"), str_replace(A, "e\nf\ng", "-")],
    "words that overlap": [create(A, "aaa bbb\n"), str_replace(A, "aa", "c"), create("/memories/b.md", "aaaa"), str_replace("/memories/b.md", "aa", "c")],
    "words that occur often": [create(A, "x\ny x\n\nx x\n"), str_replace(A, "x", "z")],
    "where to insert": [create(A), insert(A, 3, "four"), insert(A, 9, "x"), insert(A, -1, "x"), insert(A, 1, "a\nb\n\n"), view(A)],
    "other scripts": [create("/memories/käännös 记忆.md", "Hyvää päivää\n你好\n👩‍👩‍👧\n"), view("/memories/käännös 记忆.md"), str_replace("/memories/käännös 记忆.md", "你好", "мир"), view("/memories")],
    "what is not there": [view(A), str_replace(A, "a", "b"), insert(A, 0, "x"), delete(A), rename(A, "/memories/b.md")],
    "a folder is no file": [create(DEEP), str_replace("/memories/people", "a", "b"), insert("/memories/people", 0, "x"), create("/memories/people"), insert("/memories", 0, "x")],
    "delete": [create(A), create(DEEP), delete(A), delete(A), delete("/memories/people"), view("/memories"), delete("/memories"), delete("/memories/")],
    "rename": [create(A), rename(A, "/memories/x/y/b.md"), view("/memories"), rename("/memories/x", "/memories/z"), view("/memories/z/y/b.md"), view(A)],
    "rename to what exists": [create(A), create(DEEP), rename(A, DEEP), rename(A, A), rename(A, "/memories"), rename("/memories", "/memories/m"), rename(A, "/memories/people")],
    "the way out": [view("/etc/passwd"), view("memories/a"), view(""), create("/memories/../x.md"), delete("/memories/../../etc"), rename("/memories/../a", A), view("/memories/..")],
}  # fmt: skip


@pytest.mark.parametrize("calls", SAME.values(), ids=SAME.keys())
def test_J6_both_answer_the_same(pair: Pair, calls: list[Call]) -> None:
    pair.agree(*calls)


def test_J6_both_introduce_themselves_alike(pair: Pair) -> None:
    assert pair.ours.to_dict() == pair.theirs.to_dict()
    assert (
        pair.both({"command": "format", "path": "/memories"})[0]
        == pair.both({"command": "format", "path": "/memories"})[1]
    )


LONG = "n" * 201
DIFFERENT: dict[str, tuple[list[Call], Call, str, str]] = {
    # what: (what is there, the call, how ours answers, why)
    "another folder": ([], create("/memoriesfoo/a.md"), "Path must start with /memories, got: /memoriesfoo/a.md", "theirs takes it for /memories/foo/a.md: a name that is not in the folder is no way into it"),
    "a hidden file": ([], create("/memories/.git/config"), "names must not begin with a dot", "theirs writes what it then never lists; in a vault it could be another program's"),
    "a settings file": ([], create("/memories/muisti.toml"), "is reserved", "it would make the folder a vault of its own, with settings that a model chose"),
    "a name for Windows": ([], create("/memories/aux.md"), "is reserved", "the vault could not be copied to Windows, or be checked out there"),
    "a character that Windows forbids": ([], create("/memories/a:b.md"), "must contain none of", "the same"),
    "a backslash": ([], create("/memories/..\\..\\a.md"), "a backslash or a control character", "on Windows it leads out of the folder"),
    "a control character": ([], create("/memories/a\nb.md"), "a backslash or a control character", "a listing with it would show a file that is not there"),
    "a long name": ([], create(f"/memories/{LONG}.md"), "longer than 200 bytes", "in the trash a name gets a time behind it"),
    "a long path": ([], view("/memories" + "/nnn" * 300), "longer than 1000 bytes", "theirs says only that it does not exist"),
    "a secret": ([], create(A, f"key {SECRET}"), "Private or secret text was redacted.", "no file of the vault holds secrets, and the model should know"),
    "something private": ([], create(A, "a <private>b</private>"), "Private or secret text was redacted.", "the same"),
    "nothing but what is private": ([], create(A, "<private>b</private>"), "must have text outside of <private>", "the same"),
    "a secret that is inserted": ([create(A)], insert(A, 0, f"key {SECRET}"), "Private or secret text was redacted.", "the same"),
    "a secret in two parts": ([create(A, f"{SECRET[:12]}-rest")], str_replace(A, "-rest", SECRET[12:]), "would contain private text or a secret", "the same"),
    "a tag that would hide the rest": ([create(A)], insert(A, 1, "<private>"), "must have text outside of <private>", "the same, and the lines below it are not the model's to hide"),
    "too much": ([], create(A, "x" * 1_048_577), "at most 1048576 bytes", "theirs writes until the disk is full"),
    "a memory's front matter": ([], create(A, "---\nid: 0195801f-7d3c-7a41-9d0e-2f6b3c9f12ab\n---\nx"), "front matter with the ID of a memory", "the vault would take the file for that memory"),
    "a word that occurs very often": ([create(A, "x" * 5000)], str_replace(A, "x", "y"), "1, 1, …. Please", "theirs takes time by the square, and a reply of any length"),
    "a failed rename": ([], rename("/memories/a", "/memories/b/c/d"), "The path /memories/a does not exist", "the words are the same, but theirs leaves /memories/b/c behind"),
}  # fmt: skip
REFUSED: dict[str, tuple[list[Call], Call, str]] = {
    # theirs fails with an exception of Python's, which is no answer for a model; ours says what is
    # wrong: (there, call, ours)
    "a NUL in the path": ([], view("/memories/a\0b"), "a backslash or a control character"),
    "half a character in the path": ([], create("/memories/\ud800.md"), "a backslash or a control character"),
    "half a character in the text": ([], create(A, "\ud800"), "half of a surrogate pair"),
    "a path below a file": ([create(A)], create(f"{A}/b.md"), f"{A} is a file, not a directory"),
    "a path far below a file": ([create(A)], create(f"{A}/b/c.md"), f"{A} is a file, not a directory"),
    "a folder into itself": ([create(DEEP)], rename("/memories/people", "/memories/people/x"), "Cannot move /memories/people into itself"),
    "no path": ([], {"command": "view"}, "Invalid `path` parameter: None. It should be a text."),
    "a path of another type": ([], view(7), "Invalid `path` parameter: 7"),
    "no text": ([], {"command": "create", "path": A}, "Invalid `file_text` parameter: None"),
    "a line of another type": ([create(A)], insert(A, "first", "x"), "Invalid `insert_line` parameter: 'first'. It should be a whole number."),
    "a range of another type": ([create(A)], view(A, ["a", "b"]), "Invalid `view_range` parameter: ['a', 'b']"),
}  # fmt: skip


@pytest.mark.parametrize(("there", "call", "told", "why"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_K3_ours_differs_for_a_reason(
    pair: Pair, there: list[Call], call: Call, told: str, why: str
) -> None:
    pair.agree(*there)
    before = tree(pair.our_files)
    theirs, ours = pair.both(call)
    assert told in ours.text
    assert ours.raised in ("", "ToolError")
    assert ours != theirs or tree(pair.our_files) != tree(pair.their_files), (
        "there is no difference: take it out of the table"
    )
    assert why
    if ours.raised:
        assert tree(pair.our_files) == before


@pytest.mark.parametrize(("there", "call", "told"), REFUSED.values(), ids=REFUSED.keys())
def test_K3_ours_tells_the_model_where_theirs_fails(
    pair: Pair, there: list[Call], call: Call, told: str
) -> None:
    pair.agree(*there)
    before = tree(pair.our_files)
    theirs, ours = pair.both(call)
    assert theirs.raised not in ("", "ToolError"), (
        "theirs can answer this now: take it out of the table"
    )
    assert ours.raised == "ToolError"
    assert told in ours.text
    assert tree(pair.our_files) == before


def test_K3_a_file_that_is_no_text(pair: Pair) -> None:
    for folder in (pair.their_files, pair.our_files):
        (folder / "a.png").write_bytes(b"\x89PNG\xff\x00")
    pair.agree(view("/memories"))
    for call in (
        view("/memories/a.png"),
        str_replace("/memories/a.png", "P", "x"),
        insert("/memories/a.png", 0, "x"),
    ):
        theirs, ours = pair.both(call)
        assert theirs.raised == "UnicodeDecodeError"
        assert ours == Answer(
            "File /memories/a.png is not UTF-8 text (byte 0); it cannot be shown or edited",
            "ToolError",
        )


@pytest.mark.parametrize("target", ["inside", "outside"])
def test_K3_links_are_not_followed(pair: Pair, tmp_path: Path, target: str) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.md").write_text("not yours")
    for folder in (pair.their_files, pair.our_files):
        (folder / "real").mkdir()
        (folder / "real" / "key.md").write_text("yours")
        (folder / "link").symlink_to(
            tmp_path / "secret" if target == "outside" else folder / "real"
        )
        (folder / "file.md").symlink_to(
            (tmp_path / "secret" if target == "outside" else folder / "real") / "key.md"
        )
    calls = [
        view("/memories/link/key.md"),
        view("/memories/file.md"),
        delete("/memories/file.md"),
        create("/memories/link/new.md"),
        rename("/memories/real/key.md", "/memories/link/x.md"),
        insert("/memories/file.md", 0, "x"),
    ]
    for call in calls:
        path = str(call.get("new_path", call.get("path")))
        theirs, ours = pair.both(call) if target == "outside" else (None, answer(pair.ours, call))
        assert ours == Answer(f"Path {path} would escape /memories directory", "ToolError")
        assert theirs in (None, ours)
    assert (tmp_path / "secret" / "key.md").read_text() == "not yours"
    assert [path.name for path in (tmp_path / "secret").iterdir()] == ["key.md"]
    assert "link" not in answer(pair.ours, view("/memories")).text, (
        "theirs lists links, ours does not"
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_both_refuse_what_is_no_file(pair: Pair) -> None:
    for folder in (pair.their_files, pair.our_files):
        os.mkfifo(folder / "pipe")
    for call in (
        view("/memories"),
        view("/memories/pipe"),
        delete("/memories/pipe"),
        insert("/memories/pipe", 0, "x"),
    ):
        theirs, ours = pair.both(call)
        assert ours == theirs


def test_both_clear_all(tmp_path: Path, memory: Muisti) -> None:
    pair = Pair(tmp_path / "sdk", memory)
    pair.agree(create(A), create(DEEP))
    assert pair.ours.clear_all_memory() == pair.theirs.clear_all_memory() == "All memory cleared"
    pair.agree(view("/memories"), create(A))


NAMES = ["a.md", "b.txt", "c", "d", "d/e.md", "d/f", "d/f/g.md", "h/i/j.md"]
paths = st.sampled_from(NAMES).flatmap(
    lambda name: st.sampled_from(
        [f"/memories/{name}"] * 6
        + [
            f"/memories/{name}/",
            f"/memories//{name}",
            f"/memories/./{name}",
            f"/memories/d/../{name}",
        ]
    )
)
texts = st.text(
    st.sampled_from("ab \n\r\t中é") | st.characters(exclude_categories=["Cs", "Cc"]), max_size=30
).filter(lambda text: "private" not in text)  # hypothesis also draws words of the source


class SameCalls(RuleBasedStateMachine):
    """Any sequence of calls: the same answers, the same files."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.memory = bootstrap.open(Path(self.folder.name, "vault"), settings={"embedder": "none"})
        self.pair = Pair(Path(self.folder.name, "sdk"), self.memory)

    def teardown(self) -> None:
        self.memory.close()
        self.folder.cleanup()

    def place(self, path: str) -> Path:
        return Path(
            os.path.normpath(self.pair.their_files / path.removeprefix("/memories").lstrip("/"))
        )

    def below_a_file(self, path: str) -> bool:
        """Where theirs fails with an exception of Python's; the table has it."""
        return any(above.is_file() for above in self.place(path).parents)

    @rule(path=paths, text=texts)
    def create(self, path: str, text: str) -> None:
        if not self.below_a_file(path):
            self.pair.agree(create(path, text))

    @rule(
        path=paths | st.just("/memories"),
        lines=st.none() | st.lists(st.integers(-3, 9), max_size=3),
    )
    def view(self, path: str, lines: list[int] | None) -> None:
        self.pair.agree(view(path, lines))

    @rule(path=paths, line=st.integers(-1, 5), text=texts)
    def insert(self, path: str, line: int, text: str) -> None:
        self.pair.agree(insert(path, line, text))

    @rule(path=paths, old=st.text("ab\n中", max_size=2), new=texts)
    def str_replace(self, path: str, old: str, new: str) -> None:
        self.pair.agree(str_replace(path, old, new))

    @precondition(lambda self: any(self.pair.their_files.iterdir()))
    @rule(path=paths | st.just("/memories"))
    def delete(self, path: str) -> None:
        self.pair.agree(delete(path))

    @rule(old=paths, new=paths)
    def rename(self, old: str, new: str) -> None:
        source, target = self.place(old), self.place(new)
        if self.below_a_file(old) or self.below_a_file(new) or source in target.parents:
            return
        if (
            source.exists() or target.exists() or target.parent.exists()
        ):  # else theirs leaves folders behind; see the table
            self.pair.agree(rename(old, new))

    @invariant()
    def the_vault_is_sound(self) -> None:
        assert not list(self.memory.root.joinpath(".muisti", "tmp").glob("*"))


TestSameCalls = SameCalls.TestCase
TestSameCalls.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)

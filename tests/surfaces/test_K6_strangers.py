"""A vault found in the working folder that the user neither made nor approved is read as a
stranger's, on every surface (contract K6).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap, trust
from muisti.errors import VaultNotTrusted
from muisti.settings import HARMLESS, Settings, load_settings
from tests.chat_server import ChatServer, serving
from tests.rest.conftest import client_of
from tests.surfaces.cli.forking import run_command
from tests.surfaces.mcp.clients import get_text, read_resource, run, spawn_agent
from tests.surfaces.strangers import (
    OUTSIDE,
    PLANTED,
    RULE,
    git,
    hostile_settings,
    open_own,
    own_vault,
    plant,
    snapshot,
)

CANARY = "canary-7731"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as server:
        yield server
        assert server.requests == []
        assert server.paths == []


@pytest.fixture
def clone(tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = plant(tmp_path, hostile_settings(server.url, tmp_path))
    before = snapshot(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    yield folder
    assert snapshot(folder) == before


def cli(
    *arguments: str, cwd: Path | None = None, code: int = 0
) -> subprocess.CompletedProcess[str]:
    done = run_command(arguments, {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}, cwd)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_K6_python_reads_it_as_untrusted_data(clone: Path, tmp_path: Path) -> None:
    with Muisti.open() as memory:
        assert not memory.is_trusted
        assert not memory.is_writable
        found = [result.memory for result in memory.search("release password", limit=20)]
        assert {one.origin.value for one in found} == {"memory", "message", "document"}
        assert not any(one.trusted for one in found)
        assert not any(one.trusted for one in memory.list())
        assert memory.list(trusted=True) == []
        assert memory.count_review().memories == 1
        assert memory.core_get().agent == {}
        block = memory.context("release password")
        assert RULE not in block
        assert 'section="user" trust="unverified"' in block
        assert 'trust="trusted"' not in block
        assert "unverified" in memory.build_memory_context(memory.list())
        assert memory.search("surgery diary") == []  # neither workspace nor journal lead outside
        assert all(not source.trusted for source in memory.list_document_sources())
        assert memory.settings.embedder == "none"
        assert memory.settings.extractor == "rules"
        assert memory.settings.redact_secrets
        assert memory.settings.workspace == ""
        assert "idea" in memory.settings.kinds  # how its own files are read


def test_K6_nothing_is_written_into_it(clone: Path) -> None:
    with Muisti.open() as memory:
        id_ = memory.list()[0].id
        session = f"s-{CANARY}"
        writes = [
            lambda: memory.save(CANARY),
            lambda: memory.save_batch([CANARY]),  # type: ignore[list-item]
            lambda: memory.update(id_, content=CANARY),
            lambda: memory.delete(id_),
            lambda: memory.touch(id_),
            lambda: memory.reinforce(id_),
            lambda: memory.confirm(id_),
            lambda: memory.core_update("user", "x", CANARY),
            lambda: memory.append_message("cli_chat1", "user", CANARY),
            memory.start_session,
            lambda: memory.index_path(clone / "MEMORY.md"),
            lambda: memory.notebook("notes_of_agent").prepare(),
        ]
        for number, write in enumerate(writes):
            with pytest.raises(VaultNotTrusted, match="muisti trust"):
                write()
                memory.flush()
                pytest.fail(f"write {number}")
        memory.extract_and_save(session, f"I prefer {CANARY} tea", "Noted.")  # never fails a chat
        memory.flush()
        memory.sync()
        memory.reindex()
        assert memory.verify().problems == ()


def test_K6_the_command_line_says_so(clone: Path) -> None:
    found = cli("search", "release password")
    assert "This vault is not trusted" in found.stderr
    assert "muisti trust" in found.stderr
    for command in (
        ["save", CANARY],
        ["delete", "--yes", "x" * 4],
        ["core", "set", "user", "a", "b"],
    ):
        assert run_command(command, os.environ).returncode != 0
    assert "muisti trust" in cli("save", CANARY, code=1).stderr
    assert "muisti trust" in cli("model", "use", "all-MiniLM-L6-v2", code=1).stderr
    assert 'extractor = "rules"' in cli("settings").stdout
    shown = json.loads(cli("list", "--all", "--json").stdout)
    assert [one["trusted"] for one in shown] == [False]
    assert RULE not in cli("core", "get").stdout
    told = json.loads(cli("doctor", "--json", code=0).stdout)
    wheres = " ".join(f"{one['what']} {one['fix']}" for one in told["findings"])
    assert "is not trusted" in wheres
    assert "muisti trust" in wheres
    assert "extractor, " in wheres


def test_K6_agents_read_it_as_a_strangers(clone: Path) -> None:
    async def work() -> list[str]:
        told = []
        async with spawn_agent(None, cwd=clone) as client:
            found = await client.call_tool("memory_search", {"query": "release password"})
            id_ = found.structured_content["results"][0]["id"]  # type: ignore[index]
            assert "unverified" in get_text(found)
            told.append(get_text(found))
            told.append(get_text(await client.call_tool("memory_get", {"ids": [id_]})))
            told.append(get_text(await client.call_tool("memory_core_get", {})))
            told += [
                await read_resource(client, uri) for uri in ("memory://core", "memory://recent")
            ]
            refused = await client.call_tool("memory_save", {"content": CANARY})
            assert refused.is_error
            assert "muisti trust" in get_text(refused)
            assert "Only the user" in get_text(refused)
        return told

    for text in run(work):
        assert text.startswith("This vault was found in the working folder")
        assert RULE not in text
        assert 'trust="trusted"' not in text
        assert OUTSIDE not in text


def test_K6_the_server_and_its_page_say_so(clone: Path) -> None:
    with bootstrap.open(role="server") as memory, client_of(memory, web_page=True) as client:
        assert "not trusted" in str(client.get("/ready").json()["notes"])
        assert [one["trusted"] for one in client.get("/api/memories").json()["items"]] == [False]
        refused = client.post("/api/memories", json={"content": CANARY})
        assert refused.status_code == 403
        assert "muisti trust" in refused.text
        page = client.get("/", headers={"accept": "text/html"}).text
        assert "This vault is not trusted" in page
        context = client.post("/api/context", json={"query": "release password"}).text
        assert RULE not in context


@pytest.mark.parametrize("name", list(Settings.__dataclass_fields__))
def test_K6_no_setting_is_switched_on(tmp_path: Path, name: str) -> None:
    """An allow-list: a setting that is new is not taken from a stranger, either."""
    values = {
        "embedder": '"openai"', "extractor": '"anthropic"', "kinds": "{}", "classify": "{}",
        "sync_on_open": "false", "evict_to": "0.5", "vector_index": '"hnsw"',
    }  # fmt: skip
    default = Settings.__dataclass_fields__[name].default
    if isinstance(default, bool):
        value = str(not default).lower()
    elif isinstance(default, int | float):
        value = "1"
    else:
        value = '"x"'
    (tmp_path / "muisti.toml").write_text(f"{name} = {values.get(name, value)}\n")
    got = load_settings(tmp_path, foreign=True, environ={})
    plain = load_settings(foreign=True, environ={})
    assert getattr(got, name) == getattr(plain, name) or name in HARMLESS
    assert not got.vault_trusted


# -- Consent


def test_K6_consent_once(clone: Path, tmp_path: Path) -> None:
    (clone / "muisti.toml").write_text("")  # the fixture compares from here on
    assert "stdin is not a terminal" in cli("trust", code=1).stderr
    cli("trust", "--yes")
    with Muisti.open(embedder="none") as memory:
        assert memory.is_trusted
        assert memory.core_get().agent == {"rule": RULE}
        assert [one.trusted for one in memory.list()] == [True]
        memory.save("Mine now")
    assert str(clone) in cli("trust", "--list").stdout
    assert "already" in cli("trust").stdout
    cli("trust", "--remove")
    assert not trust.is_trusted(clone)
    assert "No vaults" in cli("trust", "--list").stdout
    git(clone, "clean", "-qfdx")
    git(clone, "reset", "-q", "--hard")


def test_K6_doctor_counts_the_trusted_vaults_that_are_there(tmp_path: Path) -> None:
    for name in ("here", "gone"):
        with Muisti.open(tmp_path / name, embedder="none"):
            pass
    assert sum("besides your own" in one for one in _list_trust_findings()) == 1
    shutil.rmtree(tmp_path / "gone")
    (found,) = _list_trust_findings()
    assert found == "1 trusted vault besides your own; `muisti trust --list` lists them"


def _list_trust_findings() -> list[str]:
    findings = json.loads(cli("doctor", "--json").stdout)["findings"]
    return [one["what"] for one in findings if one["area"] == "trust"]


def test_K6_another_vault_at_the_same_path_is_not_trusted(tmp_path: Path) -> None:
    clone = plant(tmp_path)
    trust.give_consent(clone)
    assert trust.is_trusted(clone)
    shutil.rmtree(clone / ".muisti")  # an index may be deleted at any time
    assert trust.is_trusted(clone)
    shutil.rmtree(clone)
    git(tmp_path, "clone", "-q", str(tmp_path / "origin"), str(clone))
    assert not trust.is_trusted(clone)
    trust.give_consent(clone)
    kept = (clone / ".muisti" / "consent").read_bytes()
    shutil.rmtree(clone)
    git(tmp_path, "clone", "-q", str(tmp_path / "origin"), str(clone))
    shutil.rmtree(clone / ".muisti")
    assert not trust.is_trusted(clone)
    moved = tmp_path / "moved"
    trust.give_consent(clone)
    clone.rename(moved)
    assert not trust.is_trusted(moved)  # a moved vault asks again
    assert kept != (moved / ".muisti" / "consent").read_bytes()  # a number is never used twice


def test_K6_the_index_of_a_stranger_is_not_used(tmp_path: Path) -> None:
    clone = plant(tmp_path)
    assert (clone / ".muisti" / "current").is_file()
    trust.give_consent(clone)
    assert not list((clone / ".muisti").glob("index-*"))


def test_K6_what_the_user_makes_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    cli("init", cwd=mine)
    assert "Saved" in cli("save", "Tea at four", cwd=mine).stdout
    assert "not trusted" not in cli("list", cwd=mine).stderr
    other = tmp_path / "other"
    Muisti.open(other, embedder="none").close()
    monkeypatch.chdir(other)
    with Muisti.open(embedder="none") as memory:
        assert memory.is_trusted


def make_old_vault(folder: Path) -> Path:
    """Return a vault as an earlier version left it: without a list and without a number."""
    with Muisti.open(folder, embedder="none") as memory:
        memory.save("The old vault has tea")
        memory.save("The old vault has coffee")
    (folder / ".muisti" / "consent").unlink()
    shutil.rmtree(own_vault().parent)
    return folder


def test_K6_M1_vaults_of_earlier_versions_stay_trusted(tmp_path: Path) -> None:
    mine = make_old_vault(tmp_path / "mine")
    assert "not trusted" not in cli("list", cwd=mine).stderr
    assert "Saved" in cli("save", "More tea", cwd=mine).stdout
    committed = make_old_vault(tmp_path / "committed")
    git(committed, "init", "-q")
    git(committed, "add", "-A")
    assert trust.is_trusted(committed)
    named = make_old_vault(tmp_path / "named")
    bootstrap.open(named, settings={"embedder": "none"}).close()
    assert trust.is_trusted(named)


def test_K6_copies_and_clones_of_such_vaults_are_not(tmp_path: Path) -> None:
    mine = make_old_vault(tmp_path / "mine")
    copied = tmp_path / "copied"
    shutil.copytree(mine, copied)  # with its index, and with its times
    assert not trust.is_trusted(copied)
    git(mine, "init", "-q")
    git(mine, "add", "-A", "-f")
    git(mine, "commit", "-qm", "All")
    cloned = tmp_path / "cloned"
    git(tmp_path, "clone", "-q", str(mine), str(cloned))
    assert (cloned / ".muisti" / "current").is_file()
    assert not trust.is_trusted(cloned)
    # Naming a clone once is no consent for finding it, though its index is built here now.
    bootstrap.open(cloned, settings={"embedder": "none"}).close()
    assert not trust.is_trusted(cloned)


def test_K6_a_clone_that_an_earlier_version_used_asks(tmp_path: Path) -> None:
    clone = plant(tmp_path, with_index=False)
    for path in clone.rglob("*.md"):
        os.utime(path, ns=(1, path.stat().st_mtime_ns - 60_000_000_000))  # cloned a minute ago
    with bootstrap.open(clone, settings={"embedder": "none"}) as memory:
        memory.save("What hooks captured here")
    (clone / ".muisti" / "consent").unlink()
    assert not trust.is_trusted(clone)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"vaults": []}',
        b'{"vaults": {"/": 1}}',
        b"\xff\x00",
        b"[" * 9999,
    ],
)
def test_K6_a_damaged_list_trusts_nothing_and_is_kept(tmp_path: Path, content: bytes) -> None:
    clone = plant(tmp_path)
    trust.give_consent(clone)
    path = own_vault().parent / "trusted_vaults.json"
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(content)
    assert not trust.is_trusted(clone)
    assert "trusted_vaults.json" in cli("trust", "--list", code=1).stderr
    assert "trusted_vaults.json" in str(
        json.loads(cli("doctor", "--json", cwd=tmp_path, code=1).stdout)["findings"]
    )
    trust.give_consent(clone)
    assert trust.is_trusted(clone)
    assert [one.read_bytes() for one in path.parent.glob("*.broken")] == [content]


def test_K6_two_processes_add_to_the_list(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from muisti import Muisti; [Muisti.open(Path(sys.argv[1]) / str(n), embedder='none').close() for n in range(8)]"
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / name)]) for name in "abc"
    ]
    assert [one.wait() for one in running] == [0, 0, 0]
    assert len(trust.list_consents()) == 24


@pytest.mark.parametrize("kind", ["fifo", "link", "folder", "large"])
def test_K6_hostile_files_in_its_index_folder(tmp_path: Path, kind: str) -> None:
    clone = plant(tmp_path)
    for name in ("consent", "current"):
        path = clone / ".muisti" / name
        path.unlink(missing_ok=True)
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "link":
            path.symlink_to("/dev/zero")
        elif kind == "folder":
            path.mkdir()
        else:
            path.write_bytes(b"x" * 1_000_000)
    assert not trust.is_trusted(clone)


def test_K6_a_hostile_index_does_not_hang(tmp_path: Path) -> None:
    import apsw

    clone = plant(tmp_path)
    (clone / ".muisti" / "consent").unlink(missing_ok=True)
    name = (clone / ".muisti" / "current").read_text().strip()
    (clone / ".muisti" / name).unlink()
    db = apsw.Connection(str(clone / ".muisti" / name))
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
    db.execute(
        "CREATE VIEW seen AS SELECT 'a' AS path, 1 AS size, 1 AS mtime_ns, 1 AS inode, 1 AS seen_ns,"
        f" 'x' AS memory_id WHERE (SELECT count(*) FROM ({endless})) > 0"
    )
    db.close()
    assert not trust.is_trusted(clone)


def test_K6_an_index_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    clone = plant(tmp_path, with_index=False)
    target = tmp_path / "target"
    target.mkdir()
    (clone / ".muisti").symlink_to(target)
    assert "symbolic link" in cli("trust", "--yes", str(clone), code=1).stderr
    assert list(target.iterdir()) == []


def test_K6_own_memories_are_not_in_it(clone: Path) -> None:
    with open_own() as memory:
        memory.save("My own tea")
    with Muisti.open() as memory:
        assert [one.content for one in memory.list()] == [PLANTED]

"""E5, K6 · One search over several vaults."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.errors import InvalidRequest, MemoryNotFound, VaultReadOnly
from tests.conftest import FakeClock
from tests.rest.conftest import client_of

TEAM = "The team deploys on Fridays with Ansible"
OWN = "I deploy my blog with rsync"

Open = Callable[..., Muisti]


@pytest.fixture
def open_own(tmp_path: Path, clock: FakeClock) -> Iterator[Open]:
    """Opens the vault `own`, with the setting `vaults` if locations are given."""
    with ExitStack() as stack:

        def open_it(*also: str, name: str = "own", **settings: bool) -> Muisti:
            given = {"embedder": "none", **({"vaults": list(also)} if also else {}), **settings}
            opened: Muisti = bootstrap.open(tmp_path / name, clock=clock, settings=given)  # type: ignore[arg-type]
            return stack.enter_context(opened)

        yield open_it


@pytest.fixture
def team(open_own: Open, tmp_path: Path) -> str:
    """The ID of a memory in the vault `team`."""
    vault = open_own(name="team")
    memory_id = vault.save(TEAM, project="").id
    vault.close()
    (tmp_path / "team" / "muisti.toml").write_text('embedder = "none"\n')
    return memory_id


def read_files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".muisti" not in path.parts
    }


def test_E5_one_search_finds_memories_of_all_vaults_and_names_them(
    open_own: Open, team: str, tmp_path: Path
) -> None:
    memory = open_own("../team")
    own = memory.save(OWN).id
    before = read_files(tmp_path / "team")
    results = memory.search("deploy")
    assert {(one.memory.id, one.vault) for one in results} == {
        (own, str(tmp_path / "own")),
        (team, str(tmp_path / "team")),
    }
    scores = [one.score for one in results]
    assert scores == sorted(scores, reverse=True)
    assert len(memory.search("deploy", limit=1)) == 1
    assert {one.id for one in memory.search_compact("deploy")} == {own, team}
    assert {one.id for one in memory.list()} == {own, team}
    assert [one.id for one in memory.list(limit=1, offset=1)] == [team]
    assert TEAM in memory.context("how does the team deploy?")
    found = memory.get(team)
    assert found is not None
    assert found.content == TEAM
    assert [one.id for one in memory.details([team, own])] == [team, own]
    assert memory.find_ids(team[-8:]) == [team]
    memory.close()
    assert read_files(tmp_path / "team") == before, "not even a recall is written"
    assert team.encode() not in b"".join(read_files(tmp_path / "own").values())


def test_E5_what_both_vaults_have_is_found_once(open_own: Open, team: str) -> None:
    memory = open_own("../team")
    own = memory.save(TEAM).id
    assert [one.memory.id for one in memory.search("team deploys")] == [own]


def test_E5_what_both_vaults_have_is_shown_from_the_own_one(open_own: Open, team: str) -> None:
    """Also if the other vault gives it a better score, as its words are rarer there."""
    memory = open_own("../team")
    own = memory.save(TEAM, project="", importance=0.1)
    for number in range(20):
        memory.save(f"Server {number} deploys on Fridays", project="", importance=0.9)
    results = memory.search("team deploys on Fridays with Ansible", limit=30)
    assert [one.memory.id for one in results if one.memory.content == TEAM] == [own.id]
    vaults = {one.memory.id: one.vault for one in results}
    assert vaults[own.id].endswith("own")
    scores = [one.score for one in results]
    assert scores == sorted(scores, reverse=True)


def test_E5_a_change_goes_to_the_vault_of_the_memory(
    open_own: Open, team: str, tmp_path: Path
) -> None:
    memory = open_own("../team")
    other = memory.save(OWN)
    assert other.file_path is not None
    assert (tmp_path / "own" / other.file_path).exists()
    assert memory.update(team, title="Deploys").title == "Deploys"
    memory.reinforce(team)
    assert memory.history(team)
    assert memory.delete(team)
    memory.close()
    with Muisti.open(tmp_path / "team") as vault:
        [trashed] = vault.list_trash()
        assert (trashed.id, trashed.title) == (team, "Deploys")
    with Muisti.open(tmp_path / "own", embedder="none") as vault:
        assert [one.id for one in vault.list(include_deleted=True)] == [other.id]
        with pytest.raises(MemoryNotFound):
            vault.update(team, title="x")


@pytest.mark.parametrize("how", ["setting", "permission"])
def test_K7_a_vault_that_is_read_only_is_never_written(
    open_own: Open, team: str, tmp_path: Path, how: str
) -> None:
    root = tmp_path / "team"
    if how == "setting":
        (root / "muisti.toml").write_text('embedder = "none"\nread_only = true\n')
    elif os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    else:
        root.chmod(0o500)
    before = read_files(root)
    memory = open_own("../team")
    assert [one.memory.id for one in memory.search("team deploys")] == [team]
    with pytest.raises(VaultReadOnly, match="team"):
        memory.update(team, title="x")
    with pytest.raises(VaultReadOnly):
        memory.delete(team)
    memory.close()
    root.chmod(0o700)
    assert read_files(root) == before


def test_E5_a_vault_that_cannot_be_read_is_named_and_the_others_answer(
    open_own: Open, team: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "muisti.toml").write_text("= nonsense")
    database = "postgresql://anna:hunter2secret@127.0.0.1:1/none"
    memory = open_own("../gone", "../broken", database, "../team")
    results = memory.search("team deploys")
    assert "127.0.0.1" in results.degraded
    assert "hunter2secret" not in results.degraded
    assert [one.memory.id for one in results] == [team]
    assert str(tmp_path / "gone") in results.degraded
    assert str(tmp_path / "broken") in results.degraded
    assert not (tmp_path / "gone").exists()
    assert memory.get(team) is not None
    assert [one.id for one in memory.list()] == [team]
    assert caplog.text.count(f"{tmp_path / 'gone'} is left out") == 1
    assert "hunter2secret" not in caplog.text


def test_A3_the_scope_holds_in_every_vault(open_own: Open, tmp_path: Path) -> None:
    other = open_own(name="team")
    shop = other.save("Ansible deploys the shop", project="shop").id
    anna = other.save("Ansible deploys what Anna wrote", project="shop", user="anna").id
    other.save("Ansible deploys the blog", project="blog")
    other.close()
    memory = open_own("../team")
    found = memory.search("Ansible deploys", project="shop", user="ben")
    assert [one.memory.id for one in found] == [shop]
    assert memory.get(anna, project="shop", user="ben") is None
    assert memory.get(anna, project="shop", user="anna") is not None
    session = memory.start_session("shop")
    found = memory.search("Ansible deploys", session_id=session.id)
    assert [one.memory.id for one in found] == [shop]


def test_K6_a_stranger_does_not_choose_further_vaults(
    team: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = tmp_path / "stranger"
    with Muisti.open(stranger, embedder="none") as vault:
        vault.save("Deploys by a stranger")
    (stranger / "muisti.toml").write_text('vaults = ["../team"]\n')
    with bootstrap.open(stranger, role="library", foreign=True) as vault:
        vault_is_own = vault.is_trusted
        assert vault_is_own or vault.others is None
    monkeypatch.setattr("muisti.bootstrap.is_trusted", lambda root: False)
    with bootstrap.open(stranger, role="library", foreign=True) as vault:
        assert vault.others is None
        assert all(one.memory.id != team for one in vault.search("deploys"))


def test_E5_a_hook_searches_all_vaults(open_own: Open, team: str, tmp_path: Path) -> None:
    open_own().close()
    with bootstrap.open(tmp_path / "own", role="hook", settings={"vaults": ["../team"]}) as vault:
        [found] = vault.search("team deploys")
        assert (found.memory.id, found.vault) == (team, str(tmp_path / "team"))


def test_E5_a_text_for_the_own_vault_is_not_written_to_another(
    open_own: Open, team: str, tmp_path: Path
) -> None:
    memory = open_own("../team")
    own = memory.save(OWN).id
    before = read_files(tmp_path / "team")
    for write in (
        lambda: memory.save("I deploy on Mondays", replaces=team),
        lambda: memory.replace(team, "We deploy on Mondays"),
        lambda: memory.supersede(team, own),
        lambda: memory.supersede(own, team),
        lambda: memory.link(own, team),
        lambda: memory.link(team, own),
    ):
        with pytest.raises(InvalidRequest, match="links lead to memories of the same vault"):
            write()
    assert read_files(tmp_path / "team") == before
    assert [one.content for one in memory.list()] == [OWN, TEAM]


def test_E5_a_memory_of_another_vault_is_explained(open_own: Open, team: str) -> None:
    memory = open_own("../team")
    explanation = memory.explain("deploy", team)
    assert (explanation.id, explanation.recalled, explanation.matched) == (team, True, ("deploy",))


def test_E5_a_user_that_only_another_vault_knows_is_no_misspelling(
    open_own: Open, team: str
) -> None:
    vault = open_own(name="team")
    vault.save("Anna deploys from her phone", user="anna")
    vault.close()
    memory = open_own("../team")
    assert memory.search("deploy", user="anna").hint == ""
    assert memory.search("deploy", user="ana").hint == "there is no user 'ana'"


def test_E5_a_session_sees_no_session_memories_of_another_vault(open_own: Open, team: str) -> None:
    vault = open_own(name="team")
    vault.start_session(session_id="theirs")
    hidden = vault.save("Deploying right now", tier="session", session_id="theirs").id
    vault.close()
    memory = open_own("../team")
    memory.start_session(session_id="mine")
    assert memory.get(hidden, session_id="mine") is None
    assert not memory.details([hidden], session_id="mine")
    assert memory.get(team, session_id="mine") is not None


def test_J5_the_statistics_are_of_the_own_vault(open_own: Open, team: str) -> None:
    memory = open_own("../team")
    memory.save(OWN)
    assert len(memory.list()) == 2
    with client_of(memory, web_page=True) as client:
        [figures] = re.findall(r'data-figures="([^"]+)"', client.get("/stats").text)
    assert json.loads(html.unescape(figures))["growth"]["all"][-1] == 1

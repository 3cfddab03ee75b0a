"""A vault that is gone, comes back, or cannot be written: the server lives, and says so (contract J4, K2)."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

import muisti.bootstrap
from muisti import Muisti, bootstrap, errors
from muisti.surfaces.mcp import results, tools
from muisti.surfaces.mcp.errors import told
from muisti.surfaces.mcp.vault import Vault, vault_at
from tests.surfaces.mcp.asking import agent, inside, read, refusal, run, said


def test_K2_a_vault_that_goes_and_comes_back(vault: Path) -> None:
    async def work() -> None:
        async with agent(vault) as client:
            await said(client, "save", content="The lamp is green")
            vault.rename(vault.with_name("away"))
            for tool, arguments in (
                ("search", {"query": "lamp"}),
                ("save", {"content": "x"}),
                ("core_get", {}),
            ):
                message = await refusal(client, tool, **arguments)
                assert "no vault" in message
                assert "go on without memory" in message
            assert not vault.exists()
            vault.with_name("away").rename(vault)
            assert len((await said(client, "search", query="lamp"))["results"]) == 1
            await said(client, "save", content="The lamp is back")

    run(work)


def test_K2_a_read_only_vault_is_searched_and_not_written(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Muisti.open(vault) as memory:
        memory.save("The lamp is green")
    monkeypatch.setattr(muisti.bootstrap, "_is_writable", lambda root: False)

    async def work() -> None:
        async with inside(vault) as client:
            message = await refusal(client, "save", content="The lamp is red")
            assert "Searching and reading still work" in message
            assert len((await said(client, "search", query="lamp"))["results"]) == 1

    run(work)


def test_K2_broken_settings_are_told_and_can_be_mended(vault: Path) -> None:
    good = (vault / "muisti.toml").read_text()
    (vault / "muisti.toml").write_text("this is no TOML")

    async def work() -> None:
        async with inside(vault) as client:
            assert "muisti.toml" in await refusal(client, "search", query="lamp")
            with pytest.raises(Exception, match="muisti.toml"):
                await read(client, "memory://recent")
            recalled = await client.get_prompt(
                "recall_before_answering", {"question": "Which lamp?"}
            )
            assert "Memory cannot be asked" in recalled.messages[0].content.text  # type: ignore[union-attr]
            (vault / "muisti.toml").write_text(good)
            assert (await said(client, "search", query="lamp"))["results"] == []

    run(work)


def test_B5_edits_by_hand_are_seen_while_the_server_runs(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muisti.surfaces.mcp.vault.LOOK", 0.0)

    async def work() -> None:
        async with inside(vault) as client:
            await said(client, "save", content="The lamp is green")
            file = next(vault.rglob("*lamp*.md"))
            file.write_text(
                file.read_text().replace("The lamp is green", "The lantern is turquoise")
            )
            found = (await said(client, "search", query="turquoise"))["results"]
            assert len(found) == 1
            file.unlink()
            assert (await said(client, "search", query="turquoise"))["results"] == []

    run(work)


def test_J4_only_your_own_vault_is_made_when_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MUISTI_EMBEDDER", "none")

    async def work(vault: Vault, *, made: bool) -> None:
        async with inside(vault) as client:
            if made:
                await said(client, "save", content="The lamp is green")
            else:
                assert "there is no vault" in await refusal(
                    client, "save", content="The lamp is green"
                )

    run(lambda: work(vault_at(None), made=True))
    assert list((tmp_path / "data").rglob("muisti.toml"))
    run(lambda: work(vault_at(str(tmp_path / "other")), made=False))
    monkeypatch.setenv("MUISTI_VAULT", str(tmp_path / "named"))
    run(lambda: work(vault_at(None), made=False))
    assert not (tmp_path / "other").exists()
    assert not (tmp_path / "named").exists()


def test_J4_a_mistake_of_ours_is_no_end(
    vault: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(results, "listed", lambda *_, **__: 1 / 0)

    async def work() -> None:
        async with inside(vault) as client:
            assert "nobody expected it" in await refusal(client, "search", query="lamp")

    run(work)
    assert "ZeroDivisionError" in caplog.text


def test_J4_what_takes_long_tells_that_it_goes_on(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "PULSE", 0.01)
    heard = threading.Event()

    def slowly() -> Muisti:
        assert heard.wait(60), "no progress was told"
        return bootstrap.open(vault)

    async def progress(done: float, total: float | None, message: str | None) -> None:
        assert message == "opening the vault"
        assert done > 0
        heard.set()

    async def work() -> None:
        async with inside(Vault(slowly)) as client:
            answer = await client.call_tool("search", {"query": "lamp"}, progress_callback=progress)
            assert not answer.is_error

    run(work)


@pytest.mark.parametrize(
    ("error", "step"),
    [
        (errors.MemoryNotFound("a", "b"), "Search for it"),
        (errors.Conflict("it changed"), "Read it again"),
        (errors.VaultBusy("held by another"), "Wait a few seconds"),
        (errors.IndexBusy("held by another"), "Wait a few seconds"),
        (errors.VaultFull("no space"), "free some space"),
        (errors.VaultReadOnly("no"), "still work"),
        (errors.BrokenFile("a.md", "no front matter"), "by hand"),
        (errors.IndexTooNew("later"), "Upgrade muisti"),
        (errors.CoreEntryNotFound("user", "k", ()), "Read core memory"),
        (OSError(5, "Input/output error"), "go on without memory"),
    ],
)
def test_J4_every_sort_of_error_has_a_next_step(
    error: errors.MuistiError | OSError, step: str
) -> None:
    assert step in told(error)
    assert json.dumps(told(error))

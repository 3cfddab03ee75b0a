"""The server survives a vault that is missing, returns, or is read-only (contract J4, K2)."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

import muisti.bootstrap
from muisti import Muisti, bootstrap, errors
from muisti.surfaces.mcp import results, tools
from muisti.surfaces.mcp.errors import describe_error
from muisti.surfaces.mcp.vault import LazyVault, make_vault
from tests.surfaces.mcp.clients import (
    call_failing_tool,
    call_tool,
    connect_in_process,
    read_resource,
    run,
    spawn_agent,
)


def test_K2_a_vault_that_disappears_and_returns(vault: Path) -> None:
    async def work() -> None:
        async with spawn_agent(vault) as client:
            await call_tool(client, "memory_save", content="The lamp is green")
            vault.rename(vault.with_name("away"))
            for tool, arguments in (
                ("memory_search", {"query": "lamp"}),
                ("memory_save", {"content": "x"}),
                ("memory_core_get", {}),
            ):
                message = await call_failing_tool(client, tool, **arguments)
                assert "Vault not found" in message
                assert "continue without memory" in message
            assert not vault.exists()
            vault.with_name("away").rename(vault)
            assert len((await call_tool(client, "memory_search", query="lamp"))["results"]) == 1
            await call_tool(client, "memory_save", content="The lamp is back")

    run(work)


def test_K2_a_read_only_vault_is_searched_and_not_written(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Muisti.open(vault) as memory:
        memory.save("The lamp is green")
    monkeypatch.setattr(muisti.bootstrap, "is_writable", lambda root: False)

    async def work() -> None:
        async with connect_in_process(vault) as client:
            message = await call_failing_tool(client, "memory_save", content="The lamp is red")
            assert "Reading and searching still work" in message
            assert len((await call_tool(client, "memory_search", query="lamp"))["results"]) == 1

    run(work)


def test_K2_broken_settings_are_reported_and_can_be_fixed(vault: Path) -> None:
    good = (vault / "muisti.toml").read_text()
    (vault / "muisti.toml").write_text("this is no TOML")

    async def work() -> None:
        async with connect_in_process(vault) as client:
            assert "muisti.toml" in await call_failing_tool(client, "memory_search", query="lamp")
            with pytest.raises(Exception, match="muisti.toml"):
                await read_resource(client, "memory://recent")
            recalled = await client.get_prompt(
                "recall_before_answering", {"question": "Which lamp?"}
            )
            assert "Memory is not available" in recalled.messages[0].content.text  # type: ignore[union-attr]
            (vault / "muisti.toml").write_text(good)
            assert (await call_tool(client, "memory_search", query="lamp"))["results"] == []

    run(work)


def test_B5_external_edits_are_seen_while_the_server_runs(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muisti.surfaces.mcp.vault.SYNC_SECONDS", 0.0)

    async def work() -> None:
        async with connect_in_process(vault) as client:
            await call_tool(client, "memory_save", content="The lamp is green")
            file = next(vault.rglob("*lamp*.md"))
            file.write_text(
                file.read_text().replace("The lamp is green", "The lantern is turquoise")
            )
            found = (await call_tool(client, "memory_search", query="turquoise"))["results"]
            assert len(found) == 1
            file.unlink()
            assert (await call_tool(client, "memory_search", query="turquoise"))["results"] == []

    run(work)


def test_J4_only_the_default_vault_is_created_if_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MUISTI_EMBEDDER", "none")

    async def work(vault: LazyVault, *, made: bool) -> None:
        async with connect_in_process(vault) as client:
            if made:
                await call_tool(client, "memory_save", content="The lamp is green")
            else:
                assert "there is no vault" in await call_failing_tool(
                    client, "memory_save", content="The lamp is green"
                )

    run(lambda: work(make_vault(None), made=True))
    assert list((tmp_path / "data").rglob("muisti.toml"))
    run(lambda: work(make_vault(str(tmp_path / "other")), made=False))
    monkeypatch.setenv("MUISTI_VAULT", str(tmp_path / "named"))
    run(lambda: work(make_vault(None), made=False))
    assert not (tmp_path / "other").exists()
    assert not (tmp_path / "named").exists()


def test_J4_an_unexpected_error_does_not_stop_it(
    vault: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(results, "render_list", lambda *_, **__: 1 / 0)

    async def work() -> None:
        async with connect_in_process(vault) as client:
            assert "failed unexpectedly" in await call_failing_tool(
                client, "memory_search", query="lamp"
            )

    run(work)
    assert "ZeroDivisionError" in caplog.text


def test_J4_long_calls_report_progress(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "PROGRESS_SECONDS", 0.01)
    heard = threading.Event()

    def slowly() -> Muisti:
        assert heard.wait(60), "no progress was told"
        return bootstrap.open(vault)

    async def progress(done: float, total: float | None, message: str | None) -> None:
        assert message == "opening the vault"
        assert done > 0
        heard.set()

    async def work() -> None:
        async with connect_in_process(LazyVault(slowly)) as client:
            answer = await client.call_tool(
                "memory_search", {"query": "lamp"}, progress_callback=progress
            )
            assert not answer.is_error

    run(work)


@pytest.mark.parametrize(
    ("error", "step"),
    [
        (errors.MemoryNotFound("a", "b"), "memory_search returns the IDs"),
        (errors.Conflict("it changed"), "Read it again"),
        (errors.VaultBusy("held by another"), "Wait a few seconds"),
        (errors.IndexBusy("held by another"), "Wait a few seconds"),
        (errors.VaultFull("no space"), "Nothing was changed. Tell the user"),
        (errors.VaultReadOnly("no"), "still work"),
        (errors.BrokenFile("a.md", "no front matter"), "must fix the file"),
        (errors.IndexTooNew("later"), "The user must upgrade muisti"),
        (errors.CoreEntryNotFound("user", "k", ()), "memory_core_get returns the entries"),
        (OSError(5, "Input/output error"), "continue without memory"),
    ],
)
def test_J4_every_kind_of_error_has_a_next_step(
    error: errors.MuistiError | OSError, step: str
) -> None:
    assert step in describe_error(error)
    assert json.dumps(describe_error(error))

"""The folder of a vault is gone while it is open: nobody gets an empty answer for it, and nothing
is made in its place (B5).
"""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from muisti import InvalidRequest, bootstrap
from muisti.errors import VaultNotFound


@pytest.mark.parametrize("left", [False, True], ids=["gone", "empty"])
def test_B5_a_vault_that_is_gone_is_told(vault: Path, left: bool) -> None:
    """Left: the folder is there, but empty, as where a disk is not mounted."""
    with bootstrap.open(vault, settings={"embedder": "none"}) as memory:
        memory.save("The otter lives in the lake.")
        away = vault.rename(vault.with_name("away"))
        if left:
            vault.mkdir()
        for call in (
            lambda: memory.search("otter"),
            lambda: memory.save("Another one"),
            lambda: memory.append_message("cli_main", "user", "Hello"),
            memory.sync,
            memory.core_get,
        ):
            with pytest.raises(VaultNotFound, match="gone"):
                call()
        assert not left or not list(vault.iterdir())
        shutil.rmtree(vault, ignore_errors=True)
        away.rename(vault)
        assert memory.search("otter")


def test_E4_a_time_beyond_the_calendar_is_refused(vault: Path) -> None:
    with (
        bootstrap.open(vault, settings={"embedder": "none"}) as memory,
        pytest.raises(InvalidRequest, match="since"),
    ):
        memory.list(since=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))))

"""Says which frameworks are not tested here."""

from __future__ import annotations

import pytest

from .conftest import MISSING


def test_J8_all_frameworks_are_installed() -> None:
    if MISSING:
        reason = "`make test-frameworks` tests all, CrewAI in an environment of its own"
        pytest.skip(f"not installed here: {', '.join(MISSING)}; {reason}")

"""The scope of a memory that names none (contract A3, J9)."""

from __future__ import annotations

import pytest

from muisti import Muisti
from muisti.model import Tier
from muisti.remember.scope import SaveScope, default_scope, default_tier
from muisti.settings import Settings


@pytest.mark.parametrize(
    ("kind", "content", "tier"),
    [
        (None, "I prefer dark mode", Tier.GLOBAL),
        (None, "We chose PostgreSQL for the orders", Tier.PROJECT),
        ("preference", "Tabs, not spaces", Tier.GLOBAL),
        ("preferences", "Tabs, not spaces", Tier.GLOBAL),
        ("PREFERENCE ", "Tabs, not spaces", Tier.GLOBAL),
        ("decision", "I prefer dark mode", Tier.PROJECT),
        ("poem", "I prefer dark mode", Tier.PROJECT),
        (None, "", Tier.PROJECT),
    ],
)
def test_J9_preferences_default_to_all_projects(kind: str | None, content: str, tier: Tier) -> None:
    assert default_tier(kind, content, Settings()) is tier


def test_J9_a_global_memory_has_no_project() -> None:
    settings = Settings()
    assert default_scope("shop", None, "I prefer dark mode", settings) == SaveScope("", Tier.GLOBAL)
    assert default_scope("shop", "fact", "The lamp is green", settings) == SaveScope(
        "shop", Tier.PROJECT
    )


def test_A1_the_python_api_keeps_its_default_tier() -> None:
    with Muisti.open(":memory:", embedder="none") as memory:
        saved = memory.save("I prefer dark mode", project="shop")
    assert (saved.kind, saved.tier, saved.project) == ("preference", Tier.PROJECT, "shop")

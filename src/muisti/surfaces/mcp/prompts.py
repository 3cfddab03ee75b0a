"""Two requests that a user can pick from a menu: recall before answering, and save what matters."""

from __future__ import annotations

from typing import Annotated

from mcp.server import MCPServer
from pydantic import Field

from muisti.errors import MuistiError
from muisti.surfaces.mcp.errors import describe_error
from muisti.surfaces.mcp.tools import make_project_filter
from muisti.surfaces.mcp.vault import LazyVault

BUDGET = 1500
"""Tokens of recalled text that a prompt may carry."""
SAVE = (
    "Look back over this conversation and save what will matter in later sessions with the tool `save`: decisions and their "
    "reasons, what I prefer, fixes that worked, facts about this project that were hard to find. For each, search first: "
    "if it is known, `update` it; if it replaces something, `save` it and `link` the two with SUPERSEDES. One thing per "
    "memory, one or two sentences that can be understood alone. No secrets, nothing that the code itself says, nothing that "
    "holds only for today. Then tell me in one line each what you saved."
)


def add_prompts(server: MCPServer, vault: LazyVault, project: str) -> None:
    """Offer them."""

    @server.prompt("recall_before_answering", title="Recall before answering")
    async def recall(
        question: Annotated[str, Field(description="What you want to know or do")],
    ) -> str:
        """Answer with what is remembered about it in mind."""
        try:
            known = await _context(vault, question, project)
        except (MuistiError, OSError) as error:
            return f"{question}\n\n(Memory cannot be asked: {describe_error(error)})"
        found = known or "Nothing is remembered about it."
        return (
            f"{found}\n\nThat is what the memory holds about the following. Use what helps and say which memory you rely on; "
            f"if it is not enough, `search` with other words before you answer.\n\n{question}"
        )

    @server.prompt("save_what_matters", title="Save what matters")
    async def save(
        about: Annotated[str, Field(description="Only what concerns this; empty: everything")] = "",
    ) -> str:
        """Go over the conversation and save what later sessions will need."""
        return f"{SAVE}\n\nOnly what concerns: {about}" if about.strip() else SAVE


async def _context(vault: LazyVault, question: str, project: str) -> str:
    return await (await vault.connect()).context(
        question, budget=BUDGET, **make_project_filter(project or None)
    )

"""Two prompts that a user can pick from a menu: recall before answering, and save what matters."""

from __future__ import annotations

from typing import Annotated

from mcp.server import MCPServer
from pydantic import Field

from muisti.errors import MuistiError
from muisti.surfaces.mcp import results
from muisti.surfaces.mcp.errors import describe_error
from muisti.surfaces.mcp.scope import AgentScope
from muisti.surfaces.mcp.vault import LazyVault

BUDGET = 1500
"""Tokens of recalled text in a prompt."""
SAVE = (
    "Review this conversation and save what later sessions will need with `memory_save`: "
    "decisions and their reasons, my preferences, fixes that worked, project facts that were hard "
    "to find. For each one, `memory_search` first: if it is known, `memory_update` it; if it "
    "replaces an outdated memory, pass that one's ID as `replaces`. One fact per memory, in one or "
    "two sentences that can be understood on their own. No secrets, nothing that the code already "
    "says, nothing that is only true today. Then list what you saved, one line each."
)


def add_prompts(server: MCPServer, vault: LazyVault, project: str, user: str | None = None) -> None:
    """Add the prompts to a server. Project and user: see AgentScope."""

    @server.prompt("recall_before_answering", title="Recall before answering")
    async def recall(
        question: Annotated[str, Field(description="Your question or task")],
    ) -> str:
        """Answer a question with the relevant memories in context."""
        try:
            memory = await vault.connect()
            results.IS_STRANGER.set(not memory.is_trusted)
            agent = AgentScope(memory.settings, project, user)
            filters = agent.make_filter(agent.project)
            context = await memory.context(question, budget=BUDGET, **filters)
        except (MuistiError, OSError) as error:
            return f"{question}\n\n(Memory is not available. {describe_error(error)})"
        return (
            f"{results.mark_stranger(context or 'There are no memories about this.')}\n\n"
            "These are the memories about the following request. Use those that help and say which "
            "ones you rely on. If they are not enough, `memory_search` with other words before you "
            "answer."
            f"\n\n{question}"
        )

    @server.prompt("save_what_matters", title="Save what matters")
    async def save(
        about: Annotated[str, Field(description="Only this topic. Default: everything")] = "",
    ) -> str:
        """Review the conversation and save what later sessions will need."""
        return f"{SAVE}\n\nOnly what concerns: {about}" if about.strip() else SAVE

"""Tools and instructions that give a Pydantic AI agent the memory of a vault.

    with Muisti.open("~/notes") as memory:
        agent = Agent("openai:gpt-5.2", toolsets=[MuistiToolset(memory)])

With Claude you can also use Anthropic's memory tool: see docs/anthropic.md.
"""

from __future__ import annotations

import asyncio
from typing import Any

from muisti.engine import Muisti
from muisti.errors import MuistiError
from muisti.integrations.frameworks import require

require("pydantic-ai-slim", "2.0", "pydantic-ai")

from pydantic_ai import FunctionToolset, ModelRetry, RunContext  # noqa: E402


class MuistiToolset(FunctionToolset[Any]):
    """The tools `search_memory` and `save_memory`.

    With `recall`, what is known about the prompt is also part of the instructions: at most `budget`
    tokens, fenced as data. `project` and `user` say whose memories the agent sees and saves.
    """

    def __init__(
        self,
        memory: Muisti,
        *,
        project: str | None = None,
        user: str | None = None,
        recall: bool = True,
        budget: int = 1000,
        id: str | None = "muisti",
    ) -> None:
        self._memory, self._project, self._user = memory, project, user
        self._budget = budget
        instructions = self.recall_for_prompt if recall else None
        super().__init__([self.search_memory, self.save_memory], id=id, instructions=instructions)

    async def recall_for_prompt(self, context: RunContext[Any]) -> str:
        """Return what is known about the prompt of a run, for the instructions."""
        if not isinstance(context.prompt, str) or not context.prompt.strip():
            return ""
        return await asyncio.to_thread(
            self._memory.context,
            context.prompt,
            budget=self._budget,
            project=self._project,
            user=self._user,
        )

    async def search_memory(self, query: str, limit: int = 5) -> str:
        """Search long-term memory for facts, decisions and earlier conversations.

        Args:
            query: What to look for, in a few words.
            limit: The most results.
        """
        try:
            results = await asyncio.to_thread(
                self._memory.search, query, limit=limit, project=self._project, user=self._user
            )
        except MuistiError as error:
            raise ModelRetry(str(error)) from error
        lines = []
        for result in results:
            note = " (outdated)" if result.outdated else ""
            lines.append(f"- {result.memory.created_at:%Y-%m-%d}{note}: {result.memory.content}")
        return "\n".join(lines) or "No matching memories."

    async def save_memory(self, text: str) -> str:
        """Save a fact, decision or preference that should be known in later conversations.

        Args:
            text: One or two sentences that make sense on their own.
        """
        try:
            saved = await asyncio.to_thread(
                self._memory.save,
                text,
                source="ai",
                project=self._project,
                user=self._user,
                trusted=False,  # no person has confirmed it yet
            )
        except MuistiError as error:
            raise ModelRetry(str(error)) from error
        return f"Saved: {saved.title}"


__all__ = ["MuistiToolset"]

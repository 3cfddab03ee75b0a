"""What an agent sees and where it saves: the project of its working folder, and one user.

An agent always has a scope (contract A3). It sees the memories of its project and global ones, of
its user and without a user. Session memories are not shown, as a server does not know the agent's
session. `scope: everywhere` widens a read to all projects, never to other users.
"""

from __future__ import annotations

from typing import Literal

from muisti.errors import InvalidRequest, redact_message
from muisti.model import Memory, Tier
from muisti.recall.filters import ALL, FilterOptions, ScopeOptions
from muisti.remember.scope import SaveScope, default_scope
from muisti.settings import Settings

ScopeName = Literal["project", "everywhere"]
SHOWN_TIERS = (Tier.PROJECT.value, Tier.GLOBAL.value)


class AgentScope:
    """The project and the user of one server, as its command line and the vault's settings say."""

    def __init__(self, settings: Settings, project: str = "", user: str | None = None) -> None:
        """User: None for the user of the settings; "" for none."""
        self._settings = settings
        self.project = project or settings.project
        self.user = settings.user if user is None else user

    def choose_project(self, scope: ScopeName | None, project: str | None) -> str:
        """Return the project that a call searches in, or ALL. Raises InvalidRequest."""
        if scope == "everywhere" or project == ALL:
            if scope == "project" or project not in (None, "", ALL):
                raise _make_error(scope)
            return ALL
        return self.project if project is None else project

    def choose_save_scope(
        self, scope: ScopeName | None, project: str | None, kind: str | None, content: str
    ) -> SaveScope:
        """Return where to save a memory. Raises InvalidRequest."""
        if scope == "everywhere" or project == "":
            if scope == "project" or project:
                raise _make_error(scope)
            return SaveScope("", Tier.GLOBAL)
        if scope is None and project is None:
            return default_scope(self.project, kind, content, self._settings)
        return SaveScope(self.project if project is None else project, Tier.PROJECT)

    def make_filter(self, project: str) -> FilterOptions:
        """Return the filter for reads in a project, "" for none, or in ALL."""
        return {"project": project, "user": self.user}

    def make_scope(self, project: str) -> ScopeOptions:
        """Return the scope for a look-up by ID in a project, or in ALL."""
        return {"project": project, "user": self.user}

    def shows(self, memory: Memory) -> bool:
        """Return whether the agent may see a memory whose ID it has."""
        return memory.user in ("", self.user) and memory.tier is not Tier.SESSION


def describe_project(project: str) -> str:
    """Return where a call searched, for the agent."""
    if project == ALL:
        return "In all projects."
    if project:
        project = redact_message(project)  # an agent may have passed anything
        return f"In project {project if len(project) <= 60 else f'{project[:59]}…'}."
    return 'Not in a project; scope "everywhere" includes the memories of projects.'


def _make_error(scope: str | None) -> InvalidRequest:
    return InvalidRequest(
        "scope", scope or "", "must agree with the project; pass only one of them"
    )

"""Start, end and list sessions."""

from __future__ import annotations

from dataclasses import replace

from muisti.engine.runtime import Runtime
from muisti.errors import InvalidRequest
from muisti.lifecycle import sessions
from muisti.model import Memory, Session, SessionAction, SessionUse
from muisti.recall.filters import ALL
from muisti.recall.lookups import check_page
from muisti.remember.identity import make_id
from muisti.remember.validate import validate_name, validate_project, validate_user
from muisti.text.redact import check_name, redact_text


class Sessions(Runtime):
    """Sessions and their use of memories."""

    def start_session(
        self,
        project: str | None = None,
        *,
        session_id: str | None = None,
        user: str | None = None,
    ) -> Session:
        """Start a session, with a new id unless one is given. It fixes project and user.

        A session that was started before continues. Other sessions of the project and the user
        that were not used for `session_idle_hours` are ended, each with a summary. Raises
        InvalidRequest, also if the session belongs to another project or user.
        """
        project = None if project is None else validate_project(project)
        user = None if user is None else validate_user(user)
        check_name("project", project or "", self.settings)
        check_name("user", user or "", self.settings)
        if session_id is None:
            session_id = make_id(self._services.clock.now())
        else:
            session_id = self._validate_session_id(session_id)
        return self._write(sessions.start_session, session_id, project, user)

    def _validate_session_id(self, session_id: str) -> str:
        return check_name("session_id", validate_name("session_id", session_id), self.settings)

    def end_session(
        self, session_id: str, summary: str | None = None, *, tool_calls: int | None = None
    ) -> Session:
        """End a session. A summary or count of None is unchanged.

        Raises SessionNotFound, InvalidRequest.
        """
        safe = redact_text(summary, self.settings) if isinstance(summary, str) else summary
        return self._write(sessions.end_session, session_id, safe, tool_calls)

    def end_idle_sessions(
        self, project: str | None = None, *, user: str | None = None, dry_run: bool = False
    ) -> list[Session]:
        """End the sessions that were not used for `session_idle_hours`, and return them.

        Each gets a summary, made by rules from its messages and memories, unless it has one or
        nothing was said or saved in it. None: of all projects or users. `start_session` and
        `upkeep` call this.
        """
        project = None if project == ALL else project
        user = None if user == ALL else user
        return self._write(sessions.end_idle_sessions, project, user, dry_run=dry_run)

    def get_session(self, session_id: str) -> Session:
        """Return a session. Raises SessionNotFound."""
        found = self._read(sessions.require_session, session_id)
        long = self._read_index(sessions.find_long_sessions, [found.id])
        return replace(found, needs_summary=found.id in long)

    def list_sessions(
        self, project: str | None = None, *, user: str | None = None, limit: int = 50
    ) -> list[Session]:
        """Return sessions, the latest first. Raises InvalidRequest."""
        check_page(limit, 0)
        project = None if project == ALL else project
        user = None if user == ALL else user
        found = self._read(lambda services: services.index.sessions(project, limit, user))
        long = self._read_index(sessions.find_long_sessions, [one.id for one in found])
        return [replace(one, needs_summary=one.id in long) for one in found]

    def link_to_session(self, memory_id: str, session_id: str, use: str = "recalled") -> None:
        """Record that a session created, recalled, updated or reinforced a memory.

        Raises MemoryNotFound, InvalidRequest.
        """
        if use not in tuple(SessionAction):
            raise InvalidRequest("use", use, f"must be one of {', '.join(SessionAction)}")
        self._write(
            sessions.link_to_session,
            memory_id,
            self._validate_session_id(session_id),
            SessionAction(use),
        )

    def session_uses(self, session_id: str) -> list[SessionUse]:
        """Return what a session did with memories, oldest first."""
        return self._read(sessions.list_session_uses, session_id)

    def get_by_session(self, session_id: str) -> list[Memory]:
        """Return the memories that a session created or used."""
        return self._read(sessions.get_by_session, session_id)

    def get_session_context(self, session_id: str) -> list[Memory]:
        """Return the memories that a session created or said again, oldest first.

        What was said again was merged into an earlier memory. Raises SessionNotFound.
        """
        return self._read(sessions.get_session_context, session_id)

    def get_raw_session_content(self, session_id: str) -> str:
        """Return the contents of `get_session_context` as one text, for a summary.

        Raises SessionNotFound.
        """
        return sessions.join_contents(self.get_session_context(session_id))

    def get_session_token_count(self, session_id: str) -> int:
        """Return roughly how many tokens that text has. Raises SessionNotFound."""
        return sessions.count_tokens(self.get_session_context(session_id))

"""Sessions."""

from __future__ import annotations

from muisti.engine.runtime import Runtime
from muisti.errors import InvalidRequest
from muisti.lifecycle import sessions
from muisti.model import Memory, Session, SessionAction, SessionUse
from muisti.remember.identity import make_id
from muisti.remember.validate import validate_name, validate_project
from muisti.text.redact import check_name, redact_text


class Sessions(Runtime):
    """Sessions and what they did with memories."""

    def start_session(
        self, project: str | None = None, *, session_id: str | None = None
    ) -> Session:
        """Begin a session; without an id it gets a new one."""
        name = check_name(
            "project",
            validate_project(self.settings.project if project is None else project),
            self.settings,
        )
        given = (
            make_id(self._services.clock.now()) if session_id is None else self._name_of(session_id)
        )
        return self._write(sessions.start_session, given, name)

    def _name_of(self, session_id: str) -> str:
        return check_name("session_id", validate_name("session_id", session_id), self.settings)

    def end_session(
        self, session_id: str, summary: str | None = None, *, tool_calls: int | None = None
    ) -> Session:
        """Complete a session; what is not said stays as it was. Raises SessionNotFound."""
        safe = redact_text(summary, self.settings) if isinstance(summary, str) else summary
        return self._write(sessions.end_session, session_id, safe, tool_calls)

    def get_session(self, session_id: str) -> Session:
        """One session. Raises SessionNotFound."""
        return self._read(sessions.require_session, session_id)

    def list_sessions(self, project: str | None = None, *, limit: int = 50) -> list[Session]:
        """The latest sessions first."""
        return self._read(lambda services: services.index.sessions(project, limit))

    def link_to_session(self, memory_id: str, session_id: str, use: str = "recalled") -> None:
        """Note what a session did with a memory: created, recalled, updated or reinforced."""
        if use not in tuple(SessionAction):
            raise InvalidRequest("use", use, f"must be one of {', '.join(SessionAction)}")
        self._write(
            sessions.link_to_session, memory_id, self._name_of(session_id), SessionAction(use)
        )

    def session_uses(self, session_id: str) -> list[SessionUse]:
        """What a session did with memories, in the order of time."""
        return self._read(sessions.list_session_uses, session_id)

    def get_by_session(self, session_id: str) -> list[Memory]:
        """The memories that a session made or used."""
        return self._read(sessions.get_by_session, session_id)

    def get_session_context(self, session_id: str) -> list[Memory]:
        """The memories that a session made, in the order of time."""
        return self._read(sessions.get_session_context, session_id)

    def get_raw_session_content(self, session_id: str) -> str:
        """Their contents as one text, for a summary."""
        return sessions.join_contents(self.get_session_context(session_id))

    def get_session_token_count(self, session_id: str) -> int:
        """Roughly how many tokens that text has."""
        return sessions.count_tokens(self.get_session_context(session_id))

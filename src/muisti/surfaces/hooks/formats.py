"""How each agent speaks with hooks: its names of events, its input fields, the shape of a reply.

One table per agent. An agent that is not listed speaks like Claude Code. The tables are plain
values because this module is loaded after every tool call. Where each format is described is in
docs/agents.md.
"""

from __future__ import annotations

SESSION_START, PROMPT, TOOL, REPLY, STOP, COMPACT, SESSION_END = (
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "AssistantMessage",
    "Stop",
    "PreCompact",
    "SessionEnd",
)
EVENTS = (SESSION_START, PROMPT, TOOL, STOP, COMPACT, SESSION_END)
"""The events of Claude Code. REPLY is one of other agents: a message of the agent in a turn."""
NESTED = "hookSpecificOutput"
"""The field of a reply that is an object with the event and the context."""
Fields = dict[str, tuple[str, ...]]
FIELDS: Fields = {
    "session": ("session_id", "sessionId"),
    "cwd": ("cwd",),
    "transcript": ("transcript_path", "transcriptPath"),
    "prompt": ("prompt",),
    "answer": ("last_assistant_message", "prompt_response"),
    "source": ("source",),
    "reason": ("reason",),
}
"""The input fields of most agents, by what they mean. The first one with a text counts."""


class AgentFormat:
    """One agent's messages. Not a dataclass, for speed."""

    __slots__ = (
        "events",
        "fields",
        "forgets",
        "hook_files",
        "marks",
        "prompt_reply",
        "reply",
        "wrapper",
    )

    def __init__(
        self,
        *,
        events: dict[str, str] | None = None,
        fields: Fields | None = None,
        reply: tuple[str, ...] = (NESTED,),
        prompt_reply: dict[str, object] | None = None,
        forgets: bool = False,
        wrapper: str = "",
        marks: tuple[str, ...] = (),
        hook_files: tuple[str, ...] = (),
    ) -> None:
        self.events = events or {}
        """Its own names of events; it may use Claude Code's names too."""
        self.fields = {**FIELDS, **(fields or {})}
        self.reply = reply
        """The fields of a reply that carry the context; more than one if programs differ."""
        self.prompt_reply = prompt_reply or {}
        """What else the reply to a prompt has."""
        self.forgets = forgets
        """Whether PreCompact means that recalled memories leave the context. Other agents start
        the session again then, or report every turn."""
        self.wrapper = wrapper
        """The tag around replies of hooks in the prompt that the agent reports."""
        self.marks = marks
        """Input fields that only this agent sends. It also runs the hooks of Claude Code."""
        self.hook_files = hook_files
        """The files with its own hooks, in the home folder or in the folder of the project."""


CLAUDE_CODE = AgentFormat()
FORMATS = {
    "claude-code": CLAUDE_CODE,
    "codex": CLAUDE_CODE,
    "gemini": AgentFormat(
        events={
            "BeforeAgent": PROMPT,
            "AfterTool": TOOL,
            "AfterAgent": STOP,
            "PreCompress": COMPACT,
        },
        wrapper="hook_context",
    ),
    "cursor": AgentFormat(
        events={
            "beforeSubmitPrompt": PROMPT,
            "afterAgentResponse": REPLY,
        },
        fields={
            "session": ("conversation_id", "session_id"),
            "cwd": ("workspace_roots", "cwd"),
            "answer": ("text", "last_assistant_message"),
        },
        reply=("additional_context",),
        prompt_reply={"continue": True},
        forgets=True,
        marks=("cursor_version", "conversation_id"),
        hook_files=(".cursor/hooks.json",),
    ),
    "vscode": AgentFormat(
        events={"userPromptSubmitted": PROMPT, "agentStop": STOP},
        reply=(NESTED, "additionalContext"),
        forgets=True,
        marks=("timestamp",),
        hook_files=(".copilot/hooks/muisti.json", ".github/hooks/muisti.json"),
    ),
    "opencode": CLAUDE_CODE,
}


def get_format(agent: str) -> AgentFormat:
    """Return the format of an agent."""
    return FORMATS.get(agent, CLAUDE_CODE)


def detect_agent(payload: dict[str, object]) -> str | None:
    """Return the agent whose marks a message has; None if it looks like Claude Code's."""
    for name, form in FORMATS.items():
        if any(mark in payload for mark in form.marks):
            return name
    return None

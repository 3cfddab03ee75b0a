"""An entry becomes messages of a conversation, an exchange to learn from, and the end of a session."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from muisti.engine import Muisti
from muisti.model import Message
from muisti.surfaces.hooks import novelty, spool, transcript
from muisti.surfaces.hooks.relevance import is_command
from muisti.surfaces.hooks.strip_recalled import strip_recalled
from muisti.surfaces.hooks.summary import summarize_session
from muisti.text.redact import redact_text

MODE = "coding"
LONGEST = 200_000
"""Characters of one message that are kept."""
AT_ONCE = 10.0
"""Seconds within which the same exchange again is the same one, told by a second hook."""
MOST_SAID = 1_000
"""Messages of a session that are compared with its transcript, and summed up."""
PATIENCE = 120.0
Prompts = list[tuple[float, str]]


def clean_text(text: str) -> str:
    """What somebody said, without what muisti put there."""
    return strip_recalled(text[: 2 * LONGEST]).strip()[:LONGEST]


def capture(memory: Muisti, entry: spool.Entry) -> None:
    """Write down an entry. Safe to repeat. Raises MuistiError."""
    chat = f"{entry.agent}_{entry.session}"
    prompts = [
        (at, text)
        for at, said in entry.prompts
        if (text := clean_text(said)) and not is_command(text)
    ]
    answer = clean_text(entry.answer)
    if (prompts or answer) and not _told_before(memory, entry, chat, prompts, answer):
        _write_down(memory, entry, chat, prompts, answer)
    if entry.transcript:
        _catch_up(memory, entry, chat)
    if entry.end:
        _end(memory, entry, chat)


def _told_before(
    memory: Muisti, entry: spool.Entry, chat: str, prompts: Prompts, answer: str
) -> bool:
    """Whether the last that was written down says just this: agents with two sets of hooks tell everything twice."""
    new = [("user", text) for _, text in prompts] + ([("assistant", answer)] if answer else [])
    last = memory.window(chat, len(new), whole=True)
    if not last or last[-1].id.startswith(
        entry.id
    ):  # a worker was killed while it was at this very entry
        return False
    same = [(one.role, one.content) for one in last] == [
        (role, redact_text(text, memory.settings)) for role, text in new
    ]
    return same and (not prompts or abs(entry.at - last[-1].at.timestamp()) < AT_ONCE)


def _write_down(
    memory: Muisti, entry: spool.Entry, chat: str, prompts: Prompts, answer: str, part: str = ""
) -> None:
    memory.start_session(entry.project or None, session_id=entry.session)
    for number, (at, text) in enumerate(prompts):
        memory.append_message(chat, "user", text, at=_moment(at), id=f"{entry.id}{part}-u{number}")
    if answer:
        memory.append_message(
            chat, "assistant", answer, at=_moment(entry.at), id=f"{entry.id}{part}-a"
        )
    _learn(memory, entry, "\n\n".join(text for _, text in prompts), answer)


def _learn(memory: Muisti, entry: spool.Entry, asked: str, answered: str) -> None:
    given = _given(memory, entry)
    asked = novelty.remove_known(asked, given, novelty.USER)
    answered = novelty.remove_known(answered, given, novelty.AGENT)
    if asked.strip() or answered.strip():
        memory.extract_and_save(
            entry.session,
            asked,
            answered,
            MODE,
            project=entry.project or None,
            at=_moment(entry.at),
        )


def _given(memory: Muisti, entry: spool.Entry) -> list[str]:
    """What the memories say that the session was given."""
    found = [memory.get(id_) for id_ in spool.read_recalled(entry.agent, entry.session)]
    return [f"{one.title}\n{one.content}" for one in found if one is not None]


def _catch_up(memory: Muisti, entry: spool.Entry, chat: str) -> None:
    """Write down what the transcript has and no hook told: of before hooks were there, of turns that were interrupted."""
    with suppress(OSError):
        found = transcript.read_exchanges(entry.transcript)[
            -MOST_SAID // 4 :
        ]  # all that was told of these is among what is compared
        told = {
            (one.role, _plain(one.content)) for one in memory.window(chat, MOST_SAID, whole=True)
        }
        pending = {
            _plain(clean_text(text))
            for _, text in spool.read_pending_prompts(entry.agent, entry.session)
        }
        for number, one in enumerate(found):
            prompt, answer = clean_text(one.prompt), clean_text(one.answer)
            if _plain(prompt) in pending and prompt:
                continue  # it is being answered, and will be told then
            safe = redact_text(prompt, memory.settings), redact_text(answer, memory.settings)
            prompt = "" if ("user", _plain(safe[0])) in told or is_command(prompt) else prompt
            answer = "" if ("assistant", _plain(safe[1])) in told else answer
            if prompt or answer:
                at = one.at.timestamp() if one.at else entry.at
                _write_down(
                    memory, entry, chat, [(at, prompt)] if prompt else [], answer, f"-t{number}"
                )


def _end(memory: Muisti, entry: spool.Entry, chat: str) -> None:
    said: Sequence[Message] = memory.window(chat, MOST_SAID, whole=True)
    calls = spool.get_tool_calls(entry.agent, entry.session)
    if not said and not calls:
        return  # nothing happened in it
    memory.start_session(entry.project or None, session_id=entry.session)
    memory.flush(timeout=PATIENCE)  # the summary tells what was learnt
    text = summarize_session(
        [one for one in said if one.type is None], memory.get_session_context(entry.session)
    )
    memory.end_session(entry.session, text or None, tool_calls=calls)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)

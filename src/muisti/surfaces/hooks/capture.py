"""Store an entry: messages of a conversation, an exchange for extraction, the end of a session."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from muisti.engine import Muisti
from muisti.errors import InvalidRequest
from muisti.lifecycle.session_summary import summarize_session
from muisti.model import Session
from muisti.surfaces.hooks import novelty, spool, transcript
from muisti.surfaces.hooks.relevance import is_command
from muisti.surfaces.hooks.strip_recalled import strip_recalled
from muisti.text.redact import redact_text

MODE = "coding"
MAX_CHARS = 200_000
"""Characters of one message that are stored."""
REPEAT_SECONDS = 10.0
"""The same exchange again within this time is a second hook's report of it."""
MAX_MESSAGES = 1_000
"""Messages of a session that are compared with its transcript, and summarized."""
FLUSH_TIMEOUT = 120.0
ANSWER_SECONDS = 5.0
"""How long after a hook the reply may still be missing from the transcript."""
Prompts = list[tuple[float, str]]


def capture(memory: Muisti, entry: spool.Entry) -> None:
    """Store an entry. Safe to repeat. Raises MuistiError."""
    entry.project = memory.settings.project or entry.project
    conversation = f"{entry.agent}_{entry.session}"
    prompts = []
    for at, text in entry.prompts:
        prompt = clean_text(text)
        if prompt and not is_command(prompt):
            prompts.append((at, prompt))
    answer = clean_text(entry.answer or find_answer(entry))
    if (prompts or answer) and not _is_stored(memory, entry, conversation, prompts, answer):
        _store_exchange(memory, entry, conversation, prompts, answer)
    if entry.transcript:
        with suppress(OSError):
            _store_transcript(memory, entry, conversation)
    if entry.end:
        _end_session(memory, entry, conversation)


def find_answer(entry: spool.Entry) -> str:
    """Return the reply to the entry's last prompt from the transcript; "" if it has none.

    VS Code and Copilot do not report it, and may write it to the transcript after the hook.
    """
    if not entry.prompts or not entry.transcript:
        return ""
    while True:
        answer = _read_answer(entry.transcript, entry.prompts[-1][1])
        # An entry from the future is one of a clock that was set back.
        if answer or not 0 <= time.time() - entry.at < ANSWER_SECONDS:
            return answer
        time.sleep(0.1)


def _read_answer(path: str, prompt: str) -> str:
    with suppress(OSError):
        for exchange in reversed(transcript.read_exchanges(path)):
            if _normalize(exchange.prompt) == _normalize(prompt):
                return exchange.answer
    return ""


def clean_text(text: str) -> str:
    """Return a message without what muisti added to it, limited in length."""
    return strip_recalled(text[: 2 * MAX_CHARS]).strip()[:MAX_CHARS]


def _is_stored(
    memory: Muisti, entry: spool.Entry, conversation: str, prompts: Prompts, answer: str
) -> bool:
    """Return whether the last messages are just these: an agent may have two sets of hooks."""
    new = [("user", text) for _, text in prompts]
    if answer:
        new.append(("assistant", answer))
    last = memory.window(conversation, len(new), whole=True)
    if not last or last[-1].id.startswith(entry.id):  # a worker was killed at this entry
        return False
    redacted = [(role, redact_text(text, memory.settings)) for role, text in new]
    if [(one.role, one.content) for one in last] != redacted:
        return False
    return not prompts or abs(entry.at - last[-1].at.timestamp()) < REPEAT_SECONDS


def _store_exchange(
    memory: Muisti,
    entry: spool.Entry,
    conversation: str,
    prompts: Prompts,
    answer: str,
    part: str = "",
) -> None:
    """Append the messages, and queue what is new in them for extraction."""
    project = entry.project or None
    answered_at = datetime.fromtimestamp(entry.at, UTC)
    session = _start_session(memory, entry)
    append = partial(
        memory.append_message,
        conversation,
        project=session.project or None,
        user=session.user or None,
    )
    for number, (at, text) in enumerate(prompts):
        asked_at = datetime.fromtimestamp(at, UTC)
        message_id = f"{entry.id}{part}-u{number}"
        append("user", text, at=asked_at, id=message_id)
    if answer:
        message_id = f"{entry.id}{part}-a"
        append("assistant", answer, at=answered_at, id=message_id)
    found = [memory.get(memory_id) for memory_id in spool.read_recalled(entry.agent, entry.session)]
    recalled = [f"{one.title}\n{one.content}" for one in found if one is not None]
    prompt = "\n\n".join(text for _, text in prompts)
    prompt = novelty.remove_known(prompt, recalled, novelty.USER)
    answer = novelty.remove_known(answer, recalled, novelty.AGENT)
    if prompt.strip() or answer.strip():
        memory.extract_and_save(
            entry.session,
            prompt,
            answer,
            MODE,
            project=project,
            at=answered_at,
            preferences_everywhere=True,
        )


def _store_transcript(memory: Muisti, entry: spool.Entry, conversation: str) -> None:
    """Store what only the transcript has: from before hooks ran, or from interrupted exchanges.

    Raises OSError if the transcript cannot be read.
    """
    # A quarter of the messages compared, so that everything stored of these is among them.
    exchanges = transcript.read_exchanges(entry.transcript)[-MAX_MESSAGES // 4 :]
    stored = {
        (one.role, _normalize(one.content))
        for one in memory.window(conversation, MAX_MESSAGES, whole=True)
    }
    prompts = spool.read_pending_prompts(entry.agent, entry.session)
    pending = {_normalize(clean_text(text)) for _, text in prompts}
    for number, exchange in enumerate(exchanges):
        prompt, answer = clean_text(exchange.prompt), clean_text(exchange.answer)
        if prompt and _normalize(prompt) in pending:
            continue  # its reply is still to come, and will be captured with it
        redacted = _normalize(redact_text(prompt, memory.settings))
        if ("user", redacted) in stored or is_command(prompt):
            prompt = ""
        if ("assistant", _normalize(redact_text(answer, memory.settings))) in stored:
            answer = ""
        if prompt or answer:
            at = exchange.at.timestamp() if exchange.at else entry.at
            new = [(at, prompt)] if prompt else []
            _store_exchange(memory, entry, conversation, new, answer, f"-t{number}")


def _end_session(memory: Muisti, entry: spool.Entry, conversation: str) -> None:
    messages = memory.window(conversation, MAX_MESSAGES, whole=True)
    tool_calls = spool.get_tool_calls(entry.agent, entry.session)
    if not messages and not tool_calls:
        return  # nothing happened in it
    _start_session(memory, entry)
    memory.flush(timeout=FLUSH_TIMEOUT)  # the summary includes what was extracted
    summary = summarize_session(
        [one for one in messages if one.type is None], memory.get_session_context(entry.session)
    )
    memory.end_session(entry.session, summary or None, tool_calls=tool_calls)


def _start_session(memory: Muisti, entry: spool.Entry) -> Session:
    """Start the entry's session, or continue it in the project in which it began."""
    try:
        return memory.start_session(entry.project or None, session_id=entry.session)
    except InvalidRequest:  # the agent moved to another project
        return memory.start_session(session_id=entry.session)


def _normalize(text: str) -> str:
    return " ".join(text.split())

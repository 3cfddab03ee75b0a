"""What a hook does at each event: recall is answered, capture is left for the worker."""

from __future__ import annotations

import _thread
import os
from pathlib import Path
from typing import TYPE_CHECKING

from muisti.surfaces.hooks import events, spool
from muisti.surfaces.hooks.events import Call

if TYPE_CHECKING:
    from muisti.engine import Muisti
    from muisti.surfaces.hooks.options import Options
    from muisti.surfaces.hooks.run import Outcome

SWITCH = "MUISTI_HOOKS"
"""The variable that switches hooks off: `off`, or `recall` or `capture` for only one of the two."""
CONTEXT_KEPT = ("resume",)
"""How a session begins whose context still holds what it was given."""
SYNC_PATIENCE = 1.5
"""Seconds that the start of a session waits for hand edits to be taken in; the worker takes in the rest."""
LONGEST = 400_000
"""Characters of a prompt or an answer that are left for the worker."""


def answer(options: Options, outcome: Outcome) -> None:
    """Do what an event asks for. Raises anything; whoever calls deals with it."""
    recall, capture = _wanted(os.environ.get(SWITCH, ""))
    if not recall and not capture:
        outcome.detail = f"switched off by {SWITCH}"
        return
    call = events.call_of(options.name, _read())
    if call.event == events.TOOL:
        if capture and call.session:
            spool.count_tool(options.agent, call.session)
        return
    folder = _folder(call)
    vault = _vault(options, folder)
    outcome.vault, outcome.foreign, outcome.project = (
        str(vault),
        _is_foreign(options, vault),
        _project(folder),
    )
    if call.event == events.SESSION_START:
        if recall:
            _begin(options, call, vault, outcome)
    elif call.event == events.PROMPT:
        _prompt(options, call, vault, outcome, recall=recall, capture=capture)
    elif capture:
        _leave(options, call, vault, outcome)


def _wanted(switch: str) -> tuple[bool, bool]:
    """Whether to recall, and whether to capture."""
    said = switch.strip().lower()
    if said in ("off", "0", "no", "false", "none"):
        return False, False
    return said != "capture", said != "recall"


def _read() -> bytes:
    """Everything on standard input, up to a little more than is accepted. Raises OSError."""
    pieces = []
    left = events.LARGEST + 1
    while left > 0 and (piece := os.read(0, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _folder(call: Call) -> Path:
    return Path(call.cwd) if call.cwd and os.path.isdir(call.cwd) else Path.cwd()


def _vault(options: Options, folder: Path) -> Path:
    from muisti.settings import find_vault

    return find_vault(options.vault, start=folder)


def _is_foreign(options: Options, vault: Path) -> bool:
    from muisti.settings import is_foreign

    return is_foreign(vault, options.vault)


def _project(folder: Path) -> str:
    from muisti.surfaces.project import detect_project

    return detect_project(folder)


def _begin(options: Options, call: Call, vault: Path, outcome: Outcome) -> None:
    """What a session should know from the start."""
    from muisti.surfaces.hooks import recall, worker

    if call.session and call.source not in CONTEXT_KEPT:
        spool.forget_given(options.agent, call.session)
    memory = recall.opened(vault, foreign=outcome.foreign)
    if memory is not None:
        _take_in(memory)
        since = spool.given_at(options.agent, call.session) if call.session else None
        text, ids = recall.for_session(
            memory, outcome.project, call.session, since, options.budget or recall.START_BUDGET
        )
        _tell(options, call, outcome, text, ids)
        recall.let_go(memory)
    if memory is not None or spool.waiting():
        worker.start(str(vault) if memory is not None else "", foreign=outcome.foreign)


def _take_in(memory: Muisti) -> None:
    """Hand edits, as far as that is quick."""
    done = _thread.allocate_lock()
    done.acquire()

    def sync() -> None:
        try:
            memory.sync()
        except Exception:  # then with what is known; the worker meets the same problem and notes it
            pass
        finally:
            done.release()

    _thread.start_new_thread(sync, ())
    done.acquire(timeout=SYNC_PATIENCE)


def _prompt(
    options: Options, call: Call, vault: Path, outcome: Outcome, *, recall: bool, capture: bool
) -> None:
    """Keep what is asked until it is answered, and tell what matters for it."""
    from muisti.surfaces.hooks.strip_recalled import without_recalled

    asked = without_recalled(call.prompt[:LONGEST])
    if capture and call.session and asked.strip():
        spool.note_prompt(options.agent, call.session, _safe(asked, vault, outcome))
    if not recall or not asked.strip():
        return
    from muisti.surfaces.hooks.prompt import for_prompt, question_of

    question = question_of(asked)
    if not question:
        return
    from muisti import bootstrap
    from muisti.errors import VaultNotFound

    try:
        memory = bootstrap.open(vault, role="hook", foreign=outcome.foreign)
    except VaultNotFound:
        return
    known = spool.given(options.agent, call.session) if call.session else set()
    with memory:
        _tell(
            options,
            call,
            outcome,
            *for_prompt(memory, question, outcome.project, call.session, known),
        )


def _tell(options: Options, call: Call, outcome: Outcome, text: str, ids: list[str]) -> None:
    if not text:
        return
    if call.session:
        spool.note_given(options.agent, call.session, ids)
    outcome.answer = events.reply(call.name, text)
    outcome.done = True
    outcome.detail = f"{len(ids)} memories recalled"


def _leave(options: Options, call: Call, vault: Path, outcome: Outcome) -> None:
    """Stop, PreCompact, SessionEnd: an entry for the worker."""
    from muisti.surfaces.hooks import worker

    if not call.session:
        outcome.detail = "no session_id: nothing is kept of it"
        return
    entry = spool.new_entry(options.agent, str(vault), outcome.project, call.session)
    entry.foreign = outcome.foreign
    taken = None
    if call.event != events.COMPACT:  # a turn that is being compacted has its answer yet to come
        taken = spool.take_prompts(options.agent, call.session, entry.id)
        entry.prompts = spool.prompts_in(taken)
    if call.event == events.STOP:
        if call.prompt and not entry.prompts:
            entry.prompts = [(entry.at, _safe(call.prompt[:LONGEST], vault, outcome))]
        entry.answer = _safe(call.answer[:LONGEST], vault, outcome)
    if call.event != events.STOP or not entry.answer:
        entry.transcript = call.transcript
    entry.end = call.event == events.SESSION_END
    if entry.prompts or entry.answer or entry.transcript or entry.end:
        spool.put(entry)
        outcome.done = True
    if taken is not None:
        spool.forget(taken)
    worker.start()


def _safe(text: str, vault: Path, outcome: Outcome) -> str:
    """Without what is private, before it is on a disk. Settings that cannot be read are for the worker to complain about."""
    from muisti.errors import SettingsError
    from muisti.settings import Settings, load_settings
    from muisti.text.redact import redact_text

    try:
        settings = load_settings(vault, foreign=outcome.foreign)
    except SettingsError:
        settings = Settings()
    return redact_text(text, settings)

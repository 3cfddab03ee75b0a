"""What a hook does at each event: recall replies at once, capture is left to the worker."""

from __future__ import annotations

import _thread
import os
from contextlib import suppress
from pathlib import Path

from muisti.filesystem import read_file
from muisti.surfaces.hooks import events, spool
from muisti.surfaces.hooks.events import Call
from muisti.surfaces.hooks.formats import get_format

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from muisti.engine import Muisti
    from muisti.surfaces.hooks.options import Options
    from muisti.surfaces.hooks.run import Outcome

SWITCH = "MUISTI_HOOKS"
"""The variable that disables hooks: `off`; or `recall` or `capture` to allow only one of them."""
SYNC_TIMEOUT = 1.5
"""Seconds that the start of a session waits for a sync; the worker completes it."""
WARM_TIMEOUT = 1.0
"""Seconds that a prompt waits for the warm process before it is handled here."""
MAX_HOOK_FILE = 1_000_000
"""Bytes of an agent's configuration that are searched for hooks of muisti."""
MAX_CHARS = 400_000
"""Characters of a prompt or a reply that are captured."""


def handle_event(options: Options, outcome: Outcome) -> None:
    """Handle one event, and fill in the outcome. May raise anything."""
    switch = os.environ.get(SWITCH, "").strip().lower()
    if switch in ("off", "0", "no", "false", "none"):
        outcome.detail = f"disabled by {SWITCH}"
        return
    recall, capture = switch != "capture", switch != "recall"
    named = options.agent if options.is_agent_given else None
    call = events.parse_call(options.name, _read_stdin(), named)
    options.agent = call.agent
    if named is None and has_own_hooks(call):
        outcome.detail = f"left to the hooks of {call.agent}"
        return
    if call.event == events.TOOL:
        if capture and call.session:
            spool.count_tool_call(options.agent, call.session)
        return
    if call.event == events.PROMPT and recall and _ask_warm(options, call, outcome, capture):
        return
    from muisti.surfaces.project import detect_project

    folder = Path(call.cwd) if call.cwd and os.path.isdir(call.cwd) else Path.cwd()
    vault = find_location(options, folder, outcome)
    outcome.project = detect_project(folder)
    if call.event == events.SESSION_START:
        if recall:
            _start_session(options, call, vault, outcome)
    elif call.event == events.PROMPT:
        _handle_prompt(options, call, vault, outcome, recall=recall, capture=capture)
    elif capture and call.event == events.REPLY:
        if call.session:
            reply = _redact(call.answer, vault, outcome)[:MAX_CHARS]
            spool.save_reply(options.agent, call.session, reply)
    elif capture:
        _capture(options, call, vault, outcome)


def find_location(options: Options, folder: Path, outcome: Outcome) -> Path | str:
    """Return the vault of a call, a folder or a database, and note it in the outcome."""
    from muisti.locations import find_database, strip_password
    from muisti.settings import find_vault, is_foreign

    database = find_database(options.vault)
    if database is not None:
        outcome.vault = strip_password(database)
        return database
    vault = find_vault(options.vault, start=folder)
    outcome.vault = str(vault)
    outcome.foreign = is_foreign(vault, options.vault)
    return _leave_stranger(vault, outcome) if outcome.foreign else vault


def has_own_hooks(call: Call) -> bool:
    """Whether another agent ran Claude Code's hooks but has hooks of muisti itself.

    Cursor and VS Code run the hooks in `~/.claude/settings.json` beside their own.
    """
    folders = [os.path.expanduser("~"), *([call.cwd] if call.cwd else [])]
    for name in get_format(call.agent).hook_files:
        for folder in folders:
            with suppress(OSError):
                path = Path(os.path.realpath(os.path.join(folder, name)))
                content, _ = read_file(path, MAX_HOOK_FILE)
                if b"muisti" in content and b" hook " in content:
                    return True
    return False


def _ask_warm(options: Options, call: Call, outcome: Outcome, capture: bool) -> bool:
    """Handle a prompt with the vault's warm process. Return False if there is no answer.

    Then nothing has happened yet.
    """
    from muisti.surfaces.warm import client, protocol

    if protocol.is_disabled():
        return False
    from muisti.locations import find_database, locate_vault

    if find_database(options.vault) is not None:
        return False  # a warm process is found by the folder of its vault
    from muisti.surfaces.hooks.strip_recalled import strip_recalled
    from muisti.surfaces.project import detect_project

    folder = call.cwd if call.cwd and os.path.isdir(call.cwd) else os.getcwd()
    vault, foreign = locate_vault(options.vault, folder)
    recalled = spool.read_recalled(options.agent, call.session) if call.session else set()
    request: client.Reply = {
        "do": "recall",
        "prompt": strip_recalled(call.prompt),
        "project": detect_project(Path(folder)),
        "session": call.session,
        "recalled": sorted(recalled),
        "foreign": foreign,
    }
    try:
        reply = client.ask(vault, request, WARM_TIMEOUT, has_recall)
    except client.NotRunning:
        outcome.start_warm = True
        return False
    except client.NoAnswer:
        return False
    outcome.vault, outcome.foreign = vault, foreign
    outcome.project, redacted = str(reply["project"]), str(reply["redacted"])
    if capture and call.session and redacted.strip():
        spool.add_prompt(options.agent, call.session, redacted[:MAX_CHARS])
    _reply(options, call, outcome, str(reply["text"]), reply["ids"])  # type: ignore[arg-type]
    return True


def has_recall(reply: dict[str, object]) -> bool:
    """Return whether a reply has what `_ask_warm` uses."""
    ids = reply.get("ids")
    texts = [reply.get(name) for name in ("text", "project", "redacted")]
    texts += ids if isinstance(ids, list) else [None]
    return all(isinstance(text, str) for text in texts)


def _leave_stranger(vault: Path, outcome: Outcome) -> Path:
    """Return the vault to use: the user's own instead of one that is not trusted."""
    from muisti.settings import get_own_vault
    from muisti.trust import is_trusted

    if is_trusted(vault):
        return vault
    own = get_own_vault()
    outcome.vault, outcome.foreign = str(own), False
    outcome.detail = f"the vault in {vault} is not trusted and not used; `muisti trust` allows it"
    return own


def _read_stdin() -> bytes:
    """Return standard input, up to one byte more than is accepted. Raises OSError."""
    chunks = []
    left = events.MAX_BYTES + 1
    while left > 0 and (chunk := os.read(0, min(left, 1 << 20))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _start_session(options: Options, call: Call, vault: Path | str, outcome: Outcome) -> None:
    """Recall the project's context for a new session."""
    from muisti.surfaces.hooks import recall, worker

    if call.session and call.source != "resume":  # a resumed session keeps its context
        spool.clear_recalled(options.agent, call.session)
    memory = recall.open_vault(vault, foreign=outcome.foreign)
    if memory is None:
        if spool.list_entries():
            worker.start()
        return
    outcome.project = memory.settings.project or outcome.project
    _sync_briefly(memory)
    since = spool.get_recall_time(options.agent, call.session) if call.session else None
    budget = options.budget or recall.START_BUDGET
    text, ids = recall.recall_for_session(memory, outcome.project, call.session, since, budget)
    _reply(options, call, outcome, text, ids)
    if not memory.is_writable:
        memory.close()  # a writable one needs no cleanup, and closing takes time
    worker.start(outcome.vault, foreign=outcome.foreign)


def _sync_briefly(memory: Muisti) -> None:
    """Pick up external file changes, for as long as a session start may wait."""
    done = _thread.allocate_lock()
    done.acquire()

    def sync() -> None:
        try:
            memory.sync()
        except Exception:  # continue with the index as it is; the worker logs the same problem
            pass
        finally:
            done.release()

    _thread.start_new_thread(sync, ())
    done.acquire(timeout=SYNC_TIMEOUT)


def _handle_prompt(
    options: Options,
    call: Call,
    vault: Path | str,
    outcome: Outcome,
    *,
    recall: bool,
    capture: bool,
) -> None:
    """Keep the prompt for the worker, and recall the memories that are relevant to it."""
    from muisti.surfaces.hooks.strip_recalled import strip_recalled

    prompt = strip_recalled(call.prompt[:MAX_CHARS])
    if not prompt.strip():
        return
    if capture and call.session:
        # Redacted before it is cut: half a secret is not recognized.
        redacted = _redact(strip_recalled(call.prompt), vault, outcome)[:MAX_CHARS]
        spool.add_prompt(options.agent, call.session, redacted)
    if not recall:
        return
    from muisti.surfaces.hooks.prompt import extract_query, recall_for_prompt

    query = extract_query(prompt)
    if not query:
        return
    from muisti import bootstrap
    from muisti.errors import VaultNotFound

    try:
        memory = bootstrap.open(vault, role="hook", foreign=outcome.foreign)
    except VaultNotFound:
        return
    recalled = spool.read_recalled(options.agent, call.session) if call.session else set()
    outcome.project = memory.settings.project or outcome.project
    with memory:
        text, ids = recall_for_prompt(memory, query, outcome.project, call.session, recalled)
        _reply(options, call, outcome, text, ids)


def _reply(options: Options, call: Call, outcome: Outcome, text: str, ids: list[str]) -> None:
    if not text:
        return
    if call.session:
        spool.record_recalled(options.agent, call.session, ids)
    outcome.reply = events.build_reply(call, text)
    outcome.done = True
    where = f" in project {outcome.project}" if outcome.project else ""
    detail = f"{len(ids)} {'memory' if len(ids) == 1 else 'memories'} recalled{where}"
    outcome.detail = f"{detail}; {outcome.detail}" if outcome.detail else detail


def _capture(options: Options, call: Call, vault: Path | str, outcome: Outcome) -> None:
    """Leave an entry for the worker at Stop, PreCompact and SessionEnd."""
    from muisti.surfaces.hooks import worker

    if not call.session:
        outcome.detail = "no session_id; nothing captured"
        return
    entry = spool.new_entry(options.agent, outcome.vault, outcome.project, call.session)
    entry.foreign = outcome.foreign
    taken = None
    if call.event == events.COMPACT:  # a prompt that is being compacted has no reply yet
        if get_format(call.agent).forgets:
            spool.clear_recalled(options.agent, call.session)
    else:
        taken = spool.take_prompts(options.agent, call.session, entry.id)
        entry.prompts = spool.read_prompts(taken)
    if call.event == events.STOP:
        if call.prompt and not entry.prompts:
            entry.prompts = [(entry.at, _redact(call.prompt, vault, outcome)[:MAX_CHARS])]
        reply = spool.take_reply(options.agent, call.session)
        entry.answer = _redact(call.answer, vault, outcome)[:MAX_CHARS] or reply
    if call.event != events.STOP or not entry.answer:
        entry.transcript = call.transcript
    for name in ("project", "transcript"):  # they are stored as they are, so they are refused
        if events.has_secret(getattr(entry, name)):
            raise events.BadPayload(f"{name} contains private text or a secret; nothing captured")
    entry.end = call.event == events.SESSION_END
    if entry.prompts or entry.answer or entry.transcript or entry.end:
        spool.add_entry(entry)
        outcome.done = True
    if taken is not None:
        spool.delete_file(taken)
    worker.start()


def _redact(text: str, vault: Path | str, outcome: Outcome) -> str:
    """Redact before anything reaches the disk. Invalid settings are reported by the worker."""
    from muisti.errors import SettingsError
    from muisti.settings import Settings, load_settings
    from muisti.text.redact import redact_text

    try:
        folder = vault if isinstance(vault, Path) else None
        settings = load_settings(folder, foreign=outcome.foreign)
    except SettingsError:
        settings = Settings()
    return redact_text(text, settings)

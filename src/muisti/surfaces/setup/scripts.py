"""Programs that are written for agents whose hooks are code: OpenCode's plugin. No I/O but reading
the template.
"""

from __future__ import annotations

import json
import re
import shlex
from importlib import resources
from pathlib import Path

from muisti.surfaces.setup.agents import Hooks
from muisti.surfaces.setup.commands import make_hook_words
from muisti.surfaces.setup.errors import Malformed

_COMMAND = re.compile(r"^const COMMAND = (\[.*\]);$", re.MULTILINE)
_OPTIONS = re.compile(r"^const OPTIONS = (\[.*\]);$", re.MULTILINE)


def render_script(name: str, hooks: Hooks, command: tuple[str, ...], vault: Path | None) -> str:
    """Return a program with the command that starts muisti in it."""
    text = resources.files(__package__).joinpath(name).read_text("utf-8")
    words = make_hook_words(command, "", vault, hooks.agent)
    split = words.index("")  # where the event stands
    text = _COMMAND.sub(lambda _: f"const COMMAND = {json.dumps(words[:split])};", text)
    return _OPTIONS.sub(lambda _: f"const OPTIONS = {json.dumps(words[split + 1 :])};", text)


def find_script_hooks(text: str, hooks: Hooks) -> dict[str, str]:
    """Return the command of each event, if the text is a program of muisti; else nothing."""
    command, options = (pattern.search(text) for pattern in (_COMMAND, _OPTIONS))
    if command is None or options is None or "muisti" not in text:
        return {}
    try:
        before, after = json.loads(command[1]), json.loads(options[1])
    except ValueError:
        return {}
    if "hook" not in before or not all(isinstance(word, str) for word in (*before, *after)):
        return {}
    return {event: shlex.join([*before, event, *after]) for event in hooks.events}


def check_script(text: str, hooks: Hooks) -> None:
    """Raises Malformed if a file is there that is not a program of muisti."""
    if text.strip() and not find_script_hooks(text, hooks):
        raise Malformed(0, "another file has the name of muisti's plugin; rename or remove it")

"""Prints the call path of a save, a search, a hook, a hand edit and an extraction.

    python -m scripts.trace_calls [--depth N] [--only WORD] [--sizes 1000,5000]

Functions of muisti alone are shown, each below its caller, repeated calls once with their number.
After that come the file-system calls that one hand edit costs in a small and in a larger vault: the
same numbers mean that the size of the vault does not matter.

Everything goes through the public API and the command line, so that the paths of two versions can
be compared whatever their modules are called.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from scripts.file_calls import edit_one, print_counts

import muisti
from muisti import Muisti

PACKAGE = str(Path(muisti.__file__).parent) + os.sep
HOOK_TRACE = "MUISTI_TRACE_HOOK"
"""Where a traced hook writes its calls to: the process of a hook ends without coming back."""
SIZES = "1000,5000"
LONGEST_PERIOD = 6
"""Calls that are repeated as a group, at most."""


@dataclass
class Call:
    """A function and what it called, in order."""

    name: str
    calls: list[Call] = field(default_factory=list)


class Tracer:
    """Notes the calls of muisti's functions, thread by thread, while it is switched on."""

    def __init__(self) -> None:
        self.active = False
        self.threads: dict[str, Call] = {}
        self._own = threading.local()

    @contextmanager
    def watching(self) -> Iterator[dict[str, Call]]:
        """Trace what happens inside."""
        self.start()
        try:
            yield self.threads
        finally:
            self.active = False
            sys.setprofile(None)

    def start(self) -> None:
        """Trace from now on."""
        self.threads = {}
        self._own = threading.local()
        self.active = True
        sys.setprofile(self.note)

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Record one event of the interpreter."""
        if event not in ("call", "return") or not self.active:
            return
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            return
        stack: list[tuple[Any, Call | None]] = self._own.__dict__.setdefault("stack", [])
        if event == "return":
            if stack and stack[-1][0] is frame:
                stack.pop()
            return
        above = stack[-1][1] if stack else self._thread()
        hidden = above is None or code.co_name == "<module>"  # what an import runs is no call
        if hidden:
            stack.append((frame, None))
        elif code.co_name[0] != "<":  # comprehensions and lambdas belong to who wrote them
            module = frame.f_globals.get("__name__", "").removeprefix("muisti.")
            call = Call(f"{module}.{code.co_qualname}")
            assert above is not None
            above.calls.append(call)
            stack.append((frame, call))

    def _thread(self) -> Call:
        name = threading.current_thread().name
        return self.threads.setdefault(name, Call(name))


# -- Showing


def show(calls: Sequence[Call], depth: int, indent: int = 1) -> Iterator[str]:
    """The calls as lines, repeats collapsed."""
    for times, group in collapse(calls):
        mark = f"  ×{times}" if times > 1 else ""
        together = f"  (these {len(group)} in turn)" if times > 1 and len(group) > 1 else ""
        for number, call in enumerate(group):
            yield f"{'  ' * indent}{call.name}{mark}{together if number == 0 else ''}"
            if indent < depth:
                yield from show(call.calls, depth, indent + 1)
            elif call.calls:
                yield f"{'  ' * (indent + 1)}… {count(call.calls)} calls"


def collapse(calls: Sequence[Call]) -> Iterator[tuple[int, Sequence[Call]]]:
    """Runs of the same names in the same order, with how often each comes; the first is shown."""
    at = 0
    while at < len(calls):
        times, period = best_run(calls, at)
        yield times, calls[at : at + period]
        at += times * period


def best_run(calls: Sequence[Call], at: int) -> tuple[int, int]:
    """How often which number of calls is repeated from here on: what covers the most."""
    best = (1, 1)
    for period in range(1, LONGEST_PERIOD + 1):
        names = [call.name for call in calls[at : at + period]]
        times = 1
        end = at + period
        while [call.name for call in calls[end : end + period]] == names:
            times += 1
            end += period
        if times > 1 and times * period > best[0] * best[1]:
            best = (times, period)
    return best


def count(calls: Sequence[Call]) -> int:
    """How many calls there are in all."""
    return sum(1 + count(call.calls) for call in calls)


def print_trace(title: str, threads: dict[str, Call], depth: int) -> None:
    """One scenario."""
    total = sum(count(thread.calls) for thread in threads.values())
    print(f"\n== {title} ({total} calls)")
    for name, thread in threads.items():
        if thread.calls:
            print(f"thread {name}")
            print("\n".join(show(thread.calls, depth)))


# -- Scenarios

SENTENCES = (
    "We use PostgreSQL as our main database",
    "The API runs on port 8080",
    "Käyttäjä juo kahvia aamulla",
    "Session tokens expire after 24 hours (src/auth/session.py)",
    "The invoice export is written as CSV",
)


@contextmanager
def vault() -> Iterator[tuple[Muisti, Path]]:
    """A small vault that has been used before: what only the first call does is done."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "vault")
        with Muisti.open(root, embedder="none") as memory:
            memory.save_batch(SENTENCES)
            memory.search("database", mode="keyword")
            memory.extract_and_save("warm-up", "I always drink tea.")
            memory.flush()
            yield memory, root


def save() -> dict[str, Call]:
    """One new memory."""
    with vault() as (memory, _):
        memory.save("Deployment needs two approvals")
        with tracer.watching() as calls:
            memory.save("The mail server is called Väinö", kind="fact", project="apollo")
    return calls


def search() -> dict[str, Call]:
    """One search, and what is noted of it afterwards."""
    with vault() as (memory, _), tracer.watching() as calls:
        memory.search("which port does the API use", mode="keyword")
        memory.flush()
    return calls


def hand_edit(*, named: bool) -> dict[str, Call]:
    """A known file is edited and synced. Named: `sync` gets its path."""
    with vault() as (memory, root):
        path = edit_one(memory, root)
        with tracer.watching() as calls:
            memory.sync(paths=[path] if named else None)
    return calls


def extraction() -> dict[str, Call]:
    """An exchange is accepted, extracted in the background and saved."""
    with vault() as (memory, _), tracer.watching() as calls:
        memory.extract_and_save("s-1", "I prefer dark mode in every editor.", "Noted.")
        memory.flush()
    return calls


def hook() -> dict[str, Call]:
    """A prompt of an agent, in a process of its own, as agents call it."""
    with tempfile.TemporaryDirectory() as folder:
        root, out = Path(folder, "vault"), Path(folder, "calls.json")
        with Muisti.open(root, embedder="none") as memory:
            memory.save_batch(SENTENCES)
        asked = {"session_id": "s-1", "cwd": folder, "prompt": "Which port does the API run on?"}
        environ = {**os.environ, HOOK_TRACE: str(out), "MUISTI_STATE": f"{folder}/state"}
        command = [sys.executable, "-m", "scripts.trace_calls"]
        done = subprocess.run(
            [*command, "hook", "UserPromptSubmit", "--vault", str(root)],
            env={**environ, "HOME": folder},
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            check=True,
        )
        assert "8080" in done.stdout, done
        return {name: _loaded(calls) for name, calls in json.loads(out.read_text()).items()}


def _loaded(call: list[Any]) -> Call:
    return Call(call[0], [_loaded(one) for one in call[1]])


def _dumped(call: Call) -> list[Any]:
    return [call.name, [_dumped(one) for one in call.calls]]


def run_traced_hook(out: Path) -> None:
    """In the process of the hook: trace until it ends itself."""
    from muisti.surfaces.cli.main import main as run_command

    leave = os._exit

    def leave_traced(status: int) -> None:
        tracer.active = False
        dumped = {name: _dumped(thread) for name, thread in tracer.threads.items()}
        out.write_text(json.dumps(dumped))
        leave(status)

    os._exit = leave_traced  # type: ignore[assignment]
    tracer.start()
    try:
        run_command()
    finally:
        leave_traced(0)


SCENARIOS: dict[str, Callable[[], dict[str, Call]]] = {
    "save": save,
    "search by keyword": search,
    "hook UserPromptSubmit": hook,
    "hand edit, sync(paths=[the file])": lambda: hand_edit(named=True),
    "hand edit, sync()": lambda: hand_edit(named=False),
    "extraction": extraction,
}
tracer = Tracer()


def main() -> None:
    """Trace and count."""
    parser = argparse.ArgumentParser(description="Print call paths.")
    parser.add_argument("--depth", type=int, default=12, help="levels that are shown")
    parser.add_argument("--only", default="", help="only what has this word in its title")
    parser.add_argument("--sizes", default=SIZES, help="files of the vaults that are counted in")
    given = parser.parse_args()
    threading.setprofile(tracer.note)  # threads of a vault begin before what is traced
    for title, scenario in SCENARIOS.items():
        if given.only in title:
            print_trace(title, scenario(), given.depth)
    if given.only in "counts":
        print_counts([int(size) for size in given.sizes.split(",")])


if __name__ == "__main__":
    if HOOK_TRACE in os.environ:
        run_traced_hook(Path(os.environ.pop(HOOK_TRACE)))
    else:
        main()

"""The warm process of one vault. It leaves by itself, and may be killed at any moment.

It leaves after some idle minutes, when the vault, its settings or muisti's own code changed, when
its socket was removed or replaced, and when a request takes too long.
"""

from __future__ import annotations

import _socket
import json
import logging
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from muisti import __version__
from muisti.errors import MuistiError
from muisti.settings import SETTINGS_FILE, load_settings
from muisti.surfaces import detached
from muisti.surfaces.hooks.paths import create_folder
from muisti.surfaces.warm import protocol
from muisti.surfaces.warm.answers import Answers, Refused, Reply

log = logging.getLogger("muisti")
LOCK = "warm.lock"
BEAT_SECONDS = 10.0
"""How often the process shows that it is alive, and checks whether it is still wanted."""
REQUEST_SECONDS = 1.0
"""Seconds in which a client has to send its request, and to confirm the reply."""
LONGEST_ANSWER = 30.0
"""Seconds after which a request hangs, and the process ends itself."""
GRACE_SECONDS = 15.0
"""Seconds that leaving may take: closing the vault writes recalls that are still pending."""
BACKLOG = 16


class WarmServer:
    """Answers one request after the other on a vault's socket."""

    def __init__(self, answers: Answers, root: Path, minutes: float) -> None:
        self._answers = answers
        self._root = root
        self._place = os.path.realpath(root)
        self._idle_seconds = minutes * 60
        self._environment = protocol.read_environment()
        self._settings = _stat_file(root / SETTINGS_FILE)
        self._code = _stat_code()
        self._vault = os.stat(self._place)
        self._busy_since: float | None = None
        self._leaving = threading.Event()
        self._started = time.time()
        self._answered = 0
        folder = create_folder(Path(protocol.get_socket_folder()))
        self._folder = protocol.open_folder(str(folder))
        self._name = protocol.make_socket_name(self._place)
        self._listener = self._listen()
        self._socket = self._stat_socket()

    def _listen(self) -> _socket.socket:
        with suppress(FileNotFoundError):  # of a process that was killed: we hold the lock
            os.unlink(self._name, dir_fd=self._folder)
        listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            listener.bind(protocol.make_address(self._folder, self._name))
        finally:
            os.umask(before)
        listener.listen(BACKLOG)
        return listener

    def run(self) -> None:
        """Answer until there is a reason to leave."""
        threading.Thread(target=self._watch_over, name="muisti-warm", daemon=True).start()
        last = time.monotonic()
        while not self._leaving.is_set() and time.monotonic() - last < self._idle_seconds:
            left = self._idle_seconds - (time.monotonic() - last)
            self._listener.settimeout(min(BEAT_SECONDS, max(0.01, left)))
            try:
                fd, _ = self._listener._accept()  # type: ignore[attr-defined]
            except TimeoutError:
                continue
            connection = _socket.socket(fileno=fd)
            self._busy_since = time.monotonic()
            try:
                self.handle(connection)
            except (OSError, TypeError, ValueError, RecursionError):
                pass  # the client answers by itself
            finally:
                self._busy_since = None
                connection.close()
            self._answers.tidy()
            last = time.monotonic()

    def close(self) -> None:
        """Stop listening, and remove the socket unless it is another process's by now."""
        self._listener.close()
        self._remove_socket()
        os.close(self._folder)

    def _remove_socket(self) -> None:
        if self._stat_socket() == self._socket:
            with suppress(OSError):
                os.unlink(self._name, dir_fd=self._folder)

    def handle(self, connection: _socket.socket) -> None:
        """Answer one request. Raises OSError, TypeError, ValueError for a bad one."""
        protocol.check_peer(connection)
        until = time.monotonic() + REQUEST_SECONDS
        request = json.loads(protocol.read_line(connection, protocol.MAX_REQUEST, until))
        if not isinstance(request, dict):
            raise TypeError("not an object")
        try:
            reply = self.answer(request)
        except Refused as refusal:
            reply = {"refused": str(refusal)}
        reply = {"muisti": __version__, "vault": self._place, **reply}
        connection.settimeout(REQUEST_SECONDS)
        connection.sendall(json.dumps(reply).encode() + b"\n")
        if "refused" in reply:
            self._answers.discard()
            return
        try:
            confirmed = protocol.read_line(connection, 1, time.monotonic() + REQUEST_SECONDS) == b""
        except OSError:
            confirmed = False
        if confirmed:
            self._answers.record()
            self._answered += "process" not in reply
        else:  # the client answered by itself, and recorded that
            self._answers.discard()

    def answer(self, request: Reply) -> Reply:
        """Return the reply to a request. Raises Refused."""
        if request.get("vault") != self._place:
            raise Refused("another vault")
        what = request.get("do")
        if what == "leave":
            self._leaving.set()
            return {"left": True}
        if request.get("muisti") != __version__ or request.get("protocol") != protocol.PROTOCOL:
            self._leaving.set()
            raise Refused("another version; this process leaves")
        if what == "status":
            return {"process": os.getpid(), "since": self._started, "answered": self._answered}
        code = _stat_code()
        is_same_code = all(code.get(path, known) == known for path, known in self._code.items())
        self._code |= code  # modules are loaded when they are needed
        if not is_same_code or self._settings != _stat_file(self._root / SETTINGS_FILE):
            self._leaving.set()
            raise Refused("the settings or the program changed; this process leaves")
        if request.get("environment") != self._environment:
            raise Refused("other environment variables")
        return self._answers.answer(request)

    # -- Leaving

    def _watch_over(self) -> None:
        """Show that the process is alive; end it when it hangs or is no longer wanted."""
        while not self._leaving.wait(BEAT_SECONDS):
            busy_since = self._busy_since
            if busy_since is not None and time.monotonic() - busy_since > LONGEST_ANSWER:
                break
            if not self.is_wanted():
                break
            with suppress(OSError):
                os.utime(self._name, dir_fd=self._folder, follow_symlinks=False)
        self._leaving.set()
        time.sleep(GRACE_SECONDS)  # usually the process ends meanwhile
        self._remove_socket()
        os._exit(1)

    def is_wanted(self) -> bool:
        """Return whether the vault and the socket are still there."""
        try:
            is_same_vault = os.path.samestat(self._vault, os.stat(self._place))
        except OSError:
            return False
        return is_same_vault and self._stat_socket() == self._socket

    def _stat_socket(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)
        except OSError:
            return None
        return status.st_dev, status.st_ino


def _stat_file(path: str | Path) -> tuple[int, int, int] | None:
    """Return what changes when a file does; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _stat_code() -> dict[str, tuple[int, int, int] | None]:
    """Return what changes when muisti is upgraded or edited, for each of its loaded files."""
    found = {}
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None) if name.partition(".")[0] == "muisti" else None
        if path:
            found[path] = _stat_file(path)
    return found


def serve(root: Path, *, foreign: bool) -> None:
    """Serve a vault, if that is allowed and nobody else does. Raises MuistiError, OSError."""
    from muisti import bootstrap
    from muisti.trust import is_trusted

    if protocol.is_disabled() or (foreign and not is_trusted(root)):
        return
    settings = load_settings(root)
    if not settings.warm:
        return
    with detached.hold_lock(root / ".muisti" / LOCK) as is_only_one:  # fails if it is read-only
        if not is_only_one:
            return
        with bootstrap.open(root, role="warm", foreign=foreign) as memory:
            if not memory.is_writable or not memory.is_trusted:
                return
            answers = Answers(memory)
            answers.warm_up()
            server = WarmServer(answers, root, settings.warm_minutes)
            try:
                server.run()
            finally:
                server.close()


def main() -> None:
    """Serve the vault of the command line. There is nobody to report an error to."""
    with suppress(AttributeError, ValueError, OSError):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    logging.raiseExceptions = False
    with suppress(MuistiError, OSError):
        serve(Path(sys.argv[1]), foreign=sys.argv[2:] == ["foreign"])


if __name__ == "__main__":
    main()

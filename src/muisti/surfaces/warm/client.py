"""Ask the warm process of a vault. Whatever goes wrong, the caller answers the ordinary way."""

from __future__ import annotations

import _socket
import json
import os
import stat
import sys
import time

from muisti import __version__
from muisti.locations import DATABASES, locate_vault
from muisti.surfaces.warm import protocol

CONNECT_SECONDS = 0.25
SEARCH_SECONDS = 3.0
"""Seconds for a whole answer; without one, the command answers by itself."""
TYPE_CHECKING = False  # `typing` takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
HELP = {"-h", "--help"}
Reply = dict[str, object]


class NoAnswer(Exception):
    """There is no usable answer."""


class NotRunning(NoAnswer):
    """No warm process runs for this vault, so that one may be started."""


def ask(
    vault: str, request: Reply, seconds: float, is_usable: Callable[[Reply], bool] | None = None
) -> Reply:
    """Return the reply of a vault's warm process. Raises NoAnswer, NotRunning.

    The process has to be of this user, of this version, and for this vault with these settings.
    """
    place = os.path.realpath(vault)
    until = time.monotonic() + seconds
    message = {
        "muisti": __version__,
        "protocol": protocol.PROTOCOL,
        "vault": place,
        "environment": protocol.read_environment(),
        **request,
    }
    try:
        connection = connect(place)
        try:
            line = json.dumps(message).encode() + b"\n"
            if len(line) > protocol.MAX_REQUEST:
                raise NoAnswer("the request is too long")
            connection.sendall(line)
            reply = json.loads(protocol.read_line(connection, protocol.MAX_REPLY, until))
            if not isinstance(reply, dict) or reply.get("muisti") != __version__:
                raise NoAnswer("the reply is of another version")
            if reply.get("vault") != place or "refused" in reply:
                raise NoAnswer(str(reply.get("refused", "the reply is of another vault")))
            if is_usable is not None and not is_usable(reply):
                raise NoAnswer("the reply is malformed")
            connection.sendall(b"\n")  # the reply is used: now it counts as a recall
            return reply
        finally:
            connection.close()
    except (OSError, ValueError, RecursionError) as error:
        raise NoAnswer(type(error).__name__) from error


def connect(place: str) -> _socket.socket:
    """Return a connection to the process of this user. Raises OSError, NotRunning."""
    name = protocol.make_socket_name(place)
    try:
        folder = protocol.open_folder(protocol.get_socket_folder())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotRunning from error
    try:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError as error:
            raise NotRunning from error
        if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
            raise protocol.Untrusted(f"{name} is not a socket of this user")
        if status.st_mtime < time.time() - protocol.STALE_SECONDS:
            raise TimeoutError("the process hangs")
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            connection.settimeout(CONNECT_SECONDS)
            connection.connect(protocol.make_address(folder, name))
            protocol.check_peer(connection)
        except ConnectionRefusedError as error:  # it was killed, and left its socket
            connection.close()
            raise NotRunning from error
        except BaseException:
            connection.close()
            raise
        return connection
    finally:
        os.close(folder)


def run_search(arguments: list[str]) -> bool:
    """Run `muisti search` with these arguments in the warm process; print what it printed.

    Return False if the command has to run here. Nothing is printed then.
    """
    if protocol.is_disabled() or HELP & set(arguments):
        return False
    request = describe_terminal()
    vault = find_option_vault(arguments)
    if request is None or vault is None:
        return False
    request |= {"do": "search", "arguments": arguments}
    try:
        reply = ask(vault, request, SEARCH_SECONDS, has_output)
    except NoAnswer:
        return False
    streams = {1: sys.stdout, 2: sys.stderr}
    for stream in streams.values():
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        for number, text in reply["output"]:  # type: ignore[attr-defined]  # checked
            streams[number].write(text)
            streams[number].flush()
    except BrokenPipeError:  # the reader of our output has exited
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True


def has_output(reply: Reply) -> bool:
    """Return whether a reply has texts for the two output streams."""
    output = reply.get("output")
    return isinstance(output, list) and all(
        isinstance(part, list)
        and len(part) == 2
        and part[0] in (1, 2)
        and type(part[0]) is int
        and isinstance(part[1], str)
        for part in output
    )


def find_option_vault(arguments: list[str]) -> str | None:
    """Return the vault of a command line, or None if that needs a real parser."""
    options = [word for word in arguments if word.startswith(("--vault", "--store"))]
    if len(options) > 1 or "--" in arguments:
        return None
    named = None
    if options:
        name, equals, named = options[0].partition("=")
        if not equals:
            named = "".join(arguments[arguments.index(name) + 1 :][:1])
        if name not in ("--vault", "--store") or not named:
            return None
    try:
        vault = locate_vault(named, os.getcwd())[0]
    except OSError:
        return None
    return None if vault.startswith(DATABASES) else vault  # no process keeps a database open


def describe_terminal() -> Reply | None:
    """Return where output goes and how wide it is; None if the other side cannot imitate that."""
    streams = (sys.stdout, sys.stderr)
    for stream in streams:
        if getattr(stream, "encoding", "").lower().replace("-", "") != "utf8":
            return None
    terminals = [stream.isatty() for stream in streams]
    variables = {name: os.environ[name] for name in protocol.PASSED if name in os.environ}
    if any(terminals) and variables.get("TERM", "") in ("", "dumb", "unknown"):
        return None
    for number in range(3):
        try:
            size = os.get_terminal_size(number)
        except OSError:
            continue
        variables.setdefault("COLUMNS", str(size.columns))
        variables.setdefault("LINES", str(size.lines))
        break
    return {"terminals": terminals, "variables": variables, "folder": os.getcwd()}

"""What both sides of the warm process's socket agree on. Imports as little as possible.

One connection is one request: a line of JSON, a line of JSON as the reply, and an empty line by
which the client says that it uses the reply.
"""

from __future__ import annotations

import _socket
import os
import stat
import sys

from muisti.locations import get_state_path

PROTOCOL = 1
MAX_REQUEST = 2_000_000
"""The most bytes of a request; a longer prompt is handled the ordinary way."""
MAX_REPLY = 32_000_000
STALE_SECONDS = 60.0
"""A live process touches its socket more often than that; another one hangs or was stopped."""
SWITCH = "MUISTI_WARM"
OFF = ("0", "false", "no", "off")
CONSTANT = ("HOME", "TZ", "XDG_CACHE_HOME", "XDG_DATA_HOME")
"""Variables that must be the same on both sides, like those that begin with MUISTI_."""
PASSED = (
    "MUISTI_VAULT",
    "COLORTERM",
    "COLUMNS",
    "FORCE_COLOR",
    "LINES",
    "NO_COLOR",
    "TERM",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
    "UNICODE_VERSION",
)
"""Variables that a request has with it: which vault, and how output looks."""
IGNORED = ("MUISTI_HOOKS", "MUISTI_STATE", SWITCH, "MUISTI_WARM_MINUTES")
"""Variables that change no answer."""
_FNV_START = 0x6C62272E07BB014262B821756295C58D
_FNV_PRIME = 0x1000000000000000000013B
_CREDENTIALS = 12
"""Bytes of `struct ucred`: process, user and group."""


class Untrusted(OSError):
    """A folder, a socket or a peer belongs to another user, or others can access it."""


def is_disabled() -> bool:
    """Return whether no warm process is used: by a variable, in CI, or on another system."""
    if not sys.platform.startswith("linux") or os.environ.get("CI", "").lower() not in ("", *OFF):
        return True
    return os.environ.get(SWITCH, "").strip().lower() in OFF


def read_environment() -> dict[str, str]:
    """Return the variables that must be the same on both sides."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in CONSTANT
        or (name.startswith("MUISTI_") and name not in PASSED and name not in IGNORED)
    }


def get_socket_folder() -> str:
    """Return the folder of the sockets, in the user's state folder."""
    return os.path.join(get_state_path(), "warm")


def make_socket_name(vault: str) -> str:
    """Return the name of a vault's socket. A state folder may be shared between hosts."""
    digest = _FNV_START  # FNV-1a with 128 bits: `hashlib` takes longer to import than all of this
    for byte in os.fsencode(f"{os.uname().nodename}\0{vault}"):
        digest = (digest ^ byte) * _FNV_PRIME % (1 << 128)
    return f"{digest:032x}.sock"


def open_folder(folder: str) -> int:
    """Return a descriptor of the folder of sockets. Raises Untrusted unless only we can access it.

    A socket is addressed through the descriptor: the folder cannot be replaced after the check, and
    the address stays below the 108 bytes that the system allows.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    status = os.fstat(fd)
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        os.close(fd)
        raise Untrusted(f"{folder} is not private")
    return fd


def make_address(folder: int, name: str) -> str:
    """Return the address of a socket in an open folder."""
    return f"/proc/self/fd/{folder}/{name}"


def check_peer(connection: _socket.socket) -> None:
    """Raises Untrusted if the process at the other end is not of this user."""
    data = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _CREDENTIALS)
    if int.from_bytes(data[4:8], sys.byteorder) != os.geteuid():
        raise Untrusted("the other process is of another user")


def read_line(connection: _socket.socket, limit: int, until: float) -> bytes:
    """Return one line without its end. Raises OSError, also if it is late, cut or too long."""
    import time

    data = bytearray()
    while not data.endswith(b"\n"):
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        chunk = connection.recv(min(1 << 20, limit + 1 - len(data)))
        data += chunk
        if not chunk or len(data) > limit:
            raise ConnectionAbortedError("the message is cut or too long")
    return bytes(data[:-1])


def describe_status(reply: dict[str, object]) -> str:
    """Return what a warm process says about itself, in words."""
    import time

    minutes = max(0, int((time.time() - float(str(reply["since"]))) // 60))
    answered = f"requests answered: {reply['answered']}"
    return f"running as process {reply['process']} for {minutes} min, {answered}"

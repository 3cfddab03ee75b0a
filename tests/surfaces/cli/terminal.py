"""Run a command on a terminal of 80 × 24."""

from __future__ import annotations

import os
import pty
import struct
import subprocess
import sys
from pathlib import Path


def run_on_terminal(vault: Path, folder: Path, *arguments: str, typed: str = "") -> list[str]:
    """Return the lines that a command prints; typed: what is typed when it asks something."""
    import fcntl
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    environment |= {"MUISTI_VAULT": str(vault), "TERM": "xterm", "NO_COLOR": "1"}
    environment.setdefault("MUISTI_EMBEDDER", "none")
    os.write(leader, typed.encode())
    with subprocess.Popen(
        [sys.executable, "-m", "muisti", *arguments],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment,
        cwd=folder,
        start_new_session=True,
    ):
        os.close(follower)
        output = b""
        while True:
            try:
                read = os.read(leader, 65_536)
            except OSError:  # the command has exited
                break
            if not read:
                break
            output += read
    os.close(leader)
    return output.decode().splitlines()

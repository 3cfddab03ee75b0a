"""Install PgBouncer into .venv/pgbouncer, from the Debian packages of this machine's sources.

Nothing is installed into the system, so no root is needed: apt downloads and checks the packages,
dpkg unpacks them. Where apt is missing or its sources cannot be reached, it prints a message and
exits with 0; the tests that need PgBouncer are skipped.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

TARGET = Path(__file__).parents[1] / ".venv" / "pgbouncer"
LIBRARIES = re.compile(r"Depends: (libc-?ares\S*|libevent\S*)")
"""Those of its libraries that a small system lacks. Their names end with a version."""
SECONDS = 120


def run(program: str, *arguments: str) -> str:
    """Run a program of apt with folders of its own; return what it prints."""
    options = {"State::lists": "lists", "Cache": "cache"}
    command = [program, "-q", "-o", "APT::Sandbox::User=root"]
    for name, folder in options.items():
        command += ["-o", f"Dir::{name}={TARGET / folder}"]
    done = subprocess.run(
        [*command, *arguments], cwd=TARGET, check=True, timeout=SECONDS, text=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    return done.stdout


def install() -> Path:
    """Unpack the packages, unless that was done before. Return the folder."""
    if (TARGET / ".ready").is_file():
        return TARGET
    shutil.rmtree(TARGET, ignore_errors=True)
    for folder in ("lists/partial", "cache/archives/partial"):
        (TARGET / folder).mkdir(parents=True)
    run("apt-get", "update")
    libraries = LIBRARIES.findall(run("apt-cache", "depends", "pgbouncer"))
    run("apt-get", "download", "pgbouncer", *libraries)
    for package in TARGET.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, TARGET / "root"], check=True)
        package.unlink()
    for folder in ("lists", "cache"):
        shutil.rmtree(TARGET / folder)
    (TARGET / ".ready").touch()
    return TARGET


if __name__ == "__main__":
    try:
        print(f"PgBouncer: {install()}")
    except (OSError, subprocess.SubprocessError) as error:
        print(f"PgBouncer could not be installed ({error}): the tests that need it are skipped")

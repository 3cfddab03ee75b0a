"""Install the npm packages of tests/node/NAME into .venv/node/NAME, with the wheel's Node.

`python scripts/node.py browser` installs Chromium and axe-core, `agents` installs the agents and
MCP clients of tests/agents. If the registry cannot be reached, it prints a message and exits with
0; the tests that need the packages are skipped.
Install scripts of packages do not run. The lock file's hashes decide what is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNPACK = """
const fs = require('fs'), zlib = require('zlib'), [source, target] = process.argv.slice(1);
for (const name of fs.readdirSync(source).filter((name) => name.endsWith('.br')))
{
  const packed = fs.readFileSync(`${source}/${name}`);
  fs.writeFileSync(`${target}/${name.slice(0, -3)}`, zlib.brotliDecompressSync(packed));
}
"""
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/fonts</dir><dir>/usr/share/fonts</dir>
<cachedir>{folder}/fonts-cache</cachedir>
<alias><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
<alias><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias></fontconfig>
"""


def node_environment() -> dict[str, str]:
    """Return this process's environment with the wheel's `node` and `npm` first in PATH."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def install(name: str) -> Path:
    """Install the packages of one folder, unless the same lock file is already installed."""
    source, target = ROOT / "tests" / "node" / name, ROOT / ".venv" / "node" / name
    lock = (source / "package-lock.json").read_bytes()
    done = target / ".ready"
    if done.is_file() and done.read_bytes() == lock:
        return target
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for file in ("package.json", "package-lock.json"):
        shutil.copy(source / file, target)
    # `npm ci` fails if an optional package for another platform is missing from the registry.
    npm = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(
        npm, cwd=target, env=node_environment(), check=True, timeout=600, stdout=subprocess.DEVNULL
    )
    if name == "browser":
        unpack_chromium(target)
    done.write_bytes(lock)
    return target


def unpack_chromium(target: Path) -> None:
    """Unpack the browser, its libraries and a font into `chromium/`."""
    folder = target / "chromium"
    folder.mkdir()
    packed = target / "node_modules" / "@sparticuz" / "chromium" / "bin"
    subprocess.run(
        ["node", "-e", UNPACK, str(packed), str(folder)], env=node_environment(), check=True
    )
    for archive in folder.glob("*.tar"):
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
        archive.unlink()
    (folder / "chromium").chmod(0o755)
    (folder / "fonts.conf").write_text(FONTS.format(folder=folder))


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        try:
            print(f"{wanted}: {install(wanted)}")
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{wanted} could not be installed ({error}): the tests that need it are skipped")

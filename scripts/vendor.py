"""Fetches what the web page needs from the package registry, through npm, and checks it.

scripts/vendor.py            fetch the versions that vendor.toml names and compare their hashes
scripts/vendor.py --update   fetch, and write down the hashes that were found (after a change of a
version) scripts/vendor.py --check    compare what is there with its hashes, without the network
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any

VENDOR = Path(__file__).resolve().parent.parent / "src/muisti/surfaces/web/static/vendor"
TABLE = VENDOR / "vendor.toml"


def main(arguments: list[str]) -> int:
    table = tomllib.loads(TABLE.read_text())
    hashes: dict[str, str] = table.pop("sha256", {})
    if "--check" not in arguments:
        found = fetched(table)
        if "--update" in arguments:
            hashes = {name: hashlib.sha256(data).hexdigest() for name, data in found.items()}
            written(hashes)
        if wrong := different(found, hashes):
            print(f"not as vendor.toml says, nothing was written: {', '.join(wrong)}")
            return 1
        for name, data in found.items():
            (VENDOR / name).parent.mkdir(parents=True, exist_ok=True)
            (VENDOR / name).write_bytes(data)
    here = {
        path.relative_to(VENDOR).as_posix(): path.read_bytes()
        for path in VENDOR.rglob("*")
        if path.is_file()
    }
    here.pop(TABLE.name)
    wrong = different(here, hashes)
    print(
        f"not as vendor.toml says: {', '.join(wrong)}"
        if wrong
        else f"{len(hashes)} files are as vendor.toml says"
    )
    return 1 if wrong else 0


def different(files: dict[str, bytes], hashes: dict[str, str]) -> list[str]:
    """Names that are missing, that nobody asked for, or whose content is another."""
    made = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    return sorted(name for name in {*made, *hashes} if made.get(name) != hashes.get(name))


def fetched(table: dict[str, Any]) -> dict[str, bytes]:
    """The wanted files of every package, by their names below `vendor/`."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, package in table.items():
            tarball = packed(f"{package['package']}@{package['version']}", Path(folder) / name)
            with tarfile.open(tarball) as archive:
                for target, source in package["files"].items():
                    member = archive.extractfile(f"package/{source}")
                    if member is None:
                        raise SystemExit(f"{tarball.name} has no {source}")
                    found[f"{name}/{target}"] = member.read()
    return found


def packed(what: str, folder: Path) -> Path:
    folder.mkdir()
    subprocess.run(
        ["npm", "pack", what, "--silent", "--ignore-scripts", "--pack-destination", str(folder)],
        check=True,
    )
    return next(folder.glob("*.tgz"))


def written(hashes: dict[str, str]) -> None:
    head = TABLE.read_text().partition("[sha256]")[0]
    TABLE.write_text(
        head
        + "[sha256]\n"
        + "".join(f'"{name}" = "{sha}"\n' for name, sha in sorted(hashes.items()))
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

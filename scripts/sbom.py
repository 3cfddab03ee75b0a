"""Write a software bill of materials (CycloneDX 1.6, JSON) from the pins in `requirements/`.

    python scripts/sbom.py [FOLDER]

writes FOLDER/sbom-run.json (what a user installs) and FOLDER/sbom-dev.json (with extras and tools);
the default folder is `build`. The output depends on the pins and the version only, so that two runs
can be compared.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9][\w.\-]*)==(?P<version>[^\s;\\]+)(?P<rest>.*)$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_MARKER = re.compile(r";\s*([^\\]+)")


def main(arguments: list[str]) -> int:
    """Write one file for each list of pins."""
    folder = Path(arguments[0]) if arguments else ROOT / "build"
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("run", "dev"):
        bill = make_bill((ROOT / "requirements" / f"{kind}.txt").read_text("utf-8"), kind)
        target = folder / f"sbom-{kind}.json"
        target.write_text(json.dumps(bill, indent=2) + "\n", "utf-8")
        print(f"{target}: {len(bill['components'])} packages")  # type: ignore[arg-type]
    return 0


def make_bill(pins: str, kind: str) -> dict[str, object]:
    """Return the document for a list of pins. Raises ValueError for a pin without a hash."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = re.search(r'__version__ = "([^"]+)"', (ROOT / "src/muisti/__init__.py").read_text())
    version = found[1] if found else "0"
    root = f"pkg:pypi/{project['name']}@{version}"
    components = parse_pins(pins)
    content = json.dumps([root, kind, components], sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": project["name"],
                "version": version,
                "purl": root,
                "description": project["description"],
                "licenses": [{"license": {"id": project["license"]}}],
            },
        },
        "components": components,
        "dependencies": [{"ref": root, "dependsOn": [one["bom-ref"] for one in components]}],
    }


def parse_pins(text: str) -> list[dict[str, object]]:
    """Return a component for each pin, with the hashes of its files.

    Raises ValueError for a line that is not a pin, and for a pin without a hash.
    """
    components: list[dict[str, object]] = []
    for line in text.replace("\\\n", " ").splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        pin = _PIN.match(line)
        if pin is None:
            raise ValueError(f"{line[:60]!r} is not a pin; run `make pins`")
        hashes = _HASH.findall(line)
        if not hashes:
            raise ValueError(f"{pin['name']} has no hash; run `make pins`")
        name = re.sub(r"[-_.]+", "-", pin["name"]).lower()
        url = f"pkg:pypi/{name}@{pin['version']}"
        marker = _MARKER.search(pin["rest"].split("--hash")[0])
        component: dict[str, object] = {
            "type": "library",
            "bom-ref": url + (f"#{marker[1].strip()}" if marker else ""),
            "name": name,
            "version": pin["version"],
            "purl": url,
            # One of these is the file that was installed: each platform has its own.
            "hashes": [{"alg": "SHA-256", "content": one} for one in hashes],
        }
        if marker:
            component["properties"] = [
                {"name": "python:environment-marker", "value": marker[1].strip()}
            ]
        components.append(component)
    return components


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

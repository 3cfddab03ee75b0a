"""The software bill of materials lists every pin with its hashes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from scripts import sbom

PINS = (
    """\
apsw==3.52.0 \\
    --hash=sha256:A \\
    --hash=sha256:B
Colorama_X==0.4.6 ; sys_platform == 'win32' \\
    --hash=sha256:C
""".replace("A", "a" * 64)
    .replace("B", "b" * 64)
    .replace("C\n", "c" * 64)
)


def test_every_pin_is_a_component_with_its_hashes() -> None:
    first, second = json.loads(json.dumps(sbom.parse_pins(PINS)))
    assert first["purl"] == "pkg:pypi/apsw@3.52.0"
    assert [one["content"] for one in first["hashes"]] == ["a" * 64, "b" * 64]
    assert second["name"] == "colorama-x"
    assert second["properties"][0]["value"] == "sys_platform == 'win32'"


@pytest.mark.parametrize(
    ("line", "says"),
    [("apsw==3.52.0", "apsw has no hash"), ("-e .", "is not a pin"), ("apsw>=3", "is not a pin")],
)
def test_what_is_not_pinned_is_refused(line: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        sbom.parse_pins(line)


@pytest.mark.parametrize("kind", ["run", "dev"])
def test_the_bill_of_this_repository(tmp_path: Path, kind: str) -> None:
    assert sbom.main([str(tmp_path)]) == 0
    written = (tmp_path / f"sbom-{kind}.json").read_bytes()
    bill = json.loads(written)
    pins = (sbom.ROOT / "requirements" / f"{kind}.txt").read_text()
    names = re.findall(r"^([\w.\-]+)==", pins, re.MULTILINE)
    assert len(bill["components"]) == len(names) > 20
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    references = [one["bom-ref"] for one in bill["components"]]
    assert len(set(references)) == len(references)
    assert bill["dependencies"][0]["dependsOn"] == references
    assert all(one["hashes"] for one in bill["components"])
    assert sbom.main([str(tmp_path)]) == 0
    assert (tmp_path / f"sbom-{kind}.json").read_bytes() == written, "the same pins, the same bytes"

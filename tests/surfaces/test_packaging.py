"""What a package index and an installer see: pins with hashes, links that work outside the
repository.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
BUILD = """
import sys
from hatchling.build import prepare_metadata_for_build_wheel
print(prepare_metadata_for_build_wheel(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Message:
    target = tmp_path_factory.mktemp("metadata")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(target)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    folder = done.stdout.split()[-1]
    return message_from_string((target / folder / "METADATA").read_text("utf-8"))


def test_no_link_or_picture_of_the_readme_is_relative_on_a_package_index(metadata: Message) -> None:
    readme = str(metadata.get_payload())
    html = MarkdownIt("commonmark").enable("table").render(readme)
    targets = re.findall(r'(?:href|src)="([^"]*)"', html)
    assert len(targets) > 5
    assert [each for each in targets if not each.startswith(("https://", "#"))] == []
    assert not re.search(r"\]\((?!https://|#)", readme)


def test_the_metadata_says_where_the_project_is_and_what_it_runs_on(metadata: Message) -> None:
    urls = dict(str(line).split(", ") for line in metadata.get_all("Project-URL", []))
    assert {"Homepage", "Documentation", "Changelog", "Issues", "Source"} <= urls.keys()
    classifiers = metadata.get_all("Classifier", [])
    assert "Programming Language :: Python :: 3.11" in classifiers
    assert "Typing :: Typed" in classifiers
    assert (ROOT / "src" / "muisti" / "py.typed").is_file()
    assert metadata["License-Expression"] == "Apache-2.0"


FRAMEWORKS = {
    "crewai",
    "google-adk",
    "langchain",
    "langgraph",
    "llama-index",
    "openai-agents",
    "pydantic-ai",
}
"""Extras that are not in `all`: an agent uses one of them, and they are large."""


def test_the_extra_all_has_every_extra_but_frameworks() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    others = ",".join(sorted(extras.keys() - {"all"} - FRAMEWORKS))
    assert extras.keys() >= FRAMEWORKS
    assert extras["all"] == [f"muisti[{others}]"]


@pytest.mark.parametrize(
    "name", ["run.txt", "dev.txt", "frameworks.txt", "crewai.txt", "peers.txt"]
)
def test_every_pin_has_a_hash_and_no_address(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text("utf-8")
    assert "://" not in text
    assert "--index" not in text
    pins = text.replace("\\\n", " ").splitlines()
    assert len(pins) > 30
    for pin in pins:
        assert re.match(r"[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", pin), pin


def test_what_runs_is_pinned_alike_for_users_and_developers() -> None:
    run, dev = (
        dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements" / name).read_text(), re.M))
        for name in ("run.txt", "dev.txt")
    )
    assert run.items() <= dev.items()

"""F5 · Document versions, as in the table `doc_chunks` of spec 2: each section knows the version of its
file.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from muisti import Muisti
from muisti.surfaces.rest.app import create_app
from muisti.surfaces.rest.config import ServerConfig
from tests.acceptance.conftest import read_again
from tests.acceptance.test_F_documents import GUIDE, Shelves
from tests.conftest import Opener
from tests.surfaces.cli.test_cli import Cli

pytestmark = pytest.mark.has_documents


@pytest.fixture
def disk(tmp_path: Path) -> Shelves:
    return Shelves(tmp_path)


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def versions(memory: Muisti, query: str) -> set[str]:
    found = memory.search(query, source="document", limit=100)
    return {result.document_version for result in found}


def test_F5_every_section_has_the_version_of_its_file(memory: Muisti, disk: Shelves) -> None:
    guide = disk.write("docs/guide.md", GUIDE)
    disk.write("docs/other.md", "# Walrus\n\nAnother walrus.\n")
    memory.index_path(disk.root / "docs")
    first, other = memory.list_documents()
    assert (first.path, first.source) == (str(guide), str(disk.root / "docs"))
    assert first.version != other.version
    assert len(first.version) == 16
    assert versions(memory, "walrus clams ice floes") == {first.version, other.version}
    assert versions(memory, "clams") == {first.version}


def test_F5_a_changed_file_has_a_new_version_and_no_section_of_the_old_one_stays(
    memory: Muisti, disk: Shelves
) -> None:
    disk.write("docs/guide.md", GUIDE)
    memory.index_path(disk.root / "docs")
    (old,) = memory.list_documents()
    disk.write("docs/guide.md", GUIDE.replace("Clams", "Mussels"))
    read_again(memory)
    (new,) = memory.list_documents()
    assert new.version != old.version
    assert versions(memory, "walrus clams mussels ice floes guide") == {new.version}
    assert memory.search("clams", source="document") == []
    disk.write("docs/guide.md", GUIDE)
    read_again(memory)
    assert memory.list_documents() == [old]  # the same bytes are the same version
    memory.reindex()
    assert memory.list_documents() == [old]
    assert versions(memory, "clams") == {old.version}


def test_F5_other_results_have_no_version(memory: Muisti, disk: Shelves) -> None:
    memory.save("The walrus eats clams")
    memory.append_message("web_1", "user", "A walrus again")
    assert {one.document_version for one in memory.search("walrus")} == {""}
    assert memory.list_documents() == []
    disk.write("docs/guide.md", GUIDE)
    memory.index_path(disk.root / "docs")
    memory.forget_path(disk.root / "docs")
    assert memory.list_documents() == []


def test_A3_documents_are_listed_where_a_search_finds_them(memory: Muisti, disk: Shelves) -> None:
    for name, scope in {"all": {}, "shop": {"project": "shop"}, "anna": {"user": "anna"}}.items():
        disk.write(f"{name}/a.md", f"# {name}\n\nThe walrus.\n")
        memory.index_path(disk.root / name, **scope)

    def seen(**scope: str) -> set[str]:
        listed = {Path(one.path).parent.name for one in memory.list_documents(**scope)}
        found = memory.search("walrus", source="document", **scope)  # type: ignore[arg-type]
        assert listed == {Path(str(one.memory.file_path)).parent.name for one in found}
        return listed

    assert seen() == seen(project="shop", user="anna") == {"all", "shop", "anna"}
    assert seen(project="web", user="bo") == {"all"}
    assert seen(user="bo") == {"all", "shop"}


@pytest.mark.needs_files("opens the folder")
def test_J2_J3_versions_on_the_command_line_and_over_rest(
    memory: Muisti, disk: Shelves, vault: Path
) -> None:
    disk.write("docs/guide.md", GUIDE)
    memory.index_path(disk.root / "docs")
    (known,) = memory.list_documents()
    app = create_app(memory, ServerConfig(web_page=False, watch=False))
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        (listed,) = client.get("/api/documents/files").json()
        found = client.post("/api/search", json={"query": "clams"}).json()
    assert (listed["path"], listed["version"]) == (known.path, known.version)
    assert found["results"][0]["documentVersion"] == known.version
    memory.close()
    cli = Cli(vault, disk.root)
    cli.environment |= {"MUISTI_EMBEDDER": "none", "COLUMNS": "200"}
    assert known.version in cli.run("index", "--files").stdout
    (printed,) = json.loads(cli.run("index", "--files", "--json").stdout)
    assert printed["version"] == known.version
    (result,) = json.loads(cli.run("search", "clams", "--json").stdout)
    assert result["document_version"] == known.version
    assert "--files" in cli.run("index", "docs", "--files", code=1).stderr

"""One file is enough to add an embedder, a language model, a vector index or an import format.

Each test writes the module that a contributor would add, and uses it through the public interface.
That a ranking feature is one object is tested in test_snippet_rank.py.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.errors import ImportFailed, SettingsError
from muisti.models.language.factory import make_language_model
from muisti.registry import Registry
from muisti.settings import Settings
from muisti.storage.sqlite.vector_indexes import make_scan

AddModule = Callable[[str, str, str], None]


@pytest.fixture
def add_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AddModule]:
    """Add a module to a package as if its file had been put into the package's folder."""
    added = []

    def add(package: str, name: str, code: str) -> None:
        folder = tmp_path / package
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(code)
        parent = importlib.import_module(package)
        monkeypatch.setattr(parent, "__path__", [*parent.__path__, str(folder)])
        importlib.invalidate_caches()
        added.append((parent, name))

    yield add
    for parent, name in added:
        sys.modules.pop(f"{parent.__name__}.{name}", None)
        if hasattr(parent, name):
            delattr(parent, name)


def test_an_embedder_is_one_file(add_module: AddModule, tmp_path: Path) -> None:
    add_module(
        "muisti.models.embedders",
        "length_of_text",
        """
from muisti.errors import SettingsError
from muisti.models.embedders.hashing import HashingEmbedder
from muisti.models.embedders.registry import EmbedderSpec
from muisti.ports import Identity

class LengthEmbedder(HashingEmbedder):
    def identity(self):
        return Identity("length", 256, "r1")

def check(settings):
    if settings.model != "any":
        raise SettingsError("the embedder length-of-text needs the model any")

SPEC = EmbedderSpec(lambda options: LengthEmbedder(), check)
""",
    )
    with pytest.raises(SettingsError, match="needs the model any"):
        bootstrap.open(tmp_path / "vault", settings={"embedder": "length-of-text"})
    with pytest.raises(
        SettingsError, match="must be one of onnx, hashing, length-of-text, ollama, openai, none"
    ):
        bootstrap.open(tmp_path / "vault", settings={"embedder": "unheard"})
    with bootstrap.open(
        tmp_path / "vault", settings={"embedder": "length-of-text", "model": "any"}
    ) as memory:
        saved = memory.save("Otters sleep on the water.")
        found = memory.search("Otters sleep on the water.", mode="vector")
        assert (found.mode, [one.memory.id for one in found]) == ("vector", [saved.id])


def test_a_language_model_is_one_file(add_module: AddModule) -> None:
    add_module(
        "muisti.models.language",
        "parrot",
        """
from muisti.models.language.registry import LanguageModelSpec

class Parrot:
    def __init__(self, url, model, key=None, *, timeout=60.0, clock=None):
        self._says = f"{model} at {url}"

    def complete(self, system, question):
        return f"{self._says}: {question}"

    def close(self):
        pass

SPEC = LanguageModelSpec(Parrot, "https://parrot.example")
""",
    )
    chat = make_language_model(Settings(extractor="parrot", extractor_model="grey"))
    assert chat is not None
    assert chat.complete("", "hello") == "grey at https://parrot.example: hello"
    with pytest.raises(
        SettingsError, match="must be one of rules, anthropic, ollama, openai, parrot"
    ):
        make_language_model(Settings(extractor="owl"))


def test_a_vector_index_is_one_file(add_module: AddModule, tmp_path: Path) -> None:
    add_module(
        "muisti.storage.sqlite.vector_indexes",
        "every_one",
        """
import numpy as np

asked = []

class EveryOne:
    def find_nearest(self, db, file, space, query, take, among=None):
        asked.append(space)
        rows = db.execute("SELECT v FROM vectors WHERE space = ?", (space.number,)).fetchall()
        return np.array([v for (v,) in rows], np.int64)

SPEC = EveryOne
""",
    )
    with bootstrap.open(
        tmp_path / "vault", settings={"embedder": "hashing", "vector_index": "every-one"}
    ) as memory:
        saved = memory.save("Otters sleep on the water.")
        memory.save("Bees dance.")
        assert memory.search("otters on water", mode="vector")[0].memory.id == saved.id
    assert sys.modules["muisti.storage.sqlite.vector_indexes.every_one"].asked
    with pytest.raises(SettingsError, match="choose bits, every-one, hnsw or sqlite-vec"):
        make_scan("faiss")


NOTES = """
from muisti.importers import FormatSpec
from muisti.model import Draft
from muisti.ports import ImportedMemory

def sniff(source):
    return source.suffix in (".notes", ".json") and source.read_head(source.files[0])[:7] == b"notes 1"

def load(source, codec):
    lines = source.read(source.files[0])[0].decode().splitlines()[1:]
    return [ImportedMemory(Draft(content=line)) for line in lines]

def dump(memories, codec):
    return "\\n".join(["notes 1", *(memory.content for memory in memories)])

SPEC = FormatSpec(sniff, load, dump, suffix=".notes")
"""


def test_an_import_format_is_one_file(
    add_module: AddModule, tmp_path: Path, memory: Muisti
) -> None:
    """It is found by sniffing, also where a generic format would take the file, and can be
    exported.
    """
    add_module("muisti.importers", "notes", NOTES)
    for name in ("mine.notes", "mine.json"):
        (tmp_path / name).write_text(f"notes 1\nOtters sleep in {name}.\nBees dance in {name}.")
        assert memory.import_memories(tmp_path / name) == 2
    assert memory.search("otters")[0].memory.content.startswith("Otters sleep in mine.")
    exported = memory.export_memories(format="notes").splitlines()
    assert (exported[0], len(exported)) == ("notes 1", 5)
    (tmp_path / "other.txt").write_text("x")
    with pytest.raises(
        ImportFailed,
        match=r"pass a \.af, \.json, \.jsonl, \.md, \.notes or \.zip file, or a folder",
    ):
        memory.import_memories(tmp_path / "other.txt")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "choose",
        "registry",
        "../onnx",
        "hashing.x",
        "Hashing",
        "sqlite_vec",
        "__init__",
        "nothing",
    ],
)
def test_only_modules_with_a_spec_are_parts(name: str) -> None:
    embedders: Registry[object] = Registry("muisti.models.embedders")
    assert embedders.find(name) is None


def test_a_part_that_lacks_a_package_is_not_taken_for_an_unknown_name(
    add_module: AddModule,
) -> None:
    add_module("muisti.importers", "broken", "import a_package_that_nobody_has")
    with pytest.raises(ModuleNotFoundError, match="a_package_that_nobody_has"):
        Registry("muisti.importers").find("broken")


def test_only_the_part_in_use_is_imported(tmp_path: Path) -> None:
    code = f"""
import sys
from muisti import bootstrap
with bootstrap.open({str(tmp_path / "vault")!r}) as memory:
    memory.list()
heavy = ("numpy", "onnxruntime", "httpx2", "usearch", "sqlite_vec", "pkgutil")
parts = [f"muisti.models.embedders.{{name}}" for name in ("hashing", "ollama", "openai", "wordpiece")]
parts += ["muisti.importers.json", "muisti.importers.markdown", "muisti.storage.sqlite.vector_indexes.bits"]
print([name for name in (*heavy, *parts) if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

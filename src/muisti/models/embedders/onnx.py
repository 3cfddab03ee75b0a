"""Local models, run by ONNX Runtime on the CPU."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from muisti.errors import EmbedderProblem, EmbedderUnavailable, ModelDamaged, ModelNotInstalled
from muisti.models.embedders.catalog import DEFAULT, Model, find_model, locate, verify_model
from muisti.models.embedders.registry import EmbedderOptions, EmbedderSpec
from muisti.models.embedders.vectors import validate_vectors
from muisti.processes import release_memory

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

    from muisti.models.embedders.wordpiece import WordPiece
    from muisti.ports import Identity, Matrix, Vector

_READING = "r1"
"""Must change when tokenizer, pooling or normalisation change: all vectors do."""
LEAST_READ = 0.2
"""The models are English: of a text with a smaller share of letters that they know they read next
to nothing but names, which keyword search finds too. They know Latin letters and, one by one, many
Chinese characters: an English question finds 43 % of the Chinese paragraphs that answer it.
"""
_loading = Lock()
_sessions: WeakValueDictionary[tuple[Path, int], InferenceSession] = WeakValueDictionary()
"""Shared by the embedders of a process: the weights take tens of megabytes."""


class OnnxEmbedder:
    """Embeds with one model, loaded on first use or by `load`. Thread-safe."""

    is_remote = False
    is_parallel = True

    def __init__(
        self, model: Model, path: Path, *, threads: int = 1, cache: Path | None = None
    ) -> None:
        self.max_tokens = model.max_tokens
        self.unrelated = model.unrelated
        self._model = model
        self._path = path
        self._threads = threads
        self._cache = cache
        self._session: InferenceSession | None = None

    def identity(self) -> Identity:
        """Return the identity from the catalogue."""
        from muisti.ports import Identity  # a search by keyword only checks the settings

        model = self._model
        return Identity(
            model.name, model.dimensions, f"{model.sha256[:12]}-{model.pooling}-{_READING}"
        )

    def is_ready(self) -> bool:
        """Return whether the weights are loaded."""
        return self._session is not None

    def load(self) -> None:
        """Load the weights. Raises ModelDamaged, ModelNotInstalled."""
        self._load_session()
        _load_tokenizer()

    def understands(self, text: str) -> float:
        """Return the share of Latin letters: these models know little but English."""
        if text.isascii():
            return float(any(map(str.isalpha, text[:1000])))
        letters = [char for char in text[:1000] if char.isalpha()]
        return sum(char < "\u0250" for char in letters) / max(1, len(letters))

    def reads(self, text: str) -> bool:
        """Return whether enough of a text is in letters that it knows; True if it has none."""
        if text.isascii():
            return True
        letters = [char for char in text if char.isalpha()]
        known = sum(char < "\u0250" or "\u4e00" <= char <= "\u9fff" for char in letters)
        return not letters or known >= LEAST_READ * len(letters)

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens, without [CLS] and [SEP]."""
        return _load_tokenizer().count(text)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row for each text. Raises ModelDamaged, ModelNotInstalled, EmbedderProblem."""
        return self._embed(texts)

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query, with the prefix that the model expects."""
        row: Vector = self._embed([self._model.query_prefix + text])[0]
        return row

    def close(self) -> None:
        """Release the weights. They are loaded again on the next use."""
        self._session = None

    def _embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np  # slow to import

        if not texts:
            return np.zeros((0, self._model.dimensions), dtype=np.float32)
        session = self._load_session()
        names = {one.name for one in session.get_inputs()}
        rows = []
        # One by one: in a batch, int8 scaling would make vectors depend on each other.
        for text in texts:
            ids = np.array([_load_tokenizer().encode(text, self.max_tokens)], dtype=np.int64)
            feed = {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "token_type_ids": np.zeros_like(ids),
            }
            inputs = {name: value for name, value in feed.items() if name in names}
            try:
                states = session.run(None, inputs)[0][0]
            except Exception as error:  # ONNX Runtime's errors have no other common base
                failed = f"the model {self._model.name} failed on a text of {len(text)} characters"
                raise EmbedderProblem(f"{failed}: {error}") from error
            rows.append(states[0] if self._model.pooling == "cls" else states.mean(axis=0))
        return validate_vectors(
            np.stack(rows), len(texts), self._model.dimensions, self._model.name
        )

    def _load_session(self) -> InferenceSession:
        session = self._session
        if session is None:
            with _loading:
                key = (self._path, self._threads)
                session = _sessions.get(key)
                if session is None:
                    path = verify_model(self._path, self._model, cache=self._cache)
                    session = _sessions[key] = _open_session(path, self._model, self._threads)
                    release_memory()  # the copies that loading made
                self._session = session
        return session


def _load_tokenizer() -> WordPiece:
    from muisti.models.embedders.wordpiece import load_bert_uncased  # checking settings needs none

    return load_bert_uncased()


def _open_session(path: Path, model: Model, threads: int) -> InferenceSession:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # releases from 1.29 on send telemetry
    try:
        import onnxruntime as ort  # 150 ms, and optional
    except ImportError as error:
        raise ModelNotInstalled(
            f"the model {model.name} needs ONNX Runtime ({error}); `pip install onnxruntime`"
        ) from error
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    # Idle threads must not use a core.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except MemoryError as error:
        raise EmbedderUnavailable(f"not enough memory for the model {model.name}") from error
    except Exception as error:  # ONNX Runtime's errors have no other common base
        fix = f"run `muisti model install {model.name}`"
        raise ModelDamaged(f"{path}: cannot be loaded ({error}); {fix}") from error


def _make(options: EmbedderOptions) -> OnnxEmbedder:
    model = find_model(options.model or DEFAULT)
    path = locate(model)
    if path is None:
        fix = f"run `muisti model install {model.name}`"
        raise ModelNotInstalled(f"the model {model.name} is not installed; {fix}")
    return OnnxEmbedder(model, path, threads=options.threads)


SPEC = EmbedderSpec(
    _make,
    lambda settings: find_model(settings.model or DEFAULT),
    is_local=True,
    name_model=lambda name: find_model(name or DEFAULT).name,
)

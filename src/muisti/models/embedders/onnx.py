"""Models of the catalogue on this machine's processor, through ONNX Runtime."""

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
from muisti.ports import Identity, Matrix, Vector

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

    from muisti.models.embedders.wordpiece import WordPiece
    from muisti.settings import Settings

_READING = "r1"
"""Changes when tokenizer, pooling or normalisation change, and with them every vector."""
_loading = Lock()
_sessions: WeakValueDictionary[tuple[Path, int], InferenceSession] = WeakValueDictionary()
"""One session for all embedders of a process that use the same file: weights are tens of megabytes."""


class OnnxEmbedder:
    """Embeds with one model; the weights are loaded at the first use, or by `load`. Threads may share it."""

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
        """The catalogue knows it."""
        model = self._model
        return Identity(
            model.name, model.dimensions, f"{model.sha256[:12]}-{model.pooling}-{_READING}"
        )

    def is_ready(self) -> bool:
        """Whether the weights are loaded."""
        return self._session is not None

    def load(self) -> None:
        """Load the weights now, for example in the background. Raises ModelDamaged, ModelNotInstalled."""
        self._loaded()
        _tokenizer()

    def understands(self, text: str) -> float:
        """The share of the letters that are Latin: the models of the catalogue read English and not much else."""
        letters = [char for char in text[:1000] if char.isalpha()]
        return sum(char < "\u0250" for char in letters) / len(letters) if letters else 0.0

    def count_tokens(self, text: str) -> int:
        """Exact; [CLS] and [SEP] are not counted."""
        return _tokenizer().count(text)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """One row for each text. Raises ModelDamaged, ModelNotInstalled, EmbedderProblem."""
        return self._embed(texts)

    def embed_query(self, text: str) -> Vector:
        """The vector of a question, with what this model wants to see in front of one."""
        row: Vector = self._embed([self._model.query_prefix + text])[0]
        return row

    def close(self) -> None:
        """Let go of the weights; they are loaded again if need be."""
        self._session = None

    def _embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np  # not loaded by those who never embed

        if not texts:
            return np.zeros((0, self._model.dimensions), dtype=np.float32)
        session = self._loaded()
        return validate_vectors(
            np.stack([self._run(session, text) for text in texts]),
            len(texts),
            self._model.dimensions,
            self._model.name,
        )

    def _run(self, session: InferenceSession, text: str) -> Vector:
        """One text a run: dynamic int8 scales by the batch, so that a text's vector would depend on its neighbours."""
        import numpy as np

        ids = np.array([_tokenizer().encode(text, self.max_tokens)], dtype=np.int64)
        feed = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        wanted = {put.name for put in session.get_inputs()}
        try:
            states = session.run(
                None, {name: value for name, value in feed.items() if name in wanted}
            )[0][0]
        except Exception as error:  # ONNX Runtime's own errors share no root but this
            raise EmbedderProblem(
                f"the model {self._model.name} failed on a text of {len(text)} characters: {error}"
            ) from error
        pooled: Vector = states[0] if self._model.pooling == "cls" else states.mean(axis=0)
        return pooled

    def _loaded(self) -> InferenceSession:
        session = self._session
        if session is None:
            with _loading:
                key = (self._path, self._threads)
                session = _sessions.get(key)
                if session is None:
                    session = _sessions[key] = _open(
                        verify_model(self._path, self._model, cache=self._cache),
                        self._model,
                        self._threads,
                    )
                self._session = session
        return session


def _tokenizer() -> WordPiece:
    from muisti.models.embedders.wordpiece import (
        load_bert_uncased,
    )  # settings are checked without it

    return load_bert_uncased()


def _open(path: Path, model: Model, threads: int) -> InferenceSession:
    os.environ["ORT_DISABLE_TELEMETRY"] = (
        "1"  # releases from 1.29 on report to their maker; we ask for earlier ones
    )
    try:
        import onnxruntime as ort  # 150 ms, and an extra that not everybody has
    except ImportError as error:
        raise ModelNotInstalled(
            f"the model {model.name} needs ONNX Runtime ({error}); `pip install onnxruntime`"
        ) from error
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    options.add_session_config_entry(
        "session.intra_op.allow_spinning", "0"
    )  # idle threads must not burn a core
    try:
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except MemoryError as error:
        raise EmbedderUnavailable(
            f"there is not enough memory for the model {model.name}"
        ) from error
    except Exception as error:  # ONNX Runtime's own errors share no root but this
        raise ModelDamaged(
            f"{path}: cannot be loaded ({error}); get it again with `muisti model install {model.name}`"
        ) from error


def _make(options: EmbedderOptions) -> OnnxEmbedder:
    model = find_model(options.model or DEFAULT)
    path = locate(model)
    if path is None:
        cure = f"`muisti model install {model.name}` gets it"
        raise ModelNotInstalled(f"the model {model.name} is not on this machine; {cure}")
    return OnnxEmbedder(model, path, threads=options.threads)


def _check(settings: Settings) -> None:
    find_model(settings.model or DEFAULT)


SPEC = EmbedderSpec(_make, _check, is_local=True)

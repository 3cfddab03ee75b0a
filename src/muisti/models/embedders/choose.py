"""From settings to an embedder."""

from __future__ import annotations

from pathlib import Path
from threading import Lock

from muisti.errors import EmbedderProblem, ModelNotInstalled, SettingsError
from muisti.models.embedders.catalogue import DEFAULT, find_model, locate
from muisti.models.embedders.guarded import GuardedEmbedder
from muisti.models.http.breaker import Breaker
from muisti.models.http.purpose import EMBEDDER
from muisti.ports import Embedder, Identity
from muisti.settings import Settings

KINDS = ("onnx", "hashing", "ollama", "openai", "none")
_OLLAMA_URL = "http://localhost:11434"
_OLLAMA_MODEL = "nomic-embed-text"


def make_embedder(
    kind: str,
    *,
    model: str = "",
    url: str = "",
    key: str | None = None,
    dimensions: int = 0,
    timeout: float = 30.0,
    threads: int = 1,
) -> Embedder | None:
    """The embedder of this kind; None for `none`. Empty values and 0 dimensions stand for the kind's own defaults.

    Raises SettingsError, and ModelNotInstalled when the model of `onnx` is not on this machine. Nothing is loaded or
    asked yet.
    """
    if kind == "none":
        return None
    if kind == "onnx":
        return _onnx(model, threads)
    if kind == "hashing":
        from muisti.models.embedders.hashing import HashingEmbedder

        return HashingEmbedder(dimensions or 256)
    if kind == "ollama":
        from muisti.models.embedders.ollama import OllamaEmbedder

        return OllamaEmbedder(url or _OLLAMA_URL, model or _OLLAMA_MODEL, dimensions=dimensions or None, timeout=timeout)
    if kind == "openai":
        from muisti.models.embedders.openai import OpenAIEmbedder

        if not url or not model:
            raise SettingsError("the embedder `openai` needs a url and a model, such as https://api.openai.com/v1")
        return OpenAIEmbedder(url, model, key, dimensions=dimensions or None, timeout=timeout)
    raise SettingsError(f"there is no embedder {kind!r}; choose one of {', '.join(KINDS)}")


def check_settings(settings: Settings) -> None:
    """Raises SettingsError for an embedder that cannot be, before anything is saved with it. Loads and asks nothing."""
    if settings.embedder not in KINDS:
        raise SettingsError(f"embedder = {settings.embedder!r}: choose one of {', '.join(KINDS)}")
    if settings.embedder == "openai" and not (settings.embedder_url and settings.model):
        raise SettingsError('embedder = "openai" needs embedder_url and model too, such as "https://api.openai.com/v1"')
    if settings.embedder == "onnx":
        find_model(settings.model or DEFAULT)


def _onnx(name: str, threads: int) -> Embedder:
    from muisti.models.embedders.onnx import OnnxEmbedder

    model = find_model(name or DEFAULT)
    path: Path | None = locate(model)
    if path is None:
        raise ModelNotInstalled(f"the model {model.name} is not on this machine; `muisti model install {model.name}` gets it")
    return OnnxEmbedder(model, path, threads=threads)


class SettingsEmbedders:
    """The embedder of the settings, made when it is first asked for, and those of earlier settings as far as they are here.

    Equal models are one embedder.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: dict[Identity | None, Embedder | None] = {}
        self._guard = Lock()

    def __call__(self, identity: Identity | None) -> Embedder | None:
        """Raises SettingsError and EmbedderProblem."""
        with self._guard:
            if identity is None:
                return self._current()
            if identity not in self._made:
                made = self._matching(identity)
                if made is None:
                    return None  # and asked for again: a server may come back, a model be installed
                self._made[identity] = made
            return self._made[identity]

    def _current(self) -> Embedder | None:
        if None not in self._made:
            self._made[None] = _guarded(self._settings, self._settings.embedder, self._settings.model)
        return self._made[None]

    def _matching(self, identity: Identity) -> Embedder | None:
        try:
            current = self._current()
            if current is not None and current.identity() == identity:
                return current
        except EmbedderProblem:
            earlier = _earlier(self._settings, identity)
            if earlier is None:
                raise  # most likely these are its own vectors: that it does not answer is the news
            return earlier
        return _earlier(self._settings, identity)

    def close(self) -> None:
        """Close all of them; they open again if they are asked."""
        with self._guard:
            for embedder in {id(one): one for one in self._made.values() if one is not None}.values():
                embedder.close()


def _guarded(settings: Settings, kind: str, model: str) -> Embedder | None:
    inner = make_embedder(
        kind,
        model=model,
        url=settings.embedder_url,
        key=settings.embedder_key,
        timeout=settings.embedder_timeout,
        threads=settings.embedder_threads,
    )
    return None if inner is None else GuardedEmbedder(inner, Breaker(EMBEDDER, pause=settings.embedder_retry))


def _earlier(settings: Settings, identity: Identity) -> Embedder | None:
    """The embedder that made these vectors, if it can be had without a word in the settings."""
    kinds = ["onnx", "hashing"] + [settings.embedder] * (settings.embedder in ("ollama", "openai"))
    for kind in kinds:
        embedder = None
        try:
            embedder = _guarded(settings, kind, identity.model)
            if embedder is not None and embedder.identity() == identity:
                return embedder
        except (EmbedderProblem, SettingsError):
            pass  # not this one
        if embedder is not None:
            embedder.close()
    return None

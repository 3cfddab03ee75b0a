"""Make embedders from settings."""

from __future__ import annotations

from threading import Lock

from muisti.errors import EmbedderProblem, SettingsError
from muisti.models.embedders.guarded import GuardedEmbedder
from muisti.models.embedders.registry import EMBEDDERS, EmbedderOptions
from muisti.models.http.breaker import Breaker
from muisti.models.http.purpose import EMBEDDER
from muisti.ports import Embedder, Identity
from muisti.ports.vectors import get_model_identity
from muisti.settings import Settings

NONE = "none"
"""The setting for no embedder."""


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
    """Return the embedder with this name, or None for `none`. Loads no model, sends no request.

    Empty values and 0 dimensions mean the embedder's own defaults. Raises SettingsError,
    ModelNotInstalled.
    """
    if kind == NONE:
        return None
    spec = EMBEDDERS.find(kind)
    if spec is None:
        raise SettingsError(f"embedder must be one of {_list_names()} (got {kind!r})")
    return spec.make(EmbedderOptions(model, url, key, dimensions, timeout, threads))


def check_settings(settings: Settings) -> None:
    """Raises SettingsError if the embedder is unknown or lacks a setting. Sends no request."""
    if settings.embedder == NONE:
        return
    spec = EMBEDDERS.find(settings.embedder)
    if spec is None:
        raise SettingsError(f"embedder must be one of {_list_names()} (got {settings.embedder!r})")
    if spec.check is not None:
        spec.check(settings)


def _list_names() -> str:
    return ", ".join([*EMBEDDERS.names(first=Settings().embedder), NONE])


class SettingsEmbedders:
    """The embedder of the settings and, where available, those of earlier settings.

    Each is made on first use.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: dict[Identity | None, Embedder | None] = {}
        self._earlier: dict[tuple[str, str], Embedder | None] = {}
        """By kind and model, also those that failed: their breakers remember it."""
        self._guard = Lock()

    def __call__(self, identity: Identity | None) -> Embedder | None:
        """Return the embedder with this identity, or the current one for None.

        None if it is not available. Raises SettingsError, EmbedderProblem.
        """
        with self._guard:
            if identity is None:
                return self._get_current()
            identity = get_model_identity(identity)
            if identity not in self._made:
                try:
                    made = self._get_current()
                    if made is None or made.identity() != identity:
                        made = self._find_earlier(identity)
                except EmbedderProblem:
                    made = self._find_earlier(identity)
                    if made is None:
                        raise  # most likely these are its own vectors: its failure is the reason
                if made is None:
                    return None  # not cached: a server may come back, a model be installed
                self._made[identity] = made
            return self._made[identity]

    def _get_current(self) -> Embedder | None:
        if None not in self._made:
            settings = self._settings
            self._made[None] = _make_guarded(settings, settings.embedder, settings.model)
        return self._made[None]

    def _find_earlier(self, identity: Identity) -> Embedder | None:
        """Return the embedder that made these vectors, if it works without further settings."""
        settings = self._settings
        local = [name for name, spec in EMBEDDERS.load_all().items() if spec.is_local]
        for kind in dict.fromkeys([*local, settings.embedder]):
            if (kind, identity.model) == (settings.embedder, settings.model):
                continue  # the current one, which is another or has just failed
            try:
                embedder = self._earlier.get((kind, identity.model))
                if embedder is None:
                    embedder = _make_guarded(settings, kind, identity.model)
                    self._earlier[kind, identity.model] = embedder
                if embedder is not None and embedder.identity() == identity:
                    return embedder
            except (EmbedderProblem, SettingsError):
                pass  # try the next one
        return None

    def close(self) -> None:
        """Close all of them. Using one opens it again."""
        with self._guard:
            all_made = (*self._made.values(), *self._earlier.values())
            unique = {id(embedder): embedder for embedder in all_made}
            for embedder in unique.values():
                if embedder is not None:
                    embedder.close()


def _make_guarded(settings: Settings, kind: str, model: str) -> Embedder | None:
    inner = make_embedder(
        kind,
        model=model,
        url=settings.embedder_url,
        key=settings.embedder_key,
        timeout=settings.embedder_timeout,
        threads=settings.embedder_threads,
    )
    if inner is None:
        return None
    return GuardedEmbedder(inner, Breaker(EMBEDDER, pause=settings.embedder_retry))

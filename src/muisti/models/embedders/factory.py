"""From settings to an embedder."""

from __future__ import annotations

from threading import Lock

from muisti.errors import EmbedderProblem, SettingsError
from muisti.models.embedders.guarded import GuardedEmbedder
from muisti.models.embedders.registry import EMBEDDERS, EmbedderOptions
from muisti.models.http.breaker import Breaker
from muisti.models.http.purpose import EMBEDDER
from muisti.ports import Embedder, Identity
from muisti.settings import Settings

NONE = "none"
"""The name that stands for no embedder."""


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
    """Return the embedder with this name, or None for `none`. Loads and asks nothing.

    Empty values and 0 dimensions stand for the embedder's own defaults. Raises SettingsError, and
    ModelNotInstalled when its model is not on this machine.
    """
    if kind == NONE:
        return None
    spec = EMBEDDERS.find(kind)
    if spec is None:
        raise SettingsError(f"there is no embedder {kind!r}; choose one of {_list_names()}")
    return spec.make(EmbedderOptions(model, url, key, dimensions, timeout, threads))


def check_settings(settings: Settings) -> None:
    """Raise SettingsError for an embedder that cannot be, before anything is saved with it.

    Loads and asks nothing.
    """
    if settings.embedder == NONE:
        return
    spec = EMBEDDERS.find(settings.embedder)
    if spec is None:
        raise SettingsError(f"embedder = {settings.embedder!r}: choose one of {_list_names()}")
    if spec.check is not None:
        spec.check(settings)


def _list_names() -> str:
    return ", ".join([*EMBEDDERS.names(first=Settings().embedder), NONE])


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
            self._made[None] = _guarded(
                self._settings, self._settings.embedder, self._settings.model
            )
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
            for embedder in {
                id(one): one for one in self._made.values() if one is not None
            }.values():
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
    return (
        None
        if inner is None
        else GuardedEmbedder(inner, Breaker(EMBEDDER, pause=settings.embedder_retry))
    )


def _earlier(settings: Settings, identity: Identity) -> Embedder | None:
    """The embedder that made these vectors, if it can be had without a word in the settings."""
    local = [name for name, spec in EMBEDDERS.load_all().items() if spec.is_local]
    for kind in dict.fromkeys([*local, settings.embedder]):
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

"""Make embedders from settings."""

from __future__ import annotations

import logging
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from muisti.errors import EmbedderProblem, EmbedderUnavailable, SettingsError
from muisti.models.embedders.chain import NONE, find_spec, split_chain
from muisti.models.embedders.guarded import GuardedEmbedder
from muisti.models.embedders.registry import EMBEDDERS, EmbedderOptions
from muisti.models.http.breaker import Breaker
from muisti.models.http.purpose import EMBEDDER
from muisti.ports.vectors import get_model_identity
from muisti.ports.waiting import get_wait_left

if TYPE_CHECKING:
    from muisti.ports import Embedder, Identity
    from muisti.settings import Settings

log = logging.getLogger("muisti")
MOST_HURRIED = 2
"""After this many short waits, a server that does not reply counts as one that is down."""


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
    return find_spec(kind).make(EmbedderOptions(model, url, key, dimensions, timeout, threads))


class SettingsEmbedders:
    """The embedder of the settings and, where available, those of earlier settings.

    Each is made on first use. Of a chain, the first that can be loaded is used until the vault is
    closed.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._chain = split_chain(settings)
        self._made: dict[Identity | None, GuardedEmbedder | None] = {}
        self._others: dict[tuple[str, str], GuardedEmbedder] = {}
        """By kind and model, also those that failed: their breakers remember it."""
        self._problems: dict[str, str] = {}
        """Why embedders at the front of the chain are not used, by the name of their model."""
        self._hurried = 0
        """How often a search or a save had no time to wait for a server of the chain."""
        self._guard = Lock()
        self.fallback = ""

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
                        made = self._find_other(identity)
                except EmbedderProblem:
                    made = self._find_other(identity)
                    if made is None:
                        raise  # most likely these are its own vectors: its failure is the reason
                if made is None:
                    if identity.model in self._problems:
                        raise EmbedderUnavailable(f"{self.fallback}, but has not embedded all yet")
                    return None  # not cached: a server may come back, a model be installed
                self._made[identity] = made
            return self._made[identity]

    def name(self, model: str) -> str:
        """Return which embedder of the settings makes the vectors of a model, or ""."""
        for one in self._chain:
            if find_spec(one.embedder).name_model(one.model) == model:
                return one.embedder
        return ""

    def _get_current(self) -> GuardedEmbedder | None:
        if None not in self._made:
            if len(self._chain) > 1:
                self._made[None] = self._choose()
            else:
                first = self._chain[0] if self._chain else None
                self._made[None] = _make_guarded(first, first.model) if first else None
        return self._made[None]

    def _choose(self) -> GuardedEmbedder:
        """Return the first embedder of the chain that can be loaded. Raises EmbedderUnavailable."""
        problems: dict[str, str] = {}
        reasons = []
        for one in self._chain:
            name = find_spec(one.embedder).name_model(one.model)
            is_paused = False
            try:
                embedder = self._get_other(one, one.model)
                is_paused = embedder.is_paused
                if not embedder.is_remote and not embedder.is_ready():
                    embedder.embed_documents(["ready?"])
                embedder.identity()
            except EmbedderProblem as error:
                problems[name] = str(error)
                reasons.append(f"{one.embedder} cannot be used ({error})")
                is_hurried = get_wait_left() == 0
                if (is_hurried or is_paused) and self._hurried < MOST_HURRIED:
                    self._hurried += is_hurried
                    break  # the worker waits longer: a server may only be loading its model
            else:
                self._problems = problems
                if reasons:
                    self.fallback = f"{'; '.join(reasons)}; {one.embedder} takes its place"
                    log.warning("%s", self.fallback)
                return embedder
        raise EmbedderUnavailable("; ".join(reasons))

    def _find_other(self, identity: Identity) -> GuardedEmbedder | None:
        """Return the embedder that made these vectors, if it works without further settings."""
        local = [name for name, spec in EMBEDDERS.load_all().items() if spec.is_local]
        plain = replace(self._settings, embedder_url="", embedder_key_variable="", model="")
        known = [replace(plain, embedder=kind) for kind in local]
        for one in (*known, *self._chain):
            is_current = len(self._chain) == 1 and one.embedder == self._chain[0].embedder
            if is_current and identity.model == self._chain[0].model:
                continue  # the current one, which is another or has just failed
            try:
                embedder = self._get_other(one, identity.model)
                if embedder.identity() == identity:
                    return embedder
            except (EmbedderProblem, SettingsError):
                pass  # try the next one
        return None

    def _get_other(self, settings: Settings, model: str) -> GuardedEmbedder:
        """Return the embedder of one part of the chain, with this model, made once."""
        key = settings.embedder, model
        if key not in self._others:
            self._others[key] = _make_guarded(settings, model)
        return self._others[key]

    def knows_query(self, text: str) -> bool:
        """Return whether the vector of a query is cached."""
        return any(embedder.knows_query(text) for embedder in self._list_made())

    def forget_queries(self) -> None:
        """Clear the caches of queries."""
        for embedder in self._list_made():
            embedder.forget_queries()

    def close(self) -> None:
        """Close all of them. Using one opens it again."""
        for embedder in self._list_made():
            embedder.close()

    def _list_made(self) -> list[GuardedEmbedder]:
        with self._guard:
            all_made = (*self._made.values(), *self._others.values())
            unique = {id(embedder): embedder for embedder in all_made if embedder is not None}
            return list(unique.values())


def _make_guarded(settings: Settings, model: str) -> GuardedEmbedder:
    spec = find_spec(settings.embedder)
    options = EmbedderOptions(
        model,
        settings.embedder_url,
        settings.embedder_key,
        timeout=settings.embedder_timeout,
        threads=settings.embedder_threads or 1,
    )
    return GuardedEmbedder(spec.make(options), Breaker(EMBEDDER, pause=settings.embedder_retry))

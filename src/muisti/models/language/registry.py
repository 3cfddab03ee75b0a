"""Which language models there are. To add one, add a module to this package with a `SPEC`.

The module's name is what `extractor = "…"` in the settings calls it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from muisti.registry import Registry

if TYPE_CHECKING:
    from muisti.ports import LanguageModel


class MakeLanguageModel(Protocol):
    """Makes a client for a server. Asks nothing."""

    def __call__(
        self,
        url: str,
        model: str,
        key: str | None = None,
        *,
        timeout: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> LanguageModel:
        """Return the client."""
        ...


class LanguageModelSpec(NamedTuple):
    """How to make a language model."""

    make: MakeLanguageModel
    default_url: str = ""
    """Address of its server where the settings name none; empty: they have to."""


LANGUAGE_MODELS: Registry[LanguageModelSpec] = Registry("muisti.models.language")

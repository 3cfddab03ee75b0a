"""The language models. To add one, add a module with a `SPEC` to this package.

The module's name is the value of the setting `extractor`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from muisti.registry import Registry

if TYPE_CHECKING:
    from muisti.ports import LanguageModel


class MakeLanguageModel(Protocol):
    """Makes a client for a server. Sends no request."""

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
    """The URL of its server if the settings have none. If empty, they must have one."""


LANGUAGE_MODELS: Registry[LanguageModelSpec] = Registry("muisti.models.language")

"""From settings to a language model."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from muisti.errors import SettingsError
from muisti.models.http.breaker import Breaker
from muisti.models.http.purpose import EXTRACTOR
from muisti.models.language.guarded import GuardedLanguageModel
from muisti.ports.language import LanguageModel
from muisti.settings import Settings

if TYPE_CHECKING:
    from muisti.models.language.registry import LanguageModelSpec

RULES = "rules"
"""The name that stands for no language model: rules extract."""


def make_language_model(
    settings: Settings, *, clock: Callable[[], float] = time.monotonic
) -> LanguageModel | None:
    """Return the language model of the settings, behind a breaker; None for `rules`. Asks nothing.

    Raises SettingsError.
    """
    check_settings(settings)
    if settings.extractor == RULES:
        return None
    spec = _find_spec(settings)
    model = spec.make(
        _address(settings, spec),
        settings.extractor_model.strip(),
        settings.extractor_key,
        timeout=settings.extractor_timeout,
        clock=clock,
    )
    return GuardedLanguageModel(
        model, Breaker(EXTRACTOR, pause=settings.extractor_retry, clock=clock)
    )


def check_settings(settings: Settings) -> None:
    """Raise SettingsError for an extractor that cannot be, before anything is saved with it.

    Loads and asks nothing.
    """
    if settings.extractor == RULES:
        return
    spec = _find_spec(settings)
    needs = f'extractor = "{settings.extractor}" needs'
    if not settings.extractor_model.strip():
        raise SettingsError(f"{needs} extractor_model too, the name of a model that its server has")
    url = _address(settings, spec)
    if not url:
        raise SettingsError(f'{needs} extractor_url too, such as "https://api.openai.com/v1"')

    from muisti.models.http.json_client import validate_url  # only those with a server need it

    validate_url(url, EXTRACTOR)


def _find_spec(settings: Settings) -> LanguageModelSpec:
    from muisti.models.language.registry import LANGUAGE_MODELS  # rules need none of it

    spec = LANGUAGE_MODELS.find(settings.extractor)
    if spec is None:
        names = ", ".join([RULES, *LANGUAGE_MODELS.names()])
        raise SettingsError(f"extractor = {settings.extractor!r}: choose one of {names}")
    return spec


def _address(settings: Settings, spec: LanguageModelSpec) -> str:
    return settings.extractor_url.strip() or spec.default_url

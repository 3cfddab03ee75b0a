"""Make the language model of the settings."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from muisti.errors import SettingsError

if TYPE_CHECKING:
    from muisti.models.language.registry import LanguageModelSpec
    from muisti.ports.language import LanguageModel
    from muisti.settings import Settings

RULES = "rules"
"""The setting for no language model: extraction by rules."""


def make_language_model(
    settings: Settings, *, clock: Callable[[], float] = time.monotonic
) -> LanguageModel | None:
    """Return the language model of the settings, behind a breaker; None for `rules` and `none`.

    Sends no request. Raises SettingsError.
    """
    check_settings(settings)
    if settings.extractor == RULES or not settings.extraction_enabled:
        return None
    from muisti.models.http.breaker import Breaker
    from muisti.models.http.purpose import EXTRACTOR
    from muisti.models.language.guarded import GuardedLanguageModel

    spec = _find_spec(settings)
    model = spec.make(
        _get_url(settings, spec),
        settings.extractor_model.strip(),
        settings.extractor_key,
        timeout=settings.extractor_timeout,
        clock=clock,
    )
    return GuardedLanguageModel(
        model, Breaker(EXTRACTOR, pause=settings.extractor_retry, clock=clock)
    )


def check_settings(settings: Settings) -> None:
    """Raises SettingsError if the extractor is unknown or lacks a setting. Sends no request."""
    if settings.extractor == RULES or not settings.extraction_enabled:
        return
    spec = _find_spec(settings)
    needs = f'extractor = "{settings.extractor}" needs'
    if not settings.extractor_model.strip():
        raise SettingsError(f"{needs} extractor_model, the name of a model of its server")
    url = _get_url(settings, spec)
    if not url:
        raise SettingsError(f'{needs} extractor_url, such as "https://api.openai.com/v1"')

    from muisti.models.http.json_client import validate_url  # only remote models need it
    from muisti.models.http.purpose import EXTRACTOR

    validate_url(url, EXTRACTOR)


def _find_spec(settings: Settings) -> LanguageModelSpec:
    from muisti.models.language.registry import LANGUAGE_MODELS  # rules do not need it

    spec = LANGUAGE_MODELS.find(settings.extractor)
    if spec is None:
        names = ", ".join([RULES, *LANGUAGE_MODELS.names(), "none"])
        raise SettingsError(f"extractor must be one of {names} (got {settings.extractor!r})")
    return spec


def _get_url(settings: Settings, spec: LanguageModelSpec) -> str:
    return settings.extractor_url.strip() or spec.default_url

"""From settings to a language model."""

from __future__ import annotations

import time
from collections.abc import Callable

from muisti.errors import SettingsError
from muisti.models.http.breaker import Breaker
from muisti.models.http.purpose import EXTRACTOR
from muisti.models.language.guarded import GuardedChat
from muisti.ports.language import LanguageModel
from muisti.settings import Settings

EXTRACTORS = ("rules", "openai", "anthropic", "ollama")
_USUAL = {"anthropic": "https://api.anthropic.com", "ollama": "http://localhost:11434"}


def make_language_model(settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> LanguageModel | None:
    """The model of the settings, behind a breaker; None for `rules`. Raises SettingsError. Nothing is asked yet."""
    check_settings(settings)
    if settings.extractor == "rules":
        return None
    return GuardedChat(_client(settings, clock), Breaker(EXTRACTOR, pause=settings.extractor_retry, clock=clock))


def check_settings(settings: Settings) -> None:
    """Raises SettingsError for an extractor that cannot be, before anything is saved with it. Loads and asks nothing."""
    kind = settings.extractor
    if kind not in EXTRACTORS:
        raise SettingsError(f"extractor = {kind!r}: choose one of {', '.join(EXTRACTORS)}")
    if kind == "rules":
        return
    if not settings.extractor_model.strip():
        raise SettingsError(f'extractor = "{kind}" needs extractor_model too, the name of a model that its server has')
    url = _address(settings)
    if not url:
        raise SettingsError(f'extractor = "{kind}" needs extractor_url too, such as "https://api.openai.com/v1"')

    from muisti.models.http.post import checked_address  # only those with a server need it

    checked_address(url, EXTRACTOR)


def _address(settings: Settings) -> str:
    return settings.extractor_url.strip() or _USUAL.get(settings.extractor, "")


def _client(settings: Settings, clock: Callable[[], float]) -> LanguageModel:
    from muisti.models.language.anthropic import AnthropicChat
    from muisti.models.language.ollama import OllamaChat
    from muisti.models.language.openai import OpenAIChat

    clients: dict[str, Callable[..., LanguageModel]] = {"openai": OpenAIChat, "anthropic": AnthropicChat, "ollama": OllamaChat}
    return clients[settings.extractor](
        _address(settings),
        settings.extractor_model.strip(),
        settings.extractor_key,
        timeout=settings.extractor_timeout,
        clock=clock,
    )

"""Replaces known secrets in a text with `[redacted:KIND]` (contract C1).

A secret is recognized by its issuer's format (`TOKENS`), by the text before it (`PHRASES`), or by
a name (`named_secrets`): `password: …`, `API_KEY=…`. A pattern is compiled and runs only if one of
its words occurs in the text. All takes linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate

from muisti.text.secret_formats import PHRASES, TOKENS

_MAX_PASSES = 4
_SHORTEST = 20  # characters of the shortest token, which has no spaces

_PHRASE_WORDS = tuple((word, row) for row in PHRASES for word in row.words)
_TOKEN_WORDS = tuple((word, row) for row in TOKENS for word in row.words)

# Names of secrets, by the kind they stand for.
NAMES = {
    "password": (
        *"password passwd passphrase passcode pwd pw _pass -pass passwort kennwort".split(),
        *"mot de passe|contraseña|senha|salasana|lösenord|пароль|密码|パスワード".split("|"),
    ),
    "api-key": (
        *("api_key", "api-key", "apikey", "api key", "auth_key", "private_key", "encryption_key"),
        *("access_key", "access-key", "accesskey"),
    ),
    "token": ("token",),
    "secret": ("secret", "credential"),
}
WORDS = tuple(word for words in NAMES.values() for word in words)
# Every name contains one of these, so fewer have to be searched for.
ROOTS = (
    *"pass pw token secret credential key kennwort senha salasana".split(),
    *(w for w in WORDS if not w.isascii()),
)
_KNOWN = {*(word for word, _ in _PHRASE_WORDS), *ROOTS}
_TRIGGERS = sorted(word for word in _KNOWN if not any(other in word for other in _KNOWN - {word}))
"""Words that a text with a named secret or an address contains. No word contains another."""
_compile = cache(re.compile)


def redact_secrets(text: str) -> str:
    """Return the text with `[redacted:KIND]` for each known secret. Idempotent.

    The name of a secret stays, and so does all of an address but its password. A key block without
    an end extends to the end of the text.
    """
    if not _may_hold_secret(text):
        return text
    for _ in range(_MAX_PASSES):  # removing one secret may reveal another next to it
        before = text
        text = _redact_formats(text)
        lowered = text.lower()
        if any(root in lowered for root in ROOTS):
            from muisti.text.named_secrets import find_named_values  # its patterns compile slowly

            text = "".join(_replace_spans(text, find_named_values(text)))
        if text == before:
            break
    return text


def may_hold_secrets(texts: Sequence[str]) -> list[bool]:
    """Return for each text whether it may contain a secret. Fast; most texts do not."""
    lowered = "\n".join(texts).lower()
    if not lowered.isascii():  # lowercasing may have moved characters
        return [_may_hold_secret(text) for text in texts]
    ends = list(accumulate(len(text) + 1 for text in texts))
    found = set()
    for word in _TRIGGERS:
        position = lowered.find(word)
        while position >= 0:
            found.add(bisect_right(ends, position))
            position = lowered.find(word, position + 1)
    return [at in found or _has_long_words(text) for at, text in enumerate(texts)]


def _may_hold_secret(text: str) -> bool:
    """Return the same for one text."""
    lowered = text.lower()
    for word in _TRIGGERS:  # half the time of any(): it runs on every text
        if word in lowered:
            return True
    return _has_long_words(text)


def _has_long_words(text: str) -> bool:
    return len(text) >= _SHORTEST and max(map(len, text.split()), default=0) >= _SHORTEST


def _redact_formats(text: str) -> str:
    """Replace secrets that are recognized by their format or by the text before them."""
    lowered = text.lower()
    formats = [format_ for word, format_ in _PHRASE_WORDS if word in lowered]
    long_words = " ".join([word for word in text.split() if len(word) >= _SHORTEST])
    if long_words:
        formats += [format_ for word, format_ in _TOKEN_WORDS if word in long_words]
    for format_ in dict.fromkeys(formats):
        pattern = _compile(format_.pattern, format_.flags)
        group = min(1, pattern.groups)
        spans = ((*match.span(group), format_.kind) for match in pattern.finditer(text))
        text = "".join(_replace_spans(text, spans))
    return text


def _replace_spans(text: str, spans: Iterator[tuple[int, int, str]]) -> Iterator[str]:
    at = 0
    for start, end, kind in spans:
        yield text[at:start]
        yield f"[redacted:{kind}]"
        at = end
    yield text[at:]

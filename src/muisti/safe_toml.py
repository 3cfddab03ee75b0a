"""Parses TOML of others in linear time.

`tomllib` takes quadratic time for a key of many parts: `a.a.a…`. `muisti.settings` uses this
module, so it is not part of `muisti.text`.
"""

from __future__ import annotations

import re
from typing import Any

MAX_PARTS = 64
_LONG_KEY = rf"""(?<![\w"'-])(?:["'\w-]{{1,200}}+[ \t]{{0,9}}+\.[ \t]{{0,9}}+){{{MAX_PARTS}}}"""


def parse_toml(text: str) -> dict[str, Any]:
    """Return the values of a TOML text. Raises tomllib.TOMLDecodeError."""
    import tomllib  # most vaults have no settings

    if re.search(_LONG_KEY, text):
        raise tomllib.TOMLDecodeError(f"a key has more than {MAX_PARTS} parts")
    return tomllib.loads(text)

"""Invisible characters, which can hide a tag from a filter."""

from __future__ import annotations

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""For a character class: formatting, fillers, joiners, variation selectors and tags."""


def make_hidden_word_pattern(word: str) -> str:
    """Return a pattern for a word in ASCII or full-width letters, with invisible characters."""
    return rf"[{INVISIBLE}]*+".join(f"[{letter}{chr(ord(letter) + 0xFEE0)}]" for letter in word)

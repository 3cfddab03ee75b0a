"""Scripts that are written without spaces between words, as ranges for a character class.

BERT's tokenizer (`models.embedders.wordpiece`) has its own list, which belongs to its models.
"""

from __future__ import annotations

SOUTHEAST_ASIAN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese and Khmer: alphabets without spaces between words."""
CJK = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Chinese characters and kana: nearly every character has a meaning."""
HANGUL = "\u3130-\u318f\uac00-\ud7af"
"""Korean has spaces, but its words have endings attached."""
SPACELESS = SOUTHEAST_ASIAN + CJK
"""Scripts in which a run of letters is not one word."""
PAIRED = SPACELESS + HANGUL
"""Scripts that are indexed by pairs of characters."""

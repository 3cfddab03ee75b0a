"""The scripts that are written without spaces between words, as ranges for a character class.

BERT's tokenizer (`models.embedders.wordpiece`) has a list of its own: it is part of the models that
learned with it.
"""

from __future__ import annotations

SOUTHEAST_ASIAN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai and Lao, Burmese, Khmer: no spaces between words, but an alphabet."""
CJK = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters and kana: nearly every character means something by itself."""
HANGUL = "\u3130-\u318f\uac00-\ud7af"
"""Korean has spaces, but its words carry their endings with them."""
SPACELESS = SOUTHEAST_ASIAN + CJK
"""Where a run of letters is not one word."""
PAIRED = SPACELESS + HANGUL
"""What is searched for by pairs of characters, since no space or ending tells its words apart."""

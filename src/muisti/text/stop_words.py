"""Stop words: the function words of a language, which say nothing about the subject of a text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from muisti.text.tokens import stem

_OTHER_LANGUAGES = (
    "finnish",
    "swedish",
    "german",
    "french",
    "spanish",
    "italian",
    "portuguese",
    "dutch",
    "russian",
)
_ENGLISH = """
a an the and or but nor if then than because as until while though although so yet of at by for
with without about against between among into onto upon through during before after above below to
from up down in out on off over under again further once per via toward towards within i me my
mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her
hers herself it its itself they them their theirs themselves one oneself someone somebody
something anyone anybody anything everyone everybody everything nobody nothing who whom whose
which what when where why how whether whatever whichever whoever this that these those here there
am is are was were be been being have has had having do does did doing done will would shall
should can could might must ought cannot let lets not no yes only own same such too very just also
even ever both each few more most other others another some any all either neither else rather
quite please im ive youre youve youd youll hes shes weve theyre theyve theyd theyll thats whats
whos wheres hows theres isnt arent wasnt werent hasnt havent hadnt doesnt dont didnt wont wouldnt
shant shouldnt cant couldnt mustnt
"""
"""Function words only, and none that people search for, such as `may`, `id` or `home`."""
_FUNCTION_WORDS = frozenset(_ENGLISH.split())


def is_phrase(text: str) -> bool:
    """Return whether a text has function words of English: gibberish and lists have none."""
    return not _FUNCTION_WORDS.isdisjoint(text.lower().split())


def remove_stop_words(words: list[str]) -> list[str]:
    """Return distinct index words without stop words. If all are stop words, return all."""
    stop_words = _find_stop_words(words)
    return [word for word in words if word not in stop_words] or words


def _find_stop_words(words: Sequence[str]) -> frozenset[str]:
    """Return the stop words of the query's language.

    That is English, unless another language's list has more of the words, and at least two: one
    match can be chance. `war` in "war crimes" is a German stop word.
    """
    english = _load_stop_words("english")
    matches = len(english.intersection(words))
    if 2 * matches >= len(words) or len(words) < 2:
        return english
    others = [_load_stop_words(language) for language in _OTHER_LANGUAGES]
    best = max(others, key=lambda listed: len(listed.intersection(words)))
    return best if len(best.intersection(words)) > max(1, matches) else english


@cache
def _load_stop_words(language: str) -> frozenset[str]:
    if language == "english":
        listed = _ENGLISH.split()
    else:
        from stop_words import get_stop_words  # slow to import, and few queries need it

        listed = get_stop_words(language)
    plain = [word.replace("'", "") for word in listed]
    return frozenset([*plain, *map(stem, plain)])

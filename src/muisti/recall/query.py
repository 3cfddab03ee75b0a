"""From a question to the words that are worth looking for. Pure but for the word list of the stop words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

from muisti.ports import Frequencies, Term
from muisti.text.tokens import is_spaceless, stem, tokenize

MAX_QUERY = 100_000
"""Characters of a query that are looked at."""
MAX_WORDS = 1000
"""Distinct words of a query that are looked up: each costs something, even if nobody ever wrote it."""
MAX_TERMS = 48
POSTINGS = 8_000
"""How many memories the words of one query may touch before the most common no longer lead to any: cost stays flat."""
RARE = 3
"""A word in fewer memories than this is also looked for inside longer words."""
ALTERNATIVES = 12
_OTHERS = (
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
a an the and or but nor if then than because as until while though although so yet of at by for with without about against
between among into onto upon through during before after above below to from up down in out on off over under again further
once per via toward towards within i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his
himself she her hers herself it its itself they them their theirs themselves one oneself someone somebody something anyone
anybody anything everyone everybody everything nobody nothing who whom whose which what when where why how whether whatever
whichever whoever this that these those here there am is are was were be been being have has had having do does did doing done
will would shall should can could might must ought cannot let lets not no yes only own same such too very just also even
ever both each few more most other others another some any all either neither else rather quite please im ive youre
youve youd youll hes shes weve theyre theyve theyd theyll thats whats whos wheres hows theres isnt arent wasnt werent
hasnt havent hadnt doesnt dont didnt wont wouldnt shant shouldnt cant couldnt mustnt
"""
"""Words of grammar only, and none that people ask for: not `may`, `id`, and not `computer`, `group`, `home` of longer lists."""


def split_query(query: str) -> list[str]:
    """The distinct index words of a query without those that only hold a sentence together."""
    return remove_stop_words(
        list(dict.fromkeys(tokenize(query[:MAX_QUERY], query=True)))[:MAX_WORDS]
    )


def remove_stop_words(found: list[str]) -> list[str]:
    """Index words without those that only hold a sentence together; all of them, if there are no others."""
    listed = _stop_words(found)
    return [word for word in found if word not in listed] or found


def choose_terms(
    found: Sequence[str], frequencies: Frequencies, similar: Callable[[str, int], list[str]]
) -> list[Term]:
    """The rarest words first, each with its weight and its stand-ins. Memories are sought by as many as the budget allows."""
    counts = frequencies.counts
    terms: list[Term] = []
    touched = 0
    for word in sorted(found, key=lambda w: counts.get(w, 0)):
        count = counts.get(word, 0)
        sought = touched + count <= POSTINGS or not any(counts.get(term.text) for term in terms)
        touched += count
        lone = len(word) == 1 and is_spaceless(word)
        others = (
            tuple(similar(word, ALTERNATIVES))
            if count < RARE and not lone and _may_be_part(word)
            else ()
        )
        if count or others or lone:
            terms.append(
                Term(word, compute_idf(count, frequencies.documents), others, lone, sought)
            )
        if len(terms) == MAX_TERMS:
            break
    return terms


def _may_be_part(word: str) -> bool:
    """Whether longer words that contain this one may mean the same: not numbers, and not `new`, which is in `renewed`."""
    return not word.isdigit() and (len(word) > 3 or not word.isascii())


def compute_idf(count: int, documents: int) -> float:
    """The inverse document frequency as FTS5 counts it: next to nothing for words of every second memory."""
    return (
        max(1e-6, math.log((documents - count + 0.5) / (count + 0.5)))
        if documents >= count
        else 1e-6
    )


def _stop_words(found: Sequence[str]) -> frozenset[str]:
    """The stop words of the query's language: English, unless another list knows more of its words, and not just one.

    One is no evidence: the `war` of "war crimes" is a German stop word, the `van` of "van insurance" a Dutch one.
    """
    english = _stop_list("english")
    known = sum(word in english for word in found)
    if 2 * known >= len(found) or len(found) < 2:
        return english
    best = max(map(_stop_list, _OTHERS), key=lambda listed: sum(word in listed for word in found))
    return best if sum(word in best for word in found) > max(1, known) else english


@cache
def _stop_list(language: str) -> frozenset[str]:
    if language == "english":
        listed = _ENGLISH.split()
    else:
        from stop_words import get_stop_words  # not needed by most questions, and not free

        listed = get_stop_words(language)
    return frozenset(
        form for word in listed for form in (word.replace("'", ""), stem(word.replace("'", "")))
    )

"""Extract what a memory is about: paths, identifiers, code and names, then key phrases.

Names are recognized by their capitals, in every script that has them. Phrases are the two or three
words between grammar words, as in RAKE (Rose et al. 2010). Only English has phrases: many other
languages use endings instead of grammar words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from muisti.text.sentences import STOPS

MOST = 12
_READ = 20_000
_LONGEST_NAME = 4
_LONGEST_PHRASE = 3
# Not split_words: paths, code and titles in brackets are one piece each, and names are found by
# capitals and gaps. Every repetition is bounded, or ends where its characters do: a hostile text
# must not make the search quadratic.
_PIECES = re.compile(
    r"(`[^`\n]{2,60}`"  # code
    r"|《[^》\n]{1,40}》|「[^」\n]{1,40}」|『[^』\n]{1,40}』"  # titles in scripts without capitals
    r"|\w(?:[\w./+#'’-]*[\w+#])?)"  # words, paths, identifiers
)
_PATH = re.compile(r"(?:[\w.-]{1,60}/){1,12}[\w.-]{0,60}\w")
_IDENTIFIER = re.compile(
    r"[a-z]\w{0,40}_\w{1,40}|[a-z]{1,30}[A-Z]\w{1,40}|[A-Z][a-z0-9]{1,30}[A-Z]\w{1,40}"
    r"|\w{1,60}\.(?:py|js|ts|tsx|go|rs|md|json|toml|ya?ml|sql|sh)"
)
_SIMPLE = re.compile(r"\w[\w+#-]{0,30}[\w+#]")
_QUOTES = " \t`《》「」『』"
_NEW_SENTENCE = re.compile(rf"[{STOPS}:\n]")

_DETERMINERS = frozenset(
    """
    a an the this that these those its his her their my our your no every each any some all
    """.split()
)
_GRAMMAR = frozenset(
    """
    i me we us you he him she it they them who whom whose which what where when why how myself
    yourself itself ourselves there here am is are was were be been being do does did doing done
    have has had having will would shall should can could may might must and or but nor so yet if
    then else than because while although though unless until since whether as of in on at by for
    with from to into onto over under above below between among through during before after about
    against along across around behind beyond near off out up down upon via per within without
    toward towards like unlike despite not never always often sometimes also too very just only even
    still already again ever both either neither other another same such more most less least much
    many few several own once twice now today yesterday tomorrow soon later earlier maybe perhaps
    rather quite almost enough please yes hello hey hi wow oh okay thanks etc one two three four
    five six seven eight nine ten todo fixme note wip don doesn didn isn aren wasn weren won wouldn
    shouldn couldn can't don't doesn't didn't isn't aren't won't besides
    """.split()
)
_VERBS = frozenset(
    """
    go goes went gone get gets got make makes made take takes took taken give gives gave given come
    comes came see sees saw seen know knows knew known think thinks thought say says said tell tells
    told find finds found keep keeps kept let lets put puts set sets become becomes became begin
    begins began feel feels felt leave leaves left bring brings brought buy buys bought write writes
    wrote written read reads run runs ran send sends sent speak spoke meet met pay paid choose chose
    chosen break broke broken hold held lose lost win won build built teach taught catch caught fall
    fell grow grew hear heard lead led mean means meant spend spent understand understood use uses
    want wants need needs prefer prefers love loves hate hates try tries ask asks seem seems look
    looks appear appears happen happens allow allows require requires provide provides contain
    contains include includes return returns cause causes fail fails work works live lives stay
    stays add adds remove removes create creates delete deletes fix fixes implement implements
    introduce introduces handle handles favor favors favour favours depend depends expect expects
    explain explains help helps improve improves increase increases decide decides correlate
    correlates install start starts stop stops must avoid avoids ensure ensures follow follows enjoy
    enjoys believe believes suggest suggests agree agrees discuss wait receive receives miss misses
    expire expires invalidate invalidates deploy
    """.split()
)
_VAGUE = frozenset(
    """
    first second third next last new good great nice possible available together forever home daily
    weekly sure real big
    """.split()
)
_NOUNS_LIKE_VERBS = frozenset(
    """
    seed feed speed embed distributed shared nested linked embedded string thing ring spring meeting
    building setting routing logging testing caching billing pricing training embedding encoding
    mapping binding rendering parsing streaming monitoring indexing hashing tracking engineering
    marketing onboarding hosting staging timing spelling warning heading family assembly reply
    supply anomaly
    """.split()
)
"""Words that end like a participle or an adverb but are parts of noun phrases."""

_OTHER, _VERB, _GRAMMATICAL, _DETERMINER, _WORD, _ABBREVIATION, _NAME, _THING = range(8)
"""Categories of pieces. A thing is a concept by itself: code, a path, an identifier, a title."""
_FAMILIES = (0, 0, 0, 0, 1, 1, 2, 3)
"""For each category, its family: only pieces of one family form a concept together."""
_WORDS, _NAMES, _THINGS = 1, 2, 3
_SHORTENED = 8
"""Added to the category of a piece of which only the beginning belongs to it: `Maija's`."""
_NAME_NEXT = ([_NAME], [_NAME | _SHORTENED])

_Piece = tuple[int, str]
"""Category and text. The pieces of a run have exactly one space between them."""


def extract_concepts(content: str) -> tuple[str, ...]:
    """Return at most twelve: things and names, the most frequent first, then phrases.

    Concepts are unique regardless of case.
    """
    text = content[:_READ]
    runs, pieces, known = _find_runs(text)
    concepts = _sort_by_frequency(_find_names(runs))[:MOST]
    # English: an eighth of the words are English verbs or grammar words, unless there are few.
    is_english = 8 * known >= pieces if pieces > 4 else text.isascii()
    if len(concepts) < MOST and is_english:
        found = []
        for run in runs:
            if _FAMILIES[run[0][0]] == _WORDS:
                # From the end, since the last word of an English phrase is its head.
                for end in range(len(run), 1, -_LONGEST_PHRASE):
                    start = max(0, end - _LONGEST_PHRASE)
                    found.append(" ".join([piece for _, piece in run[start:end]]))
        phrases = _sort_by_frequency(found)[: 2 * MOST]
        padded = [f" {concept.casefold()} " for concept in (*phrases, *concepts)]
        everything = "\n".join(padded)
        for phrase, own in zip(phrases, padded, strict=False):
            if everything.count(own) == 1:  # part of itself, but of no other
                concepts.append(phrase)
    return tuple(concepts[:MOST])


def _sort_by_frequency(found: Iterable[str]) -> list[str]:
    """Return each concept once, as it was first written."""
    counts: dict[str, int] = {}
    spelled: dict[str, str] = {}
    for concept in found:
        key = concept.casefold()
        counts[key] = counts.get(key, 0) + 1
        spelled.setdefault(key, concept)
    if len(counts) == 1 or max(counts.values(), default=1) == 1:
        return list(spelled.values())
    return [spelled[key] for key in sorted(counts, key=lambda key: -counts[key])]


def _find_runs(text: str) -> tuple[list[list[_Piece]], int, int]:
    """Return neighbours of one family: names with names, words with words and abbreviations.

    Also returns the number of pieces, and of those that are verbs or grammar words.
    """
    parts = _PIECES.split(text)  # what is between the pieces, and the pieces, in turn
    raws = parts[1::2]
    categories = list(map(_categories.__getitem__, raws))
    runs: list[list[_Piece]] = []
    run: list[_Piece] = []
    current = known = 0
    rest = ""  # of the piece before, what does not belong to it
    for at, (gap, raw) in enumerate(zip(parts[::2], raws, strict=False)):
        piece, category = raw, categories[at]
        before, rest = rest + gap, ""
        joined = before == " " and at > 0
        if category & _SHORTENED:
            category, length = _categorize(raw)
            piece, rest = raw[:length], raw[length:]
        if category == _NAME and (not at or (not joined and _NEW_SENTENCE.search(before))):
            # A capital that opens a sentence makes a name only before another name.
            follows = "" if rest else parts[2 * at + 2]
            is_before_name = follows == " " and categories[at + 1 : at + 2] in _NAME_NEXT
            category = _categories[piece.lower()] & ~_SHORTENED
            if is_before_name and category == _WORD:
                category = _NAME
        known += _VERB <= category <= _DETERMINER
        family = _FAMILIES[category]
        if joined and family and family == current != _THINGS:
            run.append((category, piece))
            continue
        if joined and category == _DETERMINER and current == _WORDS and run[-1][0] == _WORD:
            run.pop()  # a word before "the" is a verb: "the function yields the name"
        if run:
            runs.append(run)
        current, run = family, [(category, piece)] if family else []
    if run:
        runs.append(run)
    return runs, len(raws), known


def _categorize(raw: str) -> tuple[int, int]:
    """Return the category of a piece, and how many of its characters belong to it."""
    length = len(raw)
    if raw[0] in _QUOTES:
        return _THING, length
    if raw.islower() and raw.isalpha():
        return _categorize_word(raw), length
    if "/" in raw:
        parts = [_categorize_word(part) for part in raw.split("/")]
        if all(part in (_GRAMMATICAL, _DETERMINER) for part in parts):
            return _GRAMMATICAL, length  # "and/or" is not a path
        path = _PATH.match(raw)
        return (_THING, path.end()) if path else (_OTHER, length)
    if raw.endswith(("'s", "’s")):
        raw, length = raw[:-2], length - 2
    if _IDENTIFIER.fullmatch(raw):
        return _THING, length
    lowered = raw.lower()
    if lowered in _GRAMMAR or lowered in _DETERMINERS:
        return _GRAMMATICAL, length
    if not _SIMPLE.fullmatch(raw):
        return _OTHER, length
    if raw.isupper():
        is_abbreviation = raw[:2].isalpha() and len(raw) <= 22
        return _ABBREVIATION if is_abbreviation else _OTHER, length
    if raw[0].isupper():
        return _NAME, length
    return _categorize_word(raw) if raw.replace("-", "").isalpha() else _OTHER, length


def _categorize_word(word: str) -> int:
    """Return the category of a word in lower case; _WORD if it may be part of a phrase."""
    if word in _DETERMINERS:
        return _DETERMINER
    if word in _GRAMMAR:
        return _GRAMMATICAL
    if word in _VERBS or (word.endswith(("ed", "ly", "ing")) and word not in _NOUNS_LIKE_VERBS):
        return _VERB
    return _WORD if 3 <= len(word) <= 30 and word.isascii() and word not in _VAGUE else _OTHER


class _Categories(dict[str, int]):
    """A cache of the category of each piece, with `_SHORTENED` if not all of it belongs to it."""

    def __missing__(self, raw: str) -> int:
        category, length = _categorize(raw)
        if length < len(raw):
            category |= _SHORTENED
        if len(raw) <= 60:
            if len(self) >= _MAX_CATEGORIES:
                self.clear()
            self[raw] = category
        return category


_MAX_CATEGORIES = 20_000
_categories = _Categories()


def _find_names(runs: list[list[_Piece]]) -> Iterator[str]:
    """Yield names, abbreviations and things."""
    for run in runs:
        if _FAMILIES[run[0][0]] == _NAMES:
            for at in range(0, len(run), _LONGEST_NAME):
                yield " ".join([piece for _, piece in run[at : at + _LONGEST_NAME]])
            continue
        for category, piece in run:
            if category in (_ABBREVIATION, _THING):
                thing = piece.strip(_QUOTES)
                if thing:
                    yield thing

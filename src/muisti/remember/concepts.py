"""What a memory is about: paths, identifiers, code and names that it mentions, then its telling phrases.

Names are told by their capitals, in every script that has them. Phrases are what stands between grammar words, two or
three words long, as in RAKE (Rose et al. 2010), and only in English: elsewhere endings do what grammar words do here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from muisti.text.sentences import STOPS

MOST = 12
_READ = 20_000
_LONGEST_NAME = 4
_LONGEST_PHRASE = 3
# Not split_words: paths, code and titles in brackets are pieces as a whole, and capitals and gaps between pieces tell names.
# Every repetition is bounded, or ends where its characters do: hostile text must not make the search quadratic.
_PIECE = re.compile(
    r"`[^`\n]{2,60}`"  # code
    r"|《[^》\n]{1,40}》|「[^」\n]{1,40}」|『[^』\n]{1,40}』"  # titles and names where no capitals tell them
    r"|\w(?:[\w./+#'’-]*[\w+#])?"  # words, paths, identifiers
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
"""Words that end like a participle or an adverb but stand in names of things."""

_OTHER, _VERB, _GRAMMATICAL, _DETERMINER, _WORD, _ABBREVIATION, _NAME, _THING = range(8)
"""What a piece of text may be; a thing is complete by itself: code, a path, an identifier, a title in brackets."""
_FAMILIES = (0, 0, 0, 0, 1, 1, 2, 3)
"""What each of these may stand beside in one concept: words and abbreviations beside each other, names beside names."""
_WORDS, _NAMES, _THINGS = 1, 2, 3

_Piece = tuple[int, int, int, bool]
"""What it is, where it begins and ends, and whether one space and nothing else stands before it."""


def extract_concepts(content: str) -> tuple[str, ...]:
    """At most twelve: things and names, the most frequent first, then phrases; none twice, in no other case either."""
    text = content[:_READ]
    pieces = list(_pieces(text))
    runs = list(_runs(pieces))
    taken = _most_frequent(_things(text, runs))[:MOST]
    if len(taken) < MOST and _is_english(text, pieces):
        taken += _not_inside(_most_frequent(_phrases(text, runs))[: 2 * MOST], taken)
    return tuple(taken[:MOST])


def _not_inside(phrases: list[str], taken: list[str]) -> list[str]:
    """The phrases that are no part of another one, nor of what was taken before."""
    wholes = [f" {concept.casefold()} " for concept in (*phrases, *taken)]
    own = zip(phrases, wholes, strict=False)
    return [
        phrase for phrase, padded in own if sum(padded in whole for whole in wholes) == 1
    ]  # in itself


def _most_frequent(found: Iterable[str]) -> list[str]:
    """Each once, as it was first written."""
    counts: dict[str, int] = {}
    spelled: dict[str, str] = {}
    for concept in found:
        key = concept.casefold()
        counts[key] = counts.get(key, 0) + 1
        spelled.setdefault(key, concept)
    return [spelled[key] for key in sorted(counts, key=lambda key: -counts[key])]


def _pieces(text: str) -> Iterator[_Piece]:
    """What the text consists of. The capital that opens a sentence makes no name, unless another name follows it."""
    end, opening = -1, None
    for match in _PIECE.finditer(text):
        start, raw = match.start(), match[0]
        joined = start == end + 1 and text[end] == " "
        sort, length = _known(raw) if len(raw) <= 60 else _sorted(raw)
        if opening is not None:
            yield _first(text, opening, joined and sort == _NAME)
            opening = None
        piece = (sort, start, start + length, joined)
        if sort == _NAME and (end < 0 or (not joined and _NEW_SENTENCE.search(text, end, start))):
            opening = piece
        else:
            yield piece
        end = start + length
    if opening is not None:
        yield _first(text, opening, False)


def _first(text: str, piece: _Piece, before_name: bool) -> _Piece:
    """The first word of a sentence, as it would be further on."""
    _, start, end, joined = piece
    sort, _ = _sorted(text[start:end].lower())
    return piece if before_name and sort == _WORD else (sort, start, end, joined)


def _sorted(raw: str) -> tuple[int, int]:
    """What a piece is, and how much of it counts."""
    length = len(raw)
    if raw[0] in _QUOTES:
        return _THING, length
    if raw.islower() and raw.isalpha():
        return _word(raw), length
    if "/" in raw:
        path = _PATH.match(raw)
        plain = all(
            _word(part) in (_GRAMMATICAL, _DETERMINER) for part in raw.split("/")
        )  # "and/or" is no path
        return (
            (_THING, path.end())
            if path and not plain
            else (_GRAMMATICAL if plain else _OTHER, length)
        )
    if raw.endswith(("'s", "’s")):
        raw, length = raw[:-2], length - 2
    return (_THING if _IDENTIFIER.fullmatch(raw) else _by_case(raw)), length


_known = lru_cache(maxsize=20_000)(_sorted)


def _by_case(raw: str) -> int:
    """Of a word that is no identifier: capitals make names and abbreviations."""
    lowered = raw.lower()
    if lowered in _GRAMMAR or lowered in _DETERMINERS:
        return _GRAMMATICAL
    if not _SIMPLE.fullmatch(raw):
        return _OTHER
    if raw.isupper():
        return _ABBREVIATION if raw[:2].isalpha() and len(raw) <= 22 else _OTHER
    if raw[0].isupper():
        return _NAME
    return _word(raw) if raw.replace("-", "").isalpha() else _OTHER


def _word(word: str) -> int:
    """Of a word in small letters: whether it may be part of a phrase."""
    if word in _DETERMINERS:
        return _DETERMINER
    if word in _GRAMMAR:
        return _GRAMMATICAL
    if word in _VERBS or (word.endswith(("ed", "ly", "ing")) and word not in _NOUNS_LIKE_VERBS):
        return _VERB
    return _WORD if 3 <= len(word) <= 30 and word.isascii() and word not in _VAGUE else _OTHER


def _is_english(text: str, pieces: list[_Piece]) -> bool:
    """Whether every eighth word is a verb or a grammar word of English. A few words alone may have none."""
    known = sum(_VERB <= piece[0] <= _DETERMINER for piece in pieces)
    return 8 * known >= len(pieces) if len(pieces) > 4 else text.isascii()


def _runs(pieces: list[_Piece]) -> Iterator[list[_Piece]]:
    """Neighbours that form one concept, or several: names with names, words with words and abbreviations."""
    run: list[_Piece] = []
    current = 0
    for piece in pieces:
        sort, _, _, joined = piece
        family = _FAMILIES[sort]
        if joined and family and family == current != _THINGS:
            run.append(piece)
            continue
        if joined and sort == _DETERMINER and current == _WORDS and run[-1][0] == _WORD:
            run.pop()  # what "the" follows is a verb: "the function yields the name"
        if run:
            yield run
        current, run = family, [piece] if family else []
    if run:
        yield run


def _things(text: str, runs: list[list[_Piece]]) -> Iterator[str]:
    for run in runs:
        if _FAMILIES[run[0][0]] == _NAMES:
            for at in range(0, len(run), _LONGEST_NAME):
                yield text[run[at][1] : run[at : at + _LONGEST_NAME][-1][2]]
        else:
            found = (
                text[start:end].strip(_QUOTES)
                for sort, start, end, _ in run
                if sort in (_ABBREVIATION, _THING)
            )
            yield from filter(None, found)


def _phrases(text: str, runs: list[list[_Piece]]) -> Iterator[str]:
    for run in runs:
        if _FAMILIES[run[0][0]] == _WORDS:
            for end in range(
                len(run), 1, -_LONGEST_PHRASE
            ):  # the head of an English phrase is its last word
                yield text[run[max(0, end - _LONGEST_PHRASE)][1] : run[end - 1][2]]

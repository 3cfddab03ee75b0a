"""English verbs, to make them agree: "I go" becomes "Anna goes", "I went" stays."""

from __future__ import annotations

from collections.abc import Mapping

MODALS = frozenset(
    """
    will would can could shall should may might must cannot can't won't wouldn't couldn't shouldn't
    mustn't didn't did had hadn't used ought 'll
    """.split()
)
SINGULAR: Mapping[str, str] = {
    "am": "is",
    "are": "is",
    "aren't": "isn't",
    "ain't": "isn't",
    "were": "was",
    "weren't": "wasn't",
    "have": "has",
    "haven't": "hasn't",
    "do": "does",
    "don't": "doesn't",
    "gotta": "has to",
    "gonna": "is going to",
    "wanna": "wants to",
    "need": "needs",
    "been": "has been",
}
PAST = frozenset(
    """
    was wasn't became began bent bet bit bled blew bought bound broke brought built burnt came
    caught chose clung crept cut dealt dove drank drew drove dug ate fed fell felt flew forbade
    forgave forgot fought found froze gave got grew had heard held hid hit hung hurt kept knew laid
    lay led learnt left lent let lit lost made meant met mistook overcame overheard paid put quit
    ran rang read rode rose said sang sat saw sent set shook shot shut slept slid sold sought spent
    split spoke spoilt spread stole stood struck stuck sung sunk swam swept swore taught thought
    threw told took tore understood undertook underwent upset went woke won wore wrote wrought cost
    burst rid spun swung wound bred fled withdrew built rebuilt redid did done gone seen been taken
    given known shown grown written spoken
    """.split()
)
"""Irregular past forms and participles: the same for every person."""
PARTICIPLES = frozenset(
    """
    been become begun bought broken brought built caught chosen come done drawn driven eaten fallen
    felt forgotten found given gone gotten got grown had heard held hidden kept known learnt led
    left lost made meant met paid put read run said seen sent set shown slept spent spoken stood
    stuck taken taught thought told understood won worn written
    """.split()
)
_NEEDS_S = frozenset(
    "need feed bleed speed breed succeed proceed exceed embed heed shed wed".split()
)
_NO_VERB = frozenset(
    """
    a an the and or but as at by for from in into of on onto to up with about who which that this
    these those my your his her its our their when where while if because since so than then too
    either neither both all out over under here there not no yes myself personally honestly what how
    why
    """.split()
)
ADVERBS = frozenset(
    """
    just really also always never still even usually often actually definitely totally only finally
    recently already currently sometimes ever now once soon probably certainly absolutely truly both
    all sure kinda sorta literally seriously honestly almost nearly simply mostly first rarely
    hardly barely genuinely clearly obviously simultaneously personally then myself last
    """.split()
)
BEGINS_CLAUSE = frozenset(
    """
    hate want need feel enjoy think know believe prefer keep go get make take live try see find
    learn teach spend use own don't haven't am have do remember appreciate understand realize forget
    tell say bring give come become meet write eat buy rely
    """.split()
)
"""Verbs that are rarely nouns: after "and" they have the same subject."""
OFTEN_NOUNS = frozenset(
    """
    work love like watch play run travel cook paint hike walk study visit help plan hope swim
    practice talk move
    """.split()
)
TAKEN_BY_VERBS = frozenset(
    """
    at in for as on the a an my our his her their to with from it them that this some all new
    """.split()
)
DROPPED_PAST = frozenset(
    """
    lost got went started had saw met bought made took found finished moved visited spent joined won
    came ran tried learned decided loved enjoyed signed attended ended picked gave heard realized
    thought forgot watched used did felt wanted needed booked cooked painted hiked talked worked
    played volunteered adopted wrote
    """.split()
)
DROPPED_FEELINGS = frozenset("glad happy excited proud thrilled grateful thankful lucky".split())
DROPPED_PRESENT = frozenset("love hope want need hate miss prefer wish appreciate guess".split())
DROPPED_GOING = frozenset(
    """
    looking working planning thinking trying hoping going getting finishing starting feeling
    considering learning taking doing making heading loving enjoying living saving preparing aiming
    """.split()
)
"""The beginning of a sentence without its "I": "Lost my job", "Looking for a flat"."""


def to_third_person(word: str) -> str:
    """Return the form that follows a name, for a verb after "I". Past and modals are unchanged."""
    known = SINGULAR.get(word)
    if known:
        return known
    if word in MODALS or word in PAST or word in _NO_VERB:
        return word
    if not word.isalpha() or not word.isascii():
        return word
    ends_like_participle = word.endswith(("ed", "ing")) and word not in _NEEDS_S
    if ends_like_participle and word not in ("bring", "sing", "ring", "swing", "cling"):
        return word
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


def is_adverb(word: str) -> bool:
    """Whether a word may be between a subject and its verb."""
    return word in ADVERBS or (
        word.endswith("ly")
        and word not in ("rely", "apply", "reply", "supply", "imply", "fly", "comply")
    )


def is_participle(word: str) -> bool:
    """Whether a word may follow "had" or "has"."""
    return word in PARTICIPLES or (word.endswith("ed") and word not in _NEEDS_S)

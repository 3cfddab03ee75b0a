"""Who "I", "my" and "you" are: names in their place, with verbs that agree ("I am" becomes "Anna is").

The first mention gets the name, further ones in the same sentence "they" and "their": nobody's gender is guessed. What stands
between quotation marks is another's "I" and stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from muisti.remember.extract.verbs import (
    BEGINS_CLAUSE,
    DROPPED_FEELINGS,
    DROPPED_GOING,
    DROPPED_PAST,
    DROPPED_PRESENT,
    MODALS,
    OFTEN_NOUNS,
    PAST,
    TAKEN_BY_VERBS,
    is_adverb,
    is_participle,
    to_third_person,
)

_TOKEN = re.compile(r"[^\W_]+(?:['._/@\\=-][^\W_]+)*'?|[\W_]+")
"""Words and what is between them, in turn. A path, an address or an identifier is one word: the `my` of `my_app` is nobody's."""
_APART = re.compile(r'("[^"]*"|`[^`]*`)')
_FIRST = frozenset("i we im ive i'm i've i'll i'd we're we've we'll we'd".split())
_SECOND = frozenset("you you're you've you'll you'd".split())
_OWN: Mapping[str, str] = {"my": "'s", "our": "'s", "mine": "'s", "ours": "'s", "me": "", "us": ""}
_NOBODY_YET: Mapping[str, str] = {"myself": "oneself", "ourselves": "oneself"}
_YOURS = frozenset(("your", "yours"))
_AGAIN: Mapping[str, str] = {
    "my": "their",
    "our": "their",
    "mine": "theirs",
    "ours": "theirs",
    "me": "them",
    "us": "them",
    "myself": "themselves",
    "ourselves": "themselves",
}
_ENDINGS: Mapping[str, str] = {
    "'m": "is",
    "'re": "is",
    "'ve": "has",
    "'ll": "will",
    "'d": "would",
    "m": "is",
    "ve": "has",
}
_ENDINGS_THEY: Mapping[str, str] = {
    **_ENDINGS,
    "'m": "are",
    "'re": "are",
    "'ve": "have",
    "m": "are",
    "ve": "have",
}
_PLURAL: Mapping[str, str] = {"am": "are", "was": "were", "wasn't": "weren't"}
_INVERTED: Mapping[str, str] = {"am": "is", "are": "is", "do": "does", "have": "has", "were": "was"}
_SHORT_FORMS: Mapping[str, str] = {
    "gonna": "am *going to",
    "gotta": "*have to",
    "wanna": "*want to",
    "been": "have *been",
}
_IMPERSONAL: Mapping[str, re.Pattern[str]] = {
    "been": re.compile(r" (?:an?|so|quite|too|the|such|ages|forever|\w+ since)\b"),
    "gonna": re.compile(r" be\b"),
    "gotta": re.compile(r" be\b"),
    "wanna": re.compile(r"$^"),
}
"""After these "it" was left out, not "I": "Been a long day"."""
_JOINS = frozenset(("and", "or", "&", "nor"))
_DETERMINERS = frozenset("the a an his her their your some our this that these those both".split())
_ANYBODY = re.compile(
    r"\b(?:if|when|whenever|once|makes|lets|gives|helps|thank|bless|see) you\b|\byou (?:know|see),",
    re.I,
)
"""Where "you" means anyone, or is a set phrase."""
_MENTION = re.compile(
    r"\b(?:I|I'm|I've|I'll|I'd|[Mm]y|[Mm]e|[Mm]ine|[Mm]yself|[Ww]e|[Ww]e'\w+|[Oo]ur|[Oo]urs|us|"
    r"[Oo]urselves)\b(?!')"
)
_FINITE = re.compile(
    r"\b(?:is|was|are|were|has|have|had|can|will|would|makes?|brings?|helps?|gives?|takes?|feels?|"
    r"keeps?)\b|'(?:s|"
    r"re|m|ve|ll)\b"
)


def mentions_speaker(sentence: str) -> bool:
    """Whether the speaker speaks of themselves, in so many words."""
    return _MENTION.search(sentence) is not None


def resolve_pronouns(sentence: str, speaker: str, addressee: str = "") -> str:
    """The sentence as another would report it. "You" stays if nobody knows who is spoken to, or if it means anyone."""
    you = "" if not addressee or _ANYBODY.search(sentence) else addressee
    state = _Spoken(speaker, you)
    return "".join(
        part if _APART.fullmatch(part) else _told(part, state) for part in _APART.split(sentence)
    )


def complete_sentence(sentence: str) -> str:
    """With the "I" that was left out: "Lost my job" becomes "I lost my job"; anything else as it is."""
    words = sentence.split(" ", 3)
    skipped = next(
        (place for place, word in enumerate(words[:3]) if not is_adverb(word.lower())), 0
    )
    adverbs, rest = (
        "".join(f"{word.lower()} " for word in words[:skipped]),
        " ".join(words[skipped:]),
    )
    verb = re.match(r"[A-Za-z']+", rest)
    if not verb:
        return sentence
    form = _subjectless(verb[0].lower(), rest[verb.end() :])
    return f"I {form.replace('*', adverbs)}{rest[verb.end() :]}" if form else sentence


def _subjectless(verb: str, rest: str) -> str:
    """The verb in its form after "I", with a star where adverbs go; empty if the sentence has a subject."""
    if verb in _SHORT_FORMS and not _IMPERSONAL[verb].match(rest):
        return _SHORT_FORMS[verb]
    if verb == "don't" and re.match(
        r" (?:feel|think|know|want|like|have|believe|see|mind)\b", rest
    ):
        return "*don't"
    if verb in DROPPED_FEELINGS and re.match(
        r" (?:I|I'm|we|we're|to|that|my|for|about|with)\b", rest
    ):
        return f"am *{verb}"
    if (verb in DROPPED_PAST and re.match(r" (?!of\b|by\b)", rest)) or (
        verb.endswith("ed") and rest.startswith(" my ")
    ):
        return f"*{verb}"
    if verb in DROPPED_PRESENT and re.match(r" (?!is\b|was\b|you\b)", rest):
        return f"*{verb}"
    if verb in DROPPED_GOING and re.match(r" \w", rest) and not _FINITE.search(rest):
        return f"am *{verb}"
    return ""


@dataclass(slots=True)
class _Spoken:
    """What a sentence has said so far."""

    speaker: str
    you: str
    named: bool = False


def _told(part: str, state: _Spoken) -> str:
    tokens = _TOKEN.findall(part)
    out = list(tokens)
    for at, token in enumerate(tokens):
        word = token.lower()
        if word == "i" and _is_label(tokens, at):
            continue
        if word in _FIRST:
            _put_subject(out, at, word, state, state.speaker)
        elif word in _SECOND and state.you:
            _put_subject(out, at, word, state, state.you)
        elif word in _NOBODY_YET:
            out[at] = _AGAIN[word] if state.named else _NOBODY_YET[word]
        elif word == "us" and _is_many(tokens, at):
            out[at] = "people" if _word_before(tokens, at) != "of" else "them"
        elif word in _OWN and token not in ("US", "ME"):
            out[at] = _AGAIN[word] if state.named else f"{state.speaker}{_OWN[word]}"
            state.named = True
        elif word in _YOURS and state.you:
            out[at] = f"{state.you}'s"
    return "".join(out)


def _is_label(tokens: list[str], at: int) -> bool:
    """World War I, Part I; and "i.e."."""
    after = tokens[at + 1][0] if at + 1 < len(tokens) else "."
    before = tokens[at - 2] if at >= 2 else ""
    return after in "./-,:;)" and (
        tokens[at] == "i" or (before[:1].isupper() and before.lower() not in _INVERTED)
    )


def _is_many(tokens: list[str], at: int) -> bool:
    """Whether "us" cannot be one: "all of us", "brings us together"."""
    after = tokens[at + 2].lower() if at + 2 < len(tokens) else ""
    return _word_before(tokens, at) == "of" or after in (
        "all",
        "both",
        "together",
        "apart",
        "closer",
    )


def _put_subject(out: list[str], at: int, word: str, state: _Spoken, name: str) -> None:
    """Name or "they" for the subject, and its verb made to agree with that."""
    joined = _word_before(out, at) in _JOINS and _is_with_others(out, at, name)
    again = name == state.speaker and state.named and not joined
    plural = again or joined
    ending = word.lstrip("iweyou")
    verb = _verb_after(out, at)
    out[at] = "they" if again else name
    if name == state.speaker:
        state.named = True
    if word.startswith("we") and at + 2 < len(out) and out[at + 2].lower() in ("all", "both"):
        plural = plural or _name_both(out, at, state)
        out[at + 1 : at + 3] = ["", ""]
        verb = _verb_after(out, at + 2)
    if ending:
        if not plural and ending in ("'m", "'re", "'ve"):
            _agree_further(out, at)
        out[at] += f" {_uncontracted(ending, out[verb] if verb is not None else '', plural)}"
        return
    before = _word_before(out, at)
    if not plural and before in _INVERTED and at >= 2:
        out[at - 2] = _INVERTED[before]
    elif verb is not None:
        said = out[verb]
        out[verb] = _PLURAL.get(said, said) if plural else to_third_person(said.lower())
        if (
            out[verb] != said and not plural
        ):  # a modal or the past asks nothing of the verbs after it
            _agree_further(out, verb)


def _name_both(out: list[str], at: int, state: _Spoken) -> bool:
    """Who "we both" are: the two who talk, if both are known."""
    if out[at + 2].lower() == "both" and state.you and out[at] == state.speaker:
        out[at] = f"{state.speaker} and {state.you}"
        return True
    return False


def _is_with_others(out: list[str], at: int, name: str) -> bool:
    """Whether "and I" goes on a subject ("my wife and I"), and does not begin a clause ("tea is nice and I like it")."""
    clause = re.split(r"[,.;:!?()–—-]", "".join(out[:at]).replace(f"{name}'s", "the"))[-1]
    words = clause.lower().split()[:-1]
    if (
        not 1 <= len(words) <= 4
        or name in clause
        or (len(words) > 1 and words[0] not in _DETERMINERS)
    ):
        return False
    return not _FINITE.search(clause) and not any(
        word in PAST or word in BEGINS_CLAUSE or is_participle(word) for word in words
    )


def _is_verb(out: list[str], at: int, join: str) -> bool:
    """Whether a word after "and" is a verb; one that may be a noun ("work") must have something after it that a verb takes."""
    word, after = (
        out[at].lower(),
        out[at + 2].lower() if at + 2 < len(out) and out[at + 1] == " " else "",
    )
    return word in BEGINS_CLAUSE or (
        word in OFTEN_NOUNS and (join == "but" or after in TAKEN_BY_VERBS)
    )


def _uncontracted(ending: str, verb: str, plural: bool) -> str:
    if ending == "'d" and (verb == "better" or is_participle(verb.lower())):
        return "had"
    return (_ENDINGS_THEY if plural else _ENDINGS)[ending]


def _word_before(out: list[str], at: int) -> str:
    """The word before, if nothing but a space is between; an & counts as a word."""
    if at >= 1 and out[at - 1].strip() == "&":
        return "&"
    return out[at - 2].lower() if at >= 2 and out[at - 1] == " " else ""


def _verb_after(out: list[str], at: int) -> int | None:
    """Where the subject's verb stands: adverbs may come between, and nothing else."""
    for place in range(at + 2, min(at + 8, len(out)), 2):
        if out[place - 1] != " ":
            return None
        if not is_adverb(out[place].lower()):
            return place
    return None


def _agree_further(out: list[str], verb: int) -> None:
    """The same subject's verbs after "and" and "but": "Anna lives here and works there"; stops where an infinitive may be."""
    negated = out[verb].lower().endswith(("n't", "not"))
    for place in range(verb + 2, min(verb + 24, len(out)), 2):
        word = out[place].lower()
        if (
            word in MODALS
            or word == "to"
            or word in _FIRST
            or out[place - 1].strip() not in ("", ",")
        ):
            return
        if word in ("and", "but") and place + 2 < len(out) and out[place + 1] == " ":
            after = (
                place + 4
                if is_adverb(out[place + 2].lower()) and place + 4 < len(out)
                else place + 2
            )
            if not (negated and word == "and") and _is_verb(out, after, word):
                out[after] = to_third_person(out[after].lower())

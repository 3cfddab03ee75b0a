"""A short answer, understood alone: "When is the deadline?" and "March 15." become "The deadline is March 15."."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from muisti.remember.extract.pronouns import resolve_pronouns
from muisti.remember.extract.verbs import to_third_person

MOST_WORDS = 7
"""Words of an answer that needs its question; a longer one speaks for itself."""
_POLITE = re.compile(
    r"\b(?:how (?:are|have|is|'s) (?:you|it|things|everything|your day|life)|how about you|"
    r"what about you|"
    r"and you\?|what's up|anything new|"
    r"what's new|any(?:thing)? else|really\?|ready|sound good|okay\?|right\?|agree|make sense|"
    r"can you|could you|"
    r"would you (?:like|mind)|shall we|want me to|"
    r"(?:do|did) you (?:know|think|see|mean|understand|agree)|know what|guess)\b",
    re.I,
)
_SIGHED = re.compile(
    r"(?:thanks|thank you|good|great|fine|not (?:much|bad|yet|really)|me too|same|sure|ok|okay|"
    r"cool|nice|wow|hey|"
    r"hi|no idea|not sure|i don't know|i see|hm+|haha)\b",
    re.I,
)
_YES = re.compile(
    r"(?:yes|yeah|yep|yup|correct|right|exactly|sure|of course|i (?:am|do|have))\b[,.!]*\s*", re.I
)
_NO = re.compile(r"(?:no|nope|nah|not at all|i'm not|i don't|i haven't)\b[,.!]*\s*", re.I)
_FINITE = re.compile(
    r"\b(?:is|am|are|was|were|has|have|had|do|does|did|can|could|will|would|looks?|sounds?|makes?|"
    r"loves?|"
    r"likes?)\b|'(?:s|m|re|ve|ll|d)\b|n't\b|!",
    re.I,
)
"""An answer with a verb says by itself what it says."""
_PLACED = re.compile(
    r"(?:in|at|on|near|by|from|to|under|over|behind|next|around|here|there|up|down)\b", re.I
)
_SMALL_WORD = re.compile(
    r"(?:The|A|An|In|On|At|My|Our|About|Around|To|From|With|By|It|One|Two|Three|Four|Five|Six|"
    r"Seven|Eight|Nine|"
    r"Ten)\b"
)
_Form = Callable[[re.Match[str], str, str], str]


def restate_answer(question: str, answer: str, *, speaker: str, asker: str = "") -> str | None:
    """What the answer says, as a sentence of its own; None if one of the two is only polite, or the answer needs no question."""
    question, answer = question.strip(" ?？!.\n"), answer.strip(" .!\n")
    if (
        not answer
        or len(answer.split()) > MOST_WORDS
        or len(question) > 150
        or _POLITE.search(f"{question}?")
    ):
        return None
    if len(question.split()) < 3 or (
        _FINITE.search(answer) and not (_YES.match(answer) or _NO.match(answer))
    ):
        return None
    if _SIGHED.match(answer) and not _YES.match(answer):
        return None
    for pattern, form in _FORMS:
        found = pattern.fullmatch(question)
        if found:
            told = form(found, answer, speaker)
            return (
                _finished(
                    resolve_pronouns(_theirs(told, speaker), asker)
                    if asker
                    else _theirs(told, speaker)
                )
                if told
                else None
            )
    if _YES.match(answer) or _NO.match(answer):
        return None
    return _finished(f'Asked "{question}?", {speaker} answered: {answer}')


def _theirs(told: str, speaker: str) -> str:
    """Whoever answers is the "you" of the question."""
    return re.sub(r"\byour\b", lambda _: f"{speaker}'s", told, flags=re.I)


def _finished(told: str) -> str:
    return f"{told[:1].upper()}{told[1:]}."


def _lowered(answer: str) -> str:
    return answer[:1].lower() + answer[1:] if _SMALL_WORD.match(answer) else answer


def _put(where: str, answer: str) -> str:
    """The answer with the "in" that "where" asks for."""
    bare = _lowered(answer)
    return (
        f"in {bare}"
        if where.lower() == "where" and not _PLACED.match(bare) and bare[:1].isupper()
        else bare
    )


def _thing_is(found: re.Match[str], answer: str, _: str) -> str:
    be = {"'s": "is", "'re": "are"}.get(found["be"].strip().lower(), found["be"].strip().lower())
    return f"{found['thing']} {be} {_put(found['wh'], answer)}"


def _you_are(found: re.Match[str], answer: str, speaker: str) -> str:
    be, rest = (
        {"are": "is", "'re": "is", "were": "was"}[found["be"].strip().lower()],
        found["rest"] or "",
    )
    told = (
        _lowered(answer)
        if rest.endswith(("from", "to", "in", "at", "with", "for"))
        else _put(found["wh"], answer)
    )
    return " ".join(f"{speaker} {be} {rest} {told}".split())


def _you_do(found: re.Match[str], answer: str, speaker: str) -> str:
    verb, rest = to_third_person(found["verb"].lower()), found["rest"] or ""
    return " ".join(f"{speaker} {verb} {rest} {_put(found['wh'], answer)}".split())


def _how_many(found: re.Match[str], answer: str, speaker: str) -> str:
    return (
        f"{speaker} {to_third_person(found['verb'].lower())} {_lowered(answer)} {found['things']}"
    )


def _yes_or_no(found: re.Match[str], answer: str, speaker: str) -> str:
    yes, no = _YES.match(answer), _NO.match(answer)
    said = yes or no
    if not said:
        return ""
    more = answer[said.end() :].strip()
    rest = re.sub(r"\bany ", "", found["rest"]) if yes else found["rest"]
    told = _AUXILIARIES[found["aux"].lower()](rest, speaker, bool(yes))
    return f"{told}: {_lowered(more)}" if more else told


def _do(rest: str, speaker: str, yes: bool) -> str:
    verb, _, more = rest.partition(" ")
    return (
        f"{speaker} {to_third_person(verb.lower()) if yes else f'does not {verb}'} {more}".rstrip()
    )


_AUXILIARIES: Mapping[str, Callable[[str, str, bool], str]] = {
    "are": lambda rest, speaker, yes: f"{speaker} is {'' if yes else 'not '}{rest}",
    "have": lambda rest, speaker, yes: f"{speaker} has {'' if yes else 'not '}{rest}",
    "do": _do,
}
_BE = r"(?P<be>'s|'re| is| are| was| were)"
_FORMS: tuple[tuple[re.Pattern[str], _Form], ...] = tuple(
    (re.compile(pattern, re.I), form)
    for pattern, form in (
        (r"how many (?P<things>[\w ]{1,40}) do you (?P<verb>\w+)", _how_many),
        (
            r"(?P<wh>where|what|when|how old|how tall)(?P<be>'re| are|"
            r" were) you(?: (?P<rest>[\w ]{1,60}))?",
            _you_are,
        ),
        (
            rf"(?P<wh>when|where|what|who|which|how much|how old|how long){_BE} "
            r"(?P<thing>(?!you\b|that\b|this\b|it\b|going\b|happening\b)[\w' -]{2,80})",
            _thing_is,
        ),
        (
            r"(?P<wh>where|what) do you (?P<verb>(?!do\b|think\b|"
            r"mean\b)\w+)(?: (?P<rest>[\w ]{1,60}))?",
            _you_do,
        ),
        (r"(?P<aux>are|have|do) you (?P<rest>[\w' -]{2,80})", _yes_or_no),
    )
)

"""Restate a short answer as a sentence.

"When is the deadline?" and "March 15." become "The deadline is March 15."
"""

from __future__ import annotations

import re
from collections.abc import Callable

from muisti.remember.extract.pronouns import resolve_pronouns
from muisti.remember.extract.verbs import to_third_person

MOST_WORDS = 7
"""Words; a longer answer needs no question."""
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
_REMARK = re.compile(
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
"""An answer with a verb needs no question."""
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
    """Return the answer as a sentence about the speaker.

    Returns None if the question or the answer is small talk, or the answer needs no question.
    """
    question, answer = question.strip(" ?？!.\n"), answer.strip(" .!\n")
    if not answer or len(answer.split()) > MOST_WORDS:
        return None
    if len(question.split()) < 3 or len(question) > 150 or _POLITE.search(f"{question}?"):
        return None
    yes, no = _YES.match(answer), _NO.match(answer)
    if (_FINITE.search(answer) and not (yes or no)) or (_REMARK.match(answer) and not yes):
        return None
    for pattern, form in _FORMS:
        found = pattern.fullmatch(question)
        if not found:
            continue
        sentence = form(found, answer, speaker)
        if not sentence:
            return None
        # The speaker is the "you" of the question, and the asker its "I".
        sentence = re.sub(r"\byour\b", lambda _: f"{speaker}'s", sentence, flags=re.I)
        return _finish(resolve_pronouns(sentence, asker) if asker else sentence)
    if yes or no:
        return None
    return _finish(f'Asked "{question}?", {speaker} answered: {answer}')


def _finish(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _lower(answer: str) -> str:
    """Return the answer with a small first letter if it begins with a function word."""
    return answer[:1].lower() + answer[1:] if _SMALL_WORD.match(answer) else answer


def _add_preposition(question_word: str, answer: str) -> str:
    """Return the answer to "where" with an "in" before a bare name."""
    bare = _lower(answer)
    is_place = question_word.lower() == "where" and bare[:1].isupper()
    return f"in {bare}" if is_place and not _PLACED.match(bare) else bare


def _state_thing(found: re.Match[str], answer: str, _: str) -> str:
    be = found["be"].strip().lower()
    be = {"'s": "is", "'re": "are"}.get(be, be)
    return f"{found['thing']} {be} {_add_preposition(found['wh'], answer)}"


def _state_being(found: re.Match[str], answer: str, speaker: str) -> str:
    be = {"are": "is", "'re": "is", "were": "was"}[found["be"].strip().lower()]
    rest = found["rest"] or ""
    if rest.endswith(("from", "to", "in", "at", "with", "for")):
        value = _lower(answer)
    else:
        value = _add_preposition(found["wh"], answer)
    return " ".join(f"{speaker} {be} {rest} {value}".split())


def _state_doing(found: re.Match[str], answer: str, speaker: str) -> str:
    verb, rest = to_third_person(found["verb"].lower()), found["rest"] or ""
    return " ".join(f"{speaker} {verb} {rest} {_add_preposition(found['wh'], answer)}".split())


def _state_number(found: re.Match[str], answer: str, speaker: str) -> str:
    return f"{speaker} {to_third_person(found['verb'].lower())} {_lower(answer)} {found['things']}"


def _state_yes_or_no(found: re.Match[str], answer: str, speaker: str) -> str:
    yes = _YES.match(answer)
    match = yes or _NO.match(answer)
    if not match:
        return ""
    more = answer[match.end() :].strip()
    rest = re.sub(r"\bany ", "", found["rest"]) if yes else found["rest"]
    auxiliary = found["aux"].lower()
    if auxiliary == "do":
        verb, _, after = rest.partition(" ")
        predicate = to_third_person(verb.lower()) if yes else f"does not {verb}"
        sentence = f"{speaker} {predicate} {after}".rstrip()
    else:
        be = "is" if auxiliary == "are" else "has"
        sentence = f"{speaker} {be} {'' if yes else 'not '}{rest}"
    return f"{sentence}: {_lower(more)}" if more else sentence


_BE = r"(?P<be>'s|'re| is| are| was| were)"
_FORMS: tuple[tuple[re.Pattern[str], _Form], ...] = tuple(
    (re.compile(pattern, re.I), form)
    for pattern, form in (
        (r"how many (?P<things>[\w ]{1,40}) do you (?P<verb>\w+)", _state_number),
        (
            r"(?P<wh>where|what|when|how old|how tall)(?P<be>'re| are|"
            r" were) you(?: (?P<rest>[\w ]{1,60}))?",
            _state_being,
        ),
        (
            rf"(?P<wh>when|where|what|who|which|how much|how old|how long){_BE} "
            r"(?P<thing>(?!you\b|that\b|this\b|it\b|going\b|happening\b)[\w' -]{2,80})",
            _state_thing,
        ),
        (
            r"(?P<wh>where|what) do you (?P<verb>(?!do\b|think\b|"
            r"mean\b)\w+)(?: (?P<rest>[\w ]{1,60}))?",
            _state_doing,
        ),
        (r"(?P<aux>are|have|do) you (?P<rest>[\w' -]{2,80})", _state_yes_or_no),
    )
)

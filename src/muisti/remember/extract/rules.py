"""Memories out of a talk without a model: `extract` reads from top to bottom like a table of contents.

Each message is cut into sentences; each sentence is dropped (a question, small talk), or judged by its signs and rewritten so
that it can be understood alone: names for "I" and "you", dates for "yesterday", its subject if it was left out, its question if
it is a bare answer. Sentences of one message that lean on each other become one memory. The caller applies a threshold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from muisti.model import Extracted, Utterance
from muisti.remember.extract import cues
from muisti.remember.extract.answers import restate_answer
from muisti.remember.extract.other_languages import is_other_language, score_other_languages
from muisti.remember.extract.pronouns import complete_sentence, resolve_pronouns
from muisti.remember.extract.scoring import (
    ASSISTANT,
    CORRECTED,
    INSTRUCTED,
    MODES,
    classify_cues,
    find_cues,
    score_sentence,
)
from muisti.remember.extract.sentences import expand_shorthand, read_sentences
from muisti.text.time_expressions.statement import resolve_dates
from muisti.text.tokens import split_words

LONGEST = 300
"""Characters of a memory."""
PASTED = 1500
"""Characters of a message that nobody types in a chat."""
TELLING, LEAN = 0.3, 0.1
"""From here on a sentence is taken into a memory; or, if the next leans on it, from there on."""
_ANSWER, REQUESTED, _DONE = 0.45, 0.7, 0.35
"""An answer to a question, a way of working that is asked for, what an assistant did."""
_FEW = 7
"""Words of a correction that only makes sense with what was said before."""
_COMMON = frozenset(
    """
    meant mean that this have with from should will would they them there actually sorry correction
    wrong
    """.split()
)
_FROM_NOW_ON = re.compile(r"from now on|going forward", re.I)
_NAMELESS = frozenset(("", "user", "assistant"))
"""Speakers whose name before a sentence would say nothing."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """One sentence, rewritten and judged."""

    memory: Extracted
    leans: bool = False
    """It begins with "it" or "that": the sentence before it says what."""
    alone: bool = False
    """It is joined with no other: an order to remember is a memory of its own."""
    corrects: bool = False
    prefix: str = ""
    """"Anna: ", which is written once."""


def extract(utterances: Sequence[Utterance], *, mode: str = "default") -> list[Extracted]:
    """What is worth keeping, in the order it was said. Raises ValueError for a mode that is none."""
    if mode not in MODES:
        raise ValueError(f"mode {mode!r} is not known; choose one of {', '.join(MODES)}")
    found: list[Extracted] = []
    latest: dict[str, int] = {}
    asked, asker = "", ""
    for utterance in utterances:
        speaker = utterance.speaker.strip() or utterance.role.capitalize()
        said = read_sentences(utterance.text)
        for statement in _joined(
            _statements(said, asked, asker, replace(utterance, speaker=speaker), mode)
        ):
            memory = _correcting(statement, found, latest.get(speaker))
            latest[speaker] = len(found)
            found.append(memory)
        asked, asker = (
            next((line for line in reversed(said) if line.endswith(("?", "？"))), ""),
            speaker,
        )
    return found


def _statements(
    said: list[str], asked: str, asker: str, utterance: Utterance, mode: str
) -> list[_Statement]:
    answer = _answer(said, asked, asker, utterance)
    found = [_statement(sentence, utterance, mode) for sentence in (said[1:] if answer else said)]
    return [statement for statement in (answer, *found) if statement is not None]


def _answer(said: list[str], asked: str, asker: str, utterance: Utterance) -> _Statement | None:
    """A bare answer to the question before it. An assistant's answers repeat or explain, so they are none."""
    if not asked or not said or utterance.speaker == asker or utterance.role == "assistant":
        return None
    if said[0].endswith("?") or find_cues(said[0]) & {"own", "chat"}:
        return None
    told = restate_answer(
        asked, said[0], speaker=utterance.speaker, asker="" if asker.lower() in _NAMELESS else asker
    )
    if not told:
        return None
    text, about = resolve_dates(told, utterance.at)
    kind = classify_cues(text, find_cues(f"{asked} {said[0]}"))
    return _Statement(
        Extracted(_shortened(text), kind, _ANSWER, f"{asked} {said[0]}", about), alone=True
    )


def _statement(sentence: str, utterance: Utterance, mode: str) -> _Statement | None:
    """What a sentence is: the first that fits; None for a question."""
    if is_other_language(sentence):
        return _from_abroad(sentence, utterance)
    said, sentence = sentence, expand_shorthand(sentence)
    statement = _english(sentence, utterance, mode)
    return (
        replace(statement, memory=replace(statement.memory, source_text=said))
        if statement
        else None
    )


def _english(sentence: str, utterance: Utterance, mode: str) -> _Statement | None:
    ordered = cues.INSTRUCTION.match(sentence)
    if ordered and utterance.role != "assistant" and _is_order(ordered[0], utterance):
        return _ordered(sentence, ordered.end(), utterance)
    if sentence.endswith("?") or cues.QUESTION.match(sentence):
        return None
    corrected = cues.CORRECTION.match(sentence)
    if corrected and utterance.role != "assistant":
        return _corrected(sentence, corrected, utterance, mode)
    bare = _without_lead(sentence, utterance.addressee)
    if cues.RULE.match(bare) and utterance.role != "assistant":
        return _requested(sentence, bare, utterance)
    return _plain(sentence, bare, utterance, mode)


def _from_abroad(sentence: str, utterance: Utterance) -> _Statement | None:
    told = score_other_languages(sentence)
    if told is None or (utterance.role == "assistant" and told[0] != "decision"):
        return None
    kind, importance = told
    content = _shortened(f"{utterance.speaker}: {sentence}")
    memory = Extracted(
        content,
        kind,
        _weighed(importance, utterance),
        sentence,
        resolve_dates(sentence, utterance.at)[1],
    )
    return _Statement(memory, alone=True)


def _is_order(lead: str, utterance: Utterance) -> bool:
    """Between people "remember, …" and "don't forget to …" are advice; said to an assistant they are orders."""
    return utterance.addressee.lower() in _NAMELESS or lead.rstrip().lower().endswith(("that", ":"))


def _ordered(sentence: str, start: int, utterance: Utterance) -> _Statement | None:
    """What a person asks to remember, whatever it is; not "do you remember …?"."""
    rest = sentence[start:].strip()
    if not rest or (
        sentence.endswith("?") and not re.match(r"(?:can|could|would) you|please", sentence, re.I)
    ):
        return None
    if rest.lower().startswith(("to ", "not to ")) or (
        _FROM_NOW_ON.search(sentence[:start]) and not find_cues(rest) & {"own", "states"}
    ):
        return _requested(
            sentence, re.sub(r"^(not )?to ", r"\1", rest, flags=re.I), utterance, INSTRUCTED
        )
    found = find_cues(rest)
    kind = classify_cues(rest, found)
    if kind == "fact" and "note" in sentence[:start].lower():
        kind = "note"
    return _Statement(_memory(rest.rstrip("?"), sentence, utterance, kind, INSTRUCTED), alone=True)


def _corrected(
    sentence: str, lead: re.Match[str], utterance: Utterance, mode: str
) -> _Statement | None:
    rest = sentence[lead.end() :].strip()
    if not rest:
        return None
    meant = re.search(r"\b(?:meant|mean)\b", lead[0], re.I)
    strict = cues.STRICT_CORRECTION.search(lead[0]) is not None
    importance = (
        CORRECTED
        if strict
        else min(CORRECTED, round(score_sentence(rest, mode=mode).importance + 0.15, 2))
    )
    told = f"{utterance.speaker} meant: {rest}" if meant else rest
    memory = _memory(told, sentence, utterance, score_sentence(rest, mode=mode).kind, importance)
    return _Statement(
        memory, alone=strict, corrects=strict or cues.ANAPHORA.match(rest) is not None
    )


def _correcting(statement: _Statement, found: list[Extracted], place: int | None) -> Extracted:
    """A correction with what it corrects, which then counts half; other statements as they are.

    What the speaker said last need not be what is corrected: it may be how it was understood. So the two must share a word, or
    the correction must be too short to say more than the one word that was wrong.
    """
    if place is None or not statement.corrects:
        return statement.memory
    wrong = found[place]
    if len(statement.memory.source_text.split()) > _FEW and _telling_words(wrong).isdisjoint(
        _telling_words(statement.memory)
    ):
        return statement.memory
    content = f'{statement.memory.content.rstrip(".")}, correcting "{wrong.content}"'
    if len(content) > LONGEST:
        return statement.memory
    found[place] = replace(wrong, importance=round(wrong.importance / 2, 2))
    return replace(statement.memory, content=content)


def _telling_words(memory: Extracted) -> set[str]:
    return {
        word
        for word in split_words(memory.source_text.lower())
        if (len(word) > 3 or word.isdigit()) and word not in _COMMON
    }


def _requested(
    sentence: str, bare: str, utterance: Utterance, importance: float = REQUESTED
) -> _Statement:
    """A way of working that is asked for: "always use tabs"."""
    text, about = resolve_dates(bare, utterance.at)
    wish = resolve_pronouns(
        re.sub(r"^please ", "", text.rstrip(".!"), flags=re.I), utterance.speaker
    )
    content = f"{utterance.speaker} asks: {wish[:1].lower()}{wish[1:]}."
    return _Statement(
        Extracted(_shortened(content), "preference", importance, sentence, about), alone=True
    )


def _plain(sentence: str, bare: str, utterance: Utterance, mode: str) -> _Statement | None:
    if utterance.role == "assistant" and (
        cues.OFFER.match(bare)
        or cues.ACKNOWLEDGES.match(bare)
        or not cues.RESULT.search(bare)
        or cues.TO_READER.search(bare)
    ):
        return None
    whole = complete_sentence(bare)
    marks = {
        "dropped subject": whole != bare,
        "pasted": len(utterance.text) > PASTED,
        "task": utterance.addressee.lower() in _NAMELESS and cues.TASK.match(bare) is not None,
    }
    worth = score_sentence(
        whole, mode=mode, marks=frozenset(name for name, is_there in marks.items() if is_there)
    )
    importance = _weighed(worth.importance, utterance)
    if utterance.role == "assistant" and find_cues(bare) & {"own", "technical"}:
        importance = max(importance, _DONE)
    memory = _memory(whole, sentence, utterance, worth.kind, importance)
    return _Statement(
        memory, leans=cues.ANAPHORA.match(bare) is not None, prefix=f"{utterance.speaker}: "
    )


def _weighed(importance: float, utterance: Utterance) -> float:
    return round(importance * ASSISTANT, 2) if utterance.role == "assistant" else importance


def _without_lead(sentence: str, addressee: str) -> str:
    """Without "Yeah, " and "Hey Jon, " before it, and without the name of whom it is said to."""
    lead = cues.LEADS.match(sentence)
    bare = sentence[lead.end() :] if lead and lead.end() < len(sentence) else sentence
    bare = re.sub(r"^(?:and|but|so|plus|also|or|because|'?cause) (?=[\w']+ )", "", bare, flags=re.I)
    bare = re.sub(r",? (?:btw|by the way)(?=[,.!]|$)", "", bare, flags=re.I)
    bare = cues.TELLS.sub("", bare, count=1)
    bare = cues.REMINDS.sub(lambda verb: f"It {verb[0].lower()}", bare, count=1)
    if addressee:
        name = re.escape(addressee)
        bare = re.sub(rf"^{name}[,!] |,? {name}(?=[.!]*$)", "", bare)
    return bare


def _memory(
    told: str, source: str, utterance: Utterance, kind: str, importance: float
) -> Extracted:
    """The sentence as it is kept: dates and names put in, a full stop at its end, its speaker before it if nothing names them."""
    text, about = resolve_dates(told, utterance.at)
    text = resolve_pronouns(text, utterance.speaker, utterance.addressee)
    text = f"{text[:1].upper()}{text[1:]}".rstrip(" .!,;:-–—") + "."
    if utterance.speaker.lower() not in _NAMELESS and utterance.speaker not in text:
        text = f"{utterance.speaker}: {text}"
    return Extracted(_shortened(text), kind, importance, source, about)


def _shortened(text: str) -> str:
    """At most LONGEST characters, cut between words."""
    return (
        text
        if len(text) <= LONGEST
        else f"{text[: LONGEST - 1].rpartition(' ')[0] or text[: LONGEST - 1]}…"
    )


# Sentences that belong together ---------------------------------------------------------------------------------------


def _joined(statements: Sequence[_Statement]) -> list[_Statement]:
    """Telling statements, two and two where they stand side by side; one that leans goes with the one before it."""
    kept: list[_Statement] = []
    is_open = False
    for place, statement in enumerate(statements):
        if statement.memory.importance < TELLING:
            continue
        before = statements[place - 1] if statement.leans and place else statement
        if LEAN <= before.memory.importance < TELLING and _fit(before, statement):
            kept.append(_together(before, statement))
            is_open = False
        elif is_open and _fit(kept[-1], statement):
            kept[-1] = _together(kept[-1], statement)
            is_open = False
        else:
            kept.append(statement)
            is_open = True
    return kept


def _fit(first: _Statement, second: _Statement) -> bool:
    return (
        not (first.alone or second.alone)
        and len(first.memory.content) + len(second.memory.content) < LONGEST
    )


def _together(first: _Statement, second: _Statement) -> _Statement:
    one, two = first.memory, second.memory
    stronger = one if one.importance >= two.importance else two
    return replace(
        first,
        memory=Extracted(
            f"{one.content} {two.content.removeprefix(first.prefix)}",
            stronger.kind,
            stronger.importance,
            f"{one.source_text} {two.source_text}",
            one.about or two.about,
        ),
    )

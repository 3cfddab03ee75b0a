"""Extract memories from a conversation by rules, without a model.

Each message is split into sentences. A sentence is dropped (a question, small talk), or scored and
rewritten so that it can be understood alone: with names for "I" and "you", dates for "yesterday",
its subject if it was left out, and its question if it is a bare answer. Sentences of one message
that refer to each other become one memory. The caller applies a threshold.
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
"""Characters of a message that is too long to have been typed."""
TELLING, LEAN = 0.3, 0.1
"""The least importance of a memory; and of a sentence that the next one refers to."""
_ANSWER, REQUESTED, _DONE = 0.45, 0.7, 0.35
"""The importance of an answer, of a request for a way of working, of what an assistant did."""
_FEW = 7
"""Words; a correction of as few only makes sense with what it corrects."""
_COMMON = frozenset(
    """
    meant mean that this have with from should will would they them there actually sorry correction
    wrong
    """.split()
)
_FROM_NOW_ON = re.compile(r"from now on|going forward", re.I)
_NAMELESS = frozenset(("", "user", "assistant"))
"""Speakers whose name says nothing."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """One sentence, rewritten and scored."""

    memory: Extracted
    leans: bool = False
    """It begins with "it" or "that", and refers to the sentence before it."""
    alone: bool = False
    """It is never joined with another, such as a request to remember something."""
    corrects: bool = False
    prefix: str = ""
    """The speaker's name, which a joined memory has only once: "Anna: "."""


def extract(utterances: Sequence[Utterance], *, mode: str = "default") -> list[Extracted]:
    """Return what is worth storing, in the order it was said. Raises ValueError for the mode."""
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)} (got {mode!r})")
    found: list[Extracted] = []
    latest: dict[str, int] = {}
    question, asker = "", ""
    for utterance in utterances:
        speaker = utterance.speaker.strip() or utterance.role.capitalize()
        utterance = replace(utterance, speaker=speaker)  # noqa: PLW2901
        sentences = read_sentences(utterance.text)
        answer = _read_answer(sentences, question, asker, utterance)
        statements = [
            _read_sentence(sentence, utterance, mode)
            for sentence in (sentences[1:] if answer else sentences)
        ]
        kept = [statement for statement in (answer, *statements) if statement is not None]
        for statement in _join_statements(kept):
            memory = _apply_correction(statement, found, latest.get(speaker))
            latest[speaker] = len(found)
            found.append(memory)
        questions = [sentence for sentence in sentences if sentence.endswith(("?", "？"))]
        question, asker = questions[-1] if questions else "", speaker
    return found


def _read_answer(
    sentences: list[str], question: str, asker: str, utterance: Utterance
) -> _Statement | None:
    """Return a bare answer to the question before it. Assistants' answers repeat or explain."""
    if not question or not sentences:
        return None
    if utterance.speaker == asker or utterance.role == "assistant":
        return None
    answer = sentences[0]
    if answer.endswith("?") or find_cues(answer) & {"own", "chat"}:
        return None
    asker = "" if asker.lower() in _NAMELESS else asker
    sentence = restate_answer(question, answer, speaker=utterance.speaker, asker=asker)
    if not sentence:
        return None
    text, about = resolve_dates(sentence, utterance.at)
    source = f"{question} {answer}"
    kind = classify_cues(text, find_cues(source))
    return _Statement(Extracted(_shorten(text), kind, _ANSWER, source, about), alone=True)


def _read_sentence(sentence: str, utterance: Utterance, mode: str) -> _Statement | None:
    """Return the statement of the first rule that applies; None for a question or small talk."""
    if is_other_language(sentence):
        scored = score_other_languages(sentence)
        if scored is None or (utterance.role == "assistant" and scored[0] != "decision"):
            return None
        content = _shorten(f"{utterance.speaker}: {sentence}")
        importance = _weigh_role(scored[1], utterance)
        about = resolve_dates(sentence, utterance.at)[1]
        return _Statement(Extracted(content, scored[0], importance, sentence, about), alone=True)
    statement = _read_english(expand_shorthand(sentence), utterance, mode)
    if statement is None:
        return None
    return replace(statement, memory=replace(statement.memory, source_text=sentence))


def _read_english(sentence: str, utterance: Utterance, mode: str) -> _Statement | None:
    is_user = utterance.role != "assistant"
    lead = cues.INSTRUCTION.match(sentence)
    if lead and is_user:
        # Between people "remember, …" and "don't forget to …" are advice, not instructions.
        is_to_assistant = utterance.addressee.lower() in _NAMELESS
        if is_to_assistant or lead[0].rstrip().lower().endswith(("that", ":")):
            return _read_instruction(sentence, lead.end(), utterance)
    if sentence.endswith("?") or cues.QUESTION.match(sentence):
        return None
    correction = cues.CORRECTION.match(sentence)
    if correction and is_user:
        rest = sentence[correction.end() :].strip()
        if not rest:
            return None
        scored = score_sentence(rest, mode=mode)
        is_strict = cues.STRICT_CORRECTION.search(correction[0]) is not None
        importance = CORRECTED if is_strict else min(CORRECTED, round(scored.importance + 0.15, 2))
        is_meant = re.search(r"\b(?:meant|mean)\b", correction[0], re.I)
        text = f"{utterance.speaker} meant: {rest}" if is_meant else rest
        memory = _make_memory(text, sentence, utterance, scored.kind, importance)
        corrects = is_strict or cues.ANAPHORA.match(rest) is not None
        return _Statement(memory, alone=is_strict, corrects=corrects)
    bare = _drop_lead(sentence, utterance.addressee)
    if cues.RULE.match(bare) and is_user:
        return _make_request(sentence, bare, utterance)
    return _read_plain(sentence, bare, utterance, mode)


def _read_instruction(sentence: str, start: int, utterance: Utterance) -> _Statement | None:
    """Read what the user asks to remember, whatever it is; not "do you remember …?"."""
    rest = sentence[start:].strip()
    is_question = sentence.endswith("?")
    if not rest:
        return None
    if is_question and not re.match(r"(?:can|could|would) you|please", sentence, re.I):
        return None
    found = find_cues(rest)
    is_rule = _FROM_NOW_ON.search(sentence[:start]) and not found & {"own", "states"}
    if is_rule or rest.lower().startswith(("to ", "not to ")):
        wish = re.sub(r"^(not )?to ", r"\1", rest, flags=re.I)
        return _make_request(sentence, wish, utterance, INSTRUCTED)
    kind = classify_cues(rest, found)
    if kind == "fact" and "note" in sentence[:start].lower():
        kind = "note"
    memory = _make_memory(rest.rstrip("?"), sentence, utterance, kind, INSTRUCTED)
    return _Statement(memory, alone=True)


def _apply_correction(
    statement: _Statement, found: list[Extracted], latest: int | None
) -> Extracted:
    """Return a correction together with what it corrects, whose importance is halved.

    The speaker's latest statement need not be the one that is corrected. So the two must share a
    word, unless the correction is too short to have more than the wrong word.
    """
    memory = statement.memory
    if latest is None or not statement.corrects:
        return memory
    wrong = found[latest]
    is_long = len(memory.source_text.split()) > _FEW
    if is_long and _find_key_words(wrong).isdisjoint(_find_key_words(memory)):
        return memory
    content = f'{memory.content.rstrip(".")}, correcting "{wrong.content}"'
    if len(content) > LONGEST:
        return memory
    found[latest] = replace(wrong, importance=round(wrong.importance / 2, 2))
    return replace(memory, content=content)


def _find_key_words(memory: Extracted) -> set[str]:
    return {
        word
        for word in split_words(memory.source_text.lower())
        if (len(word) > 3 or word.isdigit()) and word not in _COMMON
    }


def _make_request(
    sentence: str, bare: str, utterance: Utterance, importance: float = REQUESTED
) -> _Statement:
    """Return a request for a way of working: "always use tabs"."""
    text, about = resolve_dates(bare, utterance.at)
    wish = re.sub(r"^please ", "", text.rstrip(".!"), flags=re.I)
    wish = resolve_pronouns(wish, utterance.speaker)
    content = _shorten(f"{utterance.speaker} asks: {wish[:1].lower()}{wish[1:]}.")
    return _Statement(Extracted(content, "preference", importance, sentence, about), alone=True)


def _read_plain(sentence: str, bare: str, utterance: Utterance, mode: str) -> _Statement | None:
    """Score a plain statement. Of what an assistant says, only results are worth storing."""
    is_assistant = utterance.role == "assistant"
    if is_assistant:
        if cues.OFFER.match(bare) or cues.ACKNOWLEDGES.match(bare):
            return None
        if not cues.RESULT.search(bare) or cues.TO_READER.search(bare):
            return None
    whole = complete_sentence(bare)
    marks = set()
    if whole != bare:
        marks.add("dropped subject")
    if len(utterance.text) > PASTED:
        marks.add("pasted")
    if utterance.addressee.lower() in _NAMELESS and cues.TASK.match(bare):
        marks.add("task")
    scored = score_sentence(whole, mode=mode, marks=frozenset(marks))
    importance = _weigh_role(scored.importance, utterance)
    if is_assistant and find_cues(bare) & {"own", "technical"}:
        importance = max(importance, _DONE)
    memory = _make_memory(whole, sentence, utterance, scored.kind, importance)
    leans = cues.ANAPHORA.match(bare) is not None
    return _Statement(memory, leans=leans, prefix=f"{utterance.speaker}: ")


def _weigh_role(importance: float, utterance: Utterance) -> float:
    return round(importance * ASSISTANT, 2) if utterance.role == "assistant" else importance


def _drop_lead(sentence: str, addressee: str) -> str:
    """Return the sentence without "Yeah, ", "Hey Jon, " and the addressee's name."""
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


def _make_memory(
    sentence: str, source: str, utterance: Utterance, kind: str, importance: float
) -> Extracted:
    """Return the sentence with dates and names, a full stop, and its speaker if not named in it."""
    text, about = resolve_dates(sentence, utterance.at)
    text = resolve_pronouns(text, utterance.speaker, utterance.addressee)
    text = f"{text[:1].upper()}{text[1:]}".rstrip(" .!,;:-–—") + "."
    if utterance.speaker.lower() not in _NAMELESS and utterance.speaker not in text:
        text = f"{utterance.speaker}: {text}"
    return Extracted(_shorten(text), kind, importance, source, about)


def _shorten(text: str) -> str:
    """Return at most LONGEST characters, cut between words."""
    if len(text) <= LONGEST:
        return text
    cut = text[: LONGEST - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"


def _join_statements(statements: Sequence[_Statement]) -> list[_Statement]:
    """Return the important statements, neighbours joined in pairs.

    A statement that leans is joined with the one before it, even if that is less important.
    """
    kept: list[_Statement] = []
    is_open = False
    for place, statement in enumerate(statements):
        if statement.memory.importance < TELLING:
            continue
        before = statements[place - 1] if statement.leans and place else statement
        if LEAN <= before.memory.importance < TELLING and _can_join(before, statement):
            kept.append(_join(before, statement))
            is_open = False
        elif is_open and _can_join(kept[-1], statement):
            kept[-1] = _join(kept[-1], statement)
            is_open = False
        else:
            kept.append(statement)
            is_open = True
    return kept


def _can_join(first: _Statement, second: _Statement) -> bool:
    length = len(first.memory.content) + len(second.memory.content)
    return not (first.alone or second.alone) and length < LONGEST


def _join(first: _Statement, second: _Statement) -> _Statement:
    one, two = first.memory, second.memory
    stronger = one if one.importance >= two.importance else two
    memory = Extracted(
        f"{one.content} {two.content.removeprefix(first.prefix)}",
        stronger.kind,
        stronger.importance,
        f"{one.source_text} {two.source_text}",
        one.about or two.about,
    )
    return replace(first, memory=memory)

"""Extract memories from a conversation by rules, without a model.

Each message is split into sentences. A sentence is dropped (a question, small talk), or scored and
rewritten so that it can be understood alone: with names for "I" and "you", dates for "yesterday",
its subject if it was left out, and its question if it is a bare answer. Otherwise it stays as it
was said: in a conversation with an assistant "we" are the team, and no name takes its place.
Sentences of one message that refer to each other become one memory. A correction takes the place
of what it corrects. The caller applies a threshold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from muisti.model import Extracted, Utterance
from muisti.remember.extract import cues
from muisti.remember.extract.answers import restate_answer
from muisti.remember.extract.corrections import (
    Correction,
    drop_lead,
    find_corrected,
    read_correction,
)
from muisti.remember.extract.introductions import GREETING, find_name
from muisti.remember.extract.noise import is_noise
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
_ANSWER, REQUESTED, _DONE, _NAMED = 0.45, 0.7, 0.35, 0.6
"""The importance of an answer, a request for a way of working, an assistant's deed, a name."""
_CORRECTABLE = 8
"""How many statements before a correction may be the one that it corrects."""
_FEW = 7
"""Words; a correction of as few only makes sense with what it corrects."""
_COMMON = frozenset(
    """
    meant mean that this have with from should will would they them there actually sorry correction
    wrong
    """.split()
)
_FROM_NOW_ON = re.compile(r"from now on|going forward", re.I)
_POLITE = re.compile(
    r"^(?:(?:please|just|i want you to|i'd like you to|you should|you must) )+", re.I
)
_TEAM = re.compile(r"\b(?:we|our|ours|us)\b", re.I)
_TOLD: Mapping[str, re.Pattern[str]] = {
    "told": cues.TELLING,
    "convention": cues.CONVENTION,
    "personal": cues.PERSONAL,
}
"""Cues that count in what a user tells an assistant."""
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
    correction: Correction | None = None
    prefix: str = ""
    """The speaker's name, which a joined memory has only once: "Anna: "."""


@dataclass(frozen=True, slots=True)
class _Message(Utterance):
    """An utterance and how to read it."""

    mode: str = "default"
    with_assistant: bool = True
    """Whether one of the speakers is an assistant: then "we" are the team or the project."""


def extract(utterances: Sequence[Utterance], *, mode: str = "default") -> list[Extracted]:
    """Return what is worth storing, in the order it was said. Raises ValueError for the mode.

    A correction of something that this conversation does not contain has `corrects` set and hardly
    any importance: the caller may know the earlier memories.
    """
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)} (got {mode!r})")
    found: list[Extracted] = []
    latest: dict[str, int] = {}
    question, asker = "", ""
    for message in _read_messages(utterances, mode):
        speaker = message.speaker
        sentences = read_sentences(message.text)
        answer = _read_answer(sentences, question, asker, message)
        is_asked = bool(question) and asker != speaker
        statements = _read_statements(sentences[1:] if answer else sentences, message, is_asked)
        kept = [answer, *statements] if answer else statements
        for statement in _join_statements(kept):
            memory = _apply_correction(statement, found, latest.get(speaker))
            latest[speaker] = len(found)
            found.append(memory)
        questions = [sentence for sentence in sentences if sentence.endswith(("?", "？"))]
        question, asker = questions[-1] if questions else "", speaker
    return found


def _read_messages(utterances: Sequence[Utterance], mode: str) -> Iterator[_Message]:
    """Yield the utterances with their speakers' names. Several named people speak to each other."""
    people = {one.speaker.strip().lower() for one in utterances if one.role != "assistant"}
    are_people = len(people - _NAMELESS) > 1
    for one in utterances:
        speaker = one.speaker.strip() or one.role.capitalize()
        is_named = one.addressee.lower() not in _NAMELESS
        with_assistant = one.role == "assistant" or not (is_named or are_people)
        yield _Message(one.text, speaker, one.role, one.at, one.addressee, mode, with_assistant)


def _read_statements(
    sentences: Sequence[str], message: _Message, is_asked: bool
) -> list[_Statement]:
    """Return the statements of a message. Is asked: a question precedes it."""
    statements: list[_Statement] = []
    is_greeted = False
    is_from_user = message.with_assistant and message.role != "assistant"
    for place, sentence in enumerate(sentences):
        is_greeted = is_greeted or GREETING.match(f"{sentence} I") is not None
        if is_from_user and not sentence.endswith("?"):
            named = _read_name(sentence, message, is_greeted=is_greeted)
            if named is not None:
                statements.append(named)
                continue
            correction = read_correction(expand_shorthand(sentence))
            is_answer = is_asked and place == 0  # "No, Friday."
            if correction and (correction.is_plain or not is_answer):
                statements += _read_corrected(sentence, message, correction)
                continue
        statement = _read_sentence(sentence, message)
        if statement is not None:
            statements.append(statement)
    return statements


def _read_name(sentence: str, message: _Message, *, is_greeted: bool) -> _Statement | None:
    """Return the name of a speaker without one, and what follows it."""
    if message.speaker.lower() not in _NAMELESS:
        return None
    greeting = GREETING.match(sentence)
    bare = expand_shorthand(sentence[greeting.end() :] if greeting else sentence)
    found = find_name(bare, after_greeting=is_greeted or greeting is not None)
    if found is None:
        return None
    name, rest = found
    text = f"{message.speaker}'s name is {name}"
    if any(char.isalnum() for char in rest):
        is_apart = rest.lstrip().startswith((",", ".")) or rest.startswith(" and")
        text += rest if is_apart else f",{rest}"
    memory = _make_memory(text, sentence, message, "fact", _NAMED)
    return _Statement(memory, alone=True)


def _read_corrected(sentence: str, message: _Message, correction: Correction) -> list[_Statement]:
    """Return a correction: a bare value, which needs what it corrects, or a whole sentence."""
    if correction.value:
        memory = Extracted(f"{correction.value}.", "fact", LEAN, sentence, corrects=True)
        return [_Statement(memory, alone=True, correction=correction)]
    is_known = cues.CORRECTION.match(expand_shorthand(sentence)) is not None
    statement = _read_sentence(sentence if is_known else drop_lead(sentence), message)
    if statement is None:
        return []
    memory = replace(statement.memory, source_text=sentence)
    return [replace(statement, memory=memory, alone=True, correction=correction)]


def _read_answer(
    sentences: list[str], question: str, asker: str, message: _Message
) -> _Statement | None:
    """Return a bare answer to the question before it. Assistants' answers repeat or explain."""
    if not question or not sentences:
        return None
    if message.speaker == asker or message.role == "assistant":
        return None
    answer = sentences[0]
    if answer.endswith("?") or find_cues(answer) & {"own", "chat"}:
        return None
    asker = "" if asker.lower() in _NAMELESS else asker
    sentence = restate_answer(question, answer, speaker=message.speaker, asker=asker)
    if not sentence:
        return None
    text, about = resolve_dates(sentence, message.at)
    source = f"{question} {answer}"
    kind = classify_cues(text, find_cues(source))
    return _Statement(Extracted(_shorten(text), kind, _ANSWER, source, about), alone=True)


def _read_sentence(sentence: str, message: _Message) -> _Statement | None:
    """Return the statement of the first rule that applies; None for a question or small talk."""
    if is_other_language(sentence):
        scored = score_other_languages(sentence)
        if scored is None or (message.role == "assistant" and scored[0] != "decision"):
            return None
        content = _shorten(f"{message.speaker}: {sentence}")
        importance = _weigh_role(scored[1], message)
        about = resolve_dates(sentence, message.at)[1]
        return _Statement(Extracted(content, scored[0], importance, sentence, about), alone=True)
    statement = _read_english(expand_shorthand(sentence), message)
    if statement is None:
        return None
    return replace(statement, memory=replace(statement.memory, source_text=sentence))


def _read_english(sentence: str, message: _Message) -> _Statement | None:
    is_user = message.role != "assistant"
    lead = cues.INSTRUCTION.match(sentence)
    if lead and is_user:
        # Between people "remember, …" and "don't forget to …" are advice, not instructions.
        is_to_assistant = message.addressee.lower() in _NAMELESS
        if is_to_assistant or lead[0].rstrip().lower().endswith(("that", ":")):
            return _read_instruction(sentence, lead.end(), message)
    if sentence.endswith("?") or cues.QUESTION.match(sentence):
        return None
    correction = cues.CORRECTION.match(sentence)
    if correction and is_user:
        rest = sentence[correction.end() :].strip()
        if not rest or (message.with_assistant and cues.TASK.match(rest)):  # "no, try again"
            return None
        scored = score_sentence(rest, mode=message.mode)
        is_strict = cues.STRICT_CORRECTION.search(correction[0]) is not None
        importance = CORRECTED if is_strict else min(CORRECTED, round(scored.importance + 0.15, 2))
        is_meant = re.search(r"\b(?:meant|mean)\b", correction[0], re.I)
        text = f"{message.speaker} meant: {rest}" if is_meant else rest
        memory = _make_memory(text, sentence, message, scored.kind, importance)
        corrects = is_strict or cues.ANAPHORA.match(rest) is not None
        return _Statement(memory, alone=is_strict, corrects=corrects)
    bare = _drop_lead(sentence, message)
    is_rule = cues.RULE.match(bare) or (message.with_assistant and cues.STANDING.match(bare))
    if is_rule and is_user:
        return _make_request(sentence, bare, message)
    if message.with_assistant and is_noise(bare, by_assistant=not is_user):
        return None
    return _read_plain(sentence, bare, message)


def _read_instruction(sentence: str, start: int, message: _Message) -> _Statement | None:
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
        return _make_request(sentence, wish, message, INSTRUCTED)
    kind = classify_cues(rest, found)
    if kind == "fact" and "note" in sentence[:start].lower():
        kind = "note"
    memory = _make_memory(rest.rstrip("?"), sentence, message, kind, INSTRUCTED)
    return _Statement(memory, alone=True)


def _apply_correction(
    statement: _Statement, found: list[Extracted], latest: int | None
) -> Extracted:
    """Return a correction with what it corrects, which loses its importance.

    The speaker's latest statement need not be the one that is corrected. So the two must share a
    word, unless the correction is too short to have more than the wrong word.
    """
    memory, correction = statement.memory, statement.correction
    if correction is not None:
        recent = range(max(0, len(found) - _CORRECTABLE), len(found))
        contents = [found[place].content for place in recent]
        corrected = find_corrected(correction, memory.content, contents)
        if corrected is not None:
            place = recent[corrected[0]]
            wrong = found[place]
            found[place] = replace(wrong, importance=LEAN)
            kind = wrong.kind if correction.value else memory.kind
            content = _shorten(corrected[1])
            return replace(memory, content=content, kind=kind, importance=CORRECTED, corrects=False)
        if correction.value or correction.wrong:
            memory = replace(memory, corrects=True)
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
    return replace(memory, content=content, corrects=False)


def _find_key_words(memory: Extracted) -> set[str]:
    return {
        word
        for word in split_words(memory.source_text.lower())
        if (len(word) > 3 or word.isdigit()) and word not in _COMMON
    }


def _make_request(
    sentence: str, bare: str, message: _Message, importance: float = REQUESTED
) -> _Statement:
    """Return a request for a way of working: "always use tabs"."""
    text, about = resolve_dates(bare, message.at)
    wish = _POLITE.sub("", text.rstrip(".!"))
    wish = resolve_pronouns(wish, message.speaker, keep_we=message.with_assistant)
    content = _shorten(f"{message.speaker} asks: {wish[:1].lower()}{wish[1:]}.")
    return _Statement(Extracted(content, "preference", importance, sentence, about), alone=True)


def _read_plain(sentence: str, bare: str, message: _Message) -> _Statement | None:
    """Score a plain statement. Of what an assistant says, only results are worth storing."""
    is_assistant = message.role == "assistant"
    if is_assistant:
        if cues.OFFER.match(bare) or cues.ACKNOWLEDGES.match(bare):
            return None
        if not cues.RESULT.search(bare) or cues.TO_READER.search(bare):
            return None
    whole = complete_sentence(bare)
    marks = set()
    if whole != bare:
        marks.add("dropped subject")
    if len(message.text) > PASTED:
        marks.add("pasted")
    elif message.with_assistant and not is_assistant:
        marks |= {name for name, pattern in _TOLD.items() if pattern.match(whole)}
    is_task = cues.TASK.match(bare) and not cues.PASSING.match(bare)
    if message.addressee.lower() in _NAMELESS and is_task:
        marks.add("task")
    scored = score_sentence(whole, mode=message.mode, marks=frozenset(marks))
    importance = _weigh_role(scored.importance, message)
    if is_assistant and (find_cues(bare) & {"own", "technical"} or cues.FINDING.search(bare)):
        importance = max(importance, _DONE)
    memory = _make_memory(whole, sentence, message, scored.kind, importance)
    leans = cues.ANAPHORA.match(bare) is not None
    return _Statement(memory, leans=leans, prefix=f"{message.speaker}: ")


def _weigh_role(importance: float, message: _Message) -> float:
    return round(importance * ASSISTANT, 2) if message.role == "assistant" else importance


def _drop_lead(sentence: str, message: _Message) -> str:
    """Return the sentence without "Yeah, ", "Hey Jon, " and the addressee's name."""
    bare = sentence
    leads = (GREETING, cues.LEADS, cues.ASIDES) if message.with_assistant else (cues.LEADS,)
    for pattern in leads:
        lead = pattern.match(bare)
        bare = bare[lead.end() :] if lead and lead.end() < len(bare) else bare
    bare = re.sub(r"^(?:and|but|so|plus|also|or|because|'?cause) (?=[\w']+ )", "", bare, flags=re.I)
    bare = re.sub(r",? (?:btw|by the way)(?=[,.!]|$)", "", bare, flags=re.I)
    bare = cues.TELLS.sub("", bare, count=1)
    bare = cues.REMINDS.sub(lambda verb: f"It {verb[0].lower()}", bare, count=1)
    if message.addressee:
        name = re.escape(message.addressee)
        bare = re.sub(rf"^{name}[,!] |,? {name}(?=[.!]*$)", "", bare)
    return bare


def _make_memory(
    sentence: str, source: str, message: _Message, kind: str, importance: float
) -> Extracted:
    """Return the sentence with dates and names, a full stop, and its speaker if not named in it."""
    text, about = resolve_dates(sentence, message.at)
    text = resolve_pronouns(
        text, message.speaker, message.addressee, keep_we=message.with_assistant
    )
    text = f"{text[:1].upper()}{text[1:]}".rstrip(" .!,;:-–—") + "."
    is_team = message.with_assistant and _TEAM.search(text) is not None
    is_named = message.speaker.lower() not in _NAMELESS
    if is_named and not is_team and message.speaker not in text:
        text = f"{message.speaker}: {text}"
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
        if statement.memory.importance < TELLING and statement.correction is None:
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

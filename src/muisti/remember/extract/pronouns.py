"""Replace "I", "my" and "you" with names, and make the verbs agree ("I am" becomes "Anna is").

The first mention gets the name, further ones in the same sentence "they" and "their": the gender is
not known. Quotations are left alone: their "I" is another person.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

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
"""Words, alternating with what is between them. A path, an address or `my_app` is one word."""
_QUOTED = re.compile(r'("[^"]*"|`[^`]*`)')
_FIRST = frozenset("i we im ive i'm i've i'll i'd we're we've we'll we'd".split())
_PLURALS = frozenset("we we're we've we'll we'd our ours us ourselves".split())
_SECOND = frozenset("you you're you've you'll you'd".split())
_OWN: Mapping[str, str] = {"my": "'s", "our": "'s", "mine": "'s", "ours": "'s", "me": "", "us": ""}
_REFLEXIVE: Mapping[str, str] = {"myself": "oneself", "ourselves": "oneself"}
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
"""What follows if "it" was left out, not "I": "Been a long day"."""
_JOINS = frozenset(("and", "or", "&", "nor"))
_DETERMINERS = frozenset("the a an his her their your some our this that these those both".split())
_ANYBODY = re.compile(
    r"\b(?:if|when|whenever|once|makes|lets|gives|helps|thank|bless|see) you\b|\byou (?:know|see),",
    re.I,
)
"""Phrases in which "you" means anyone."""
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
    """Whether the speaker says "I", "my", "we" or the like."""
    return _MENTION.search(sentence) is not None


def resolve_pronouns(
    sentence: str, speaker: str, addressee: str = "", *, keep_we: bool = False
) -> str:
    """Return the sentence in the third person.

    "You" stays if the addressee is not known, or if it means anyone. With `keep_we`, "we" and
    "our" stay: they are a team, not the speaker.
    """
    you = "" if not addressee or _ANYBODY.search(sentence) else addressee
    resolver = _Resolver(speaker, you, keep_we=keep_we)
    parts = _QUOTED.split(sentence)
    return "".join(part if _QUOTED.fullmatch(part) else resolver.resolve(part) for part in parts)


def complete_sentence(sentence: str) -> str:
    """Add an "I" that was left out: "Lost my job" becomes "I lost my job"."""
    words = sentence.split(" ", 3)
    is_verb = [not is_adverb(word.lower()) for word in words[:3]]
    skipped = is_verb.index(True) if True in is_verb else 0
    adverbs = "".join(f"{word.lower()} " for word in words[:skipped])
    rest = " ".join(words[skipped:])
    verb = re.match(r"[A-Za-z']+", rest)
    if not verb:
        return sentence
    after = rest[verb.end() :]
    form = _find_form_after_i(verb[0].lower(), after)
    return f"I {form.replace('*', adverbs)}{after}" if form else sentence


def _find_form_after_i(verb: str, rest: str) -> str:
    """Return the verb as it follows "I", with a star for adverbs; "" if there is a subject."""
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


class _Resolver:
    """Replaces the pronouns of one sentence. Knows whether it has named the speaker."""

    def __init__(self, speaker: str, you: str, *, keep_we: bool = False) -> None:
        self._speaker = speaker
        self._you = you
        self._kept = _PLURALS if keep_we else frozenset()
        self._named = False

    def resolve(self, part: str) -> str:
        """Return a part of the sentence with its pronouns replaced."""
        tokens = _TOKEN.findall(part)
        out = list(tokens)
        for at, token in enumerate(tokens):
            word = token.lower()
            if word in self._kept:
                continue
            if word == "i":  # it may be a number, as in World War I, or part of "i.e."
                after = tokens[at + 1][0] if at + 1 < len(tokens) else "."
                before = tokens[at - 2] if at >= 2 else ""
                is_named = before[:1].isupper() and before.lower() not in _INVERTED
                if after in "./-,:;)" and (token == "i" or is_named):
                    continue
            if word in _FIRST:
                self._replace_subject(out, at, word, self._speaker)
            elif word in _SECOND and self._you:
                self._replace_subject(out, at, word, self._you)
            elif word in _REFLEXIVE:
                out[at] = _AGAIN[word] if self._named else _REFLEXIVE[word]
            elif word == "us" and _get_word_before(tokens, at) == "of":
                out[at] = "them"
            elif word == "us" and _get_lower(tokens, at + 2) in _TOGETHER:
                out[at] = "people"
            elif word in _OWN and token not in ("US", "ME"):
                out[at] = _AGAIN[word] if self._named else f"{self._speaker}{_OWN[word]}"
                self._named = True
            elif word in _YOURS and self._you:
                out[at] = f"{self._you}'s"
        return "".join(out)

    def _replace_subject(self, out: list[str], at: int, word: str, name: str) -> None:
        """Replace the subject with a name or "they", and make its verb agree."""
        is_joined = _get_word_before(out, at) in _JOINS and _continues_subject(out, at, name)
        is_again = name == self._speaker and self._named and not is_joined
        plural = is_again or is_joined
        ending = word.lstrip("iweyou")
        verb = _find_verb(out, at)
        out[at] = "they" if is_again else name
        if name == self._speaker:
            self._named = True
        if word.startswith("we") and _get_lower(out, at + 2) in ("all", "both"):
            if not plural and _get_lower(out, at + 2) == "both" and self._you:
                out[at] = f"{self._speaker} and {self._you}"
                plural = True
            out[at + 1 : at + 3] = ["", ""]
            verb = _find_verb(out, at + 2)
        if ending:
            if not plural and ending in ("'m", "'re", "'ve"):
                _agree_after_conjunctions(out, at)
            after = out[verb] if verb is not None else ""
            if ending == "'d" and (after == "better" or is_participle(after.lower())):
                out[at] += " had"
            else:
                out[at] += f" {(_ENDINGS_THEY if plural else _ENDINGS)[ending]}"
            return
        before = _get_word_before(out, at)
        if not plural and before in _INVERTED and at >= 2:
            out[at - 2] = _INVERTED[before]
        elif verb is not None and plural:
            out[verb] = _PLURAL.get(out[verb], out[verb])
        elif verb is not None:
            original = out[verb]
            out[verb] = to_third_person(original.lower())
            if out[verb] != original:  # after a modal or the past, later verbs stay as they are
                _agree_after_conjunctions(out, verb)


_TOGETHER = ("all", "both", "together", "apart", "closer")
"""After these "us" means several people: "brings us together"."""


def _continues_subject(out: list[str], at: int, name: str) -> bool:
    """Whether "and I" is part of a subject ("my wife and I") and begins no clause."""
    clause = re.split(r"[,.;:!?()–—-]", "".join(out[:at]).replace(f"{name}'s", "the"))[-1]
    words = clause.lower().split()[:-1]
    if not 1 <= len(words) <= 4 or name in clause or _FINITE.search(clause):
        return False
    if len(words) > 1 and words[0] not in _DETERMINERS:
        return False
    return not any(word in PAST or word in BEGINS_CLAUSE or is_participle(word) for word in words)


def _get_lower(out: list[str], at: int) -> str:
    """Return a token in lower case, or "" after the last one."""
    return out[at].lower() if at < len(out) else ""


def _get_word_before(out: list[str], at: int) -> str:
    """Return the word before if only a space is between; an & counts as a word."""
    if at >= 1 and out[at - 1].strip() == "&":
        return "&"
    return out[at - 2].lower() if at >= 2 and out[at - 1] == " " else ""


def _find_verb(out: list[str], at: int) -> int | None:
    """Return the position of the subject's verb: only adverbs may come between."""
    for place in range(at + 2, min(at + 8, len(out)), 2):
        if out[place - 1] != " ":
            return None
        if not is_adverb(out[place].lower()):
            return place
    return None


def _agree_after_conjunctions(out: list[str], verb: int) -> None:
    """Make verbs after "and" and "but" agree: "Anna lives here and works there".

    Stops where an infinitive may follow.
    """
    negated = out[verb].lower().endswith(("n't", "not"))
    for place in range(verb + 2, min(verb + 24, len(out)), 2):
        word = out[place].lower()
        if word in MODALS or word == "to" or word in _FIRST:
            return
        if out[place - 1].strip() not in ("", ","):
            return
        if word not in ("and", "but") or place + 2 >= len(out) or out[place + 1] != " ":
            continue
        if negated and word == "and":
            continue
        at = place + 2
        if is_adverb(out[at].lower()) and at + 2 < len(out):
            at += 2
        candidate = out[at].lower()
        following = _get_lower(out, at + 2) if _get_lower(out, at + 1) == " " else ""
        # A word that may be a noun ("work") is a verb only before something that a verb takes.
        is_verb = candidate in BEGINS_CLAUSE or (
            candidate in OFTEN_NOUNS and (word == "but" or following in TAKEN_BY_VERBS)
        )
        if is_verb:
            out[at] = to_third_person(candidate)

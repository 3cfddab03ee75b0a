"""Find the name in an introduction: "Hi, I'm Bob", "My name is Annika", "Call me Liz"."""

from __future__ import annotations

import re

GREETING = re.compile(
    r"(?:hi|hey|hello|hiya|howdy|yo|greetings|good (?:morning|evening|afternoon|day))"
    r"(?: (?:there|all|again|everyone|everybody|folks|team|claude|assistant|guys))?[,.! –—-]+"
    r"(?=(?:i|i'm|i am|im|my|this is|it's|we|we're|we've|our|the|name's)\b|(?-i:[A-Z])\w+ here\b)",
    re.I,
)
"""A greeting before a statement, with a comma or without."""
_NAME = r"(?P<name>(?-i:[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2}))"
_AFTER = (
    r"(?=[.,!]*$|,? (?:and|but|from|by|again|here|nice|pleased|speaking|your|the|a|an)\b|[,.] )"
)
_SAYS_NAME = re.compile(rf"(?:my name is|my name's|name's|i am called|i'm called) {_NAME}", re.I)
_IS = re.compile(rf"(?:i'm|i am) {_NAME}{_AFTER}", re.I)
_SPEAKING = re.compile(rf"(?:this is|it's|it is) {_NAME}(?=[.!]*$|,? (?:from|again|here)\b)", re.I)
_CALLED = re.compile(rf"(?:please |just |you can )*call me {_NAME}[.!]*$", re.I)
_HERE = re.compile(rf"{_NAME} (?:here|speaking)[.!]*$", re.I)
_SKIPPED = re.compile(
    r"(?: again| here| speaking)?[,.!]* *(?:nice|pleased|good) to meet you\b", re.I
)
_NOT_NAMES = frozenset(
    """
    american mexican canadian italian russian ukrainian estonian latvian lithuanian norwegian
    hungarian romanian bulgarian serbian croatian austrian australian brazilian colombian
    argentinian peruvian indian indonesian iranian egyptian nigerian kenyan african asian european
    belgian korean german greek french dutch swiss czech thai finn swede dane brit roman lutheran
    muslim jewish hindu catholic buddhist christian
    sure sorry glad happy back new not in on at the a an using so just very really also still ok
    okay fine good done here there ready afraid monday tuesday wednesday thursday friday saturday
    sunday january february march april may june july august september october november december
    christmas easter
    """.split()
)
_NATIONALITY = re.compile(r"\w+(?:ish|ese)$")


def find_name(sentence: str, *, after_greeting: bool) -> tuple[str, str] | None:
    """Return the name that the speaker gives and what follows it in the sentence; None without.

    After a greeting, "this is Marco" introduces the speaker too.
    """
    called = _CALLED.match(sentence)
    if called:
        return called["name"], ""
    for pattern in (_SAYS_NAME, _IS, *((_SPEAKING, _HERE) if after_greeting else ())):
        found = pattern.match(sentence)
        if found is None:
            continue
        first = found["name"].split(maxsplit=1)[0].lower()
        is_common = first in _NOT_NAMES or first.endswith("ing") or _NATIONALITY.match(first)
        if not is_common:
            rest = "" if pattern is _HERE else sentence[found.end() :]
            skipped = _SKIPPED.match(rest)
            return found["name"], rest[skipped.end() :] if skipped else rest
    return None

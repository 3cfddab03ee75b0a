"""Cues in other languages. Such a sentence is stored as it is, after its speaker's name."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Finnish, Russian, Chinese, German: only the strongest cues. A stem matches its forms.
_INSTRUCTION = re.compile(
    r"(?:^|\b)(?:muista(?:thaan)?,? (?:että|aina)|muistiin:|huom(?:aa)?[:!,]|älä unohda|"
    r"pidä mielessä|"
    r"запомни(?:те)?|не забудь(?:те)?|имей(?:те)? в виду|заметка:|важно:|"
    r"merk(?:e)? dir|vergiss nicht|nicht vergessen|denk daran|notiz:)"
    r"|请?记住|别忘了|不要忘记|请注意|备注[:：]|记下",
    re.I,
)
_PREFERENCE = re.compile(
    r"\b(?:pidän|tykkään|rakastan|inhoan|suosin|haluan|haluaisin|lempi\w+|mieluummin|en (?:pidä|"
    r"tykkää|halua|"
    r"siedä)|"
    r"(?:мне|нам) (?:очень |больше |не )?нрав[ия]тся|я (?:очень |не )?(?:люблю|предпочитаю|хочу|"
    r"ненавижу|терпеть)|"
    r"предпочита(?:ю|ем)|любим(?:ый|ая|ое|ые)|"
    r"ich (?:mag|liebe|hasse|bevorzuge|möchte|will)|wir (?:mögen|bevorzugen|möchten)|lieblings\w+|"
    r"am liebsten)\b"
    r"|我(?:们)?(?:很|最|更|不|比较|非常)*(?:喜欢|爱|讨厌|想要|偏好|偏爱)|我(?:的)?最爱",
    re.I,
)
_DECISION = re.compile(
    r"\b(?:pääti(?:n|mme)|päätettiin|päätös|valitsi(?:n|mme)|sovi(?:mme|ttiin)|käytämme|"
    r"(?:мы|я) решил[аи]?|решили|решено|договорились|(?:мы|я) выбрал[аи]?|остановились на|"
    r"(?:wir|ich) haben? (?:uns |mich )?(?:\w+ ){0,6}(?:entschieden|beschlossen)|wir nehmen|"
    r"entschieden|"
    r"beschlossen)\b"
    r"|决定|选择了|商定|我们选|说好了",
    re.I,
)
_FIRST_PERSON = re.compile(
    r"\b(?:minä|minun|minulla|olen|asun|työskentelen|meillä|meidän|"
    r"я|меня|мне|мой|моя|моё|мое|мои|моей|моего|мы|наш\w{0,3}|у нас|"
    r"ich|mein\w{0,2}|wir|unser\w{0,2})\b|我",
    re.I,
)
_QUESTION = re.compile(r"[?？]\s*$|[吗呢]\s*[。.]?\s*$")
_KINDS: Mapping[str, tuple[re.Pattern[str], str, float]] = {
    "instruction": (_INSTRUCTION, "note", 0.9),
    "decision": (_DECISION, "decision", 0.7),
    "preference": (_PREFERENCE, "preference", 0.6),
    "first person": (_FIRST_PERSON, "fact", 0.4),
}
_GERMAN_TOO = frozenset(("in", "was"))
_GERMAN = re.compile(r"\b(?:ich|mein\w{0,2}|wir|unser\w{0,2})\b", re.I)
_ENGLISH = frozenset("i the is are was my we you to and of it in that for".split())


def score_other_languages(sentence: str) -> tuple[str, float] | None:
    """Return kind and importance; None for English, for questions, and without a cue."""
    if _QUESTION.search(sentence) or not is_other_language(sentence):
        return None
    for pattern, kind, importance in _KINDS.values():
        if pattern.search(sentence):
            return kind, importance
    return None


def is_other_language(sentence: str) -> bool:
    """Whether the words show that a sentence is not English."""
    if not sentence.isascii():
        foreign = sum(char > "\u02ff" and char.isalpha() for char in sentence)
        if foreign * 3 > len(sentence):
            return True
    english = _ENGLISH.intersection(sentence.lower().split())
    if english - _GERMAN_TOO:
        return False
    if english and not _GERMAN.search(sentence):
        return False
    return any(pattern.search(sentence) for pattern, _, _ in _KINDS.values())

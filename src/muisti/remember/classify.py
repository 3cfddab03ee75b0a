"""Guess a memory's kind and sector from its words if the caller did not give them.

Each cue in the first 4,000 characters counts once. The highest count wins; in a tie the first
entry does. A pattern in the settings (`[classify.kind]`, `[classify.sector]`) counts as two cues,
and wins a tie against the tables here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from muisti.model import Sector
from muisti.safe_regex import READ
from muisti.text.tokens import compile_whole_words, is_spaceless, split_words

if TYPE_CHECKING:
    from muisti.settings import Settings

OWN = 2
"""How many cues a pattern in the settings counts as: the user knows better than the tables."""

# A cue is a list of forms; it occurs if any of them does. A form is a word, or a pattern that
# begins with one. Forms have no groups, so that a dictionary lookup finds most of them.
_KINDS: Mapping[str, tuple[str, ...]] = {
    # In the order of ties: "TODO: fix the bug" is work to do, and "We decided to add a feature" is
    # a decision. Both have the rarer words.
    "context": (
        r"todo|to-do|fixme|wip|in progress|working on|blocked on|blocked by|current task|"
        r"työn alla|в процессе|待办|正在",
        r"todo:|fixme:|wip:|next step|next steps|next up|left to do|still need|still needs|"
        r"not done yet|not finished yet",
    ),
    "decision": (
        r"decided|decides|decision|decisions|chose|chosen|agreed on|agreed to|agreed that|picked|"
        r"opted for|opted to|"
        r"päätös|päätettiin|päätimme|решили|решил|решено|решение|entschieden|entscheidung|"
        r"beschlossen|决定|选择了",
        r"we'll use|i'll use|we will use|i will use|we'll go with|i'll go with|we will go with|"
        r"going with|settled on|"
        r"decided to|decided on|decided that|decided against|we chose|decision:|decision is",
        r"instead of|rather than|over \w{1,40} because|sijaan|sijasta|вместо|statt|而不是",
    ),
    "summary": (
        r"summary|recap|tldr|tl;dr|in short|yhteenveto|итог|итоги|резюме|zusammenfassung|总结|摘要",
        r"this session|last session|in this conversation|what we did|accomplished",
    ),
    "insight": (
        r"insight|insights|learned|learnt|realized|realised|lesson|lessons|takeaway|takeaways|"
        r"opittiin|opin|oivallus|"
        r"понял|поняли|урок|вывод|gelernt|erkenntnis|学到|教训|意识到",
        r"correlate|correlates|correlated|correlation|correlations|pattern|turns out|"
        r"the more .{1,40} the more",
        r"because of|leads to|the reason why",
    ),
    "discovery": (
        r"discover|discovered|discovers|discovery|found that|found out|found a|found an|noticed|"
        r"figured out|uncovered|"
        r"huomattiin|huomasin|löytyi|selvisi|обнаружил|обнаружили|выяснилось|оказалось|entdeckt|"
        r"herausgefunden|festgestellt|发现",
        r"undocumented|surprise|surprised|surprising|surprisingly|unexpectedly",
    ),
    "bugfix": (
        r"fix|fixed|fixes|fixing|bugfix|korjattu|korjattiin|korjasin|исправил|исправили|"
        r"исправлена|исправлено|behoben|修复|修正",
        r"bug|bugs|bugi|bugin|баг|бага|ошибку|fehler|漏洞",
        r"regression|crash|crashed|crashes|crashing|broken|hotfix",
        r"resolved|root cause|caused by|no longer fails|no longer crashes",
    ),
    "feature": (
        r"add|added|adds|adding|implement|implemented|implements|implementing|introduced|"
        r"introduces|lisättiin|lisäsin|"
        r"toteutettiin|добавил|добавили|добавлена|реализовали|hinzugefügt|implementiert|添加了|新增|实现了",
        r"feature|features|new option|new command|new endpoint|new page|added new|added a new|"
        r"ominaisuus|фича|фичу|功能",
        r"support for|supported for|now supports|shipped|launched",
    ),
    "refactor": (
        r"refactor|refactored|refactors|refactoring|refaktoroitiin|refaktoroin|рефакторинг|"
        r"отрефакторили|refaktorisiert|重构",
        r"rename|renamed|renames|extracted .{1,40} into|extracts .{1,40} into|split .{1,40} into|"
        r"inlined|deduplicated",
        r"clean up|cleaned up|cleans up|cleanup|simplify|simplified|simplifies|simplification|"
        r"dead code|siivottiin",
    ),
    "preference": (
        r"prefer|prefers|preferred|preference|preferences|favorite|favourite|suosii|suosin|"
        r"mieluummin|предпочитает|предпочитаю|"
        r"bevorzugt|bevorzuge|lieber|偏好|喜欢",
        r"likes|loves|hates|dislikes|wants|i like|i love|i hate|i dislike|i want|we like|we want|"
        r"would like|don't like|"
        r"tykkää|haluaa|любит|нравится|хочет|möchte|讨厌",
        r"always use|always write|always answer|never use|never write|please use|please don't|"
        r"please do not|do not use|don't use|"
        r"käytä aina|älä käytä|всегда используй|не используй|immer|总是|不要",
    ),
    "change": (
        r"changed|changes|updated|updates|upgraded|upgrades|migrated|migrates|bumped|bumps|moved|"
        r"replaced|switched|swapped|removed|"
        r"deprecated|päivitettiin|vaihdettiin|siirrettiin|poistettiin|обновили|обновил|заменили|"
        r"перенесли|удалили|"
        r"aktualisiert|geändert|ersetzt|migriert|entfernt|更新|升级|替换",
        r"from .{1,40} to",
    ),
    "observation": (
        r"observed|observes|observation|observations|seems to|appears to|looks like|havainto|"
        r"наблюдение|beobachtet|观察",
    ),
    "fact": (
        r"is|are|was|were|has|have|ovat|ist|sind|является|是",
        r"located at|located in|defined in|lives in|works at|works for|deadline|cost|costs|"
        r"version|endpoint|address|born|"
        r"birthday|sijaitsee|määräaika|osoite|находится|срок|адрес|befindet|frist|adresse|位于|截止|"
        r"版本|地址",
    ),
}

_SECTORS: Mapping[str, tuple[str, ...]] = {
    # In the order of ties: the more specific first, so that "Frustrated by the slow test suite" is
    # emotional, not procedural.
    Sector.EMOTIONAL: (
        r"frustrated|frustrating|annoyed|annoying|happy|satisfied|confused|angry|excited|worried|"
        r"proud|sad|afraid|upset|thrilled|"
        r"disappointed|glad|nervous|anxious|relieved|turhautunut|ärsyttää|iloinen|расстроен|"
        r"раздражает|счастлив|"
        r"frustriert|genervt|glücklich|沮丧|生气|高兴|满意|担心",
        r"love|loves|loved|likes|hate|hates|hated|prefer|prefers|dislike|dislikes|rakastaa|vihaa|"
        r"tykkää|suosii|любит|ненавидит|"
        r"нравится|предпочитает|liebt|hasst|bevorzugt|喜欢|讨厌",
        r"pain point|pain points|struggle|struggles|struggled|struggling|enjoy|enjoys|enjoyed|"
        r"fed up|tired of",
    ),
    Sector.REFLECTIVE: (
        r"learned|learnt|realized|realised|noticed|insight|insights|pattern|patterns|lesson|"
        r"lessons|opittiin|huomasin|"
        r"понял|поняли|урок|gelernt|erkenntnis|学到|教训|意识到",
        r"better to|should have|next time|turns out|ensi kerralla|в следующий раз|"
        r"nächstes mal|下次",
        r"observation|observations|conclusion|conclusions|takeaway|takeaways|johtopäätös|вывод|"
        r"fazit|结论",
        r"this codebase|this project|in general|tämä projekti|в целом|"
        r"im allgemeinen|这个项目|总的来说",
    ),
    Sector.EPISODIC: (
        r"asked|said|mentioned|discussed|talked about|told|kysyi|sanoi|mainitsi|keskusteltiin|"
        r"спросил|сказал|обсудили|"
        r"fragte|sagte|besprochen|提到|讨论|问了",
        r"session|conversation|earlier|just now|yesterday|today|last week|last month|last night|"
        r"this morning|eilen|tänään|"
        r"вчера|сегодня|gestern|heute|昨天|今天|刚才",
        r"user wanted|user requested|user asked for|käyttäjä pyysi|пользователь попросил|用户要求",
    ),
    Sector.PROCEDURAL: (
        r"how to|steps to|process|workflow|procedure|ohjeet|vaiheet|инструкция|шаги|anleitung|步骤|"
        r"流程",
        r"first|then|next|finally|step \d{1,4}|ensin|sitten|lopuksi|сначала|затем|zuerst|danach|"
        r"首先|然后|最后",
        r"run|execute|build|deploy|test|aja|julkaise|запусти|запустить|ausführen|运行|执行|部署",
        r"command|script|recipe|komento|команда|команду|скрипт|befehl|skript|命令|脚本",
    ),
    Sector.SEMANTIC: (
        r"is|are|was|were|has|have|contains|ovat|ist|sind|является|是",
        r"located at|located in|defined in|implemented in|stored in|lives in|sijaitsee|находится|"
        r"befindet|位于",
        r"file|function|class|module|component|endpoint|tiedosto|funktio|moduuli|файл|функция|"
        r"модуль|datei|modul|文件|函数|模块",
        r"fact|information|knowledge",
    ),
}

_Cue = tuple[str, str, int]
"""`kind` or `sector`, the kind or the sector, and the number of one of its cues."""
_PLAIN = re.compile(r"(?<![\\\w])[^\W\d_]+")  # the words of a phrase: not the `w` of `\w`


class _Phrase(NamedTuple):
    """A form of several words, with two cheap tests that come before the search."""

    pattern: str
    words: frozenset[str]
    """All of them must occur."""
    literal: str
    """Must occur letter by letter; empty for a pattern."""
    cue: _Cue


# Cues by what to look up: one pass over the words of a text finds nearly all of them.
_FORMS: Mapping[str, Mapping[str, tuple[str, ...]]] = {"kind": _KINDS, "sector": _SECTORS}
_RANKS = {name: {label: rank for rank, label in enumerate(_FORMS[name])} for name in _FORMS}
"""The kinds and the sectors in the order of ties."""
_BY_WORD: dict[str, tuple[_Cue, ...]] = {}
_PHRASES: dict[str, tuple[_Phrase, ...]] = {}
"""By their first word."""
_PIECES: list[tuple[str, _Cue]] = []
"""Forms in scripts without spaces, which may occur anywhere in a run of letters."""


def _fill_tables() -> None:
    for name, forms in _FORMS.items():
        for label, alternatives in forms.items():
            for number, joined in enumerate(alternatives):
                for form in joined.split("|"):
                    _add_form(form, (name, label, number))


def _add_form(form: str, cue: _Cue) -> None:
    if is_spaceless(form[0]):
        _PIECES.append((form, cue))
    elif form.isalpha():
        _BY_WORD[form] = (*_BY_WORD.get(form, ()), cue)
    else:
        plain = _PLAIN.findall(form)
        literal = "" if "\\" in form or "{" in form else form
        phrase = _Phrase(form, frozenset(plain), literal, cue)
        _PHRASES[plain[0]] = (*_PHRASES.get(plain[0], ()), phrase)


_fill_tables()


def classify_kind(content: str, settings: Settings | None = None) -> str:
    """Return the kind that the words suggest; `note` if none does."""
    return _classify("kind", content[:READ], settings) or "note"


def classify_sector(content: str, settings: Settings | None = None) -> Sector:
    """Return the sector that the words suggest; `semantic` if none does."""
    return Sector(_classify("sector", content[:READ], settings) or Sector.SEMANTIC)


def _classify(name: str, text: str, settings: Settings | None) -> str | None:
    scores = _count_cues(text)[name]
    own_scores: dict[str, int] = {}
    for label, patterns in settings.classify.get(name, {}).items() if settings else ():
        matches = sum(compile_whole_words(pattern).search(text) is not None for pattern in patterns)
        if matches:
            own_scores[label] = matches
            scores = {**scores, label: scores.get(label, 0) + OWN * matches}
    if len(scores) <= 1:
        return next(iter(scores), None)
    ranks = _RANKS[name]
    last = len(ranks)
    return max(
        scores,
        key=lambda label: (scores[label], own_scores.get(label, 0), -ranks.get(label, last)),
    )


@lru_cache(maxsize=8)  # a text is classified twice: for its kind and its sector
def _count_cues(text: str) -> Mapping[str, Mapping[str, int]]:
    """Return how many cues of each kind and each sector occur in a text."""
    lowered = text.lower()
    words = frozenset(split_words(lowered))
    found = {cue for word in _BY_WORD.keys() & words for cue in _BY_WORD[word]}
    for first in _PHRASES.keys() & words:
        for phrase in _PHRASES[first]:
            if phrase.cue in found or not phrase.words <= words or phrase.literal not in lowered:
                continue
            if compile_whole_words(phrase.pattern).search(text):
                found.add(phrase.cue)
    if not text.isascii():
        found.update(cue for piece, cue in _PIECES if piece in lowered)
    scores: dict[str, dict[str, int]] = {"kind": {}, "sector": {}}
    for name, label, _ in found:
        counts = scores[name]
        counts[label] = counts.get(label, 0) + 1
    return scores

"""Guess a memory's kind and sector from its words, where the caller did not say.

Each sign that occurs in the first 4,000 characters counts once; the highest count wins, and a tie goes to the entry
that stands first. A pattern of a person's own (`[classify.kind]`, `[classify.sector]` in the settings) counts as two
signs, and on a tie it wins over ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from muisti.model import Sector
from muisti.safe_regex import READ
from muisti.settings import Settings
from muisti.text.tokens import compile_whole_words, is_spaceless, split_words

OWN = 2
"""What a person's own pattern counts: they know better than our tables."""

# A sign is a list of forms, any of which makes it occur. A form is one word, or a pattern that begins with a word. Forms
# are written out, without groups, so that a look into a dictionary finds them instead of a search for each.
_KINDS: Mapping[str, tuple[str, ...]] = {
    # Tie order: "TODO: fix the bug" is work to do, "We decided to add a feature" is a decision, and both are rarer words.
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
    # Tie order: the more specific first, so that "Frustrated by the slow test suite" is a feeling, not a procedure.
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
        r"better to|should have|next time|turns out|ensi kerralla|в следующий раз|nächstes mal|下次",
        r"observation|observations|conclusion|conclusions|takeaway|takeaways|johtopäätös|вывод|"
        r"fazit|结论",
        r"this codebase|this project|in general|tämä projekti|в целом|im allgemeinen|这个项目|总的来说",
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

_Sign = tuple[str, int]
"""A kind or sector, and which of its signs."""
_PLAIN = re.compile(r"(?<![\\\w])[^\W\d_]+")  # the words of a phrase: not the `w` of `\w`


class _Phrase(NamedTuple):
    """A form of several words. Cheap questions come before the search: are its words there, and is it, letter by letter?"""

    pattern: str
    words: frozenset[str]
    literal: str
    sign: _Sign


class _Table(NamedTuple):
    """The signs by what makes them worth a look: one step for a text's words finds nearly all of them."""

    places: Mapping[str, int]
    """The kinds or sectors, with their places in a tie."""
    words: Mapping[str, tuple[_Sign, ...]]
    phrases: Mapping[str, tuple[_Phrase, ...]]
    """By their first word."""
    pieces: tuple[tuple[str, _Sign], ...]
    """Words of scripts without spaces, which stand in the middle of others."""


def _table(signs: Mapping[str, tuple[str, ...]]) -> _Table:
    words: dict[str, tuple[_Sign, ...]] = {}
    phrases: dict[str, tuple[_Phrase, ...]] = {}
    pieces: list[tuple[str, _Sign]] = []
    numbered = [
        (label, number) for label, patterns in signs.items() for number in range(len(patterns))
    ]
    for sign in numbered:
        for form in signs[sign[0]][sign[1]].split("|"):
            if is_spaceless(form[0]):
                pieces.append((form, sign))
            elif form.isalpha():
                words[form] = (*words.get(form, ()), sign)
            else:
                phrase = _phrase(form, sign)
                phrases[phrase[0]] = (*phrases.get(phrase[0], ()), phrase[1])
    return _Table(
        {label: place for place, label in enumerate(signs)}, words, phrases, tuple(pieces)
    )


def _phrase(form: str, sign: _Sign) -> tuple[str, _Phrase]:
    words = _PLAIN.findall(form)
    literal = "" if "\\" in form or "{" in form else form
    return words[0], _Phrase(form, frozenset(words), literal, sign)


_KIND_TABLE = _table(_KINDS)
_SECTOR_TABLE = _table(_SECTORS)


def classify_kind(content: str, settings: Settings | None = None) -> str:
    """The kind that the words suggest; `note` when none does. The settings' own patterns count too."""
    own = settings.classify.get("kind", {}) if settings else {}
    return _chosen(_KIND_TABLE, content[:READ], own) or "note"


def classify_sector(content: str, settings: Settings | None = None) -> Sector:
    """The sector that the words suggest; `semantic` when none does. The settings' own patterns count too."""
    own = settings.classify.get("sector", {}) if settings else {}
    return Sector(_chosen(_SECTOR_TABLE, content[:READ], own) or Sector.SEMANTIC)


def _chosen(table: _Table, text: str, patterns: Mapping[str, tuple[str, ...]]) -> str | None:
    scores: dict[str, int] = {}
    for label, _ in _signs(table, text):
        scores[label] = scores.get(label, 0) + 1
    own = {
        label: sum(
            compile_whole_words(pattern).search(text) is not None for pattern in patterns[label]
        )
        for label in patterns
    }
    for label in filter(own.get, own):
        scores[label] = scores.get(label, 0) + OWN * own[label]
    last = len(table.places)
    return max(
        scores,
        key=lambda name: (scores[name], own.get(name, 0), -table.places.get(name, last)),
        default=None,
    )


def _signs(table: _Table, text: str) -> set[_Sign]:
    lowered, words = _read(text)
    found = {sign for word in table.words.keys() & words for sign in table.words[word]}
    for first in table.phrases.keys() & words:
        for phrase in table.phrases[first]:
            likely = (
                phrase.sign not in found and phrase.words <= words and phrase.literal in lowered
            )
            if likely and compile_whole_words(phrase.pattern).search(text):
                found.add(phrase.sign)
    if not text.isascii():
        found.update(sign for piece, sign in table.pieces if piece in lowered)
    return found


@lru_cache(maxsize=8)  # kind and sector are asked one after the other
def _read(text: str) -> tuple[str, frozenset[str]]:
    lowered = text.lower()
    return lowered, frozenset(split_words(lowered))

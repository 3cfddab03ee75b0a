"""Recognizes standing instructions and preferences: "always use type hints", "no nuts, please".

They hold for later requests, also for those that share no word with them. A one-off request, a fact
about another person, a habit of the past or a description ("the server always restarts at 3") is
none. Precision comes first: a sentence counts if it begins in one of the ways listed here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from muisti.text.sentences import split_sentences

MAX_CHARS = 1_000
"""A longer text is a document: it may contain a rule, but is none."""
SHORT = 300
"""Up to this length a text counts if its first sentence does; a longer one, if half of it does."""


class Standing(StrEnum):
    """Why a memory bears on later requests."""

    INSTRUCTION = "instruction"
    """How to behave, answer or work."""
    PREFERENCE = "preference"
    """What the person likes, cannot eat, or does not want: a fact, not an order."""


def recognize_standing(text: str) -> Standing | None:
    """Return whether a text is a standing instruction or a preference; None if it is neither."""
    if len(text) > MAX_CHARS:
        return None
    sentences = [one.strip() for one in split_sentences(text, lines=True) if one.strip()]
    found: list[Standing] = []
    others, is_first_enough = 0, False
    for sentence in sentences:
        kind = _read_sentence(sentence)
        if kind:
            found.append(kind)
            is_first_enough |= not others and len(text) <= SHORT
            continue
        others += 1
        if 2 * others > len(sentences) and not is_first_enough:
            return None  # whatever the rest says
    if not found:
        return None
    return Standing.INSTRUCTION if Standing.INSTRUCTION in found else Standing.PREFERENCE


def _read_sentence(sentence: str) -> Standing | None:
    plain = " ".join(sentence.replace("’", "'").split())
    if plain.endswith(("?", "？")):
        return None
    found = None
    for clause in _CLAUSES.split(plain):
        start = _LEAD.match(clause)
        bare = clause[start.end() :] if start else clause
        if not may_begin_rule(bare):
            continue
        if _INSTRUCTION.match(bare):
            found = Standing.INSTRUCTION
            break
        if _PREFERENCE.match(bare):
            found = Standing.PREFERENCE
    # Last, as few sentences get here: it searches the whole sentence.
    return None if found and _ONCE.search(plain) else found


def may_begin_rule(clause: str) -> bool:
    """Return False if the first words rule out `_INSTRUCTION` and `_PREFERENCE`.

    Much faster than the two patterns, and true for few clauses.
    """
    if not clause.isascii():
        return True
    first, second, third, *_ = (*clause.lower().split(" ", 3), "", "", "")
    if first in _SECOND_WORDS:
        following = _SECOND_WORDS[first]
        if following is None or second in following or third in _RULE_WORDS:
            return True
    if first in _GENERAL_WORDS or second in _GENERAL_WORDS:
        return True
    return first.startswith(_OTHER_BEGINNINGS)


_CLAUSES = re.compile(r"; |, (?:so|and|but|therefore) |: |——?|；")
_LEAD = re.compile(
    r"(?:[-*•]\s+|\d{1,2}[.)]\s+)?(?:(?:please|remember|note|keep in mind|ok|okay|also|and|so|hey|"
    r"by the way|bitte|пожалуйста|muista|huomaa)\b(?:,? that\b)?[,:]? ?){0,3}"
    r"(?:(?:in|on|for|at|by) (?:this|the|our|my|all|every|any|default)\b[\w .'-]{0,40}, )?"
    r"(?:please )?",
    re.IGNORECASE,
)
_ONCE = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|used to|back then|yet|for now|right now|this time"
    r"|last (?:night|week|weekend|month|year|time)|next (?:week|month|year|spring|summer|time)"
    r"|as a (?:child|kid|boy|girl)|in (?:19|20)\d\d|eilen|tänään|huomenna|gestern|heute|morgen"
    r"|вчера|сегодня|завтра)\b|昨天|今天|明天",
    re.IGNORECASE,
)
_PAST = (
    r"(?!(?:\w+ed|\w+ing|up|give up"
    r"|got|found|went|saw|slept|had|was|were|did|made|took|came|left|knew|thought|told"
    r"|said|felt|ate|drank|bought|met|lost|won|wrote|spoke|gave|ran|grew|kept|heard|held|brought"
    r"|became|began|chose|drove|fell|flew|forgot|sent|sold|sat|stood|taught|understood|woke|wore"
    r"|been|mind|again|on|is|are|here|there|happy|glad|nice|good|great|a|the|so|too|in|at|say|look)"
    r"\b)"
)
"""Not before a verb in the past, or a word that is not a verb."""
_CONDITION = (
    r"(?:(?:\w+ly )?(?:allergic|intolerant|lactose[- ]intolerant|gluten[- ]free|vegetarian|vegan"
    r"|pescatarian|diabetic|c(?:o)?eliac|colou?r[- ]?blind|dyslexic|left-handed|pregnant|deaf"
    r"|hard of hearing|blind|teetotal|kosher|halal|on a [\w -]{0,20}diet)"
    r"|an? (?:vegetarian|vegan|pescatarian|diabetic|c(?:o)?eliac))\b"
)
_AILMENT = r"an? [\w -]{0,30}(?:allergy|intolerance|aversion|diet|disability|phobia)\b"
_TASTE = (
    r"(?:really |much |strongly |generally |usually |always )?"
    r"(?:prefers?|likes?|loves?|hates?|dislikes?|enjoys?|favou?rs?|can't stand|cannot stand)"
    r" (?!(?:it|this|that|these|those|you|him|her|them|how|the|all the|your|my|his|their|seeing"
    r"|being)\b)\w"
)
_NOT = r"(?:doesn't|does not|don't|do not|can't|cannot|can not|won't|will not)"
_HABIT = (
    r"(?:eat|drink|like|want|use|fly|watch|read|wear|smoke|work|travel|take|stay|tolerate|buy"
    r"|drive|trust|accept|answer)s?\b"
    r"(?! (?:it|this|that|these|those|to (?:go|do|see|know|talk|think))\b)"
)
_BEHAVE = (
    r"(?:use|write|add|commit|push|call|mention|suggest|recommend|include|start|end|send|ask|explain"
    r"|show|give(?! up)|apologi[sz]e|assume|deploy|schedule|book|install|rely|put|create|repeat"
    r"|translate|summari[sz]e|answer|reply|respond|offer|propose|quote|invent|guess|generate|format|delete"
    r"|modify|edit|skip|address|greet|speak|talk|refer|log|print|hardcode|import|mock|merge|rebase"
    r"|make up|sign)"
)
_OUTPUT = (
    r"(?:answers?|replies|reply|responses?|explanations?|summaries|messages|emails|code|functions"
    r"|commits|sentences|paragraphs|output|examples|comments|descriptions|docstrings|it short"
    r"|it brief|things)"
)
_MANNER = r"(?:in|with|without|using|only|briefly|shortly|formally|informally|politely|as|like)\b"
_GENERAL = (
    r"(?:commit messages|commits|tests|functions|methods|classes|modules|branches|pull requests|prs"
    r"|variables|names|filenames|files|docs|comments|docstrings|answers|replies|responses|recipes"
    r"|suggestions|recommendations|examples|dates|prices|imports|migrations|endpoints|errors"
    r"|meetings|emails|summaries|passwords|secrets|releases|deployments)"
)
_MUST = (
    r"(?:must|should|shall|needs? to|ha(?:s|ve) to|(?:is|are) to)\b"
    r"(?! have (?:been|seen|had|known|\w+ed)\b| be finished)"
)
_STYLE = (
    r"(?:spelling|units|format|formatting|notation|quotes|indentation|tabs|spaces|naming|commas"
    r"|conventions?|language|english|currency|style|snake_case|camelcase|kebab-case|pascalcase"
    r"|type hints|type annotations|f-strings|async|celsius|fahrenheit)\b"
)
_ALL = r"(?:all|every|each|any|new|both|\w+ (?:names|files|code|variables|tests|projects))\b"
_EN_INSTRUCTION = (
    rf"(?:always|never) {_PAST}[a-z]+",
    rf"(?:don't|do not) (?:ever )?{_BEHAVE}\b(?! (?:it|this|that|them|him|her)\b)",
    r"avoid \w+",
    r"(?:stop|quit) (?:using|calling|adding|saying|writing|suggesting|asking|apologi[sz]ing|ending"
    r"|starting|repeating|putting)\b",
    r"no (?:more )?[\w-]+(?: [\w-]+){0,3},? please",
    r"prefer (?!is\b)\w+",
    r"(?:from now on|going forward|from here on|in future|in the future|for future reference)\b",
    r"(?:when|whenever|if|every time|each time|any time) (?:i|you) (?:ask|write|say|request|mention"
    r"|answer|reply|generate|refactor|commit|suggest|recommend|give|use|create|send|quote"
    r"|change|review|explain|paste|share)\b",
    rf"(?:answer|reply|respond)(?: to)?(?: me| my (?:questions|messages))? {_MANNER}",
    r"(?:speak|talk) (?:to me )?(?:in|only|like|as)\b",
    r"address me\b|refer to me\b",
    r"call me (?!(?:tomorrow|today|tonight|later|at|back|when|on|in|if|maybe|a)\b)\w+",
    rf"explain (?:things|everything|code|concepts|it|to me)\b.{{0,40}}\b{_MANNER}",
    rf"keep (?:your |the |all |any )?(?:\w+ )?{_OUTPUT}\b",
    r"write (?:all |your |the )?(?:commit messages|code|tests|comments|docs|documentation|emails"
    rf"|everything|answers|docstrings|messages|names)\b.{{0,40}}\b{_MANNER}",
    r"(?:use|choose|pick|give|show) (?!the\b|this\b|that\b|it\b|my\b).{1,60}"
    r"(?:,? not (?!too\b|so\b|very\b|only\b)|\binstead of\b|\brather than\b)",
    rf"use (?!the\b|this\b|that\b|it\b)(?:[\w.-]+ ){{0,3}}{_STYLE}",
    rf"use [\w./-]+(?: [\w-]+)? for {_ALL}",
    rf"only (?:ever )?{_BEHAVE}\b",
    r"ask (?:me )?(?:first\b|before\b|for (?:confirmation|permission)\b)",
    r"make sure (?:that )?(?:every|all|each|any|no|to always|you always|to never)\b",
    rf"(?:all|every|each|our|new) [\w' -]{{1,40}}? {_MUST}",
    rf"(?:(?!these|those|the|my|his|her)[\w-]+ )?{_GENERAL}(?: [\w-]+){{0,3}} {_MUST}",
    r"(?:our|the|my|team) (?:\w+ )?(?:convention|policy|rule|practice|guideline|style) is\b",
    rf"(?:we|our team|the team|this (?:repo|project|team)) (?:always|never|only) (?:{_BEHAVE}|run"
    r"|review|squash|test|tag|release|pin|require|work|check|format|lint|ship|branch|keep)e?s?\b",
    r"you (?:should|must) (?:always|never|not|only)\b",
    r"(?:i want|i'd like|i would like|i need) you to\b",
    r"(?:the )?user (?:asked|told|wants|instructed|requested|expects)(?: me| us| the agent)?"
    r" (?:to (?:always|never|be|use|avoid|call|keep|answer|stop|only|not)\b|not to\b|that (?:all"
    r"|every|answers)\b)",
)
_EN_PREFERENCE = (
    rf"(?:i'm|i am|we're|we are|(?:the )?user is) (?:a |an )?{_CONDITION}",
    rf"my (?:wife|husband|partner|daughter|son|kids?|child|children|family|girlfriend|boyfriend"
    rf"|mother|father|baby|dog|cat) (?:is|are) {_CONDITION}",
    rf"(?:i|we|(?:the )?user) (?:have|has|follows?|suffers? from) {_AILMENT}",
    rf"(?:i|we|(?:the )?user) {_TASTE}",
    rf"(?:i|we|(?:the )?user) (?:really )?{_NOT} (?:like|eat|drink|tolerate|enjoy|trust"
    r"|watch|wear|smoke|fly|drive|stand)\b(?! (?:it|this|that|these|those|to)\b)",
    rf"(?:i|(?:the )?user) (?:only|always|never) {_HABIT}",
    r"(?:i'd|i would) (?:rather|prefer)\b.{1,80}\b(?:than|over|instead of|rather)\b",
    r"my favou?rite [\w -]{1,30} (?:is|are)\b",
    r"(?:the )?user's (?:favou?rite|preferred) [\w -]{1,30} (?:is|are)\b",
    r"(?:i|(?:the )?user) (?:needs?|wants?) (?:all|every|each|no|only)\b",
    r"(?:the )?user (?:wants?|needs?|expects?) (?:short|brief|concise|detailed|answers|replies"
    r"|responses|code|explanations|examples|\w+ answers)\b",
    r"(?:the )?user (?:avoids|never|always|only)\b",
)
_OTHER_INSTRUCTION = (
    # Finnish
    r"(?:käytä|vastaa|kirjoita|puhu|aja|tarkista|pidä|kysy|anna)\b.{0,60}\b(?:aina|vain|suomeksi"
    r"|englanniksi|ruotsiksi|lyhyesti|ennen|sijaan)\b",
    r"älä (?:koskaan |ikinä )?(?:käytä|kirjoita|lisää|ehdota|suosittele|vastaa|mainitse|kutsu|aja"
    r"|julkaise|puhu)\b",
    r"(?:tästä lähtien|jatkossa|vastaisuudessa)\b",
    # German
    r"(?:antworte|schreibe?|sprich|benutze|verwende|nutze|erkläre|halte|frag)\b.{0,60}\b(?:immer"
    r"|nie|niemals|nur|keine?[nr]?|auf (?:deutsch|englisch|finnisch)|kurz|statt|bevor)\b",
    r"(?:ab jetzt|von nun an|künftig|in zukunft)\b",
    # Russian
    r"(?:всегда|никогда не) \w+(?:й|йте|и|ите|ь|ьте)\b",
    r"(?:отвечай|отвечайте|пиши|пишите|говори|говорите|объясняй)\b.{0,40}\b(?:по|на|кратко|коротко"
    r"|без|только|всегда)\b",
    r"не (?:используй|пиши|предлагай|добавляй|упоминай|рекомендуй|называй)(?:те)?\b",
    r"(?:с этого момента|впредь|отныне)\b",
    # Chinese
    r"请?(?:总是|始终|一律|务必|永远)(?:不要)?(?:使用|用|写|回答|回复|保持|先)",
    r"请?用.{1,8}(?:回答|回复|写|说|交流)",
    r"请?(?:不要|别)再?(?:使用|用|写|加|推荐|建议|提)",
    r"(?:从现在起|从现在开始|以后)",
)
_OTHER_PREFERENCE = (
    r"(?:minä )?olen (?:allerginen|vegaani|kasvissyöjä|keliaakikko|diabeetikko|laktoosi"
    r"|värisokea)",
    r"(?:minä )?en (?:syö|juo|pidä|halua|siedä|voi syödä|tykkää)\b",
    r"(?:minä )?(?:suosin|haluan aina|inhoan|rakastan|pidän enemmän)\b",
    r"(?:lempi|suosikki)\w*ni on\b",
    r"käyttäjä (?:suosii|inhoaa|ei syö|on (?:allerginen|vegaani|kasvissyöjä))\b",
    r"ich bin (?:allergisch|vegetarier|veganer|laktoseintolerant|diabetiker|farbenblind)",
    r"ich (?:bevorzuge|mag|hasse|liebe|esse (?:kein|nur)|trinke (?:kein|nur)"
    r"|möchte (?:immer|nie|keine|lieber)|habe eine \w*(?:allergie|unverträglichkeit))",
    r"meine? lieblings\w+ (?:ist|sind)\b",
    r"(?:der |die )?(?:nutzer|benutzer)(?:in)? (?:bevorzugt|mag|isst kein|ist allergisch)\b",
    r"у меня (?:есть )?(?:аллергия|непереносимость)",
    r"я (?:всегда )?(?:предпочитаю|не ем|не пью|люблю|не люблю|ненавижу|веган|вегетариан)",
    r"мне (?:больше |не )?нравится",
    r"пользователь (?:предпочитает|не ест|любит)",
    r"我对.{1,8}过敏",
    r"我(?:不吃|不喝|喜欢|不喜欢|讨厌|偏好|更喜欢|只吃|只喝|是素食)",
    r"用户(?:喜欢|不喜欢|偏好|希望|不吃|对.{1,8}过敏)",
)
_INSTRUCTION = re.compile("|".join((*_EN_INSTRUCTION, *_OTHER_INSTRUCTION)), re.IGNORECASE)
_PREFERENCE = re.compile("|".join((*_EN_PREFERENCE, *_OTHER_PREFERENCE)), re.IGNORECASE)
_GENERAL_WORDS = frozenset(re.findall(r"[a-z]+", _GENERAL.replace(" messages", "")))
_RULE_WORDS = frozenset("convention policy rule practice guideline style".split())
_AFTER_I = frozenset(
    """
    have has follow follows suffer suffers really much strongly generally usually always prefer
    prefers like likes love loves hate hates dislike dislikes enjoy enjoys favor favors favour
    favours can't cannot can doesn't does don't do won't will only never would rather need needs
    want wants am are
    """.split()
)
_SECOND_WORDS: Mapping[str, frozenset[str] | None] = {
    **dict.fromkeys(
        """
        always never don't avoid stop quit no prefer from going in for all every each our new
        answer reply respond speak talk address refer call explain keep write use choose pick give
        show only ask user user's i'm i'd we're team
        """.split()
    ),
    **dict.fromkeys(("when", "whenever", "if"), frozenset(("i", "you"))),
    "do": frozenset(("not",)),
    "any": frozenset(("time",)),
    "make": frozenset(("sure",)),
    "this": frozenset(("repo", "project", "team")),
    "you": frozenset(("should", "must")),
    "the": _RULE_WORDS | {"user", "user's", "team"},
    "my": _RULE_WORDS
    | frozenset(
        """
        favorite favourite wife husband partner daughter son kid kids child children family
        girlfriend boyfriend mother father baby dog cat
        """.split()
    ),
    "i": _AFTER_I,
    "we": _AFTER_I,
}
"""With which words the patterns begin, and which may follow; None for any."""
_OTHER_BEGINNINGS = tuple(
    """
    vastaa kirjoita puhu aja tarkista kysy anna jatkossa vastaisuudessa antworte schreib sprich
    benutze verwende nutze halte frag ab von olen en suosin haluan inhoan rakastan lempi suosikki
    ich mein der die nutzer benutzer
    """.split()
)

"""Statements that say what changed (contract H3): "migrated to MySQL", "Ben is the new CEO".

They share few words with the statement that they update, so their form tells what to look for:
something that ended, a role with another person, a place, an employer, a tool of the same sort, or
another value of something that is named. English; in doubt, nothing is found.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from muisti.remember.similarity.alternatives import find_alternatives

_CACHED = 128
_EXPANDED = (
    (re.compile(r"[’ʼ]"), "'"),
    (re.compile(r"\b(doesn|don|isn|aren)'t\b", re.I), r"\1 not"),
    (re.compile(r"\b(?:doesn|don) not\b", re.I), "not"),
    (re.compile(r"\b(?:does|do) not\b", re.I), "not"),
    (re.compile(r"\b(i)'m\b", re.I), r"\1 am"),
    (re.compile(r"\b(\w+)'re\b", re.I), r"\1 are"),
    (re.compile(r"\b(\w+)'ve\b", re.I), r"\1 have"),
    (re.compile(r"\b(?:it)'s\b", re.I), "it is"),
    (re.compile(r"\b(?:has|have|just|recently|finally|fully|completely|already) (?=\w)", re.I), ""),
)
_OPEN = re.compile(
    r"\?|\b(?:might|may(?! \d)|could|would|should|consider\w*|tried|trying|wants?|wanted|"
    r"plan(?:s|ned|ning)?|hopes?|dream\w*|thinking|asked|also|too|as well|additionally|another|"
    r"until|used to|if|maybe|perhaps|ago|almost|nearly|yet|temporarily|as a (?:child|kid|"
    r"student))\b",
    re.I,
)
"""A plan, a doubt, an addition or history: no update."""
_PAST = re.compile(
    r"\b(?:was|were|used to|lived|worked|until|formerly|previously|no longer|not)\b", re.I
)
_TAIL = re.compile(
    r"(?:,? (?:last|this) \w+|,? (?:in|since) (?:January|February|March|April|May|June|July|August|"
    r"September|October|November|December|\d{4}|spring|summer|autumn|fall|winter)(?: \d{4})?|"
    r",? (?:yesterday|today|recently|now|nowadays|instead|again|already|any ?more|any longer)|"
    r",? (?:these days|from now on|as of now|for good)|"
    r" with (?:his|her|their|my|our|the) \w+)+$",
    re.I,
)
_MOVES = r"(?:moved|switched|migrated|changed|went|transitioned|upgraded|converted|ported)"
_ALL = r"(?: (?:everything|over|back|all (?:our |the )?\w+|(?:our|the) (?P<o>\w+)))?"
_ENDINGS = (
    re.compile(rf"(?P<s>.*?)\b{_MOVES}{_ALL} from (?P<x>.+?) (?:over )?to (?P<y>.+)", re.I),
    re.compile(r"(?P<s>.*?)\b(?:replaced|swapped) (?P<x>.+?) (?:with|by|for) (?P<y>.+)", re.I),
    re.compile(
        r"(?P<s>)(?P<x>.+?) (?:was|were|is|been|got) (?:been )?replaced (?:with|by) (?P<y>.+)", re.I
    ),
    re.compile(
        r"(?P<s>.*?)\b(?:dropped|ditched|abandoned) (?P<x>.+?)(?: (?:for|"
        r"in favou?r of) (?P<y>.+))?",
        re.I,
    ),
    re.compile(
        r"(?P<s>.*?)\b(?:uses?|runs? on|prefers?|is|are|use) (?P<y>.+?) (?:instead of|rather than) "
        r"(?P<x>.+)",
        re.I,
    ),
    re.compile(r"(?P<y>.+?) (?P<s>)took over from (?P<x>\w+)(?: .+)?", re.I),
    re.compile(
        r"(?P<s>.*?)\b(?:sold|quit|left|cancelled|canceled) "
        r"(?:(?:the|their|his|her|my|our)(?: job at| position at)? |(?=[A-Z]))(?P<x>.+?)"
        r"(?: and (?:bought|got|joined|started at|moved to) (?P<y>.+))?",
        re.I,
    ),
)
"""X ended, and Y takes its place."""
_STOPPED = re.compile(
    r"(?P<s>.*?)\b(?:no longer|not|stopped|quit|gave up) (?P<v>\w+)(?: (?P<x>.+))?", re.I
)
_NAME = r"(?P<x>(?-i:[A-Z])[\w.'-]*(?: (?-i:[A-Z])[\w.'-]*){0,2})"
_HOLDS = re.compile(
    rf"{_NAME} (?:(?:is now|is) (?:now )?(?:the|our|my|its) |"
    r"(?P<became>became|was (?:named|appointed|made|elected)|took over(?: from \w+)? as) "
    r"(?:the |our |my |its )?)(?P<role>.+)",
    re.I,
)
_LEADS = re.compile(
    rf"{_NAME} (?:now )?(?P<role>(?:leads|heads|owns|maintains|chairs|manages) .+)", re.I
)
_LIVES = re.compile(
    r"(?P<s>.*?)\b(?:now )?(?:lives?|(?:is|am|are) (?:now )?(?:living|based)|resides?) "
    r"(?:now )?(?:in|at|near) (?P<v>.+)",
    re.I,
)
_MOVED = re.compile(
    r"(?P<s>.*?)\b(?:moved|relocated)(?: back)? to (?!the\b|an?\b|next\b)(?P<v>[^,]+)", re.I
)
_WORKS = re.compile(r"(?P<s>.*?)\b(?:is |am |are )?(?:works?|working) (?:at|for) (?P<v>.+)", re.I)
_JOINED = re.compile(
    r"(?P<s>.*?)\b(?:joined|started (?:at|working (?:at|for))|"
    r"got a (?:new )?job at) (?P<v>.+)",
    re.I,
)
_TOOL = re.compile(rf"(?P<s>.*?)\b{_MOVES}{_ALL} to (?P<v>.+)", re.I)
_VERSION = re.compile(r"(?P<name>[A-Za-z][\w+#-]*) v?(?P<number>\d+(?:\.\d+)*)")
_SETS = (
    r"(?:raised|lowered|increased|reduced|changed|set|bumped|updated|extended|postponed|shortened|"
    r"renamed|rewrote|rewritten|ported|moved|cut|pushed|delayed|rescheduled|brought|migrated|"
    r"converted)"
)
_NEW_VALUES = (
    re.compile(
        rf"(?P<s>.+?) (?:was|were|is|are|been|got) (?:been )?{_SETS}(?: back| forward| up| down)?"
        r"(?: from .+?)? (?:to|in|until) (?P<v>.+)",
        re.I,
    ),
    re.compile(
        rf"(?:.*?\b)?{_SETS} (?:the|our|its|my|their) (?P<s>.+?)(?: from .+?)? (?:to|in|until) "
        r"(?P<v>.+)",
        re.I,
    ),
    re.compile(
        r"(?P<s>.+?) (?:went|rose|dropped|grew|fell|increased|decreased|moved|changed|switched|"
        r"climbed)(?: up| down)?(?: from .+?)? to (?P<v>.+)",
        re.I,
    ),
)
_CLASSES = (
    re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b", re.I),
    re.compile(
        r"\b(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?)?(?:January|February|March|April|May|June|July|"
        r"August|September|October|November|December)(?: \d{1,2}(?:st|nd|rd|th)?)?\b"
    ),
    re.compile(r"(?<![\w.])\d{1,2}[:.]\d\d\b|\b\d{1,2} ?[ap]m\b", re.I),
    re.compile(r"(?<![\w.])[€$£]?\d+(?:[.,]\d+)*%?(?![\w.]\w)"),
)
_SCHEDULE = re.compile(
    r"\b(?:only )?(?:on (?:\w+days?)(?:(?:,| and) \w+days?)*|every (?:other )?\w+|daily|weekly|"
    r"monthly|(?:once|twice) a \w+|at \d[\d:.]*(?: ?[ap]m)?)\b",
    re.I,
)
_NOW = re.compile(r"\b(?:now|nowadays|these days|from now on)\b", re.I)
_GROUP = frozenset(("", "we", "i", "user", "team", "us", "project", "company"))
"""Subjects that a statement about a project may leave out or exchange."""
_LIGHT = frozenset(
    """
    the a an our my their his her its your new current old is are am was called named written in on
    at to for with of and by use uses using run runs host hosts hosted now only listens listen
    starts start costs cost set takes take built
    """.split()
)
_BEFORE_VALUE = (
    r"(?:uses?|using|is|are|on|in|with|at|to|for|drives?|has|have|prefers?|called|owns?|runs?|hosts?)"
    r"(?: (?:the|an?|our|their|his|her|my))?"
)


@dataclass(frozen=True, slots=True)
class Change:
    """What changed; a value is "" if only its end is told."""

    newer_value: str
    older_value: str
    is_figure: bool = False
    is_told: bool = True
    """Whether the newer statement itself says that something changed."""


def find_change(newer: str, older: str) -> Change | None:
    """Return what the newer statement says has changed in the older one, or None."""
    if _OPEN.search(newer) or _OPEN.search(older):
        return None
    new, old = _expand(newer), _expand(older)
    if _PAST.search(old):
        return None
    new = _TAIL.sub("", new)
    for find in (_find_role, _find_place, _find_end, _find_tool, _find_value, _find_schedule):
        found = find(new, old, newer)
        if found is not None:
            return found
    return None


def suggest_words(newer: str) -> list[str]:
    """Return words, in lower case, that the statement updated by this one may have."""
    if _OPEN.search(newer):
        return []
    new = _TAIL.sub("", _expand(newer))
    words: list[str] = []
    if _MOVED.fullmatch(new):
        words += ["lives", "live", "living", "based"]
    if _JOINED.fullmatch(new):
        words += ["works", "work"]
    tool = _TOOL.fullmatch(new)
    if tool:
        first = tool["v"].split()[0]
        words += [first.lower(), *sorted(find_alternatives(first))]
    for pattern, group in (
        *((pattern, "x") for pattern in _ENDINGS),
        (_STOPPED, "x"),
        (_HOLDS, "role"),
        (_LEADS, "role"),
        *((pattern, "s") for pattern in _NEW_VALUES),
    ):
        found = pattern.fullmatch(new)
        if found and found[group]:
            words += sorted(_words(found[group]) - _LIGHT)
    stopped = _STOPPED.fullmatch(new)
    if stopped:
        stem = _stem(stopped["v"])
        words += [stem, f"{stem}s", f"{stem}e", f"{stem}es"]
    return list(dict.fromkeys(words))


@lru_cache(maxsize=_CACHED)
def _match(pattern: re.Pattern[str], new: str) -> re.Match[str] | None:
    """Match a whole new statement, which is compared with many."""
    return pattern.fullmatch(new)


def _find_role(new: str, old: str, newer: str) -> Change | None:
    for pattern in (_HOLDS, _LEADS):
        mine = _match(pattern, new)
        if mine is None:
            continue
        became = pattern is _HOLDS and mine["became"]
        is_new = became or " new " in new or _NOW.search(newer)
        theirs = pattern.fullmatch(old)
        if not is_new or theirs is None or mine["x"] == theirs["x"]:
            continue
        role = _words(mine["role"]) - {"new", "next", "interim", "current"}
        if role and role == _words(theirs["role"]) - {"new", "current", "interim"}:
            return Change(mine["x"], theirs["x"])
    return None


def _find_place(new: str, old: str, _: str) -> Change | None:
    for was, now in ((_LIVES, (_MOVED, _LIVES)), (_WORKS, (_JOINED, _WORKS))):
        theirs = was.fullmatch(old)
        if theirs is None:
            continue
        for pattern in now:
            mine = _match(pattern, new)
            if mine is None or find_alternatives(mine["v"].split()[0]):
                continue
            values = mine["v"], theirs["v"]
            if _is_same_subject(mine["s"], theirs["s"]) and _words(values[0]) != _words(values[1]):
                return Change(*values, is_told=pattern not in (_LIVES, _WORKS))
    return None


def _find_end(new: str, old: str, newer: str) -> Change | None:
    for pattern in _ENDINGS:
        found = _match(pattern, new)
        if found is None:
            continue
        ended = found["x"].strip()
        if _may_concern(found["s"], old, ended) and _has_value(old, ended):
            return Change(found["y"] or "", ended)
    stopped = _match(_STOPPED, new)
    if stopped is None:
        return None
    is_over = re.search(r"\b(?:no longer|any ?more|stopped|quit|gave up)\b", newer, re.I)
    theirs = [_stem(word) for word in old.lower().split()]
    verb = _stem(stopped["v"])
    ended = stopped["x"] or ""
    if not is_over or verb not in theirs or not _words(ended) - _LIGHT <= _words(old):
        return None
    subject = " ".join(old.split()[: theirs.index(verb)])
    return Change("", ended or stopped["v"]) if _is_same_subject(stopped["s"], subject) else None


def _find_tool(new: str, old: str, _: str) -> Change | None:
    found = _match(_TOOL, new)
    if found is None:
        return None
    if found["o"] and not _words(found["o"]) <= _words(old):
        return None
    versions = _VERSION.match(found["v"]), _VERSION.search(old)
    if versions[0] and versions[1] and versions[0]["name"] == versions[1]["name"]:
        is_same = versions[0]["number"] == versions[1]["number"]
        if not is_same and _may_concern(found["s"], old, versions[1][0]):
            return Change(versions[0][0], versions[1][0], is_figure=True)
    if "upgraded" in new:
        return None
    alternatives = find_alternatives(found["v"].split()[0].strip(",."))
    for word in re.findall(r"\w[\w.+#-]*", old):
        is_other = word.lower() in alternatives
        if is_other and _has_value(old, word) and _may_concern(found["s"], old, word):
            return Change(found["v"], word)
    return None


def _find_value(new: str, old: str, _: str) -> Change | None:
    for pattern in _NEW_VALUES:
        found = _match(pattern, new)
        if found is None:
            continue
        thing, value = _words(found["s"]) - _LIGHT, found["v"].strip()
        theirs = _words(old)
        if not thing or not thing <= theirs:
            continue
        kind = next((one for one in _CLASSES if one.search(value)), None)
        slots = [match[0] for match in kind.finditer(old)] if kind else []
        if kind is None and _is_thing(found["s"]):
            last = re.search(rf"\b{_BEFORE_VALUE} (?P<v>[\w.+#-]+)$", old)
            slots = [last["v"]] if last else []
        if len(slots) != 1 or slots[0].lower() in value.lower():
            continue
        rest = theirs - thing - _LIGHT - _words(slots[0]) - _words(value)
        if not rest:
            return Change(value, slots[0], is_figure=kind is not None)
    return None


def _is_thing(subject: str) -> bool:
    """Whether a subject is a thing, not a person or a team: the office, our repo, User's shell."""
    is_owned = re.match(r"(?:[Tt]he|[Oo]ur|[Mm]y|[Ii]ts|[Tt]heir|\w+'s) |[a-z]", subject)
    return is_owned is not None and _read_subject(subject) not in _GROUP


def _find_schedule(new: str, old: str, newer: str) -> Change | None:
    if not _NOW.search(newer):
        return None
    mine, theirs = _SCHEDULE.search(new), _SCHEDULE.search(old)
    if not mine or not theirs or mine[0].lower() == theirs[0].lower():
        return None
    same = _words(_SCHEDULE.sub(" ", new)) - {"now"} == _words(_SCHEDULE.sub(" ", old))
    return Change(mine[0], theirs[0]) if same else None


@lru_cache(maxsize=_CACHED)
def _expand(text: str) -> str:
    text = " ".join(text.split()).rstrip(".! ")
    for pattern, replacement in _EXPANDED:
        text = pattern.sub(replacement, text)
    return text


def _words(text: str) -> set[str]:
    """Return the words without endings and possessives."""
    return {_stem(word) for word in re.findall(r"[\w.+#/@:-]*\w[+#]*", text.replace("'s", ""))}


def _stem(word: str) -> str:
    """Return a word without the endings of plurals and verbs, so that forms are equal."""
    word = word.lower()
    for ending in ("ing", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


_DETERMINERS = _LIGHT - {"use", "run"}


def _read_subject(text: str) -> str:
    words = [word for word in text.lower().replace("'s", "").split() if word not in _DETERMINERS]
    return " ".join(words)


def _is_same_subject(mine: str, theirs: str) -> bool:
    ours, others = _read_subject(mine), _read_subject(theirs)
    return ours == others or (ours in _GROUP and others in _GROUP and not (ours and others))


def _may_concern(subject: str, old: str, value: str) -> bool:
    """Whether a change of a subject may be one of the old statement, which has the value.

    A team changes what belongs to it; a person only what is said of that person.
    """
    mine = _read_subject(subject)
    before = old[: old.lower().find(value.lower())]
    verb = re.search(r"\b(?:uses?|is|are|runs?|hosts?|drives?|works?|prefers?|\w+s)\b", before)
    theirs = _read_subject(before[: verb.start()] if verb else before.rsplit(" ", 2)[0])
    if mine == theirs or theirs.startswith(f"{mine} "):
        return True
    if mine not in _GROUP:
        return False
    is_person = theirs.istitle() or bool(re.match(r"[A-Z][a-z]+ (?:uses|is|drives|works)", old))
    return theirs in _GROUP or not is_person


def _has_value(old: str, value: str) -> bool:
    """Whether the old statement has the value after a verb or a preposition, or at its end."""
    bare = re.sub(r"^(?:the|an?|our|their|his|her|my) ", "", value, flags=re.I)
    pattern = rf"\b{_BEFORE_VALUE} {re.escape(bare)}(?!\w)|^{re.escape(bare)} (?:is|leads|heads)\b"
    return re.search(pattern, old, re.I) is not None

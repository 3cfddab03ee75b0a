"""Pairs of texts, made from real sentences by rules: the same memory typed again, and another fact
in the same words.

Every maker takes a sentence and a random generator and gives the changed sentence, or None where it
has nothing to change.
"""

from __future__ import annotations

import csv
import hashlib
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

MRPC, STS = "mrpc_train.tsv", "sts-dev.csv"
Maker = Callable[[str, random.Random], str | None]


@dataclass(frozen=True)
class Judged:
    """Two sentences that people have judged: the same, not the same, or (None) something between."""

    first: str
    second: str
    same: bool | None


def mrpc(folder: Path) -> list[Judged]:
    """News sentences: label 1 is a paraphrase. Loose: many paraphrases leave a fact out."""
    with (folder / MRPC).open(encoding="utf-8-sig", newline="") as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)
        return [Judged(row[3], row[4], row[0] == "1") for row in rows]


def sts(folder: Path) -> list[Judged]:
    """Captions, headlines and forum posts, from 0 to 5: the same from 4.5 on, not the same below 4."""
    rows = (line.split("\t") for line in (folder / STS).read_text("utf-8").splitlines() if line)
    return [Judged(row[5], row[6], _sameness(float(row[4]))) for row in rows]


def _sameness(score: float) -> bool | None:
    return True if score >= 4.5 else False if score < 4 else None


def sentences(pairs: Iterable[Judged]) -> list[str]:
    """Each sentence once, in an order that does not depend on the file's."""
    return sorted({text for pair in pairs for text in (pair.first, pair.second)}, key=_digest)


def foreign(texts: Iterable[str]) -> list[str]:
    """The sentences of longer texts in Russian or Chinese."""
    found = {
        part.strip() for text in texts for part in re.split(r"(?<=[.!?])\s+|(?<=[。！？])", text)
    }
    return sorted((part for part in found if len(part) > 12), key=_digest)


def half(text: str) -> int:
    """0 (looked at while the rule was written) or 1 (held back)."""
    return _digest(text)[0] & 1


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def made(maker: Maker, source: Sequence[str], most: int, seed: int = 7) -> list[tuple[str, str]]:
    """Up to `most` pairs; each sentence has its own generator, so that one more sentence changes no
    other pair.
    """
    found = []
    for text in source:
        changed = maker(text, random.Random(f"{seed}{text}"))
        if changed is not None and changed != text:
            found.append((text, changed))
            if len(found) == most:
                break
    return found


# Another fact -------------------------------------------------------------------------------------

_NUMBER_WORDS = "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred".split()
_MONTHS = (
    "January February March April May June July August September October November December".split()
)
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_NAMES = """Smith Johnson Williams Jones Brown Davis Miller Wilson Anderson Andersen Peterson Petersen Martin Martinez Clark Clarke
Paris London Berlin Helsinki Moscow Beijing Tokyo Chicago Boston Texas Microsoft Google Oracle Intel Toyota Honda Maria Mario Anna
Hanna Alice Alicia Robert Roberto Daniel Danielle""".split()
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|will|would|can|could|has|have|had|should|must|may|might|does|did)\b(?! not|n't)",
    re.IGNORECASE,
)


def number(text: str, rng: random.Random) -> str | None:
    """A digit changed, or a number in words."""
    places = [m.start() for m in re.finditer(r"\d", text)]
    if places:
        at = rng.choice(places)
        return text[:at] + rng.choice([d for d in "123456789" if d != text[at]]) + text[at + 1 :]
    found = list(re.finditer(rf"\b(?:{'|'.join(_NUMBER_WORDS)})\b", text))
    return _replaced(text, rng.choice(found), rng.choice(_NUMBER_WORDS)) if found else None


def date(text: str, rng: random.Random) -> str | None:
    """Another weekday or month."""
    found = list(re.finditer(rf"\b(?:{'|'.join(_MONTHS + _DAYS)})\b", text))
    if not found:
        return None
    match = rng.choice(found)
    return _replaced(text, match, rng.choice(_MONTHS if match[0] in _MONTHS else _DAYS))


def name(text: str, rng: random.Random) -> str | None:
    """A name exchanged for another."""
    found = _names(text)
    return _replaced(text, rng.choice(found), rng.choice(_NAMES)) if found else None


def near_name(text: str, rng: random.Random) -> str | None:
    """A name exchanged for one that is spelt nearly the same: another last or middle letter."""
    found = [match for match in _names(text) if len(match[0]) >= 5]
    if not found:
        return None
    match = rng.choice(found)
    at = rng.randrange(1, len(match[0]))
    letter = rng.choice([c for c in "aeiounrstl" if c != match[0][at]])
    return _replaced(text, match, match[0][:at] + letter + match[0][at + 1 :])


def names_swapped(text: str, rng: random.Random) -> str | None:
    """Two names of the sentence in each other's place."""
    found = _names(text)
    if len({match[0] for match in found}) < 2:
        return None
    first, second = sorted(rng.sample(found, 2), key=lambda match: match.start())
    if first[0] == second[0] or first.end() + 1 >= second.start():
        return None
    return (
        text[: first.start()]
        + second[0]
        + text[first.end() : second.start()]
        + first[0]
        + text[second.end() :]
    )


def numbers_swapped(text: str, rng: random.Random) -> str | None:
    """Two numbers of the sentence in each other's place."""
    found = list(re.finditer(r"\d+(?:[.,]\d+)*", text))
    if len({match[0] for match in found}) < 2:
        return None
    first, second = sorted(rng.sample(found, 2), key=lambda match: match.start())
    return (
        text[: first.start()]
        + second[0]
        + text[first.end() : second.start()]
        + first[0]
        + text[second.end() :]
    )


def negated(text: str, rng: random.Random) -> str | None:
    """`not`, `n't` or `never` put in or taken out."""
    there = re.search(r"\b(?:not|never) |(?<=\w)n't\b", text)
    if there:
        return text[: there.start()] + text[there.end() :]
    found = list(_AUXILIARY.finditer(text))
    if not found:
        return None
    match = rng.choice(found)
    word = match[0]
    short = {"will": "won't", "can": "can't", "may": "may not"}.get(word, f"{word}n't")
    return _replaced(text, match, rng.choice([f"{word} not", short, f"{word} never"]))


def word_added(text: str, rng: random.Random) -> str | None:
    """A content word of the sentence left out: less is said."""
    found = list(re.finditer(r"(?<= )[a-z]{6,} ", text))
    return _replaced(text, rng.choice(found), "") if found else None


def negated_in_russian(text: str, rng: random.Random) -> str | None:
    words = text.split(" ")
    return " ".join([*words[: (at := rng.randrange(len(words)))], "не", *words[at:]])


def negated_in_chinese(text: str, rng: random.Random) -> str | None:
    at = rng.randrange(len(text))
    return text[:at] + rng.choice("不没未") + text[at:]


OTHERS: dict[str, Maker] = {
    "number": number,
    "two numbers swapped": numbers_swapped,
    "date": date,
    "name": name,
    "name, one letter": near_name,
    "two names swapped": names_swapped,
    "negation": negated,
    "word left out": word_added,
}


def _names(text: str) -> list[re.Match[str]]:
    return [
        m for m in re.finditer(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b", text) if m[0] not in _MONTHS + _DAYS
    ]


def _replaced(text: str, match: re.Match[str], new: str) -> str | None:
    if new.casefold() == match[0].casefold():
        return None
    return text[: match.start()] + new + text[match.end() :]


# The same again -----------------------------------------------------------------------------------

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SHORTER = [
    tuple(pair.split("=", 1))
    for pair in """information=info;configuration=config;do not=don't;does not=doesn't;did not=didn't;is not=isn't;are not=aren't;
was not=wasn't;were not=weren't;will not=won't;cannot=can't;would not=wouldn't;could not=couldn't;has not=hasn't;have not=haven't;
it is=it's;he is=he's;they are=they're;we are=we're;percent=%;per cent=%;January=Jan.;February=Feb.;August=Aug.;September=Sept.;
October=Oct.;November=Nov.;December=Dec.;Monday=Mon.;Tuesday=Tue.;Wednesday=Wed.;Thursday=Thu.;Friday=Fri.;versus=vs.;and=&;
department=dept.;Department=Dept.;approximately=approx.;United States=U.S.;United Nations=UN;European Union=EU;million=m;
billion=bn;government=govt.;Corporation=Corp.;Incorporated=Inc.;company=co.;Company=Co.;one=1;two=2;three=3;four=4;five=5;six=6;
seven=7;eight=8;nine=9;ten=10;eleven=11;twelve=12;twenty=20;first=1st;second=2nd;third=3rd;hours=hrs;minutes=mins;year=yr;
years=yrs;television=TV;photograph=photo;photographs=photos;application=app;applications=apps;
Doctor=Dr.;Professor=Prof.;Senator=Sen.;Governor=Gov.;management=mgmt;international=int'l;average=avg.;number=no.;
maximum=max.;minimum=min.;advertisement=ad;laboratory=lab;telephone=phone;President=Pres.;executive=exec;kilometers=km;
thousand=k;dollars=USD;with=w/;without=w/o;because=bc;people=ppl;through=thru;street=st.;avenue=ave.""".replace(
        "\n", ""
    ).split(";")
]
_PREPOSITIONS = "in on at after before during since until for from with by under because when while if although despite through".split()
_STARTERS = frozenset(
    "The A An This That These Those It He She They We His Her Their Its Some Many Two Three One But".split()
)


def retyped(text: str, rng: random.Random) -> str | None:
    """White space, punctuation, quotes, dashes, the last full stop: two of them."""
    for change in rng.sample((_spaces, _quotes, _dashes, _full_stop, _commas, _breaks), 2):
        text = change(text, rng)
    return text


def _spaces(text: str, rng: random.Random) -> str:
    return (
        " " * rng.randrange(3)
        + re.sub(" ", lambda _: rng.choice((" ", " ", "  ", "\u00a0")), text)
        + " " * rng.randrange(3)
    )


def _breaks(text: str, rng: random.Random) -> str:
    words = text.split(" ")
    at = rng.randrange(len(words))
    return " ".join(words[:at]) + rng.choice(("\n", "\t", "\r\n")) + " ".join(words[at:])


def _quotes(text: str, rng: random.Random) -> str:
    if '"' in text:
        return (
            text.replace('"', "")
            if rng.random() < 0.3
            else re.sub(r'"([^"]*)"', rng.choice(("“\\1”", "'\\1'", "«\\1»")), text)
        )
    return text.replace("'", "’") if "'" in text else f"“{text}”"


def _dashes(text: str, rng: random.Random) -> str:
    return (
        re.sub(r" --? ", rng.choice((" – ", " — ", "—")), text)
        if re.search(r" --? ", text)
        else text.replace("-", rng.choice("–‑"))
    )


def _full_stop(text: str, rng: random.Random) -> str:
    return (
        text.rstrip(" .")
        if text.rstrip().endswith(".")
        else text.rstrip() + rng.choice((".", "!", "…"))
    )


def _commas(text: str, rng: random.Random) -> str:
    return re.sub(r" ?,(?=\s)", rng.choice(("", ";", " ,")), text, count=1)


def recased(text: str, rng: random.Random) -> str | None:
    return rng.choice((str.lower, str.upper, str.title, _title))(text)


def _title(text: str) -> str:
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


def typo(text: str, rng: random.Random) -> str | None:
    """One slip in a word of five letters or more that is no name."""
    found = list(re.finditer(r"(?<![\w'/.-])[a-z]{5,}(?![\w'/-])", text))
    return _slipped(text, rng.choice(found), rng) if found else None


def typo_in_name(text: str, rng: random.Random) -> str | None:
    """One slip in a name: not asked for, since it may be another name."""
    found = [match for match in _names(text) if len(match[0]) >= 5]
    return _slipped(text, rng.choice(found), rng) if found else None


def _slipped(text: str, match: re.Match[str], rng: random.Random) -> str:
    word = match[0]
    at = rng.randrange(1, len(word) - 1)
    new = rng.choice(
        (
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + rng.choice(_LETTERS) + word[at + 1 :],
        )
    )
    return text[: match.start()] + new + text[match.end() :]


def abbreviated(text: str, rng: random.Random) -> str | None:
    """One or two words shortened or written out."""
    for _ in range(rng.randrange(1, 3)):
        found = [
            (m, short)
            for long, short in _SHORTER
            for m in re.finditer(rf"\b{re.escape(long)}\b", text)
            if _may_shorten(text, m, short)
        ]
        if found:
            match, short = rng.choice(found)
            text = _shortened(text, match, short)
    return text


def _may_shorten(text: str, match: re.Match[str], short: str) -> bool:
    if short in ("%", "m", "bn", "k", "USD", "km"):  # behind digits only
        return bool(re.search(r"\d ?$", text[: match.start()]))
    if short == "2nd":
        return not text[: match.start()].rstrip().endswith(("a", "per"))
    return True


def _shortened(text: str, match: re.Match[str], short: str) -> str:
    before = (
        text[: match.start()].rstrip(" ")
        if short in ("%", "m", "bn", "k")
        else text[: match.start()]
    )
    after = text[match.end() :]
    return before + (short[:-1] if short.endswith(".") and after.startswith(".") else short) + after


def reordered(text: str, rng: random.Random) -> str | None:
    """A phrase taken from the end of the sentence, or from before a comma, to its front."""
    sentence = text.rstrip(" .")
    found = list(re.finditer(rf" (?:{'|'.join(_PREPOSITIONS)}) [^,;:.\"]+(?=$|, )", sentence))
    if not found:
        return None
    match = rng.choice(found)
    phrase = match[0].strip()
    head = sentence[: match.start()].rstrip(",")
    if (
        len(head.split()) < 3
        or head.split()[0].lower() in _PREPOSITIONS
        or head.split()[-1] in ("than", "not", "and", "or", "but", "from")
        or '"' in sentence
        or re.search(r"[a-z]\. ", sentence)
    ):
        return None
    first, _, rest = head.partition(" ")
    head = f"{first.lower() if first in _STARTERS else first} {rest}"
    return f"{phrase[0].upper()}{phrase[1:]}, {head}{sentence[match.end() :]}."


def clauses_swapped(text: str, _rng: random.Random) -> str | None:
    """`P, and Q` as `Q, and P`."""
    match = re.fullmatch(
        r"([A-Z][^,;:\"]+),? (and|but) ((?:he|she|it|they|we|the|a|his|her|their) [^,;:\"]+)\.",
        text.strip(),
    )
    if not match or min(len(match[1].split()), len(match[3].split())) < 4:
        return None
    first = match[1].split(" ")[0]
    head = match[1][0].lower() + match[1][1:] if first in _STARTERS else match[1]
    return f"{match[3][0].upper()}{match[3][1:]}, {match[2]} {head}."


AGAIN: dict[str, Maker] = {
    "re-typed": retyped,
    "re-cased": recased,
    "typo": typo,
    "abbreviation": abbreviated,
    "phrase first": reordered,
    "clauses swapped": clauses_swapped,
}


def sentences_swapped(source: Sequence[str], most: int) -> list[tuple[str, str]]:
    """Two sentences as one memory, and the other way round."""
    whole = [
        text if text.rstrip().endswith((".", "!", "?", '"')) else f"{text}." for text in source
    ]
    return [
        (f"{a} {b}", f"{b} {a}")
        for a, b in zip(whole[0 : 2 * most : 2], whole[1 : 2 * most : 2], strict=False)
    ]

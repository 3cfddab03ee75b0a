"""Tables of words with the same meaning: short forms, contractions, numbers; and light words.

Ambiguous forms are left out: `st` (saint, street), `no.` (number, no), `min` (minute, minimum).
"""

from __future__ import annotations

from collections.abc import Mapping

_SHORT = """
info: information; config cfg: configuration; configs: configurations; auth authn: authentication;
authz: authorization; db dbs: database; repo: repository; repos: repositories; dir: directory;
dirs: directories; env: environment; envs: environments; prod: production; dev: development;
docs: documentation; doc: document; app: application; apps: applications; admin: administrator;
admins: administrators; spec: specification; specs: specifications; lang: language;
param: parameter; params: parameters; arg: argument; args: arguments; var: variable;
vars: variables; func: function; msg: message; msgs: messages; pkg: package; pkgs: packages;
lib: library; libs: libraries; deps: dependencies; dep: dependency; tmp: temporary; prev: previous;
perf: performance; impl: implementation; kubernetes: k8s; js: javascript; ts: typescript;
postgres: postgresql; mgmt: management; mgr: manager; dept: department; depts: departments;
govt gov't: government; govts: governments; approx: approximately; vs: versus; avg: average;
qty: quantity; amt: amount; pct: percent; acct: account; appt: appointment; asst: assistant;
assoc: association; assn: association; bldg: building; blvd: boulevard; ave: avenue;
corp: corporation; inc: incorporated; ltd: limited; co: company; cos: companies;
intl int'l: international; natl nat'l: national; univ: university; dr: doctor; prof: professor;
gov: governor; sen: senator; rep: representative; pres: president; atty: attorney; sgt: sergeant;
lt: lieutenant; capt: captain; col: colonel; mt: mount; tel: telephone; phone: telephone;
tv: television; ad: advertisement; ads: advertisements; exec: executive; execs: executives;
yr: year; yrs: years; wk: week; wks: weeks; hr: hour; hrs: hours; mins: minutes; secs: seconds;
mo: month; mos: months; lb: pound; lbs: pounds; oz: ounce; max: maximum; ref: reference;
refs: references; misc: miscellaneous; orig: original; dist: district; tech: technology;
edu: education; sci: science; lab: laboratory; labs: laboratories; photo: photograph;
photos: photographs; exam: examination; exams: examinations; asap: as soon as possible;
eta: estimated time of arrival; cannot: can not; tbd: to be determined; fyi: for your information;
btw: by the way; w/o: without; eg: for example; ie: that is; thru: through; tho: though;
tmrw: tomorrow; pls plz: please; ppl: people; bc: because; okay: ok; alright: ok; e-mail: email;
e-mails: emails; jan: january; feb: february; mar: march; apr: april; jun: june; jul: july;
aug: august; sep sept: september; oct: october; nov: november; dec: december; mon: monday;
tue tues: tuesday; wed: wednesday; thu thur thurs: thursday; fri: friday; dollar dollars usd: $;
euro euros eur: €; has: have; currently presently: now;
kilometers kilometres kilometer kilometre: km; kilograms kilogram kilos: kg;
centimeters centimetres: cm; megabytes megabyte: mb; gigabytes gigabyte: gb;
milliseconds millisecond: ms; colour: color; centre: center; esim: esimerkiksi; ym: ynnä muuta;
jne: ja niin edelleen; klo: kello; т.е: то есть; т.к: так как; т.д: так далее; напр: например;
ул: улица; руб: рублей; во: в; со: с; об: о; ко: к
"""
_CONTRACTED = """
dont: do not; doesnt: does not; didnt: did not; isnt: is not; arent: are not; wasnt: was not;
werent: were not; couldnt: could not; shouldnt: should not; wouldnt: would not; hasnt: have not;
havent: have not; hadnt: had not; can't: can not; won't: will not; shan't: shall not; ain't: is not;
let's: let us; gonna: going to; wanna: want to
"""
_NUMBERS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth"

PHRASES: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("united", "states", "of", "america"): ("us",),
    ("united", "states"): ("us",),
    ("usa",): ("us",),
    ("united", "kingdom"): ("uk",),
    ("united", "nations"): ("un",),
    ("european", "union"): ("eu",),
    ("new", "york", "city"): ("nyc",),
    ("chief", "executive", "officer"): ("ceo",),
    ("chief", "financial", "officer"): ("cfo",),
    ("artificial", "intelligence"): ("ai",),
    ("pull", "request"): ("pr",),
    ("pull", "requests"): ("prs",),
    ("per", "cent"): ("percent",),
    ("e", "mail"): ("email",),
    ("e", "mails"): ("emails",),
    ("et", "cetera"): ("etc",),
    ("and", "so", "on"): ("etc",),
    ("web", "site"): ("website",),
    ("web", "sites"): ("websites",),
    ("位", "于"): ("在",),
}
"""Phrases and their short forms. The short form is the canonical one."""

MONTHS = {
    name: number
    for number, name in enumerate(
        """
        january february march april may june july august september october november december
        """.split(),
        start=1,
    )
}
WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
SCALES: Mapping[str, int] = {
    "hundred": 2,
    "thousand": 3,
    "million": 6,
    "mln": 6,
    "billion": 9,
    "bln": 9,
    "trillion": 12,
}
"""The power of ten that a number before the word is multiplied by."""
GLUED_SCALES: Mapping[str, int] = {"k": 3, "m": 6, "mn": 6, "mln": 6, "bn": 9, "tn": 12}
"""The same for letters right after the digits: `5m`."""

NEGATIONS = frozenset(
    """
    not no never without neither nor none nobody nothing nowhere cannot hardly barely unable ei en
    et emme ette eivät älä älkää ilman не ни нет без нельзя никогда 不 没 沒 無 无 未 别 別 非 勿
    """.split()
)

LIGHT = frozenset(
    """the a an is are of that located situated please really also
    это является находится расположен расположена расположено 的 是""".split()
)
"""Words without a fact: they may be added, dropped or exchanged.

`was` is another tense, `in` another place, `this` another thing: these are not light.
"""
LIGHT_FINNISH = LIGHT | frozenset("on ovat sijaitsee sijaitsevat".split())

PLACES = frozenset("at within inside".split())
"""The same as `in`, unless a number follows: a call in 10 is not a call at 10."""

BINDING = frozenset(
    """
    about above across after against along although among around as at because before behind below
    beside besides between beyond by despite during except following for from given if in inside
    into like near of off on once onto out outside over past per regarding since than through
    throughout to toward towards under unless until unto upon when whenever where whereas while with
    within without whether according due that which who whose whom and or but nor so yet then
    """.split()
)
"""Words that begin a phrase."""
MOVABLE = BINDING - frozenset(
    "and or but nor so yet then than that which who whose whom of like".split()
)
"""Words whose phrase may be at the beginning or the end of a sentence."""
JOINS = frozenset("and or but while".split())

ENGLISH = (BINDING - frozenset("as in on once or per so due if past".split())) | frozenset(
    """
    the is are was were has have not it its this be an will you your my we our he she they their his
    her up down user uses can could would should said
    """.split()
)
"""A text with one of these words is English: there, one letter is rarely a case or a person."""


def _parse_table(table: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for entry in table.split(";"):
        shorts, _, long = entry.partition(":")
        found.update(dict.fromkeys(shorts.split(), tuple(long.split())))
    return found


CANONICAL: Mapping[str, tuple[str, ...]] = {
    **_parse_table(_SHORT),
    **_parse_table(_CONTRACTED),
    **{word: (str(value),) for value, word in enumerate(_NUMBERS.split())},
    **{word: (f"{value}0",) for value, word in enumerate(_TENS.split(), start=2)},
    **{word: (f"{value}th",) for value, word in enumerate(_ORDINALS.split(), start=1)},
}
"""The canonical words for a word."""
ABBREVIATED = frozenset(_parse_table(_SHORT)) | frozenset(
    "mr mrs ms jr sr st no u.s a.m p.m e.g i.e".split()
)
"""A full stop after one of these does not end a sentence."""

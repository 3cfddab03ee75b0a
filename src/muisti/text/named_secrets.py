"""Finds secrets by the name before them: `password: …`, `API_KEY=…`, "the wifi password is …".

A module of its own because its patterns take long to compile, and most texts name no secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from heapq import merge

from muisti.text.secrets import NAMES, ROOTS, WORDS

_LONGEST_NAME = max(map(len, WORDS))
_NAMED = re.compile(
    rf"(?P<name>{'|'.join(map(re.escape, WORDS))})s?[0-9]{{0,3}}(?P<about>[_-][a-z0-9_-]{{0,30}})?"
    r"(?:[\"'\]`*\\)]{0,4}(?:[ \t]?\([^()\n]{1,40}\))?\s{0,4}"
    r"(?:=>|->|:=|={1,2}|[:：]|\|(?=[ \t])|>(?=[^\s<>]{1,80}</))"  # written
    r"|[ \t](?:for|to|of|on|at|in)[ \t][^\n.:;=]{1,40}?[ \t](?:is|was)\b"  # said
    r"|[ \t](?:is|was|will[ \t]be|has[ \t]been|to|as|ist|lautet|es|[—–-])(?!\w)"
    r"|['’]s\b|(?<=salasana)[ \t]on\b|是|は)"
    r"(?:[ \t](?:now|still|just|currently|(?:re)?set[ \t]to|changed[ \t]to))?"
    r":?\s{0,4}\*{0,2}\s{0,2}",
    re.IGNORECASE,
)
_BARE = r"""(?:[^\s"'`,;，；。<]|[,<](?![/\s]))"""
_GIVEN = re.compile(
    r"""\\"([^"\\\n]{1,200})\\"|"((?:[^"\\\n]|\\.){1,200})"|'((?:[^'\\\n]|\\.){1,200})'"""
    r"""|`([^`\n]{1,200})`|“([^”\n]{1,200})”"""
    rf"""|\\?["'`“]?(?P<bare>{_BARE}{{1,80}})"""
)
_RUN = re.compile(rf"{_BARE}*+")
_AFTER = ".,;:)]}*\\"  # belongs to the sentence, not to the secret
_DIGIT = re.compile(r"[0-9]")
_SIGN = re.compile(r"[@#$%^&!?]")
_CHANGE = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")

_INSTEAD = re.compile(
    r"\[redacted:|<|\{\{|[{\[(][\w .!-]{0,80}[}\])]?\Z"  # templates
    r"|\$[({]|(?-i:\$[A-Z_]{2})|%[(s]|\*{3}|…|\.{3}"
    r"|(?P<same>.)(?P=same)*\Z"  # xxxx
    r"|os\.|env\b|environ|getenv|process\.|import\.meta|[\w.:]{1,60}[(\[]"  # code that fetches it
    r"|(?:self|this|args|config|cfg|settings|request|req|var|user|data|secrets|local|module|st)\.\w"
    r"|(?:cls|user[0-9]|options|opts|params|form|ctx|context|state|props|event|input|body)\.[a-z_]"
    r"|\$[a-z_]{1,40}(?:->|::|[.,;:)\]}]*\Z)|\$_[a-z]|@[a-z_]{0,20}(?:pass|token)\w{0,20}\Z|#\{|%env"
    r"|(?:arn|vault|env):[\w/.]|(?:op|ssm|file):/"  # where it is stored
    r"|!(?:vault|ref|sub|secret|getatt|env|include|join)\b"
    r"|&(?:\[|'|mut\b|str\b)|\w{1,40}<[\w<>,&:. ]{1,60}>\Z"  # types
    r"|\[\^?[^\s\]]{1,60}\][+*?{]|\^[(\[\\.]|\(\?"  # patterns
    r"|(?:your|my|some|insert|enter|example|dummy|placeholder)[_ -]"
    r"|your_?password[0-9]?\Z|(?:example|expected)[0-9]?\Z|x{4,}[0-9-]{0,3}\Z"
    r"|[\w.+-]{1,64}@[\w-]{1,63}\.[a-z]{2,10}\Z|[a-z][a-z0-9+]{1,12}://"  # addresses
    r"|\.{0,2}/|~/|\d{4}-\d\d-\d\d"  # paths and dates
    r"|\w{1,40}\.(?:py|js|ts|md|txt|json|ya?ml|toml|env|sh|go|rs|html?|com|org|net|io)\b",
    re.IGNORECASE,
)
# Validation rules: `required|min:8`, `min:8`.
_RULES = re.compile(
    r"(?:(?:[a-z_]{2,30}(?::[^|\s]{1,60})?\|){0,12}(?:required|nullable|sometimes|string|confirmed"
    r"|bail|present|filled|uuid|(?:min|max|size|between|same|unique|exists|regex|required_[a-z]{2,20})"
    r":[^|\s]{1,60})(?:\|[a-z_]{2,30}(?::[^|\s]{1,60})?){0,12})"
)
# A class: Ed25519PrivateKey, OAuth2Token. Two of its parts are words.
_TYPE = re.compile(
    r"(?:[a-z_]\w{0,40}\.){0,5}+(?=\w{0,60}[A-Z][a-z]{2}\w{0,60}[A-Z][a-z]{2})"
    r"(?:[A-Z]{1,5}[a-z]{1,30}[0-9]{0,5}|[A-Z]{1,5}[0-9]{1,5}){2,8}+"
)
# `token_prefix`, `password_last_used`: something about a secret.
_ABOUT = re.compile(
    r"\w*[_-](?:prefix|suffix|time|at|used|count|len|length|size|limit|name|field|label|policy"
    r"|type|pattern|regex|expiry|expires|ttl|placeholder|source|title|description|help|format)",
    re.IGNORECASE,
)
_ORDINARY = frozenset(
    """none null nil true false undefined str string text int integer bool boolean bytes float any
    object optional required password passwd secret token apikey api_key changeme change-me
    change_me changeit todo tbd n/a empty hidden unknown missing invalid incorrect wrong
    expired revoked reset strong weak important redacted example placeholder yes no default
    file bearer basic access refresh username email number varchar hash hashed encrypted
    plaintext plain bcrypt""".split()
)
_TALK = re.compile(
    r"\b(?:must|should|be|is|are|your|the|please|enter|at|least|not|invalid|incorrect|required"
    r"|forgot|reset|an?|to|for|of)\b",
    re.IGNORECASE,
)
# Words with a digit that are not secrets: sha256, 12-character, 2nd.
_TERM = re.compile(
    r"(?:sha|md|hs|rs|es|ps|aes|rsa|base|utf|argon|oauth|pbkdf|scrypt|http|ipv?|web|win"
    r"|mp|python|wpa|nist|iso|v|u?int|float|bytes"
    r"|level|step|page|version|chapter)[-_ ]?[0-9]{1,5}(?:[-_/.]?[a-z0-9]{0,4})"
    r"|[0-9]{1,4}(?:-?[a-z]{1,3}|[-/+][a-z]{1,20}|characters?|digits?|letters?|words?|bits?)",
    re.IGNORECASE,
)


def find_named_values(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of the values of `password: …`, `API_KEY=…` and the like."""
    at = 0
    for named in _find_names(text):
        if named.start() < at:
            continue
        at = named.end("name")  # a value may itself be a name: `password: token: …`
        given = _GIVEN.match(text, named.end())
        if given is None or text.endswith("redacted:", 0, named.start()):
            continue
        if named["about"] and _ABOUT.fullmatch(named["about"]):
            continue
        name = named["name"].lower()
        if name == "secret" and text[named.start() - 1 : named.end("name") + 1] == ":secret:":
            continue  # a path: arn:aws:secretsmanager:…:secret:NAME
        kind = next((kind for kind, words in NAMES.items() if name in words), "secret")
        start, end = given.span(given.lastindex or 0)
        if not _is_secret(kind, text[start:end], quoted=given["bare"] is None):
            continue
        if given["bare"] is not None and (rest := _RUN.match(text, end)):
            end = rest.end()
        at = start + len(text[start:end].rstrip(_AFTER))
        yield start, at, kind


def _find_names(text: str) -> Iterator[re.Match[str]]:
    """Yield every match of `_NAMED`, also those inside others, in order.

    Takes linear time: the text is searched for each root once, and a name is only tried near one.
    """
    at = 0
    if not text.isascii():  # lowercasing may move characters
        while named := _NAMED.search(text, at):
            yield named
            at = named.start() + 1
        return
    lowered = text.lower()
    for root in merge(*(_find_all(lowered, word) for word in ROOTS)):
        for start in range(max(at, root - _LONGEST_NAME), root + 1):
            if named := _NAMED.match(text, start):
                yield named
        at = root + 1


def _find_all(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _is_secret(kind: str, value: str, *, quoted: bool) -> bool:
    """Return whether the value after a name is a secret, and not ordinary text."""
    core = value.strip(_AFTER + "!? ")
    if len(core) < 4 or core.lower() in _ORDINARY:
        return False
    if _INSTEAD.match(value.lstrip()) or _TERM.fullmatch(core) or _RULES.fullmatch(core):
        return False
    has_digit, has_sign = _DIGIT.search(core), _SIGN.search(core)
    if kind != "password":  # random: letters and digits alternate, or there is a sign
        if len(core) < 8 or " " in core or _TYPE.fullmatch(core):
            return False
        return len(_CHANGE.findall(core)) > 1 or bool(has_digit and has_sign)
    if quoted and not _TALK.search(core):
        return True
    if " " in core:
        return False
    # As people choose them: a number, or letters with digits or signs.
    return core.isdecimal() or (any(map(str.isalpha, core)) and bool(has_digit or has_sign))

"""What people tell an assistant that is of no interest later: status, errors, suppositions.

Used only in conversations with an assistant: between people, "I might move" is news.
"""

from __future__ import annotations

import re

_END = (
    r"(?: (?:now|again|here|locally|today|so far|fine|ok|as well|too|anymore|"
    r"on my (?:machine|end)|lol))*[.! ]*$"
)
_ADVERBS = r"(?:(?:now|still|all|again|just|finally|also|already|then|currently|both|even) )*"
_BE = r"(?:(?:is|are|was|were|'s|'re|looks?|stays?|went|turned) )?"
_CHECKED = (
    r"(?:(?:all|both|some|most|the|these|those|our|my|every|each|\d+|two|three|of|other|new|unit|"
    r"integration|existing|whole|full|test|ci|nightly) )*"
    r"(?:tests?|checks?|suite|build|builds|pipeline|ci|linter|lint|typecheck|type checker|mypy|"
    r"ruff|"
    r"eslint|compiler|workflow|jobs?|deploy|deployment|"
    r"migration|release|script|run|command|server|everything|it|all|that|this)"
)
_OUTCOME = (
    r"(?:pass(?:es|ed|ing)?|fail(?:s|ed|ing)?|green|red|broken|happy|clean|works?|worked|working|"
    r"compiles?|compiled|builds?|built|runs?|ran|crashes|crashed|crashing|succeed(?:s|ed)?|good|"
    r"done|"
    r"fine|running|not working|(?:doesn't|didn't|don't|does not|did not|won't) (?:work|compile|"
    r"build|run|"
    r"pass|help))"
)
_CLAUSE = rf"(?:and |but )?{_CHECKED} {_BE}{_ADVERBS}{_OUTCOME}"
_OUTCOMES = re.compile(
    rf"(?:ok |okay |great |done |so |yes |now |and ){{0,2}}{_CLAUSE}"
    rf"(?:(?: now| again)?,? and {_CLAUSE}){{0,2}}{_END}",
    re.I,
)
"""The outcome of a run, and nothing else: "The tests fail on Windows" says more."""
_BARE = re.compile(
    rf"(?:ok |so |and |but )?(?:still|now|all|again|back to) {_ADVERBS}"
    rf"(?:failing|broken|green|red|good|not working|passing|the same|stuck|running|"
    rf"square one){_END}",
    re.I,
)
_COUNTS = re.compile(
    r"\d+ (?:passed|failed|skipped|errors?|warnings?|files? changed|insertions?|deletions?|"
    r"tests? (?:passed|failed))\b"
    r"|there(?:'s| is| are) (?:still |only |now )*(?:\w+ )?(?:failing|broken|red|flaky) tests?\b",
    re.I,
)
_RUN = r"(?:tests?|suite|build|script|linter|server|app|program|command|pipeline|code|migration)"
_IT = (
    r"(?: (?:it|that|this|these|those|them|both)(?=[.,!]|$| again| now| out| and)|"
    r" your\b| again\b|[.!]*$)"
)
_STEP = re.compile(
    rf"(?:i|we)(?:'ve|'m|'re| have| am| are)? {_ADVERBS}"
    r"(?:(?:pushed|restarted|rebooted|re-?ran|merged|committed|pulled|rebased|reverted|reloaded|"
    rf"refreshed)(?:{_IT}| (?:the|a)\b)"
    rf"|(?:ran|run|running|started|tested|testing) (?:the |all |our |my |your |unit |"
    rf"whole ){{0,2}}{_RUN}\b"
    r"|(?:ran|running|tried|trying|checked|checking|saved|copied|pasted|opened|closed|uploaded|"
    r"updated|edited|changed|modified|looking at|testing|reading|debugging|working on|"
    rf"waiting for|stuck (?:on|with)|done with|going through){_IT}"
    r"|(?:looking at|checking|reading|debugging|waiting for|going through) the\b"
    r"|ran .{1,40} (?:and|but) (?:it|that|everything) (?:worked|works|failed|fails|helped)\b"
    r"|merged [\w/-]+ into\b|(?:deleted|removed|overwrote|broke) (?:it|that|"
    r"the \w+) by (?:mistake|accident)"
    r"|trying to (?:fix|run|debug|install|build|compile|reproduce|set up|deploy|parse|understand|"
    r"figure|get (?:this|the|it|that|my))\b)",
    re.I,
)
"""A step of the work at hand."""
_BARE_OBJECT = re.compile(
    r"(?:the|your|that|this|these|those|all|both|it|them|everything)"
    r"(?: (?:\w+ )?(?:files?|code|tests?|function|script|document|changes?|page|config|class|"
    r"module|readme|fix|pr|branch|it))?(?: accordingly| for you| as requested| as well|"
    r" too)?[.!]*$",
    re.I,
)
_DONE = re.compile(
    r"(?:i|we)(?:'ve| have)? (?:now |just |also )?(?:updated|created|edited|changed|modified|fixed|"
    r"added|removed|deleted|implemented|written|wrote|saved|merged|committed|pushed|finished|"
    r"completed|renamed|refactored|cleaned up)\b ?",
    re.I,
)
_PASSIVE = re.compile(
    r"(?:the|your|that|this|all|both) (?:[\w.`/-]+ ){0,3}?(?:has|have) been (?:\w+ly )?\w+ed"
    r"(?: successfully)?[.!]*$",
    re.I,
)
_ERROR = re.compile(
    r"(?:i|we)(?:'m| am|'re| are)? (?:now |still |just |keep |always )*(?:got|get|getting|see|"
    r"seeing|"
    r"having|had|have) (?:an?|the|this|that|these|another|some|the same|no|lots of)? ?"
    r"(?:[\w'`-]+ ){0,3}?(?:errors?|exceptions?|\d{3}|failures?|warnings?|traceback|stack trace|"
    r"timeouts?|"
    r"(?-i:[A-Z]\w{0,60}(?:Error|Exception)))\b"
    r"|.{0,40}\b(?-i:[A-Z]\w{0,60}(?:Error|Exception)|Traceback)\b:?"
    r"|(?=.{0,80}\bline \d)(?=.*\b(?:errors?|bugs?|loop|typo|wrong|missing|fails?|crash\w*|"
    r"off by one|"
    r"code|function|variable|semicolon|bracket)\b)"
    r"|here(?:'s| is| are) (?:the|my|some) (?:\w+ )?(?:log|logs|code|output|error|file|diff|trace|"
    r"traceback|snippet|link|config|screenshot)\b",
    re.I,
)
_POINTING = re.compile(
    r"the \w+ (?:above|below|here)\b|(?:that|this) (?:variable|function|loop|line|test|error|"
    r"method|class|import|file|code|bug|"
    r"value|branch|part|one)\b|.{0,80}\bshould (?:return|be|raise|print|have)\b.{0,40}\b(?:there|"
    r"here)"
    r"[.!]*$",
    re.I,
)
"""About a place in the code on the screen."""
_SUPPOSED = re.compile(
    r"(?:(?:and|but|so|then|what) )?"
    r"(?:if (?:i|we|you|it|they|he|she)(?:'d| had| were| was| could| did| would| ever| \w+ed)\b|"
    r"suppos(?:e|ing)\b|imagine\b|let's (?:say|assume|pretend)\b|say (?:i|we)\b|assuming\b|"
    r"it(?:'d| would) be (?:nice|great|good|cool|better|fun|interesting)\b|"
    r"(?:maybe|perhaps) (?:i|we|it|you)\b|"
    r"(?:i|we)(?: (?:think|guess|suppose))?(?: (?:i|we))? (?:might|may|could)\b|i wish\b|"
    r"in theory\b|(?:i|we)(?:'m| was| were| am|'re) thinking (?:i|we) \w+|"
    r"i(?:'d| would) love to (?:see|hear|know) (?:that|it|this|more)\b|"
    r"(?:not sure|unsure|no idea|i have no idea|i wonder|i'm wondering|i'm not sure|i don't know|"
    r"who knows)\b)",
    re.I,
)
_UNDECIDED = re.compile(
    r"\b(?:haven't|hasn't|have not|has not|can't|cannot|could not|couldn't|not|never|yet to|to be|"
    r"still) (?:really |yet |quite |fully |be )?(?:decided?|agreed?|settled|chosen|choose|"
    r"deciding)\b",
    re.I,
)
_DOWN = re.compile(
    r"[\w' -]{1,40} (?:is|are|was|were)(?: still| currently)? (?:down|offline|unreachable|back up|"
    r"back online|flaky)(?: again| today| now| at the moment)*[.!]*$",
    re.I,
)
_FINISHED = re.compile(
    r"[\w' `./-]{1,60} (?:has |have |is |are |was |were )?(?:now )?(?:completed|finished|succeeded|"
    r"ran|done|complete)(?: successfully| without (?:any )?errors?)?[.!]*$",
    re.I,
)
_ASKS_HELP = re.compile(
    r"i(?:'d| would)? (?:just |really |also |still )?(?:need|want|have|could use|like) "
    r"(?:some |your |a little |a bit of |a quick |another )?(?:help|questions?|an? question|"
    r"advice)\b"
    r"|(?:i|we) forgot to (?:save|push|commit|add|attach|include|mention|run)\b"
    r"|(?:i|we) should (?:probably|maybe|perhaps|really)\b",
    re.I,
)
_AWAY = re.compile(r"(?:i'll|i will|i'm|be|brb|back) ?(?:be )?(?:right )?(?:back|afk|gone)\b", re.I)
_WANTED = re.compile(
    r"i (?:just |only |really )?(?:need|want|would like|'d like) "
    r"(?:(?:an?|some|the|this|that) (?:\w+ ){1,4}?(?:that|which|to|for|with)\b|"
    r"to (?:see|know|understand|check|find out|test)\b|it\b|this\b|that\b)",
    re.I,
)
"""A request for what the assistant is to make or show now."""
_LAUGHS = re.compile(r"(?:lol|lmao|haha\w*|rofl|omg)\b|.*\b(?:lol|lmao|haha)[.!]*$", re.I)
_REPORTS = re.compile(r"(?:people|they|some|many|everyone|everybody) (?:say|think|claim)s?\b", re.I)

_ALWAYS = (_OUTCOMES, _BARE, _COUNTS, _PASSIVE, _DOWN, _AWAY, _LAUGHS, _REPORTS)
_UNLESS_REVEALING = (_STEP, _ERROR, _POINTING, _SUPPOSED, _WANTED, _ASKS_HELP)
_REVEALS = re.compile(r"\b(?:my|mine|since|because|but|I've|I'm|I am|I was|I have|I do)\b")
"""After a supposition or a wish, these often tell a fact: "I need a lamp for my balcony"."""


def is_noise(sentence: str, *, by_assistant: bool) -> bool:
    """Whether a sentence, without its lead, tells only about the moment."""
    if any(pattern.match(sentence) for pattern in _ALWAYS):
        return True
    for pattern in _UNLESS_REVEALING:
        found = pattern.match(sentence)
        if found and (by_assistant or not _REVEALS.search(sentence, found.end())):
            return True
    if _UNDECIDED.search(sentence) and not _REVEALS.search(sentence):
        return True
    if by_assistant and _FINISHED.match(sentence):
        return True
    done = _DONE.match(sentence)
    return done is not None and _BARE_OBJECT.match(sentence, done.end()) is not None

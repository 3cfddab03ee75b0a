"""Patterns that show what a sentence is worth. English; see also `other_languages`."""

from __future__ import annotations

import re


def _compile_any(*forms: str) -> re.Pattern[str]:
    """Compile a pattern for any of the forms as whole words."""
    return re.compile(rf"\b(?:{'|'.join(forms)})(?!\w)", re.I)


LEADS = re.compile(
    r"(?:(?:yeah|yep|yup|yes|nah|oh|wow|aww?|haha|hah|hmm+|well|ok|okay|so|anyway|btw|by the way|"
    r"but anyway|and by the way|"
    r"oh and|also|plus|and|but|sure|right|thanks|"
    r"thank you|thx|nope|no|hey|hi|hello|absolutely|definitely|totally|exactly|true|honestly|"
    r"actually|"
    r"actually yeah|of course|"
    r"for sure|you're right|i see|cool|great|nice|awesome|amazing|sounds good|to be honest|"
    r"as you know|"
    r"like i said|fyi|please|"
    r"unfortunately|luckily|sadly|guess what)(?:,? (?-i:[A-Z][a-z]+))?(?:[,!:;–—-]+|\.{2,}|"
    r" -)\s+)+",
    re.I,
)
"""Interjections before a statement."""
ASIDES = re.compile(
    r"(?:(?:btw|by the way|fyi|ok|okay|alright|fine|so|anyway|also|one more thing|another thing|"
    r"just so you know|as agreed|as discussed|good news|update|quick note|side note)(?:[,:;–—-]+ |"
    r" ))+"
    r"(?=[\w`])",
    re.I,
)
"""Further words before a statement to an assistant, with a comma or without."""
TELLS = re.compile(
    r"^(?:i )?(?:also |just )?(?:wanted|want|have) to (?:let you know|tell you|say|"
    r"share)(?: that)?,? (?=(?:I|I'm|"
    r"I've|my|we|we're)\b)",
    re.I,
)
REMINDS = re.compile(
    r"^(?:reminds|makes|helps|keeps|gives|feels) (?=me\b|us\b|you\b|like\b|so\b|good\b|great\b)",
    re.I,
)
"""A sentence whose "it" was left out."""
INSTRUCTION = re.compile(
    r"(?:(?:please|pls|also|and|hey|ok|so)[,:]? )*"
    r"(?:(?:can|could|would) you )?(?:please )?"
    r"(?:(?:do )?remember(?: that| this:?|:| -)|(?:take |make )?(?:a )?note(?: that| to self:?|"
    r" down that|:)|note:|"
    r"don't (?:ever )?forget(?: that|:)?|never forget that|keep in mind(?: that|:)?|"
    r"bear in mind that|for (?:the|"
    r"your) record[,:]?|"
    r"(?:save|store|memorize|memorise)(?: this| that| the fact that)?:|for future reference[,:]|"
    r"fyi[,:]|important:|"
    r"remember,?(?= (?:i|my|we|our|the|to|not|never|always)\b)|"
    r"(?:from now on|going forward)[,:]?)\s+",
    re.I,
)
RULE = re.compile(
    r"(?:please )?(?:(?:always|never|do not|don't|only) (?:use|write|answer|call|add|put|commit|"
    r"push|run|format|"
    r"reply|include|"
    r"suggest|touch|change|delete|ask|show|send|mention|assume)|please (?:use|call me|answer|"
    r"write|reply|keep|"
    r"stop|avoid|don't)|use .{1,60}?(?:,? not|instead of|rather than|,? never))\b",
    re.I,
)
"""A standing instruction to an agent."""
STANDING = re.compile(
    r"(?:(?:please|pls|just|and|you should|you must|i want you to|i'd like you to) )*(?:"
    r"be (?:more |very |a bit |as )?(?:brief|concise|short|polite|formal|informal|casual|direct|"
    r"honest|terse|friendly|strict|careful|critical|specific|patient|kind|precise|thorough|"
    r"less \w+)\b"
    r"|(?:answer|reply|respond|write|talk|speak|explain)(?: to me| everything|"
    r" it)? in (?-i:[A-Z]\w+)"
    r"|keep (?:your |the |all |my )?(?:answers?|replies|reply|responses?|explanations?|messages?|"
    r"commits?|comments?|functions?|lines?|files?|variables?|names?|keywords|it short|"
    r"things short)\b"
    r"|(?:stop|avoid|quit) \w+ing\b(?!.*\b(?:the|this|that|my)\b)"
    r"|(?:use|prefer|avoid) (?!.*\b(?:the|this|that|my|these|those|it|here|now)\b)"
    r"(?:\w+ ){1,4}(?:everywhere|only|by default|for indentation|for all \w+|in all \w+|spelling|"
    r"instead)\b"
    r"|(?:use|write|put|name|format|sort|wrap|start|end|prefix|indent|avoid|prefer)"
    r"(?!.*\b(?:the|this|that|my|these|those|it|an?|here|now|me)\b) (?:\w+ ){0,3}?"
    r"(?:messages?|names|titles|comments|docs|docstrings|variables|functions|dates|numbers|strings|"
    r"keywords|imports|commits|branches|lines|units|tabs|spaces|quotes|words|times|prices)\b"
    r"(?: (?:in|with|as|at|by|like|for|over)\b|[.!]*$)"
    r"|no (?!one\b|idea|problem|worries|need|way|longer|matter|doubt|thanks|wonder|more than)"
    r"(?:[\w'-]+ ){1,4}?(?:in|on|at|after|before|without|please)\b"
    r"|(?:[\w'-]+ ){1,4}only,? please\b"
    r"|(?=[a-z]+ )(?!i |we |my |our |the |it |they |he |she |that |this |there )"
    r"(?=.*\b(?:always|never|from now on|going forward|in (?:the )?future|every time|each time|"
    r"whenever|at all times|before (?:committing|pushing|merging|deploying|deleting))\b)"
    r"(?:always|never|make sure|use|write|answer|reply|respond|explain|show|ask|run|add|include|"
    r"check|keep|call|format|tell|give|start|put|remember|do|don't|avoid|test)\b"
    r"|when(?:ever)? you \w+[^,]{0,60}, (?:please |always |never |don't )*[a-z]+ )",
    re.I,
)
"""A way of working that holds for more than the task at hand."""
CORRECTION = re.compile(
    r"(?:(?:no|nope|sorry|oops|wait|ah|hmm|well)[,.!:; –—-]+)*"
    r"(?:i (?:actually |really )?(?:meant|mean)(?: to say)?[,:]? |correction:? |"
    r"i misspoke[,:;.]? |(?:let me|"
    r"to) correct (?:that|myself)[,:]? |"
    r"actually[,:]? (?=(?:(?:it|that|there|he|she|they)(?:'s|'re| is| was| are| were)|(?:the|my|"
    r"our|his|"
    r"her) [\w ]{1,40}? (?:is|was|are|were))\b)|that's (?:wrong|not right|incorrect)[,:;.]? |"
    r"scratch that[,:;.]? |it's not \w+[, ]+it's )",
    re.I,
)
STRICT_CORRECTION = re.compile(
    r"\b(?:meant|i mean|correction|misspoke|correct (?:that|myself)|wrong|not right|incorrect|"
    r"scratch that)\b|^no\b",
    re.I,
)

_CHOOSING = (
    r"(?:(?:not |just |rather )?(?:use|go (?:with|for)|stick (?:with|to)|switch to|keep|adopt|drop|"
    r"skip|avoid|name|call|settle on|stay with|move to|do the|make the|have the|hold the|meet|"
    r"split|store|deploy|"
    r"ship|release)(?= [\w`])(?! (?:that|this|them|going|in mind)\b)(?! it(?! as\b|"
    r" (?-i:[A-Z`'\"]))))"
)
"""What follows "let's" in a decision; "let's see" is none."""
DECISION = _compile_any(
    r"decided",
    r"decision",
    r"final answer",
    r"(?:we|i)(?:'ll| will) (?:keep|stay with|drop|skip|adopt|name it|call it)",
    r"we(?:'ll| will) (?:write|build|host|deploy|ship|launch|move|migrate|store|support)",
    r"(?:we|i)(?:'re|'m| are| am) not (?:going to|gonna)",
    r"(?:we|i)(?:'re|'m| are| am) (?:going to|gonna) (?:go with|use|switch to|drop|stick|keep|"
    r"adopt)",
    r"(?:chose|voted (?:for|to)|opted)",
    r"(?:we|i) should (?:just |simply |probably )?(?:use|go with|stick (?:with|to)|switch to)",
    r"approved the",
    r"^(?:going|sticking) with",
    r"^[\w`][\w .+#/`-]{1,40}(?<! as)(?<! what)(?<! how)(?<! that) it is(?=[.!]*$)",
    r"(?:we|i) (?:chose|picked|agreed|settled)",
    r"(?:we|i)(?:'ll| will) (?:use|go with|stick with|switch to)",
    r"(?:we|i)(?:'re|'m| are| am) going with",
    r"settled on",
    r"opted (?:for|to)",
    r"(?:we|i)(?:'re| are|'m| am) (?:switching|moving|migrating) to",
    r"agreed (?:to|on|that)",
    r"made up my mind",
    rf"let's {_CHOOSING}",
    r"made the (?:choice|decision)",
)
PASSING = re.compile(
    rf"let's {_CHOOSING}|we(?:'ll| will) |(?:going|sticking) with|.{{2,42}} it is[.!]*$", re.I
)
"""A decision said in passing, which is short and begins like small talk."""
PREFERENCE = _compile_any(
    r"prefer(?:red|s)?",
    r"favou?rites?",
    r"fave?s?",
    r"i(?: (?:really|also|just|absolutely|still|do|truly|always))* (?:like|love|hate|dislike|"
    r"enjoy|adore)",
    r"(?:we|i)(?:'d| would) (?:love|like|rather|prefer)",
    r"i (?:don't|do not|can't) (?:like|stand|want|enjoy|care for)",
    r"i'm (?:\w+ )?(?:a fan of|into|keen on|fond of|allergic to|passionate about|obsessed with)",
    r"my (?:top )?pick",
    r"my passion",
    r"i want",
    r"can't live without",
    r"my go-to",
    r"i(?:'m| am) (?:\w+ )?(?:vegetarian|vegan)",
)
INSIGHT = _compile_any(
    r"(?:i|we)(?:'ve| have)? (?:\w+ )?(?:learned|learnt|realized|realised|noticed|discovered|"
    r"figured out|found out)",
    r"turn(?:s|ed) out",
    r"taught me",
    r"lesson",
    r"made me realize",
    r"the reason",
    r"root cause",
    r"reminds? me",
    r"helped me (?:see|understand)",
)
EVENT = _compile_any(
    r"(?:i|we)(?:'ve| have|'d| had)?(?: (?:just|also|even|finally|recently|already|really|once|"
    r"\w+ly))? (?:been|"
    r"had|went|got|made|took|met|saw|found|lost|won|bought|set|put|helped|started|felt|"
    r"gave|did|ran|came|wrote|built|taught|told|spent|read|heard|left|kept|used to|thought|knew|"
    r"chose|grew|began|"
    r"fell|held|sold|sent|\w{2,}ed)",
    r"(?:i|we)(?:'m| am|'re| are) (?:\w+ )?(?:working|planning|learning|studying|training|"
    r"preparing|looking for|"
    r"trying|starting|living|moving|going to|thinking (?:of|about)|writing|building|saving)",
)
"""What happened to the speakers, or what they are doing."""
LIFE = _compile_any(
    r"job|work(?:ed|ing)?|boss|career|business|company|project|school|college|degree|university|"
    r"class(?:es)?|"
    r"course|exam|study(?:ing)?",
    r"mom|mum|mother|dad|father|parents?|brother|sister|wife|husband|partner|kids?|son|daughter|"
    r"family|friends?|"
    r"girlfriend|boyfriend|dog|cat|pets?|baby",
    r"moved|moving|live|lived|lives|born|married|wedding|engaged|divorced|birthday|anniversary|"
    r"house|home|"
    r"apartment|car|trip|travel(?:l?ing|l?ed)?|visit(?:ed|ing)?|vacation|flight",
    r"bought|started|finished|joined|attended|signed up|volunteer(?:ed|ing)?|won|lost|built|made|"
    r"wrote|painted|"
    r"adopted|launched|opened|got|took|met|went|goals?|dream",
    r"hobby|hobbies|music|band|guitar|piano|paint(?:ing)?|books?|reading|games?|movies?|"
    r"cook(?:ing)?|recipe|"
    r"hik(?:e|ing)|run(?:ning)?|gym|yoga|camping|garden|team|tournament",
    r"allerg(?:y|ic)|doctor|diagnosed|surgery|health|therapy|injury|medication|diet",
    r"deadline|meeting|appointment|budget|salary|address|phone|email|password|plan(?:s|ning|ned)?",
)
TASK = re.compile(
    r"(?:now |then |please |also |ok |next )*(?:write|give|make|create|explain|show|list|tell|"
    r"help|generate|"
    r"summari[sz]e|translate|fix|add|"
    r"find|suggest|rewrite|draft|act|imagine|provide|describe|compare|recommend|let|predict|"
    r"convert|refactor|"
    r"implement|check|look|"
    r"search|run|open|read|update|change|remove|delete|rename|continue|go|try|do|design|build|"
    r"plan|calculate|"
    r"answer|analy[sz]e|"
    r"review|edit|pretend|think|consider|put|send|include|feel free|i(?:'d like| want| need|"
    r" would like) you to)\b(?! (?:is|was|are)\b)",
    re.I,
)
"""A task for the assistant: of no interest once it is done."""
PROPOSAL = re.compile(rf"let's\b(?! {_CHOOSING})|let us\b", re.I)
CHAT = re.compile(
    r"(?:(?:hey|hi|hello|yo|good (?:morning|evening|afternoon|to (?:see|hear))|great to (?:see|"
    r"hear)|"
    r"nice to (?:see|hear|meet)|long time|what's up|"
    r"how(?:'s| are| have| is) |thanks?\b|thank you|thx|no (?:worries|problem)|you're (?:welcome|"
    r"right|so|the|an?|"
    r"doing|awesome|amazing)|welcome|bye|goodbye|see you|see ya|"
    r"take care|talk (?:to you )?(?:soon|later)|good luck|best of luck|congrats|congratulations|"
    r"cheers|have (?:a|"
    r"fun)|enjoy|keep (?:it|up|going|me|pushing|in)|"
    r"let me know|(?:so |really |very )?(?:glad|happy|sorry|nice|good|great) to (?:hear|know)|"
    r"(?:i'm )?(?:so |"
    r"really )?(?:glad|happy|proud|sorry|excited|stoked) (?:to hear|for you|you|of you)|sounds?\b|"
    r"that(?:'s| is| was| must| sounds| looks| would)|this is|it(?:'s| is) (?:so |really |always |"
    r"all |"
    r"been )?(?:great|awesome|amazing|nice|cool|good|true|fun)|"
    r"what an?\b|how (?:\w+)[!.]|looks\b|wow|awesome|cool|nice|amazing|absolutely|definitely|"
    r"totally|sure|yeah|"
    r"yep|of course|exactly|"
    r"i (?:totally |completely |can |really )?(?:agree|hear you|get (?:it|that|you)|see|"
    r"understand|bet|hope (?:so|"
    r"you|it|that))|i'm (?:here for you|sure (?:you|it))|can't wait|"
    r"(?:i )?(?:really )?appreciate (?:it|that|you|your|the)|hope\b|wishing|check (?:it|this|them|"
    r"'em|out)|"
    r"(?:take a )?look at|here's (?:a|the|my|some|one|an)|let's|we (?:can|got|both|make)|"
    r"we're (?:both|in)|we'll|"
    r"i'm (?:always )?(?:here|rooting)|i believe in|i'll (?:keep|let|check|definitely|do|always|"
    r"make sure|try)|"
    r"i won't|i'm gonna (?:make it|keep|do|give it)|just (?:remember|keep)|believe in|"
    r"stay\b|don't (?:give|worry|forget)|remember\b|go for it|you (?:got|can|should|deserve|must|"
    r"have)|you'll|"
    r"you've|your|feel free|keep|nothing|whenever you|if i need|tell me|i just wanted to (?:say|"
    r"check)|(?:that|those|these|this|"
    r"the) \w+ (?:is|are|looks?|was) (?:so|really|amazing|awesome|great|beautiful|adorable|"
    r"gorgeous|cute|"
    r"stunning)|if you|i can imagine|i (?:really |just |also |do )?(?:love|like|enjoy) (?:it|that|"
    r"this|them|how|"
    r"your)|i knew you|it (?:must|looks|sounds)|(?:really )?love (?:how|that|your)|way to|"
    r"every step)\b)",
    re.I,
)
"""The beginning of small talk: greetings, thanks, praise, good wishes."""
STATES = re.compile(
    r"^(?:the|our|my|his|her|their|[A-Z`][\w`'.-]+)(?: [\w`'./-]+){0,5}? (?:is|are|was|were|has|"
    r"have|uses?|runs?|"
    r"lives?|costs?|starts?|ends?|listens?|works?|needs?|takes?|expires?)\b",
    re.I,
)
"""A statement about something that is named."""
TELLING = re.compile(
    r"(?!(?:i|i'm|we|we're|you|it|that|this|they|he|she|there|what|how)\b)(?:the|our|my|his|her|"
    r"their|your|all|every|\w+)(?: [\w`'./-]+){0,4}? (?:is|are|has|have|"
    r"closes?|opens?|returns?|hates?|wants?|supports?|requires?|needs?|contains?|knows?|owns?|"
    r"leads?|"
    r"handles?|happens?|deploys?|limits?|expects?|accepts?|allows?|sends?|stores?|reads?|writes?|"
    r"belongs?|depends?|lives?|runs?|uses?|works?|takes?|costs?|starts?|ends?|listens?|expires?)\b",
    re.I,
)
"""Something that is so. What a user tells an assistant about things is mostly meant to be known."""
CONVENTION = re.compile(
    r"(?!(?:i|we|you|it|that|this|they|he|she|there)\b)(?:(?:only|nobody|no one|everyone|everybody|"
    r"every|all|any)\b.{3,}|[\w' -]{2,40}? (?:can't|cannot|must(?: not|n't)?|may not|mustn't|"
    r"always|"
    r"never|has to|have to|needs? to|is not allowed|are not allowed) \w+)",
    re.I,
)
"""What holds for everyone, or who may do what."""
PERSONAL = re.compile(
    r"my \w+(?: \w+)? (?:is|are|has|have|plays?|works?|lives?|loves?|likes?|hates?|wants?|"
    r"studies)\b"
    r"(?! (?:broken|failing|wrong|slow|down|red|green|stuck|not|a mess|terrible|bad))"
    r"|i(?:'m| am) (?:\d{1,3}|[a-z]+-[a-z]+|(?-i:[A-Z])[a-z]+(?:ish|ese|an|ch)|vegan|vegetarian|"
    r"deaf|"
    r"blind|colou?rblind|diabetic|pregnant|married|single|divorced|retired|unemployed)\b"
    r"|i (?:don't|do not|never|always|only|can't|no longer) (?:eat|drink|smoke|drive|use|work|"
    r"travel|"
    r"fly|cook|speak|own|watch|have)\b (?!it|that|this|any idea|time)"
    r"|i (?:speak|study|own|teach|drive|play|collect|manage|maintain) \w",
    re.I,
)
"""A fact about the user, however short."""
HEDGE = _compile_any(
    r"maybe",
    r"perhaps",
    r"might",
    r"not sure",
    r"i guess",
    r"i suppose",
    r"kinda",
    r"if (?:i|you|we)",
)
ANAPHORA = re.compile(
    r"(?:it|it's|that|that's|this|these|those|they|they're|he|she|he's|she's|there|its|his|her|"
    r"them|so|which|then|"
    r"and)\b",
    re.I,
)
"""The beginning of a sentence that refers to the one before."""
QUESTION = re.compile(
    r"(?:(?:so|and|but|oh|hey|well),? )?(?:what|when|where|who|whom|whose|which|why|how)(?:'s|"
    r"'re)? (?:is|are|was|"
    r"were|do|does|did|can|could|should|would|will|"
    r"have|has|about|come|many|much|long|old|often)\b|(?:do|does|did|can|could|would|will|have|"
    r"has|are|is|any|"
    r"got any|wanna) (?:you|your|it|there|we|i|they|the|he|she|that|this)\b",
    re.I,
)
"""A question without a question mark."""
FIGURE = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|"
    r"fifty|hundred|"
    r"thousand|million|dozen|half|twice|percent)\b|[€$£¥%]",
    re.I,
)
TIME = _compile_any(
    r"yesterday|today|tonight|tomorrow|ago|recently|lately",
    r"(?:last|next|this|every|each) (?:week|month|year|night|weekend|summer|winter|spring|fall|"
    r"morning|\w+day)",
    r"january|february|march|april|june|july|august|september|october|november|december|monday|"
    r"tuesday|wednesday|"
    r"thursday|friday|saturday|sunday",
    r"for (?:\w+ )?(?:years|months|weeks)",
    r"since|years old|due|in (?:\w+ )?(?:days|weeks|months|years)",
)
NAME = re.compile(
    r"(?<=[a-z,;:'] )(?:\"[^\"]{2,60}\"|[A-Z][a-z]+(?![a-z']*'(?:m|ve|ll|d)\b)|[A-Z]{2,}\b)"
)
"""A capital inside a sentence, or a title in quotation marks."""
TECHNICAL = re.compile(
    r"`[^`]+`|(?<!\w)(?:~|\.{1,2})?/\w[\w.-]*/[\w./-]+|\b[\w-]{1,60}\.(?:py|js|ts|tsx|go|rs|java|"
    r"c|cpp|h|rb|sh|sql|"
    r"toml|ya?ml|json|md|html|css|lock|cfg|ini|env)\b|"
    r"\b[a-z]+_[a-z_]+\b|\b(?-i:[a-z]+[A-Z])\w+\b|\bv?\d+\.\d+(?:\.\d+)?\b|(?<!\S)--?[a-z][\w-]+|"
    r"\b(?:api|"
    r"database|postgres(?:ql)?|sqlite|redis|docker|python|rust|typescript|"
    r"javascript|react|endpoint|server|port|branch|commit|deploy(?:ment|ed|s)?|test(?:s|ed)?|bug|"
    r"function|class|"
    r"module|repo|library|dependency|migration|schema|"
    r"config|cache|queue|thread|async|linter|build|ci|kubernetes|aws|linux|error|exception|"
    r"timeout|latency)\b",
    re.I,
)
SOURCE = re.compile(
    r"https?://|\b(?:according to|study|studies|paper|et al|survey|report(?:ed|s)?|data|dataset|"
    r"experiment|"
    r"results?|published|found that|shows? that|journal|doi|"
    r"measured|hypothesis|evidence|participants|sample|significant|correlat\w+|cited?|source)\b",
    re.I,
)
FINDING = _compile_any(
    r"root cause|caused by|turns out|the (?:\w+ )?(?:fix|cause|problem|issue|bug|culprit|reason) "
    r"(?:is|was)|which is why",
)
"""What an assistant found out about the cause of something."""
RESULT = _compile_any(
    r"chose|picked|settled on|which is why|the (?:problem|issue|bug|culprit|reason) (?:is|was)",
    r"decided|confirmed|verified|fixed|resolved|created|added|implemented|updated|removed|renamed|"
    r"deployed|merged|"
    r"installed|configured|completed|booked|scheduled|"
    r"the (?:root )?cause (?:is|was)|root cause|turns out|caused by|works now|now works|"
    r"all tests pass|"
    r"tests? (?:now )?pass(?:es|ed)?|the (?:fix|result|answer|total|solution) (?:is|was)|"
    r"found (?:that|the)|done:|we(?:'ll| will) (?:use|go with)|agreed|noted|remember(?:ed)?",
)
"""What an assistant says that is worth storing: what was done, found or agreed."""
OFFER = re.compile(
    r"(?:i (?:can|could|would|'d|may|might|recommend|suggest|hope)|i'd|i'm (?:happy|glad|sorry|"
    r"here)|would you|"
    r"let me|you (?:can|could|may|might|should|need)|here(?:'s| is| are)|"
    r"if you|feel free|to (?:\w+)|sure|of course|great|certainly|try|make sure|consider|please|"
    r"for example|first|"
    r"next|finally|when|once)\b",
    re.I,
)
ACKNOWLEDGES = re.compile(
    r"(?:(?:ok(?:ay)?|sure|alright|understood|got it)[,.!:; –—-]+)*(?:i(?:'ll| will|'ve| have|"
    r" shall| can| also| now| do)*"
    r" (?:now )?(?:remember|note|keep|kept|save|store|record|made a note|make a note)(?:ed|d)?|"
    r"noted|got it|remembered|saved|"
    r"done)\b",
    re.I,
)
"""An assistant confirms what the user said: the user's own words are stored instead."""
TO_READER = re.compile(r"\b(?:you|your|yours|yourself|you're|you'll)\b", re.I)
"""Advice, if an assistant says it."""

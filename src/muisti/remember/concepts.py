"""What a memory is about: paths, identifiers, code and names that it mentions."""

from __future__ import annotations

import re
from collections import Counter

MOST = 12
_READ = 20_000
# Every repetition is bounded: hostile text must not make the search quadratic.
_CONCEPT = re.compile(
    r"`([^`\n]{2,60})`"  # code
    r"|\b((?:[\w.-]{1,60}/){1,12}[\w.-]{0,60}\w)"  # paths
    r"|\b([a-z]\w{0,40}_\w{1,40}|[a-z]{1,30}[A-Z]\w{1,40}|[A-Z][a-z0-9]{1,30}[A-Z]\w{1,40})\b"  # identifiers
    r"|\b(\w{1,60}\.(?:py|js|ts|tsx|go|rs|md|json|toml|ya?ml|sql|sh))\b"  # files
    r"|\b([A-Z]{2,}[A-Z0-9]{0,20})\b"  # abbreviations
    r"|(?<![.!?:]\s)(?<!^)(?<!\n)\b([A-Z][\w+#-]{0,30}[a-z0-9](?:\s[A-Z][\w+#-]{0,30}[a-z0-9]){0,3})\b"  # names
)


def extract_concepts(content: str) -> tuple[str, ...]:
    """At most twelve, the most frequent first, then in the order of the text."""
    found: Counter[str] = Counter()
    for match in _CONCEPT.finditer(content, 0, _READ):
        found[next(group for group in match.groups() if group)] += 1
    return tuple(concept for concept, _ in found.most_common(MOST))

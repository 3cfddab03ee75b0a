"""What the command line and the web page say about items of the review queue."""

from __future__ import annotations

from muisti.model import Link, LinkType


def describe_effect(link: Link, source: str, target: str) -> str:
    """Return what confirming a suggested link does. Source and target: names of the two ends."""
    if link.type is LinkType.SUPERSEDES:
        return f"{target} is marked outdated, replaced by {source}"
    return "the link is stored; both memories stay as they are"


def describe_claim(link: Link) -> str:
    """Return what a suggested link says about its two ends, such as `may contradict`."""
    verbs = {LinkType.SUPERSEDES: "replace", LinkType.CONTRADICTS: "contradict"}
    verb = verbs.get(link.type)
    return f"may {verb}" if verb else f"may be: {link.type.lower().replace('_', ' ')}"

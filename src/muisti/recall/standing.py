"""Choose the standing instructions and preferences that bear on a request. Pure.

"Recommend a restaurant" and "I'm allergic to nuts" have no word in common. So both are assigned
topics by a table of words, and share one. An instruction without a topic, such as "answer in
Finnish", bears on every request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from muisti.model.validity import is_outdated
from muisti.text.standing import Standing, recognize_standing
from muisti.text.tokens import stem, tokenize

if TYPE_CHECKING:
    from muisti.model import Memory

MAX_BROUGHT_UP = 8
"""How many are brought up for one request."""
_TOPICS = {
    "food": """
        eat ate eating food meal cook cooking cooked recipe restaurant dinner lunch breakfast brunch
        snack dessert bake baking cake cookie bread cuisine dish menu drink cocktail wine beer
        coffee tea nut peanut shellfish gluten dairy lactose milk cheese egg soy seafood fish meat
        pork beef chicken vegetarian vegan pescatarian kosher halal sugar diabetic diet cilantro
        spicy ingredient grocery groceries supermarket picnic barbecue bbq potluck catering pizza
        pasta salad soup sushi curry hungry bistro cafe kitchen sandwich chocolate fruit vegetable
        ruoka syö resepti ravintola illallinen lounas liha pähkinä essen rezept restaurant kochen
        fleisch nüsse
        """,
    "travel": """
        travel travelling trip flight fly flying airline airport hotel seat vacation itinerary train
        luggage passport visa destination tour hostel airbnb layover cruise sightseeing abroad
        matka lento hotelli reise flug
        """,
    "code": """
        code coding function class method test python javascript typescript rust java golang sql bug
        refactor implement api endpoint script commit branch merge git repo repository library
        package dependency npm pnpm pip uv docker deploy lint linter type-hints typing annotation
        docstring module variable exception parser regex database schema migration cli backend
        frontend css html component compile inheritance snake_case camelcase pytest mock rebase
        codebase programming async algorithm json yaml sdk webhook koodi funktio testi programm
        """,
    "media": """
        movie film series watch novel read reading author music song album band concert podcast
        playlist game genre tv netflix horror comedy documentary elokuva kirja musiikki
        """,
    "health": """
        exercise workout gym running jog yoga injury knee pain sleep doctor medicine medication
        symptom stretch fitness training therapy sneezing
        """,
    "calendar": """
        meeting calendar schedule appointment invite reschedule availability kokous termin
        """,
    "mail": "email mail inbox newsletter signature recipient subject sähköposti",
    "money": "price cost currency euro dollar tax salary",
    "units": "metric imperial celsius fahrenheit kilometre mile weather temperature convert unit",
    "pets": "cat dog pet animal kitten puppy adopt shelter hamster",
    "clothes": "shoe dress wear clothes jacket outfit leather wool fashion wardrobe",
    "seeing": "colour color chart graph plot palette diagram slide red green",
}
_UNLESS_OTHERS = {
    "food": "allergic allergy intolerance intolerant allerginen allergisch allergie",
    "media": "book",
}
"""These suggest a topic unless another is named: "I'm allergic to cats", "book a flight"."""


def find_topics(text: str) -> frozenset[str]:
    """Return the topics that the words of a text belong to."""
    words = tokenize(text)
    topics = _load_words(sure=True)
    found = frozenset(topics[word] for word in words if word in topics)
    if found:
        return found
    topics = _load_words(sure=False)
    return frozenset(topics[word] for word in words if word in topics)


@cache
def _load_words(*, sure: bool) -> dict[str, str]:
    table = _TOPICS if sure else _UNLESS_OTHERS
    return {stem(word): topic for topic, words in table.items() for word in words.split()}


def is_admissible(memory: Memory, now: datetime) -> bool:
    """Return whether a standing memory may be brought up without a matching word.

    Not if it is outdated. An instruction that no person has confirmed is left out, too: text that
    was imported or extracted must not reach every prompt as an order.
    """
    if is_outdated(memory, now):
        return False
    return memory.trusted or recognize_standing(memory.content) is Standing.PREFERENCE


def choose_bearing(memories: Iterable[Memory], request: str) -> list[Memory]:
    """Return the standing memories that bear on a request: by topic first, then general ones.

    Equal ones: the latest first.
    """
    wanted = find_topics(request)
    by_topic, general = [], []
    for memory in sorted(memories, key=lambda one: (one.created_at, one.id), reverse=True):
        topics = find_topics(memory.content)
        if topics & wanted:
            by_topic.append(memory)
        elif not topics and is_general(memory):
            general.append(memory)
    return [*by_topic, *general][:MAX_BROUGHT_UP]


def is_general(memory: Memory) -> bool:
    """Return whether a standing memory is an instruction, which may bear on every request."""
    return memory.trusted and recognize_standing(memory.content) is Standing.INSTRUCTION


def choose_for_start(memories: Sequence[Memory]) -> list[Memory]:
    """Return the instructions to know before the first request, the latest first."""
    latest = sorted(memories, key=lambda one: (one.created_at, one.id), reverse=True)
    return [memory for memory in latest if is_general(memory)][:MAX_BROUGHT_UP]

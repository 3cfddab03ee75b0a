"""Which standing instructions bear on which requests."""

from __future__ import annotations

import pytest

from muisti.recall.standing import choose_bearing, find_topics
from tests.unit.making import a_memory

STANDING = {
    "food": ("I'm allergic to nuts", "I don't eat pork", "User is vegan"),
    "code": ("Always use type hints", "Use pnpm, not npm", "Tests must not use mocks"),
    "travel": ("I like window seats on long flights", "I never fly with budget airlines"),
    "media": ("I don't like horror movies",),
    "calendar": ("Please don't schedule meetings before 10 am",),
    "pets": ("I'm allergic to cats",),
    "": ("Answer in Finnish", "Address me formally", "Don't use emojis in replies"),
}
"""By topic; the last bear on every request."""
REQUESTS = {
    "food": (
        "Recommend a restaurant for tonight",
        "What should I cook for dinner?",
        "Any tips on what to bake for my colleagues?",
        "I'm planning my meal prep next week, any suggestions for new recipes?",
        "Which snacks can we bring to the picnic?",
        "Suggest a dessert for eight guests",
        "Write a grocery list for the week",
        "Find me a good sushi place",
    ),
    "code": (
        "Write a function that parses dates",
        "Fix the failing test in the parser",
        "Add an endpoint for invoices to the API",
        "Refactor the database module",
        "Which library should we add for charts in Python?",
        "Set up the repository for a new package",
        "Implement retry in the webhook client",
    ),
    "travel": (
        "Book a flight to Oslo",
        "Plan an itinerary for three days in Rome",
        "Which airline goes to Tokyo?",
        "Find a hotel near the station",
    ),
    "media": ("What film should we watch tonight?", "Suggest a series for the weekend"),
    "calendar": ("Find a time for a meeting with Anna", "Reschedule my appointment"),
    "pets": ("Should I adopt a kitten?", "Can we visit the animal shelter?"),
    "": ("Tell me a joke", "What is the capital of Peru?", "Thanks, that was great"),
}


@pytest.mark.parametrize(
    ("topic", "request_"), [(topic, one) for topic, all_ in REQUESTS.items() for one in all_]
)
def test_a_request_brings_up_its_topic_and_general_instructions(topic: str, request_: str) -> None:
    texts = [text for group in STANDING.values() for text in group]
    memories = [a_memory(number, text) for number, text in enumerate(texts)]
    found = {one.content for one in choose_bearing(memories, request_)}
    assert found == {*STANDING[topic], *STANDING[""]}


def test_words_with_other_meanings_have_no_topic() -> None:
    assert find_topics("Tell me about the history of Finland") == frozenset()

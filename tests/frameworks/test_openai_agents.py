"""J8 · A session of the OpenAI Agents SDK: the same results as its SQLiteSession."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agents.memory import Session, SessionSettings
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from agents import SQLiteSession
from muisti import InvalidRequest, Muisti, bootstrap
from muisti.integrations.openai_agents import MuistiSession

from .examples import run_example

TEXTS = st.text(max_size=20) | st.sampled_from(["Hello", "My dog is called Musti.", "", " "])
ITEMS = st.one_of(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "system", "developer"]), "content": TEXTS}
    ),
    st.builds(
        lambda texts: {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []} for text in texts],
        },
        st.lists(TEXTS, max_size=3),
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("function_call"),
            "call_id": st.just("call_1"),
            "name": st.just("look_up"),
            "arguments": st.just('{"query": "dogs"}'),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("function_call_output"), "call_id": st.just("call_1"), "output": TEXTS}
    ),
    st.fixed_dictionaries(
        {"type": st.just("reasoning"), "id": st.just("rs_1"), "summary": st.just([])}
    ),
)
STEPS = st.lists(
    st.tuples(st.just("add_items"), st.lists(ITEMS, max_size=3))
    | st.tuples(st.just("get_items"), st.none() | st.integers(-1, 6))
    | st.tuples(st.sampled_from(["pop_item", "pop_item", "clear_session"])),
    max_size=12,
)


async def run(session: Session, steps: list[tuple[Any, ...]]) -> list[Any]:
    done = [await getattr(session, name)(*arguments) for name, *arguments in steps]
    return [*done, await session.get_items()]


@settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(STEPS)
def test_J8_the_results_are_those_of_the_session_in_sqlite(steps: list[tuple[Any, ...]]) -> None:
    theirs = SQLiteSession("one")
    with bootstrap.open(":memory:", settings={"embedder": "none"}) as memory:
        expected = asyncio.run(run(theirs, steps))
        theirs.close()
        assert asyncio.run(run(MuistiSession("one", memory), steps)) == expected


def test_J8_a_session_is_a_conversation_that_is_searched(opened: Any) -> None:
    items: list[Any] = [
        {"role": "user", "content": "My dog is called Musti."},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "Stored."},
        {"role": "assistant", "type": "message", "content": [{"type": "output_text", "text": "Noted."}]},
    ]  # fmt: skip
    with opened(embedder="none") as memory:
        session = MuistiSession("anna-1", memory, project="pets", user="anna")
        asyncio.run(session.add_items(items))
    with opened(embedder="none") as memory:
        result = memory.search_messages("dog called", user="anna")[0]
        assert result.message is not None
        assert result.message.content == "My dog is called Musti."
        assert (result.message.project, result.message.user) == ("pets", "anna")
        said = [(one.role, one.content) for one in memory.window("openai-agents_anna-1")]
        assert said[1:] == [("assistant", "{}"), ("tool", "Stored."), ("assistant", "Noted.")]
        again = MuistiSession("anna-1", memory, session_settings=SessionSettings(limit=2))
        assert asyncio.run(again.get_items()) == items[-2:]
        assert asyncio.run(again.get_items(4)) == items


def test_J8_messages_of_others_are_items_too(memory: Muisti) -> None:
    memory.append_message("openai-agents_one", "user", "Hello from Telegram")
    session = MuistiSession("one", memory)
    assert asyncio.run(session.get_items()) == [{"role": "user", "content": "Hello from Telegram"}]
    memory.session_break("openai-agents_one")
    assert asyncio.run(session.get_items()) == []


def test_J8_secrets_are_redacted_and_nothing_is_lost(memory: Muisti) -> None:
    session = MuistiSession("one", memory)
    secret = {"type": "function_call_output", "output": "key AKIAIOSFODNN7EXAMPLE", "call_id": "1"}
    asyncio.run(run(session, [("add_items", [secret])]))
    assert "AKIAIOSFODNN7EXAMPLE" not in str(asyncio.run(session.get_items()))
    asyncio.run(session.clear_session())
    assert asyncio.run(session.get_items()) == []
    assert memory.restore_conversation("openai-agents_one").messages == 1
    with pytest.raises(InvalidRequest, match="conversation"):
        MuistiSession("../one", memory)


def test_J8_the_example_runs(vault: Path) -> None:
    assert run_example("openai_agents_session.py", vault.parent) == [
        "I heard: My dog is called Musti.",
        "I heard: My dog is called Musti. What is my dog called?",
        "found: My dog is called Musti.",
    ]

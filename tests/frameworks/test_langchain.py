"""J8 · LangChain's own retriever suite, and a chat history in a conversation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_tests.integration_tests import RetrieversIntegrationTests

from muisti import Muisti, bootstrap
from muisti.integrations.langchain import MuistiChatHistory, MuistiRetriever

from .examples import run_example


class TestJ8Retriever(RetrieversIntegrationTests):
    """The suite that LangChain gives to authors of retrievers."""

    @pytest.fixture(autouse=True)
    def _fill(self, memory: Muisti) -> None:
        memory.save_batch(
            [f"The {name} runs on PostgreSQL" for name in ("shop", "blog", "wiki", "bot")]
        )
        self.memory = memory

    @property
    def retriever_constructor(self) -> type[MuistiRetriever]:
        return MuistiRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory}

    @property
    def retriever_query_example(self) -> str:
        return "what runs on PostgreSQL?"


def test_J8_a_document_says_where_it_is_from(memory: Muisti) -> None:
    memory.save("We chose PostgreSQL", kind="decision", project="shop", user="anna")
    memory.save("We chose MySQL", kind="decision", project="blog", user="bob")
    [found] = MuistiRetriever(memory=memory, project="shop", user="anna").invoke("We chose")
    assert found.page_content == "We chose PostgreSQL"
    assert found.metadata["source"].endswith(".md")
    assert (found.metadata["kind"], found.metadata["user"]) == ("decision", "anna")
    kinds = MuistiRetriever(memory=memory, filters={"kind": "fact"})
    assert kinds.invoke("We chose") == []


TEXTS = st.text(max_size=20) | st.just("Hello")
MESSAGES = st.one_of(
    st.builds(HumanMessage, TEXTS),
    st.builds(HumanMessage, st.builds(lambda text: [{"type": "text", "text": text}], TEXTS)),
    st.builds(AIMessage, TEXTS, name=st.none() | st.just("bot")),
    st.builds(SystemMessage, TEXTS),
    st.builds(ToolMessage, TEXTS, tool_call_id=st.just("1")),
    st.just(AIMessage("", tool_calls=[{"name": "f", "args": {"x": [1]}, "id": "1"}])),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:The class `InMemoryChatMessageHistory`")
@settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.lists(st.lists(MESSAGES, max_size=3) | st.none(), max_size=6))
def test_J8_the_history_is_that_of_the_one_in_memory(steps: list[list[BaseMessage] | None]) -> None:
    theirs = InMemoryChatMessageHistory()
    with bootstrap.open(":memory:", settings={"embedder": "none"}) as memory:
        ours = MuistiChatHistory("one", memory)
        for messages in steps:
            for history in (ours, theirs):
                history.clear() if messages is None else history.add_messages(messages)
            assert ours.messages == theirs.messages


def test_J8_the_history_is_searched_and_kept(opened: Any) -> None:
    with opened(embedder="none") as memory:
        MuistiChatHistory("one", memory, user="anna").add_user_message("My dog is called Musti")
        memory.append_message("langchain_one", "assistant", "From elsewhere")
    with opened(embedder="none") as memory:
        assert [one.content for one in MuistiChatHistory("one", memory).messages] == [
            "My dog is called Musti",
            "From elsewhere",
        ]
        found = MuistiRetriever(memory=memory, user="anna").invoke("dog called")[0]
        assert found.page_content == "My dog is called Musti"


def test_J8_the_example_runs(vault: Path) -> None:
    assert run_example("langchain_retriever.py", vault.parent) == [
        "human: which database did we choose?",
        "ai: We chose PostgreSQL as our database (decision)",
    ]

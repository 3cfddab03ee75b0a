"""F3, E7 · What a page shows of a conversation, and searches that count as no recall."""

from __future__ import annotations

from muisti import Muisti
from tests.conftest import Opener

CHAT = "telegram_123456"


def test_F3_the_whole_chat_with_its_breaks(opened: Opener) -> None:
    memory = opened(embedder="none")
    memory.append_message(CHAT, "user", "before")
    memory.session_break(CHAT)
    memory.append_message(CHAT, "user", "after")
    assert [one.content for one in memory.window(CHAT)] == ["after"]
    whole = memory.window(CHAT, whole=True)
    assert [(one.content, one.type) for one in whole] == [
        ("before", None),
        ("", "session_break"),
        ("after", None),
    ]
    assert [one.content for one in memory.window(CHAT, 1, whole=True)] == ["after"]


def test_E7_a_search_that_is_not_recorded_counts_as_no_recall(opened: Opener) -> None:
    memory: Muisti = opened(embedder="none")
    memory.save("The otter lives in the lake.")
    assert memory.search("otter", record=False)
    memory.flush()
    assert memory.list()[0].access_count == 0
    assert memory.search("otter")
    memory.flush()
    assert memory.list()[0].access_count == 1

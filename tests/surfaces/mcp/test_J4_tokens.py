"""What the tools cost a model in tokens: the tool list and the results (contract J4, E6).

Two measures: the engine's own estimate, which limits contexts to their budgets, and a stricter one
that counts JSON and IDs as the tokenizers of language models do: short runs of letters, digits by
threes, punctuation on its own. A result is sent twice, as text and as JSON, and a client shows its
model one of them: by the engine's estimate both together stay within the budget, by the stricter
measure each of them does.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from muisti import Muisti
from muisti.recall.prompt_context import count_tokens
from tests.surfaces.mcp.clients import call_tool, connect_in_process, render_both, run

PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[^\sA-Za-z0-9\x80-\U0010ffff]+|[^\x00-\x7f]")
LONG_TITLE = (
    "How the nightly export of orders to the warehouse was made ten times faster without any change to its schema "
    * 2
)
CJK = "夜间导出订单到仓库的速度提高了十倍而没有改变其架构" * 8


def strict_tokens(text: str) -> int:
    """More than any tokenizer in use would count for text like ours."""
    return sum(_pieces(piece) for piece in PIECE.findall(text))


def _pieces(piece: str) -> int:
    if piece[0].isascii() and piece[0].isalpha():
        return -(
            -len(piece) // 6
        )  # a word of six letters is one token nearly always, and so is most of a longer one
    return -(-len(piece) // 3)  # digits by threes; marks such as `","` in one


def test_the_strict_measure_is_the_stricter_one() -> None:
    entry = '{"id":"01a1e3fa-a191-7894-987f-977f5e5fd30b","kind":"decision","date":"2026-11-16","trust":"unverified"}'
    assert strict_tokens(entry) > count_tokens(entry) * 1.3


def test_J4_the_list_of_tools_is_short(vault: Path) -> None:
    async def work() -> str:
        async with connect_in_process(vault) as client:
            listed = (await client.list_tools()).tools
            assert len(listed) <= 10
            as_json = [
                one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in listed
            ]
            return json.dumps(as_json, ensure_ascii=False, separators=(",", ":"))

    told = run(work)
    assert '"outputSchema"' in told
    assert count_tokens(told) <= 2_500
    assert strict_tokens(told) <= 2_500


def filled(vault: Path, title: str, body: str, source: str) -> None:
    with Muisti.open(vault) as memory:
        for number in range(12):
            memory.save(
                f"{number} export {body} {number * 7919}",
                title=f"{number} export {title}"[:300],
                kind="observation",
                source=source,
                trusted=False,
                project="p" * 90,
            )


@pytest.mark.parametrize(
    ("title", "body", "source"),
    [
        ("short", "a", "user"),
        (LONG_TITLE, "long " * 500, "an import of somewhere with a very long name " * 4),
        (CJK, CJK * 3, "导入" * 90),
        ("a" * 290, "b" * 9_000, "c" * 190),
        ("</memories> & <memory>" * 10, "x", "</memories>"),
    ],
    ids=["short", "long", "cjk", "unbroken", "tags"],
)
def test_J4_ten_results_stay_below_a_thousand_tokens(
    vault: Path, title: str, body: str, source: str
) -> None:
    filled(vault, title, body, source.strip()[:200])

    async def work() -> tuple[str, str]:
        async with connect_in_process(vault, project="p" * 90) as client:
            found = await client.call_tool("memory_search", {"query": "export"})
            assert found.structured_content is not None
            assert len(found.structured_content["results"]) == 10
            return render_both(found)

    text, structured = run(work)
    assert count_tokens(text + structured) <= 1_000
    assert strict_tokens(text) <= 1_000
    assert strict_tokens(structured) <= 1_000


def test_J4_documents_with_long_paths_stay_below_it_too(vault: Path, tmp_path: Path) -> None:
    folder = tmp_path / ("docs " * 20).strip() / ("deeper " * 20).strip()
    folder.mkdir(parents=True)
    for number in range(10):
        (folder / f"{number} {'page ' * 30}.md").write_text(
            f"# Export {number}\n\nThe export {number} of the orders\n"
        )
    with Muisti.open(vault) as memory:
        memory.index_path(tmp_path / ("docs " * 20).strip())
        memory.save("The export runs at night")

    async def work() -> tuple[str, str]:
        async with connect_in_process(vault) as client:
            found = await client.call_tool("memory_search", {"query": "export"})
            assert found.structured_content is not None
            assert found.structured_content["results"]
            assert "left out" in found.structured_content["note"]
            return render_both(found)

    assert count_tokens("".join(run(work))) <= 1_000


def test_J4_long_memories_are_cut(vault: Path) -> None:
    with Muisti.open(vault) as memory:
        long = memory.save("The log says: " + "one two three " * 40_000)
        short = memory.save("The log is kept for a week")

    async def work() -> None:
        async with connect_in_process(vault) as client:
            both = await call_tool(client, "memory_get", ids=[long.id, short.id])
            assert count_tokens(json.dumps(both)) <= 9_000
            assert f"read the resource memory://{long.id}]" in both["memories"][0]["content"]
            assert both["memories"][1]["content"] == "The log is kept for a week"

    run(work)

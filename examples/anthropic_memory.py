"""Claude keeps notes in your vault.

Usage: `python examples/anthropic_memory.py VAULT "Remember that my dog is called Musti."`

Needs `pip install 'muisti[anthropic]'` and a key in ANTHROPIC_API_KEY.
"""

import os
import sys

from anthropic import Anthropic

from muisti import Muisti
from muisti.integrations.anthropic import VaultMemoryTool

MODEL = os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5-5")


def reply_to(memory: Muisti, text: str) -> str:
    """Return Claude's reply. The SDK runs the tool as often as Claude asks for it."""
    runner = Anthropic().beta.messages.tool_runner(
        model=MODEL,
        max_tokens=2048,
        tools=[VaultMemoryTool(memory)],
        messages=[{"role": "user", "content": text}],
    )
    return "".join(block.text for block in runner.until_done().content if block.type == "text")


if __name__ == "__main__":
    vault, text = sys.argv[1:]
    with Muisti.open(vault) as memory:
        print(reply_to(memory, text))
        for result in memory.search(text, limit=3):  # finds Claude's notes too
            print(f"  {result.memory.file_path}: {result.matched_snippet}")

"""A chat bot that remembers across restarts: `python examples/chat.py [VAULT]`."""

import sys

from muisti import Muisti

CONVERSATION = "cli_example"


def model(context: str, messages: list[str]) -> str:
    """Replace with your language model: this one repeats the first memory of the context."""
    lines = [line for line in context.splitlines() if line.startswith("- [")]
    if not messages[-1].endswith("?"):
        return "I will remember that."
    return lines[0].split("] ")[1].split(" (importance")[0] if lines else "I do not know that yet."


def reply_to(memory: Muisti, text: str) -> str:
    """Store the message, look up memories, reply, and extract facts in the background."""
    memory.append_message(CONVERSATION, "user", text)
    memories = memory.get_relevant_memories(CONVERSATION, text, limit=3)
    messages = [message.content for message in memory.window(CONVERSATION, limit=20)]
    reply = model(memory.build_memory_context(memories), messages)
    memory.append_message(CONVERSATION, "assistant", reply)
    memory.extract_and_save(CONVERSATION, text, reply)  # returns at once
    return reply


if __name__ == "__main__":
    with Muisti.open(sys.argv[1] if len(sys.argv) > 1 else None) as memory:
        while text := (input("you> ") if sys.stdin.isatty() else sys.stdin.readline()).strip():
            if text == "/new":
                memory.session_break(CONVERSATION)
            else:
                print(reply_to(memory, text), flush=True)
                memory.flush()  # so that a script can ask about the line before

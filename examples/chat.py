"""A chat that remembers across restarts: `python examples/chat.py [VAULT]`. Put your model in the place of `model`."""

import sys

from muisti import Muisti

CHAT = "cli_example"


def model(context: str, talk: list[str]) -> str:
    """Stands for a language model: it answers a question with the first memory that stands in its context."""
    known = [
        line.split("] ")[1].split(" (importance")[0]
        for line in context.splitlines()
        if line.startswith("- [")
    ]
    if talk[-1].endswith("?"):
        return known[0] if known else "I do not know that yet."
    return "I will remember that."


def answer(memory: Muisti, said: str) -> str:
    """One turn: write down, look up, answer, learn."""
    memory.append_message(CHAT, "user", said)
    memories = memory.get_relevant_memories(CHAT, said, limit=3)
    talk = [message.content for message in memory.window(CHAT, limit=20)]
    reply = model(memory.build_memory_context(memories), talk)
    memory.append_message(CHAT, "assistant", reply)
    memory.extract_and_save(
        CHAT, said, reply
    )  # returns at once; the memories are made in the background
    return reply


if __name__ == "__main__":
    with Muisti.open(sys.argv[1] if len(sys.argv) > 1 else None) as memory:
        while (
            said := input("you> ").strip() if sys.stdin.isatty() else sys.stdin.readline().strip()
        ):
            if said == "/new":
                memory.session_break(CHAT)
            else:
                print(answer(memory, said), flush=True)
                memory.flush()  # only so that a script sees at once what it taught; a person types slower than that

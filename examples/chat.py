"""A chat bot that remembers each person: `python examples/chat.py [VAULT [USER]]`."""

import sys

from muisti import Muisti, Session


def model(context: str, messages: list[str]) -> str:
    """Replace with your language model: this one repeats the first memory of the context."""
    lines = [line for line in context.splitlines() if line.startswith("- [")]
    if not messages[-1].endswith("?"):
        return "I will remember that."
    return lines[0].split("] ")[1].split(" (importance")[0] if lines else "I do not know that yet."


def reply_to(memory: Muisti, session: Session, text: str) -> str:
    """Store the message, look up memories, reply, and extract facts in the background."""
    memory.append_message(session.id, "user", text)
    about = memory.core_get(user=session.user).user
    known = memory.get_relevant_memories(session.id, text, limit=3)
    context = "".join(f"{key}: {about[key]}\n" for key in about) + memory.build_memory_context(
        known
    )
    reply = model(context, [message.content for message in memory.window(session.id, limit=20)])
    memory.append_message(session.id, "assistant", reply)
    memory.extract_and_save(session.id, text, reply)  # returns at once
    return reply


if __name__ == "__main__":
    user = sys.argv[2] if len(sys.argv) > 2 else "me"
    with Muisti.open(sys.argv[1] if len(sys.argv) > 1 else None) as memory:
        session = memory.start_session(session_id=f"cli_{user}", user=user)  # fixes the user
        while text := (input("you> ") if sys.stdin.isatty() else sys.stdin.readline()).strip():
            if text == "/new":
                memory.session_break(session.id)
            else:
                print(reply_to(memory, session, text), flush=True)
                memory.flush()  # so that a script can ask about the line before

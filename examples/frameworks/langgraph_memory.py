"""A LangGraph agent that remembers across threads. Usage: `python langgraph_memory.py [VAULT]`.

Needs `pip install 'muisti[langgraph]'`. A real agent would call a model in `reply`.
"""

import sys

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore

from muisti import Muisti
from muisti.integrations.langgraph import MuistiSaver, MuistiStore


def reply(state: MessagesState, config: RunnableConfig, *, store: BaseStore) -> MessagesState:
    """Remember a statement; answer a question with what was said about it."""
    said = str(state["messages"][-1].content)
    notes = ("notes", config["configurable"]["user"])
    if not said.endswith("?"):
        store.put(notes, f"note-{len(store.search(notes, limit=1000))}", {"text": said})
        return {"messages": [AIMessage("I will remember that.")]}
    found = store.search(notes, query=said, limit=1)
    return {"messages": [AIMessage(f"You told me: {found[0].value['text']}" if found else "?")]}


if __name__ == "__main__":
    path = sys.argv[1] if sys.argv[1:] else "notes"
    with Muisti.open(path) as memory, MuistiSaver(memory) as saver:
        builder = StateGraph(MessagesState)
        builder.add_node("reply", reply)
        builder.add_edge(START, "reply")
        graph = builder.compile(checkpointer=saver, store=MuistiStore(memory))
        for thread, text in (("1", "My dog is called Musti."), ("2", "What is my dog called?")):
            config: RunnableConfig = {"configurable": {"thread_id": thread, "user": "anna"}}
            answer = graph.invoke({"messages": [HumanMessage(text)]}, config)
            print(answer["messages"][-1].content)
        first = graph.get_state({"configurable": {"thread_id": "1"}})
        print("messages of the first thread:", len(first.values["messages"]))

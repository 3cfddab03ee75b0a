"""A LangChain chain that recalls from a vault. Usage: `python langchain_retriever.py [VAULT]`.

Needs `pip install 'muisti[langchain]'`. A real chain ends with a model instead of `answer`.
"""

import sys

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from muisti import Muisti
from muisti.integrations.langchain import MuistiChatHistory, MuistiRetriever


def answer(documents: list[Document]) -> str:
    """Return the best document with its kind."""
    best = documents[0]
    return f"{best.page_content} ({best.metadata['kind']})"


if __name__ == "__main__":
    with Muisti.open(sys.argv[1] if sys.argv[1:] else "notes") as memory:
        memory.save("We chose PostgreSQL as our database", kind="decision", project="shop")
        memory.save("Anna prefers tea", kind="preference", project="shop")
        retriever = MuistiRetriever(memory=memory, project="shop", k=2)
        reply = (retriever | RunnableLambda(answer)).invoke("which database did we choose?")
        history = MuistiChatHistory("anna-1", memory, project="shop")
        history.add_user_message("which database did we choose?")
        history.add_ai_message(reply)
        for message in history.messages:
            print(f"{message.type}: {message.content}")

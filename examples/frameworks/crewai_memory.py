"""CrewAI with its memory in a vault. Usage: `python crewai_memory.py [VAULT]`.

Needs `pip install 'muisti[crewai]'`. A crew takes the memory as `memory=`. A real crew uses a model
instead of `Silent`, which also infers scope, categories and importance.
"""

import os
import sys
from typing import Any

os.environ["CREWAI_DISABLE_TELEMETRY"] = os.environ["OTEL_SDK_DISABLED"] = "true"

from crewai import BaseLLM
from crewai.memory import Memory

from muisti import Muisti
from muisti.integrations.crewai import MuistiStorage


class Silent(BaseLLM):
    """A stand-in that is never called: the calls below give all that a model would infer."""

    def call(self, *_: Any, **__: Any) -> str:
        """Return an answer."""
        return ""


if __name__ == "__main__":
    with Muisti.open(sys.argv[1] if sys.argv[1:] else "notes") as vault:
        storage = MuistiStorage(vault, project="pets", user="anna")
        memory = Memory(storage=storage, embedder=storage.embed, llm=Silent(model="silent"))
        known: dict[str, Any] = {"scope": "/dogs", "categories": ["names"], "importance": 0.8}
        memory.remember("My dog is called Musti.", **known)
        for match in memory.recall("What is my dog called?", depth="shallow"):
            print(f"{match.record.scope}: {match.record.content}")
        memory.close()

"""The tests of one framework are left out where it is not installed: `make test-frameworks` has
an environment for CrewAI, and one with all others.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

MODULES = {
    "crewai": "crewai",
    "google_adk": "google.adk",
    "langchain": "langchain_core",
    "langgraph": "langgraph",
    "llama_index": "llama_index",
    "openai_agents": "agents",
    "pydantic_ai": "pydantic_ai",
}
"""The module to import, by the beginning of the name of its tests."""
FOLDER = Path(__file__).parent


def is_installed(module: str) -> bool:
    """Return whether a module can be imported, without importing it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it is in
        return False


MISSING = [name for name, module in MODULES.items() if not is_installed(module)]
collect_ignore = [path.name for name in MISSING for path in FOLDER.glob(f"test_{name}*.py")]


def pytest_configure(config: pytest.Config) -> None:
    """Register a marker of langchain-tests: the plugin that has it is not loaded."""
    config.addinivalue_line("markers", "benchmark: a benchmark of langchain-tests")

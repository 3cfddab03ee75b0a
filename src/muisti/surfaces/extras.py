"""Commands that need packages which a plain installation does not have."""

from __future__ import annotations

from importlib.util import find_spec

from muisti.errors import MuistiError

NEEDS = {
    "muisti serve": ("server", ("fastapi", "uvicorn", "prometheus_client", "watchfiles", "jinja2")),
    "muisti mcp": ("mcp", ("mcp",)),
    "muisti install": ("mcp", ("mcp", "tomlkit")),
}
"""For each command, the extra of muisti it needs and the packages of that extra."""


def missing_packages(command: str) -> list[str]:
    """Return the packages that a command needs and that are not installed."""
    _, packages = NEEDS[command]
    return [name for name in packages if find_spec(name) is None]


def how_to_install(command: str) -> str:
    """Return the pip command that installs what a command needs."""
    extra, _ = NEEDS[command]
    return f"pip install 'muisti[{extra}]'"


def check_installed(command: str) -> None:
    """Raise MuistiError if a package that a command needs is missing."""
    missing = missing_packages(command)
    if missing:
        raise MuistiError(f"{command} needs {', '.join(missing)}; run {how_to_install(command)}")

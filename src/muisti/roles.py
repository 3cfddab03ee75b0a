"""What opening a vault does for each kind of program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from muisti.settings_values import Value


class Role(NamedTuple):
    """What opening a vault does for one kind of program."""

    create: bool = False
    """Create a vault that does not exist."""
    resume: bool = False
    """Continue with exchanges that were accepted before a crash. For long-running programs."""
    warm_up: bool = False
    """Load the embedding model in the background."""
    answer_first: bool = False
    """In a large vault, leave the check for external changes to another process."""
    use_threads: bool = True
    """Embed in a thread what an operation does not wait for."""
    build_snapshots: bool = True
    """Build search snapshots in the background. For programs that search more than once."""
    use_all_cores: bool = True
    """Embed in bulk on all cores. Not for programs that answer requests meanwhile."""
    settings: Mapping[str, Value] | None = None
    """Settings that override those of the vault."""


_CLI = Role(
    settings={"embed_on_save": False},
    use_threads=False,
    build_snapshots=False,
    answer_first=True,
)
ROLES: Mapping[str, Role] = {
    "library": Role(create=True, resume=True),
    # A single command leaves embedding to the next search, which loads the model anyway.
    "cli": _CLI,
    # `muisti search`: as cli, but with only the part of the engine that searches.
    "search": _CLI,
    # Answers for commands, so it opens a vault as they do.
    "warm": _CLI._replace(build_snapshots=True),
    "server": Role(resume=True, warm_up=True, use_all_cores=False),
    # `muisti worker`: extracts and embeds for other processes.
    "worker": Role(),
    "mcp": Role(resume=True, use_all_cores=False),
    # A hook runs with every prompt: it only reads, and must not wait.
    "hook": Role(
        build_snapshots=False,
        settings={
            "sync_on_open": False,  # session start and the worker pick up edited files
            "embedder": "none",  # loading a model takes longer than all the rest
            "record_recall": False,  # automatic recall does not raise salience
            "lock_timeout": 0.5,
            "index_timeout": 0.5,
        },
    ),
}

"""Check a vault in a database."""

from __future__ import annotations

from collections.abc import Iterator

from muisti import bootstrap
from muisti.errors import MuistiError
from muisti.surfaces.setup.findings import Finding, Level, count_noun


def check_database(address: str) -> Iterator[Finding]:
    """Connect as a command would, and count memories, missing vectors and waiting exchanges."""
    try:
        memory = bootstrap.open(address, role="cli")
    except MuistiError as error:
        yield Finding("vault", Level.PROBLEM, str(error), type(error).next_step)
        return
    with memory:
        stats = memory.get_stats()
        memories = count_noun(stats.total_count, "memory", "memories")
        yield Finding("vault", Level.OK, f"{memory.location} has {memories}")
        if not memory.is_writable:
            fix = "connect to the primary server, as a role that may write to the schema muisti"
            yield Finding("vault", Level.NOTE, f"{memory.location} can only be read", fix)
        if stats.waiting_count:
            texts = count_noun(stats.waiting_count, "text is", "texts are")
            yield Finding(
                "index", Level.NOTE, f"{texts} not embedded yet", "muisti reindex --vectors"
            )
        waiting = memory.queue_status().waiting
        if waiting:
            exchanges = count_noun(waiting, "exchange waits", "exchanges wait")
            yield Finding("queue", Level.NOTE, f"{exchanges} for extraction", "muisti serve")

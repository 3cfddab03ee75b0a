"""A database with the roles of a product: an owner that makes the schema, and a server's role."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psycopg

from muisti.storage.clock import SystemClock
from muisti.storage.postgres.connect import Database
from tests.postgres.server import make_location


class Roles(NamedTuple):
    """The addresses of one database, each for another role."""

    superuser: str
    owner: str
    """Made the schema; is no superuser."""
    application: str
    """Owns nothing."""

    @property
    def application_name(self) -> str:
        """The name of the application's role."""
        return self.application.partition("@")[0].rpartition("/")[2]


@contextmanager
def make_roles(*, migrate: bool = True) -> Iterator[Roles]:
    """Make a database whose schema belongs to a role of its own, and remove both afterwards."""
    server = make_location().partition("&options")[0]
    name = f"roles_{random.SystemRandom().randrange(2**40):x}"
    addresses = [
        server.replace("//postgres@/postgres?", f"//{role}@/{name}?")
        for role in ("postgres", f"{name}_owner", f"{name}_app")
    ]
    with psycopg.connect(server, autocommit=True) as db:
        for role in ("owner", "app"):
            db.execute(f"CREATE ROLE {name}_{role} LOGIN".encode())
        db.execute(f"CREATE DATABASE {name} OWNER {name}_owner".encode())
        try:
            roles = Roles(*addresses)
            run(roles.superuser, "CREATE EXTENSION vector")  # only a superuser may
            if migrate:
                migrate_as_owner(roles)
            yield roles
        finally:
            db.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
            for role in ("owner", "app"):
                db.execute(f"DROP ROLE {name}_{role}".encode())


def migrate_as_owner(roles: Roles) -> None:
    """Make the schema and one vector space as the owner, and let the application use them."""
    database = Database(roles.owner, SystemClock())
    with database.write_transaction() as db:
        db.execute("SELECT muisti.create_vector_table('test', 8, '')")
        db.execute("SELECT muisti.grant_application(%s)", (roles.application_name,))
    database.close()


def run(dsn: str, sql: str, tenant: int | None = None) -> list[tuple[object, ...]]:
    """Run one statement, for a tenant or with the setting forgotten, and return its rows."""
    with psycopg.connect(dsn) as db:
        if tenant is not None:
            db.execute("SELECT set_config('muisti.tenant', %s, true)", (str(tenant),))
        cursor = db.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []

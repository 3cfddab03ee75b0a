"""Open a vault in PostgreSQL. Apart from `bootstrap`, as its libraries are an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muisti.bootstrap import BackEnd
from muisti.errors import InvalidRequest, SettingsError
from muisti.ports.services import Services

if TYPE_CHECKING:
    from muisti.ports import Clock, Location, Reconciler, SearchIndex, Store, VectorIndex
    from muisti.ports.moving import VaultStore
    from muisti.settings import Settings
    from muisti.storage.postgres.connect import Shared
    from muisti.storage.postgres.inspect import ServerState
    from muisti.storage.postgres.tenants import TenantAdministration


def check_address(address: str) -> str:
    """Return an address without its password.

    Raises SettingsError if the libraries are missing, InvalidRequest if it cannot be parsed.
    """
    if "://" not in address:
        reason = "must begin with postgresql://, with two slashes; a Path loses one of them"
        raise InvalidRequest("location", "", reason)
    try:
        from muisti.storage.postgres.connect import describe_address
    except ImportError as error:
        raise SettingsError(
            "a vault in PostgreSQL needs more packages: pip install 'muisti[postgres]'"
        ) from error
    return describe_address(address)


def inspect_store(address: str) -> ServerState:
    """Return the state of a database, for `muisti doctor`. Changes nothing.

    Raises SettingsError, InvalidRequest, StoreUnavailable.
    """
    check_address(address)
    from muisti.storage.postgres.inspect import inspect_database

    return inspect_database(address)


class PostgresBackEnd(BackEnd):
    """A vault in PostgreSQL."""

    @property
    def makes_indexes(self) -> bool:
        """Whether HNSW indexes are made in the background; not in a single command."""
        return self.services.build_snapshots

    def __init__(
        self, address: str, settings: Settings, clock: Clock, shared: Shared | None = None
    ) -> None:
        from muisti.storage.files.markdown_codec import MarkdownFormat
        from muisti.storage.postgres.connect import Database
        from muisti.storage.postgres.index import PostgresIndex
        from muisti.storage.postgres.store import PostgresStore

        self._database = Database(
            address,
            clock,
            shared=shared,
            timeout=settings.lock_timeout,
            replica_lag=settings.replica_lag,
            kinds=settings.kinds,
            rates=settings.decay_rates,
            grace_days=settings.salience_decay_days,
        )
        self._index = PostgresIndex(self._database)
        self._store = PostgresStore(
            self._database, self._index, settings, clock, MarkdownFormat(settings)
        )
        self.services = Services(settings, clock, self)

    def prepare(self, *, answer_first: bool) -> None:
        """Connect, and create or update the schema if needed."""
        self._store.prepare(wait=True)

    def close(self) -> None:
        """Close all connections, also if nothing was read."""
        self._database.close()

    def make_mover(self) -> VaultStore:
        """Return the vault as something that can be copied from and to."""
        from muisti.storage.files.layout import MarkdownLayout
        from muisti.storage.files.markdown_codec import MarkdownFormat
        from muisti.storage.postgres.moving import PostgresMover

        settings = self.services.settings
        return PostgresMover(
            self._database,
            self._index,
            self._store.documents,
            settings,
            MarkdownFormat(settings),
            MarkdownLayout(settings),
        )

    def make_location(self) -> Location:
        """Return where the vault is."""
        from muisti.storage.postgres.location import PostgresLocation

        return PostgresLocation(self._database, self._store, self.services.clock)

    def make_store(self) -> Store:
        """Return the source of truth."""
        return self._store

    def make_index(self) -> SearchIndex:
        """Return the search index."""
        if self.services.build_snapshots:
            from muisti.storage.postgres.search_tables import SearchTables

            megabytes = self.services.settings.search_memory
            self._database.tables = SearchTables(self._database, megabytes)
        return self._index

    def make_vectors(self) -> VectorIndex:
        """Return the vector index."""
        from muisti.storage.postgres.vectors import PostgresVectors

        return PostgresVectors(self._database, background=self.makes_indexes)

    def make_reconciler(self) -> Reconciler:
        """Return the reconciler, which rebuilds and verifies."""
        from muisti.storage.postgres.reconciler import PostgresReconciler

        return PostgresReconciler(self._store, self._database, self.services.clock)


def administer_tenants(address: str) -> TenantAdministration:
    """Return the administration of a database's tenants. The role must own the schema.

    Raises SettingsError, InvalidRequest.
    """
    check_address(address)
    from muisti.storage.postgres.tenants import TenantAdministration

    return TenantAdministration(address)


def name_tenant(address: str, number: int) -> str:
    """Return the address of one tenant's vault."""
    from muisti.storage.postgres.connect import name_tenant

    return name_tenant(address, number)

"""Open the vaults of many tenants of one database, with one pool of connections and one model."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from muisti.bootstrap_postgres import PostgresBackEnd, check_address
from muisti.errors import SettingsError, TokenRefused, TooManyRequests
from muisti.model.tenants import Access
from muisti.ports.services import Services
from muisti.roles import ROLES
from muisti.settings import Settings, ValueOrList, load_settings
from muisti.storage.clock import SystemClock

if TYPE_CHECKING:
    from muisti.engine import Muisti
    from muisti.ports import Embedders, LanguageModel
    from muisti.storage.postgres.connect import Connection, Shared

log = logging.getLogger("muisti")
MOST_OPEN = 64
"""Vaults that are kept open. Each may have a few threads; none has a connection of its own."""
LISTEN_SECONDS = 0.5
"""How long a thread that is to stop may still wait for changes."""
POLL_SECONDS = 1.0
"""How often changes are looked for behind a pooler."""
_ADMIT = """SELECT tenant, name, token, scope, problem, max_requests, wait FROM muisti.admit(%s)"""
_FIND_TENANTS = "SELECT muisti.find_tenants(%s, %s)"
_IS_ADMITTED = "SELECT muisti.is_admitted(%s)"
_ROLE = """SELECT rolsuper OR rolbypassrls OR pg_has_role(c.relowner, 'USAGE')
FROM pg_roles r, pg_class c WHERE r.rolname = current_user AND c.oid = 'muisti.tenants'::regclass"""


class _SharedServices(Services):
    """The services of one tenant. The models are those of all, and stay open."""

    def close(self) -> None:
        """Close the index."""
        if "index" in self.__dict__:
            self.index.close()
        self._factory.close()


class _TenantBackEnd(PostgresBackEnd):
    """The vault of one tenant."""

    def __init__(self, vaults: TenantVaults, settings: Settings, shared: Shared) -> None:
        super().__init__(vaults.address, settings, SystemClock(), shared)
        self._vaults = vaults
        self.services = _SharedServices(settings, self.services.clock, self)
        self.services.use_all_cores = False

    @property
    def makes_indexes(self) -> bool:
        """False: the role owns no table."""
        return False

    def make_embedders(self) -> Embedders:
        """Return the embedders of all tenants."""
        return self._vaults.embedders

    def make_language_model(self) -> LanguageModel | None:
        """Return the language model of all tenants."""
        return self._vaults.language_model


class _Open:
    """A vault that is kept open, and how many requests use it."""

    def __init__(self) -> None:
        self.memory: Muisti | None = None
        """None while it is being opened."""
        self.opening = threading.Lock()
        self.uses = 0


class TenantVaults:
    """The vaults of a database's tenants. The least recently used ones are closed."""

    def __init__(
        self,
        address: str,
        *,
        settings: Mapping[str, ValueOrList] | None = None,
        most_open: int = MOST_OPEN,
    ) -> None:
        """Connect. Raises SettingsError if row-level security does not apply to the role."""
        from muisti.storage.postgres.connect import SHARED_ADDRESS, complete_address
        from muisti.storage.postgres.errors import translate_errors
        from muisti.storage.postgres.migrate import prepare_schema
        from muisti.storage.postgres.pooler import connect
        from muisti.storage.postgres.pools import Pools

        self.name = check_address(address)
        self.address = address
        self.settings = load_settings(
            arguments={**(ROLES["server"].settings or {}), **(settings or {})}
        )
        self._most_open = most_open
        self._open: OrderedDict[tuple[int, bool], _Open] = OrderedDict()
        self._guard = threading.Lock()
        self.conninfo = complete_address(address)
        with translate_errors(self.name), connect(self.conninfo) as db:
            prepare_schema(db, self.name)
            if db.execute(_ROLE).fetchone() != (False,):
                raise SettingsError(
                    f"{self.name}: the role of this address owns the tables or is a superuser, so "
                    "row-level security does not keep it to a tenant; serve as another role, which "
                    "`muisti tenants grant ROLE` allows"
                )
        self._pools = Pools(
            self.conninfo,
            SHARED_ADDRESS,
            timeout=self.settings.lock_timeout,
            replica_lag=self.settings.replica_lag,
        )

    @cached_property
    def embedders(self) -> Embedders:
        """The embedders of all tenants: one loaded model."""
        from muisti.models.embedders.factory import SettingsEmbedders

        return SettingsEmbedders(self.settings)

    @cached_property
    def language_model(self) -> LanguageModel | None:
        """The language model of all tenants."""
        from muisti.models.language.factory import make_language_model

        return make_language_model(self.settings)

    def admit(self, token: str) -> Access:
        """Return what a token allows, and count the request.

        Each call asks the database, so that a revoked token is refused at once. Raises
        TokenRefused, TooManyRequests, StoreUnavailable.
        """
        from muisti.storage.postgres.connect import SHARED_ADDRESS
        from muisti.storage.postgres.errors import translate_errors
        from muisti.storage.postgres.tenants import hash_token

        with translate_errors(SHARED_ADDRESS), self._pools.primary.connection() as db:
            row = db.execute(_ADMIT, (hash_token(token),)).fetchone()
        if row is None:
            raise TokenRefused("send a token of a tenant as `Authorization: Bearer …`")
        tenant, name, id_, scope, problem, limit, wait = row
        if problem == "busy":
            raise TooManyRequests(limit, wait)
        if problem:
            word = "has expired" if problem == "expired" else "was revoked"
            raise TokenRefused(f"this token {word}; ask the administrator for another")
        return Access(tenant, name, id_, scope)

    def is_admitted(self, token: str) -> bool:
        """Return whether a token is valid. Counts no request. Raises StoreUnavailable."""
        from muisti.storage.postgres.connect import SHARED_ADDRESS
        from muisti.storage.postgres.errors import translate_errors
        from muisti.storage.postgres.tenants import hash_token

        with translate_errors(SHARED_ADDRESS), self._pools.primary.connection() as db:
            return db.execute(_IS_ADMITTED, (hash_token(token),)).fetchone() == (True,)

    def find_tenants(self, *, with_work: bool = False, every: float | None = None) -> list[int]:
        """Return the numbers of all tenants, or of those with work that no process does.

        Every: seconds after which maintenance is due again; None: it does not count. Raises
        StoreUnavailable.
        """
        from muisti.storage.postgres.errors import translate_errors

        with translate_errors(self.name), self._pools.primary.connection() as db:
            return [number for (number,) in db.execute(_FIND_TENANTS, (with_work, every))]

    def acquire(self, access: Access) -> Muisti:
        """Return the vault of a tenant, open until it is released. Raises TenantNotFound.

        The vault of a token that may only read refuses every write.
        """
        key = (access.tenant, access.allows("write"))
        with self._guard:
            one = self._open.setdefault(key, _Open())
            self._open.move_to_end(key)
            one.uses += 1
        try:
            with one.opening:
                if one.memory is None:
                    one.memory = self._make(*key)
                return one.memory
        except BaseException:
            with self._guard:
                one.uses -= 1
                if one.memory is None and one.uses == 0:
                    self._open.pop(key, None)
            raise

    def release(self, memory: Muisti) -> None:
        """Say that a request no longer uses a vault, and close those that are too many."""
        for unused in self.give_back(memory):
            unused.close()

    def give_back(self, memory: Muisti) -> list[Muisti]:
        """Say that a request no longer uses a vault, without waiting for anything.

        Return the vaults that are too many; the caller closes them.
        """
        closing = []
        with self._guard:
            for one in self._open.values():
                if one.memory is memory:
                    one.uses -= 1
            for key in [key for key, one in self._open.items() if one.uses == 0]:
                if len(self._open) <= self._most_open:
                    break
                closing.append(self._open.pop(key).memory)
        return [unused for unused in closing if unused is not None]

    def list_open(self, tenant: int) -> list[Muisti]:
        """Return the vaults of a tenant that are open."""
        with self._guard:
            found = [one.memory for key, one in self._open.items() if key[0] == tenant]
        return [memory for memory in found if memory is not None]

    def count_open(self) -> int:
        """Return how many vaults are open."""
        return len(self._open)

    def listen(self, stop: threading.Event, report: Callable[[int], None]) -> None:
        """Report the number of each tenant whose vault changes, until it is to stop.

        Uses one connection for all tenants. Raises StoreUnavailable if it is lost.
        """
        from muisti.storage.postgres.connect import CHANNEL
        from muisti.storage.postgres.errors import translate_errors
        from muisti.storage.postgres.pooler import connect, is_pooled

        with translate_errors(self.name), connect(self.conninfo) as db:
            if is_pooled(db):
                self._poll(db, stop, report)
                return
            db.execute(f"LISTEN {CHANNEL}".encode())
            while not stop.is_set():
                for notice in db.notifies(timeout=LISTEN_SECONDS, stop_after=1):
                    number = notice.payload.partition(" ")[0]
                    if number.isdecimal():
                        report(int(number))

    def _poll(self, db: Connection, stop: threading.Event, report: Callable[[int], None]) -> None:
        """Look for changes in the open vaults: a pooler may lose notifications."""
        from muisti.storage.postgres.pooler import POLLS, read_last_change

        log.info(POLLS, self.name, POLL_SECONDS)
        seen: dict[int, tuple[object, ...] | None] = {}
        while not stop.wait(POLL_SECONDS):
            with self._guard:
                tenants = {tenant for tenant, _ in self._open}
            last = {tenant: read_last_change(db, tenant) for tenant in tenants}
            for tenant in tenants & seen.keys():
                if last[tenant] != seen[tenant]:
                    report(tenant)
            seen = last

    def warm_up(self) -> None:
        """Load the model, so that the first search does not wait for it."""
        embedder = self.embedders(None)
        if embedder is not None:
            embedder.embed_query("ready?")

    def close(self) -> None:
        """Close all vaults, the models and the connections."""
        with self._guard:
            closing = [one.memory for one in self._open.values() if one.memory is not None]
            self._open.clear()
        for memory in closing:
            memory.close()
        if "embedders" in self.__dict__:
            self.embedders.close()
        if self.__dict__.get("language_model") is not None:
            self.__dict__["language_model"].close()
        self._pools.close()

    def _make(self, tenant: int, writable: bool) -> Muisti:
        """Open a vault. Raises TenantNotFound."""
        from muisti.engine import Muisti
        from muisti.storage.postgres.connect import Shared

        settings = self.settings
        if not writable:
            settings = replace(settings, record_recall=False)
        back_end = _TenantBackEnd(self, settings, Shared(self._pools, tenant, writable))
        memory = Muisti(back_end.services, Path(self.name))
        back_end.prepare(answer_first=True)
        if writable:
            memory.resume_extraction()
        return memory

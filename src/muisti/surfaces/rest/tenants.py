"""Many tenants in one server: the token of a request decides which vault it is for."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
import weakref
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from muisti.errors import MuistiError, ScopeDenied, TokenRefused
from muisti.surfaces.access import CALLER, Caller, find_scope
from muisti.surfaces.rest.body_limit import drain_body, send_problem
from muisti.surfaces.rest.config import ServerConfig
from muisti.surfaces.rest.denied_page import accepts_html, render_denied_page
from muisti.surfaces.rest.events import EventBroadcaster
from muisti.surfaces.rest.problems import HttpProblem, problem_type, to_problem
from muisti.surfaces.rest.reindexing import ReindexJob
from muisti.surfaces.rest.security import OPEN_PATHS, get_cookie, is_api, sign_in, take_token
from muisti.surfaces.tenant_work import work_for_tenants

if TYPE_CHECKING:
    from muisti.bootstrap_tenants import TenantVaults
    from muisti.engine import Muisti
    from muisti.surfaces.web.page_context import PageContext

log = logging.getLogger("muisti")
THREADS = 4
"""Requests whose tokens are looked up at the same time; the others wait for their turn."""
MOST_BROWSERS = 4096
"""Browsers that are signed in. The one that was away longest has to sign in again."""
RETRY_SECONDS = 5.0
RESUME_SECONDS = 30.0
"""How often the server looks for work that waits in the vaults of all tenants."""


class Served:
    """What a server keeps for an open vault beside the vault."""

    def __init__(self, memory: Muisti, listeners: int) -> None:
        self.events = EventBroadcaster(listeners)
        self.reindexing = ReindexJob()
        self._memory = weakref.ref(memory)
        self._page: PageContext | None = None

    @property
    def page(self) -> PageContext:
        """What the pages of this vault work with."""
        if self._page is None:
            from muisti.surfaces.web.jobs import ReindexJob as PageJob
            from muisti.surfaces.web.page_context import PageContext
            from muisti.surfaces.web.review_counter import ReviewCounter

            memory = self._memory()
            assert memory is not None
            self._page = PageContext(
                memory, PageJob(memory), ReviewCounter(memory), lambda: self.events.published
            )
        return self._page


class ServedVaults:
    """The vaults of all tenants, with their event streams and jobs."""

    def __init__(self, vaults: TenantVaults, config: ServerConfig) -> None:
        self.vaults = vaults
        self._config = config
        self._served: weakref.WeakKeyDictionary[Muisti, Served] = weakref.WeakKeyDictionary()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="muisti-tenants", daemon=True)
        self._worker = threading.Thread(target=self._work, name="muisti-tenant-work", daemon=True)

    def get(self) -> Served:
        """Return what belongs to the vault of the current request."""
        caller = CALLER.get()
        assert caller is not None, "no tenant"
        if caller.memory not in self._served:
            self._served[caller.memory] = Served(caller.memory, self._config.listeners)
        return self._served[caller.memory]

    def start(self) -> None:
        """Start the threads that pass on the changes of all tenants, and that work for them."""
        self._thread.start()
        if self._config.watch:
            self._worker.start()

    def stop(self) -> None:
        """Stop the thread, and end all event streams."""
        self._stop.set()
        self._thread.join(timeout=10)
        if self._worker.is_alive():
            self._worker.join(timeout=10)
        for served in list(self._served.values()):
            served.events.close()

    def _listen(self) -> None:
        def report(tenant: int) -> None:
            for memory in self.vaults.list_open(tenant):
                if (served := self._served.get(memory)) is not None:
                    served.events.publish("changed", {"files": [], "fileCount": 0})

        while not self._stop.is_set():
            try:
                self.vaults.listen(self._stop, report)
            except Exception as error:  # keep running: the database may come back
                log.warning("cannot watch for changes: %s", error)
                self._stop.wait(RETRY_SECONDS)

    def _work(self) -> None:
        """Do what waits for all tenants, also what other processes left, and maintenance."""
        last_error = ""
        self._stop.wait(min(RESUME_SECONDS, self._config.maintenance_after))
        maintenance_from = time.monotonic() + self._config.maintenance_after - RESUME_SECONDS
        while not self._stop.is_set():
            is_due = time.monotonic() >= maintenance_from
            every = self._config.maintenance_every if is_due else None
            try:
                work_for_tenants(self.vaults, self._stop, every=every)
                last_error = ""
            except MuistiError as error:  # a database that is down is waited for
                if str(error) != last_error:
                    log.warning("work in the background is postponed: %s", error)
                last_error = str(error)
            self._stop.wait(RESUME_SECONDS)


def _close(unused: list[Muisti]) -> None:
    """Close vaults. That may wait for the database, so the event loop does not do it."""
    for memory in unused:
        try:
            memory.close()
        except (MuistiError, OSError) as error:
            log.warning("a vault was not closed in order: %s", error)


class TenantMiddleware:
    """Finds the tenant of each request by its token, and checks the token's scope."""

    def __init__(self, app: ASGIApp, vaults: TenantVaults, config: ServerConfig) -> None:
        self.app = app
        self._vaults = vaults
        self._config = config
        self._limiter: CapacityLimiter | None = None
        self._browsers: OrderedDict[str, str] = OrderedDict()
        """Tokens of browsers that are signed in, by their cookies."""
        self._cookie_name = f"muisti-{config.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS:
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        self._limiter = self._limiter or CapacityLimiter(THREADS)
        try:
            in_url, target = take_token(scope)
            token = self._find_token(headers) if in_url is None else in_url
            access = await to_thread.run_sync(self._vaults.admit, token, limiter=self._limiter)
            if in_url is not None:
                await sign_in(target, self._cookie_name, self._remember(token))(
                    scope, receive, send
                )
                return
            needed = find_scope(scope["method"], scope["path"])
            if not access.allows(needed):
                raise ScopeDenied(needed, access.scope)
            memory = await to_thread.run_sync(self._vaults.acquire, access, limiter=self._limiter)
        except MuistiError as error:
            await self._refuse(error, scope, receive, send)
            return
        try:
            caller = Caller(memory, access, partial(self._vaults.is_admitted, token))
            await self._serve(caller, scope, receive, send)
        finally:
            if unused := self._vaults.give_back(memory):
                asyncio.get_running_loop().run_in_executor(None, _close, unused)

    async def _serve(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        previous = CALLER.set(caller)
        try:
            await self.app(scope, receive, send)
        finally:
            CALLER.reset(previous)

    def _find_token(self, headers: Headers) -> str:
        """Return the token of a request, from its header or its cookie; "" if it has none."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return given.strip()
        cookie = get_cookie(headers, self._cookie_name)
        token = self._browsers.get(cookie or "")
        if token is None:
            return ""
        self._browsers.move_to_end(str(cookie))
        return token

    def _remember(self, token: str) -> str:
        """Return a cookie that stands for a token."""
        cookie = secrets.token_urlsafe(32)
        self._browsers[cookie] = token
        if len(self._browsers) > MOST_BROWSERS:
            self._browsers.popitem(last=False)
        return cookie

    async def _refuse(self, error: MuistiError, scope: Scope, receive: Receive, send: Send) -> None:
        problem = to_problem(error)
        headers = {}
        if isinstance(error, TokenRefused):
            headers["WWW-Authenticate"] = "Bearer"
        if (wait := getattr(error, "retry_after", None)) is not None:
            headers["Retry-After"] = str(wait)
        if is_api(scope) or not accepts_html(Headers(scope=scope)):
            await send_problem(scope, receive, send, problem, headers)
            return
        name = problem_type(type(error)).rpartition(":")[2]
        shown = HttpProblem(problem.status, name, problem.title, problem.detail, headers)
        more = {**headers, **await drain_body(scope, receive)}
        await render_denied_page(shown, self._config, more)(scope, receive, send)

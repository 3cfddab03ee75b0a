"""One JSON question to a server over HTTP: in bounded time, of bounded size, tried again where that makes sense."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from muisti.errors import EmbedderMisbehaved, EmbedderUnavailable, SettingsError

if TYPE_CHECKING:
    import httpx2

_ATTEMPTS = 3
_LONGEST_WAIT = 5.0
_LARGEST_ANSWER = 64 * 1024 * 1024
_ERROR_SHOWN = 200


class _TryAgain(EmbedderUnavailable):
    """May pass by itself: no connection, a time-out, an overloaded server."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class JsonPost:
    """Posts to one address. Connections are kept; redirects are not followed, for they would carry the key along."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 30.0,
        largest: int = _LARGEST_ANSWER,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises SettingsError for an address that is none. `timeout` is for one attempt, and for starting another."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host or parts.scheme not in {"http", "https"}:
            raise SettingsError("the embedder's url is no web address; it looks like http://localhost:11434")
        self.shown = f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"
        """The address without what may be secret in it."""
        # httpx2 logs the address it asks, so that a name and password must not stand in it
        self._url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        self._login = (unquote(parts.username or ""), unquote(parts.password or "")) if "@" in parts.netloc else None
        self._key = key
        self._timeout = timeout
        self._largest = largest
        self._clock = clock
        self._local = host in {"localhost", "127.0.0.1", "::1"}
        self._lock = Lock()
        self._client: httpx2.Client | None = None

    def __call__(self, body: Mapping[str, object]) -> object:
        """The answer's JSON. Raises EmbedderUnavailable, EmbedderMisbehaved."""
        import stamina  # only those with a server need it

        logging.getLogger("stamina").setLevel(logging.ERROR)  # one warning is enough, and it is ours

        def wait(error: Exception) -> bool | float:
            if isinstance(error, _TryAgain):
                return True if error.wait is None else error.wait
            return False

        data = json.dumps(body).encode()
        for attempt in stamina.retry_context(
            on=wait, attempts=_ATTEMPTS, timeout=self._timeout, wait_initial=0.1, wait_max=1.0, wait_jitter=0.1
        ):
            with attempt:
                return self._parsed(self._send(data))
        raise AssertionError("the last attempt either returns or raises")

    def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _send(self, data: bytes) -> bytes:
        until = self._clock() + self._timeout
        with self._errors(), self._opened().stream("POST", self._url, content=data) as response:
            read = bytearray()
            for block in response.iter_bytes():
                read += block
                if len(read) > self._largest:
                    raise EmbedderMisbehaved(f"{self.shown} answered with more than {self._largest} bytes")
                if self._clock() > until:
                    raise _TryAgain(f"{self.shown} did not finish its answer within {self._timeout:g} s")
            self._refuse(response, bytes(read))
            return bytes(read)

    def _refuse(self, response: httpx2.Response, body: bytes) -> None:
        status = response.status_code
        if 200 <= status < 300:
            return
        said = f"{self.shown} answered {status} ({self._without_key(body)})"
        if status == 429:
            raise _TryAgain(said, _seconds(response.headers.get("retry-after")))
        if status >= 500:
            raise _TryAgain(said)
        if status in {401, 403}:
            # what it said is not repeated: servers quote the key that they refuse, often in part
            raise EmbedderUnavailable(f"{self.shown} answered {status}; check the embedder's key")
        if 300 <= status < 400:
            raise EmbedderUnavailable(f"{self.shown} redirects elsewhere, which is not followed; set the final address")
        raise EmbedderUnavailable(f"{said}; check the embedder's url and model")

    def _without_key(self, body: bytes) -> str:
        """The beginning of an error's text. Some servers repeat the key they refuse, whole or in parts."""
        text = body.decode("utf-8", "replace")
        for secret in (self._key, *(self._login or ())):
            if secret:
                text = text.replace(secret, "…")
        text = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * _ERROR_SHOWN]).split())
        return text[:_ERROR_SHOWN] or "without a word"

    def _parsed(self, data: bytes) -> object:
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise EmbedderMisbehaved(f"{self.shown} answered with something that is no JSON; is the url right?") from error

    @contextmanager
    def _errors(self) -> Iterator[None]:
        import httpx2

        try:
            yield
        except httpx2.TimeoutException as error:
            raise _TryAgain(f"{self.shown} did not answer within {self._timeout:g} s") from error
        except httpx2.UnsupportedProtocol as error:
            raise SettingsError(f"{self.shown} is no web address that can be asked") from error
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise _TryAgain(f"{self.shown} cannot be reached or broke off ({type(error).__name__}); is it running?") from error

    def _opened(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._client is None:
                headers = {"content-type": "application/json", "accept-encoding": "identity"}
                if self._key:
                    headers["authorization"] = f"Bearer {self._key}"
                # a proxy is for the world outside; it cannot reach a server on this machine
                self._client = httpx2.Client(
                    headers=headers,
                    auth=self._login if not self._key else None,
                    timeout=self._timeout,
                    follow_redirects=False,
                    trust_env=not self._local,
                )
            return self._client


def _seconds(header: str | None) -> float | None:
    """What `Retry-After` asks for, within reason; None for a date or nothing."""
    if header is None or not header.strip().isascii() or not header.strip().isdigit():
        return None
    return min(float(header[:9]), _LONGEST_WAIT)

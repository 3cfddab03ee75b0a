"""One JSON question to a server over HTTP: in bounded time, of bounded size, tried again where that makes sense."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from muisti.errors import SettingsError
from muisti.models.http.purpose import Purpose

if TYPE_CHECKING:
    import httpx2

_ATTEMPTS = 3
_LONGEST_WAIT = 5.0
"""Seconds that a server may ask us to wait; for longer, the question is given up and the breaker keeps the pause."""
_LARGEST_ANSWER = 64 * 1024 * 1024
_ERROR_SHOWN = 200


class _Passing(Exception):
    """May pass by itself: no connection, a time-out, an overloaded server."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


def validate_url(url: str, purpose: Purpose) -> SplitResult:
    """The parts of an address. Raises SettingsError if it is none."""
    try:
        parts = urlsplit(url)
        if parts.hostname and parts.scheme in {"http", "https"} and parts.port != 0:
            return parts
    except ValueError:
        pass
    raise SettingsError(
        f"the {purpose.name}'s url is no web address; it looks like http://localhost:11434"
    )


class JsonClient:
    """Posts to one address. Connections are kept; redirects are not followed, for they would carry the key along."""

    def __init__(
        self,
        url: str,
        purpose: Purpose,
        *,
        key: str | None = None,
        key_header: str = "authorization",
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        largest: int = _LARGEST_ANSWER,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises SettingsError for an address that is none. `timeout` is for one attempt, and for starting another.

        In the header `authorization` the key is a bearer's; in another, as x-api-key, it stands alone.
        """
        parts = validate_url(url, purpose)
        place = parts.netloc.rpartition("@")[2]
        self.shown = f"{parts.scheme}://{place}{parts.path}"
        """The address without what may be secret in it."""
        # httpx2 logs the address it asks, so that a name and password must not stand in it
        self._url = parts._replace(netloc=place).geturl()
        self._login = (
            (unquote(parts.username or ""), unquote(parts.password or ""))
            if "@" in parts.netloc
            else None
        )
        self._purpose = purpose
        self._key = (key or "").strip()  # files and shells leave line ends
        self._headers = {
            "content-type": "application/json",
            "accept-encoding": "identity",
            **(headers or {}),
        }
        if self._key:
            self._headers[key_header] = (
                f"Bearer {self._key}" if key_header == "authorization" else self._key
            )
        self._timeout = timeout
        self._largest = largest
        self._clock = clock
        self._local = parts.hostname in {"localhost", "127.0.0.1", "::1"}
        self._lock = Lock()
        self._client: httpx2.Client | None = None

    def __call__(self, body: Mapping[str, object]) -> object:
        """The answer's JSON. Raises the purpose's errors: it is unavailable, it refuses the question, it misbehaved."""
        import stamina  # only those with a server need it

        logging.getLogger("stamina").setLevel(
            logging.ERROR
        )  # one warning is enough, and it is ours
        until = self._clock() + self._timeout

        def wait(error: Exception) -> bool | float:
            if not isinstance(error, _Passing):
                return False
            if error.wait is None:
                return True
            return (
                error.wait
                if error.wait <= _LONGEST_WAIT and self._clock() + error.wait < until
                else False
            )

        data = json.dumps(body).encode()
        try:
            for attempt in stamina.retry_context(
                on=wait,
                attempts=_ATTEMPTS,
                timeout=self._timeout,
                wait_initial=0.1,
                wait_max=1.0,
                wait_jitter=0.1,
            ):
                with attempt:
                    return self._parsed(self._send(data))
        except _Passing as last:
            raise self._purpose.unavailable(str(last)) from last.__cause__
        raise AssertionError("the last attempt either returns or raises")

    def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _send(self, data: bytes) -> bytes:
        until = self._clock() + self._timeout
        client = self._opened()
        with self._errors(), client.stream("POST", self._url, content=data) as response:
            read = bytearray()
            for block in response.iter_bytes():
                read += block
                if len(read) > self._largest:
                    raise self._purpose.misbehaved(
                        f"{self.shown} answered with more than {self._largest} bytes"
                    )
                if self._clock() > until:
                    raise _Passing(
                        f"{self.shown} did not finish its answer within {self._timeout:g} s"
                    )
            self._refuse(response, bytes(read))
            return bytes(read)

    def _refuse(self, response: httpx2.Response, body: bytes) -> None:
        status, name = response.status_code, self._purpose.name
        if 200 <= status < 300:
            return
        said = f"{self.shown} answered {status} ({self._without_key(body)})"
        if status == 429:
            raise _Passing(said, _seconds(response.headers.get("retry-after")))
        if status >= 500:
            raise _Passing(said)
        if status in {401, 403}:
            # what it said is not repeated: servers quote the key that they refuse, often in part
            raise self._purpose.unavailable(
                f"{self.shown} answered {status}; check the {name}'s key"
            )
        if 300 <= status < 400:
            raise self._purpose.unavailable(
                f"{self.shown} redirects elsewhere, which is not followed; set the final address"
            )
        error = self._purpose.refused if status in {400, 422} else self._purpose.unavailable
        raise error(f"{said}; check the {name}'s url and model")

    def _without_key(self, body: bytes) -> str:
        """The beginning of an error's text. Some servers repeat the key they refuse, whole or in parts."""
        text = body.decode("utf-8", "replace")
        for secret in (self._key, *(self._login or ())):
            if secret:
                text = text.replace(secret, "…")
        text = " ".join(
            "".join(
                char if char.isprintable() else " " for char in text[: 4 * _ERROR_SHOWN]
            ).split()
        )
        return text[:_ERROR_SHOWN] or "without a word"

    def _parsed(self, data: bytes) -> object:
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._purpose.misbehaved(
                f"{self.shown} answered with something that is no JSON; is the url right?"
            ) from error

    @contextmanager
    def _errors(self) -> Iterator[None]:
        import httpx2

        try:
            yield
        except httpx2.TimeoutException as error:
            raise _Passing(f"{self.shown} did not answer within {self._timeout:g} s") from error
        except httpx2.UnsupportedProtocol as error:
            raise SettingsError(f"{self.shown} is no web address that can be asked") from error
        except UnicodeError as error:
            name = self._purpose.name
            raise self._purpose.unavailable(
                f"{self.shown} is no address that can be looked up; check the {name}'s url"
            ) from error
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise _Passing(
                f"{self.shown} cannot be reached or broke off ({type(error).__name__}); is it running?"
            ) from error
        except RuntimeError as error:  # what a client says that another thread has closed
            raise _Passing(f"{self.shown} was let go of while it was asked") from error

    def _opened(self) -> httpx2.Client:
        import httpx2

        if not (self._key.isascii() and self._key.isprintable()):
            name = self._purpose.name
            raise self._purpose.unavailable(
                f"the {name}'s key holds a character that no header can; check the variable it is in"
            )
        with self._lock:
            if self._client is None:
                try:
                    # a proxy is for the world outside; it cannot reach a server on this machine
                    self._client = httpx2.Client(
                        headers=self._headers,
                        auth=self._login if not self._key else None,
                        timeout=self._timeout,
                        follow_redirects=False,
                        trust_env=not self._local,
                    )
                except (OSError, ValueError, ImportError) as error:
                    raise self._purpose.unavailable(
                        f"{self.shown} cannot be asked ({type(error).__name__}); check the environment's proxies and certificates"
                    ) from error
            return self._client


def _seconds(header: str | None) -> float | None:
    """What `Retry-After` asks for; None for a date or nothing."""
    asked = (header or "").strip()
    return float(asked[:9]) if asked.isascii() and asked.isdigit() else None

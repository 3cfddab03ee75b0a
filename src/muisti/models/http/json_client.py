"""POST JSON to a server, limited in time and size, with retries."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from muisti.errors import SettingsError
from muisti.models.http.purpose import Purpose
from muisti.ports.waiting import get_wait_left

if TYPE_CHECKING:
    import httpx2

_ATTEMPTS = 3
_LONGEST_WAIT = 5.0
"""Longest accepted Retry-After in seconds. For longer waits the request fails."""
_LARGEST_RESPONSE = 64 * 1024 * 1024
_ERROR_SHOWN = 200


class _Temporary(Exception):
    """An error worth a retry: no connection, a timeout, an overloaded server."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


def validate_url(url: str, purpose: Purpose) -> SplitResult:
    """Return the parts of a URL. Raises SettingsError if it is not valid."""
    try:
        parts = urlsplit(url)
        if parts.hostname and parts.scheme in {"http", "https"} and parts.port != 0:
            return parts
    except ValueError:
        pass
    raise SettingsError(
        f"the {purpose.name}'s url must be an http or https URL, such as http://localhost:11434"
    )


class JsonClient:
    """Posts to one URL over kept connections. Does not follow redirects: they would get the key."""

    def __init__(
        self,
        url: str,
        purpose: Purpose,
        *,
        key: str | None = None,
        key_header: str = "authorization",
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        largest: int = _LARGEST_RESPONSE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises SettingsError for an invalid URL.

        `timeout` limits each attempt, and the time until the last one starts. The key is a bearer
        token in the header `authorization`, and plain in others, such as x-api-key.
        """
        parts = validate_url(url, purpose)
        place = parts.netloc.rpartition("@")[2]
        self.shown = f"{parts.scheme}://{place}{parts.path}"
        """The URL without secrets."""
        # Without name and password: httpx2 logs the URL.
        self._url = parts._replace(netloc=place).geturl()
        self._login: tuple[str, str] | None = None
        if "@" in parts.netloc:
            self._login = (unquote(parts.username or ""), unquote(parts.password or ""))
        self._purpose = purpose
        self._key = (key or "").strip()  # files and shells leave line ends
        self._headers = {
            "content-type": "application/json",
            "accept-encoding": "identity",
            **(headers or {}),
        }
        if self._key:
            is_bearer = key_header == "authorization"
            self._headers[key_header] = f"Bearer {self._key}" if is_bearer else self._key
        self._timeout = timeout
        self._largest = largest
        self._clock = clock
        self._local = parts.hostname in {"localhost", "127.0.0.1", "::1"}
        self._lock = Lock()
        self._client: httpx2.Client | None = None

    def __call__(self, body: Mapping[str, object]) -> object:
        """Return the response's JSON. Raises the purpose's errors.

        `limit_wait` may shorten the timeout.
        """
        import stamina  # only remote models need it

        logging.getLogger("stamina").setLevel(logging.ERROR)  # we warn ourselves
        left = get_wait_left()
        timeout = self._timeout if left is None else min(self._timeout, left)
        if timeout <= 0:
            raise self._purpose.unavailable(f"there was no time left to ask {self.shown}")
        until = self._clock() + timeout

        def wait(error: Exception) -> bool | float:
            if not isinstance(error, _Temporary):
                return False
            if error.wait is None:
                return True
            is_short = error.wait <= _LONGEST_WAIT and self._clock() + error.wait < until
            return error.wait if is_short else False

        data = json.dumps(body).encode()
        try:
            for attempt in stamina.retry_context(
                on=wait,
                attempts=_ATTEMPTS,
                timeout=timeout,
                wait_initial=0.1,
                wait_max=1.0,
                wait_jitter=0.1,
            ):
                with attempt:
                    rest = timeout if left is None else max(0.001, until - self._clock())
                    response = self._send(data, rest)
        except _Temporary as last:
            raise self._purpose.unavailable(str(last)) from last.__cause__
        try:
            return json.loads(response)
        except (ValueError, RecursionError) as error:
            wrong = f"{self.shown} returned something other than JSON"
            fix = f"check the {self._purpose.name}'s url"
            raise self._purpose.misbehaved(f"{wrong}; {fix}") from error

    def close(self) -> None:
        """Close the connections. The next request opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _send(self, data: bytes, timeout: float) -> bytes:
        import httpx2

        until = self._clock() + timeout
        client = self._open()
        read = bytearray()
        name = self._purpose.name
        try:
            with client.stream("POST", self._url, content=data, timeout=timeout) as response:
                for block in response.iter_bytes():
                    read += block
                    if len(read) > self._largest:
                        raise self._purpose.misbehaved(
                            f"{self.shown} returned more than {self._largest} bytes"
                        )
                    if self._clock() > until:
                        raise _Temporary(
                            f"{self.shown} did not finish its response within {timeout:g} s"
                        )
        except httpx2.TimeoutException as error:
            raise _Temporary(f"{self.shown} did not respond within {timeout:.2g} s") from error
        except httpx2.UnsupportedProtocol as error:
            raise SettingsError(f"{self.shown} is not an http or https URL") from error
        except UnicodeError as error:
            raise self._purpose.unavailable(
                f"{self.shown} is not a valid host name; check the {name}'s url"
            ) from error
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            reason = f"cannot be reached or broke off ({type(error).__name__}); is it running?"
            raise _Temporary(f"{self.shown} {reason}") from error
        except RuntimeError as error:  # another thread closed the client
            raise _Temporary(f"the connection to {self.shown} was closed") from error
        self._check_status(response, bytes(read))
        return bytes(read)

    def _check_status(self, response: httpx2.Response, body: bytes) -> None:
        status, name = response.status_code, self._purpose.name
        if 200 <= status < 300:
            return
        text = body.decode("utf-8", "replace")
        for secret in (self._key, *(self._login or ())):
            if secret:
                text = text.replace(secret, "…")
        printable = [char if char.isprintable() else " " for char in text[: 4 * _ERROR_SHOWN]]
        text = " ".join("".join(printable).split())
        reason = f"{self.shown} returned {status} ({text[:_ERROR_SHOWN] or 'no message'})"
        if status == 429:
            after = response.headers.get("retry-after", "").strip()
            is_seconds = after.isascii() and after.isdigit()  # it may be a date
            raise _Temporary(reason, float(after[:9]) if is_seconds else None)
        if status >= 500:
            raise _Temporary(reason)
        if status in {401, 403}:
            # Without the body: servers quote the key that they reject, often in part.
            raise self._purpose.unavailable(
                f"{self.shown} returned {status}; check the {name}'s key"
            )
        if 300 <= status < 400:
            raise self._purpose.unavailable(
                f"{self.shown} redirects, which is not followed; set the final URL"
            )
        error = self._purpose.refused if status in {400, 422} else self._purpose.unavailable
        raise error(f"{reason}; check the {name}'s url and model")

    def _open(self) -> httpx2.Client:
        import httpx2

        if not (self._key.isascii() and self._key.isprintable()):
            name = self._purpose.name
            raise self._purpose.unavailable(
                f"the {name}'s key has a character that is not allowed in a header; check it"
            )
        with self._lock:
            if self._client is None:
                try:
                    # A proxy cannot reach a server on this machine.
                    self._client = httpx2.Client(
                        headers=self._headers,
                        auth=self._login if not self._key else None,
                        timeout=self._timeout,
                        follow_redirects=False,
                        trust_env=not self._local,
                    )
                except (OSError, ValueError, ImportError) as error:
                    reason = f"{self.shown} cannot be used ({type(error).__name__})"
                    raise self._purpose.unavailable(
                        f"{reason}; check the environment's proxies and certificates"
                    ) from error
            return self._client

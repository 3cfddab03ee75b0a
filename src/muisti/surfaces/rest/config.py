"""The server's configuration: one frozen value, checked when it is created."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from muisti.errors import SettingsError

MIN_TOKEN_LENGTH = 16
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
WILDCARDS = ("0.0.0.0", "::", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """Where to listen, which clients to accept, and the limits. Raises SettingsError if unsafe."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    """Required of every client. Without one, the server only listens on this machine."""
    tenants: bool = False
    """Every client sends a token of a tenant of the database."""
    allowed_hosts: tuple[str, ...] = ()
    """Further Host names to accept, besides those of this machine and `host`."""
    allowed_origins: tuple[str, ...] = ()
    """Other sites whose pages may send requests, such as `http://localhost:3000`."""
    document_folders: tuple[Path, ...] = ()
    """Folders whose Markdown a client may have indexed; none by default."""
    body_limit: int = 16 * 2**20
    """Bytes of a request body."""
    body_seconds: float = 30.0
    """Seconds until the whole body must have arrived."""
    header_seconds: float = 15.0
    """Seconds until the request headers must have arrived."""
    write_rate: float = 200.0
    """Sustained writes per second and client; 0: no limit."""
    write_burst: int = 400
    """Writes that one client may make at once."""
    connections: int = 512
    listeners: int = 64
    """Clients that may subscribe to events at the same time."""
    web_page: bool = True
    """Serve the web page too, if it is installed."""
    watch: bool = True
    """Watch the files for external changes, and run maintenance."""
    settle_seconds: float = 0.2
    """Seconds to wait for further changes before they are picked up together."""
    rescan_every: float = 60.0
    """Seconds between two scans of all files, in case a change was not reported."""
    maintenance_after: float = 600.0
    """Seconds from the start to the first maintenance."""
    maintenance_every: float = 86_400.0

    def __post_init__(self) -> None:
        if self.token is not None and (
            len(self.token) < MIN_TOKEN_LENGTH or not self.token.isascii() or " " in self.token
        ):
            raise SettingsError(
                f"the token must have at least {MIN_TOKEN_LENGTH} ASCII characters and no space"
            )
        if self.tenants and (self.token is not None or self.document_folders):
            raise SettingsError("tenants have tokens of their own, and no folders of this machine")
        if self.token is None and not self.tenants and not is_loopback(self.host):
            raise SettingsError(
                f"{self.host} can be reached by other machines: set a token (--token-file PATH), "
                "or serve only 127.0.0.1"
            )
        for origin in self.allowed_origins:
            if origin != canonical_origin(origin):
                raise SettingsError(
                    f"{origin!r} is not a valid origin; it must look like http://localhost:3000"
                )

    @property
    def base_url(self) -> str:
        """The address for a browser on this machine."""
        host = "127.0.0.1" if self.host in WILDCARDS else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_address(host: str) -> bool:
    """Whether the host is an IP address, which no name server can redirect."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def canonical_origin(origin: str) -> str | None:
    """Return `scheme://host`, with the port unless it is the default one; None if not an origin."""
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        return None
    if f"{parts.scheme}://{parts.netloc}" != origin:
        return None
    default = 80 if parts.scheme == "http" else 443
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, default) else "")


def parse_host(header: str) -> str | None:
    """Return the name in a Host header, in lower case and without the port; None if invalid."""
    if not header or any(char in header for char in "@/\\?# \t,"):
        return None
    try:
        parts = urlsplit(f"//{header}")
        return parts.hostname if parts.port is None or parts.port > 0 else None
    except ValueError:
        return None

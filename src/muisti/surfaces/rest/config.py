"""How the server serves: one frozen value, checked when it is made."""

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
    """Where to listen, who may ask, and how much of it. Raises SettingsError for what would not be safe."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    """Everybody has to show it; without one only this machine is served."""
    allowed_hosts: tuple[str, ...] = ()
    """Names that the server may be called by, beside those of this machine and its own address."""
    allowed_origins: tuple[str, ...] = ()
    """Other web pages that may ask, such as `http://localhost:3000`."""
    document_folders: tuple[Path, ...] = ()
    """Folders of which a client may have Markdown searched; without one, none."""
    body_limit: int = 16 * 2**20
    """Bytes that a request may have."""
    body_seconds: float = 30.0
    """Seconds within which a request has to be there as a whole."""
    header_seconds: float = 15.0
    """Seconds within which a request has to be begun."""
    write_rate: float = 200.0
    """Changes a second that one client may make for long; 0: any number."""
    write_burst: int = 400
    """Changes that one client may make at once."""
    connections: int = 512
    listeners: int = 64
    """Clients that may wait for events at a time."""
    web_page: bool = True
    """Serve the page for the browser too, where it is installed."""
    watch: bool = True
    """Take in what is edited by hand, and do upkeep."""
    settle_seconds: float = 0.2
    """Seconds to wait for further edits before they are taken in together."""
    rescan_every: float = 60.0
    """Seconds after which the files are looked at even if nothing was heard of them."""
    maintenance_after: float = 600.0
    """Seconds after the start until the first upkeep."""
    maintenance_every: float = 86_400.0

    def __post_init__(self) -> None:
        if self.token is not None and (
            len(self.token) < MIN_TOKEN_LENGTH or not self.token.isascii() or " " in self.token
        ):
            raise SettingsError(
                f"the token must have at least {MIN_TOKEN_LENGTH} ASCII characters and no space"
            )
        if self.token is None and not is_loopback(self.host):
            raise SettingsError(
                f"{self.host} can be reached by other machines: give a token (--token-file PATH), or serve 127.0.0.1 alone"
            )
        for origin in self.allowed_origins:
            if origin != canonical_origin(origin):
                raise SettingsError(
                    f"{origin!r} is no origin of a web page; write it like http://localhost:3000"
                )

    @property
    def base_url(self) -> str:
        """Where a browser on this machine finds it."""
        host = "127.0.0.1" if self.host in WILDCARDS else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_address(host: str) -> bool:
    """Whether it is a number: no name server can make it mean another machine."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def canonical_origin(origin: str) -> str | None:
    """`scheme://host` with a port only where it is not the usual one; None if it is no web page's."""
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return None
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or f"{parts.scheme}://{parts.netloc}" != origin
    ):
        return None
    if "@" in parts.netloc:
        return None
    usual = 80 if parts.scheme == "http" else 443
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, usual) else "")


def host_name(header: str) -> str | None:
    """The name in a Host header, without the port, in lower case; None if it is none."""
    if not header or any(char in header for char in "@/\\?# \t,"):
        return None
    try:
        parts = urlsplit(f"//{header}")
        return parts.hostname if parts.port is None or parts.port > 0 else None
    except ValueError:
        return None

"""Headers that protect every response over HTTP, whether REST's or the page's (contract K3)."""

from __future__ import annotations

from collections.abc import Mapping


def protective_headers(policy: str, referrer: str) -> Mapping[str, str]:
    """Return the headers of a response with this Content-Security-Policy and Referrer-Policy."""
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": referrer,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    }

"""What the integrations of frameworks share."""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Callable
from importlib import metadata
from typing import Any


def in_thread(function: Callable[..., Any]) -> Any:
    """Return a coroutine function that runs a method in a thread.

    The type is that of the method in the framework's base class.
    """

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(function, *args, **kwargs)

    return call


def require(package: str, oldest: str, extra: str) -> None:
    """Raises ImportError if a package is missing or older than `oldest`. It names the extra."""
    command = f"pip install -U 'muisti[{extra}]'"
    try:
        installed = metadata.version(package)
    except metadata.PackageNotFoundError:
        raise ImportError(
            f"{package} {oldest} or later is not installed: {command}", name=package
        ) from None
    if _parse_version(installed) < _parse_version(oldest):
        raise ImportError(
            f"{package} {installed} is too old, {oldest} or later is needed: {command}",
            name=package,
        )


def _parse_version(version: str) -> tuple[int, ...]:
    """Return the numbers of a release: (1, 2) for `1.2rc1`."""
    release = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(number) for number in release[0].split(".")) if release else ()

"""Old public names that still work (contract M2). Each use gives a DeprecationWarning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

C = TypeVar("C", bound=type[Any])
F = TypeVar("F", bound=Callable[..., Any])

RENAMED_METHODS = {
    "archived": "list_archive",
    "archived_count": "count_archive",
    "chats": "list_conversations",
    "shelves": "list_document_sources",
    "trashed": "list_trash",
}
"""Methods of Muisti and MemoryService."""


def warn_renamed(old: str, new: str, *, stacklevel: int = 3) -> None:
    """Warn that a name was renamed. By default the warning points at the caller's caller."""
    warnings.warn(f"{old} was renamed to {new}", DeprecationWarning, stacklevel=stacklevel)


def renamed_argument(old: str, new: str) -> Callable[[F], F]:
    """Let callers of a function still pass the keyword argument `new` under its old name."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **replace_renamed(call, kwargs))

        vars(call)["renamed_arguments"] = {old: new}
        return call  # type: ignore[return-value]  # it has the same signature

    return decorate


def replace_renamed(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's keyword arguments under their present names.

    Raises TypeError if one is given under both names.
    """
    present = dict(kwargs)
    for old, new in getattr(function, "renamed_arguments", {}).items():
        if old not in present:
            continue
        if new in present:
            raise TypeError(f"{function.__name__}() got both {new!r} and its old name {old!r}")
        warn_renamed(f"the argument {old!r}", repr(new), stacklevel=4)
        present[new] = present.pop(old)
    return present


def renamed_methods(cls: C) -> C:
    """Add the old method names of RENAMED_METHODS to a class."""
    for old, new in RENAMED_METHODS.items():
        setattr(cls, old, _make_alias(old, new, getattr(cls, new)))
    return cls


def _make_alias(old: str, new: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: object, *args: Any, **kwargs: Any) -> Any:
        warn_renamed(f"{old}()", f"{new}()")
        return getattr(self, new)(*args, **kwargs)

    call.__name__ = old
    vars(call)["__deprecated__"] = f"renamed to {new}()"  # the attribute that PEP 702 defines
    return call


def renamed_field(old: str, new: str) -> Callable[[C], C]:
    """Let a dataclass be read and created with the old name of a field."""

    def decorate(cls: C) -> C:
        def get(self: object) -> Any:
            warn_renamed(f"{cls.__name__}.{old}", f"{cls.__name__}.{new}")
            return getattr(self, new)

        aliases = {
            old: property(get, doc=f"Renamed to `{new}`."),
            "__init__": renamed_argument(old, new)(vars(cls)["__init__"]),
            "renamed_fields": {old: new},
        }
        for name, value in aliases.items():
            setattr(cls, name, value)
        return cls

    return decorate

"""Finds plug-ins by name: embedders, language models, vector indexes, import formats.

A plug-in is a module with a `SPEC`. Its name is the module's name, with `-` for `_`. Adding a
plug-in means adding its module. Only the one in use is imported.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Generic, TypeVar

Spec = TypeVar("Spec")
_NAME = re.compile(r"[a-z][a-z0-9-]*")


class Registry(Generic[Spec]):
    """The plug-ins in one package."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find(self, name: str) -> Spec | None:
        """Return the plug-in with this name, or None. Imports no other."""
        if not _NAME.fullmatch(name):
            return None
        path = f"{self._package}.{name.replace('-', '_')}"
        try:
            module = import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path:
                raise
            return None
        spec: Spec | None = getattr(module, "SPEC", None)
        return spec

    def load_all(self) -> dict[str, Spec]:
        """Import all modules of the package and return the plug-ins by name, sorted."""
        import pkgutil  # only lists and error messages need it

        modules = pkgutil.iter_modules(import_module(self._package).__path__)
        names = sorted(module.name.replace("_", "-") for module in modules)
        found = {name: self.find(name) for name in names}
        return {name: spec for name, spec in found.items() if spec is not None}

    def names(self, first: str = "") -> list[str]:
        """Return all names in alphabetical order, but `first` at the front."""
        return sorted(self.load_all(), key=lambda name: (name != first, name))

"""Muisti: one object with all operations. It delegates and has no rules of its own."""

from __future__ import annotations

import os

from muisti.deprecation import renamed_methods
from muisti.engine.background import Background
from muisti.engine.conversations import Conversations
from muisti.engine.forgetting import Forgetting
from muisti.engine.maintenance import Maintenance
from muisti.engine.prompts import Prompts
from muisti.engine.reader import Reader
from muisti.engine.review import Review
from muisti.engine.sessions import Sessions
from muisti.engine.signatures import spell_options
from muisti.settings import ValueOrList


@renamed_methods
@spell_options
class Muisti(
    Reader,
    Conversations,
    Background,
    Prompts,
    Review,
    Sessions,
    Forgetting,
    Maintenance,
):
    """An open vault, safe to use from several threads.

    Create one with `Muisti.open(path)`; call `close` or use `with`.
    """

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None = None, **settings: ValueOrList) -> Muisti:
        """Open the vault at a path, or the one found from here; create it if missing.

        `:memory:` opens a vault that is never written to disk.
        """
        # The only import of a higher layer, because callers start here.
        from muisti import bootstrap

        return bootstrap.open(path, settings=settings)

"""The part of the engine that `muisti search` needs: the rest takes longer to import."""

from __future__ import annotations

from muisti.engine.embedding import Embedding
from muisti.engine.location import VaultInfo


class Reader(Embedding, VaultInfo):
    """A vault that is open to search and read memories, by meaning too."""

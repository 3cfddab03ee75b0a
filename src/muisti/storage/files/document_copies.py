"""Documents for a store that has no folder: it copies the text of files, and has notes as rows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from muisti.model import DocumentSource
from muisti.model.documents import VERSION_LENGTH
from muisti.ports.documents import StoredDocument
from muisti.ports.rows import TextRow
from muisti.settings import Settings
from muisti.storage.files.documents import (
    NOTES,
    FileDocuments,
    is_listed,
    make_document_name,
    split_sections,
)
from muisti.storage.files.timestamps import read_mtime

NO_FOLDER = Path(os.devnull) / "vault"
"""The folder of a vault that has none: no file is inside."""


class MarkdownDocuments:
    """Implements the port DocumentFormat."""

    def __init__(self, settings: Settings) -> None:
        self._files = FileDocuments(NO_FOLDER, settings)

    def list_workspace_sources(self) -> list[DocumentSource]:
        """Return `MEMORY.md` and `memory/` of the workspace."""
        return self._files.list_workspace_sources()

    def resolve_source(self, path: str) -> str:
        """Return the path of a source: of notes as it is, else absolute. Raises InvalidRequest.

        `memories` and folders below are notes. A folder of that name on the disk is `./memories`.
        """
        plain = path.replace(os.sep, "/").rstrip("/")
        return plain if is_note(plain) else self._files.resolve_source(path)

    def copy_source(self, source: DocumentSource) -> Iterator[StoredDocument]:
        """Yield a copy of each file of a source outside the vault."""
        for path, _ in self._files.scan(source) or ():
            loaded = self._files.load(path, source)
            if loaded is None:
                continue  # removed meanwhile
            data, status, problem = loaded
            if status is None:
                epoch = datetime.fromtimestamp(0, UTC)
                yield StoredDocument(path, b"", epoch, is_copy=True, problem=problem)
                continue
            body, problem = self._files.extract_body(path, data)
            body_bytes = body.encode("utf-8", "replace")
            yield StoredDocument(
                path, body_bytes, read_mtime(status), True, _make_version(data), problem
            )

    def includes(self, source: DocumentSource, path: str) -> bool:
        """Return whether a file of the vault is a document of a source."""
        if path == source.path:
            return True
        steps = path.removeprefix(f"{source.path}/").split("/")
        return path.startswith(f"{source.path}/") and is_listed(
            steps, any_text=is_note(source.path)
        )

    def project(
        self, document: StoredDocument, source: DocumentSource
    ) -> tuple[list[TextRow], str, str]:
        """Return the rows of a document's sections, its version, and why it has none, or ""."""
        from muisti.remember.index_rows import project_document

        path, data, changed_at, is_copy, version, problem = document
        if is_copy:
            body = data.decode("utf-8", "replace")
        else:
            body, problem = self._files.extract_body(path, data)
            version = _make_version(data)
        name = make_document_name(path, source)
        rows = project_document(path, source, name, changed_at, split_sections(body))
        return rows, version, problem


def is_note(path: str) -> bool:
    """Return whether a path, relative to the vault, is the folder for notes or below it."""
    return path == NOTES or path.startswith(f"{NOTES}/")


def _make_version(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:VERSION_LENGTH]

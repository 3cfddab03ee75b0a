"""Documents and notes are pushed, and searched on a database as they are in the folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muisti import Muisti
from muisti.bootstrap_moving import pull, push
from muisti.model import DocumentSource
from muisti.ports.documents import StoredDocument
from muisti.storage.files.document_copies import MarkdownDocuments
from muisti.storage.postgres import documents
from tests.postgres.server import make_location

FILES: dict[str, str | bytes] = {
    "MEMORY.md": "# About me\n\nThe walrus likes clams.\n",
    "memory/2026-03.md": "---\ntitle: March\n---\nThe walrus slept.\n",
    "memory/.hidden.md": "the walrus hides\n",
    "memory/table.csv": "the walrus,1\n",
    "memories/anna/likes.txt": "Anna likes the walrus.\n",
    "memories/picture.png": b"\x89PNG\xff",
    "memories/broken.md": b"\xff",
    "memories/private.md": "the walrus <private>4711</private> sleeps\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    Muisti.open(root, embedder="none").close()
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def describe(memory: Muisti) -> tuple[object, ...]:
    found = memory.search("the walrus", limit=50)
    return (
        sorted((one.memory.id, one.memory.title, one.memory.content) for one in found),
        sorted((one.memory.id, one.memory.created_at, one.memory.trusted) for one in found),
        [one.document_version for one in sorted(found, key=lambda one: one.memory.id)],
        memory.list_documents(),
        memory.list_document_sources(),
        memory.problems(),
    )


def test_L2_documents_of_the_vault_are_the_same_on_both_stores(vault: Path, tmp_path: Path) -> None:
    location = make_location()
    with Muisti.open(vault, embedder="none") as memory:
        memory.index_path(vault / "memories", project="zoo", trusted=True)
        expected = describe(memory)
        assert len(memory.list_documents()) == 6
    assert push(location, vault).problems == ()
    with Muisti.open(location, embedder="none") as memory:
        assert describe(memory) == expected
        assert memory.verify(deep=True).problems == ()
        memory.reindex()
        assert describe(memory) == expected
        memory.forget_path("memories")
        assert len(memory.list_documents()) == 2
        assert memory.verify(deep=True).problems == ()
    assert pull(location, tmp_path / "pulled").problems == ()
    for path, text in FILES.items():
        data = text if isinstance(text, bytes) else text.encode()
        assert (tmp_path / "pulled" / path).read_bytes() == data


def test_L2_documents_elsewhere_are_named_by_push_and_left_out_by_pull(
    vault: Path, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "care.md").write_text("# Care\n\nThe otter. <private>4711</private>\n")
    with Muisti.open(vault, embedder="none") as memory:
        memory.index_path(docs, "handbook")
        expected = [(hit.memory.id, hit.score) for hit in memory.search("otter")]
        documents = memory.list_documents()
    location = make_location()
    [problem] = push(location, vault).problems
    assert (problem.path, "muisti index" in problem.reason) == (str(docs), True)
    with Muisti.open(location, embedder="none") as memory:
        assert memory.search("otter") == []
        assert memory.index_path(docs).source == "handbook", "the source was pushed"
        assert [(hit.memory.id, hit.score) for hit in memory.search("otter")] == expected
        assert memory.list_documents() == documents
        rows = memory._services.store.documents._db  # type: ignore[attr-defined]
        with rows.read_transaction() as db:
            [(stored,)] = db.execute("SELECT file FROM files WHERE outside").fetchall()
        assert stored.strip() == b"# Care\n\nThe otter.", "no private text is copied"
    assert pull(location, tmp_path / "pulled").problems == ()
    assert not list((tmp_path / "pulled").rglob("care.md"))


def test_L2_others_write_while_the_files_of_a_folder_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = make_location()
    (tmp_path / "guide.md").write_text("# Seals\n\nThey bark.\n")
    with (
        Muisti.open(location, embedder="none") as memory,
        Muisti.open(location, embedder="none", lock_timeout=5) as other,
    ):
        read = MarkdownDocuments.copy_source

        def save_and_read(
            self: MarkdownDocuments, source: DocumentSource
        ) -> Iterator[StoredDocument]:
            other.save("Written meanwhile")
            if not other.list_documents():  # another process copies the same file, first
                monkeypatch.setattr(MarkdownDocuments, "copy_source", read)
                other.index_path(tmp_path / "guide.md", "theirs")
            yield from read(self, source)

        monkeypatch.setattr(MarkdownDocuments, "copy_source", save_and_read)
        memory.index_path(tmp_path, "ours")
        assert [one.content for one in memory.list()] == ["Written meanwhile"]
        assert [one.source for one in memory.list_document_sources()] == ["ours", "theirs"]
        assert len(memory.list_documents()) == 1
        assert memory.verify(deep=True).problems == ()


def test_L2_a_folder_is_copied_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a large one does not need to fit into memory, and others write in between."""
    monkeypatch.setattr(documents, "BATCH_BYTES", 60)
    stored: list[int] = []
    original = documents.PostgresDocuments.store_copies

    def count(
        self: documents.PostgresDocuments, source: DocumentSource, copies: documents.Copies
    ) -> list[str]:
        stored.append(len(copies.changed))
        return original(self, source, copies)

    monkeypatch.setattr(documents.PostgresDocuments, "store_copies", count)
    folder = tmp_path / "guide"
    folder.mkdir()
    for number in range(10):
        (folder / f"{number}.md").write_text(f"# Part {number}\n\nThe walrus has {number} tusks.\n")
    with Muisti.open(make_location(), embedder="none") as memory:
        assert memory.index_path(folder).documents == 10
        assert sum(stored) == 10
        assert max(stored) <= 2
        assert len(memory.search("walrus tusks", limit=50)) == 10
        (folder / "3.md").write_text("# Part 3\n\nThe walrus sleeps.\n")
        (folder / "4.md").unlink()
        stored.clear()
        assert memory.index_path(folder, project="zoo").documents == 9
        assert sum(stored) == 1
        assert {one.project for one in memory.list_documents()} == {"zoo"}
        assert memory.verify(deep=True).problems == ()

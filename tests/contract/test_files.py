"""The vault and the journal on disk pass the suites of their ports."""

from __future__ import annotations

from pathlib import Path

import pytest

from muisti.adapters.files.attic import FileAttic
from muisti.adapters.files.create import create_vault
from muisti.adapters.files.disk import Disk
from muisti.adapters.files.journal import FileJournal
from muisti.adapters.files.vault import FileVault
from muisti.ports import Attic, Journal, Vault
from muisti.settings import Settings
from tests.conftest import FakeClock
from tests.contract.attic_suite import AtticContract
from tests.contract.journal_suite import JournalContract, Rewriting
from tests.contract.vault_suite import Bytes, VaultContract


class OnDisk(Bytes):
    def __init__(self, root: Path) -> None:
        self.root = root

    def get(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def put(self, path: str, data: bytes) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data)

    def paths(self) -> set[str]:
        found = {path.relative_to(self.root).as_posix() for path in self.root.rglob("*.md")}
        return {path for path in found if not path.startswith(".muisti/")}


class TestFileVault(VaultContract):
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        create_vault(tmp_path / "vault", Disk())
        (tmp_path / "vault" / ".muisti" / "tmp").mkdir(parents=True)
        return tmp_path / "vault"

    @pytest.fixture
    def vault(self, root: Path, clock: FakeClock) -> Vault:
        return FileVault(root, Settings(), clock)

    @pytest.fixture
    def raw(self, root: Path) -> OnDisk:
        return OnDisk(root)


class TestFileAttic(AtticContract):
    root, vault, raw = TestFileVault.root, TestFileVault.vault, TestFileVault.raw

    @pytest.fixture
    def attic(self, root: Path) -> Attic:
        return FileAttic(root, Settings())


class TestFileJournal(JournalContract):
    @pytest.fixture
    def journal(self, tmp_path: Path, clock: FakeClock) -> Journal:
        return FileJournal(tmp_path, clock)

    @pytest.fixture
    def rewrite(self, tmp_path: Path) -> Rewriting:
        def change(journal: Journal) -> None:
            path = tmp_path / "journal" / "2026-03.jsonl"
            path.write_bytes(path.read_bytes().replace(b'"two"', b'"rewritten"'))

        return change

"""Vectors in SQLite pass the suite of their port, whichever way the nearest are found."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import apsw
import numpy as np
import pytest

from muisti.errors import IndexCorrupt, SettingsError
from muisti.model import Memory
from muisti.storage.sqlite.connect import Database
from muisti.storage.sqlite.index import SqliteIndex
from muisti.storage.sqlite.vector_indexes import hnsw, make_scan
from muisti.storage.sqlite.vector_indexes.bits import SignScan
from muisti.storage.sqlite.vector_indexes.hnsw import HnswScan
from muisti.storage.sqlite.vector_indexes.sqlite_vec import VecScan
from muisti.storage.sqlite.vectors import SqliteVectors
from tests.contract.making import add
from tests.contract.synced_index_suite import put
from tests.contract.vectors_making import (
    FIRST,
    OTHER_SIZE,
    RECALL,
    Place,
    clustered,
    embedded,
    numbered,
    recall,
)
from tests.contract.vectors_suite import VectorsContract

KINDS = ["bits", "hnsw", "sqlite-vec"]


def opened(folder: Path, kind: str, closing: ExitStack) -> Place:
    folder.mkdir(exist_ok=True)
    database = Database(folder, 5)
    index = SqliteIndex(database, 5)
    if index.open():
        index.stale = False
    closing.callback(index.close)

    def rebuild(memories: Sequence[Memory]) -> None:
        with index.builder() as builder:
            put(builder, *memories)
            builder.swap()

    return Place(
        index, SqliteVectors(database, kind), lambda: opened(folder, kind, closing), rebuild
    )


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


class OnSqlite(VectorsContract):
    kind = ""

    @pytest.fixture
    def place(self, tmp_path: Path, closing: ExitStack) -> Iterator[Place]:
        place = opened(tmp_path / "index", self.kind, closing)
        yield place
        assert place.index.check() == []


class TestBits(OnSqlite):
    kind = "bits"


@pytest.mark.exhaustive
class TestHnsw(OnSqlite):
    kind = "hnsw"


@pytest.mark.exhaustive
class TestSqliteVec(OnSqlite):
    kind = "sqlite-vec"


class TestChoosing:
    def test_by_name(self) -> None:
        assert [type(make_scan(kind)) for kind in KINDS] == [SignScan, HnswScan, VecScan]

    def test_a_name_that_is_none(self) -> None:
        with pytest.raises(SettingsError, match="'faiss': choose bits, hnsw or sqlite-vec"):
            make_scan("faiss")

    @pytest.mark.parametrize(
        ("kind", "module"), [("hnsw", "usearch.index"), ("sqlite-vec", "sqlite_vec")]
    )
    def test_without_its_package(
        self, monkeypatch: pytest.MonkeyPatch, kind: str, module: str
    ) -> None:
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(SettingsError, match=rf"pip install muisti\[{kind}\]"):
            make_scan(kind)

    def test_models_can_still_be_loaded_after_the_graph(self) -> None:
        """Two C++ libraries in one process once crashed it."""
        code = "from muisti.storage.sqlite.vector_indexes import make_scan; make_scan('hnsw'); import onnxruntime"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class TestDamage:
    """What happened to the index behind its back is noticed, and building it anew repairs it."""

    @pytest.fixture
    def place(self, tmp_path: Path, closing: ExitStack) -> Place:
        place = opened(tmp_path / "index", "bits", closing)
        place.fill(numbered(10), clustered(20))
        return place

    DAMAGE = pytest.mark.parametrize(
        ("sql", "report"),
        [
            ("DELETE FROM vectors WHERE v = 7", "memories with a wrong number of vectors: 1"),
            (
                "UPDATE vectors SET codes = substr(codes, 1, 63) WHERE v = 7",
                "vectors of the wrong length: 1",
            ),
            ("DELETE FROM signs WHERE v = 7", "vectors without signs, or signs without vectors: 1"),
            ("DELETE FROM embedded WHERE n = 3", "memories neither embedded nor waiting"),
            ("DELETE FROM entries WHERE n = 3", "vectors of missing memories"),
        ],
        ids=["vector", "codes", "signs", "embedded", "memory"],
    )

    def damage(self, tmp_path: Path, sql: str) -> None:
        db = apsw.Connection(str(next((tmp_path / "index").glob("index-*.db"))))
        db.execute(sql)
        db.close()

    @DAMAGE
    def test_is_reported(self, place: Place, tmp_path: Path, sql: str, report: str) -> None:
        self.damage(tmp_path, sql)
        assert any(report in line for line in place.index.check())

    @DAMAGE
    def test_is_gone_after_building_anew(
        self, place: Place, tmp_path: Path, sql: str, report: str
    ) -> None:
        self.damage(tmp_path, sql)
        place.rebuild(numbered(10))
        assert place.index.check() == []
        for id_ in place.vectors.find_missing(place.space(), 10):
            at = [memory.id for memory in numbered(10)].index(id_)
            place.embed(numbered(10)[at], clustered(20)[2 * at : 2 * at + 2])
        assert recall(place, numbered(10), clustered(20)) == 1

    def test_pages_that_cannot_be_read_do_not_keep_it_from_being_built_anew(
        self, place: Place, tmp_path: Path
    ) -> None:
        place.index.close()
        file = next((tmp_path / "index").glob("index-*.db"))
        db = apsw.Connection(str(file))
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = db.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'vectors'"
        ).fetchone() or (0,)
        size = db.pragma("page_size")
        db.close()
        data = bytearray(file.read_bytes())
        data[(root - 1) * size : root * size] = b"\xff" * size
        file.write_bytes(data)
        place.index.open()
        place.rebuild(numbered(10))
        assert place.index.check() == []
        assert place.vectors.prepare(FIRST).missing == 10

    @pytest.mark.parametrize("kind", KINDS)
    def test_codes_cut_short_are_no_wrong_answer(
        self, place: Place, tmp_path: Path, closing: ExitStack, kind: str
    ) -> None:
        self.damage(tmp_path, "UPDATE vectors SET codes = substr(codes, 1, 63) WHERE v = 7")
        other = opened(tmp_path / "index", kind, closing)
        with pytest.raises(IndexCorrupt):
            other.nearest(clustered(1)[0])
        with pytest.raises(IndexCorrupt):
            other.vectors.compute_similarities(other.space(), clustered(1)[0], [numbered(4)[3].id])
        with pytest.raises(IndexCorrupt):
            other.vectors.get_vector(other.space(), numbered(4)[3].id)


class TestTheFileOfTheGraph:
    COUNT = 750
    MEMORIES = numbered(COUNT // 3)

    @pytest.fixture
    def place(self, tmp_path: Path, closing: ExitStack) -> Place:
        place = opened(tmp_path / "index", "hnsw", closing)
        place.fill(self.MEMORIES, clustered(self.COUNT))
        assert self.found(place) >= RECALL
        return place

    @pytest.fixture
    def file(self, place: Place, tmp_path: Path) -> Path:
        (file,) = (tmp_path / "index").glob("*.hnsw")
        assert file.stat().st_mode & 0o777 == 0o600
        return file

    def found(self, place: Place) -> float:
        return recall(place, self.MEMORIES, clustered(self.COUNT))

    @pytest.fixture
    def added(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """How many were added to a graph, each time."""
        counts: list[int] = []
        original = hnsw._decode_codes

        def counting(rows, space):
            counts.append(len(rows))
            return original(rows, space)

        monkeypatch.setattr(hnsw, "_decode_codes", counting)
        return counts

    def test_the_next_process_takes_it_and_adds_what_is_new(
        self, place: Place, file: Path, added: list[int]
    ) -> None:
        other = place.again()
        assert self.found(other) >= RECALL
        assert added == []
        before = file.read_bytes()
        (new,) = numbered(1, 9000)
        place.fill([new], clustered(1, seed=8))
        third = place.again()
        assert third.ids(clustered(1, seed=8)[0], 1) == [new.id]
        assert added == [1]
        assert file.read_bytes() == before  # one more is not worth writing

    def test_it_is_written_again_once_it_has_grown(
        self, place: Place, file: Path, added: list[int]
    ) -> None:
        place.fill(numbered(100, 9000), clustered(100, seed=8))
        place.nearest(clustered(1)[0])
        assert added == [100]
        assert self.found(place.again()) > 0.5
        assert added == [100]

    @pytest.mark.parametrize("length", [0, 1, 79, 200, 5000, -1])
    def test_cut_short(self, place: Place, file: Path, added: list[int], length: int) -> None:
        whole = file.read_bytes()
        file.write_bytes(whole[:length])
        assert self.found(place.again()) >= RECALL
        assert added == [self.COUNT]
        assert file.with_name(f"damaged-{file.name}").read_bytes() == whole[:length]
        assert self.found(place.again()) >= RECALL
        assert added == [self.COUNT]

    @pytest.mark.parametrize("at", [0, 30, 100, 2000, -100])
    def test_a_byte_of_it_changed(
        self, place: Place, file: Path, added: list[int], at: int
    ) -> None:
        data = bytearray(file.read_bytes())
        data[at] ^= 0x55
        file.write_bytes(data)
        assert self.found(place.again()) >= RECALL
        assert added == [self.COUNT]

    @pytest.mark.parametrize("size", [10, 100_000])
    def test_somebody_elses(self, place: Place, file: Path, size: int) -> None:
        file.write_bytes(np.random.default_rng(1).bytes(size))
        assert self.found(place.again()) >= RECALL

    @pytest.mark.parametrize("identity", [FIRST, OTHER_SIZE], ids=["other index", "other size"])
    def test_of_another_index(
        self, place: Place, file: Path, tmp_path: Path, closing: ExitStack, identity
    ) -> None:
        stranger = opened(tmp_path / "stranger", "hnsw", closing)
        stranger.fill(self.MEMORIES, clustered(self.COUNT, identity.dimensions, seed=5), identity)
        stranger.nearest(clustered(1, identity.dimensions)[0], identity=identity)
        file.write_bytes((tmp_path / "stranger" / file.name).read_bytes())
        assert self.found(place.again()) >= RECALL

    def test_of_another_size_though_it_says_otherwise(
        self, place: Place, file: Path, tmp_path: Path, closing: ExitStack
    ) -> None:
        stranger = opened(tmp_path / "stranger", "hnsw", closing)
        stranger.fill(self.MEMORIES, clustered(self.COUNT, 32), OTHER_SIZE)
        stranger.nearest(clustered(1, 32)[0], identity=OTHER_SIZE)
        _, body = hnsw._parse_file((tmp_path / "stranger" / file.name).read_bytes())
        line = file.read_bytes().split(b"\n", 2)[1] + b"\n"
        digest = hashlib.sha256(line + body).hexdigest().encode()
        file.write_bytes(hnsw._MAGIC + digest + b"\n" + line + body)
        assert self.found(place.again()) >= RECALL

    def test_removed_so_that_erased_memories_leave_no_trace(
        self, place: Place, file: Path, added: list[int]
    ) -> None:
        place.remove(self.MEMORIES[:2])
        place.nearest(clustered(1)[0])
        assert added == []
        file.unlink()
        place.nearest(clustered(1)[0])
        assert added == [self.COUNT - 6]
        assert hnsw._parse_file(file.read_bytes())[0]["count"] == self.COUNT - 6

    def test_a_folder_in_its_place(self, place: Place, file: Path) -> None:
        file.unlink()
        file.mkdir()
        assert self.found(place.again()) >= RECALL

    def test_the_index_lost_its_last_rows_to_a_power_cut(self, place: Place, file: Path) -> None:
        """Others have their numbers now."""
        lost, fresh = self.MEMORIES[-5:], clustered(15, seed=6)
        place.remove(lost)
        db = apsw.Connection(str(next(file.parent.glob("index-*.db"))))
        db.execute("UPDATE sqlite_sequence SET seq = seq - 15 WHERE name = 'vectors'")
        db.close()
        other = place.again()
        assert lost[0].id not in other.ids(clustered(self.COUNT)[-15])
        other.fill(lost, fresh)
        third = place.again()
        assert third.ids(fresh[-1], 1) == [lost[-1].id]
        assert third.ids(fresh[0], 1) == [lost[0].id]

    def test_it_cannot_be_saved(
        self, place: Place, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file.unlink()

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", full)
        assert self.found(place.again()) >= RECALL
        assert not list(file.parent.glob("*hnsw*"))

    def test_a_filter_that_lets_many_through(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hnsw, "NARROW", 10)
        space, vectors = place.space(), clustered(self.COUNT)
        database = place.vectors._db  # type: ignore[attr-defined]
        scan = HnswScan()
        for among in (np.arange(1, 420), np.arange(1, 250), np.arange(1, 30)):
            with database.read_transaction() as db:
                found = scan.find_nearest(db, database.path, space, vectors[20], 20, among)
            best = among[np.argsort(-(vectors[among - 1] @ vectors[20]))[:10]]
            assert len(set(best) & set(found.tolist())) >= 9
            assert set(found.tolist()) <= set(among.tolist())
            assert len(found) >= 20

    def test_two_processes_save_it(self, place: Place, file: Path) -> None:
        file.unlink()
        others = [place.again() for _ in range(3)]
        more = numbered(200, 9000)
        add(place.index, *more)
        place.vectors.add(
            [
                embedded(memory, clustered(200, seed=8)[at : at + 1])
                for at, memory in enumerate(more)
            ]
        )
        for other in others:
            other.nearest(clustered(1)[0])
        assert [path.name for path in file.parent.glob("*hnsw*")] == [file.name]
        hnsw._parse_file(file.read_bytes())

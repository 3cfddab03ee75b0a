"""I1, I4 · The queue of exchanges: never in the chat's way, each exchange once, and counted."""

from __future__ import annotations

import asyncio
import errno
import logging
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from muisti import InvalidRequest, Memory, MemoryService, Muisti
from muisti.engine.extraction import MAX_WAIT
from muisti.metrics import BOUNDS, MetricsRecorder
from tests.acceptance.background import DECIDED, NOTE, STUCK, TEA, events, tell, waiting
from tests.chat_server import saying, serving, silent
from tests.conftest import Opener, file_store
from tests.faults.starve import FailingDisk

# Never in the chat's way --------------------------------------------------------------------------


def test_I1_flush_waits(chat: Muisti) -> None:
    for n in range(30):
        assert chat.extract_and_save("chat", f"Remember that subject{n} is stored in cabinet {n}.")
    chat.flush()
    assert len(chat.list(limit=None)) == 30


def test_I1_close_leaves_the_rest_on_the_disk(opened: Opener, vault: Path, impatient: None) -> None:
    stuck = opened(**STUCK)
    for n in range(5):
        assert stuck.extract_and_save("chat", f"Remember that subject{n} is stored in cabinet {n}.")
    stuck.close()
    assert len(waiting(vault)) == 5
    memory = opened(embedder="none")
    memory.resume_extraction()
    memory.flush()
    assert len(memory.list()) == 5
    assert len(events(vault, "extracted")) == 5
    memory.close()
    assert [path.name for path in (vault / ".queue").iterdir()] == [".gitignore"]


def test_I1_what_is_accepted_after_the_close_is_refused(opened: Opener, vault: Path) -> None:
    memory = opened(embedder="none")
    tell(memory, NOTE)
    memory.close()
    assert memory.extract_and_save("chat", TEA) is False
    assert [path.name for path in (vault / ".queue").iterdir()] == [".gitignore"]


def test_I1_a_full_queue_refuses_with_one_warning(
    opened: Opener, vault: Path, impatient: None, caplog: pytest.LogCaptureFixture
) -> None:
    stuck = opened(**STUCK, extract_queue=3)
    with caplog.at_level(logging.WARNING, "muisti"):
        assert [stuck.extract_and_save("chat", NOTE) for _ in range(6)] == [
            True,
            True,
            True,
            False,
            False,
            False,
        ]
    assert stuck.metrics().counters["memory.extraction.refused"] == 3
    assert len(waiting(vault)) == 3
    assert len([one for one in caplog.messages if "the queue is full" in one]) == 1


def test_I1_a_full_queue_is_told_though_the_extractor_was(
    opened: Opener, impatient: None, caplog: pytest.LogCaptureFixture
) -> None:
    """It is because the extractor is down that the queue is full: one warning must not swallow the
    other.
    """
    with serving() as server, caplog.at_level(logging.WARNING, "muisti"):
        server.script = [saying("busy", 401)] * 9
        stuck = opened(**STUCK | {"extractor_url": server.url}, extract_queue=1)
        assert stuck.extract_and_save("chat", NOTE)
        while not any("extraction is postponed" in one for one in caplog.messages):
            threading.Event().wait(0.01)
        assert not stuck.extract_and_save("chat", NOTE)
        assert len([one for one in caplog.messages if "the queue is full" in one]) == 1
        stuck.close()


def test_I1_a_full_queue_takes_again_when_there_is_room(opened: Opener) -> None:
    with serving() as server:
        server.script = [silent]
        memory = opened(
            embedder="none",
            extractor="ollama",
            extractor_url=server.url,
            extractor_model="m",
            extract_queue=1,
            extractor_retry=0,
            extractor_timeout=2,
        )
        assert memory.extract_and_save("chat", NOTE)
        assert not memory.extract_and_save("chat", NOTE)
        server.released.set()
        memory.flush()
        assert memory.extract_and_save("chat", NOTE)
        memory.flush()
        assert memory.metrics().counters["memory.extraction.refused"] == 1


@pytest.mark.parametrize(
    "code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES], ids=errno.errorcode.get
)
def test_I1_a_disk_that_takes_nothing_refuses(
    opened: Opener, vault: Path, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    disk = FailingDisk(code, forever=True)
    memory = opened(embedder="none", disk=disk)
    disk.arm(1)
    with caplog.at_level(logging.WARNING, "muisti"):
        assert [memory.extract_and_save("chat", NOTE) for _ in range(3)] == [False] * 3
    assert len([one for one in caplog.messages if "is not extracted" in one]) == 1
    assert memory.metrics().counters["memory.extraction.refused"] == 3
    disk.mend()
    assert len(tell(memory, NOTE)) == 1


def test_I1_a_vault_that_cannot_be_written_refuses(
    opened: Opener, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(embedder="none").close()
    monkeypatch.setattr("muisti.bootstrap.is_writable", lambda root: False)
    memory = opened(embedder="none")
    memory.resume_extraction()
    assert memory.extract_and_save("chat", NOTE) is False
    memory.flush()
    assert not (vault / ".queue").exists()


@pytest.mark.needs_files("opens the vault twice")
def test_I1_a_locked_vault_is_not_waited_for(
    opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    memory, other = opened(embedder="none"), opened(embedder="none")
    with file_store(other).vault.lock():
        assert memory.extract_and_save("chat", NOTE)
    assert f"for over {MAX_WAIT:g} s" in caplog.text, "it did not wait for the setting's 30 s"
    memory.flush()
    assert len(memory.list()) == 1
    assert memory.get_session("chat") is not None


def test_I1_what_a_locked_vault_kept_back_is_done_later(
    opened: Opener, vault: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody has to restart a server for it."""
    memory, other = opened(embedder="none", lock_timeout=0.05), opened(embedder="none")
    with file_store(other).vault.lock():
        assert memory.extract_and_save("chat", NOTE)
        memory.flush()
    assert "cannot be saved now" in caplog.text
    assert memory.list() == []
    assert len(waiting(vault)) == 1
    tell(memory, DECIDED)
    memory.flush()
    assert len(memory.list()) == 2
    assert waiting(vault) == []
    counted = memory.metrics().counters
    assert (
        counted["memory.extraction.count"]
        == counted["memory.extraction.success"] + counted["memory.extraction.errors"]
        == 3
    )


def test_I1_a_broken_index_is_not_waited_for(opened: Opener, vault: Path) -> None:
    memory = opened(embedder="none")
    memory.save("A bystander")
    index = vault / ".muisti" / (vault / ".muisti" / "current").read_text()
    for path in index.parent.glob(f"{index.name}*"):
        path.write_bytes(b"garbage" * 1000)
    assert memory.extract_and_save("chat", NOTE)
    memory.flush()
    assert len(memory.list()) == 2
    assert memory.verify(deep=True).ok


def test_I1_a_queue_that_somebody_deleted_is_made_anew(chat: Muisti, vault: Path) -> None:
    tell(chat, NOTE)
    for path in (vault / ".queue").iterdir():
        path.unlink()
    (vault / ".queue").rmdir()
    tell(chat, TEA, DECIDED)
    assert len(chat.list()) == 3


def test_I1_an_error_that_nobody_foresaw_does_not_end_extraction(
    opened: Opener, vault: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> list[Memory]:
        raise RuntimeError("nobody thought of this")

    chat = opened(embedder="none")
    with monkeypatch.context() as patched:
        patched.setattr("muisti.remember.extracted.store", broken)
        assert chat.extract_and_save("chat", NOTE)
        chat.flush()
    assert "nobody thought of this" in caplog.text
    assert len(tell(chat, DECIDED)) == 1
    assert chat.metrics().counters["memory.extraction.errors"] == 1
    assert [one["user"] for one in waiting(vault) if "user" in one][:1] == [NOTE], (
        "it is kept for the next start"
    )
    chat.close()
    memory = opened(embedder="none")
    memory.resume_extraction()
    memory.flush()
    assert len(memory.list()) == 2


def test_I1_async(vault: Path) -> None:
    async def talk() -> tuple[list[Memory], dict[str, int]]:
        async with await MemoryService.open(vault, embedder="none") as memory:
            taken = await asyncio.gather(
                *(memory.extract_and_save("chat", text, speaker="Anna") for text in (TEA, DECIDED))
            )
            assert taken == [True, True]
            with pytest.raises(InvalidRequest, match=r"^mode must be"):
                await memory.extract_and_save("chat", NOTE, mode="poetry")
            await memory.flush()
            return await memory.list(), dict((await memory.metrics()).counters)

    found, counters = asyncio.run(talk())
    assert len(found) == 2
    assert counters["memory.extraction.success"] == 2


# Each once ----------------------------------------------------------------------------------------


def once(vault: Path, count: int) -> None:
    """So many exchanges were dealt with, none of them twice, and each left its memory."""
    assert waiting(vault) == []
    dealt = Counter(one["exchange"] for one in events(vault, "extracted"))
    assert set(dealt.values()) == {1}
    assert len(dealt) == count


def test_I1_two_objects_in_one_process(opened: Opener, vault: Path) -> None:
    both = [opened(embedder="none"), opened(embedder="none")]
    for n in range(40):
        assert both[n % 2].extract_and_save(
            "chat", f"Remember that subject{n} is stored in cabinet {n}."
        )
        if n % 10 == 9:
            both[n % 3 % 2].resume_extraction()
    for one in both:
        one.flush()
    once(vault, 40)
    assert Counter(one.content for one in both[0].list(limit=None)) == Counter(
        f"Subject{n} is stored in cabinet {n}." for n in range(40)
    )


def test_I1_from_many_threads(chat: Muisti, vault: Path) -> None:
    def talk(first: int) -> None:
        for n in range(first, first + 10):
            assert chat.extract_and_save(
                f"chat{first}", f"Remember that subject{n} is stored in cabinet {n}."
            )

    threads = [threading.Thread(target=talk, args=(10 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    chat.flush()
    once(vault, 40)
    assert len(chat.list(limit=None)) == 40


TALKER = """
import sys
from muisti import Muisti
vault, first, count, stuck = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "stuck"
options = {"extractor": "openai", "extractor_url": "http://127.0.0.1:9/v1", "extractor_model": "m", "extractor_retry": 3600}
memory = Muisti.open(vault, embedder="none", **(options if stuck else {}))
for n in range(first, first + count):
    assert memory.extract_and_save("chat%d" % first, "Remember that subject%d is stored in cabinet %d." % (n, n))
print("accepted", flush=True)
sys.stdin.readline()
memory.flush()
memory.close()
"""


def talker(vault: Path, first: int, count: int, stuck: str = "") -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-W",
        "error",
        "-c",
        TALKER,
        str(vault),
        str(first),
        str(count),
        stuck,
    ]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_K1_I1_two_processes(vault: Path) -> None:
    talkers = [talker(vault, 0, 20), talker(vault, 20, 20)]
    assert [one.communicate("\n", timeout=60)[0] for one in talkers] == ["accepted\n"] * 2
    assert [one.returncode for one in talkers] == [0, 0]
    once(vault, 40)
    with Muisti.open(vault, embedder="none") as memory:
        assert len(memory.list(limit=None)) == 40
        assert memory.verify(deep=True).ok


def test_I1_open_takes_over_from_the_dead_and_not_from_the_living(vault: Path) -> None:
    other = talker(vault, 0, 5, "stuck")
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "accepted\n"
        with Muisti.open(vault, embedder="none") as memory:
            memory.flush()
            assert memory.list() == []
        assert len(waiting(vault)) == 5
    finally:
        other.kill()
        other.communicate()
    with Muisti.open(vault, embedder="none") as memory:
        memory.flush()
        assert len(memory.list()) == 5
        once(vault, 5)
    assert [path.name for path in (vault / ".queue").iterdir()] == [".gitignore"]


# Counted ------------------------------------------------------------------------------------------


def test_I4_counters(opened: Opener) -> None:
    memory = opened(embedder="none")
    assert set(memory.metrics().counters) >= {
        "memory.extraction.count",
        "memory.extraction.success",
        "memory.extraction.errors",
        "memory.saved.count",
        "memory.retrieved.count",
    }
    assert set(memory.metrics().counters.values()) == {0}
    tell(memory, NOTE, "Hi!", TEA, DECIDED)
    memory.save("Saved by hand")
    found = len(memory.search("dentist Eero"))
    assert found
    counters = memory.metrics().counters
    assert (counters["memory.extraction.count"], counters["memory.extraction.success"]) == (4, 4)
    assert counters["memory.extraction.errors"] == 0
    assert counters["memory.saved.count"] == 4
    assert counters["memory.retrieved.count"] == found
    found += len(memory.get_relevant_memories("chat", "dentist Eero", 5))
    assert memory.metrics().counters["memory.retrieved.count"] == found


def test_I4_a_failed_extraction_is_counted(opened: Opener) -> None:
    with serving() as server:
        server.reply = "no JSON at all"
        memory = opened(
            embedder="none", extractor="openai", extractor_url=server.url, extractor_model="m"
        )
        tell(memory, NOTE)
    counters = memory.metrics().counters
    assert [counters[f"memory.extraction.{name}"] for name in ("count", "success", "errors")] == [
        1,
        0,
        1,
    ]
    assert counters["memory.saved.count"] == 0


def test_I4_histograms(chat: Muisti) -> None:
    tell(chat, NOTE, TEA)
    chat.save("Saved by hand")
    chat.search("tea")
    latencies = chat.metrics().latencies
    assert {name: latencies[name].count for name in ("extraction", "save", "search")} == {
        "extraction": 2,
        "save": 1,
        "search": 1,
    }
    for one in latencies.values():
        assert one.bounds == tuple(sorted(one.bounds))
        assert len(one.counts) == len(one.bounds) + 1
        assert one.seconds > 0


def test_I4_what_fails_is_timed_too() -> None:
    meter = MetricsRecorder()
    with pytest.raises(KeyError), meter.measure("save"):
        raise KeyError
    assert meter.metrics().latencies["save"].count == 1
    assert sum(meter.metrics().latencies["search"].counts) == 0


def test_I4_a_snapshot_stays_as_it_is() -> None:
    meter = MetricsRecorder()
    before = meter.metrics()
    meter.count("memory.saved.count", 3)
    with meter.measure("search"):
        pass
    assert before.counters["memory.saved.count"] == 0
    assert before.latencies["search"].count == 0
    assert before.latencies["search"].counts == (0,) * (len(BOUNDS) + 1)


def test_I4_counted_by_many_threads_at_once() -> None:
    meter = MetricsRecorder()

    def work() -> None:
        for _ in range(2000):
            meter.count("memory.saved.count")
            with meter.measure("save"):
                pass
            meter.metrics()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert meter.metrics().counters["memory.saved.count"] == 8000
    assert meter.metrics().latencies["save"].count == 8000


def test_I4_what_waits_is_told(opened: Opener, impatient: None) -> None:
    memory = opened(**STUCK)
    assert memory.metrics().waiting == 0
    memory.extract_and_save("chat", NOTE)
    assert memory.metrics().waiting == 1

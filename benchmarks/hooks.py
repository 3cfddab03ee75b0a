"""What hooks of agents cost and whether they recall the right thing: `python -m benchmarks.hooks
[--data FOLDER] [--by-meaning] [--quick]`.

Cost: one call in a process of its own on a vault of 10,000 memories, as a ratio to `python -c pass`
in the same minute. Gate: how often a prompt with an answer in the vault gets it, and how often one
without gets nothing; with `--by-meaning` only that, as the warm process answers. The limits of the gate were chosen on the first half of the prompts; told here
is the second half.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks import datasets
from benchmarks.datasets import Question, Store
from benchmarks.quality import AskingClock
from benchmarks.texts import Writer, vocabulary
from benchmarks.timing import Times, interleaved, machine
from muisti import Draft, Muisti, bootstrap
from muisti.recall.filters import Mode
from muisti.surfaces.hooks.prompt import MAX_MEMORIES, extract_query, recall_for_prompt

RESULTS = Path(__file__).parent / "results" / "hooks.json"
SIZE = 10_000
COMMAND = [sys.executable, "-P", "-c", "from muisti.surfaces.cli.main import main; main()", "hook"]
ROUTINE = (
    "thanks a lot", "yes please", "ok, go ahead", "run the tests", "run the whole test suite again", "fix the failing test",
    "commit this", "commit and push", "looks good to me", "continue where you left off", "try once more", "undo the last change",
    "explain this function", "what does this error mean?", "why did it fail?", "rename the variable", "format the code",
    "add a docstring", "write a unit test for it", "show me the file", "open the pull request", "that is wrong", "make it faster",
    "is everything done?", "summarize what you did", "update the changelog", "good job", "hello", "stop", "can you check again?",
)  # fmt: skip
"""What is said to a coding agent all day; nothing in these vaults is about it."""


def cost(folder: Path, size: int, runs: int) -> dict[str, Any]:
    """Seconds of each kind of call, and how often `python -c pass` would have run in that time."""
    _, words = vocabulary()
    writer = Writer(words)
    texts = writer.texts(size)
    vault, cold = folder / "vault", folder / "cold"
    with bootstrap.open(
        vault, settings={"embedder": "none", "merge_duplicates": False, "propose_links": False}
    ) as memory:
        memory.save_batch([{"content": text.content, "title": text.title} for text in texts])
    shutil.copytree(vault, cold)
    asked = writer.questions(texts, runs)
    # Without the warm process, which `benchmarks.cold` measures.
    environment = {**os.environ, "MUISTI_STATE": str(folder / "state"), "MUISTI_WARM": "0"}
    call = _caller(environment)
    (first,) = interleaved(
        {"cold": lambda prompt: call("UserPromptSubmit", cold, prompt)}, asked[:1]
    ).values()
    actions: dict[str, Callable[[str], object]] = {
        "python": lambda _: subprocess.run([sys.executable, "-c", "pass"], check=True),
        "UserPromptSubmit": lambda prompt: call("UserPromptSubmit", vault, prompt),
        "PostToolUse": lambda prompt: call("PostToolUse", vault, prompt),
    }
    taken = {"UserPromptSubmit, first on this vault": first, **interleaved(actions, asked)}
    changed = {
        "python": actions["python"],
        "call": lambda prompt: call("UserPromptSubmit", cold, prompt),
    }
    edited = _after_edits(cold, asked, changed)
    with_worker: dict[
        str, Callable[[str], object]
    ] = {  # these leave work behind, which would disturb the others
        "python": actions["python"],
        "SessionStart": lambda prompt: call("SessionStart", vault, prompt),
        "Stop": lambda prompt: call("Stop", vault, prompt),
    }
    later = interleaved(with_worker, asked)
    return {
        **{name: _against(times, taken["python"]) for name, times in taken.items()},
        "UserPromptSubmit, files changed": _against(edited["call"], edited["python"]),
        **{
            name: _against(times, later["python"])
            for name, times in later.items()
            if name != "python"
        },
    }


def _caller(environment: dict[str, str]) -> Callable[[str, Path, str], None]:
    def call(event: str, vault: Path, prompt: str) -> None:
        said = {
            "session_id": f"s{random.random()}",
            "cwd": "/",
            "prompt": prompt,
            "last_assistant_message": prompt,
        }
        command = [*COMMAND, event, "--vault", str(vault)]
        subprocess.run(
            command,
            input=json.dumps(said).encode(),
            capture_output=True,
            check=True,
            env=environment,
        )

    return call


def _after_edits(
    vault: Path, asked: Sequence[str], actions: dict[str, Callable[[str], object]]
) -> dict[str, Times]:
    taken: dict[str, list[float]] = {name: [] for name in actions}
    paths = sorted(vault.rglob("*.md"))
    for prompt in asked:
        _edit(paths)
        for name, times in interleaved(actions, [prompt]).items():
            taken[name] += times.seconds
    return {name: Times(tuple(values)) for name, values in taken.items()}


def _edit(paths: Sequence[Path]) -> None:
    for path in random.sample(paths, 20):
        path.write_text(path.read_text("utf-8") + "\nAn otter was here.\n", "utf-8")


def _against(times: Times, bare: Times) -> dict[str, float]:
    return {**times.summary(), "ratio": times.p50 / bare.p50}


def gate(data: Path, folder: Path, most: int, mode: Mode = "keyword") -> dict[str, Any]:
    """For each vault of real talk or text, what its own prompts, those of others, and routine get."""
    stores = [*datasets.locomo(data)[3:5], datasets.xquad(data, "en"), datasets.longmemeval(data)]
    found = {}
    for store in stores:
        others = [
            question
            for other in stores
            if other.name[:3] != store.name[:3]
            for question in other.questions
        ]
        with _filled(store, folder / store.name, mode) as memory:
            keys: dict[str, str] = json.loads((folder / store.name / "keys.json").read_text())
            own = _held_out(store.questions, most)
            found[store.name] = {
                "memories": len(store.documents),
                "answered": _share(
                    bool(_given(memory, one.text, keys, mode) & one.gold) for one in own
                ),
                "in the first five of the search": _share(
                    bool(_searched(memory, one.text, keys, mode) & one.gold) for one in own
                ),
                "nothing for prompts of other vaults": _share(
                    not _given(memory, one.text, keys, mode) for one in _held_out(others, most)
                ),
                "nothing for routine": _share(
                    not _given(memory, text, keys, mode) for text in ROUTINE
                ),
            }
    return found


def _held_out(questions: Sequence[Question], most: int) -> list[Question]:
    shuffled = random.Random(5).sample(questions, len(questions))
    return shuffled[len(shuffled) // 2 :][:most]


def _filled(store: Store, vault: Path, mode: Mode) -> Muisti:
    """The store as a vault, with which document each memory is."""
    asked = AskingClock(max(one.at for one in store.documents) + timedelta(days=2))
    settings: dict[str, str | bool] = {
        "embed_on_save": False,
        "record_recall": False,
        "merge_duplicates": False,
        "propose_links": False,
    }
    if mode == "keyword":
        settings["embedder"] = "none"
    memory = bootstrap.open(vault, clock=asked, settings=settings)
    drafts = [
        Draft(content=one.text, session_id=one.group, created_at=one.at) for one in store.documents
    ]
    saved = memory.save_batch(drafts)
    keys = {one.id: document.key for one, document in zip(saved, store.documents, strict=True)}
    (vault / "keys.json").write_text(json.dumps(keys))
    if mode != "keyword":
        memory.reindex_missing()
    return memory


def _given(memory: Muisti, prompt: str, keys: dict[str, str], mode: Mode) -> set[str]:
    question = extract_query(prompt)
    if not question:
        return set()
    # The warm process keeps a vault open; a hook of its own opens one that can only be searched.
    asked = bootstrap.open(memory.root, role="hook") if mode == "keyword" else memory
    return {keys[id_] for id_ in recall_for_prompt(asked, question, "", "", set(), mode=mode)[1]}


def _searched(memory: Muisti, prompt: str, keys: dict[str, str], mode: Mode) -> set[str]:
    results = memory.search(prompt, mode=mode, limit=MAX_MEMORIES, record=False)
    return {keys[one.memory.id] for one in results}


def _share(happened: Iterator[bool]) -> float:
    values = list(happened)
    return round(sum(values) / max(1, len(values)), 3)


def main() -> None:
    """Print the figures and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=datasets.DEFAULT_FOLDER, help="folder with the evaluation data"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a small vault and few runs: only to see that it works"
    )
    parser.add_argument(
        "--by-meaning", action="store_true", help="only the gate, as with the warm process"
    )
    chosen = parser.parse_args()
    names = ("locomo_dev.json", "longmemeval_dev.json", "xquad.en.json")
    with tempfile.TemporaryDirectory(prefix="muisti-hooks-") as folder:
        place = Path(folder)
        found: dict[str, Any] = {"machine": machine()}
        if not chosen.by_meaning:
            found["cost"] = cost(place, 300 if chosen.quick else SIZE, 2 if chosen.quick else 15)
        gaps = datasets.missing(chosen.data, names)
        mode: Mode = "hybrid" if chosen.by_meaning else "keyword"
        most = 10 if chosen.quick else 250
        found["gate"] = gaps if gaps else gate(chosen.data, place, most, mode)
    text = json.dumps(found, indent=1)
    print(text)
    if not chosen.quick:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()

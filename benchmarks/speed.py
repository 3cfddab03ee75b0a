"""How fast muisti is, next to the bare thing: `python -m benchmarks.speed [--sizes
1000,10000,100000] [--quick]`.

Figures are ratios to a reference that ran in turn with ours in the same minute; absolute numbers
follow, and say something of this machine only.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import bare, speed_parts, speed_tables
from benchmarks.tables import PAGE, rewrite
from benchmarks.texts import Text, Writer, vocabulary
from benchmarks.timing import Times, machine
from muisti import Muisti

RESULTS = Path(__file__).parent / "results" / "speed.json"
Found = dict[str, Any]


@dataclass
class Plan:
    """How much is measured."""

    sizes: list[int]
    saves: int = 600
    batched: int = 6000
    saves_at_size: int = 100
    questions: int = 300
    opens: int = 7
    starts: int = 15
    folder: Path = field(default_factory=Path)

    @classmethod
    def quick(cls, sizes: list[int]) -> Plan:
        return cls(sizes, saves=40, batched=90, saves_at_size=20, questions=20, opens=2, starts=2)


def run(plan: Plan) -> Found:
    """Everything, as one dictionary of plain values."""
    source, words = vocabulary()
    found: Found = {"machine": machine(), "words": source, "sizes": plan.sizes}
    with tempfile.TemporaryDirectory(prefix="muisti-speed-") as folder:
        plan.folder = Path(folder)
        _say("saving")
        found["save"] = _saving(plan, Writer(words, seed=3))
        found["search"], found["upkeep"], found["save_at_size"] = {}, {}, {}
        vaults = {}
        for size in plan.sizes:
            _say(f"a vault of {size:,} memories")
            vaults[size] = _one_size(plan, size, words, found)
        _say("cold start")
        started = speed_parts.cold_start(
            vaults, "what did we decide about the meeting?", plan.starts
        )
        found["cold_start"] = started if isinstance(started, str) else _compared(started, "python")
    return found


def _saving(plan: Plan, writer: Writer) -> Found:
    with Muisti.open(plan.folder / "saves") as memory:
        single = speed_parts.save_one_by_one(memory, plan.folder, writer.texts(plan.saves))
        batched = speed_parts.save_in_batches(memory, plan.folder, writer.texts(plan.batched))
    return {"single": _compared(single, "file"), "batch": _compared(batched, "file")}


def _one_size(plan: Plan, size: int, words: Sequence[str], found: Found) -> Path:
    writer = Writer(words)
    texts = writer.texts(size)
    vault, folder = plan.folder / f"vault-{size}", plan.folder / f"bare-{size}"
    folder.mkdir()
    index = bare.BareIndex(folder / "index.db")
    _fill(vault, index, texts)
    found["upkeep"][str(size)] = speed_parts.upkeep(vault, plan.opens)
    searched = speed_parts.search(vault, index, writer.questions(texts, plan.questions))
    index.close()
    found["search"][str(size)] = _compared(searched, "bare")
    with Muisti.open(vault) as memory:
        saved = speed_parts.save_one_by_one(
            memory, folder, Writer(words, seed=11).texts(plan.saves_at_size)
        )
    found["save_at_size"][str(size)] = _compared(saved, "file")
    return vault


def _fill(vault: Path, index: bare.BareIndex, texts: Sequence[Text]) -> None:
    with Muisti.open(vault) as memory:
        for at in range(0, len(texts), speed_parts.BATCH):
            memory.save_batch(speed_parts.item(text) for text in texts[at : at + speed_parts.BATCH])
            index.insert(*texts[at : at + speed_parts.BATCH])
    index.merge()  # muisti's is merged by the reindex that is measured before the search


def _compared(taken: dict[str, Times], reference: str) -> Found:
    """Each with its ratio to the reference, at the median and at the 95th percentile."""
    base = taken[reference]
    return {
        name: {"ratio": times.p50 / base.p50, "ratio_p95": times.p95 / base.p95, **times.summary()}
        for name, times in taken.items()
    }


def _say(what: str) -> None:
    print(f"… {what}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.speed", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument(
        "--sizes", default="1000,10000,100000", help="memories in the vaults, separated by commas"
    )
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the figures go")
    parser.add_argument("--quick", action="store_true", help="few repetitions: to see that it runs")
    parser.add_argument(
        "--markdown", action="store_true", help=f"rewrite the tables in {PAGE.name}"
    )
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in options.sizes.split(",")]
    found = run(Plan.quick(sizes) if options.quick else Plan(sizes))
    tables = speed_tables.all_tables(found)
    print("\n\n".join([speed_tables.about(found), *(table.text() for table in tables)]))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=2), "utf-8")
    if options.markdown:
        rewrite(
            PAGE,
            {
                "machine": speed_tables.about(found),
                **{table.name: table.markdown() for table in tables},
            },
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

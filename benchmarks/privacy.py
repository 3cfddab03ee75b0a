"""What cleaning costs and what it spoils: `python -m benchmarks.privacy [--size 1000000] [--data
FOLDER]`.

Hostile texts must take time in proportion to their length, a memory must cost next to nothing, and
ordinary talk must stay as it is. Time is the processor's, not the clock's: other work on the
machine must not make a line look like a curve.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import datasets
from benchmarks.tables import Table, times
from benchmarks.timing import machine
from muisti.settings import Settings
from muisti.text.private_tags import remove_private
from muisti.text.redact import redact_text
from muisti.text.secrets import redact_secrets

RESULTS = Path(__file__).parent / "results" / "privacy.json"
MOST_GROWTH = 2.5
MOST_FALSE = 0.01
MEMORY = 500

HOSTILE = {
    "unclosed tags": "<private>",
    "tags without an end": "<private ",
    "open brackets": "<",
    "brackets and spaces": "< \n",
    "unclosed quotes": '<private a="',
    "equal signs in a tag": "<private a=b =",
    "open and closed": "<private>x</private>",
    "closings": "</private>",
    "nearly tags": "<privat",
    "password password": "password ",
    "password=password=": "password=",
    "password for a": "password for a ",
    "beginnings of JWTs": "eyJ",
    "parts of JWTs": "eyJhbGciOiJI.",
    "beginnings of keys": "-----BEGIN",
    "headers of keys": "-----BEGIN RSA ",
    "ends of keys": "-----END RSA ",
    "a:a@": "a:a@",
    "addresses": "://a:",
    "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0NTY3ODk",
    "prefixes": "sk-ghp_xoxb-AKIA",
    "curl curl": "curl ",
}
_KIND = re.compile(r"\[redacted:([a-z0-9-]+)\]")


@dataclass(frozen=True)
class Growth:
    """Seconds for a text and for one twice as long."""

    shape: str
    once: float
    twice: float

    @property
    def ratio(self) -> float:
        return self.twice / self.once


@dataclass(frozen=True)
class Alarms:
    """How many texts of a set redaction changes, and for what."""

    texts: str
    number: int
    changed: int
    kinds: dict[str, int]
    examples: tuple[str, ...]

    @property
    def share(self) -> float:
        return self.changed / self.number


def growth(size: int, runs: int = 5) -> list[Growth]:
    """Each hostile shape at `size` characters and at twice that, in turn; medians."""
    found = []
    for shape, piece in HOSTILE.items():
        texts = [piece * (size * factor // len(piece)) for factor in (1, 2)]
        taken = [[_spent(_redact, text) for text in texts] for _ in range(runs)]
        once, twice = (statistics.median(column) for column in zip(*taken, strict=True))
        found.append(Growth(shape, once, twice))
    return found


def _redact(text: str) -> str:
    return redact_text(text, Settings())


def _spent(action: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    action(text)
    return time.process_time() - start


def cost(memories: list[str], runs: int = 9) -> dict[str, float]:
    """Microseconds for each memory, beside the hash of it and its casefold, which every write pays
    as well.
    """
    actions: dict[str, Callable[[str], object]] = {
        "remove_private": remove_private,
        "redact_secrets": redact_secrets,
        "redact_text": _redact,
        "sha256": lambda text: hashlib.sha256(text.encode()).hexdigest(),
        "casefold": str.casefold,
    }
    taken: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(runs):
        for name, action in actions.items():
            taken[name].append(_spent_on_all(action, memories) / len(memories) * 1e6)
    return {name: statistics.median(values) for name, values in taken.items()}


def _spent_on_all(action: Callable[[str], object], memories: list[str]) -> float:
    start = time.process_time()
    for text in memories:
        action(text)
    return time.process_time() - start


def alarms(folder: Path) -> list[Alarms]:
    """What redaction changes in texts that people wrote without a secret in mind; sets that are not
    there are left out.
    """
    return [_alarms_in(name, list(texts)) for name, texts in _sets(folder)]


def _sets(folder: Path) -> Iterator[tuple[str, Iterator[str]]]:
    if (folder / "locomo_dev.json").is_file():
        yield (
            "LoCoMo turns",
            (document.text for store in datasets.locomo(folder) for document in store.documents),
        )
    if (folder / "longmemeval_dev.json").is_file():
        yield (
            "LongMemEval turns",
            (document.text for document in datasets.longmemeval(folder).documents),
        )
    for language in ("en", "ru", "zh"):
        if (folder / f"xquad.{language}.json").is_file():
            yield (
                f"XQuAD paragraphs ({language})",
                (document.text for document in datasets.xquad(folder, language).documents),
            )
    if (folder / "sts-dev.csv").is_file():
        yield "STS sentences", _sentences(folder / "sts-dev.csv")


def _sentences(path: Path) -> Iterator[str]:
    for line in path.read_text("utf-8").splitlines():
        yield from line.split("\t")[5:7]


def _alarms_in(name: str, texts: list[str]) -> Alarms:
    changed = [after for text in texts if (after := redact_secrets(text)) != text]
    kinds = Counter(kind for text in changed for kind in _KIND.findall(text))
    examples = tuple(_around(text) for text in changed[:20])
    return Alarms(name, len(texts), len(changed), dict(kinds), examples)


def _around(text: str) -> str:
    place = text.index("[redacted:")
    return text[max(0, place - 60) : place + 60]


def memories_of(folder: Path, most: int = 1000) -> list[str]:
    """Texts of 500 characters, real ones if they are there."""
    whole = (
        " ".join(text for _, texts in _sets(folder) for text in texts)
        or "The user prefers short answers in the morning. " * 2000
    )
    return [
        whole[start : start + MEMORY]
        for start in range(0, min(len(whole) - MEMORY, MEMORY * most), MEMORY)
    ]


def _tables(
    found: list[Growth], costs: dict[str, float], heard: list[Alarms], size: int
) -> list[Table]:
    grown = tuple(
        (row.shape, f"{row.once:.3f} s", f"{row.twice:.3f} s", times(row.ratio)) for row in found
    )
    paid = tuple(
        (name, f"{value:.1f} µs", times(value / costs["sha256"])) for name, value in costs.items()
    )
    false = tuple(
        (
            row.texts,
            f"{row.number:,}",
            str(row.changed),
            f"{row.share:.2%}",
            ", ".join(row.kinds) or "none",
        )
        for row in heard
    )
    return [
        Table(
            "privacy-growth",
            f"Hostile texts, n = {size:,} characters",
            ("shape", "n", "2n", "growth"),
            grown,
        ),
        Table(
            "privacy-cost",
            f"One memory of {MEMORY} characters",
            ("step", "time", "to SHA-256"),
            paid,
        ),
        Table(
            "privacy-alarms",
            "Texts that redaction changes",
            ("texts", "number", "changed", "share", "kinds"),
            false,
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER)
    given = parser.parse_args()
    ten = _spent(_redact, "<private>" * (10_000_000 // 9))
    found, costs, heard = growth(given.size), cost(memories_of(given.data)), alarms(given.data)
    print("\n\n".join(table.markdown() for table in _tables(found, costs, heard, given.size)))
    print(f"\n10 MB of unclosed tags: {ten:.2f} s")
    for row in heard:
        for example in row.examples:
            print(f"{row.texts}: …{example!r}…")
    record = {
        "machine": machine(),
        "size": given.size,
        "ten_megabytes_of_unclosed_tags_s": ten,
        "growth": [asdict(row) | {"ratio": row.ratio} for row in found],
        "cost_us": costs,
        "alarms": [asdict(row) | {"share": row.share} for row in heard],
    }
    RESULTS.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    bad = [row.shape for row in found if row.ratio > MOST_GROWTH] + [
        row.texts for row in heard if row.share > MOST_FALSE
    ]
    if bad:
        raise SystemExit(f"outside of what is demanded: {', '.join(bad)}")


if __name__ == "__main__":
    main()

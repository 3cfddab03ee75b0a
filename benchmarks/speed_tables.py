"""The speed figures as tables: ratios first, absolute numbers second."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchmarks.tables import Table, milliseconds, rate, times

Found = dict[str, Any]


def about(found: Found) -> str:
    """Where the figures come from, in a line."""
    here = found["machine"]
    return (
        f"muisti {here['muisti']}, {here['at'][:10]}: {here['cores']} cores of {here['processor']} (load {here['load']:.1f}), "
        f"{here['system']}, Python {here['python']}, SQLite {here['sqlite']}; words: {found['words']}."
    )


def all_tables(found: Found) -> list[Table]:
    """In the order of the page."""
    return [
        _save(found),
        _save_at_size(found),
        _search(found),
        _growth(found),
        _upkeep(found),
        _cold_start(found),
    ]


def _save(found: Found) -> Table:
    rows = []
    for label, part in (
        ("one by one", found["save"]["single"]),
        ("save_batch", found["save"]["batch"]),
    ):
        ours, file, insert = part["save"], part["file"], part["insert"]
        rows.append(
            (
                label,
                times(ours["ratio"]),
                times(ours["p50_ms"] / insert["p50_ms"]),
                *(rate(1000 / one["p50_ms"]) for one in (ours, file, insert)),
            )
        )
    head = (
        "durable save",
        "to a file write",
        "to an FTS5 insert",
        "muisti",
        "file write",
        "FTS5 insert",
    )
    note = (
        "Time of ours divided by time of the reference, at the median. A file write is temporary file, fsync, rename, fsync of "
        "the folder; an FTS5 insert is one transaction with synchronous=FULL. In a batch both references group their syncs."
    )
    return Table("save", "Saving", head, tuple(rows), note)


def _save_at_size(found: Found) -> Table:
    rows = [
        (
            f"{int(size):,}",
            times(part["save"]["ratio"]),
            milliseconds(part["save"]["p50_ms"] / 1000),
            milliseconds(part["file"]["p50_ms"] / 1000),
        )
        for size, part in found["save_at_size"].items()
    ]
    return Table(
        "save-at-size",
        "Saving into a vault that has grown",
        ("memories", "to a file write", "muisti p50", "file write p50"),
        tuple(rows),
    )


def _search(found: Found) -> Table:
    rows = []
    for size, part in found["search"].items():
        ours, bare, naive = part["muisti"], part["bare"], part["naive"]
        rows.append(
            (
                f"{int(size):,}",
                times(ours["ratio"]),
                times(ours["ratio_p95"]),
                times(ours["p50_ms"] / naive["p50_ms"]),
                times(part["noting"]["p50_ms"] / part["bare_beside"]["p50_ms"]),
                *(
                    f"{milliseconds(one['p50_ms'] / 1000)} / {milliseconds(one['p95_ms'] / 1000)}"
                    for one in (ours, bare, naive)
                ),
            )
        )
    head = (
        "memories",
        "to bare p50",
        "to bare p95",
        "to naive p50",
        "noting, to bare",
        "muisti p50 / p95",
        "bare",
        "naive",
    )
    note = (
        "Bare: FTS5, porter, stop words out, the rest OR-ed, bm25 with weights, ten rows joined. Naive: all words OR-ed. "
        "Noting: with the default setting that notes in a second thread what was recalled, searching without a pause."
    )
    return Table("search", "Keyword search with natural questions", head, tuple(rows), note)


def _growth(found: Found) -> Table:
    rows = []
    for (small, before), (large, after) in pairwise(found["search"].items()):
        grown = [
            after[name]["p50_ms"] / before[name]["p50_ms"] for name in ("muisti", "bare", "naive")
        ]
        rows.append((f"{int(small):,} → {int(large):,}", *(times(one) for one in grown)))
    return Table(
        "growth",
        "Growth of the median search",
        ("memories", "muisti", "bare", "naive"),
        tuple(rows),
    )


def _upkeep(found: Found) -> Table:
    rows = []
    for size, part in found["upkeep"].items():
        rows.append(
            (
                f"{int(size):,}",
                times(part["open_ratio"]),
                milliseconds(part["open_ms"] / 1000),
                milliseconds(part["first_open_ms"] / 1000),
                milliseconds(part["walk_ms"] / 1000),
                rate(part["reindex_per_second"]),
                f"{part['index_bytes_per_memory']:,.0f}",
                times(part["index_to_files_ratio"]),
            )
        )
    head = (
        "memories",
        "open to walk",
        "open",
        "first open",
        "walk",
        "reindex",
        "index bytes each",
        "index to files",
    )
    note = (
        "Open: of an unchanged vault, which looks at every file's size, time and inode. Walk: a bare scandir and stat of the "
        "same files. First open: right after the files were written."
    )
    return Table("upkeep", "Opening and rebuilding", head, tuple(rows), note)


def _cold_start(found: Found) -> Table:
    part = found["cold_start"]
    if isinstance(part, str):
        return Table(
            "cold-start",
            "Cold start of the command line",
            ("command", "to `python -c pass`", "p50"),
            (),
            f"({part})",
        )
    names = {"python": "`python -c pass`", "version": "`muisti --version`"}
    rows = [
        (
            names.get(name) or f"`muisti search`, {int(name.split()[1]):,} memories",
            times(one["ratio"]),
            milliseconds(one["p50_ms"] / 1000),
        )
        for name, one in part.items()
    ]
    return Table(
        "cold-start",
        "Cold start of the command line",
        ("command", "to `python -c pass`", "p50"),
        tuple(rows),
    )

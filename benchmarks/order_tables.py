"""What is demanded of keeping order, and the figures as tables."""

from __future__ import annotations

from benchmarks.order_vaults import MOST_DIFFERENCE, MOST_FADING, MOST_GROWTH, Found
from benchmarks.tables import Table, milliseconds, rate, times

# What is demanded, and tables ---------------------------------------------------------------------


def broken(found: Found) -> list[str]:
    """What is outside of what is demanded."""
    fade = found["fade"]
    said = [
        f"a save ({kind}) takes {row['ratio']:.2f} times as long in the large vault (at most {MOST_GROWTH})"
        for kind, row in found["save"].items()
        if row["ratio"] > MOST_GROWTH
    ]
    said += [
        f"{name} takes {fade[name]['ratio']:.2f} times as long as numpy (at most {MOST_FADING})"
        for name in ("decay_salience", "every salience, sorted")
        if fade[name]["ratio"] > MOST_FADING
    ]
    if fade["difference"] >= MOST_DIFFERENCE:
        said.append(f"salience differs by {fade['difference']:.2g} from numpy's")
    return said


def tables(found: Found) -> list[Table]:
    small, large = (str(size) for size in (min(found["sizes"]), max(found["sizes"])))
    return [
        _save_table(found, small, large),
        _share_table(found, small, large),
        _fade_table(found),
        _rest_table(found),
    ]


def _save_table(found: Found, small: str, large: str) -> Table:
    rows = [
        (
            kind,
            *(times(row[name]) for name in ("ratio", "ratio_p95", "ratio_cpu")),
            *(_spread(row[size]) for size in (small, large)),
        )
        for kind, row in found["save"].items()
    ]
    head = (
        "the text is",
        "p50",
        "p95",
        "processor",
        f"p50 / p95 of {int(small):,}",
        f"of {int(large):,}",
    )
    note = f"One save, duplicates looked for: the vault of {int(large):,} to that of {int(small):,}, in turn. Wanted at p50: ≤ {MOST_GROWTH}×."
    return Table("order-save", "A save in a vault that has grown", head, tuple(rows), note)


def _spread(row: Found) -> str:
    return f"{milliseconds(row['p50_ms'] / 1000)} / {milliseconds(row['p95_ms'] / 1000)}"


def _share_table(found: Found, small: str, large: str) -> Table:
    columns = [(kind, size) for kind in found["shares"] for size in (small, large)]
    steps = [step for step in found["shares"]["new"][small] if step != "ms"]
    rows = [
        (step, *(f"{found['shares'][kind][size][step]:.0%}" for kind, size in columns))
        for step in steps
    ]
    return Table(
        "order-shares",
        "Where a save spends its time",
        ("step", *(f"{k}, {int(s):,}" for k, s in columns)),
        tuple(rows),
    )


def _fade_table(found: Found) -> Table:
    fade = found["fade"]
    names = ("decay_salience", "numpy", "every salience, sorted", "numpy, once, sorted")
    rows = tuple(
        (
            name,
            *_ratios(fade[name]),
            *(milliseconds(fade[name][key] / 1000) for key in ("p50_ms", "cpu_ms")),
        )
        for name in names
    )
    note = f"{fade['memories']:,} memories. The largest difference between the two saliences: {fade['difference']:.1g}. Wanted: ≤ {MOST_FADING:.0f}×."
    return Table(
        "order-fade",
        "Fading, next to plain numpy",
        ("what", "to numpy", "processor", "p50", "processor p50"),
        rows,
        note,
    )


def _ratios(row: Found) -> tuple[str, str]:
    return (times(row["ratio"]), times(row["ratio_cpu"])) if "ratio" in row else ("", "")


def _rest_table(found: Found) -> Table:
    search, evict, told = found["search"], found["evict"], found["history"]
    at = f"{search['memories']:,}"
    rows = [
        (
            f"search, {search['superseded']:,} of {at} superseded, as many linked",
            "without",
            *_figures(search["links and superseded"]),
        ),
        (f"search in {at}, min_salience", "without", *_figures(search["min_salience"])),
        (
            f"evict, {evict['moved']:,} of {evict['memories']:,}",
            "bare renames",
            times(evict["ratio"]),
            rate(evict["evict_per_second"]),
        ),
        (
            f"history, a journal of {told['lines']:,} lines",
            "reading its bytes",
            *_figures(told["history"]),
        ),
        ("unmerge, the same journal", "reading its bytes", *_figures(told["unmerge"])),
    ]
    return Table(
        "order-rest",
        "Links, the archive and the history",
        ("what", "next to", "ratio", "ours"),
        tuple(rows),
    )


def _figures(row: Found) -> tuple[str, str]:
    return times(row["ratio"]), milliseconds(row["p50_ms"] / 1000)

"""The figures of search by meaning and of the peers as tables."""

from __future__ import annotations

from typing import Any

from benchmarks.tables import Table, milliseconds, rate, times

MODES = ("keyword", "vector", "hybrid")
LIMITS = {100_000: 3.0, 1_000_000: 8.0}
"""Hybrid p95, in MiniLM queries."""
Found = dict[str, Any]


def of_vectors(found: Found) -> list[Table]:
    """In the order of the page."""
    return [
        _embedding_table(found),
        _search_table(found),
        _parts_table(found),
        _scan_table(found),
        _ingest_table(found),
    ]


def _embedding_table(found: Found) -> Table:
    part = found["embedding"]
    ours, base = part["query"]["ours"], part["query"]["minilm"]
    rows = [
        (f"{part['model']}, query", times(ours["p50_ms"] / base["p50_ms"]), *_both(ours), ""),
        ("MiniLM float32, query", "1.00×", *_both(base), ""),
    ]
    for name, one in part["documents"].items():
        rows.append(
            (
                f"{part['model']}, {name} texts of {one['tokens_each']:.0f} tokens",
                "",
                "",
                "",
                rate(one["per_second"]),
            )
        )
    note = f"The yardstick is {found['yardstick']}, in turn with ours. One text a run, one thread."
    return Table("", "Embedding", ("what", "to MiniLM", "p50", "p95", "texts"), tuple(rows), note)


def _both(one: Found) -> tuple[str, str]:
    return milliseconds(one["p50_ms"] / 1000), milliseconds(one["p95_ms"] / 1000)


def _search_table(found: Found) -> Table:
    rows = []
    for size, part in found["sizes"].items():
        for mode in MODES:
            one, limit = part["search"][mode], LIMITS.get(int(size)) if mode == "hybrid" else None
            wanted = f"≤ {limit:.0f}×" if limit else ""
            rows.append(
                (
                    f"{int(size):,}, {mode}",
                    times(one["ratio"]),
                    times(one["ratio_p95"]),
                    wanted,
                    *_both(one),
                )
            )
        rows.append(
            (f"{int(size):,}, MiniLM query", "1.00×", "", "", *_both(part["search"]["minilm"]))
        )
    note = (
        "Whole search, the query's embedding included, the model loaded; ours at p50 and at p95 divided by the median MiniLM query "
        "of the same run. 1,000,000 is 100,000 memories of ten pieces each."
    )
    return Table(
        "",
        "Search",
        ("vectors", "p50 to MiniLM", "p95 to MiniLM", "wanted", "p50", "p95"),
        tuple(rows),
        note,
    )


def _parts_table(found: Found) -> Table:
    names = ("whole", "embedding", "keyword", "vector", "rows", "rest")
    rows = [
        (f"{int(s):,}", *(milliseconds(part["parts"][n] / 1000) for n in names))
        for s, part in found["sizes"].items()
    ]
    return Table(
        "", "Where a hybrid search spends its time (medians)", ("vectors", *names), tuple(rows)
    )


def _scan_table(found: Found) -> Table:
    rows = []
    for size, part in found["sizes"].items():
        scan, fresh_ = part["scan"], min(part["fresh"], key=lambda one: one["seconds"])
        rows.append(
            (
                f"{int(size):,}",
                f"{scan['recall@10']:.3f}",
                f"{scan['pooled']:.3f}",
                *_both(scan["nearest"]),
                milliseconds(scan["copy_ms"] / 1000),
                times(scan["to_copy"]),
                f"{part['bytes_per_vector']:,.0f}",
                f"{fresh_['rss_mb']:.0f} MB",
                f"{fresh_['seconds']:.2f} s",
            )
        )
    head = (
        "vectors",
        "recall@10",
        "of the ten, in the first 50",
        "nearest p50",
        "p95",
        "copy of the codes",
        "nearest to copy",
        "index bytes each",
        "RSS",
        "first search, fresh",
    )
    note = (
        "Recall against brute force in float32; wanted is ≥ 0.98. A search re-ranks the first 50. Copy: numpy copies as many bytes as the scan reads (48 a vector), "
        "which is what memory allows; nearest also reads and compares 400 rows of the index. Fresh: import, open, model load, search."
    )
    return Table("", "The vector index", head, tuple(rows), note)


def _ingest_table(found: Found) -> Table:
    rows = [
        (
            name,
            rate(part["per_second"]),
            f"{part['model_share']:.0%}",
            f"{part['embedder_share']:.0%}",
        )
        for name, part in (
            ("save_batch and reindex_missing", found["ingest"]["batch"]),
            ("save, one by one", found["ingest"]["single"]),
        )
    ]
    note = "Share of the time inside the model's run, and inside the embedder with its tokenizer. Wanted is ≥ 80 %."
    return Table(
        "",
        "Saving with vectors",
        ("memories of sixty words", "rate", "in the model", "in the embedder"),
        tuple(rows),
        note,
    )


def of_peers(found: Found) -> list[Table]:
    """In the order of the page."""
    sizes = [_peer_speed(found, size) for size in found["sizes"]]
    return [*sizes, _peer_ingest(found), _peer_offline(found)]


def _peer_speed(found: Found, size: str) -> Table:
    rows: list[tuple[str, ...]] = []
    for name, part in found["sizes"][size].items():
        label = f"{name} {found['versions'][name]}"
        if "error" in part:
            rows.append((label, part["error"], *[""] * 9))
            continue
        search, bare, first = part["search"], part["embedding"], part["first"]
        quality = found["quality"].get(name, {})
        rows.append(
            (
                label,
                times(search["cpu_p50_ms"] / bare["cpu_p50_ms"]),
                times(search["cpu_p95_ms"] / bare["cpu_p95_ms"]),
                times(search["p50_ms"] / bare["p50_ms"]),
                f"{search['cpu_p50_ms']:.1f} / {search['cpu_p95_ms']:.1f}",
                f"{search['p50_ms']:.1f} / {search['p95_ms']:.1f}",
                f"{first['cpu']:.2f} s",
                f"{first['wall']:.2f} s",
                f"{part['memory']['private_mb']:.0f}",
                f"{part['bytes_each']:,.0f}",
                f"{quality['recall@10']:.3f}" if "recall@10" in quality else "",
            )
        )
    head = (
        "system",
        "search to embedding, CPU p50",
        "CPU p95",
        "clock p50",
        "search ms CPU, p50 / p95",
        "ms on the clock",
        "first search, CPU",
        "clock",
        "private MB",
        "disk bytes each",
        "LoCoMo recall@10",
    )
    load = f"load {found['machine']['load']:.1f} before, {found['load_after']:.1f} after"
    note = (
        "Search divided by the bare embedding of other questions of the same length, in the same process, the systems in turn; "
        f"{load}. First search: a fresh process from its start to the answer, model load included, the best of three. Private MB: "
        "with the model. Recall: the development questions, on their own."
    )
    return Table("", f"Next to other memory systems, {int(size):,} texts", head, tuple(rows), note)


def _peer_ingest(found: Found) -> Table:
    rows: list[tuple[str, ...]] = []
    for name, version in found["versions"].items():
        cells = []
        for part in found["sizes"].values():
            own, base = part[name].get("ingest"), part.get("chromadb", {}).get("ingest")
            if own is None:
                cells += ["", "", ""]
                continue
            ratio = own["per_cpu_second"] / base["per_cpu_second"] if base else 0.0
            cells += [rate(own["per_cpu_second"]), rate(own["per_second"])]
            cells += [times(ratio) if base else ""]
        with_model = found["embedded"][name]
        cells += [rate(with_model["per_cpu_second"]) if "error" not in with_model else "failed"]
        rows.append((f"{name} {version}", *cells))
    sizes = [f"{int(size):,}" for size in found["sizes"]]
    columns = [(f"into {size}, per CPU s", "per second", "to chromadb") for size in sizes]
    head = ("system", *(cell for some in columns for cell in some), "with the model, per CPU s")
    note = (
        f"Texts a second, {found['added']:,} of them in four batches, added to a store of that size, with prepared vectors, so that the model's time does not count; "
        "to chromadb: of processor time. muisti writes and syncs a file for each, looks for duplicates and keeps a journal. The last "
        "column: real turns, with the model, on one thread."
    )
    return Table("", "Ingest", head, tuple(rows), note)


def _peer_offline(found: Found) -> Table:
    rows = tuple(found["as_installed"].items())
    title = "The first lines of the guide, without a network and a key"
    return Table("", title, ("system", "what happens"), rows)

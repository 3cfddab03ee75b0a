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
    return [_peer_speed(found), _peer_quality(found), _peer_offline(found)]


def _peer_speed(found: Found) -> Table:
    base = found["first"].get("muisti", {}).get("p50_ms", 0.0)
    rows = []
    for name, part in found["speed"].items():
        label = f"{name} {found['versions'].get(name, '')}".strip()
        if "error" in part:
            rows.append((label, part["error"], "", "", "", "", "", ""))
            continue
        first = found["first"][name]["p50_ms"]
        rows.append(
            (
                label,
                rate(part["per_second"]),
                *_both(part["search"]),
                times(part["to_embedding"]),
                f"{first / 1000:.2f} s",
                times(first / base) if base else "",
                f"{part['bytes_each']:,.0f}",
            )
        )
    head = (
        "system",
        "ingest",
        "search p50",
        "p95",
        "to the embedding",
        "first search",
        "to muisti",
        "disk bytes each",
    )
    note = (
        f"{found['texts']:,} texts of sixty words; same embedder for all. Ingest: without the time of the model. To the embedding: the median "
        "search divided by the bare embedding of the same questions, in turn. First search: a fresh process, from its start to the answer, "
        "model load included."
    )
    return Table("", "Next to other memory systems", head, tuple(rows), note)


def _peer_quality(found: Found) -> Table:
    rows = []
    for name, parts in found["quality"].items():
        for part in parts:
            shown = (
                [part["error"], "", "", ""]
                if "error" in part
                else [
                    f"{part['questions']}",
                    f"{part['recall@5']:.3f}",
                    f"{part['recall@10']:.3f}",
                    milliseconds(part["p50_ms"] / 1000),
                ]
            )
            rows.append((f"{name}, {part.get('conversation', '')}", *shown))
    head = ("system, conversation", "questions", "recall@5", "recall@10", "search p50")
    return Table(
        "",
        "LoCoMo dev, turns, same embedder",
        head,
        tuple(rows),
        "The protocol of the quality figures above.",
    )


def _peer_offline(found: Found) -> Table:
    rows = list(found["as_installed"].items())
    return Table(
        "",
        "The first lines of the guide, without a network and a key",
        ("system", "what happens"),
        tuple(rows),
    )

"""Results for people and for programs: tables, JSON, and the OSU benchmarks' form."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from stretto.counted import counted, sized
from stretto.files.bench import Bench
from stretto.files.calls import with_calls
from stretto.measure.compare import BARE, NATIVE, Cell, Comparison, Timing, best_words

#: longest line of a table, in characters
WIDEST = 110


def columns(rows: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """Return a table's lines; so many columns, the first ones, are aligned to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            word.ljust(n) if i < left else word.rjust(n)
            for i, (word, n) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def in_columns(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return the lines of a table below a sentence: as `columns`, indented."""
    return [f"  {line}" for line in columns(rows, left)]


def us(value: float) -> str:
    """Return a time in microseconds with three digits that count."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def table_lines(
    times: Mapping[Cell, Mapping[str, Timing]],
    comparisons: Sequence[Comparison],
    labels: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the results as lines of text, a collective and mode at a time.

    Sizes are rows; where there are so many candidates that the lines would be too long, the
    candidates are, the fastest on the whole first.
    """
    # imported results, and those of the MPI's algorithms alone, have no native
    native = NATIVE if any(NATIVE in found for found in times.values()) else "default"
    labels = {**(labels or {}), **({} if native == NATIVE else {BARE: native})}
    if native == NATIVE and comparisons and all(c.baseline == BARE for c in comparisons):
        native = BARE
    by_cell: dict[Cell, dict[str, Comparison]] = defaultdict(dict)
    for c in comparisons:
        by_cell[c.cell][c.candidate] = c
    groups: dict[tuple[str, str, str, int, str], list[Cell]] = defaultdict(list)
    for cell in times:
        kind = f"{cell.datatype} {cell.operation}"
        groups[cell.collective, cell.mode, kind, cell.root, cell.pattern].append(cell)
    out: list[str] = []
    for (collective, mode, shape, _, pattern), cells in groups.items():
        names = list(dict.fromkeys(n for cell in cells for n in times[cell]))
        names.sort(key=lambda n: (n != NATIVE, n != BARE, n))
        kind = shape.split()[0] if collective not in ("allreduce", "reduce") else shape
        what = f"{collective}, {mode} (us per call, median of launches; {kind})"
        if collective == "barrier":
            what = f"{collective}, {mode} (us per call, median of launches)"
        if pattern:
            what += f"; {pattern}"
        rows = [["bytes", *(labels.get(n, n) for n in names), "best"]]
        for cell in sorted(cells):
            row = [sized(cell.bytes)]
            for name in names:
                timing = times[cell].get(name)
                mark = {"faster": "+", "slower": "-", "same": "=", "inconclusive": "?"}
                found = by_cell[cell].get(name)
                row.append(
                    "" if timing is None
                    else us(timing.interval.median) + (mark[found.outcome] if found else " ")
                )  # fmt: skip
            # the fastest of what has no baseline beside it is faster than nobody knows what
            known = {NATIVE, BARE} & set(times[cell])
            found_here = list(by_cell[cell].values())
            best = best_words(found_here, lambda n: labels.get(n, n)) if known else "not known"
            row.append(native if best == NATIVE else best)
            rows.append(row)
        if names in ([BARE], [NATIVE]):
            rows = [row[:-1] for row in rows]
        out += ["", what]
        if len("  ".join(rows[0])) > WIDEST:
            rows = _turned(rows, _by_speed(names, [times[cell] for cell in cells]))
        out += columns(rows)
    if comparisons:
        out += [
            "",
            f"+ faster, - slower than {native}: significant and by more than 3%,",
        ]
        out += [f"= no such difference, ? inconclusive; x = time / time of {native};"]
        out += [f"best is {native} where no algorithm is marked +"]
        if native == "default":
            out += ["default: the default of the MPI, without Stretto"]
        out += _missing(comparisons)
    return out


def _missing(comparisons: Sequence[Comparison]) -> list[str]:
    found = [c.verdict for c in comparisons if c.outcome == "inconclusive"]
    out = sorted({v.words for v in found if not v.tested})
    if varied := [v for v in found if v.tested]:
        most = max(varied, key=lambda v: (len(v.missing), v.missing))
        out.append(f"{counted(len(varied), 'comparison')} not significant: {most.words}")
    return [f"inconclusive: {words}" for words in out]


def _by_speed(names: Sequence[str], cells: Sequence[Mapping[str, Timing]]) -> list[int]:
    """Return the places of the names, that with the least geometric mean over the cells first.

    A candidate that is missing in a cell counts there as much as the slowest.
    """

    def us_of(cell: Mapping[str, Timing], name: str) -> float:
        slowest = max(t.interval.median for t in cell.values())
        return cell[name].interval.median if name in cell else slowest

    def cost(name: str) -> float:
        return sum(math.log(us_of(cell, name)) for cell in cells)

    return sorted(range(len(names)), key=lambda i: cost(names[i]))


def _turned(rows: Sequence[Sequence[str]], order: Sequence[int]) -> list[list[str]]:
    """Return a table with candidates as rows, in that order, below the sizes, above ``best``."""
    turned = [list(column) for column in zip(*rows, strict=True)]
    width = max(len(row[0]) for row in turned)
    for row in turned:
        row[0] = row[0].ljust(width)
    rest = turned[1 + len(order) :]
    return [turned[0], *(turned[1 + i] for i in order), *rest]


def osu_lines(bench: Bench) -> list[str]:
    values: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for s in bench.samples:
        if s.correct and s.mode == "throughput":
            values[s.collective, s.candidate][s.bytes] += s.times_us
    ranks = bench.launches[0].nranks if bench.launches else 0
    out: list[str] = []
    for (collective, candidate), sizes in values.items():
        out += [
            f"# Stretto {bench.header.stretto}, MPI_{collective.capitalize()} Latency Test in the "
            f"form of OSU's: {with_calls(candidate, bench.header)}, {counted(ranks, 'rank')}",
            f"# {'Size':<10}{'Avg Latency(us)':>20}{'Min Latency(us)':>20}{'Max Latency(us)':>20}"
            f"{'Batches':>12}",
        ]
        for size, found in sorted(sizes.items()):
            out.append(
                f"{size:<12}{np.mean(found):>20.2f}{min(found):>20.2f}{max(found):>20.2f}"
                f"{len(found):>12}"
            )
        out.append("")
    return out


def as_json(
    times: Mapping[Cell, Mapping[str, Timing]],
    comparisons: Sequence[Comparison],
    notes: Sequence[str],
) -> dict[str, Any]:
    found = {(c.cell, c.candidate): c for c in comparisons}
    results = []
    for cell, candidates in times.items():
        for name, timing in candidates.items():
            c, interval = found.get((cell, name)), timing.interval
            results.append(
                {
                    **asdict(cell),
                    "pattern": cell.pattern or None,
                    "candidate": name,
                    "median_us": interval.median,
                    "low_us": interval.low,
                    "high_us": interval.high,
                    "launches": interval.n,
                    "comparison": None if c is None else comparison_json(c),
                }
            )
    return {"results": results, "warnings": list(notes)}


def comparison_json(c: Comparison) -> dict[str, Any]:
    return {
        "baseline": c.baseline,
        "ratio": c.ratio.median if c.verdict.tested else None,
        "low": c.ratio.low,
        "high": c.ratio.high,
        "p": c.p,
        "p_adjusted": c.q,
        "launches": c.launches,
        "outcome": c.outcome,
        "why": c.verdict.why,
        "missing": c.verdict.missing,
    }

"""Rows for layouts that nobody measured: interpolated, or simulated."""

from __future__ import annotations

import math
import re
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from stretto.campaign.decide import Chosen, Decided
from stretto.campaign.layout import Layout, enclosing
from stretto.errors import StrettoError, UsageError
from stretto.files.io import read_text
from stretto.files.rows import Row, star
from stretto.files.table import WITHOUT_SIZE, read_table
from stretto.kinds import Family
from stretto.measure.compare import NATIVE
from stretto.plan import CallPlans, choices
from stretto.tune.decide import choose, segments_of

#: on each layout, the collectives and candidates that are out there: wrong results, crashes
Gone = Mapping[Layout, Collection[tuple[str, str]]]
#: ranks up to which the plans of all of them are built to see whether a choice can run
MOST_BUILT = 512


def interpolated(
    layout: Layout, decided: Mapping[Layout, Decided], gone: Gone | None = None
) -> list[Row]:
    """Return rows for a layout that was not measured; empty when it lies outside.

    A choice must be significantly faster than native on both layouts around, at that size, and able
    to run here; it must not be slower, by the test, on any measured layout next to this one, nor
    out there or here. Its ratio is the mean of the two in logarithms, weighed by nearness.
    Everything else is native.
    """
    pair = enclosing(layout, sorted(decided))
    if not pair:
        return []
    a, b = (decided[x] for x in pair)
    far = a.layout.distance(layout) + b.layout.distance(layout)
    weight = 0.5 if far == 0 else b.layout.distance(layout) / far  # of the first
    out = {who for x in gone or {} if _next_to(x, layout, decided) for who in (gone or {})[x]}
    slower = _slower([d for x, d in decided.items() if _next_to(x, layout, decided)])
    rows: list[Row] = []
    chosen: Chosen = {}
    for collective in [c for c in a.ratios if c in b.ratios]:
        one, two = a.ratios[collective], b.ratios[collective]
        names = {
            n
            for n in sorted(_names(one) & _names(two))
            if (collective, n) not in out and can_run(collective, n, layout)
        }
        slow = {(size, n) for size, n in slower[collective] if n in names}
        # At a size that one of them lacks nothing is known of the other: native stays there.
        sizes = sorted({*one, *two, *(size for size, _ in slow)})
        if collective in WITHOUT_SIZE:  # what holds at one of its sizes does so at all
            names -= {n for _, n in slow}
            one, two = (dict.fromkeys(sizes, next(iter(x.values()), {})) for x in (one, two))
        options = {
            size: {
                n: math.exp(weight * math.log(x[n]) + (1 - weight) * math.log(y[n]))
                for n in sorted(names)
                if n in x and n in y and (size, n) not in slow
            }
            for size, x, y in ((s, one.get(s, {}), two.get(s, {})) for s in sizes)
        }
        chosen[collective] = choose(options)
        for s in segments_of(collective, chosen[collective], options, {}):
            evidence: dict[str, str] = {}
            if s.measured:
                ratios = [1.0 if s.choice == NATIVE else options[x][s.choice] for x in s.measured]
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                evidence = {
                    "ratio": f"{mean:.3f}",
                    "source": "interpolated",
                    "from": "+".join(x.name for x in pair),
                    "sizes": ",".join(map(str, s.measured)),
                }
            rows.append(
                Row(collective, layout.nodes, layout.ppn, s.low, s.high, s.choice, evidence)
            )
    return rows


def can_run(collective: str, choice: str, layout: Layout) -> bool:
    """Return whether a choice that runs on the layouts around one has a plan on it, too.

    Some algorithms need an even number of ranks, or a power of two, and what lies between two of
    these need not be one.
    """
    if choice.startswith(NATIVE):
        return True
    try:
        # parameters do not matter: lanes(2) has its two ranks on a node here as it has around
        listed = {_kind(c) for c in choices(collective, layout.nranks, layout.nodes)}
        if _kind(choice) in listed:
            return True
        if layout.nranks > MOST_BUILT:
            return False
        hosts = [rank // layout.ppn for rank in range(layout.nranks)]
        with CallPlans(collective, choice, layout.nranks, hosts):
            return True
    except StrettoError:
        return False


def _kind(choice: str) -> str:
    return re.sub(r"\([^)]*\)", "", choice)


def _names(ratios: Mapping[int, Mapping[str, float]]) -> set[str]:
    return {n for found in ratios.values() for n in found}


def _next_to(x: Layout, layout: Layout, measured: Iterable[Layout]) -> bool:
    return not any(
        m not in (x, layout)
        and sorted((x.nodes, m.nodes, layout.nodes))[1] == m.nodes
        and sorted((x.ppn, m.ppn, layout.ppn))[1] == m.ppn
        for m in measured
    )


def _slower(decided: Iterable[Decided]) -> Mapping[str, set[tuple[int, str]]]:
    out: dict[str, set[tuple[int, str]]] = defaultdict(set)
    for d in decided:
        for c in d.comparisons:
            if c.outcome == "slower" or c.slower_elsewhere:
                out[c.cell.collective].add((c.cell.bytes, c.candidate))
    return out


def read_simulated(path: Path, family: Family) -> list[Row]:
    """Return the rows of a simulated table, or refuse one that is for another MPI or measured.

    A choice without evidence, as a hand writes it, is not taken for a simulated one.

    `path`: what ``stretto table simulate`` wrote.
    `family`: of the MPI that is measured: choices such as ``native:...`` mean nothing to another.
    """
    if not path.exists():
        raise UsageError(
            "there is no such simulated table (refine)",
            str(path),
            f"make one with: stretto table simulate -p PLATFORM -o {shlex.quote(str(path))}",
        )
    table = read_table(path)
    if table.family != family:
        raise UsageError(
            f"this table is for {table.family}, but the campaign measures {family}",
            str(path),
            f"make it for {family}: stretto table simulate -p ... --mpi {family}",
        )
    for at, r in enumerate(table.rows):
        if not r.simulated and (r.evidence or r.choice != NATIVE):
            raise UsageError(
                f"a row of this table is not simulated: it lacks source=simulated "
                f"({r.collective}, {star(r.nodes)}x{star(r.ppn)}: {r.choice})",
                f"{path}:{_line(path, at)}",
                "name a table of stretto table simulate, as it was written: merged or "
                "hand-written tables are not accepted",
            )
    return table.rows


def refined(
    rows: Sequence[Row], simulated: Sequence[Row], gone: Gone | None = None
) -> tuple[list[Row], int]:
    """Return measured rows, and the simulated ones of collectives and layouts that have none.

    A collective on a layout is one or the other as a whole: a measured ``native`` is a finding.
    Where a candidate is out, a simulated choice of it is left to the MPI.
    """
    have = {(r.collective, r.nodes, r.ppn) for r in rows}
    kept = [r for r in simulated if (r.collective, r.nodes, r.ppn) not in have]
    left = [replace(r, choice=NATIVE, evidence={}) if _out(r, gone or {}) else r for r in kept]
    return [*rows, *left], sum(r.simulated for r in left)


def _out(row: Row, gone: Gone) -> bool:
    return any(
        row.nodes in (None, x.nodes) and row.ppn in (None, x.ppn)
        for x, out in gone.items()
        if (row.collective, row.choice) in out
    )


def _line(path: Path, at: int) -> int:
    lines = read_text(path, "a table").split("\n")
    return [i for i, line in enumerate(lines, 1) if line.split()[:1] == ["row"]][at]

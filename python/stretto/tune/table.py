"""``stretto table``: a table from results, which ``decide`` reads and ``make`` measures."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.counted import counted, sized
from stretto.errors import StrettoError
from stretto.files.bench import Bench, read_bench
from stretto.files.caches import all_cold
from stretto.files.calls import need_blocking
from stretto.files.identity import other_cpu
from stretto.files.table import Row, Table, table_of, write_table
from stretto.measure.baseline import fair, need_baseline
from stretto.measure.compare import BARE, NATIVE, Cell, Comparison, Timing, best, decisive, timings
from stretto.measure.stats import FEWEST
from stretto.mpi.algorithms.base import FILES, PREFIX
from stretto.tune.decide import calls_of, decide


@dataclass(frozen=True)
class DecidedFile:
    """What came of one results file.

    `natives`: native algorithms that were faster than the MPI's choice, in words (no table holds
    them). `alone`: calls at which the MPI was not measured by itself, in words.
    """

    bench: Bench
    times: Mapping[Cell, Mapping[str, Timing]]
    comparisons: list[Comparison]
    deciding: list[Comparison]
    rows: list[Row]
    natives: list[str]
    alone: list[str]


def decide_from(paths: Sequence[Path], out: Path | None) -> tuple[list[DecidedFile], Path]:
    found, table = table_from(paths)
    target = out or table_beside(paths[0])
    write_table(table, target)
    return found, target


def table_beside(path: Path) -> Path:
    """Return where the table of a results file lies: beside it, under its name."""
    return path.with_name(path.name.removesuffix(".bench.jsonl") + ".table")


def table_from(paths: Sequence[Path]) -> tuple[list[DecidedFile], Table]:
    """Return what each results file gives, and the table of all of them; nothing is written."""
    found: list[DecidedFile] = []
    read: list[tuple[Path, Bench]] = []
    seen: dict[tuple[int, int, str], Path] = {}
    for path in paths:
        bench = read_bench(path)
        if found and bench.header.mpi != found[0].bench.header.mpi:
            first = found[0].bench.header.mpi
            raise StrettoError(
                f"these results are of {bench.header.mpi.family} {bench.header.mpi.version}, the "
                f"first ones of {first.family} {first.version}: a table is for one MPI",
                path,
                "make a table of each; stretto compare shows them side by side",
            )
        here, there = bench.header.host, (found[0].bench if found else bench).header.host
        if other_cpu(here, there):
            raise StrettoError(
                f"these results are of {here.cpu}, the first ones of {there.cpu}: a table is for "
                "one kind of node", path, "make a table of each",
            )  # fmt: skip
        need_blocking(bench, path)
        need_baseline(bench, path)
        nodes, ppn = _layout(bench, path)
        for collective in {s.collective for s in bench.samples}:
            other = seen.setdefault((nodes, ppn, collective), path)
            if other != path:
                raise StrettoError(
                    f"{other} also has {collective} on {nodes} x {ppn}", path,
                    "name one of the two: measurements of two campaigns cannot be mixed",
                )  # fmt: skip
        read.append((path, bench))
        all_cold(read, "decide from each kind separately, with one table for each")
        found.append(decide_bench(bench, nodes, ppn))
    head = found[0].bench.header
    rows = [r for d in found for r in d.rows]
    layouts = {(r.nodes, r.ppn) for r in rows}
    nodes_, ppn_ = layouts.pop() if len(layouts) == 1 else (None, None)
    return found, table_of(head.identity, nodes_, ppn_, rows)


def _layout(bench: Bench, path: Path) -> tuple[int, int]:
    measured = {s.launch for s in bench.samples}
    simulated = any(s.source == "simulated" for s in bench.samples)
    layouts = {(r.nodes, r.ppn, r.nranks) for r in bench.launches if r.launch in measured}
    if simulated and (len(layouts) > 1 or len(measured) < FEWEST):
        raise _simulated(path)
    if len(layouts) != 1:
        each = [f"{counted(r, 'rank')} on {n} x {p}" for n, p, r in sorted(layouts)]
        words = ", ".join(each) or "none at all"
        raise StrettoError(
            f"a table is decided from results of one layout a file; this one has {words}", path,
            "measure each layout into a separate file",
        )  # fmt: skip
    nodes, ppn, _ = layouts.pop()
    return nodes, ppn


def _simulated(path: Path) -> StrettoError:
    """Return what to say of simulated results: a model's table is decided when they are made."""
    table = table_beside(path)
    return StrettoError(
        "these results are simulated, but a table needs measured launches of one layout", path,
        "use the table written by stretto table simulate"
        + (f": stretto run --table {shlex.quote(str(table))}" if table.exists() else ""),
    )  # fmt: skip


def decide_bench(bench: Bench, nodes: int, ppn: int) -> DecidedFile:
    times = timings(bench)
    comparisons = fair(times)
    deciding = decisive(comparisons, times)
    sources = {s.source for s in bench.samples}
    source = "measured" if sources == {"measured"} else "simulated"
    natives = []
    for cell in sorted({c.cell for c in deciding}):
        own = [c for c in deciding if c.candidate.startswith(PREFIX) and c.candidate != FILES]
        mine = [c for c in own if c.cell == cell]
        winner = best(mine)
        if winner is not None:
            natives.append(
                f"{cell.collective} {sized(cell.bytes)}: {winner.candidate}, "
                f"{winner.why}, {counted(winner.launches, 'launch')}"
            )
    rows = decide(deciding, nodes, ppn, source=source, calls=calls_of(times))
    if bench.header.cold:
        for row in rows:
            row.evidence["caches"] = "cold"
    alone: dict[str, set[int]] = defaultdict(set)
    for cell, found in times.items():
        if not {NATIVE, BARE} & set(found):
            alone[cell.collective].add(cell.bytes)
    words = [f"{c} of {', '.join(map(sized, sorted(s)))}" for c, s in alone.items()]
    return DecidedFile(bench, times, comparisons, deciding, rows, natives, words)

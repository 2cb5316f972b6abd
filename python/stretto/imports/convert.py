"""From printed tables to bench results, one file for each MPI and layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from stretto.counted import counted, sized
from stretto.errors import StrettoError
from stretto.files.bench import Bench, Header, Launch, LaunchEnd, Sample
from stretto.files.identity import now
from stretto.grouped import grouped
from stretto.imports.placing import Asked, FileLayout, Item, Which, refuse_two_builds
from stretto.imports.printed import REDUCTIONS, TableLine, file_of
from stretto.measure.compare import cell_of
from stretto.version import __version__

WORDS: dict[Which, str] = {"max": "largest over the ranks", "avg": "mean over the ranks"}


def choose_value(items: Sequence[Item], wanted: Which | None, left_out: list[str]) -> Which:
    """Return which of the printed times is taken from all files alike.

    The largest over the ranks is what Stretto's own results hold; the mean over the ranks is all
    that most OSU files have, and the two must not be compared with one another.
    """
    lines = [(item.table.place, line) for item in items for line in item.table.lines]
    value: Which = wanted or ("max" if all(x.largest is not None for _, x in lines) else "avg")
    missing = [file_of(place) for place, x in lines if _time(x, value) is None]
    if missing and len(missing) == len(lines):
        raise StrettoError(
            f"no file has a column for the {WORDS[value]}", missing[0],
            f"import the {WORDS['avg' if value == 'max' else 'max']}"
            + (", or run OSU's programs with -f, which prints it" if value == "max" else ""),
        )  # fmt: skip
    if missing:
        left_out.append(
            f"{missing[0]}: left out: no column of the {WORDS[value]} "
            f"({counted(len(missing), 'line')} of {counted(len(set(missing)), 'file')} in all)"
        )
    return value


def _time(line: TableLine, value: Which) -> float | None:
    return line.largest if value == "max" else line.average


def _sends_nothing(item: Item, line: TableLine) -> bool:
    return line.bytes == 0 and item.collective != "barrier"


def of_no_bytes(items: Sequence[Item]) -> str | None:
    """Say how many lines are of 0 bytes, which are left out; None where there are none."""
    found = [i.collective for i in items for x in i.table.lines if _sends_nothing(i, x)]
    if not found:
        return None
    return (
        f"lines of 0 bytes are left out, because they send nothing: {len(found)} "
        f"({', '.join(dict.fromkeys(found))})"
    )


def found_wrong(items: Sequence[Item]) -> list[str]:
    """Say what the benchmark itself found wrong, a sentence for each candidate and layout."""
    places: dict[tuple[FileLayout, str, str], TableLine] = {}
    for item in items:
        for line in item.table.lines:
            if not line.correct and not _sends_nothing(item, line):
                places.setdefault((item.layout, item.collective, item.candidate), line)
    return [
        f"{collective}, {sized(line.bytes)}: the benchmark found wrong results ({line.place}); "
        f"candidate {candidate} is excluded for {collective} on {layout.nodes} x "
        f"{layout.ppn}, at any size"
        for (layout, collective, candidate), line in places.items()
    ]


def collect(
    items: Sequence[Item], asked: Asked, value: Which, form: str, command: Sequence[str]
) -> dict[FileLayout, Bench]:
    """Return the results of each MPI and layout, in the order of their names."""
    groups = grouped((i.layout, i) for i in items if _samples(0, i, value))
    if items and not groups:
        raise StrettoError(
            "there was nothing to import: all sizes are 0 bytes", items[0].table.place,
            "measure sizes above 0 bytes",
        )  # fmt: skip
    refuse_two_builds((i.layout, i.called) for group in groups.values() for i in group)
    out: dict[FileLayout, Bench] = {}
    for layout, members in sorted(groups.items(), key=lambda g: g[0].name):
        bench = out[layout] = Bench(_header(layout, members, asked, value, form, command))
        for number, item in enumerate(sorted(members, key=lambda i: i.order)):
            candidates = {item.collective: [item.candidate]}
            sizes = (layout.nodes, layout.ppn, layout.nranks)
            bench.records += [
                Launch(number, *sizes, candidates, None, item.candidate),
                *_samples(number, item, value),
                LaunchEnd(number, "ok", f"imported from {item.table.place}"),
            ]
    return out


def fewest_launches(benches: Iterable[Bench]) -> int:
    """Return the least number of launches behind any collective, candidate and size."""
    counts = [Counter((s.candidate, cell_of(s)) for s in bench.samples) for bench in benches]
    return min((n for count in counts for n in count.values()), default=0)


def _samples(number: int, item: Item, value: Which) -> list[Sample]:
    """Return one launch's samples; sizes of 0 bytes, at which nothing is sent, are left out.

    A size that was measured more than once in it (``-msgsize 8,8``) has several times.
    """
    table = item.table
    barrier = item.collective == "barrier"
    samples: dict[int, Sample] = {}
    for line in table.lines:
        found = _time(line, value)
        if found is None or _sends_nothing(item, line):
            continue
        before = samples.get(line.bytes)
        samples[line.bytes] = Sample(
            launch=number,
            collective=item.collective,
            candidate=item.candidate,
            bytes=line.bytes,
            datatype="MPI_BYTE" if barrier else table.datatype,
            operation="MPI_SUM" if item.collective in REDUCTIONS else None,
            root=0,
            mode=table.mode,
            batch=max(1, line.iterations or 1),
            times_us=[*(before.times_us if before else []), found],
            correct=line.correct and (before is None or before.correct),
            source="measured",
        )
    return list(samples.values())


def _header(
    layout: FileLayout,
    members: Sequence[Item],
    asked: Asked,
    value: Which,
    form: str,
    command: Sequence[str],
) -> Header:
    tables = [m.table for m in members]
    host, unknown = asked.origin(tables, layout.mpi)
    if any(line.iterations is None for t in tables for line in t.lines):
        unknown.append("batch (iterations of each mean; the samples contain 1)")
    imported = {
        "format": form,
        "tools": sorted({t.tool for t in tables}),
        "value": WORDS[value],
        "each": "the mean of all iterations of one launch",
        "results_checked": "only where the benchmark did so",
        "files": sorted({file_of(t.place) for t in tables}),
        "settings": [f"{n}={v}" for n, v in members[0].around],  # of all tables alike
        "dates": sorted({t.date for t in tables if t.date}),
        "unknown": unknown,
    }
    # all are cold, or none is
    settings = {"nranks": layout.nranks, "cold": tables[0].cold, "imported": imported}
    return Header(__version__, now(), host, layout.mpi, list(command), settings)

"""From printed tables to bench results, one file for each MPI and layout."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stretto.counted import counted
from stretto.errors import StrettoError, from_oserror
from stretto.files.bench import Header, Launch, LaunchEnd, Record, Sample
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import now
from stretto.imports.mpis import UNKNOWN, written
from stretto.imports.placing import Asked, FileLayout, Item, Which
from stretto.imports.printed import REDUCTIONS, TableLine
from stretto.measure.compare import cell_of
from stretto.measure.show import size_words
from stretto.version import __version__


@dataclass
class Imported:
    """What came of it.

    `fewest`: the least number of launches behind any collective, candidate and size.
    """

    files: dict[Path, tuple[int, int]] = field(default_factory=dict)
    value: Which = "avg"
    fewest: int = 0
    left_out: list[str] = field(default_factory=list)


_CANNOT = "cannot write the results"
_WORDS: dict[Which, str] = {"max": "largest over the ranks", "avg": "mean over the ranks"}


def choose_value(items: Sequence[Item], wanted: Which | None, left_out: list[str]) -> Which:
    """Return which of the printed times is taken from all files alike.

    The largest over the ranks is what Stretto's own results hold; the mean over the ranks is all
    that most OSU files have, and the two must not be compared with one another.
    """
    lines = [(item.table.place, line) for item in items for line in item.table.lines]
    value: Which = wanted or ("max" if all(x.largest is not None for _, x in lines) else "avg")
    missing = [place.rpartition(":")[0] for place, x in lines if _time(x, value) is None]
    if missing and len(missing) == len(lines):
        raise StrettoError(
            f"no file has a column of the {_WORDS[value]}",
            missing[0],
            f"import the {_WORDS['avg' if value == 'max' else 'max']}"
            + (", or run OSU's programs with -f, which prints it" if value == "max" else ""),
        )
    if missing:
        files = list(dict.fromkeys(missing))
        left_out.append(
            f"{files[0]}{f' and {len(files) - 1} more' if len(files) > 1 else ''}: "
            f"{counted(len(missing), 'line')} without a column of the {_WORDS[value]} "
            f"{'was' if len(missing) == 1 else 'were'} left out"
        )
    return value


def _time(line: Any, value: Which) -> float | None:
    found: float | None = line.largest if value == "max" else line.average
    return found


def of_no_bytes(items: Sequence[Item]) -> str | None:
    """Say how many lines are of 0 bytes, which are left out; None where there are none."""
    found = [i.collective for i in items for x in i.table.lines if _sends_nothing(i, x)]
    if not found:
        return None
    return (
        f"{counted(len(found), 'line')} of 0 bytes, at which nothing is sent, "
        f"{'was' if len(found) == 1 else 'were'} left out ({', '.join(dict.fromkeys(found))})"
    )


def found_wrong(items: Sequence[Item]) -> list[str]:
    """Say what the benchmark itself found wrong, a sentence for each candidate and layout."""
    places: dict[tuple[FileLayout, str, str], dict[int, str]] = defaultdict(dict)
    for item in items:
        for line in item.table.lines:
            if not line.correct and not _sends_nothing(item, line):
                key = (item.layout, item.collective, item.candidate)
                places[key].setdefault(line.bytes, line.place)
    return [
        f"{collective}, {_sizes(sorted(at))}: the benchmark found wrong results "
        f"({at[min(at)]}{', ...' if len(at) > 1 else ''}); that candidate ({candidate}) decides "
        f"nothing for {collective} on {layout.nodes} x {layout.ppn}, at any size"
        for (layout, collective, candidate), at in places.items()
    ]


def _sizes(sizes: Sequence[int]) -> str:
    more = f" and {counted(len(sizes) - 3, 'size')} more" if len(sizes) > 3 else ""
    return f"{', '.join(size_words(n) for n in sizes[:3])} B{more}"


def _sends_nothing(item: Item, line: TableLine) -> bool:
    return line.bytes == 0 and item.collective != "barrier"


def write(
    items: Sequence[Item],
    out: Path,
    asked: Asked,
    value: Which,
    form: str,
    command: Sequence[str],
) -> Imported:
    """Write the results files."""
    done = Imported(value=value)
    groups: dict[FileLayout, list[Item]] = defaultdict(list)
    for item in items:
        if _samples(0, item, value):
            groups[item.layout].append(item)
    if not groups:
        raise StrettoError(
            "there was nothing to import: all sizes are 0 bytes", items[0].table.place,
            "measure sizes at which something is sent",
        )  # fmt: skip
    counts: dict[tuple[Any, ...], int] = defaultdict(int)
    parts: dict[Path, Path] = {}
    at = out
    try:
        _refuse_no_directory(out)
        _refuse_taken(groups, out)
        for layout, members in sorted(groups.items(), key=lambda g: g[0].name):
            at = out / layout.name
            header = _header(layout, members, asked, value, form, command)
            samples = 0
            part = at.with_name(f".{at.name}.part")
            part.unlink(missing_ok=True)
            parts[at] = part
            with BenchWriter(part, header) as writer:
                for number, item in enumerate(sorted(members, key=lambda i: i.order)):
                    for record in _records(number, item, value):
                        writer.write(record)
                        if isinstance(record, Sample):
                            samples += 1
                            counts[layout, record.candidate, cell_of(record)] += 1
            done.files[at] = (len(members), samples)
        # All or none: what stood there already would be refused when this is done again.
        for at, part in parts.items():
            part.replace(at)
    except OSError as error:
        raise from_oserror(error, _CANNOT, at) from error
    except StrettoError as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and not isinstance(cause, BlockingIOError):
            # It speaks of the part, and of what is kept.
            raise from_oserror(cause, _CANNOT, at) from error
        raise
    finally:
        for part in parts.values():
            with contextlib.suppress(OSError):
                part.unlink()
    done.fewest = min(counts.values(), default=0)
    return done


def _refuse_no_directory(out: Path) -> None:
    """Refuse a place for the results at or above which something else is."""
    there = next(p for p in (out, *out.parents) if p.exists() or p.is_symlink())
    if not there.is_dir():
        raise StrettoError(
            "this is not a directory, and the results are files in one", there,
            "name a directory, which need not exist: --out imported",
        )  # fmt: skip


def _refuse_taken(groups: Mapping[FileLayout, Sequence[Item]], out: Path) -> None:
    mine: dict[str, FileLayout] = {}
    for layout in groups:
        path, other = out / layout.name, mine.setdefault(layout.name, layout)
        if other is not layout:
            mpis = (other.mpi, layout.mpi)
            words = sorted(m.library.removesuffix(" (imported)") for m in mpis)
            both = (*groups[other], *groups[layout])
            whole = written(layout.mpi)
            names = sorted({i.called for i in both if i.called is not None})
            raise StrettoError(
                f"{' and '.join(words)} would both be {path.name}; builds are never mixed", path,
                "if they are one MPI, say so: "
                + " ".join(f"--mpi {name}={whole}" for name in names)
                + "; otherwise import them by themselves, each with its own --out",
            )  # fmt: skip
        if path.exists():
            raise StrettoError(
                "this file exists already, and results are not overwritten", path,
                "name another directory (--out), or remove the file; files named in several ways "
                "are imported at once: --pattern A --pattern B",
            )  # fmt: skip


def _records(number: int, item: Item, value: Which) -> list[Record]:
    launch = Launch(
        number, item.layout.nodes, item.layout.ppn, item.layout.nranks,
        {item.collective: [item.candidate]}, None, item.candidate,
    )  # fmt: skip
    end = LaunchEnd(number, "ok", f"imported from {item.table.place}")
    return [launch, *_samples(number, item, value), end]


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
    kernels = {m.table.kernel for m in members} - {None}
    host = asked.host
    if host.kernel == UNKNOWN and len(kernels) == 1:
        host = replace(host, kernel=str(kernels.pop()))
    unknown = [f"host.{k}" for k, v in vars(host).items() if v in (UNKNOWN, 0)]
    if layout.mpi.version == UNKNOWN:
        unknown.append("mpi.version")
    if any(line.iterations is None for m in members for line in m.table.lines):
        unknown.append("batch (iterations of each mean; 1 stands in the samples)")
    imported = {
        "format": form,
        "tools": sorted({m.table.tool for m in members}),
        "value": _WORDS[value],
        "each": "the mean of all iterations of one launch",
        "results_checked": "only where the benchmark did so",
        "files": sorted({m.table.place.rpartition(":")[0] for m in members}),
        "settings": [f"{n}={v}" for n, v in members[0].around],  # of all tables alike
        "dates": sorted({m.table.date for m in members if m.table.date}),
        "unknown": unknown,
    }
    cold = members[0].table.cold  # as are all
    settings = {"nranks": layout.nranks, "cold": cold, "imported": imported}
    return Header(__version__, now(), host, layout.mpi, list(command), settings)

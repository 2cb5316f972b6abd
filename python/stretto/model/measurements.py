"""Measurements for a fit, by kind of curve: OSU's output, comma-separated tables, ours.

Of messages (between two nodes, or within one) and of node collectives. Values are kept as the file
gives them: microseconds for latencies and collectives, megabytes (10^6) a second for bandwidths.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal, get_args

from stretto.errors import StrettoError
from stretto.files.bench import read_bench
from stretto.files.calls import need_blocking
from stretto.files.io import read_text
from stretto.files.net import Messages, read_net

Kind = Literal[
    "latency", "bandwidth", "bibandwidth", "multi_pair", "sends", "node_latency", "node_bandwidth",
    "node_sends", "node_bcast", "node_allreduce",
]  # fmt: skip
KINDS: tuple[str, ...] = get_args(Kind)
WHAT = "measurements"
#: in MB/s; the others are in us
BANDWIDTHS = ("bandwidth", "bibandwidth", "multi_pair", "node_bandwidth")

#: titles in the output of OSU and of bench/pt2pt.c, and what they contain (between nodes); the
#: names of other benchmarks contain the same words: Allgather Latency Test, Multi Latency Test
_OSU = tuple(
    (re.compile(rf"#\s*(?:OSU MPI(?:-\w+)?|Stretto)\s+{words}", re.IGNORECASE), kind)
    for words, kind in (
        ("Multiple Bandwidth", "multi_pair"),
        ("Bi-Directional Bandwidth", "bibandwidth"),
        ("Bandwidth Test", "bandwidth"),
        ("Latency Test", "latency"),
        ("(?:Broadcast|Bcast)", "node_bcast"),
        ("Allreduce", "node_allreduce"),
    )
)


@dataclass(frozen=True)
class Series:
    """One measured curve.

    `kind`: what was measured.
    `points`: message size in bytes, and the value (us or MB/s), in order of size.
    `pairs`: pairs of ranks at once (multi_pair), or ranks on the node (node_bcast, node_allreduce).
    `window`: messages in flight (bandwidths).
    `place`: file, and column where there are several.
    `software`: what measured, where it is not Stretto: ``OSU 7.4``.
    """

    kind: Kind
    points: tuple[tuple[int, float], ...]
    pairs: int
    window: int
    place: str
    software: str = ""


def read_series(path: Path, kind: str | None, column: str | None, pairs: int | None) -> Series:
    """Read one curve.

    `kind`: what it holds; None: as an OSU print-out says itself.
    `column`: name of the column of a table; None: the only one. Where there is nothing to choose
    from, a number is `pairs`.
    """
    text = read_text(path, WHAT)
    if kind is not None and kind not in KINDS:
        raise StrettoError(
            f"{kind!r} is not a kind of measurement", path, f"kinds: {', '.join(KINDS)}"
        )
    if path.name.endswith(".jsonl"):
        return _from_bench(path, kind, column)
    if text.lstrip().startswith("#"):
        return _from_osu(text, path, kind, column, pairs)
    return _from_csv(text, path, kind, column, pairs)


def _make(
    kind: str,
    points: list[tuple[int, float]],
    pairs: int | None,
    window: int,
    place: str,
    software: str = "",
) -> Series:
    if not points:
        raise StrettoError("there is no measured value", place, "give a file with measured values")
    if kind in ("multi_pair", "node_bcast", "node_allreduce") and pairs is None:
        raise StrettoError(
            f"the number of {'pairs' if kind == 'multi_pair' else 'ranks'} is unknown",
            place,
            "add :NUMBER after the file (multi_pair=FILE:COLUMN:36)",
        )
    points = sorted(points)
    sizes = [n for n, _ in points]
    if len(set(sizes)) != len(sizes):
        raise StrettoError("a message size occurs twice", place, "use a separate file for each run")
    return Series(kind, tuple(points), pairs or 1, window, place, software)  # type: ignore[arg-type]


def _points(
    rows: Sequence[tuple[int, Sequence[str]]], at: int, path: Path
) -> list[tuple[int, float]]:
    """Return the sizes in the first column of lines, and the values in another."""
    points = []
    for number, row in rows:
        if not row:
            continue
        place = f"{path}:{number}"
        if len(row) <= at:
            raise StrettoError("this line lacks a size or a value", place, "complete the line")
        if not re.fullmatch(r"[0-9]{1,12}", row[0].strip()):
            raise StrettoError(
                f"{row[0]!r} is not a message size in bytes",
                place,
                "the first column must be the size",
            )
        try:
            value = float(row[at])
        except ValueError:
            value = -1.0
        if not 0 < value < 1e12:
            raise StrettoError(
                f"{row[at]!r} is not a measured value", place, "values must be above 0"
            )
        points.append((int(row[0]), value))
    return points


def _from_osu(
    text: str, path: Path, kind: str | None, column: str | None, pairs: int | None
) -> Series:
    lines = text.splitlines()
    found = next((k for pattern, k in _OSU if any(pattern.match(x) for x in lines)), None)
    if column is not None:  # there are no columns to choose from: it is the number
        if not column.isdecimal():
            raise StrettoError(
                f"the output of a benchmark has no column {column!r}",
                path,
                "write KIND=FILE or KIND=FILE:NUMBER",
            )
        pairs = int(column)
    if found is not None and kind not in (None, found, f"node_{found}"):
        raise StrettoError(
            f"its title names {found}, but it was given as {kind}", f"{path}:1",
            f"write {found}={path}",
        )  # fmt: skip
    if found is None and kind is None:
        raise StrettoError(
            "the OSU benchmark of this file is unknown",
            f"{path}:1",
            f"name the kind: KIND=FILE, with one of {', '.join(KINDS)}",
        )
    window = 64
    for line in lines:
        if match := re.search(r"pairs:\s*(\d+)", line):
            pairs = int(match[1])
        if match := re.search(r"window size:\s*(\d+)", line):
            window = int(match[1])
    rows = [(n, x.split()) for n, x in enumerate(lines, 1) if not x.lstrip().startswith("#")]
    points = _points(rows, 1, path)
    title = re.search(r"^#\s*OSU MPI.*?(?: v(\S+))?$", text, re.MULTILINE | re.IGNORECASE)
    software = f"OSU {title[1] or ''}".strip() if title else ""
    return _make(kind or str(found), points, pairs, window, str(path), software)


def _from_csv(
    text: str, path: Path, kind: str | None, column: str | None, pairs: int | None
) -> Series:
    if kind is None:
        raise StrettoError(
            "the kind of measurement is unknown",
            path,
            f"write KIND=FILE:COLUMN, with KIND one of {', '.join(KINDS)}",
        )
    rows = list(csv.reader(text.splitlines()))
    names = [n.strip() for n in rows[0][1:]] if rows else []
    if len(names) == 1 and (column is None or (column.isdecimal() and column not in names)):
        pairs = pairs if column is None else int(column)
        column = names[0]
    if column not in names:
        raise StrettoError(
            f"there is no column {column!r}" if column else "it has several columns",
            f"{path}:1",
            f"write KIND=FILE:COLUMN, with one of: {'; '.join(names)}",
        )
    points = _points(list(enumerate(rows[1:], start=2)), names.index(column) + 1, path)
    return _make(kind, points, pairs, 64, f"{path} ({column})")


def _from_bench(path: Path, kind: str | None, column: str | None) -> Series:
    if kind not in ("node_bcast", "node_allreduce"):
        raise StrettoError(
            "results of stretto bench can give only collectives of a node",
            path,
            "write node_allreduce=FILE:shm or node_bcast=FILE:shm",
        )
    wanted, candidate = kind.removeprefix("node_"), column or "shm"
    bench = read_bench(path)
    need_blocking(bench, path)
    ranks = {launch.nranks for launch in bench.launches if launch.nodes == 1}
    if len(ranks) != 1:
        raise StrettoError(
            "the results are not of one node with one number of ranks", path, "measure on one node"
        )
    values: dict[int, list[float]] = {}
    for s in bench.samples:
        if (s.collective, s.candidate, s.source) == (wanted, candidate, "measured") and s.correct:
            values.setdefault(s.bytes, []).append(median(s.times_us))
    points = [(size, median(found)) for size, found in values.items() if median(found) > 0]
    return _make(kind, points, ranks.pop(), 1, f"{path} ({candidate})")


@dataclass(frozen=True)
class Residual:
    """One measured value beside the fitted one."""

    kind: str
    place: str
    bytes: int
    measured: float
    fitted: float

    @property
    def ratio(self) -> float:
        """Fitted / measured; of bandwidths the other way round, so that above 1 is too slow."""
        fast = self.kind in BANDWIDTHS
        return self.measured / self.fitted if fast else self.fitted / self.measured

    @property
    def unit(self) -> str:
        return "MB/s" if self.kind in BANDWIDTHS else "us"


#: messages in flight from which on a bandwidth is that of a window
WINDOW = 8
_LEVELS = ("single", "funneled", "serialized", "multiple")


def read_net_series(path: Path) -> list[Series]:
    """Read the curves of a network result: between two nodes, or within one.

    Of several numbers of pairs the largest counts. Medians over the launches.
    """
    result = read_net(path)
    if result.ranks is None:
        raise StrettoError(
            "it has no measured MPI messages", path,
            "measure some: stretto net mpi -o NAME.net.json",
        )  # fmt: skip
    hosts = result.ranks.hosts
    local = hosts[0] == hosts[len(hosts) // 2]
    least = min((m.level for m in result.ranks.messages), key=_LEVELS.index)
    found: dict[tuple[Kind, int, int], dict[int, float]] = defaultdict(dict)
    for m in result.ranks.messages:
        kind = _kind(m, local)
        value = float(median(median(run) for run in m.launches))
        if kind is not None and m.level == least and value > 0:
            found[kind, m.pairs, m.window][m.bytes] = value
    most = max((pairs for _, pairs, _ in found), default=1)
    software = ", ".join(result.imported.software) if result.imported else ""
    return [
        Series(kind, tuple(sorted(points.items())), pairs, window, f"{path} ({kind})", software)
        for (kind, pairs, window), points in found.items() if pairs in (1, most)
    ]  # fmt: skip


def _kind(m: Messages, local: bool) -> Kind | None:
    """Return which curve a measurement is a part of, None for those that no fit takes."""
    if m.threads > 1:
        return None
    windowed = m.window >= WINDOW
    if m.pairs > 1:
        return "multi_pair" if m.test == "bandwidth" and windowed and not local else None
    if m.test == "latency":
        return "node_latency" if local else "latency"
    if m.test == "sends":
        return "node_sends" if local else "sends"
    if m.test == "bandwidth" and windowed:
        return "node_bandwidth" if local else "bandwidth"
    return "bibandwidth" if m.test == "bidirectional" and windowed and not local else None

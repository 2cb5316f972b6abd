"""The page of flags and copies between the cores of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median

from stretto.counted import counted
from stretto.files.net import CorePair, NodeCore, NodeCores, Sharing, Way
from stretto.net.cores import CLASSES
from stretto.net.judge import FAR, size_words, three
from stretto.net.text import aligned

#: the answer quotes copies of about this size
_QUOTED = 1 << 20
#: one way, ns: twice what published figures of cores within one cache reach
_NEAR_NS = 150
#: matrices with more rows are left out
_ROWS_MOST = 16
_WAYS: dict[Way, str] = {"shared": "copy", "cma": "CMA", "xpmem": "XPMEM"}
_WORDS: dict[Sharing, str] = {
    "core": "hardware threads of one core",
    "cache": "cores that share a last-level cache",
    "numa": "cores of one NUMA domain, different caches",
    "socket": "cores of one socket, different NUMA domains",
    "node": "cores of different sockets",
}


@dataclass(frozen=True)
class CoreFinding:
    """What makes the figures doubtful: the pairs, and what to do."""

    topic: str
    pairs: tuple[tuple[int, int], ...]
    text: str
    remedy: str


def cores_page(node: NodeCores) -> list[str]:
    """Return the lines of the page."""
    out = [*cores_answer(node)]
    for finding in cores_findings(node):
        out += [f"WARNING {finding.text}", f"  -> {finding.remedy}"]
    out += ["", _inventory(node.cores), *_table(node)]
    out += _matrices(node)
    runs = max(len(pair.flag_ns) for pair in node.pairs)
    out += [
        "",
        f"Medians of the pairs of a class, {counted(runs, 'run')} each, and the range of all runs.",
        "flag: one cache line, one way. copy: one core writes shared memory, the other copies it to"
        " its memory. GB/s are 10^9 bytes a second.",
    ]
    return out


def cores_answer(node: NodeCores) -> Iterator[str]:
    """Yield the first lines: a line a class of pairs, and whether one process can read another."""
    for share, pairs in _classes(node):
        name = _words(share, node)
        speed = _speed(node, pairs, "shared", ", copy ")
        yield f"{name[0].upper()}{name[1:]}: flag {three(median(map(_flag, pairs)))} ns{speed}."
    if node.cma_refused:
        yield f"CMA refused: {node.cma_refused}."
        yield f"  -> {node.cma_remedy}"
    else:
        only = " only for processes that permit it (PR_SET_PTRACER)"
        yield f"CMA works{only if node.cma_permission else ''}{_speed(node, node.pairs, 'cma')}."
    if node.xpmem_refused:
        yield f"XPMEM: {node.xpmem_refused}."
    else:
        yield f"XPMEM works{_speed(node, node.pairs, 'xpmem')}."


def cores_findings(node: NodeCores) -> list[CoreFinding]:
    """Return where the topology that the system lists does not fit the flags.

    Pairs of one class that differ, cores that share a cache and are far apart, and pairs that
    changed between runs: a virtual machine may hide its topology, and its host may move its cores.
    """
    out = []
    listed = [pair for pair in node.pairs if pair.share == "cache" and _flag(pair) > _NEAR_NS]
    if listed:
        one = min(listed, key=_flag)
        out.append(
            CoreFinding(
                "far",
                tuple((pair.a, pair.b) for pair in listed),
                f"the system lists one last-level cache for {one.a} and {one.b}, but the flag takes"
                f" {three(_flag(one))} ns: they are as far apart as cores of different caches",
                "the virtual machine hides its topology: figures of this node are those of far"
                " cores; a later run, or a bare-metal node, may be near",
            )
        )
    for share, pairs in _classes(node):
        near, far = min(pairs, key=_flag), max(pairs, key=_flag)
        if _flag(far) > FAR * _flag(near):
            out.append(
                CoreFinding(
                    "class",
                    ((near.a, near.b), (far.a, far.b)),
                    f"{_words(share, node)} differ: the flag takes {three(_flag(near))} ns from "
                    f"{near.a} to {near.b} and {three(_flag(far))} ns from {far.a} to {far.b}",
                    "the system may hide caches or sockets (virtual machines do), or other "
                    "processes ran: repeat on an idle node with --all-pairs",
                )
            )
    moved = [pair for pair in node.pairs if max(pair.flag_ns) > FAR * min(pair.flag_ns)]
    if moved:
        worst = max(moved, key=lambda pair: max(pair.flag_ns) / min(pair.flag_ns))
        out.append(
            CoreFinding(
                "moved",
                tuple((pair.a, pair.b) for pair in moved),
                f"{counted(len(moved), 'pair')} changed between runs: from {worst.a} to {worst.b} "
                f"the flag took {three(min(worst.flag_ns))} to {three(max(worst.flag_ns))} ns",
                "other processes ran, or the host moves virtual cores: repeat on an idle node; if "
                "it stays, no placement by distance is reliable",
            )
        )
    return out


def _classes(node: NodeCores) -> Iterator[tuple[Sharing, list[CorePair]]]:
    for share in CLASSES:
        pairs = [pair for pair in node.pairs if pair.share == share]
        if pairs:
            yield share, pairs


def _words(share: Sharing, node: NodeCores) -> str:
    if share == "numa" and all(core.cache < 0 for core in node.cores):
        return "cores of one NUMA domain"
    if share == "socket" and all(core.socket < 0 for core in node.cores):
        return "cores of different NUMA domains"
    return _WORDS[share]


def _flag(pair: CorePair) -> float:
    return median(pair.flag_ns)


def _runs(pairs: Sequence[CorePair], way: Way, size: int) -> list[list[float]]:
    """Return the rates of each pair, GB/s a run."""
    return [
        [1e-9 * rate for rate in copy.bytes_s]
        for pair in pairs
        for copy in pair.copies
        if (copy.way, copy.bytes) == (way, size)
    ]


def _rates(pairs: Sequence[CorePair], way: Way, size: int) -> list[float]:
    """Return the median of each pair, GB/s."""
    return [median(runs) for runs in _runs(pairs, way, size)]


def _quoted(node: NodeCores) -> list[int]:
    """Return the size that the answer quotes, if copies were measured."""
    sizes = {copy.bytes for pair in node.pairs for copy in pair.copies}
    return sorted(sizes, key=lambda size: (abs(size - _QUOTED), size))[:1]


def _speed(node: NodeCores, pairs: Sequence[CorePair], way: Way, before: str = ", ") -> str:
    for size in _quoted(node):
        rates = _rates(pairs, way, size)
        if rates:
            return f"{before}{three(median(rates))} GB/s ({size_words(size)})"
    return ""


def _range(runs: Sequence[Sequence[float]]) -> str:
    values = list(chain.from_iterable(runs))
    return f"{three(min(values))}..{three(max(values))}" if len(values) > 1 else ""


def _inventory(cores: Sequence[NodeCore]) -> str:
    def number(of: Callable[[NodeCore], int]) -> int:
        return len({of(core) for core in cores})

    caches = number(lambda core: core.cache) if all(c.cache >= 0 for c in cores) else 0
    words = [
        counted(number(lambda core: core.core), "core"),
        counted(len(cores), "hardware thread"),
        *([counted(caches, "last-level cache")] if caches else []),
        counted(number(lambda core: core.numa), "NUMA domain"),
        counted(number(lambda core: core.socket), "socket"),
    ]
    return f"This process may use {', '.join(words)}."


def _table(node: NodeCores) -> list[str]:
    """Return a row a class; the range is over all runs of its pairs."""
    columns = sorted(
        {(copy.way, copy.bytes) for pair in node.pairs for copy in pair.copies},
        key=lambda column: (list(_WAYS).index(column[0]), column[1]),
    )
    head = [(f"{_WAYS[way]} {size_words(size)} GB/s", "range") for way, size in columns]
    rows = [["pairs of", "measured", "flag ns", "range", *chain.from_iterable(head)]]
    for share, pairs in _classes(node):
        row = [_words(share, node), str(len(pairs))]
        for runs in [[pair.flag_ns for pair in pairs], *(_runs(pairs, *c) for c in columns)]:
            row += [three(median(map(median, runs))), _range(runs)] if runs else ["", ""]
        rows.append(row)
    return _without_empty(rows)


def _without_empty(rows: list[list[str]]) -> list[str]:
    """Return the table without columns that have only a title."""
    kept = [n for n in range(len(rows[0])) if any(row[n] for row in rows[1:])]
    return aligned([[row[n] for n in kept] for row in rows])


def _matrices(node: NodeCores) -> list[str]:
    """Return flags and copies between NUMA domains, and between all cores where all were measured.

    The matrices are symmetric: a pair was measured in one direction.
    """
    out: list[str] = []
    numa = {core.cpu: core.numa for core in node.cores}
    apart = [pair for pair in node.pairs if pair.share != "core"]
    found_of = {"flag, ns": {(pair.a, pair.b): _flag(pair) for pair in apart}}
    for size in _quoted(node):
        rates = {(pair.a, pair.b): _rates([pair], "shared", size) for pair in apart}
        found_of[f"copy of {size_words(size)}, GB/s"] = {k: v[0] for k, v in rates.items() if v}
    for title, found in found_of.items():
        by_numa: dict[tuple[int, int], list[float]] = {}
        for (a, b), value in found.items():
            key = min(numa[a], numa[b]), max(numa[a], numa[b])
            by_numa.setdefault(key, []).append(value)
        middle = {key: median(values) for key, values in by_numa.items()}
        out += _matrix(f"Between NUMA domains: {title}", middle, 2)
        out += _matrix(f"Between cores: {title}", found, 3)
    return out


def _matrix(title: str, found: dict[tuple[int, int], float], fewest: int) -> list[str]:
    """Return the matrix if all of it was measured; the diagonal may be missing."""
    names = sorted({name for pair in found for name in pair})
    apart = sum(1 for a, b in found if a != b)
    if not fewest <= len(names) <= _ROWS_MOST or apart < len(names) * (len(names) - 1) // 2:
        return []
    rows = [["", *map(str, names)]]
    for a in names:
        cells = (found.get((min(a, b), max(a, b))) for b in names)
        rows.append([str(a), *("" if cell is None else three(cell) for cell in cells)])
    return ["", title, *aligned(rows)]

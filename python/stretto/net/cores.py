"""Flags and copies between the cores of this node, measured without an MPI, and their page."""

from __future__ import annotations

import itertools
import os
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

from stretto.built import cores_program
from stretto.counted import counted, sized, three
from stretto.errors import StrettoError
from stretto.files.net import CoreCopy, CorePair, NodeCore, NodeCores, Sharing, Way
from stretto.files.parse import json_value
from stretto.launch.execute import run
from stretto.measure.show import in_columns
from stretto.net.judge import FAR

#: classes of pairs, the nearest first
CLASSES: tuple[Sharing, ...] = ("core", "cache", "numa", "socket", "node")
#: of which at least one pair of each two NUMA domains is measured
_BY_DOMAIN: tuple[Sharing, ...] = ("numa", "socket", "node")
#: what copies take on a slow node, bytes a second, and a pair without them, seconds
_SLOW_BYTES_S, _PAIR_S = 2e9, 0.02
#: of one start of the program
_CHUNK_S = 5.0
_START_S = 30.0


def read_cores(root: Path | None = None) -> list[NodeCore]:
    """Return the hardware threads that this process may use.

    `root`: another machine's tree of ``sys/devices/system``: all that it has.
    """
    argv = [str(cores_program()), "places", *([] if root is None else [str(root)])]
    return [NodeCore(**values) for values in _lines(argv, _START_S)]


def sharing(a: NodeCore, b: NodeCore) -> Sharing:
    """Return the smallest thing that two hardware threads have in common."""
    if a.core == b.core:
        return "core"
    if a.socket != b.socket:
        return "node"
    if a.numa != b.numa:  # the kernel may list one cache for all domains of a socket
        return "socket"
    return "cache" if a.cache == b.cache >= 0 else "numa"


def chosen(
    cores: Sequence[NodeCore], each: int, every: bool = False
) -> list[tuple[NodeCore, NodeCore, Sharing]]:
    """Return the pairs to measure, the nearest first.

    A core counts by its first hardware thread; its first two are a pair of the class ``core``.
    `each`: pairs of each class; more where there are more pairs of NUMA domains. They are drawn
    from all caches and domains in turn, the same ones in every call. `every`: return all pairs.
    """
    threads: dict[int, list[NodeCore]] = defaultdict(list)
    for core in cores:
        threads[core.core].append(core)
    pairs = [(found[0], found[1]) for found in threads.values() if len(found) > 1]
    pairs += itertools.combinations((found[0] for found in threads.values()), 2)
    groups: dict[Sharing, dict[object, list[tuple[NodeCore, NodeCore]]]] = {}
    for a, b in pairs:
        share = sharing(a, b)
        key: object = tuple(sorted((a.numa, b.numa)))
        if share not in _BY_DOMAIN:
            key = a.core if share == "core" else a.cache
        groups.setdefault(share, defaultdict(list))[key].append((a, b))
    out = []
    for share in CLASSES:
        domains = list(groups.get(share, {}).values())
        wanted = max(each, len(domains)) if share in _BY_DOMAIN else each
        found = [p for d in domains for p in d] if every else _in_turn(domains, wanted)
        out += [(a, b, share) for a, b in sorted(found, key=lambda p: (p[0].cpu, p[1].cpu))]
    return out


def _in_turn(
    domains: Iterable[list[tuple[NodeCore, NodeCore]]], wanted: int
) -> list[tuple[NodeCore, NodeCore]]:
    """Return so many pairs, one of each domain after the other."""
    draw = random.Random(0)
    shuffled = [draw.sample(pairs, len(pairs)) for pairs in domains]
    draw.shuffle(shuffled)
    rounds = itertools.zip_longest(*shuffled)
    return [p for row in rounds for p in row if p is not None][:wanted]


def measure_cores(
    wanted: Sequence[tuple[NodeCore, NodeCore, Sharing]],
    sizes: Sequence[int],
    runs: int,
    report: Callable[[int], None] = lambda pairs: None,
) -> tuple[list[CorePair], tuple[int, int]]:
    """Measure pairs in turn, so often; return them, and the errors of CMA.

    The errors are numbers of errno, 0 where the copy worked: with PR_SET_PTRACER, and without it.
    In one direction, the first of a pair writes and the second one reads. Each run has new
    processes and memory.
    """
    pairs = [CorePair(a.cpu, b.cpu, share, [], []) for a, b, share in wanted]
    words = ",".join(map(str, sizes)) or "-"
    part = max(1, int(_CHUNK_S / expected_cores_s(1, sizes, 1)))
    errors = (0, 0)
    for _ in range(runs):
        for start in range(0, len(pairs), part):
            some = pairs[start : start + part]
            expected = expected_cores_s(len(some), sizes, 1)
            argv = [str(cores_program()), "measure", words, *(f"{p.a}:{p.b}" for p in some)]
            found = _lines(argv, _START_S + 20 * expected)
            for pair, values in zip(some, found, strict=True):
                _add(pair, values)
                errors = (errors[0] or values["cma_error"], errors[1] or values["cma_strict"])
            report(len(some))
    return pairs, errors


def _add(pair: CorePair, values: dict[str, Any]) -> None:
    pair.flag_ns.append(values["flag_ns"])
    known = {(copy.way, copy.bytes): copy for copy in pair.copies}
    for copy in values["copies"]:
        key = copy["way"], copy["bytes"]
        if key not in known:
            known[key] = CoreCopy(*key, [], [])
            pair.copies.append(known[key])
        known[key].bytes_s.append(copy["bytes_s"])
        known[key].both_bytes_s.append(copy["both_bytes_s"])


def flag_ns(a: int, b: int) -> float:
    """Return what a flag takes one way between two processors: the least of some batches."""
    (values,) = _lines([str(cores_program()), "measure", "-", f"{a}:{b}"], _START_S)
    return float(values["flag_ns"])


def cma_works() -> bool | None:
    """Return whether one process can read the memory of another; None: it could not be tried."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        return None
    try:
        (values,) = _lines([str(cores_program()), "measure", "-", f"{cpus[0]}:{cpus[1]}"], _START_S)
    except StrettoError:  # it is not built: other findings say so
        return None
    return bool(values["cma_error"] == 0)


def expected_cores_s(pairs: int, sizes: Sequence[int], runs: int) -> float:
    copied = sum(12 * max(4 * size, min(34 * size, 8 << 20)) for size in sizes)
    return pairs * runs * (_PAIR_S + (copied + 6 * max(sizes, default=0)) / _SLOW_BYTES_S)


def _lines(argv: list[str], timeout: float) -> list[dict[str, Any]]:
    result = run(argv, os.environ, timeout=timeout, capture="yes").require(argv)
    try:
        return [json_value(line) for line in result.stdout.splitlines()]
    except ValueError as error:
        raise StrettoError("its output cannot be read", argv[0], "install Stretto again") from error


#: the answer quotes copies of about this size
_QUOTED = 1 << 20
#: one way, ns: twice what published figures of cores within one cache reach
_NEAR_NS = 150
#: matrices with more rows are left out
_ROWS_MOST = 16
_WAYS: dict[Way, str] = {"shared": "copy", "cma": "CMA", "xpmem": "XPMEM"}
#: how copies are made; whether in both directions at the same time
_Column = tuple[Way, bool]
_COLUMNS: list[_Column] = [(way, both) for way in _WAYS for both in (False, True)]
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
    out = [*cores_answer(node)]
    for finding in cores_findings(node):
        out += [f"WARNING {finding.text}", f"  -> {finding.remedy}"]
    out += ["", _inventory(node.cores), *_flags(node), *_copies(node)]
    out += _matrices(node)
    runs = max(len(pair.flag_ns) for pair in node.pairs)
    out += [
        "",
        f"Medians over the pairs of a class, {counted(runs, 'run')} each; range of all runs.",
        "flag: one cache line, one way. copy: one core writes shared memory, the other copies it to"
        " its memory. both ways: the same in both directions at once, summed. GB/s are 10^9 bytes a"
        " second.",
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
                f"the kernel lists one last-level cache for {one.a} and {one.b}, but the flag takes"
                f" {three(_flag(one))} ns: they are as slow as cores with different caches",
                "the virtual machine hides its topology: results on this node are for distant "
                "cores; a later run, or a bare-metal node, may give lower latencies",
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
                    "a virtual machine may hide caches or sockets, or other processes ran: repeat "
                    "on an idle node with --all-pairs",
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
                "it changes again, do not place ranks by distance",
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


def _column(way: Way, both: bool) -> str:
    return f"{_WAYS[way]} both ways" if both else _WAYS[way]


def _runs(pairs: Sequence[CorePair], column: _Column, size: int) -> list[list[float]]:
    """Return the rates of each pair, GB/s a run."""
    way, both = column
    return [
        [1e-9 * rate for rate in (copy.both_bytes_s if both else copy.bytes_s)]
        for pair in pairs
        for copy in pair.copies
        if (copy.way, copy.bytes) == (way, size)
    ]


def _rates(pairs: Sequence[CorePair], column: _Column, size: int) -> list[float]:
    """Return the median of each pair, GB/s."""
    return [median(runs) for runs in _runs(pairs, column, size)]


def _quoted(node: NodeCores) -> list[int]:
    """Return the size that the answer quotes, if copies were measured."""
    sizes = {copy.bytes for pair in node.pairs for copy in pair.copies}
    return sorted(sizes, key=lambda size: (abs(size - _QUOTED), size))[:1]


def _speed(node: NodeCores, pairs: Sequence[CorePair], way: Way, before: str = ", ") -> str:
    for size in _quoted(node):
        one, both = (_rates(pairs, (way, both), size) for both in (False, True))
        if one:
            rates = f"{three(median(one))} GB/s, both ways {three(median(both))} GB/s"
            return f"{before}{rates} ({sized(size)})"
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


def _flags(node: NodeCores) -> list[str]:
    """Return a row a class; the range is over all runs of its pairs."""
    rows = [["pairs of", "measured", "flag ns", "range"]]
    for share, pairs in _classes(node):
        runs = [pair.flag_ns for pair in pairs]
        flag = three(median(map(median, runs)))
        rows.append([_words(share, node), str(len(pairs)), flag, _range(runs)])
    return _without_empty(rows)


def _copies(node: NodeCores) -> list[str]:
    """Return a row a class and size, in GB/s."""
    head = [(f"{_column(*column)} GB/s", "range") for column in _COLUMNS]
    rows = [["pairs of", "bytes", *chain.from_iterable(head)]]
    for share, pairs in _classes(node):
        for size in sorted({copy.bytes for pair in pairs for copy in pair.copies}):
            row = [_words(share, node), sized(size)]
            for column in _COLUMNS:
                runs = _runs(pairs, column, size)
                row += [three(median(map(median, runs))), _range(runs)] if runs else ["", ""]
            rows.append(row)
    return ["", *_without_empty(rows)] if len(rows) > 1 else []


def _without_empty(rows: list[list[str]]) -> list[str]:
    """Return the table without columns that have only a title."""
    kept = [n for n in range(len(rows[0])) if any(row[n] for row in rows[1:])]
    return in_columns([[row[n] for n in kept] for row in rows])


def _matrices(node: NodeCores) -> list[str]:
    """Return flags and copies between NUMA domains, and between all cores where all were measured.

    The matrices are symmetric: in one direction, a pair was measured one way round.
    """
    out: list[str] = []
    numa = {core.cpu: core.numa for core in node.cores}
    apart = [pair for pair in node.pairs if pair.share != "core"]
    found_of = {"flag, ns": {(pair.a, pair.b): _flag(pair) for pair in apart}}
    for size in _quoted(node):
        for column in _COLUMNS:
            rates = {(pair.a, pair.b): _rates([pair], column, size) for pair in apart}
            title = f"{_column(*column)} of {sized(size)}, GB/s"
            found_of[title] = {k: v[0] for k, v in rates.items() if v}
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
    return ["", title, *in_columns(rows)]

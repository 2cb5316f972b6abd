"""Flags and copies between the cores of this node, measured without an MPI by ``stretto-cores``."""

from __future__ import annotations

import itertools
import os
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from stretto.built import cores_program
from stretto.errors import StrettoError
from stretto.files.net import CoreCopy, CorePair, NodeCore, Sharing
from stretto.files.parse import json_value
from stretto.launch.execute import run

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

    Parameters
    ----------
    root
        Another machine's tree of ``sys/devices/system``: all that it has.
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

    Parameters
    ----------
    cores
        The hardware threads that can be used.
    each
        Pairs of each class; more where there are more pairs of NUMA domains. They are drawn from
        all caches and domains in turn, the same ones in every call.
    every
        Return all pairs.
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

    Parameters
    ----------
    wanted
        The pairs: the first one writes, the second one reads.
    sizes
        Bytes of the copies.
    runs
        Runs of each pair; each has new processes and memory.
    report
        Called after each part with its number of pairs.
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
            known[key] = CoreCopy(*key, [])
            pair.copies.append(known[key])
        known[key].bytes_s.append(copy["bytes_s"])


def flag_ns(a: int, b: int) -> float:
    """Return what a flag takes one way between two processors: the least of some batches."""
    (values,) = _lines([str(cores_program()), "measure", "-", f"{a}:{b}"], _START_S)
    return float(values["flag_ns"])


def expected_cores_s(pairs: int, sizes: Sequence[int], runs: int) -> float:
    """Return about how long `measure_cores` takes, in seconds."""
    copied = sum(4 * max(4 * size, min(34 * size, 8 << 20)) for size in sizes)
    return pairs * runs * (_PAIR_S + (copied + 3 * max(sizes, default=0)) / _SLOW_BYTES_S)


def _lines(argv: list[str], timeout: float) -> list[dict[str, Any]]:
    result = run(argv, os.environ, timeout=timeout, capture="yes").require(argv)
    try:
        return [json_value(line) for line in result.stdout.splitlines()]
    except ValueError as error:
        raise StrettoError("its output cannot be read", argv[0], "install Stretto again") from error

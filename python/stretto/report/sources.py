"""Results files: how the MPI of each is called, and on which nodes it was measured.

A header has the host where measuring was started. That may be a login node.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.counted import sized
from stretto.files.bench import Bench, Header, standing_exclusions
from stretto.files.calls import with_calls
from stretto.files.identity import Host, titled

#: nodes, ranks per node and ranks
Layout = tuple[int, int, int]
#: its name and its processor: two clusters may have nodes of the same names
Node = tuple[str, str]
#: so many nodes, and sizes of an excluded candidate, are named, and the rest counted
MOST_NODES, MOST_SIZES = 6, 3
_EXCLUDED = {
    "wrong": "wrong results",
    "hung": "it hung",
    "failed": "it crashed",
    "not_done": "another algorithm ran instead",
}


def nodes_of(bench: Bench) -> set[str]:
    """Return the nodes that a file's launches name; none where they name none."""
    return {name for r in bench.launches for name in r.hosts or ()}


def processor(header: Header) -> str:
    """Return the processor of a file's nodes, or the best guess: that of where it was started."""
    return str(header.settings.get("node_cpu") or header.host.cpu)


def is_node(host: Host, nodes: Collection[str]) -> bool:
    """Whether a header's host is one of the nodes; it is the only one where none are named."""
    return not nodes or host.name.split(".")[0] in {n.split(".")[0] for n in nodes}


def listed(names: Iterable[str]) -> str:
    """Return names of nodes, the first few of many: ``n1, n2, n3 and 13 more``."""
    ordered = sorted(names, key=lambda n: (len(n), n))
    rest = len(ordered) - MOST_NODES
    return ", ".join(ordered[:MOST_NODES]) + (f" and {rest} more" if rest > 0 else "")


@dataclass(frozen=True)
class Source:
    """One results file, and how its MPI is called here."""

    path: Path
    bench: Bench
    mpi: str

    @property
    def machine(self) -> str:
        """The nodes that it was measured on, and their processor.

        The header's host, where the campaign was started, counts where no nodes are named.
        """
        head = self.bench.header
        return f"{listed(nodes_of(self.bench) or {head.host.name})}, {processor(head)}"


def sources(files: Sequence[tuple[Path, Bench]]) -> list[Source]:
    """Name the MPI of each file; files that hold the same are named by their paths, too.

    So are those that were measured on other nodes.
    """
    once: dict[Path, tuple[Path, Bench]] = {}
    for path, bench in files:
        once.setdefault(path.resolve(), (path, bench))
    kept = list(once.values())
    several = len(_unnamed_hosts(b for _, b in kept)) > 1
    groups: dict[str, list[tuple[Path, Bench]]] = defaultdict(list)
    for path, bench in kept:
        head = bench.header
        name = with_calls(titled(head.mpi), head)
        where = f" on {head.host.name}" if several and _is_unnamed(bench) else ""
        groups[name + where].append((path, bench))
    called: dict[Path, str] = {}
    for name, group in groups.items():
        benches = [bench for _, bench in group]
        words = next(w for w in _words([p for p, _ in group]) if not _mixed(w, benches))
        for (path, _), word in zip(group, words, strict=True):
            called[path] = f"{name} ({word})" if word else name
    return [Source(path, bench, called[path]) for path, bench in kept]


def _held(bench: Bench) -> set[tuple[object, ...]]:
    where = {r.launch: (r.nodes, r.ppn, r.nranks) for r in bench.launches}
    return {(*where[s.launch], s.collective, s.candidate, s.bytes) for s in bench.samples}


def _words(paths: Sequence[Path]) -> Iterator[list[str]]:
    """Yield words for files of one MPI, the shortest first; the last ones are all different.

    None at all, the files' names, one directory's name (``old``, ``new``), the ends of the paths.
    """
    yield [""] * len(paths)
    parts = []  # from the file's own name upwards
    for path in paths:
        whole = Path(os.path.normpath(path.absolute()))
        parts.append([whole.name.removesuffix(".bench.jsonl"), *reversed(whole.parts[1:-1])])
    for level in range(min(map(len, parts))):
        yield [own[level] for own in parts]
    for length in range(2, max(map(len, parts))):
        yield ["/".join(reversed(own[:length])) for own in parts]
    yield [str(path.resolve()) for path in paths]


def _mixed(words: Sequence[str], benches: Sequence[Bench]) -> bool:
    seen: dict[str, set[tuple[object, ...]]] = defaultdict(set)
    nodes: dict[tuple[str, Layout], frozenset[Node]] = {}
    for word, bench in zip(words, benches, strict=True):
        found = _held(bench)
        if seen[word] & found:
            return True
        seen[word] |= found
        for layout, own in _nodes(bench).items():
            if nodes.setdefault((word, layout), own) != own:
                return True
    return False


def _is_unnamed(bench: Bench) -> bool:
    return not nodes_of(bench)


def _started_on(bench: Bench) -> Node:
    return bench.header.host.name, processor(bench.header)


def _unnamed_hosts(benches: Iterable[Bench]) -> set[Node]:
    return {_started_on(b) for b in benches if _is_unnamed(b)}


def _nodes(bench: Bench) -> dict[Layout, frozenset[Node]]:
    """Return the nodes of a file's launches by layout; the header's host where none are named.

    The header's host, where the campaign was started, may be a login node.
    """
    cpu = processor(bench.header)
    out: dict[Layout, set[str]] = defaultdict(set)
    for r in bench.launches:
        out[r.nodes, r.ppn, r.nranks] |= set(r.hosts or ())
    return {
        layout: frozenset((name, cpu) for name in names) or frozenset({_started_on(bench)})
        for layout, names in out.items()
    }


def machines_note(files: Sequence[Source]) -> str | None:
    """Return a note on the nodes of each MPI where these differ; None where they are the same."""
    layouts: dict[Layout, list[tuple[str, frozenset[Node]]]] = defaultdict(list)
    for f in files:
        for layout, nodes in _nodes(f.bench).items():
            layouts[layout].append((f.mpi, nodes))
    own: dict[str, set[Node]] = defaultdict(set)
    for found in layouts.values():
        common = frozenset.intersection(*(nodes for _, nodes in found))
        for mpi, nodes in found:
            own[mpi] |= nodes - common
    if not any(own.values()) and len(_unnamed_hosts(f.bench for f in files)) > 1:
        for f in files:
            own[f.mpi] |= {_started_on(f.bench)} if _is_unnamed(f.bench) else set()
    if not any(own.values()):
        return None
    several = len({cpu for nodes in own.values() for _, cpu in nodes}) > 1
    where = "; ".join(f"{mpi}: {_named(nodes, several)}" for mpi, nodes in own.items() if nodes)
    return (
        f"These results are from several machines (nodes that not all share: {where}): differences "
        "may come from the machines, not from the MPIs."
    )


def _named(nodes: Iterable[Node], cpus: bool) -> str:
    by_cpu: dict[str, set[str]] = defaultdict(set)
    for name, cpu in nodes:
        by_cpu[cpu if cpus else ""].add(name)
    return ", ".join(
        listed(names) + (f" ({cpu})" if cpu else "") for cpu, names in sorted(by_cpu.items())
    )


def excluded(bench: Bench, label: Callable[[str], str]) -> list[str]:
    """Say of which candidates no time counts, and why: ``tuned ring: wrong results at 4 B``.

    What an MPI refused was never measured, and is not named.
    """
    sizes: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    for e in standing_exclusions(bench.records).values():
        if e.reason in _EXCLUDED:
            sizes[e.collective, e.candidate, e.reason].add(e.bytes)
    for s in bench.samples:
        if not s.correct:
            sizes[s.collective, s.candidate, "wrong"].add(s.bytes)
    out = []
    for (collective, candidate, reason), numbers in sorted(sizes.items()):
        found = sorted(numbers)
        more = f" and {len(found) - MOST_SIZES} more sizes" if len(found) > MOST_SIZES else ""
        at = f" at {', '.join(sized(n) for n in found[:MOST_SIZES])}{more}"
        why = _EXCLUDED[reason] + ("" if collective == "barrier" else at)
        out.append(f"{label(candidate)} is excluded for {collective}: {why}")
    return out

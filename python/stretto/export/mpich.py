"""MPICH 5 (and, by the same grammar, MVAPICH): rows put into that release's own trees.

A file replaces a whole tree, so each is a copy of the one in the library with brackets put in for
the communicators and sizes of the rows. The trees know nodes: a row holds on its nodes x ranks, and
not on the parts that MPICH itself makes of a communicator (from 5 on ``comm_size=node_comm_size``
and ``comm_avg_ppn`` hold on whole ones only: csel.c).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.export.mpich_leaves import guarded, leaves_of
from stretto.export.mpich_tree import (
    FILES,
    LARGEST,
    VARIABLES,
    Tree,
    Trees,
    read_library,
    text_of,
)
from stretto.export.output import HERE, Export
from stretto.export.rules import AVERAGE as PER_NODE
from stretto.export.rules import Rule, for_layouts, merged
from stretto.export.sizes import MPICH_AVERAGE as AVERAGE
from stretto.export.sizes import MPICH_TOTAL as TOTAL
from stretto.files.layout import RankLayout
from stretto.files.table import TUNABLE
from stretto.grouped import grouped
from stretto.mpi.base import MPIInstallation
from stretto.mpi.variables import Variable, control_variables

#: collectives whose calls tell whether the operation is commutative
_OPERATIONS = ("allreduce", "reduce", "reduce_scatter", "reduce_scatter_block")
#: collectives whose calls tell whether they are in place, which their algorithms are not for
_IN_PLACE = ("alltoall", "alltoallv", "alltoallw")
#: the trees have no size of these, or none that all ranks know: one row for all sizes, or none
SIZELESS = tuple(c for c in TUNABLE if c not in AVERAGE + TOTAL)


def trees(
    rules: Iterable[Rule],
    installation: MPIInstallation,
    prefer: tuple[int | None, int | None] = (None, None),
) -> Export:
    """Return trees with the rules in them."""
    if installation.libmpi is None:
        raise StrettoError(
            f"the library of {installation.name} was not found, but the export needs its "
            "selection trees",
            installation.prefix,
            "load its module, or name it: --mpi PREFIX",
        )
    library = read_library(installation.libmpi)
    variables = control_variables(installation)
    export = Export()
    new = dict(library.trees)
    for collective, mine in grouped((r.collective, r) for r in rules).items():
        if any(not r.default for r in mine):
            put_in(collective, mine, library, variables, prefer, new, export)
    export.lost += on_other_nodes(export.rows)
    for layer, tree in new.items():
        if tree != library.trees[layer]:
            export.files[FILES[layer]] = text_of(tree)
            export.environment[VARIABLES[layer]] = f"{HERE}/{FILES[layer]}"
    return export


def reaches_parts(layout: RankLayout, version: str) -> str | None:
    """Return in words why rows of a layout would hold inside other calls; None: they would not.

    Before 5 the first ranks of all nodes are a communicator of one rank a node for the trees, too:
    what MPICH does between nodes, in calls of jobs with more ranks on each.
    """
    major = version.partition(".")[0]
    if layout.nodes == 1 or layout.nranks != layout.nodes or not major.isdecimal():
        return None
    if int(major) >= 5:
        return None
    return (
        "before MPICH 5 it would apply between nodes to all jobs on this number of nodes, with "
        "any number of ranks"
    )


def on_other_nodes(rules: Iterable[Rule]) -> list[str]:
    """Return a sentence for rows that hold on more nodes than they were measured on.

    The trees know the ranks a node on average, rounded up.
    """
    out = []
    for layout in sorted({r.layout for r in rules}, key=lambda x: (x.nranks, x.nodes)):
        most = -(-layout.nranks // layout.nodes)
        if layout.nodes == 1 or most == 1:
            continue
        few, many = -(-layout.nranks // most), -(-layout.nranks // (most - 1)) - 1
        if few < many:
            out.append(
                f"rows for {layout.nranks} ranks apply to {few} to {many} nodes, but were "
                f"measured on {layout.nodes} x {most}"
            )
    return out


def put_in(
    collective: str,
    rules: Sequence[Rule],
    library: Trees,
    variables: Mapping[str, Variable],
    prefer: tuple[int | None, int | None],
    new: dict[str, Tree],
    export: Export,
) -> None:
    kept, lost = for_layouts(rules, *prefer, PER_NODE)
    export.lost += lost
    leaves: dict[str, dict[tuple[RankLayout, int], Tree]] = defaultdict(dict)
    sized: dict[RankLayout, list[Rule]] = {}
    for layout, mine in grouped((r.layout, r) for r in kept).items():
        sized[layout] = _sized(mine, export)
        for rule in sized[layout]:
            found = {} if rule.default else leaves_of(rule, library, variables)
            if isinstance(found, str):
                size = "" if rule.low == 0 else f" from {counted(rule.low, 'byte')}"
                export.lost.append(f"{collective}{size} on {layout.words}: {found}")
                continue
            if found and all(_is_own(collective, x, leaf, library) for x, leaf in found.items()):
                export.lost.append(
                    f"{collective} on {layout.words}: the native trees already contain everything "
                    "that was faster"
                )
                continue
            for layer, leaf in found.items():
                leaves[layer][layout, rule.low] = leaf
            if found:
                export.rows.append(rule)
    for layer, places in leaves.items():
        whole = new[layer][f"collective={collective}"]
        default = whole["comm_type=intra"]
        if all(default == leaf for leaf in places.values()):
            continue  # the device does so anyway
        safe = {place: guarded(leaf, default, whole) for place, leaf in places.items()}
        tree = _by_ranks(collective, default, sized, safe)
        new[layer] = {**new[layer], f"collective={collective}": {**whole, "comm_type=intra": tree}}


def _is_own(collective: str, layer: str, leaf: Tree, library: Trees) -> bool:
    return bool(library.trees[layer][f"collective={collective}"]["comm_type=intra"] == leaf)


def _sized(rules: Sequence[Rule], export: Export) -> list[Rule]:
    """Return a layout's rules as MPICH can look at their sizes."""
    ordered = merged(sorted(rules, key=lambda r: r.low))
    collective = ordered[0].collective
    if len(ordered) == 1:
        return ordered
    if collective in AVERAGE + TOTAL:
        return _within(ordered, export)
    export.lost.append(
        f"{collective} on {ordered[0].layout.words}: files of MPICH ignore its size, so the MPI "
        "decides"
    )
    return []


def _factor(rule: Rule) -> int:
    """Return how many of its blocks a size in the trees counts."""
    return 1 if rule.collective in AVERAGE else rule.layout.nranks


def _within(rules: Sequence[Rule], export: Export) -> list[Rule]:
    """End rules where the sizes of MPICH's files end; beyond, the MPI decides."""
    out: list[Rule] = []
    for rule in rules:
        factor = _factor(rule)
        last = (LARGEST + 1) // factor - 1  # whose largest call can still be named
        if rule.high is None and rule.low <= last + 1:
            return [*out, rule]
        if rule.high is not None and rule.high <= last:
            out.append(rule)
            continue
        if not rule.default:
            most = f"{LARGEST} bytes" + (" of all ranks together" if factor > 1 else "")
            export.lost.append(
                f"{rule.collective} from {max(rule.low, last + 1)} bytes on {rule.layout.words}: "
                f"sizes in MPICH files end at {most}; the MPI decides for larger messages"
            )
        if rule.low <= last:
            out.append(replace(rule, high=last))
    at = 0 if not out or out[-1].high is None else out[-1].high + 1
    return merged([*out, Rule(rules[0].collective, rules[0].layout, at, None, ())])


def _by_ranks(
    collective: str,
    default: Tree,
    sized: Mapping[RankLayout, Sequence[Rule]],
    places: Mapping[tuple[RankLayout, int], Tree],
) -> Tree:
    out: Tree = {}
    by_ranks = grouped(
        (layout.nranks, layout)
        for layout, rules in sized.items()
        if any((layout, r.low) in places for r in rules)
    )
    for ranks in sorted(by_ranks):
        if ranks > 1 and f"comm_size<={ranks - 1}" not in out:
            out[f"comm_size<={ranks - 1}"] = default
        inner: Tree = {}
        for layout in sorted(by_ranks[ranks], key=lambda x: (x.nodes > 1, -x.nodes)):
            tree = _for_layout(collective, default, layout, sized[layout], places)
            most = -(-ranks // layout.nodes)
            if layout.nodes == 1:
                inner["comm_size=node_comm_size"] = tree
                continue
            if most > 1 and f"comm_avg_ppn<={most - 1}" not in inner:
                inner[f"comm_avg_ppn<={most - 1}"] = default
            inner[f"comm_avg_ppn<={most}"] = tree
        out[f"comm_size<={ranks}"] = {**inner, "comm_size=any": default}
    return {**out, "comm_size=any": default}


def _for_layout(
    collective: str,
    default: Tree,
    layout: RankLayout,
    rules: Sequence[Rule],
    places: Mapping[tuple[RankLayout, int], Tree],
) -> Tree:
    """Keep what was measured to what it was measured with; algorithms here do not check it."""
    name = "avg_msg_size" if collective in AVERAGE else "total_msg_size"
    tree: Tree = {}
    for rule in rules:
        leaf = places.get((layout, rule.low), default)
        if len(rules) == 1:
            tree = leaf
        elif rule.high is None:
            tree[f"{name}=any"] = leaf
            break
        else:
            # sizes of blocks: those of all ranks up to the next one that has a rule of its own
            tree[f"{name}<={(rule.high + 1) * _factor(rule) - 1}"] = leaf
    if collective in _OPERATIONS:
        return {"is_commutative=yes": tree, "is_commutative=no": default}
    if collective in _IN_PLACE:  # there what is sent is not told, either
        return {"is_sendbuf_inplace=no": tree, "is_sendbuf_inplace=yes": default}
    return tree

"""MPICH 5 (and, by the same grammar, MVAPICH): rows put into that release's own trees.

A file replaces a whole tree, so each is a copy of the one in the library with brackets put in for
the communicators and sizes of the rows. The trees know nodes: a row holds on its nodes x ranks, and
not on the parts that MPICH itself makes of a communicator (``comm_size=node_comm_size`` and
``comm_avg_ppn`` hold on whole ones only).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from stretto.errors import StrettoError
from stretto.export.layouts import merged
from stretto.export.mpich_guards import guarded, refusal
from stretto.export.mpich_tree import (
    AVERAGE,
    CH4,
    FILES,
    LARGEST,
    MPIR,
    POSIX,
    TOTAL,
    VARIABLES,
    Tree,
    Trees,
    read_library,
    text_of,
)
from stretto.export.output import HERE, Export
from stretto.export.rules import Layout, Rule
from stretto.files.export import ExportRow
from stretto.files.table import TUNABLE
from stretto.mpi.base import MPIInstallation
from stretto.mpi.variables import Variable, control_variables

_CVAR = "MPIR_CVAR_"
#: parameters that the leaves of an algorithm take -> end of the variable that holds each
_PARAMETERS = {
    "bcast tree": {
        "tree_type": "TREE_TYPE", "k": "TREE_KVAL", "is_non_blocking": "IS_NON_BLOCKING",
    },
    "bcast pipelined_tree": {
        "tree_type": "TREE_TYPE", "k": "TREE_KVAL", "is_non_blocking": "IS_NON_BLOCKING",
        "chunk_size": "TREE_PIPELINE_CHUNK_SIZE", "recv_pre_posted": "RECV_PRE_POST",
    },
    "allreduce tree": {
        "tree_type": "TREE_TYPE", "k": "TREE_KVAL", "chunk_size": "TREE_PIPELINE_CHUNK_SIZE",
        "buffer_per_child": "TREE_BUFFER_PER_CHILD",
    },
    "allreduce recursive_multiplying": {"k": "RECURSIVE_MULTIPLYING_KVAL"},
    "allreduce recexch": {"k": "RECEXCH_KVAL", "single_phase_recv": "RECEXCH_SINGLE_PHASE_RECV"},
    "allreduce k_reduce_scatter_allgather": {
        "k": "RECEXCH_KVAL", "single_phase_recv": "RECEXCH_SINGLE_PHASE_RECV",
    },
    "allgather k_brucks": {"k": "BRUCKS_KVAL"},
    "allgather recexch_doubling": {
        "k": "RECEXCH_KVAL", "single_phase_recv": "RECEXCH_SINGLE_PHASE_RECV",
    },
    "allgather recexch_halving": {
        "k": "RECEXCH_KVAL", "single_phase_recv": "RECEXCH_SINGLE_PHASE_RECV",
    },
    "alltoall k_brucks": {"k": "BRUCKS_KVAL"},
    "barrier k_dissemination": {"k": "DISSEM_KVAL"},
}  # fmt: skip
#: takes a parameter that the reader of leaves forgets: its value would be whatever memory held
_NOT_IN_FILES = ("barrier recexch",)
_GREEK = ("alpha", "beta", "gamma", "delta")
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
    """Return trees with the rules in them.

    Parameters
    ----------
    rules
        Of any layouts.
    installation
        The MPICH that they were measured with: its trees are taken.
    prefer
        Nodes and ranks per node that are kept where two layouts cannot be told apart.
    """
    if installation.libmpi is None:
        raise StrettoError(
            f"the library of {installation.name} was not found, and its trees are needed",
            installation.prefix,
            "load its module, or name it: --mpi PREFIX",
        )
    library = read_library(installation.libmpi)
    variables = control_variables(installation)
    export = Export()
    wanted: dict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        wanted[rule.collective].append(rule)
    new = dict(library.trees)
    for collective, mine in wanted.items():
        if any(not r.default for r in mine):
            put_in(collective, mine, library, variables, prefer, new, export)
    for layer, tree in new.items():
        if tree != library.trees[layer]:
            export.files[FILES[layer]] = text_of(tree)
            export.environment[VARIABLES[layer]] = f"{HERE}/{FILES[layer]}"
    return export


def put_in(
    collective: str,
    rules: Sequence[Rule],
    library: Trees,
    variables: Mapping[str, Variable],
    prefer: tuple[int | None, int | None],
    new: dict[str, Tree],
    export: Export,
) -> None:
    """Put one collective's rules into the trees."""
    by_layout = _told_apart(rules, prefer, export)
    leaves: dict[str, dict[tuple[Layout, int], Tree]] = defaultdict(dict)
    sized: dict[Layout, list[Rule]] = {}
    for layout, mine in by_layout.items():
        sized[layout] = _sized(mine, export)
        for rule in sized[layout]:
            found = {} if rule.default else leaves_of(rule, library, variables)
            if isinstance(found, str):
                size = "" if rule.low == 0 else f" from {rule.low} bytes"
                export.lost.append(f"{collective}{size} on {layout.words}: {found}")
                continue
            if found and all(_is_own(collective, x, leaf, library) for x, leaf in found.items()):
                export.lost.append(
                    f"{collective} on {layout.words}: what was faster is all that the MPI's own "
                    "trees have, so that there is nothing to write"
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
        kept = {place: guarded(leaf, default, whole) for place, leaf in places.items()}
        tree = _by_ranks(collective, default, sized, kept)
        new[layer] = {**new[layer], f"collective={collective}": {**whole, "comm_type=intra": tree}}


def _is_own(collective: str, layer: str, leaf: Tree, library: Trees) -> bool:
    """Whether a layer does so in all calls by itself."""
    return bool(library.trees[layer][f"collective={collective}"]["comm_type=intra"] == leaf)


def leaves_of(
    rule: Rule, library: Trees, variables: Mapping[str, Variable]
) -> dict[str, Tree] | str:
    """Return the leaf of each layer that a rule needs, or why there is none.

    Parameters
    ----------
    rule
        Not a default.
    library, variables
        The MPI's.
    """
    upper = rule.collective.upper()
    title = rule.collective.capitalize()
    others = _others(rule)
    if others:
        return f"{', '.join(others)} has no place in MPICH's files"
    name = rule.setting(f"{_CVAR}{upper}_POSIX_INTRA_ALGORITHM")
    if name is not None:
        leaf: Tree = {f"algorithm={POSIX}mpi_{rule.collective}_{name}": {}}
        return _known({POSIX: leaf}, rule, library)
    number = rule.setting(f"{_CVAR}{upper}_COMPOSITION")
    if number is not None:
        return _known({CH4: _composition(title, int(number))}, rule, library)
    name = rule.setting(f"{_CVAR}{upper}_INTRA_ALGORITHM")
    if name is None:
        return f"{rule.settings[0][0]} has no place in MPICH's files"
    what = f"{rule.collective} {name}"
    if what in _NOT_IN_FILES:
        return f"{name} takes a parameter that MPICH's files cannot set"
    parameters: Tree = {}
    for key, end in _PARAMETERS.get(what, {}).items():
        variable = f"{_CVAR}{upper}_{end}"
        value = rule.setting(variable)
        if value is None and variable in variables:
            value = variables[variable].value
        if value is None:
            return f"the value of {variable} is not known, and {name} needs it"
        parameters[f"{key}={value}"] = {}
    out: dict[str, Tree] = {MPIR: {f"algorithm={MPIR}{title}_intra_{name}": parameters}}
    help_ = (
        variables[f"{_CVAR}{upper}_COMPOSITION"].help
        if (f"{_CVAR}{upper}_COMPOSITION" in variables)
        else ""
    )
    found = re.search(r"(\d)\s+NM only", help_)
    if found:
        out[CH4] = _composition(title, int(found.group(1)))
    return _known(out, rule, library)


def _others(rule: Rule) -> list[str]:
    """Return the settings of a rule that leaves of its algorithm cannot hold."""
    upper = f"{_CVAR}{rule.collective.upper()}"
    choices = [
        f"{upper}{x}" for x in ("_POSIX_INTRA_ALGORITHM", "_COMPOSITION", "_INTRA_ALGORITHM")
    ]
    name = next((n for n in choices if rule.setting(n) is not None), None)
    if name is None:
        return []  # which is said by its first setting
    known = {name}
    if name == choices[-1]:
        known |= {f"{_CVAR}DEVICE_COLLECTIVES", f"{upper}_DEVICE_COLLECTIVE"}
        ends = _PARAMETERS.get(f"{rule.collective} {rule.setting(name)}", {}).values()
        known |= {f"{upper}_{end}" for end in ends}
    return [n for n, _ in rule.settings if n not in known]


def _composition(title: str, number: int) -> Tree:
    return {f"composition={CH4}{title}_intra_composition_{_GREEK[number - 1]}": {}}


def _known(found: dict[str, Tree], rule: Rule, library: Trees) -> dict[str, Tree] | str:
    """Return leaves that there are, and that can do the rule's calls; else what is in the way."""
    for layer, leaf in found.items():
        (name,) = leaf
        tree = library.trees.get(layer, {}).get(f"collective={rule.collective}", {})
        if name not in library.leaves or "comm_type=intra" not in tree:
            return f"this release's files have no {name}"
        refused = refusal(name, tree, rule.layout)
        if refused:
            return refused
    return found


def _told_apart(
    rules: Sequence[Rule], prefer: tuple[int | None, int | None], export: Export
) -> dict[Layout, list[Rule]]:
    """Return rules by layout; of layouts with as many ranks and most ranks a node, one."""
    kept: dict[tuple[int, int], Layout] = {}
    nodes, ppn = prefer

    def rank(layout: Layout) -> tuple[bool, bool, int]:
        return (
            nodes is not None and layout.nodes != nodes,
            ppn is not None and layout.ppn != ppn,
            layout.nodes,
        )

    for layout in sorted({r.layout for r in rules}, key=rank):
        most = -(-layout.nranks // layout.nodes)
        other = kept.setdefault((layout.nranks, 0 if layout.nodes == 1 else most), layout)
        if other != layout:
            export.lost.append(
                f"{rules[0].collective} on {layout.words}: MPICH's files cannot tell it from "
                f"{other.words}"
            )
    out: dict[Layout, list[Rule]] = {layout: [] for layout in kept.values()}
    for rule in rules:
        if rule.layout in out:
            out[rule.layout].append(rule)
    return out


def _sized(rules: Sequence[Rule], export: Export) -> list[Rule]:
    """Return a layout's rules as MPICH can look at their sizes."""
    ordered = merged(sorted(rules, key=lambda r: r.low))
    collective = ordered[0].collective
    if len(ordered) == 1:
        return ordered
    if collective in AVERAGE + TOTAL:
        return _within(ordered, export)
    export.lost.append(
        f"{collective} on {ordered[0].layout.words}: MPICH's files do not look at its size, and "
        "the MPI decides"
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
                f"MPICH's sizes end at {most}, and the MPI decides beyond"
            )
        if rule.low <= last:
            out.append(replace(rule, high=last))
    at = 0 if not out or out[-1].high is None else out[-1].high + 1
    return merged([*out, Rule(rules[0].collective, rules[0].layout, at, None, ())])


def _by_ranks(
    collective: str,
    default: Tree,
    sized: Mapping[Layout, Sequence[Rule]],
    places: Mapping[tuple[Layout, int], Tree],
) -> Tree:
    out: Tree = {}
    by_ranks: dict[int, list[Layout]] = defaultdict(list)
    for layout, rules in sized.items():
        if any((layout, r.low) in places for r in rules):
            by_ranks[layout.nranks].append(layout)
    for ranks in sorted(by_ranks):
        if ranks > 1 and f"comm_size<={ranks - 1}" not in out:
            out[f"comm_size<={ranks - 1}"] = default
        inner: Tree = {}
        for layout in sorted(by_ranks[ranks], key=lambda x: (x.nodes > 1, -x.nodes)):
            tree = _by_operation(collective, default, layout, sized[layout], places)
            most = -(-ranks // layout.nodes)
            if layout.nodes == 1:
                inner["comm_size=node_comm_size"] = tree
                continue
            if most > 1 and f"comm_avg_ppn<={most - 1}" not in inner:
                inner[f"comm_avg_ppn<={most - 1}"] = default
            inner[f"comm_avg_ppn<={most}"] = tree
        out[f"comm_size<={ranks}"] = {**inner, "comm_size=any": default}
    return {**out, "comm_size=any": default}


def _by_operation(
    collective: str,
    default: Tree,
    layout: Layout,
    rules: Sequence[Rule],
    places: Mapping[tuple[Layout, int], Tree],
) -> Tree:
    """Keep what was measured to what it was measured with; algorithms here do not check it."""
    tree = _by_size(collective, default, layout, rules, places)
    if collective in _OPERATIONS:
        return {"is_commutative=yes": tree, "is_commutative=no": default}
    if collective in _IN_PLACE:  # there what is sent is not told, either
        return {"is_sendbuf_inplace=no": tree, "is_sendbuf_inplace=yes": default}
    return tree


def _by_size(
    collective: str,
    default: Tree,
    layout: Layout,
    rules: Sequence[Rule],
    places: Mapping[tuple[Layout, int], Tree],
) -> Tree:
    name = "avg_msg_size" if collective in AVERAGE else "total_msg_size"
    out: Tree = {}
    for rule in rules:
        leaf = places.get((layout, rule.low))
        tree = default if leaf is None else leaf
        if len(rules) == 1:
            return tree
        if rule.high is None:
            out[f"{name}=any"] = tree
            break
        # sizes of blocks: those of all ranks up to the next one that has a rule of its own
        out[f"{name}<={(rule.high + 1) * _factor(rule) - 1}"] = tree
    return out


def as_rule(row: ExportRow) -> Rule:
    """Return a row of an export as the rule that it was."""
    settings = tuple((name, value) for name, value in row.settings)
    layout = Layout(row.nranks, row.nodes, row.ppn)
    return Rule(row.collective, layout, row.low, row.high, settings)

"""Which leaves of MPICH's trees a rule's settings stand for, and which calls these are for.

MPICH's files check nothing: a job ends, or gets wrong data, where a file names an algorithm for a
call that it is not for. So a row is kept to what stands on every way to its algorithm in the
library's own trees. Algorithms that those trees do not use are in a table here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from stretto.export.mpich_tree import CH4, MPIR, POSIX, Tree, Trees, is_leaf
from stretto.export.rules import Rule
from stretto.files.layout import RankLayout
from stretto.mpi.variables import Variable

#: what an algorithm may need of a call, where it was measured -> all other calls
_OTHERWISE = {
    "is_op_built_in=yes": "is_op_built_in=no",
    "is_block_regular=yes": "is_block_regular=no",
    "is_node_consecutive=yes": "is_node_consecutive=no",
    "is_multi_threaded=no": "is_multi_threaded=yes",
    "comm_hierarchy=parent": "comm_hierarchy=any",
    "count=any": "count<pow2",  # no fewer elements than the largest power of two in the ranks
}
#: no bracket for the calls of a collective that were measured can hold these
_NEVER = {"is_sendbuf_inplace=yes": "works in place only"}
#: a bracket within one node has it
_ON_ONE_NODE = "comm_size=node_comm_size"
#: what MPICH's trees do not say, from 5.0.1's src/abi/coll/coll_algorithms.txt ("restrictions") and
#: the algorithms' sources. Allreduce's smp only copies where no level has two ranks; in place,
#: reduce_scatter's pairwise copies a rank's block to the front, and the job ends where both overlap
#: (5.0.2, run; the MPI itself takes it for large blocks, and fails there)
_ALSO = {
    "algorithm=MPIR_Reduce_scatter_intra_pairwise": ("is_block_regular=yes",),
    "algorithm=MPIR_Allreduce_intra_smp": ("comm_hierarchy=parent",),
    "algorithm=MPIR_Allreduce_intra_k_reduce_scatter_allgather": (
        "is_op_built_in=yes",
        "count=any",
    ),
}
#: the trees use others, too, for powers of two only, and those can do with any number of ranks
_POWERS_OF_TWO = (
    "Allgather_intra_recursive_doubling", "Allgatherv_intra_recursive_doubling",
    "Reduce_scatter_intra_noncommutative", "Reduce_scatter_block_intra_noncommutative",
)  # fmt: skip


def needs_of(leaf: str, tree: Tree) -> frozenset[str]:
    """Return the keys that hold wherever a library's tree uses a leaf."""
    found = [
        ways for name, ways in _ways(tree, ()) if name == leaf and "comm_type=inter" not in ways
    ]
    both = frozenset.intersection(*map(frozenset, found)) if found else frozenset()
    mine = (*_OTHERWISE, *_NEVER, _ON_ONE_NODE)
    return both.intersection(mine) | frozenset(_ALSO.get(leaf, ()))


def _ways(tree: Tree, keys: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for key, below in tree.items():
        if is_leaf(key):
            yield key, keys
            return
        told = key != "count=any" or "count<pow2" in tree
        yield from _ways(below, (*keys, key) if told else keys)


def refusal(leaf: str, tree: Tree, layout: RankLayout) -> str | None:
    """Return why a leaf is not for a layout; None: it is."""
    name = leaf.rpartition("_intra_")[2]
    if leaf.endswith(_POWERS_OF_TWO) and layout.nranks & (layout.nranks - 1):
        return f"{name} works on powers of two only"
    needs = needs_of(leaf, tree)
    for key, words in _NEVER.items():
        if key in needs:
            return f"{name} {words}"
    if "comm_hierarchy=parent" in needs and (layout.nodes == 1 or layout.ppn == 1):
        return f"{name} needs several nodes with several ranks"
    if _ON_ONE_NODE in needs and layout.nodes > 1:
        return f"{name} works within a node only"
    return None


def guarded(leaf: Tree, default: Tree, tree: Tree) -> Tree:
    """Return a leaf for the calls that it can do, and for the others what the MPI does."""
    (name,) = leaf
    needs, out = needs_of(name, tree), leaf
    for key, otherwise in _OTHERWISE.items():
        if key in needs:
            first = key == "count=any"  # which holds for all that is not refused before
            out = {otherwise: default, key: out} if first else {key: out, otherwise: default}
    return out


_CVAR = "MPIR_CVAR_"
#: parameters that the leaves of an algorithm take -> end of the variable that holds each
PARAMETERS = {
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
#: compositions by number, from 1 on; 0 is the native choice
_GREEK = ("alpha", "beta", "gamma", "delta")
#: truths, as MPICH reads them
_TRUE, _FALSE = ("1", "yes", "true", "on"), ("0", "no", "false", "off")
#: parameters whose values are words in the files, too
_WORDS = ("tree_type",)


def leaves_of(
    rule: Rule, library: Trees, variables: Mapping[str, Variable]
) -> dict[str, Tree] | str:
    """Return the leaf of each layer that a rule needs, or why there is none."""
    upper = rule.collective.upper()
    title = rule.collective.capitalize()
    others = _others(rule)
    if others:
        return f"{', '.join(others)} cannot be expressed in MPICH files"
    name = rule.setting(f"{_CVAR}{upper}_POSIX_INTRA_ALGORITHM")
    if name is not None:
        leaf: Tree = {f"algorithm={POSIX}mpi_{rule.collective}_{name}": {}}
        return _known({POSIX: leaf}, rule, library)
    number = rule.setting(f"{_CVAR}{upper}_COMPOSITION")
    if number is not None:
        if not number.isdecimal() or not 1 <= int(number) <= len(_GREEK):
            return f"{_CVAR}{upper}_COMPOSITION={number} is not a composition"
        return _known({CH4: _composition(title, int(number))}, rule, library)
    name = rule.setting(f"{_CVAR}{upper}_INTRA_ALGORITHM")
    if name is None:
        return f"{rule.settings[0][0]} cannot be expressed in MPICH files"
    what = f"{rule.collective} {name}"
    if what in _NOT_IN_FILES:
        return f"{name} takes a parameter that MPICH's files cannot set"
    parameters: Tree = {}
    for key, end in PARAMETERS.get(what, {}).items():
        variable = f"{_CVAR}{upper}_{end}"
        value = rule.setting(variable)
        if value is None and variable in variables:
            value = variables[variable].value
        if value is None:
            return f"the value of {variable} is not known, and {name} needs it"
        number = value if key in _WORDS else _number(value)
        if number is None:
            return f"{variable}={value} is not a number, as the files require"
        parameters[f"{key}={number}"] = {}
    out: dict[str, Tree] = {MPIR: {f"algorithm={MPIR}{title}_intra_{name}": parameters}}
    composition = variables.get(f"{_CVAR}{upper}_COMPOSITION")
    found = re.search(r"(\d)\s+NM only", composition.help if composition else "")
    if found:
        out[CH4] = _composition(title, int(found.group(1)))
    known = _known(out, rule, library)
    if isinstance(known, str) or _is_flat(rule, library):
        return known
    return (
        "the device composition was enabled in the measurement and may have run another "
        f"algorithm: measure native:{name}, which adds {_CVAR}DEVICE_COLLECTIVES=percoll and "
        f"{_CVAR}{upper}_DEVICE_COLLECTIVE=0"
    )


def _is_flat(rule: Rule, library: Trees) -> bool:
    """Return whether the algorithm that a rule names ran over the whole communicator.

    It does so where the device, which puts levels together, is off for that collective, or has one
    composition alone: the network's, which is the algorithm itself.
    """
    composition = f"composition={CH4}{rule.collective.capitalize()}_intra_composition_"
    if sum(leaf.startswith(composition) for leaf in library.leaves) < 2:
        return True
    device = rule.setting(f"{_CVAR}DEVICE_COLLECTIVES") or "percoll"  # the default
    mine = rule.setting(f"{_CVAR}{rule.collective.upper()}_DEVICE_COLLECTIVE") or "1"
    return device == "none" or (device == "percoll" and mine.lower() in _FALSE)


def _number(value: str) -> str | None:
    """Return what the files hold for a variable's value; None: it is neither number nor truth."""
    if value.isdecimal():
        return str(int(value))
    return "1" if value.lower() in _TRUE else "0" if value.lower() in _FALSE else None


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
        ends = PARAMETERS.get(f"{rule.collective} {rule.setting(name)}", {}).values()
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

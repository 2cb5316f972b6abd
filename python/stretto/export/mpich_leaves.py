"""Which leaves of MPICH's trees a rule's settings stand for, and for which there are none."""

from __future__ import annotations

import re
from collections.abc import Mapping

from stretto.export.mpich_guards import refusal
from stretto.export.mpich_tree import CH4, MPIR, POSIX, Tree, Trees
from stretto.export.rules import Rule
from stretto.mpi.variables import Variable

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
#: compositions by number, from 1 on; 0 is the MPI's own choice
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
        return f"{', '.join(others)} has no place in MPICH's files"
    name = rule.setting(f"{_CVAR}{upper}_POSIX_INTRA_ALGORITHM")
    if name is not None:
        leaf: Tree = {f"algorithm={POSIX}mpi_{rule.collective}_{name}": {}}
        return _known({POSIX: leaf}, rule, library)
    number = rule.setting(f"{_CVAR}{upper}_COMPOSITION")
    if number is not None:
        if not number.isdecimal() or not 1 <= int(number) <= len(_GREEK):
            return f"{_CVAR}{upper}_COMPOSITION={number} names no composition"
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
        number = value if key in _WORDS else _number(value)
        if number is None:
            return f"{variable}={value} is not a number, and files hold numbers"
        parameters[f"{key}={number}"] = {}
    out: dict[str, Tree] = {MPIR: {f"algorithm={MPIR}{title}_intra_{name}": parameters}}
    help_ = (
        variables[f"{_CVAR}{upper}_COMPOSITION"].help
        if (f"{_CVAR}{upper}_COMPOSITION" in variables)
        else ""
    )
    found = re.search(r"(\d)\s+NM only", help_)
    if found:
        out[CH4] = _composition(title, int(found.group(1)))
    known = _known(out, rule, library)
    if isinstance(known, str) or _is_flat(rule, library):
        return known
    return (
        "the device's composition was on when it was measured, and may have run something else: "
        f"measure native:{name}, which is {_CVAR}DEVICE_COLLECTIVES=percoll and "
        f"{_CVAR}{upper}_DEVICE_COLLECTIVE=0 beside it"
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

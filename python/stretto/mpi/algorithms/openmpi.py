"""Open MPI: coll/tuned by number, coll/han and other components where they are built.

``coll_tuned_*_algorithm`` are enumerations whose items the library lists; a forced algorithm
counts only with ``coll_tuned_use_dynamic_rules``. On several nodes Open MPI 5 puts HAN before
tuned: a flat algorithm is had by taking HAN's priority away, one of HAN's by giving it one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from stretto.mpi.algorithms.base import Algorithm, Parameter
from stretto.mpi.variables import Variable

SEGMENTS = ("4096", "16384", "65536", "131072")
FANOUTS = ("2", "4", "8")
#: which of tuned's parameters an algorithm looks at, by its name (Open MPI tells only that some do)
_TAKES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"chain", ("segmentsize", "chain_fanout")),
    (r"k-fanout", ("tree_fanout",)),
    (r"knomial", ("segmentsize", "knomial_radix")),
    (r"pipeline|binary|binomial|segmented", ("segmentsize",)),
    (r"linear_sync", ("max_requests",)),
)
_NAMES = {
    "segmentsize": ("segment", SEGMENTS),
    "chain_fanout": ("fanout", FANOUTS),
    "tree_fanout": ("fanout", FANOUTS),
    "knomial_radix": ("radix", ("2", "4", "8", "16")),
    "max_requests": ("requests", ("8", "32")),
}
#: algorithms that look at segments in some collectives only
_SEGMENTED = ("bcast", "reduce", "allreduce")
_HAN_ON, _HAN_OFF = ("coll_han_priority", "100"), ("coll_han_priority", "0")


def find(variables: Mapping[str, Variable]) -> list[Algorithm]:
    """Return the algorithms of an Open MPI.

    Parameters
    ----------
    variables
        From `control_variables`.
    """
    flat: tuple[tuple[str, str], ...] = (("coll_tuned_use_dynamic_rules", "1"),)
    if _HAN_OFF[0] in variables:
        flat += (_HAN_OFF,)
    out: list[Algorithm] = []
    for name, variable in variables.items():
        found = re.fullmatch(r"coll_tuned_(\w+)_algorithm", name)
        if found:
            out += [
                Algorithm(
                    found.group(1),
                    item,
                    str(value),
                    "tuned",
                    ((name, str(value)), *flat),
                    _parameters(found.group(1), item, variables),
                    exactly=2 if item.startswith("two_proc") else None,
                )
                for value, item in variable.items
                if value > 0  # 0: the built-in decision
            ]
        found = re.fullmatch(r"coll_han_use_(\w+)_algorithm", name)
        if found:
            out += [
                Algorithm(
                    found.group(1), item, str(value), "han", ((name, str(value)), _HAN_ON),
                    nodes=True,
                )
                for value, item in variable.items
                if value > 0 and item != "intra"
            ]  # fmt: skip
    return out + _hierarchies(variables)


def _parameters(
    collective: str, item: str, variables: Mapping[str, Variable]
) -> tuple[Parameter, ...]:
    out: list[Parameter] = []
    for pattern, takes in _TAKES:
        if not re.search(pattern, item):
            continue
        if (
            item == "knomial"
            and f"coll_tuned_{collective}_algorithm_knomial_radix" not in variables
        ):
            takes = ("chain_fanout",)  # Open MPI 6's reduce has no radix of its own
        for suffix in takes:
            variable = f"coll_tuned_{collective}_algorithm_{suffix}"
            if suffix == "segmentsize" and collective not in _SEGMENTED:
                continue
            if variable in variables:
                name, values = _NAMES[suffix]
                out.append(Parameter(name, variable, values))
        break
    return tuple(out)


def _hierarchies(variables: Mapping[str, Variable]) -> list[Algorithm]:
    """Return HAN's choices of the module for each level, where it has no numbered algorithms."""
    out: list[Algorithm] = []
    for name in variables:
        found = re.fullmatch(r"coll_han_(\w+)_up_module", name)
        if not found or f"coll_han_use_{found.group(1)}_algorithm" in variables:
            continue
        low = f"coll_han_{found.group(1)}_low_module"
        if low in variables:
            out.append(Algorithm(found.group(1), "levels", "1", "han", (_HAN_ON,), nodes=True))
    return out

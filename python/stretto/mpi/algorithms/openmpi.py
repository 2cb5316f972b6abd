"""Open MPI: coll/tuned by number, coll/han and its levels, other components by priority.

``coll_tuned_*_algorithm`` are enumerations whose items the library lists; a forced algorithm
counts only with ``coll_tuned_use_dynamic_rules``. On several nodes Open MPI 5 puts HAN before
tuned: a flat algorithm is had by taking HAN's priority away, one of HAN's by giving it one.
What another component does it does where it has the highest priority.

Names and numbers are those that the library lists. Which of its variables an algorithm looks at,
and which collectives a component has, it does not say: that is from its sources (4.1.4 and 5.0),
and from runs with ``coll_base_verbose`` (tests/mpi/test_mpi_algorithms_openmpi.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from stretto.mpi.algorithms.base import AlgorithmParameter, NativeAlgorithm
from stretto.mpi.algorithms.forced import OFF
from stretto.mpi.variables import Variable

Setting = tuple[str, str]

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
#: HAN's own choice, in pipelined segments, where the collective calls what its two levels have:
#: bcast on either, a reduction inside a node, nonblocking ones of both between nodes. Its gather,
#: scatter and allgather have the same settings, for levels that lack what they call: no choice.
_HAN_LEVELED = ("bcast", "reduce", "allreduce")
_HAN_SEGMENTS = ("16384", "262144", "1048576")
#: HAN's simple algorithms ask for the module between nodes, by its number in the help: those whose
#: priority puts them on every communicator. (sm inside a node has none, and HAN does without it.)
_HAN_BETWEEN = ("basic", "tuned")
#: components -> the blocking collectives in which they have something that tuned has not, of those
#: that run by priority. Left out: what basic does as some number of tuned's does, and what nobody
#: but basic does; libnbc and ftagree have no blocking ones, inter none inside a communicator, self
#: is for one rank; sync and monitoring hand calls on.
_BY_PRIORITY = {
    "sm": ("allreduce", "barrier", "bcast", "reduce"),
    "adapt": ("bcast", "reduce"),
    "basic": ("allreduce", "barrier", "bcast", "reduce"),
}
#: components that use what networks can do, where they are built in: whether they are on when
#: nobody says so, and their priority (coll_hcoll_component.c and coll_ucc_component.c of 4.1 and
#: 5.0). coll/tuned has 30, and HAN 35 in 5, in jobs with an export, too.
_OFFLOADING = {"hcoll": ("1", "90"), "ucc": ("0", "10")}
_TUNED_PRIORITY = 30
#: of sm: its reduction has no tree
_SM_TREE = ("allreduce", "barrier", "bcast")


def find(variables: Mapping[str, Variable]) -> list[NativeAlgorithm]:
    flat: tuple[Setting, ...] = (("coll_tuned_use_dynamic_rules", "1"),)
    if _HAN_OFF[0] in variables:
        flat += (_HAN_OFF,)
    out: list[NativeAlgorithm] = []
    for name, variable in variables.items():
        found = re.fullmatch(r"coll_tuned_(\w+)_algorithm", name)
        if found:
            out += [
                NativeAlgorithm(
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
    return out + _hierarchies(variables) + _components(variables)


def selected(chosen: str, component: str) -> bool:
    """Tell whether a list of a framework's components, ``a,b`` or ``^a,b``, selects one."""
    listed = component in chosen.removeprefix("^").split(",")
    return not chosen or listed != chosen.startswith("^")


def hiding(variables: Mapping[str, Variable], environ: Mapping[str, str]) -> list[str]:
    """Return a sentence for each component that decides before coll/tuned and HAN."""
    chosen = environ.get("OMPI_MCA_coll", "")
    out = []
    for component, (on, priority) in _OFFLOADING.items():
        name = f"coll_{component}"
        if f"{name}_enable" not in variables:
            continue
        if not selected(chosen, component):
            continue
        if environ.get(f"OMPI_MCA_{name}_enable", on).lower() in OFF:
            continue
        value = environ.get(f"OMPI_MCA_{name}_priority", priority)
        if value.isdecimal() and int(value) > _TUNED_PRIORITY:
            out.append(
                f"coll/{component} (priority {value}) is built into this Open MPI and decides "
                "before coll/tuned and HAN: their algorithms, and an export's rows, run only where "
                f"it steps aside; OMPI_MCA_{name}_enable=0 turns it off, when measuring and in jobs"
            )
    return out


def _parameters(
    collective: str, item: str, variables: Mapping[str, Variable]
) -> tuple[AlgorithmParameter, ...]:
    out: list[AlgorithmParameter] = []
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
                out.append(AlgorithmParameter(name, variable, values))
        break
    return tuple(out)


def _hierarchies(variables: Mapping[str, Variable]) -> list[NativeAlgorithm]:
    """Return HAN's algorithms: by number, or by a switch in releases that have no numbers yet."""
    out: list[NativeAlgorithm] = []
    for name, variable in variables.items():
        found = re.fullmatch(r"coll_han_use_(\w+)_algorithm", name)
        if found:
            out += [
                # HAN's own choice, where it is intra, is the same candidate in all collectives:
                # one launch for them together
                _han(found.group(1), item, str(value), variables, (name, str(value)))
                if item != "intra"
                else _han(found.group(1), item, str(value), variables)
                for value, item in variable.items
                if value > 0
            ]
        found = re.fullmatch(r"coll_han_use_simple_(\w+)", name)
        if found and f"coll_han_use_{found.group(1)}_algorithm" not in variables:
            collective = found.group(1)
            out += [
                _han(collective, "levels", "1", variables),
                _han(collective, "simple", "2", variables, (name, "1")),
            ]
    return out


def _han(
    collective: str, item: str, value: str, variables: Mapping[str, Variable], *choice: Setting
) -> NativeAlgorithm:
    takes = _simple(collective, variables) if item == "simple" else ()
    if item in ("intra", "levels") and collective in _HAN_LEVELED:
        takes = (*_leveled(collective, variables), *_segments(collective, variables))
    return NativeAlgorithm(
        collective, item, value, "han", (*choice, _HAN_ON), takes, nodes=True, shared=True
    )


def _leveled(collective: str, variables: Mapping[str, Variable]) -> Iterator[AlgorithmParameter]:
    """Yield what HAN's pipelined algorithms take: ``up level module ..., 0 libnbc, 1 adapt``."""
    for level in ("up", "low"):
        name = f"coll_han_{collective}_{level}_module"
        if name in variables:
            numbers = re.findall(r"\b(\d+) \w+", variables[name].help)
            yield AlgorithmParameter(
                level, name, tuple(n for n in numbers if n != "0")
            )  # 0: as it is


def _segments(collective: str, variables: Mapping[str, Variable]) -> Iterator[AlgorithmParameter]:
    name = f"coll_han_{collective}_segsize"
    if name in variables:
        yield AlgorithmParameter("segment", name, _HAN_SEGMENTS)


def _simple(collective: str, variables: Mapping[str, Variable]) -> tuple[AlgorithmParameter, ...]:
    """Return what HAN's simple algorithms take: ``...: 0 = self; 1 = basic; 2 = libnbc; ...``."""
    if collective == "reduce":
        return tuple(_leveled(collective, variables))  # unlike the others
    name = f"coll_han_{collective}_dynamic_inter_node_module"
    if name not in variables:
        return ()
    numbers = re.findall(r"\b(\d+) = (\w+)", variables[name].help)
    return (
        AlgorithmParameter("up", name, tuple(n for n, module in numbers if module in _HAN_BETWEEN)),
    )


def _components(variables: Mapping[str, Variable]) -> list[NativeAlgorithm]:
    """Return what other components do that are built into this Open MPI."""
    return [
        NativeAlgorithm(
            collective,
            "by_priority",
            component,
            component,
            ((f"coll_{component}_priority", "100"),),
            tuple(_of_component(component, collective, variables)),
            nodes=False if component == "sm" else None,
        )
        for component, collectives in _BY_PRIORITY.items()
        if f"coll_{component}_priority" in variables
        for collective in collectives
    ]


def _of_component(
    component: str, collective: str, variables: Mapping[str, Variable]
) -> Iterator[AlgorithmParameter]:
    if component == "sm" and collective in _SM_TREE and "coll_sm_tree_degree" in variables:
        yield AlgorithmParameter("radix", "coll_sm_tree_degree", ("2", "8", "16"))
    if component == "adapt":
        choice = variables.get(f"coll_adapt_{collective}_algorithm")
        if choice is not None:
            # "0: tuned, 1: binomial, ...": the first is not written, the second the default
            numbers = re.findall(r"\b(\d+): \w+", choice.help)
            values = tuple(n for n in numbers if int(n) > 1)
            yield AlgorithmParameter("tree", f"coll_adapt_{collective}_algorithm", values)
        name = f"coll_adapt_{collective}_segment_size"
        if name in variables:
            yield AlgorithmParameter("segment", name, SEGMENTS)

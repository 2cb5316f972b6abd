"""Which rows break legal calls of programs, and the options that leave them out or take them.

`LOSES`: algorithms that combine operands in another order than that of the ranks, which is for
operations that commute. The MPIs' own decisions ask for that; a row is taken whatever the operation
is. (MPICH's trees can ask, and those of an export do.)

`CUTS`, `SEGMENTED`: algorithms that hang, end the job or give wrong data where ranks give the same
data by other counts and types: one element of a type of n integers here, n integers there; and what
MPI_IN_PLACE stands in front of is ignored. The MPIs' own decisions do not mind, or not where these
algorithms do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stretto.export.rules import Rule
from stretto.export.sizes import OWN_SIZE

KEEP_ORDER, PLAIN_CALLS = "--keep-order", "--plain-calls"
#: names by setting and value. Seen by running products of matrices on 2 to 8 ranks with all
#: algorithms of Open MPI 4.1.4 and 5.0.11 and all presets of Intel MPI 2021.18
#: (tests/mpi/test_export_unsafe.py); allreduce 7 and reduce 8, which those Open MPIs lack, from
#: the sources of 6.0. Rabenseifner's (allreduce 6, reduce 7) and reduce_scatter_block's recursive
#: halving (3) ask for the operation, and do something else; so do HAN's (run on several nodes:
#: tests/mpi/test_export_han.py), which leave such calls to coll/tuned and its rows.
LOSES = {
    "coll_tuned_allreduce_algorithm": {"4": "ring", "5": "segmented_ring", "7": "allgather_reduce"},
    "coll_tuned_reduce_algorithm": {
        "2": "chain", "3": "pipeline", "4": "binary", "5": "binomial", "8": "knomial",
    },
    "coll_tuned_reduce_scatter_algorithm": {"2": "recursive_halving", "3": "ring"},
    "I_MPI_ADJUST_REDUCE_SCATTER_BLOCK": {"2": "preset 2"},
}  # fmt: skip
#: a setting whose collective is called by others, when operations do not commute
CALLED = {"coll_tuned_reduce_algorithm": ("reduce_scatter", "reduce_scatter_block")}
#: ... and by others at some ranks and sizes: Open MPI's own decision for allreduce then takes
#: nonoverlapping (2), which calls reduce: in 4.1 to 6.0 on 8 to 15 ranks from 1 MiB on, on 128 to
#: 255 below 128 KiB and from 512 KiB on, on 256 to 511 below 4 KiB and from 512 KiB on, on more
#: below 2 KiB; in 4.0 from 10,000 bytes on (coll_tuned_decision_fixed.c). A row for 2 does, too.
CALLED_AT_TIMES = {"coll_tuned_reduce_algorithm": ("allreduce",)}
#: Seen by running all of coll/tuned's algorithms in Open MPI 4.1.4 and 5.0.11, with and without
#: segments (tests/mpi/test_export_unsafe.py): of bcast, those that cut the message by each rank's
#: own count; of 2, 3, 5, 6 and 7 (and gather's linear_sync) only with segments; sparbit, which
#: takes each rank's own send count for that of the blocks received, in place, too, where it is
#: ignored.
#: HAN's algorithms need no place here: on several nodes they are the native selection, which does
#: the same, or get through more than that (tests/mpi/test_export_han.py)
CUTS = {
    "coll_tuned_allgather_algorithm": {"7": "sparbit"},
    "coll_tuned_allgatherv_algorithm": {"6": "sparbit"},
    "coll_tuned_bcast_algorithm": {
        "4": "split_binary_tree", "8": "scatter_allgather", "9": "scatter_allgather_ring",
    },
}  # fmt: skip
SEGMENTED = {
    "coll_tuned_bcast_algorithm": {
        "2": "chain", "3": "pipeline", "5": "binary_tree", "6": "binomial", "7": "knomial",
    },
    "coll_tuned_gather_algorithm": {"3": "linear_sync"},
}  # fmt: skip
#: with a row for one of these coll/tuned asks the type that is sent for its size, on every
#: communicator, before it looks whether the call has one (coll_tuned_decision_dynamic.c of 4.1, 5.0
#: and 6.0): a scatter away from the root, or what is in place, may give none. MPI_DATATYPE_NULL has
#: a size, and is fine.
UNREAD = ("allgather", "allgatherv", "alltoall", "gather", "scatter")


def loses(rule: Rule) -> str | None:
    """Return the name of a rule's algorithm where it does not keep the order of operands."""
    return next((LOSES[n][v] for n, v in rule.settings if v in LOSES.get(n, ())), None)


def cuts(rule: Rule) -> str | None:
    """Return the name of a rule's algorithm where ranks must give the same counts and types."""
    for name, value in rule.settings:
        if value in CUTS.get(name, ()):
            return CUTS[name][value]
        whole = rule.setting(f"{name}_segmentsize") in (None, "0")
        if value in SEGMENTED.get(name, ()) and not whole:
            return f"{SEGMENTED[name][value]} with segments"
    return None


def reason(rule: Rule, keep_order: bool, plain_calls: bool) -> str | None:
    """Return in words why a rule is left out; None: it is not."""
    if not plain_calls and cuts(rule) is not None:
        return (
            "it fails in legal calls whose ranks use different counts and datatypes for the "
            f"same data; {PLAIN_CALLS} allows it"
        )
    if keep_order and loses(rule) is not None:
        return f"it does not keep the order of operands ({KEEP_ORDER})"
    return None


def warnings(rules: Sequence[Rule]) -> list[str]:
    """Return a sentence for each collective with rows that some legal calls must not meet."""
    return [_order(c, names) for c, names in _named(rules, loses).items()] + described(rules)


def described(rules: Sequence[Rule]) -> list[str]:
    """Return such a sentence on calls that ranks describe differently."""
    out = [
        f"{collective}: {names}: fails (hangs, aborts or gives wrong data) if ranks use different "
        f"counts and datatypes for the same data; without {PLAIN_CALLS} no such row is written"
        for collective, names in _named(rules, cuts).items()
    ]
    by_size = (r.collective for r in rules if r.low > 0 or r.high is not None)
    out += [
        f"{collective}: rows by size: each rank looks up the size of its send arguments. A program "
        "hangs if ranks use different types, or if the arguments that MPI_IN_PLACE ignores differ "
        f"(size 0 applies there); without {PLAIN_CALLS} one row is written for all sizes, or none"
        for collective in dict.fromkeys(by_size)
        if collective in OWN_SIZE
    ]
    tuned = (r.collective for r in rules if r.setting(f"coll_tuned_{r.collective}_algorithm"))
    names = [c for c in dict.fromkeys(tuned) if c in UNREAD]
    if names:
        out.append(
            f"{' and '.join(names)}: a program ends with a segmentation fault, on any "
            "communicator, if it gives 0 or NULL as a send type that the MPI ignores "
            "(MPI_IN_PLACE; scatter on other ranks than the root); MPI_DATATYPE_NULL is safe; "
            f"--without {','.join(names)} leaves these rows out"
        )
    return out


def _named(rules: Sequence[Rule], name_of: Callable[[Rule], str | None]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for rule in rules:
        name = name_of(rule)
        if name is not None:
            found.setdefault(rule.collective, set()).add(name)
    return {collective: " and ".join(sorted(names)) for collective, names in found.items()}


def _order(collective: str, names: str) -> str:
    setting = f"coll_tuned_{collective}_algorithm"
    inside = ""
    if setting in CALLED:
        inside = (
            f", also in {' and '.join(CALLED[setting])}, which call it, and in "
            f"{' and '.join(CALLED_AT_TIMES[setting])} at the ranks and sizes where that calls it "
            "(large messages from 8 ranks on, small ones from 128; in 4.0 from 10000 bytes on; "
            "with a row for nonoverlapping)"
        )
    return (
        f"{collective}: {names}: combines operands out of rank order, and the MPI applies a row to "
        f"every operation{inside}: programs with operations that do not commute (MPI_Op_create "
        f"with commute = 0) get wrong results; {KEEP_ORDER} writes only rows that keep the order"
    )

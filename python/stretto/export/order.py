"""Which algorithms combine operands in another order than that of the ranks.

They are for operations that commute only. The MPIs' own decisions ask for that; a row, or a
setting, is taken whatever the operation is. (MPICH's trees can ask, and those of an export do.)
"""

from __future__ import annotations

from collections.abc import Sequence

from stretto.export.rules import Rule

SWITCH = "--keep-order"
#: names by setting and value. Seen by running products of matrices on 2 to 8 ranks with all
#: algorithms of Open MPI 4.1.4 and 5.0.11 and all presets of Intel MPI 2021.18
#: (tests/mpi/test_export_order.py); allreduce 7 and reduce 8, which those Open MPIs lack, from
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


def loses(rule: Rule) -> str | None:
    """Return the name of a rule's algorithm where it does not keep the order of operands."""
    return next((LOSES[n][v] for n, v in rule.settings if v in LOSES.get(n, ())), None)


def warnings(rules: Sequence[Rule]) -> list[str]:
    """Return a sentence for each collective with rows that must not meet such operations."""
    found: dict[str, dict[str, None]] = {}
    for rule in rules:
        name = loses(rule)
        if name is not None:
            found.setdefault(rule.collective, {})[name] = None
    return [_sentence(collective, sorted(names)) for collective, names in found.items()]


def _sentence(collective: str, names: Sequence[str]) -> str:
    setting = f"coll_tuned_{collective}_algorithm"
    others, at_times = CALLED.get(setting), CALLED_AT_TIMES.get(setting)
    inside = f", in {' and '.join(others)}, too, which call it" if others else ""
    if at_times:
        inside += (
            f", and in {' and '.join(at_times)} at the ranks and sizes where that calls it (large "
            "messages from 8 ranks on, small ones from 128; in 4.0 from 10000 bytes on; where it "
            "has a row for nonoverlapping)"
        )
    return (
        f"{collective}: {' and '.join(names)}: not in the order of the ranks, and the MPI takes a "
        f"row whatever the operation is{inside}: programs whose operations do not commute "
        "(MPI_Op_create with commute = 0) get wrong results; --keep-order writes only rows that "
        "keep the order"
    )

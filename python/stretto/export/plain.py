"""Which of Open MPI's rows hang, or end the job, in legal calls that ranks describe differently.

Counts and types may differ from rank to rank where they amount to the same data: one element of a
type of n integers here, n integers there; and what MPI_IN_PLACE stands in front of is ignored. The
MPIs' own decisions do not mind, or not where these algorithms do.
"""

from __future__ import annotations

from collections.abc import Sequence

from stretto.export.rules import Rule
from stretto.export.sizes import OWN_SIZE

#: the call ends the job, never ends, or gives wrong data. Seen by running all of coll/tuned's
#: algorithms in Open MPI 4.1.4 and 5.0.11, with and without segments
#: (tests/mpi/test_export_plain.py): of bcast, those that cut the message by each rank's own
#: count; of 2, 3, 5, 6 and 7 (and gather's linear_sync) only with segments; sparbit, which takes
#: each rank's own send count for that of the blocks received, in place, too, where it is ignored.
#: HAN's algorithms need no place here: on several nodes they are the native decision, which does
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
SWITCH = "--plain-calls"


def cuts(rule: Rule) -> str | None:
    """Return the name of a rule's algorithm where ranks must give the same counts and types."""
    for name, value in rule.settings:
        if value in CUTS.get(name, ()):
            return CUTS[name][value]
        if value in SEGMENTED.get(name, ()) and rule.setting(f"{name}_segmentsize") not in (
            None,
            "0",
        ):
            return f"{SEGMENTED[name][value]} with segments"
    return None


def reason(rule: Rule) -> str | None:
    """Return in words why a rule is left out without `SWITCH`; None: it is not."""
    if cuts(rule) is None:
        return None
    return (
        "it hangs, ends the job or gives wrong data where ranks give the same data by other counts "
        f"and types, which is legal; {SWITCH} takes it"
    )


def warnings(rules: Sequence[Rule]) -> list[str]:
    """Return a sentence for each collective with rows that only plain calls may meet."""
    out = []
    for collective in dict.fromkeys(r.collective for r in rules):
        mine = [r for r in rules if r.collective == collective]
        names = sorted({name for r in mine if (name := cuts(r)) is not None})
        if names:
            out.append(
                f"{collective}: {' and '.join(names)}: hangs, ends the job or gives wrong data in "
                "a program whose ranks give the same data by other counts and types; without "
                f"{SWITCH} no such row is written"
            )
        if collective in OWN_SIZE and any(r.low > 0 or r.high is not None for r in mine):
            out.append(
                f"{collective}: rows by size: each rank looks up its own send arguments, and a "
                "program hangs whose ranks give other types, or ignored arguments of their own in "
                f"place (there the row of size 0 holds); without {SWITCH} one row is written for "
                "all sizes, or none"
            )
    return out + _unread(rules)


def _unread(rules: Sequence[Rule]) -> list[str]:
    """Return a sentence for rows with which coll/tuned looks at a type that may be none."""
    names = [
        c
        for c in dict.fromkeys(r.collective for r in rules)
        if c in UNREAD
        and any(r.collective == c and r.setting(f"coll_tuned_{c}_algorithm") for r in rules)
    ]
    if not names:
        return []
    return [
        f"{' and '.join(names)}: a program that gives 0 or NULL for the type that is sent where "
        "the MPI is to ignore it (in place; in a scatter away from the root) ends in a "
        "segmentation fault on any communicator; MPI_DATATYPE_NULL is fine; "
        f"--without {','.join(names)} leaves these rows out"
    ]

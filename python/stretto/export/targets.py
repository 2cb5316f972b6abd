"""What writes the files of each target, and which rules those files have words for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stretto.errors import StrettoError
from stretto.export import intel, mpich, openmpi, openmpi_json, openmpi_words, reach, unsafe
from stretto.export.counts import IDS
from stretto.export.mpich_leaves import leaves_of
from stretto.export.mpich_tree import read_library
from stretto.export.output import Export
from stretto.export.rules import Reason, Rule
from stretto.export.sizes import OPENMPI_SIZELESS, OWN_SIZE
from stretto.mpi import MPIInstallation, find_installation
from stretto.mpi.variables import control_variables


@dataclass(frozen=True)
class Writer:
    """Writes a target's files of rules for which `reason` gives no reason against it.

    Of the collectives in `sizeless` those files do not look at the size, or not all ranks at the
    same.
    """

    reason: Reason
    write: Callable[[list[Rule]], Export]
    sizeless: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wishes:
    """What a user leaves out of the files, or wants in them.

    `prefer`: nodes and ranks per node that are kept where two layouts cannot be told apart.
    `keep_order`: take only algorithms that keep the order of operands, for operations that do not
    commute. `plain_calls`: Open MPI: all ranks of a call give the same counts and types, and
    nothing is in place. `beyond`: let rows hold for sizes beyond those that were measured, where
    files cannot end them.
    """

    prefer: tuple[int | None, int | None] = (None, None)
    keep_order: bool = False
    plain_calls: bool = False
    beyond: bool = False
    without: tuple[str, ...] = ()


def writer_for(
    target: str, version: str, mpi: str | MPIInstallation | None, wishes: Wishes
) -> Writer:
    if target in ("mpich", "mvapich"):
        return _mpich(target, version, mpi, wishes)
    release = target.removeprefix("openmpi-")

    def reason(rule: Rule) -> str | None:
        if target != "intel" and rule.collective not in IDS:
            return "coll/tuned has no rules for it"
        if rule.default:
            return None
        if target == "intel":
            rule = intel.numbered(rule)
            without = intel.unsaid(rule)
        else:
            rule = openmpi_words.numbered(rule)
            without = openmpi_words.unsaid(rule, release)
            without = without or openmpi_words.beside_han(rule, release, version[:1])
            without = without or openmpi_words.other_there(rule, release, version[:1])
            without = without or _summed(rule, version)
        return without or unsafe.reason(rule, wishes.keep_order, wishes.plain_calls)

    if target == "intel":
        return Writer(reason, lambda rules: intel.adjust(rules, wishes.prefer, wishes.beyond))
    sizeless = OPENMPI_SIZELESS if wishes.plain_calls else (*OPENMPI_SIZELESS, *OWN_SIZE)

    def write(rules: list[Rule]) -> Export:
        if release == "6":
            own = [openmpi_words.numbered(r) for r in rules]
            return openmpi_json.json_rules(
                [openmpi_words.across(r, release, version[:1]) for r in own]
            )
        return openmpi.classic(rules, release)

    return Writer(reason, _within_reach(write, sizeless, wishes.beyond), sizeless)


def _summed(rule: Rule, version: str) -> str | None:
    """Return in words why sizes of 4.0's rows mean something else; None: they do not.

    Its rows look at the sum of allgatherv's blocks, those of 4.1 and later at their mean
    (coll_tuned_decision_dynamic.c).
    """
    sized = rule.low > 0 or rule.high is not None
    if rule.collective == "allgatherv" and version.startswith("4.0.") and sized:
        return "rows of Open MPI 4.0 use the sum of its blocks"
    return None


def _within_reach(
    write: Callable[[list[Rule]], Export], sizeless: tuple[str, ...], beyond: bool
) -> Callable[[list[Rule]], Export]:
    """Return what writes no row for all sizes that were measured at a few of them only."""

    def written(rules: list[Rule]) -> Export:
        kept, lost = reach.held(rules, sizeless, beyond)
        export = write(kept)
        export.lost = [*lost, *export.lost, *reach.said(export.rows, sizeless)]
        return export

    return written


def _mpich(
    target: str,
    version: str,
    mpi: str | MPIInstallation | None,
    wishes: Wishes,
) -> Writer:
    found = mpi if isinstance(mpi, MPIInstallation) else find_installation(mpi or "mpich")
    if (found.family, found.version) != ("mpich", version):
        raise StrettoError(
            f"measured with {version}, but this is {found.name}: the files replace the trees of "
            "exactly one release",
            found.libmpi,
            "name the MPI that was measured: --mpi PREFIX",
        )

    def write(rules: list[Rule]) -> Export:
        export = mpich.trees(rules, found, wishes.prefer)
        if target == "mvapich":
            export.lost.append("not verified: no MVAPICH has loaded these files")
        return export

    within = _within_reach(write, mpich.SIZELESS, wishes.beyond)
    if found.libmpi is None:
        return Writer(lambda rule: None, within, mpich.SIZELESS)  # which says what is missing
    library, variables = read_library(found.libmpi), control_variables(found)

    def reason(rule: Rule) -> str | None:
        if rule.default:
            return None
        found = leaves_of(rule, library, variables)
        return found if isinstance(found, str) else mpich.reaches_parts(rule.layout, version)

    return Writer(reason, within, mpich.SIZELESS)


def withheld(lost: Sequence[str], wishes: Wishes, dropped: int) -> str:
    """Return how many faster choices an option withheld, as the beginning of a sentence."""
    switches = [reach.SWITCH] * (not wishes.beyond)
    switches += [unsafe.PLAIN_CALLS] * (not wishes.plain_calls)
    switches += [unsafe.KEEP_ORDER] * wishes.keep_order
    count = dropped + sum(any(switch in sentence for switch in switches) for sentence in lost)
    were = "choice was" if count == 1 else "choices were"
    return f"{count} faster {were} withheld by options (see the notes); " if count else ""

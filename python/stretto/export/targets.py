"""What writes the files of each target, and which rules those files have words for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from stretto.errors import StrettoError
from stretto.export import intel, mpich, openmpi, openmpi_json, openmpi_words, order, plain, reach
from stretto.export.mpich_leaves import leaves_of
from stretto.export.mpich_tree import read_library
from stretto.export.output import Export
from stretto.export.rules import Reason, Rule, Sayable, no_reason
from stretto.export.sizes import OPENMPI_SIZELESS, OWN_SIZE
from stretto.mpi import MPIInstallation, find_installation
from stretto.mpi.variables import control_variables


@dataclass(frozen=True)
class Writer:
    """Writes a target's files of rules for which `sayable` holds.

    Of the collectives in `sizeless` those files do not look at the size, or not all ranks at the
    same; `reason` says in words why a rule is none for them, where that is the user's wish.
    """

    sayable: Sayable
    write: Callable[[list[Rule]], Export]
    sizeless: tuple[str, ...] = ()
    reason: Reason = no_reason


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
            if without is None and not wishes.plain_calls:
                without = plain.reason(rule)
        if without is None and wishes.keep_order and order.loses(rule) is not None:
            return f"it does not keep the order of operands ({order.SWITCH})"
        return without

    def sayable(rule: Rule) -> bool:
        known = target == "intel" or rule.collective in openmpi.IDS
        return known and reason(rule) is None

    if target == "intel":
        return Writer(
            sayable,
            lambda rules: intel.adjust(rules, wishes.prefer, wishes.beyond),
            reason=reason,
        )
    sizeless = OPENMPI_SIZELESS if wishes.plain_calls else (*OPENMPI_SIZELESS, *OWN_SIZE)

    def write(rules: list[Rule]) -> Export:
        if release == "6":
            own = [openmpi_words.numbered(r) for r in rules]
            return openmpi_json.json_rules(
                [openmpi_words.across(r, release, version[:1]) for r in own]
            )
        return openmpi.classic(rules, release)

    return Writer(sayable, _within_reach(write, sizeless, wishes.beyond), sizeless, reason)


def _summed(rule: Rule, version: str) -> str | None:
    """Return in words why sizes of 4.0's rows mean something else; None: they do not.

    Its rows look at the sum of allgatherv's blocks, those of 4.1 and later at their mean
    (coll_tuned_decision_dynamic.c).
    """
    sized = rule.low > 0 or rule.high is not None
    if rule.collective == "allgatherv" and version.startswith("4.0.") and sized:
        return "rows of Open MPI 4.0 look at the sum of its blocks"
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
            f"measured with {version}, and this is {found.name}: the files are made from the "
            "trees of one release, and replace them whole",
            found.libmpi,
            "name the MPI that was measured: --mpi PREFIX",
        )

    def write(rules: list[Rule]) -> Export:
        export = mpich.trees(rules, found, wishes.prefer)
        if target == "mvapich":
            export.lost.append("unproven: no MVAPICH has loaded these files")
        return export

    within = _within_reach(write, mpich.SIZELESS, wishes.beyond)
    if found.libmpi is None:
        return Writer(lambda rule: True, within, mpich.SIZELESS)  # which says what is missing
    library, variables = read_library(found.libmpi), control_variables(found)

    def reason(rule: Rule) -> str | None:
        if rule.default:
            return None
        found = leaves_of(rule, library, variables)
        return found if isinstance(found, str) else mpich.reaches_parts(rule.layout, version)

    return Writer(lambda rule: reason(rule) is None, within, mpich.SIZELESS, reason)


def withheld(lost: Sequence[str], wishes: Wishes, dropped: int) -> dict[str, int]:
    """Return how many choices were withheld, by why: ``without --plain-calls``."""
    switches = {
        reach.SWITCH: None if wishes.beyond else f"without {reach.SWITCH}",
        plain.SWITCH: None if wishes.plain_calls else f"without {plain.SWITCH}",
        order.SWITCH: f"with {order.SWITCH}" if wishes.keep_order else None,
    }
    out = {"with --without": dropped} if dropped else {}
    for sentence in lost:  # one that names two needs the first of them at least
        why = next((w for switch, w in switches.items() if w and switch in sentence), None)
        if why is not None:
            out[why] = out.get(why, 0) + 1
    return out


def in_words(held: Mapping[str, int]) -> str:
    """Return how many were withheld, as the beginning of a sentence; nothing of none."""
    if not held:
        return ""
    were = "choice was" if sum(held.values()) == 1 else "choices were"
    each = ", ".join(f"{count} {why}" for why, count in held.items())
    return f"{sum(held.values())} faster {were} withheld ({each}: see the notes); "

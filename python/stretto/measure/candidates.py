"""Which choices there are for a collective: asked from the plan library, never listed here."""

from __future__ import annotations

from collections.abc import Sequence

from stretto import plan
from stretto.built import library
from stretto.errors import StrettoError, UsageError
from stretto.files.table import NEIGHBORHOODS, TUNABLE
from stretto.kinds import Abi
from stretto.measure.baseline import with_bare
from stretto.measure.compare import BARE, NATIVE
from stretto.measure.settings import EXTRA
from stretto.measure.variants import variant_for


def own_choices(collective: str, nodes: int, nranks: int, most: int = 40) -> list[str]:
    """Return Stretto's own choices for a collective on a layout.

    `collective`: ``allreduce``.
    """
    choices = plan.choices(collective, nranks=nranks, nodes=nodes)
    return [c for c in choices if not c.startswith(NATIVE)][:most]


def default_candidates(
    collective: str, abi: Abi, nodes: int, nranks: int, size: int | None = None
) -> list[str]:
    """Return what is measured when the user names nothing: native and all that fits.

    `collective`: ``allreduce``.
    """
    if collective in EXTRA:
        return [BARE, NATIVE]
    if not has_interposer(abi):
        return [BARE]
    if collective not in TUNABLE + NEIGHBORHOODS:
        return [NATIVE]
    names = [NATIVE, *own_choices(collective, nodes, nranks)]
    return names if size is None else with_bare(names, size, nodes)


def has_interposer(abi: Abi) -> bool:
    try:
        library("interposer", abi)
    except StrettoError:
        return False
    return True


def need_interposer(candidates: list[str], abi: Abi) -> None:
    if any(variant_for(c) == "stretto" for c in candidates):
        library("interposer", abi)


def refuse_unknown(collectives: Sequence[str], candidates: Sequence[str]) -> None:
    """Refuse a candidate that is a choice for none of the collectives."""
    for candidate in candidates:
        if candidate.startswith((NATIVE, BARE)):
            continue
        problems = [choice_problem(c, candidate) for c in collectives if c not in EXTRA]
        if problems and all(problems):
            raise UsageError(
                str(problems[0]), "--candidates", "stretto plan list names the algorithms"
            )


def choice_problem(collective: str, choice: str) -> str | None:
    """Return what the plan library has against a choice; None when nothing, or not built."""
    try:
        return plan.choice_problem(collective, choice)
    except StrettoError:
        return None

"""What of a run no cause is looked for in: without it a verdict would say more than is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stretto.diagnose.numbers import ENOUGH_CALLS, few, mean
from stretto.files.profile import Call
from stretto.profile.show import group_of, seconds


@dataclass
class Unjudged:
    """Time in calls of one kind, in which no cause is looked for.

    `name`: the kind, in words.
    `spent_s`, `share`: seconds a rank (mean), and their share of the run.
    """

    name: str
    spent_s: float
    share: float


def _kind(call: Call) -> str | None:
    """Return what kind of unjudged calls a row is of, None where it is judged."""
    group = group_of(call)
    if call.wait_s is not None and call.transfer_s is not None:
        return f"collectives of fewer than {ENOUGH_CALLS} calls" if few(call) else None
    if call.kind == "neighborhood" or "eighbor" in (call.detail or ""):
        return "neighbourhood collectives"
    if group == "collective":
        return "collectives whose calls could not be joined"
    return {
        "nonblocking": "nonblocking and persistent collectives",
        "nonblocking wait": "nonblocking and persistent collectives",
        "rma": "one-sided communication",
        "other": "other MPI calls",
    }.get(group)


def unjudged(calls: Sequence[Call], wall_s: float) -> list[Unjudged]:
    """Return what was not judged, most time first.

    `wall_s`: what shares are of.
    """
    spent: dict[str, float] = {}
    for call in calls:
        name = _kind(call)
        if name is not None and any(call.time_s):
            spent[name] = spent.get(name, 0.0) + mean(call.time_s)
    found = [Unjudged(name, time_s, time_s / wall_s) for name, time_s in spent.items()]
    return sorted(found, key=lambda u: -u.spent_s)


def unjudged_words(found: Sequence[Unjudged]) -> str:
    # what rounds to nothing beside the rest is left out
    shown = [u for u in found if u.share >= 0.001] or list(found)
    return ", ".join(f"{u.name} {seconds(u.spent_s)} ({100 * u.share:.1f} %)" for u in shown)

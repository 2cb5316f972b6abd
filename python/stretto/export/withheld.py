"""What is faster and was not written for a switch that was given, or for one that was not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stretto.export import order, plain, reach
from stretto.export.targets import Wishes


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

"""The verdict on two candidates' times, from the test between them: the one place that decides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from stretto.counted import counted
from stretto.files.outcome import Verdict
from stretto.measure.stats import FEWEST, Interval

ALPHA = 0.05
#: a difference smaller than this is not worth a claim, however certain
THRESHOLD = 0.03
#: where a verdict would take more launches than this, they are not what is missing
MOST_MORE = 100


def judge(
    ratio: Interval,
    q: float | None,
    number: int,
    noun: str = "launch",
    p: float | None = None,
    busy: str | None = None,
    least: float = THRESHOLD,
) -> Verdict:
    """Return what a comparison amounts to.

    `q`: adjusted p, None when no test was made.
    `number`, `noun`: how many launches both have, and what they are called: ``run`` of a command.
    `p`: not adjusted; None: q is that of one comparison.
    `busy`: that the machine was busy, in words; None: it was not, or nobody knows. Launches that
    are interleaved are disturbed alike, so that a proof stands; that there is no difference does
    not.
    """
    if q is None:
        verb = "is" if number == 1 else "are"
        why = f"{counted(number, noun)} {verb} too few for a test (at least {FEWEST})"
        few = FEWEST - number
        return Verdict("inconclusive", why, _missing(few, noun, busy), tested=False, more=few)
    percent = 100 * abs(1 - ratio.median)
    significant = q < ALPHA
    if significant and percent > 100 * least:
        digits = 0 if percent >= 100 * THRESHOLD else 1
        words = f"{percent:.{digits}f} % {'faster' if ratio.median < 1 else 'slower'} (p={q:.2g})"
        return Verdict("faster" if ratio.median < 1 else "slower", words)
    small = percent <= 100 * THRESHOLD
    if small and busy is None:
        if significant:
            return Verdict(
                "same", f"the difference of {percent:.1f} % is not above {100 * least:.0f} %"
            )
        return Verdict("same", f"no significant difference (p={q:.2g})")
    raw = q if p is None else p
    more = launches_missing(raw, q, number)
    why = f"a difference of {percent:.0f} % is not significant (p={q:.2g})"
    if raw < ALPHA <= q:
        why += f" after correction for the number of comparisons (p={raw:.2g} before it)"
    if small:
        why = f"no significant difference (p={q:.2g})"
        more = 0
    return Verdict("inconclusive", why, _missing(more, noun, busy), more=more or 0)


def launches_missing(p: float, q: float, number: int) -> int | None:
    """Return how many more launches would make such a difference significant; None: too many.

    The test's statistic grows with the root of their number.
    """
    wanted = ALPHA * min(p / q, 1.0) if q > 0 else ALPHA
    seen, needed = (-NormalDist().inv_cdf(max(x, 1e-300) / 2) for x in (min(p, 1.0), wanted))
    if seen <= 0 or needed / seen > math.sqrt(MOST_MORE):
        return None
    more = max(1, math.ceil(number * (needed / seen) ** 2) - number)
    return more if more <= MOST_MORE else None


def _missing(more: int | None, noun: str, busy: str | None) -> str:
    parts = []
    if busy is not None:
        parts.append(f"a quiet machine ({busy})")
    if more is None:
        parts.append(f"less variation between {noun}{'es' if noun == 'launch' else 's'}")
    elif more > 0:
        parts.append(counted(more, f"more {noun}"))
    return f"missing: {', or '.join(parts)}" if parts else ""


def inconclusive(why: str, missing: str = "") -> Verdict:
    return Verdict("inconclusive", why, missing, tested=False)


def settled(verdicts: Sequence[tuple[Verdict, float]], baseline: int = 0) -> bool:
    """Tell whether none of several candidates may be faster than their baseline."""
    untold = [(v, r) for v, r in verdicts if v.outcome == "inconclusive"]
    # a test that finds no difference on a busy machine leaves one open either way
    maybe = any(r < (1 + THRESHOLD if v.tested else 1 - THRESHOLD) for v, r in untold)
    given_up = baseline >= FEWEST and bool(verdicts) and all(r >= 1 for _, r in verdicts)
    return not maybe and (given_up or any(v.tested for v, _ in verdicts))

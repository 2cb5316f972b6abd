"""How far rows reach that have no sizes: an MPI that looks at none takes one row for all of them.

Rows hold where they were measured. Where files cannot say up to which size, the sizes that were
measured must be all that there are, as far as anybody knows: from the smallest on, near enough to
one another, and up to those at which ``stretto bench`` ends by itself. A barrier has no size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from stretto.counted import counted
from stretto.export.rules import Rule
from stretto.export.sizes import OWN_SIZE
from stretto.tune.decide import GAP, SMALLEST

#: what holds for all larger messages, too, must have been measured up to this size, at which the
#: default sizes of ``stretto bench`` end
ENOUGH = 512 << 10
SWITCH = "--beyond-measured"
#: of more sizes than these only the ends are said
_SHOWN = 6


def shortage(rule: Rule) -> str | None:
    """Return in words which sizes nobody measured that a rule for all sizes reaches; None: none."""
    sizes = _sizes(rule)
    if not sizes or sizes[-1] < ENOUGH:
        return f"{counted(max(sizes, default=0), 'byte')} is the largest that was measured"
    if sizes[0] > SMALLEST:
        return f"{counted(sizes[0], 'byte')} is the smallest that was measured"
    far = [(a, b) for a, b in pairwise(sizes) if b > GAP * max(a, 1) and b > SMALLEST]
    return f"nothing was measured between {far[0][0]} and {far[0][1]} bytes" if far else None


def refused(what: str, short: str) -> str:
    """Return the sentence where rows are left out that would reach too far."""
    return (
        f"{what} would apply to all sizes, but {short}: measure from {SMALLEST} bytes or fewer to "
        f"{ENOUGH}, at most {GAP} times apart (stretto bench --bytes), or accept this ({SWITCH})"
    )


def held(
    rules: Iterable[Rule], sizeless: Collection[str], beyond: bool
) -> tuple[list[Rule], list[str]]:
    """Return rules, the native selection in the place of those that would reach too far."""
    out: list[Rule] = []
    lost: list[str] = []
    for rule in rules:
        short = shortage(rule) if _for_all(rule, sizeless) and not beyond else None
        if short is not None:
            words = refused(f"{rule.collective} on {rule.layout.words}: a row", short)
            by_size = "; --plain-calls writes rows by size" if rule.collective in OWN_SIZE else ""
            lost.append(words + by_size)
            rule = replace(rule, settings=())
        out.append(rule)
    return out, lost


def said(rows: Iterable[Rule], sizeless: Collection[str]) -> list[str]:
    """Return a sentence for each row that holds for all sizes: at which it was measured."""
    return [
        f"{r.collective} on {r.layout.words}: its row applies to all sizes; measured at "
        + _words(_sizes(r))
        for r in rows
        if _for_all(r, sizeless)
    ]


def _for_all(rule: Rule, sizeless: Collection[str]) -> bool:
    return not rule.default and rule.collective in sizeless and rule.collective != "barrier"


def _sizes(rule: Rule) -> list[int]:
    return sorted({p.bytes for p in rule.points})


def _words(sizes: Sequence[int]) -> str:
    if len(sizes) > _SHOWN:
        return f"{len(sizes)} sizes from {sizes[0]} to {sizes[-1]} bytes"
    return f"{', '.join(map(str, sizes)) or 'no'} bytes"

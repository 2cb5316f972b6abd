"""Numbers in sentences: ``1 launch``, ``2 launches``, ``3 minutes``."""

from __future__ import annotations


def counted(number: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun; `nouns`: its plural where an s alone does not do."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {nouns or noun + ('es' if noun.endswith(('s', 'x', 'ch', 'sh')) else 's')}"


def duration(seconds: float) -> str:
    """Return a time in words, with the digits that count."""
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} hours"
    if seconds >= 100:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def node_hours(seconds: float, nodes: int) -> str:
    """Return what a cluster accounts for nodes that are held for so long."""
    return f"{seconds * nodes / 3600:.2g} node-hours on {counted(nodes, 'node')}"


def placed(ranks: int, nodes: int, ppn: int) -> str:
    """Return nodes and ranks on them: ``2 x 4``; unless equal, ``2 nodes with at most 4 each``."""
    return f"{nodes} x {ppn}" if ranks == nodes * ppn else f"{nodes} nodes with at most {ppn} each"


def sized(number: float) -> str:
    """Return a number of bytes: ``8 B``, ``64 KiB``, ``1.5 MiB``."""
    for factor, unit in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= factor:
            return f"{_digits(number / factor)} {unit}"
    return f"{_digits(number)} B"


def size_range(low: int, high: int | None) -> str:
    """Return an inclusive range of sizes, as in ``8 B to 63 B`` or ``from 2 KiB``.

    Upper ends one below a whole number of KiB are written as what they mean: ``1 KiB to <4 KiB``.
    """
    if high is None:
        return "all sizes" if low == 0 else f"from {sized(low)}"
    if low == high:
        return sized(low)
    odd = high >= 1024 and (high + 1) % 1024 == 0
    if not odd:
        return f"{sized(low)} to {sized(high)}"
    return f"below {sized(high + 1)}" if low == 0 else f"{sized(low)} to <{sized(high + 1)}"


def seconds(value: float) -> str:
    """Return a time with a unit that fits: ``1.23 s``, ``45.6 ms``, ``0.78 us``."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= factor:
            return f"{_digits(value / factor)} {unit}"
    return f"{value * 1e6:.2f} us" if value > 0 else "0"


def three(value: float) -> str:
    """Return a number with three digits that count, in a column: ``9.40``, ``12.3``, ``1905``."""
    decimals = next((n for n, least in enumerate((99.95, 9.995, 0.9995)) if value >= least), 3)
    return f"{value:.{decimals}f}"


def _digits(value: float) -> str:
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"

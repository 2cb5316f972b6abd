"""Which hosts are measured with which, and which of them at the same time."""

from __future__ import annotations

from collections.abc import Sequence

from stretto.errors import UsageError

Pair = tuple[str, str]


def chosen_pairs(hosts: Sequence[str], words: Sequence[str], every: bool) -> list[Pair]:
    """Return pairs, source first: those named ``a:b``, all, or each host and the next one."""
    if words and every:
        raise UsageError("both name pairs", "--pairs, --all-pairs", "give one of them")
    if every:
        return [(a, b) for a in hosts for b in hosts if a != b]
    if not words:
        return [(a, b) for a, b in zip(hosts, [*hosts[1:], hosts[0]], strict=True)]
    pairs = []
    for word in (part for text in words for part in text.split(",") if part):
        source, colon, target = word.partition(":")
        unknown = [name for name in (source, target) if name not in hosts]
        if not colon or unknown or source == target:
            raise UsageError(
                f"{word!r} is not a pair of two of the hosts", "--pairs",
                f"write for example --pairs {hosts[0]}:{hosts[1]}",
            )  # fmt: skip
        pairs.append((source, target))
    return list(dict.fromkeys(pairs))


def rounds(pairs: Sequence[Pair], at_once: bool) -> list[list[Pair]]:
    """Return pairs in rounds: all pairs of a round are measured at the same time.

    No host is twice in a round, so that pairs do not share a card, unless all are `at_once`.
    """
    if at_once:
        return [list(pairs)]
    if not pairs:
        return []
    hosts = list(dict.fromkeys(name for pair in pairs for name in pair))
    wanted = set(pairs)
    out: list[list[Pair]] = []
    # the circle method: every two hosts meet once in n - 1 rounds
    circle: list[str | None] = [*hosts, None] if len(hosts) % 2 else [*hosts]
    half = len(circle) // 2
    for _ in range(len(circle) - 1):
        met = list(zip(circle[:half], reversed(circle[half:]), strict=True))
        for forward in (True, False):
            found = [(a, b) if forward else (b, a) for a, b in met if a and b]
            found = [pair for pair in found if pair in wanted]
            if found:
                out.append(found)
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return _merged(out)


def _merged(found: list[list[Pair]]) -> list[list[Pair]]:
    """Return rounds with those put together that have no host in common: few pairs, few rounds."""
    out: list[list[Pair]] = []
    for one in sorted(found, key=len, reverse=True):
        for pair in one:
            for other in out:
                if not {name for p in other for name in p} & set(pair):
                    other.append(pair)
                    break
            else:
                out.append([pair])
    return out

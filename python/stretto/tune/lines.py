"""Texts of several runs against each other, line by line: what is the same, and what only times."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from stretto.counted import counted
from stretto.files.verdict import ComparedOutcome

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?")
#: dates, and times of day
_DATE = re.compile(
    r"\b\d{4}-\d\d-\d\d\b|\b\d\d?[./]\d\d?[./]\d{4}\b|\b\d\d?:[0-5]\d:[0-5]\d(?:\.\d+)?\b"
)
#: what a run does so many of in a second; metres, kilograms and the like are results
_RATE = (
    r"(?:[kmgt]?i?b(?:ytes?|its?)?|[kmgt]?flops?|(?:time)?-?steps?|[kmg]?atom-?steps?|iter(?:ation)?s?|"
    r"its?|cycles|cells?|updates?|sweeps?|calls?|events?|ns|moves|evaluations?)"
    r"(?: ?/ ?| per )(?:s|sec|second|min|minute|h|hour|day)"
)
#: what stands before a run's times, dates and rates; "time" alone does not: that is physical time
_LABEL = re.compile(
    r"clock|cpu|elapsed|wall|execution ?time|run ?time|timestamp|\bdate\b|\bpid\b|process id|"
    rf"\btook\b|memory|\brss\b|\b{_RATE}\b",
    re.IGNORECASE,
)
#: and what follows their numbers; seconds per metre are a result again
_UNIT = re.compile(
    rf"\s*(?:elapsed )?(?:s|sec|secs|seconds|ms|us|[mgt]?flops?|{_RATE})\b"
    r"(?! ?/ ?(?!(?:time)?-?steps?\b|iter|its?\b|cycles?\b|calls?\b))",
    re.IGNORECASE,
)


def shape(line: str) -> str:
    """Return a line with its dates and numbers masked, and the blanks that fill their columns."""
    return re.sub(r"[ \t]*#", " #", _NUMBER.sub("#", _DATE.sub("@", line)))


def is_timing(one: str, other: str) -> bool:
    """Tell whether two lines differ only in numbers that look like times, dates or rates."""
    left, right = _DATE.sub("@", one), _DATE.sub("@", other)
    mine, theirs = (list(_NUMBER.finditer(text)) for text in (left, right))
    if len(mine) != len(theirs):
        return False
    at, there, timed = 0, 0, False
    for a, b in zip(mine, theirs, strict=True):
        between, other_between = left[at : a.start()], right[there : b.start()]
        goes_on = timed and between == ":"  # minutes and seconds of a labelled time
        timed = goes_on or bool(_LABEL.search(between) or _UNIT.match(left[a.end() :]))
        same = a.group() == b.group()
        if not (same or timed):
            return False
        if not same:  # in a column of fixed width, 9.5 has one more blank before it than 10.5
            between, other_between = between.rstrip(" \t"), other_between.rstrip(" \t")
        if between != other_between:
            return False
        at, there = a.end(), b.end()
    return left[at:] == right[there:]


def largest_difference(one: str, other: str) -> float | None:
    """Return the largest relative difference of two lines' numbers; None where words differ."""
    if shape(one) != shape(other):
        return None
    worst = 0.0
    for a, b in zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True):
        x, y = (float(re.sub("[dD]", "e", t)) for t in (a, b))
        scale = max(abs(x), abs(y))
        worst = max(worst, abs(x - y) / scale if scale else 0.0)
    return worst


def compare_texts(
    native: Sequence[list[str]], tuned: Sequence[list[str]], ordered: bool
) -> tuple[ComparedOutcome, str]:
    """Compare the texts of tuned runs with those of native ones.

    Lines in which native runs differ among themselves do not count, nor do lines of the same form:
    two native runs may print the same time by chance.

    `ordered`: the order of lines counts (a file; what several ranks print comes in any order).
    """
    first = native[0]
    if all(text == first for text in [*native[1:], *tuned]):
        return "same", ""
    if not ordered:
        counts = [Counter(text) for text in [*native, *tuned]]
        if all(c == counts[0] for c in counts):
            return "order", ""
    if len({len(text) for text in native}) != 1:
        return "varies", "native runs have different numbers of lines"
    fixed = [i for i, line in enumerate(first) if all(t[i] == line for t in native)]
    free = len(first) - len(fixed)
    if not fixed:
        return "varies", "native runs have no common line"
    known = set(fixed)
    varying = {shape(text[i]) for text in native for i in range(len(first)) if i not in known}
    times: set[int] = set()
    for text in tuned:
        if len(text) != len(first):
            return "differs", f"{counted(len(text), 'line')} instead of {len(first)}"
        bad = [i for i in fixed if text[i] != first[i]]
        wrong = [
            i
            for i in bad
            if not is_timing(first[i], text[i])
            and not (shape(first[i]) in varying and shape(text[i]) in varying)
        ]
        if wrong:
            return "differs", _where(first, text, wrong)
        times |= set(bad)
    parts = []
    if free:
        own = [i for i in range(len(first)) if i not in known]
        if all(t[i] == first[i] or is_timing(first[i], t[i]) for t in native for i in own):
            what = "with a time or rate" if free == 1 else "with times or rates"
        else:
            what = f"that differ{'s' * (free == 1)} between native runs too"
        parts.append(f"{counted(free, 'line')} {what}")
    if times:
        example = first[min(times)].strip()[:60]
        like = "contains or resembles a time" if len(times) == 1 else ("contain or resemble times")
        parts.append(f"{len(times)} more {like}: {example!r}")
    return "times", "; ".join(parts)


def _where(first: Sequence[str], text: Sequence[str], wrong: Sequence[int]) -> str:
    at = wrong[0]
    words = (
        f"{counted(len(wrong), 'line')}, the first is {at + 1}: "
        f"{text[at].strip()[:80]!r} instead of {first[at].strip()[:80]!r}"
    )
    differences = [largest_difference(first[i], text[i]) for i in wrong]
    known = [d for d in differences if d is not None]
    if len(known) == len(differences):
        words += f"; maximum relative difference of numbers: {max(known):.2g}"
    return words

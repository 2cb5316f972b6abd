"""What options for sbatch ask for: nodes, an array, and time to measure in."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from stretto.errors import UsageError

#: s: so long before the end of its time Slurm warns the script: a launch then has 80 s, and what
#: ends it and puts the job into the queue again some seconds more
WARNING_S = 120
#: s: Slurm may warn so much earlier than it was asked to (sbatch's manual, --signal)
EARLY_S = 60
#: s: to start, to ask nodes and MPI, and to measure a launch or two; with less of it a job would be
#: put into the queue again and again, for next to nothing
USEFUL_S = 120
LEAST_S = WARNING_S + EARLY_S + USEFUL_S
REMEDY = (
    "write H:MM:SS or minutes: 4:00:00, 240 (or D-HH, D-HH:MM:SS; 0 or UNLIMITED: no limit); a "
    "job ends before that when all is measured"
)
_NONE = {"UNLIMITED", "INFINITE", "-1"}
_DAYS = re.compile(r"(\d{1,6})-(\d{1,6})(?::(\d{1,2})(?::(\d{1,2}))?)?\Z")
#: one number is minutes, two are minutes and seconds
_PLAIN = re.compile(r"(?:(\d{1,9})|(\d{1,9}):(\d{1,2})|(\d{1,9}):(\d{1,2}):(\d{1,2}))\Z")
#: options of one letter that take no value: another one may follow in the same word
_FLAGS = "hHIkOQsuvVW"
_NODES = re.compile(r"(\d{1,9})([km]?)(?:-(\d{1,9})([km]?))?(?::\d{1,9})?")
_UNITS = {"": 1, "k": 1024, "m": 1024**2}
_INDEXES = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?")


def values_of(options: Sequence[str], letter: str | None, name: str, shortest: str) -> list[str]:
    """Return the values that an option of sbatch is given, of which the last one counts.

    `letter`, `name`: ``N`` and ``nodes``; None: it has no letter.
    """
    found = []
    for option in options:
        words = _words(option)
        for word, after in zip(words, [*words[1:], ""], strict=True):
            short = letter and re.fullmatch(rf"-[{_FLAGS}]*{letter}(.*)", word, re.DOTALL)
            head, equals, value = word.partition("=")
            if short:
                found.append(short[1] or after)
            elif head.startswith(f"--{shortest}") and f"--{name}".startswith(head):
                found.append(value if equals else after)
    return [x.strip() for x in found]


def value_of(options: Sequence[str], letter: str, name: str, shortest: str) -> str | None:
    return next(reversed(values_of(options, letter, name, shortest)), None)


def _words(option: str) -> list[str]:
    try:
        return shlex.split(option, comments=True)
    except ValueError:  # a quote without end, which sbatch refuses
        return option.split()


def nodes_asked(options: Sequence[str]) -> tuple[int, int] | None:
    """Return the fewest and most nodes that a job is to get, None where nothing readable says."""
    text = value_of(options, "N", "nodes", "nodes")
    found = [_NODES.fullmatch(part.lower()) for part in (text or "").split(",")]
    ranges = [m for m in found if m is not None]
    if len(ranges) < len(found):
        return None
    least = [int(m[1]) * _UNITS[m[2]] for m in ranges]
    most = [int(m[3]) * _UNITS[m[4]] for m in ranges if m[3] is not None]
    return min(least), max(least + most)


def names_nodes(options: Sequence[str]) -> bool:
    named = value_of(options, "w", "nodelist", "nodeli")
    return named is not None or value_of(options, "F", "nodefile", "nodef") is not None


def array_asked(options: Sequence[str]) -> int | None:
    """Return how many jobs of an array may run at once, None where the options ask for none."""
    text = value_of(options, "a", "array", "ar")
    if text is None:
        return None
    indexes, _, limit = text.partition("%")
    count = 0
    for part in indexes.split(","):
        found = _INDEXES.fullmatch(part)
        if found is not None:  # sbatch refuses others
            first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
            count += max(0, last - first) // max(1, step) + 1
    return max(1, min(count, int(limit)) if re.fullmatch(r"\d{1,9}", limit) else count)


def seconds(text: str, place: str) -> int | None:
    """Return how long a job may take, None where its time has no limit.

    Raises UsageError: it is none of these.
    """
    text = text.strip()
    if text.upper() in _NONE:
        return None
    found = _DAYS.match(text) or _PLAIN.match(text)
    if found is None:
        raise UsageError(f"{text!r} is no time for sbatch", place, REMEDY)
    n = [int(x or 0) for x in found.groups()]
    if found.re is _DAYS:
        total = ((n[0] * 24 + n[1]) * 60 + n[2]) * 60 + n[3]
    else:
        total = (n[0] + n[1] + n[4]) * 60 + n[2] + n[3] * 3600 + n[5]
    return total or None


def refuse_short(time: str, options: Sequence[str]) -> None:
    """Refuse a job's time in which nothing can be measured.

    `time`: of ``--time``.
    `options`: more of sbatch's, as typed: a time there counts more than ``--time``.
    """
    given = [("--time", time)]
    given += [("--sbatch", text) for text in values_of(options, "t", "time", "time")]
    given += [("--sbatch", text) for text in values_of(options, None, "time-min", "time-")]
    for place, text in given:
        limit = seconds(text, place)
        if limit is not None and limit < LEAST_S:
            raise UsageError(
                f"{text.strip()!r} is too short: Slurm warns the job {WARNING_S} to "
                f"{WARNING_S + EARLY_S} s before the end of its time, and it then ends",
                place,
                f"take {LEAST_S // 60} minutes or more; {REMEDY}",
            )

"""The time of a batch job: as sbatch takes it, and what of it is left to measure in."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stretto.campaign.sbatch import values_of
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

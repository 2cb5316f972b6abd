"""Candidates with which the MPI does not come up: nothing of theirs says which call it was."""

from __future__ import annotations

from stretto.files.bench import Bench, Excluded
from stretto.measure.settings import Settings
from stretto.mpi.algorithms.base import PREFIX

#: so many launches of a kind have to have brought nothing, and none anything
LAUNCHES = 3


def refused(settings: Settings, launch: int, bench: Bench) -> list[Excluded]:
    """Return what to exclude after a launch that brought nothing: its candidate, if it is to blame.

    It is where launches of its own have failed `LAUNCHES` times, whenever that was, and others come
    up on the same nodes. Of a launch that several share nobody can say which one it was.

    `launch`: its number.
    """
    kind = settings.variant_of(launch)
    ends = bench.ends
    if not kind.startswith(PREFIX) or launch not in ends:
        return []
    ended = [k for k in ends if settings.variant_of(k) == kind]
    measured = {s.launch for s in bench.samples}
    if len(ended) < LAUNCHES or not measured or measured.intersection(ended):
        return []
    detail = f"{len(ended)} launches brought nothing, the last: {ends[launch].detail}"
    first = {case.collective: case for case in reversed(settings.cases_of(kind))}
    return [Excluded(launch, c, kind, x.bytes, "failed", detail) for c, x in first.items()]

"""Choices of the user's that name an algorithm of the MPI: they become settings of the MPI."""

from __future__ import annotations

import re

from stretto.errors import UsageError
from stretto.files.table import check_choices
from stretto.launch.job import Job
from stretto.mpi.algorithms import discover, named
from stretto.mpi.algorithms.base import PREFIX
from stretto.mpi.algorithms.pairs import settings_environment
from stretto.mpi.known import check_settings
from stretto.output import say


def split_choices(job: Job, choice: str, place: str) -> tuple[str, dict[str, str]]:
    """Return the choices for the library, and the settings of the MPI that the others mean.

    ``bcast=native:knomial`` is the native knomial: Stretto passes bcast through
    (``bcast=native``), and the variables of the MPI select it, as in `stretto bench`.
    """
    check_choices(choice, place)
    rest: list[str] = []
    settings: dict[str, str] = {}
    for one in re.split(r"[;\s]+", choice):
        collective, _, name = one.partition("=")
        if not name.startswith(PREFIX):
            rest += [one] if one else []
            continue
        rest.append(f"{collective}=native")
        settings |= _settings(job, collective, name.removeprefix(PREFIX), place)
    return ";".join(rest), settings


def _settings(job: Job, collective: str, name: str, place: str) -> dict[str, str]:
    if "=" not in name:
        try:
            found = named(discover(job.mpi), collective, name, job.mpi.name)
        except UsageError as error:
            error.place = place
            error.remedy = (error.remedy or "").partition(";")[0]
            raise
        name = found.candidate.removeprefix(PREFIX)
    settings = settings_environment(job.mpi.family, name)
    for doubt in check_settings(job.mpi, settings, place):
        say(f"stretto: note: {doubt}")
    return settings

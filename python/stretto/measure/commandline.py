"""How a launch of the measuring program is started: by the MPI's launcher, or as the user's job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stretto.built import library
from stretto.files.bench import BLOCKING
from stretto.measure.settings import Settings
from stretto.measure.variants import SHARED
from stretto.mpi.algorithms.base import FILES
from stretto.mpi.algorithms.pairs import settings_environment
from stretto.mpi.base import MPIInstallation

#: makes command line and environment that start a program with variables for its ranks
Starter = Callable[[list[str], dict[str, str]], tuple[list[str], dict[str, str]]]

#: variables that would make "native" something else than the MPI itself
_CLEARED = ("STRETTO_TABLE", "STRETTO_CHOICE", "STRETTO_DISABLE", "STRETTO_PROFILE_DIR")


def command_line(
    settings: Settings,
    installation: MPIInstallation,
    launch: int,
    job: Path,
    start: Starter | None = None,
) -> tuple[list[str], dict[str, str]]:
    """Return command line and environment of a launch.

    `launch`: its number.
    """
    variant = settings.variant_of(launch)
    abi = installation.abi
    variables: dict[str, str] = {}
    if variant == "stretto":
        variables["LD_PRELOAD"] = str(library("interposer", abi, installation.major))
        variables["STRETTO_API"] = "1"  # without a table it would leave everything alone
        if settings.calls != BLOCKING:
            variables["STRETTO_NONBLOCKING"] = "calls"
    elif variant == FILES and settings.files:
        variables |= dict(settings.files.variables)
    elif variant.startswith(("native:", SHARED)):
        settings_text = variant.partition(":")[2]
        variables |= settings_environment(installation.family, settings_text)
    program = [str(library("bench", abi)), str(job.resolve())]
    if start is not None:
        command, environ = start(program, variables)
    else:
        command, environ = installation.launch(
            settings.nranks,
            program,
            ppn=settings.ppn,
            hosts=settings.hosts,
            bind="none" if settings.oversubscribed else "core",
            variables=variables,
            oversubscribe=settings.oversubscribed,
        )
    if installation.libmpi is not None:
        # The program names no libmpi: it opens the first that is found, which must be this one.
        environ["LD_LIBRARY_PATH"] = ":".join(
            [str(installation.libmpi.parent), environ.get("LD_LIBRARY_PATH", "")]
        ).rstrip(":")
    for name in _CLEARED:
        environ.pop(name, None)
    if settings.files and variant != FILES:
        for name, _ in settings.files.variables:  # of a shell that has sourced the export, say
            environ.pop(name, None)
    if variant != "stretto" and "libstretto" in environ.get("LD_PRELOAD", ""):
        environ.pop("LD_PRELOAD")
    return command, environ

"""Bringing the preloaded libraries and their settings to every rank of a job.

LD_PRELOAD reaches the ranks only, not the launcher, wherever the launcher has a way for that. What
each launcher does was found by running it; see `stretto.mpi.openmpi` and `stretto.mpi.mpich`.
"""

from __future__ import annotations

import os

from stretto.errors import StrettoError
from stretto.launch.command import Command, Option
from stretto.launch.job import Job
from stretto.launch.reach import dropping, obstacles
from stretto.launch.tools import SANITIZER_OPTION
from stretto.light import TYPE_CHECKING, dataclass, field, replace
from stretto.mpi.openmpi import DELIMITER, env_list

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Applied:
    """Libraries to preload, settings for the ranks, and the sentence that says so."""

    libraries: list[Path]
    variables: dict[str, str]
    words: str
    #: of the MPI, for the launcher and the ranks (`stretto settings`)
    settings: dict[str, str] = field(default_factory=dict)


#: variables of the Python side, which the ranks need not have
_OURS = ("STRETTO_DEBUG", "STRETTO_LIB_DIR", "STRETTO_SITE_TABLES")


def join_preload(*values: str) -> str:
    """Return one LD_PRELOAD value of several, each library once, in order."""
    words = [w for value in values for w in value.replace(":", " ").split()]
    return ":".join(dict.fromkeys(words))


def rank_variables(job: Job, libs: Sequence[Path], env: Mapping[str, str]) -> dict[str, str]:
    """Return all that the ranks are to get: LD_PRELOAD and the STRETTO_* settings.

    The user's own LD_PRELOAD stays, in front; the user's STRETTO_* variables hold where `env` says
    nothing.
    """
    seen = {**job.environ, **job.command.assignments}
    out = {k: v for k, v in seen.items() if k.startswith("STRETTO_") and k not in _OURS}
    out |= env
    if "STRETTO_CHOICE" in out:
        # Open MPI's lists of variables cannot carry a semicolon; blanks separate choices as well.
        out["STRETTO_CHOICE"] = " ".join(out["STRETTO_CHOICE"].replace(";", " ").split())
    for name, value in out.items():
        if ";" in value or "\n" in value:
            raise StrettoError(
                f"{name} contains a semicolon or a line feed, which launchers cannot pass to the "
                "ranks",
                value,
                "remove it",
            )
    for lib in libs:
        if any(c in ":;," or c.isspace() for c in str(lib)):
            raise StrettoError(
                "the path of a preloaded library cannot contain a blank, colon, semicolon or comma",
                lib,
                "install Stretto in another directory",
            )
    if libs:
        out["LD_PRELOAD"] = join_preload(seen.get("LD_PRELOAD", ""), *(str(p) for p in libs))
    if libs and job.sanitized:
        given = job.command.given(job.environ).get("ASAN_OPTIONS")
        out["ASAN_OPTIONS"] = ":".join(filter(None, [given, SANITIZER_OPTION]))
    return out


def with_settings(job: Job, settings: Mapping[str, str]) -> Job:
    """Return a job with settings of its MPI in the environment of its launcher.

    From there every launcher takes them to the ranks by itself: Open MPI's what begins with
    ``OMPI_`` or ``PRTE_``, Hydra and srun everything (unless they are told not to).
    """
    return replace(job, environ={**job.environ, **settings}) if settings else job


def prepare(
    job: Job, libs: Sequence[Path], env: Mapping[str, str] | None = None
) -> tuple[list[str], dict[str, str]]:
    """Return the command line and the environment that run a job with libraries preloaded.

    Without libraries and settings the job is returned as it is, except for what its MPI needs to
    run here at all.
    """
    command = job.command
    environ = dict(job.environ)
    if job.library_path:
        environ |= job.mpi.environment()
    variables = rank_variables(job, libs, env or {})
    words = list(command.words)
    if not variables:
        return words, environ
    if libs:
        _refuse_lost(command)
    if command.launcher_at is None:
        environ |= job.mpi.script_environment(variables, environ)
        _settle(words, range(command.applications[0].program or 0), variables)
        return _behind(words, command.applications[0].program, environ)
    _before_launcher(words, command, variables)
    # what a user's own STRETTO_* variables are before a program stays: they need not be ours
    ours = {*(env or {}), "ASAN_OPTIONS"} - {"LD_PRELOAD"}
    asked = {n: v for n, v in variables.items() if n in ours}
    for application in command.applications:
        _settle(words, range(application.start, application.program or application.start), asked)
    if command.kind == "slurm":
        environ |= variables
        environ.pop("LD_PRELOAD", None)
        if "LD_PRELOAD" in job.environ:
            environ["LD_PRELOAD"] = job.environ["LD_PRELOAD"]
        _slurm(words, command, variables)
    elif command.kind == "openmpi":
        _openmpi(words, job, variables, environ)
    else:
        _hydra(words, command, variables, environ)
    return _behind(words, command.launcher_at, environ)


def _refuse_lost(command: Command) -> None:
    lost = next((o.words for o in obstacles(command) if o.certain), None)
    if lost is not None:
        raise StrettoError(
            f"Stretto cannot reach the program: `{lost}` in front of it removes LD_PRELOAD",
            " ".join(command.words),
            f"remove `{lost}`, or start stretto after it",
        )


def _behind(
    words: list[str], at: int | None, environ: dict[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Set again what an ``env -i`` or sudo before the launcher (a script) at `at` takes away."""
    if at and dropping(words[:at]) is not None:
        ours = [f"{n}={v}" for n, v in environ.items() if os.environ.get(n) != v]
        words[at:at] = ["env", *ours]
    return words, environ


def _settle(words: list[str], where: range, variables: Mapping[str, str]) -> None:
    """Put our settings into ``env A=B`` among some words, whose values would win over ours."""
    for at in where:
        name, equals, _ = words[at].partition("=")
        if equals and name in variables:
            words[at] = f"{name}={variables[name]}"


def _before_launcher(words: list[str], command: Command, variables: Mapping[str, str]) -> None:
    """Let what the user's words set for launcher and ranks neither hide nor lose our settings."""
    settings = {n: v for n, v in variables.items() if n != "LD_PRELOAD"}
    _settle(words, range(command.launcher_at or 0), settings)
    for application in command.applications if "LD_PRELOAD" in variables else ():
        for at in range(application.start, application.program or application.start):
            name, equals, value = words[at].partition("=")
            if equals and name == "LD_PRELOAD":
                words[at] = f"{name}={join_preload(value, variables[name])}"


def _openmpi(
    words: list[str], job: Job, variables: dict[str, str], environ: dict[str, str]
) -> None:
    command, rest = job.command, dict(variables)
    major = _major(job)
    for option in command.options:
        at = option.at + 1
        if option.name == "x" and option.values:
            name, _, value = option.values[0].partition("=")
            if name == "LD_PRELOAD" and name in variables:
                words[at] = f"{name}={join_preload(value, variables[name])}"
                if major >= 5:
                    rest.pop(name, None)
            elif name in rest:
                words[at] = f"{name}={rest[name]}"
        elif option.name in ("mca", "omca") and option.values[:1] == ("mca_base_env_list",):
            # The user's list on the command line hides any in the environment: ours goes into it.
            delimiter = command.given(environ).get(DELIMITER, ";")
            words[at + 1] = f"{words[at + 1]}{delimiter}{env_list(rest, delimiter)}"
            rest = {}
    if not rest:
        return
    direct = command.words[command.launcher_at or 0]
    appfile = any(o.name == "app" and o.values for o in command.options)
    if major >= 5 and not (appfile and "prterun" not in direct):
        _insert(words, command, [w for n, v in rest.items() for w in ("-x", f"{n}={v}")])
        return
    # All stands in the list, for the ranks only.
    extra = job.mpi.script_environment(rest, command.given(environ))
    environ |= {k: v for k, v in extra.items() if k not in rest}


def _major(job: Job) -> int:
    """Return the launcher's major version, which may differ from the library's."""
    command = job.command
    head = (command.launcher_version or job.mpi.version).split(".")[0]
    if command.launcher_version is None and command.kind == "openmpi":
        return 5  # only PRRTE's launchers do not tell Open MPI's version
    return int(head) if head.isdecimal() else 0


def _insert(words: list[str], command: Command, options: Sequence[str]) -> None:
    """Put options right behind the launcher's name."""
    assert command.launcher_at is not None
    words[command.launcher_at + 1 : command.launcher_at + 1] = options


def _hydra(
    words: list[str], command: Command, variables: dict[str, str], environ: dict[str, str]
) -> None:
    rest = dict(variables)
    for option in command.options:
        if option.name not in ("env", "genv") or not option.values:
            continue
        joined = len(option.values) == 1  # -genv NAME=VALUE
        name = option.values[0].partition("=")[0]
        if name not in variables:
            continue
        at = option.at + (1 if joined else 2)
        old = option.values[0].partition("=")[2] if joined else option.values[1]
        new = join_preload(old, variables[name]) if name == "LD_PRELOAD" else variables[name]
        words[at] = f"{name}={new}" if joined else new
        if option.name == "genv":
            rest.pop(name, None)
    if command.values("configfile"):
        # The file holds all options; Hydra hands its own environment to the ranks.
        environ |= rest
        return
    _insert(words, command, [w for n, v in rest.items() for w in ("-genv", n, v)])


def _slurm(words: list[str], command: Command, variables: Mapping[str, str]) -> None:
    """Have srun export everything, and LD_PRELOAD to the tasks only.

    Values with commas cannot stand in --export; the other settings therefore go by the environment.
    A component (``A : B``) has the --export of the one before unless it has its own.
    """
    wanted = [f"LD_PRELOAD={variables['LD_PRELOAD']}"] if "LD_PRELOAD" in variables else []
    own = [[o for o in a.options if o.name == "export"] for a in command.applications]
    for exports in own:
        if exports:
            _export(words, exports[-1], variables, wanted)
    if not own[0]:
        _insert(words, command, ["--export=" + ",".join(["ALL", *wanted])])


def _export(
    words: list[str], option: Option, variables: Mapping[str, str], wanted: list[str]
) -> None:
    """Add our variables to an --export that is there."""
    value = option.values[0] if option.values else "ALL"
    parts = [p for p in value.split(",") if p and p not in ("NONE", "NIL")]
    theirs = [p for p in parts if p.startswith("LD_PRELOAD=")]
    if theirs and wanted:
        parts = [p for p in parts if p not in theirs]
        wanted = [
            "LD_PRELOAD=" + join_preload(theirs[-1].partition("=")[2], variables["LD_PRELOAD"])
        ]
    if "ALL" not in parts:
        parts += [n for n in variables if n != "LD_PRELOAD"]
    text = ",".join([*parts, *wanted])
    if "=" in words[option.at]:
        words[option.at] = f"--export={text}"
    else:
        words[option.at + 1] = text

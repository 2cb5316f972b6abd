"""``stretto campaign submit``: the batch script of a campaign, written and handed to Slurm."""

from __future__ import annotations

import math
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.campaign.begun import earlier
from stretto.campaign.outlook import budget_lines, plan_lines
from stretto.campaign.request import Request
from stretto.campaign.run import system_of
from stretto.campaign.status import read_status
from stretto.counted import counted, duration, node_hours
from stretto.errors import EXIT_AGAIN, StrettoError, UsageError
from stretto.files.io import write_atomic
from stretto.measure.settings import parse_duration
from stretto.mpi.detect import CLASSES, which

#: how the launchers of MPIs are called, which the nodes may have and the login node not
_LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun")

#: s: so long before the end of its time Slurm warns the script: a launch then has 80 s, and what
#: ends it and puts the job into the queue again some seconds more
WARNING_S = 120
#: s: Slurm may warn so much earlier than it was asked to (sbatch's manual, --signal)
EARLY_S = 60
#: s: with less a job would be put into the queue again and again, for next to nothing
LEAST_S = 300


@dataclass(frozen=True)
class SlurmJob:
    """What is asked of Slurm.

    `limit_s`: of time, see `seconds`.
    `jobs`: more than one: an array of so many, each with its own nodes, all on one campaign.
    `options`: more options for sbatch, one each, as typed: ``--partition=hpc``.
    """

    limit_s: int = 4 * 3600
    jobs: int = 1
    options: tuple[str, ...] = ()

    @property
    def names_nodes(self) -> bool:
        return any(re.match(r"-w|-F|--nodelist|--nodefile", x) for x in self.options)


def seconds(text: str) -> int:
    """Return how long a job may take: ``H:MM:SS``, ``D-HH:MM:SS``, minutes, ``90m``, ``4h``."""
    text = text.strip()
    found = re.fullmatch(r"(?:(\d{1,4})-)?(\d{1,6}):(\d\d):(\d\d)", text)
    if found is not None:
        days, hours, minutes, rest = (int(x or 0) for x in found.groups())
        total = ((days * 24 + hours) * 60 + minutes) * 60 + rest
    else:
        total = math.ceil(parse_duration(f"{text}m" if text.isdecimal() else text, "--time"))
    if total < LEAST_S:
        raise UsageError(
            f"{text!r} is too short: Slurm warns the job {WARNING_S} to {WARNING_S + EARLY_S} s "
            "before its time limit, and the job then ends",
            "--time",
            f"give {LEAST_S // 60} minutes or more: 4:00:00, 90m, 4h; a job ends earlier when all "
            "points are measured",
        )
    return total


#: -t, -N, -a, and what Slurm takes for --time, --nodes and --array
_OURS = re.compile(r"-[tNa]|--(t|ti|tim|time|time-min|nodes|ar|arr|arra|array)(=|$)")


def refuse_job(request: Request, job: SlurmJob) -> None:
    for text in job.options:
        if not text.startswith("-") or "\n" in text:
            raise UsageError(f"{text!r} is not an option", "--sbatch", "write '--partition=hpc'")
        more = re.fullmatch(r"(?:-N *|--nodes[= ])([0-9]{1,6})", text)
        enough = more is not None and int(more[1]) >= _nodes(request)
        if not enough and any(_OURS.match(word) for word in shlex.split(text)):
            raise UsageError(
                f"Stretto sets {text!r} itself",
                "--sbatch",
                "use --time and --jobs instead; --nodes=N is allowed if N exceeds the "
                f"{_nodes(request)} of the largest layout (parallel = true)",
            )
    needed, have = job.jobs * _nodes(request), len(request.hosts)
    if have and needed > have:
        jobs = f"{job.jobs} jobs at once have" if job.jobs > 1 else "the largest layout has"
        raise UsageError(
            f"{jobs} {counted(needed, 'node')}, but hosts names {have}",
            "hosts",
            "leave hosts out to use the nodes that Slurm gives, or name as many as "
            "all jobs have together" + (", or reduce --jobs" if job.jobs > 1 else ""),
        )


def host_lines(request: Request, job: SlurmJob) -> list[str]:
    """Return a warning where Slurm may give other nodes than those that were named."""
    if not request.hosts or job.names_nodes or _all_named(request, job):
        return []
    return [
        f"warning: hosts names {counted(len(request.hosts), 'node')}, and a job has "
        f"{counted(_nodes(request), 'node')}: Slurm may allocate other nodes, and a job with none "
        "of the named hosts measures nothing. Leave hosts out, and select nodes with a partition, "
        "a reservation or a constraint (--sbatch '--constraint=F')"
    ]


def _nodes(request: Request) -> int:
    return max(x.nodes for x in request.layouts)


def _all_named(request: Request, job: SlurmJob) -> bool:
    """Return whether one job has all nodes of hosts."""
    return job.jobs == 1 and len(request.hosts) == _nodes(request)


def script(request: Request, file: Path, job: SlurmJob, environ: Mapping[str, str]) -> str:
    """Return the batch script of a campaign."""
    refuse_job(request, job)
    out = request.out.absolute()
    keep = {k: environ[k] for k in ("PYTHONPATH", "STRETTO_LIB_DIR") if environ.get(k)}
    words = [sys.executable, "-m", "stretto", "campaign", "run", str(file.absolute())]
    text = Path(__file__).with_name("submit.sh").read_text("utf-8")
    for name, value in {
        "#SBATCH @OPTIONS@": "\n".join(_directives(request, file, job)),
        "export @VARIABLES@": "\n".join(f"export {k}={shlex.quote(v)}" for k, v in keep.items()),
        "@OUT@": shlex.quote(str(out)),
        "@COMMAND@": shlex.join([*words, "--out", str(out), "--yes"]),
        "@AGAIN@": str(EXIT_AGAIN),
    }.items():
        text = text.replace(name, value)
    return text


def _directives(request: Request, file: Path, job: SlurmJob) -> list[str]:
    ppn = max(x.ppn for x in request.layouts)
    out, log = request.out.absolute(), "A_%a" if job.jobs > 1 else "j"
    head = [
        f"#SBATCH --job-name=stretto-{re.sub(r'[^A-Za-z0-9_.-]', '-', file.stem)}",
        f"#SBATCH --nodes={_nodes(request)}",
        f"#SBATCH --ntasks-per-node={ppn}",
        "#SBATCH --cpus-per-task=1",
        "#SBATCH --hint=nomultithread",
        "#SBATCH --exclusive",
        f"#SBATCH --time={job.limit_s // 3600}:{job.limit_s // 60 % 60:02}:{job.limit_s % 60:02}",
        "#SBATCH --requeue",
        "#SBATCH --open-mode=append",
        f"#SBATCH --signal=B:USR1@{WARNING_S}",
        f"#SBATCH --output={shlex.quote(f'{out}/slurm-%{log}.log')}",
    ]
    if job.jobs > 1:
        head.append(f"#SBATCH --array=1-{job.jobs}")
    if _all_named(request, job) and not job.names_nodes:
        head.append(f"#SBATCH --nodelist={','.join(request.hosts)}")
    head += [f"#SBATCH {option}" for option in job.options]
    return head


def cost_lines(request: Request, say: Callable[[str], None]) -> list[str]:
    out, needed_s = [], 0.0
    for name in request.mpis or (None,):
        try:
            system = system_of(request, name, say, ask_nodes=False, away=True)
            out += plan_lines(request, system)
            needed_s += system.left_s
        except UsageError:
            raise
        except StrettoError as error:  # the nodes may have what the login node lacks
            if name is not None and _no_mpi(name):
                raise
            out.append(f"warning: the cost is unknown here: {error}")
    if earlier(request.out) is not None:
        needed_s = read_status(request.out)["left_s"]
        cost = node_hours(needed_s, _nodes(request))
        out.append(
            f"remaining after the earlier starts, at their pace: about {duration(needed_s)}, {cost}"
        )
    return out + budget_lines(request, needed_s)


def _no_mpi(name: str) -> bool:
    may_be = name in CLASSES or "/" in name or name.startswith(_LAUNCHERS)
    return not may_be and not Path(name).is_dir() and which(name, os.environ) is None


def submit(request: Request, file: Path, job: SlurmJob) -> tuple[Path, str]:
    """Write the script into the campaign's directory, submit it; return it and the job's number."""
    path = request.out.absolute() / "submit.sh"
    write_atomic(path, script(request, file, job, os.environ), "the batch script")
    return path, _sbatch(["sbatch", "--parsable", str(path)])


def _sbatch(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=120, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise StrettoError(
            "sbatch was not found",
            None,
            "go to a login node of the cluster; --print shows the script",
        ) from error
    except subprocess.TimeoutExpired as error:
        raise StrettoError(
            "sbatch does not answer", None, "is slurmctld up? (scontrol ping)"
        ) from error
    if done.returncode != 0:
        said = done.stderr.strip() or done.stdout.strip()
        raise StrettoError(
            f"sbatch refuses the job: {said}",
            words[-1],
            "use the node names of Slurm (sinfo -N) for hosts, or leave hosts out"
            if "node name" in said.lower()
            else "add what is missing, e.g. --sbatch '--partition=NAME', or correct --time",
        )
    return done.stdout.strip().split(";")[0]

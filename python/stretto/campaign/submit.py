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

from stretto.campaign.outlook import budget_lines, plan_lines
from stretto.campaign.request import Request
from stretto.campaign.run import system_of
from stretto.campaign.sbatch import WARNING_S, array_asked, names_nodes, nodes_asked, refuse_short
from stretto.counted import counted
from stretto.errors import EXIT_AGAIN, StrettoError, UsageError
from stretto.files.io import write_atomic
from stretto.measure.settings import parse_duration
from stretto.mpi.detect import CLASSES, which

#: how the launchers of MPIs are called, which the nodes may have and the login node not
_LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun")

#: Of an array the number of one job is that of all: they would be put into the queue with it. And
#: of whatever it ends Slurm says COMPLETING, with a time or a reason unless the user has cancelled
#: it (seen with 22.05). What the user has set for squeue would leave the job out.
_QUEUE = (
    "me=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}",
    "me=${me:-$SLURM_JOB_ID}",
    "cancelled() {",
    '    read -r state preempted why <<<"$(unset SLURM_CLUSTERS "${!SQUEUE_@}"',
    '        squeue -h -j "$me" -O State:20,PreemptTime:30,Reason)"',
    '    case "$state" in COMPLETING | CANCELLED*) ;; *) return 1 ;; esac',
    '    [ "$preempted" = N/A ] && [ "$why" != TimeLimit ]',
    "}",
)


@dataclass(frozen=True)
class SlurmJob:
    """What is asked of Slurm.

    `time`: limit, as sbatch takes it; see `stretto.campaign.sbatch`.
    `jobs`: more than one: an array of so many, each with its own nodes, all on one campaign.
    `options`: more options for sbatch, as typed: ``--partition=hpc``.
    """

    time: str = "4:00:00"
    jobs: int = 1
    options: tuple[str, ...] = ()

    @property
    def at_once(self) -> int:
        return self.jobs if self.jobs > 1 else array_asked(self.options) or 1


def refuse_job(request: Request, job: SlurmJob) -> None:
    refuse_short(job.time, job.options)
    need, have = max(x.nodes for x in request.layouts), len(request.hosts)
    asked = nodes_asked(job.options)
    if asked is not None and asked[0] < need:
        lost = ", ".join(x.words for x in request.layouts if x.nodes > asked[0])
        raise UsageError(
            f"the job may get {counted(asked[0], 'node')}, and {lost} would be left out",
            "--sbatch",
            "leave --nodes (-N) out: as many are asked for as the largest layout has; or name "
            "fewer nodes in the campaign (nodes = [...])",
        )
    if job.jobs > 1 and array_asked(job.options) is not None:
        raise UsageError(
            f"--jobs {job.jobs} is an array, and --array is another: sbatch takes one only",
            "--sbatch",
            "leave one of them out; --sbatch '--array=1-4%2' without --jobs is four jobs, of which "
            "two run at once",
        )
    if have and job.at_once * need > have:
        jobs = f"{job.at_once} jobs at once have" if job.at_once > 1 else "the largest layout has"
        raise UsageError(
            f"{jobs} {counted(job.at_once * need, 'node')}, and hosts names {have}",
            "hosts",
            "leave hosts out, so that the nodes are taken that Slurm gives, or name as many as "
            "all jobs have together" + (", or take fewer --jobs" if job.jobs > 1 else ""),
        )


def host_lines(request: Request, job: SlurmJob) -> list[str]:
    """Return a warning where Slurm may give other nodes than those that were named."""
    if not request.hosts or names_nodes(job.options) or _all_named(request, job):
        return []
    more = "" if job.at_once > 1 else ", or name just as many as the job has"
    return [
        f"warning: hosts names {counted(len(request.hosts), 'node')}, and "
        + ("each job" if job.at_once > 1 else "the job")
        + f" has {counted(_nodes(request, job)[0], 'node')}: Slurm may give others, and a job that "
        f"has none of hosts ends without having measured. Leave hosts out, and choose nodes by a "
        f"partition, a reservation or a constraint (--sbatch '--constraint=F'){more}"
    ]


def _nodes(request: Request, job: SlurmJob) -> tuple[int, int]:
    need = max(x.nodes for x in request.layouts)
    return nodes_asked(job.options) or (need, need)


def _all_named(request: Request, job: SlurmJob) -> bool:
    """Return whether one job has all nodes of hosts: ``--nodelist`` gives no fewer of them."""
    return job.at_once == 1 and 0 < len(request.hosts) <= _nodes(request, job)[1]


def script(request: Request, file: Path, job: SlurmJob, environ: Mapping[str, str]) -> str:
    """Return the batch script of a campaign.

    The campaign runs in the background, so that the shell hears Slurm's warning before the end of
    the time (USR1) and before a preemption (TERM), lets the launch under way end, and puts the job
    into the queue again, as it does where the file system was away; a campaign that is not complete
    for other reasons is not repeated, nor one whose job the user has cancelled, which also begins
    with TERM. Nor is one that has come out of the queue again and ends before anything was measured
    in the directory, since it would come back for ever; a preemption (TERM) says nothing of what
    time was left.
    """
    refuse_job(request, job)
    out = request.out.absolute()
    head = _directives(request, file, job)
    keep = {k: environ[k] for k in ("PYTHONPATH", "STRETTO_LIB_DIR") if environ.get(k)}
    words = [sys.executable, "-m", "stretto", "campaign", "run", str(file.absolute())]
    words += ["--out", str(out), "--yes"]
    return "\n".join(
        [
            *head,
            "",
            *(f"export {k}={shlex.quote(v)}" for k, v in keep.items()),
            "signal=",
            *_QUEUE,
            *_measured(out),
            "campaign=",
            *(
                f"trap 'signal={x}; kill -USR1 \"$campaign\" 2>/dev/null' {x}"
                for x in ("USR1", "TERM")
            ),
            "before=$(measured)",
            # what a script starts with & ignores SIGINT, unless it resets that
            f"(trap - INT; exec {shlex.join(words)}) &",
            "campaign=$!",
            '[ -z "$signal" ] || kill -USR1 "$campaign" 2>/dev/null  # while it was being started',
            'while wait "$campaign"; code=$?; [ "$code" -gt 128 ]; do  # a signal ends wait, too',
            '    kill -0 "$campaign" 2>/dev/null || break',
            "done",
            f'if [ "$code" -eq {EXIT_AGAIN} ] ||',
            '    { [ -n "$signal" ] && [ "$code" -gt 128 ]; }; then',
            "    if cancelled; then",
            '        echo "stretto: not complete: the job was cancelled; submit it again to go on"',
            '    elif [ "$signal" != TERM ] && [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] &&',
            '        [ "$(measured)" -le "$before" ]; then',
            '        echo "stretto: not complete: the job has measured nothing in its time and'
            " does not go into the queue again; what stands above may say why, and a longer"
            ' time may help: stretto campaign submit --time"',
            "    else",
            '        echo "stretto: not complete: the job goes into the queue again"',
            '        env -u SLURM_CLUSTERS scontrol requeue "$me"',
            "    fi",
            "fi",
            'exit "$code"',
            "",
        ]
    )


def _directives(request: Request, file: Path, job: SlurmJob) -> list[str]:
    nodes = max(x.nodes for x in request.layouts)
    ppn = max(x.ppn for x in request.layouts)
    out, log = request.out.absolute(), "A_%a" if job.jobs > 1 else "j"
    head = [
        "#!/bin/bash",
        f"#SBATCH --job-name=stretto-{re.sub(r'[^A-Za-z0-9_.-]', '-', file.stem)}",
        f"#SBATCH --nodes={nodes}",
        f"#SBATCH --ntasks-per-node={ppn}",
        "#SBATCH --cpus-per-task=1",
        "#SBATCH --hint=nomultithread",
        "#SBATCH --exclusive",
        f"#SBATCH --time={job.time.strip()}",
        "#SBATCH --requeue",
        "#SBATCH --open-mode=append",
        f"#SBATCH --signal=B:USR1@{WARNING_S}",
        f"#SBATCH --output={shlex.quote(f'{out}/slurm-%{log}.log')}",
    ]
    if job.jobs > 1:
        head.append(f"#SBATCH --array=1-{job.jobs}")
    if _all_named(request, job) and not names_nodes(job.options):
        head.append(f"#SBATCH --nodelist={','.join(request.hosts)}")
    head += [f"#SBATCH {option}" for option in job.options]
    return head


def _measured(out: Path) -> tuple[str, ...]:
    """Return a shell function that counts what there is in a campaign's directory."""
    files = f"{shlex.quote(str(out))}/*/*/*/*.bench.jsonl"
    return (
        "measured() {  # by whichever job",
        f"""    cat {files} 2>/dev/null | grep -acE '"type": *"(sample|excluded)"'""",
        "}",
    )


def sbatch_time(text: str) -> str:
    """Return a time as sbatch takes it; one like ``90s``, ``10m`` or ``1h`` is put into its form.

    `text`: as typed. A number alone is minutes, as sbatch has it.
    """
    if not re.fullmatch(r"\s*\d+(\.\d+)?\s*(s|m|min|h)\s*", text):
        return text
    whole = math.ceil(parse_duration(text, "--time"))
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def cost_lines(request: Request, say: Callable[[str], None]) -> list[str]:
    out, needed_s = [], 0.0
    for name in request.mpis or (None,):
        try:
            system = system_of(request, name, say, ask_nodes=False, away=True)
            out += plan_lines(request, system)
            needed_s += system.ahead_s
        except UsageError:
            raise
        except StrettoError as error:  # the nodes may have what the login node lacks
            if name is not None and _no_mpi(name):
                raise
            out.append(f"warning: the cost is not known here: {error}")
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
            "there is no sbatch here",
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
            "write hosts as Slurm calls its nodes (sinfo -N), or leave them out"
            if "node name" in said.lower()
            else "give what it misses: --sbatch '--partition=NAME', say, or correct --time",
        )
    return done.stdout.strip().split(";")[0]

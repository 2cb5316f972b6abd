"""Where ranks are put: every rank of a layout says its host before anything is measured."""

from __future__ import annotations

import shlex
import tempfile
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.campaign.layout import Layout
from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.files.identity import cpu_model
from stretto.launch.ask import BROKEN_PIPE
from stretto.launch.said import telling
from stretto.measure import process
from stretto.measure.commandline import Starter
from stretto.mpi.base import MPIInstallation

#: s: a start of so small a program that takes longer will not come any more
LIMIT_S = 60.0
SHELL = "/bin/sh"
#: run on every rank, without MPI: its number, its host, the host's processors and what they are, in
#: one short line: launchers mix the output of ranks where it is longer than what a pipe takes at
#: once. The rank's affinity does not count: it may be bound to one core. Hardware threads of one
#: core have the same list of siblings; those that are off have none.
#: A launcher that starts its proxies by srun hands their numbers of Slurm's on, and its own count.
PROBE = """
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-${SLURM_PROCID:-0}}}}
cpu=$(grep -m 3 -E '^(cpu family|model|model name|Model|cpu|uarch)[[:space:]]*:' /proc/cpuinfo)
[ -n "$cpu" ] || cpu=$(grep -m 2 -E '^CPU (implementer|part)[[:space:]]*:' /proc/cpuinfo)
threads=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 0)
cores=$(cat /sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list 2>/dev/null |
    sort -u | grep -c .)
[ "$cores" -gt 0 ] || cores=$threads
cpu=$(printf %s "$cpu" | tr '\n\t' '; ')
echo "stretto-rank $rank $(hostname) $cores $threads $cpu stretto-end"
"""
#: of a step around the launcher (`srun --pty bash`): no rank's number here
_AROUND = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
#: the same, but an mpirun fails that finds PMIX_NAMESPACE without it; its ranks have another first
_AROUND_SRUN = (*_AROUND, "PMIX_RANK")


@dataclass(frozen=True)
class RankPlace:
    """One rank: its host, that host's processor, its cores and threads (0: it does not say)."""

    rank: int
    host: str
    cpu: str
    cores: int = 0
    threads: int = 0


class StartError(StrettoError):
    """Ranks do not come up."""

    def __init__(self, message: str, reason: str, place: str, remedy: str) -> None:
        super().__init__(f"{message}: {reason}", place, remedy)
        self.reason = reason


class HangError(StrettoError):
    """The launcher did not come back."""


def probe(
    installation: MPIInstallation,
    layout: Layout,
    hosts: Sequence[str],
    start: Starter | None,
    oversubscribe: bool = False,
    limit_s: float = LIMIT_S,
) -> list[RankPlace]:
    """Start a line of shell on every rank of a layout and return what each says."""
    program = [SHELL, "-c", PROBE]
    if start is not None:
        command, environ = start(program, {})
    else:
        command, environ = installation.launch(
            layout.nranks, program, ppn=layout.ppn, hosts=hosts, oversubscribe=oversubscribe
        )
    around = _AROUND if start is None else _AROUND_SRUN
    environ = {k: v for k, v in environ.items() if k not in around}
    ended, said = _start(command, environ, limit_s)
    places = _parse(said)
    if ended.status in BROKEN_PIPE and len(places) != layout.nranks and not ended.stopped:
        ended, said = _start(command, environ, limit_s)
        places = _parse(said)
    if ended.stopped:
        raise HangError(
            f"the start of {counted(layout.nranks, 'rank')} did not end within {limit_s:.0f} s",
            _start_words(command),
            hang_remedy(command),
        )
    if ended.status not in (0, *BROKEN_PIPE) or len(places) != layout.nranks:
        words = telling("\n".join(x for x in said.splitlines() if "stretto-rank" not in x))
        raise StartError(
            f"{layout.words} ranks cannot be started (exit code {ended.status}, {len(places)} of "
            f"{counted(layout.nranks, 'rank')} answered)",
            words or "no reason was given",
            _start_words(command),
            "start a small MPI program in the same way; `stretto check` tests the launcher",
        )
    return places


def one_by_one(
    ask: Callable[[Sequence[str]], list[RankPlace]], names: Sequence[str]
) -> tuple[dict[str, RankPlace], dict[str, StrettoError]]:
    """Ask nodes one after the other; return those that answer, and why the others do not.

    After two silent ones at the beginning the others are not asked: it is hardly the nodes.
    """
    found: dict[str, RankPlace] = {}
    lost: dict[str, StrettoError] = {}
    for name in names:
        try:
            (found[name],) = ask([name])
        except StrettoError as error:
            lost[name] = error
        if list(lost) == list(names[:2]):
            break
    return found, lost


def _start(
    command: Sequence[str], environ: Mapping[str, str], limit_s: float
) -> tuple[process.Ended, str]:
    with tempfile.TemporaryDirectory(prefix="stretto-places.") as directory:
        log = Path(directory) / "log"
        looked = process.Looked()
        ended = process.run(command, environ, log, lambda: looked.look() > limit_s)
        return ended, log.read_text("utf-8", "replace")


def _start_words(command: Sequence[str]) -> str:
    end = command.index(SHELL) if SHELL in command else len(command)
    return textwrap.shorten(shlex.join(command[:end]), 200, placeholder=" ...")


def by_srun(command: Sequence[str]) -> bool:
    return bool(command) and command[0].rpartition("/")[2] == "srun"


def hang_remedy(command: Sequence[str]) -> str:
    if by_srun(command):
        return (
            "a direct srun hangs where Slurm's MPI plugin does not fit the MPI, or where an "
            "enclosing step already uses the cores: set launcher = 'mpirun' (two steps: sbatch or "
            "salloc, then mpirun inside), or another mpi_type (srun --mpi=list names them)"
        )
    return (
        "log in to each node once without a password (ssh NODE true), and name the network that "
        "the nodes share (`stretto check` lists the interfaces)"
    )


def _parse(said: str) -> list[RankPlace]:
    out = {}
    for line in said.splitlines():
        text, whole, _ = line.partition("stretto-rank ")[2].rpartition(" stretto-end")
        words = text.split(" ", 4) if whole else []
        if len(words) == 5 and words[0].isdecimal():
            cpu = cpu_model("\n".join(words[4].split(";")))
            cores, threads = (int(w) if w.isdecimal() else 0 for w in words[2:4])
            out[int(words[0])] = RankPlace(
                int(words[0]), words[1].split(".")[0], cpu, cores, threads
            )
    return [out[k] for k in sorted(out)]


def check_places(places: Sequence[RankPlace], layout: Layout) -> str:
    """Return the nodes' processor, or refuse ranks that are not where the layout says.

    Ranks fill node after node: the first half of the ranks of two nodes is on the first, which
    pairs of ranks across nodes need, and which every hierarchical algorithm profits from.
    """
    hosts = [p.host for p in places]
    blocks = [hosts[i : i + layout.ppn] for i in range(0, len(hosts), layout.ppn)]
    good = len(blocks) == layout.nodes == len(set(hosts)) and all(len(set(b)) == 1 for b in blocks)
    if not good:
        raise StrettoError(
            f"the ranks of {layout.words} (nodes x ranks) are on these hosts: {' '.join(hosts)}",
            "placement",
            "the launcher must fill one node after another: remove a mapping policy from its "
            "environment (OMPI_MCA_rmaps_*, I_MPI_PERHOST, SLURM_DISTRIBUTION)",
        )
    cpus = sorted({p.cpu for p in places})
    if len(cpus) > 1:
        where = {c: next(p.host for p in places if p.cpu == c) for c in cpus}
        raise StrettoError(
            "the nodes are of different kinds: " + ", ".join(f"{where[c]}: {c}" for c in cpus),
            layout.words,
            "measure each kind separately (--hosts, or sbatch --constraint)",
        )
    return cpus[0]

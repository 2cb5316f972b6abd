"""The nodes of a campaign: named, or those of the Slurm allocation; and how ranks start on them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from stretto.campaign.backend import Launches
from stretto.campaign.layout import Layout
from stretto.campaign.placement import RankPlace, StartError, one_by_one, probe
from stretto.campaign.request import Request
from stretto.campaign.slurm import (
    cores_of_job,
    cpus_of_job,
    find_mpi_type,
    srun_starter,
)
from stretto.errors import StrettoError
from stretto.measure.commandline import Starter
from stretto.measure.idle import cores, threads
from stretto.measure.names import allocated
from stretto.mpi.base import MPIInstallation


@dataclass(frozen=True)
class Hosts:
    """Nodes of one kind.

    `names`: empty for this machine alone.
    `cpu`: their processor; None where nobody asked.
    `mpi_type`: for ``srun --mpi=``; None: srun does not start the ranks.
    `cores`: physical ones that ranks may use on each of them; None where nobody knows.
    `threads`: their hardware threads; None where nobody knows.
    `nodes`: what each of them calls itself; empty where nobody asked.
    """

    names: tuple[str, ...]
    cpu: str | None
    mpi_type: str | None = None
    cores: int | None = None
    threads: int | None = None
    nodes: tuple[str, ...] = field(default=(), compare=False)

    def shared_by(self, layout: Layout) -> bool:
        """Return whether a layout has more ranks on a node than cores, as far as is known."""
        return self.cores is not None and layout.ppn > self.cores


def named_here(names: tuple[str, ...], say: Callable[[str], None]) -> tuple[str, ...]:
    """Return the nodes that the user named, inside a Slurm job those of them that it has.

    An array of jobs on one campaign would otherwise measure on the same nodes all at once.
    """
    have = {name.split(".")[0] for name in allocated(os.environ)}
    kept = tuple(n for n in names if n.split(".")[0] in have) if have else names
    if names and not kept:
        raise StrettoError(
            "none of the named nodes belongs to this Slurm job",
            ", ".join(names[:8]),
            "leave out hosts to use the nodes of the job, or request these: sbatch --nodelist",
        )
    if len(kept) < len(names):
        lost = ", ".join(n for n in names if n not in kept)
        say(f"stretto: warning: {lost} left out: not in this Slurm job")
    return kept


def wanted(request: Request, say: Callable[[str], None]) -> tuple[str, ...]:
    """Return the nodes of a campaign as far as this process may have them; empty: this machine."""
    return named_here(request.hosts, say) or allocated(os.environ)


def find_hosts(
    request: Request,
    installation: MPIInstallation,
    say: Callable[[str], None],
    ask_nodes: bool,
    away: bool = False,
) -> Hosts:
    """Return the nodes to measure on: all of one kind, those of another kind left out and named."""
    names = wanted(request, say)
    by_srun = request.launcher == "srun" or (
        request.launcher == "auto" and installation.launcher is None
    )
    inside = bool(os.environ.get("SLURM_JOB_ID"))
    away = away or (by_srun and not inside)
    if away and not ask_nodes:  # a plan, made on a login node
        return Hosts(names, None)
    if by_srun and not inside:
        raise StrettoError(
            "srun needs a Slurm allocation, but there is none here",
            "launcher",
            "submit it (stretto campaign submit FILE), or run it inside salloc",
        )
    mpi_type = (request.mpi_type or find_mpi_type(installation)) if by_srun else None
    if not names:
        return Hosts((), None, mpi_type, cores(), threads())
    mine = cores_of_job(os.environ) if inside else None
    lent = cpus_of_job(os.environ) if inside else None
    if not ask_nodes:
        return Hosts(names, None, mpi_type, mine, lent)
    starter = srun_starter(mpi_type) if mpi_type else None
    have = _answering(installation, names, starter, say)
    kinds: dict[str, list[str]] = defaultdict(list)
    for name, place in have.items():
        kinds[place.cpu].append(name)
    cpu = max(kinds, key=lambda c: (len(kinds[c]), c))
    for other in sorted(set(kinds) - {cpu}):
        say(
            f"stretto: warning: {', '.join(kinds[other])} left out: {other}, but the others are "
            f"{cpu}; kinds of nodes cannot be mixed"
        )
    of = [have[name] for name in kinds[cpu]]
    known = [n for n in (mine or 0, *(p.cores for p in of)) if n > 0]
    # a job has no more hardware threads to put ranks on than Slurm counts, cores or threads
    most = [n for n in (lent or 0, *(p.threads for p in of)) if n > 0]
    return Hosts(
        tuple(kinds[cpu]), cpu, mpi_type, min(known, default=None), min(most, default=None),
        tuple(p.host for p in of),
    )  # fmt: skip


def _answering(
    installation: MPIInstallation,
    names: Sequence[str],
    starter: Callable[[Layout, Sequence[str]], Starter] | None,
    say: Callable[[str], None],
) -> dict[str, RankPlace]:
    """Return what each node says of itself; those that do not answer are named and left out."""

    def ask(hosts: Sequence[str]) -> list[RankPlace]:
        layout = Layout(len(hosts), 1)
        start = starter(layout, hosts) if starter is not None else None
        return probe(installation, layout, hosts, start)

    try:
        found = dict(zip(names, ask(names), strict=True))
        if len({place.host for place in found.values()}) == len(names):
            return found
    except StrettoError as error:
        if len(names) == 1:
            raise _silent(names, error) from error
    # two names of one node, a launcher that puts two ranks there, or a silent one: each by itself
    found, lost = one_by_one(ask, names)
    if not found:
        raise _silent(list(lost), next(reversed(lost.values())))
    for name, why in lost.items():
        words = why.reason if isinstance(why, StartError) else why.message
        say(f"stretto: warning: {name} is left out, because it cannot start programs: {words}")
    by_host: dict[str, str] = {}
    for name, place in found.items():
        other = by_host.setdefault(place.host, name)
        if other != name:
            raise StrettoError(
                f"{other} and {name} are the same node: both have the host name {place.host}",
                "hosts",
                "name each node once; ppn (--ppn) sets its number of ranks",
            )
    return found


def _silent(names: Sequence[str], error: StrettoError) -> StrettoError:
    words = f"{' and '.join(names)} cannot start programs"
    if not isinstance(error, StartError):
        return StrettoError(f"{words}: {error.message}", error.place, error.remedy)
    return StrettoError(
        f"{words}: {error.reason}",
        error.place,
        "check the names of the nodes (hosts, --hosts), and run hostname on one with the "
        "launcher; `stretto check` tests the launcher",
    )


def make_backend(
    request: Request,
    installation: MPIInstallation,
    hosts: Hosts,
    say: Callable[[str], None],
) -> Launches:
    start = srun_starter(hosts.mpi_type) if hosts.mpi_type else None
    return Launches(installation, hosts.names, say, start, request.out)

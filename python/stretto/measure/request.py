"""What the user asked for: where a campaign runs, with what; and its announcement."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stretto.built import library
from stretto.counted import counted, duration, node_hours, sized
from stretto.errors import Interrupted, UsageError
from stretto.files.bench import BLOCKING
from stretto.measure.baseline import with_bare
from stretto.measure.candidates import (
    asked,
    default_candidates,
    refuse_unknown,
    unlisted,
)
from stretto.measure.idle import cores, crowd_words, idle_warning, threads
from stretto.measure.ledger import time_left
from stretto.measure.names import allocated, read_names
from stretto.measure.settings import (
    EXTRA,
    REDUCTIONS,
    ROOTED,
    Case,
    Settings,
    make_case,
    mpi_name,
)
from stretto.measure.variants import variant_for
from stretto.mpi.algorithms.base import PREFIX
from stretto.mpi.base import MPIInstallation
from stretto.mpi.detect import find_installation

#: up to this long nobody is asked (s)
ASK_ABOVE_S = 120.0


@dataclass(frozen=True)
class Where:
    """MPI, ranks and nodes of a campaign; `each` is the number of ranks on a node."""

    installation: MPIInstallation
    nranks: int
    nodes: int
    each: int
    ppn: int | None
    hosts: tuple[str, ...]

    @property
    def oversubscribed(self) -> bool:
        """More ranks than cores, of which hyperthreads are none."""
        return self.nranks > cores() * self.nodes


def where(nranks: int, ppn: int | None, hosts: str | None, mpi: str | None) -> Where:
    installation = find_installation(mpi)
    names = read_names([hosts], "--hosts") if hosts else ()
    job = _nodes_of_job(names)
    if len(job) > 1 and not names and ppn is None and nranks > 1:
        raise UsageError(
            f"this Slurm job has {len(job)} nodes, and --ppn does not say how many ranks each gets",
            "--ppn",
            f"use --ppn {-(-nranks // len(job))} for ranks on all nodes, --ppn {nranks} for one",
        )
    nodes = len(names) or (max(1, -(-nranks // ppn)) if ppn else 1)
    each = min(ppn, nranks) if ppn else -(-nranks // nodes)
    have = len(names or job)
    if ppn and have:
        nodes = -(-nranks // ppn)  # they are filled one after another
        if nodes > have:
            raise UsageError(
                f"{counted(nranks, 'rank')} with --ppn {ppn} need {nodes} nodes, and "
                f"{'--hosts names' if names else 'this Slurm job has'} {have}",
                "--ppn",
                f"use {nodes} nodes, or -n {have * ppn}, or --ppn {-(-nranks // have)}",
            )
    return Where(installation, nranks, nodes, each, ppn, names)


def _nodes_of_job(names: Sequence[str]) -> Sequence[str]:
    """Return the nodes of the Slurm job; refuse others: its launchers start nothing there."""
    found = allocated(os.environ)
    have = {x.split(".")[0] for x in found}
    strangers = [x for x in names if x.split(".")[0] not in have] if found else []
    if strangers:
        raise UsageError(
            f"{', '.join(strangers[:8])} not in this Slurm job, which has "
            f"{os.environ.get('SLURM_JOB_NODELIST')}",
            "--hosts",
            "name nodes of the job, or leave out --hosts and set --ppn",
        )
    return found


def split_candidates(text: str) -> list[str]:
    """Split candidates at semicolons, or at commas where there is none.

    What has commas of its own, ``native:A=1,B=2`` or ``bruck_k(8,2)``, needs the semicolons.
    """
    if ";" in text:
        return [c.strip() for c in text.split(";") if c.strip()]
    parts = [c.strip() for c in text.split(",") if c.strip()]
    for part in parts:
        if part.count("(") != part.count(")") or ("=" in part and not part.startswith(PREFIX)):
            raise UsageError(
                f"{part!r} is only a part of a candidate: its comma was read as a separator",
                "--candidates",
                "separate candidates by ';', and write one after a single candidate: "
                "--candidates 'native:A=1,B=2;'",
            )
    return parts


@dataclass(frozen=True)
class Shapes:
    """The calls that are measured on one layout.

    `candidates`: as the user named them; None: all that fit. `bare`: also where they are named, the
    bare MPI is measured where it decides. `patterns`: by collective, as `measure.blocks` has them.
    """

    collectives: Sequence[str]
    sizes: Sequence[int]
    candidates: list[str] | None = None
    datatype: str | None = None
    operation: str = "MPI_SUM"
    root: int = 0
    patterns: Mapping[str, str] = field(default_factory=dict)
    bare: bool = False

    def cases(self, place: Where, say: Callable[[str], None]) -> list[Case]:
        """Return the cases with their candidates; refuse what cannot be measured there."""
        installation, given = place.installation, self.candidates
        library("bench", installation.abi)
        refuse_unknown(self.collectives, given or [])
        for sentence in unlisted(installation, given or []):
            say(f"stretto: warning: {sentence}")
        kind = None if self.datatype is None else mpi_name(self.datatype)
        found = [
            make_case(
                c, size, self._candidates(place, c, size), kind,
                mpi_name(self.operation) if c in REDUCTIONS else None,
                self.root if c in ROOTED else 0, self.patterns.get(c, ""),
            )
            for c in self.collectives
            for size in ([0] if c == "barrier" else [8] if c == "self" else self.sizes)
        ]  # fmt: skip
        if any(variant_for(name) == "stretto" for case in found for name in case.candidates):
            library("interposer", installation.abi)
        return found

    def _candidates(self, place: Where, name: str, size: int) -> list[str]:
        installation, nranks, nodes = place.installation, place.nranks, place.nodes
        if self.candidates is None or name in EXTRA:
            return default_candidates(name, installation.abi, nodes, nranks, size)
        found = asked(self.candidates, installation, name, nranks, nodes)
        return with_bare(found, size, nodes) if self.bare else found


def planned(settings: Settings, path: Path, restart: bool) -> dict[str, Any]:
    return {
        "dry_run": True,
        "nranks": settings.nranks,
        "launches": settings.launches,
        "collectives": list(dict.fromkeys(c.collective for c in settings.cases)),
        "bytes": sorted({c.bytes for c in settings.cases}),
        "cost_s": round(time_left(settings, path, restart), 1),
        "file": str(path),
    }


def announce(
    settings: Settings,
    name: str,
    path: Path,
    say: Callable[[str], None],
    restart: bool = False,
    yes: bool = False,
    dry_run: bool = False,
) -> bool:
    collectives = list(dict.fromkeys(c.collective for c in settings.cases))
    sizes = sorted({c.bytes for c in settings.cases})
    most = max(len(c.candidates) for c in settings.cases)
    seconds = time_left(settings, path, restart)
    partly = ", for what is not in it yet" if seconds < settings.estimate_s() else ""
    say(
        f"stretto: {name}, {counted(settings.nranks, 'rank')}: {', '.join(collectives)}; "
        f"{counted(len(sizes), 'size')} ({sized(sizes[0])} to {sized(sizes[-1])}); up to "
        f"{counted(most, 'candidate')}; {counted(settings.launches, 'launch')}"
    )
    if settings.calls != BLOCKING:
        say(
            f"stretto: {settings.calls} calls: overlap with computation is not measured "
            "(see stretto diagnose and bench/nonblocking.py)"
        )
    nodes = len(settings.hosts) or -(-settings.nranks // (settings.ppn or settings.nranks))
    held = f", {node_hours(seconds, nodes)}" if nodes > 1 else ""
    say(
        f"stretto: cost: about {duration(seconds)}{held}{partly}; results are appended to {path} "
        "(Ctrl-C keeps them)"
    )
    if settings.launches < 6:
        say(
            "stretto: warning: with fewer than 6 launches no test can be made, so nothing will be "
            "called faster or slower"
        )
    if settings.oversubscribed:
        each = settings.ppn or settings.nranks
        say(f"stretto: warning: {crowd_words(each, threads())}")
    if dry_run:
        say("stretto: dry run: nothing was measured")
        return False
    ask(seconds, yes or settings.budget_s is not None)
    warning = idle_warning()
    if warning:
        say(f"stretto: warning: {warning}")
    return True


def ask(seconds: float, agreed: bool) -> None:
    """Ask on a terminal whether to go on; elsewhere the announced cost has to do.

    `agreed`: the user has said so already, by ``--yes`` or by a budget.
    """
    if agreed or seconds <= ASK_ABOVE_S or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    print("stretto: continue? [Y/n] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("", "y", "yes"):
        raise Interrupted("nothing was measured; --budget limits the time, for example --budget 5m")

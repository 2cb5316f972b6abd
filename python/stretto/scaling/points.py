"""Where the command is run: the points that the options mean, and the line of each."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.counted import counted
from stretto.errors import StrettoError, UsageError
from stretto.launch.command import parse_command
from stretto.launch.job import Job, understand
from stretto.launch.layout import find_layout
from stretto.launch.resize import RunPoint, has_placeholders, resize
from stretto.measure.settings import parse_counts
from stretto.mpi.detect import which

#: as a shell writes its variables, with the names of what is filled in
_SHELLS = re.compile(r"\$\{(n|nodes|ppn|threads)\}")


@dataclass(frozen=True)
class PointCommand:
    """What runs at one point.

    `words`: the command, as it would be typed for this point.
    """

    words: tuple[str, ...]
    job: Job

    @property
    def shows_ranks(self) -> bool:
        """Whether the line has its number of ranks; a script has not."""
        return self.job.command.launcher is not None and self.job.layout.nranks is not None


def points_of(
    words: list[str], ranks: str | None, nodes: str | None, ppn: str | None, threads: str | None
) -> list[RunPoint]:
    """Return the points that the options mean; without any: doubling up to CMD's own ranks."""
    _refuse_shells(words)
    if ranks is not None and (nodes is not None or ppn is not None):
        raise UsageError("--ranks means one node", "--ranks", "give --nodes and --ppn instead")
    each: list[int | None] = [None]
    if threads is not None:
        each = [*parse_counts(threads, "--threads")]
    if ranks is None and nodes is None and ppn is None:
        missing = UsageError(
            "the number of ranks is missing", "--ranks", "give --ranks 1,2,4, or --nodes and --ppn"
        )
        if has_placeholders(words):
            raise missing
        own = find_layout(parse_command(words, os.environ, Path.cwd()), os.environ)
        if own.nranks is None or own.nodes is None or own.ppn is None:
            raise missing
        return _doubling(own.nodes, own.ppn, each)
    on = parse_counts(nodes, "--nodes") if nodes is not None else [1]
    if ranks is not None:
        per = parse_counts(ranks, "--ranks")
    elif ppn is not None:
        per = parse_counts(ppn, "--ppn")
    else:
        raise UsageError("--nodes needs --ppn, the ranks on each node", "--ppn", "add --ppn 36")
    if threads is not None and len(each) == len(per) > 1:
        shapes = list(zip(per, each, strict=True))  # ranks x threads that fill a node alike
    else:
        shapes = list(itertools.product(per, each))
    return sorted(
        {RunPoint(n, p, t) for n in on for p, t in shapes}, key=lambda q: (q.cores, str(q))
    )


def _refuse_shells(words: list[str]) -> None:
    """Refuse a script's arguments in which the shell's ``${n}`` stands for Stretto's ``{n}``."""
    found = next((m for w in words if (m := _SHELLS.search(w))), None)
    if found is None or has_placeholders(words):
        return
    if parse_command(words, os.environ, Path.cwd()).launcher is None:
        raise UsageError(
            f"{found[0]} is a shell variable, which Stretto does not change",
            shlex.join(words),
            f"write {found[0].removeprefix('$')} for a number that Stretto fills in",
        )


def _doubling(nodes: int, ppn: int, threads: list[int | None]) -> list[RunPoint]:
    def up_to(most: int) -> list[int]:
        return [*(1 << i for i in range(most.bit_length()) if 1 << i < most), most]

    shapes = [(1, p) for p in up_to(ppn)] if nodes == 1 else [(n, ppn) for n in up_to(nodes)]
    return list(dict.fromkeys(RunPoint(n, p, t) for n, p in shapes for t in threads))


def lines_of(
    words: Sequence[str],
    points: Sequence[RunPoint],
    environ: Mapping[str, str],
    cores: int | None,
    mpi: str | None,
) -> dict[RunPoint, PointCommand]:
    """Return what runs at each point; refuse what would not run there.

    Where the command starts several programs (``A : B``), a point is what its line says: the
    numbers that are filled in are of some of them only.
    """
    out: dict[RunPoint, PointCommand] = {}
    made: dict[tuple[tuple[str, ...], int | None], RunPoint] = {}
    for asked in points:
        line = tuple(resize(words, asked, environ, Path.cwd(), cores))
        job = understand(line, mpi=mpi)
        several = len(job.command.applications) > 1
        point = _of_several(job, asked) if several else _fitting(job, asked)
        other = made.setdefault((line, asked.threads), asked)
        if other != asked or point in out:
            raise UsageError(
                f"the same command would run for {other.words} and {asked.words} "
                f"(nodes x ranks): {shlex.join(line)}",
                "--ranks",
                "mark the numbers that differ in the command: {n} for ranks, {nodes} for nodes, "
                "{ppn} for ranks per node",
            )
        out[point] = PointCommand(line, job)
    return out


def _of_several(job: Job, point: RunPoint) -> RunPoint:
    if job.layout.nranks is None or job.layout.nodes != 1 or point.nodes != 1:
        raise UsageError(
            "several programs are started (A : B), so the ranks per node are "
            "unknown", shlex.join(job.command.words),
            "measure it on one node (--ranks), or start one program",
        )  # fmt: skip
    return RunPoint(1, job.layout.nranks, point.threads)


def _fitting(job: Job, point: RunPoint) -> RunPoint:
    if job.command.launcher is None:
        return point
    if job.layout.nranks is not None and job.layout.nranks != point.nranks:
        raise StrettoError(
            f"this would run on {counted(job.layout.nranks, 'rank')}, not on {point.nranks}",
            shlex.join(job.command.words),
            "mark the numbers in the command with {n}, {nodes} and {ppn}",
        )
    # Hydra puts any number of ranks on the nodes that it has: a point would be another one's.
    if job.layout.nodes is not None and job.layout.nodes != point.nodes:
        raise StrettoError(
            f"this would run on {counted(job.layout.nodes, 'node')}, not on {point.nodes}",
            shlex.join(job.command.words),
            f"name the hosts of {counted(point.nodes, 'node')} in the command, or ask for fewer "
            "(--nodes)",
        )
    return point


def missing_program(job: Job) -> str | None:
    """Return the program that a command would start and that is not here, None where all are.

    `job`: one whose ranks start in another directory (``-wdir``, ``--chdir``) is not judged.
    """
    command = job.command
    if command.values("wdir", "wd", "chdir", "D"):
        return None
    environ = {**job.environ, **command.assignments}
    named = [command.words[a.program] for a in command.applications if a.program is not None]
    # Open MPI's mpirun takes a name without a slash from the working directory, too
    return next(
        (w for w in named if not (which(w, environ, job.cwd) or which(f"./{w}", environ, job.cwd))),
        None,
    )

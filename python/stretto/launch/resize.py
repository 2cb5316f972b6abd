"""The user's command on another number of nodes, ranks and threads."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.counted import counted
from stretto.errors import UsageError
from stretto.launch.command import Command, Option, parse_command
from stretto.launch.layout import find_layout

#: behind a dollar it is the shell's variable of that name
_PLACEHOLDER = re.compile(r"(?<!\$)\{(n|nodes|ppn|threads)\}")
_RANKS = ("n", "np", "c")
_MAPPING = re.compile(r"(?P<policy>ppr:\d+:\w+|[a-z0-9]*)(?P<rest>(?::.*)?)\Z", re.IGNORECASE)


@functools.total_ordering
@dataclass(frozen=True)
class RunPoint:
    """Where a command runs: so many nodes, ranks on each, and OpenMP threads of each rank.

    `threads`: None: as the command's environment says; such a point stands before others.
    """

    nodes: int
    ppn: int
    threads: int | None = None

    def __lt__(self, other: RunPoint) -> bool:
        """Stand before another one; results may hold points with threads and without."""
        mine, theirs = ((p.nodes, p.ppn, p.threads or 0) for p in (self, other))
        return mine < theirs

    @property
    def nranks(self) -> int:
        return self.nodes * self.ppn

    @property
    def cores(self) -> int:
        """Cores that it is meant to use: a thread each."""
        return self.nranks * (self.threads or 1)

    @property
    def words(self) -> str:
        text = f"{self.nodes} x {self.ppn}"
        return text if self.threads is None else f"{text} x {counted(self.threads, 'thread')}"


def resize(
    words: Sequence[str],
    point: RunPoint,
    environ: Mapping[str, str],
    cwd: Path,
    cores: int | None = None,
) -> list[str]:
    """Return a command as it is typed for another point.

    Where ``{n}``, ``{nodes}``, ``{ppn}`` or ``{threads}`` stand in it, these are filled in and
    nothing else is changed (a script that calls the launcher itself takes them as arguments);
    ``${n}`` is the shell's.
    Otherwise the launcher's own options are set: the number of ranks, ranks per node where there
    are several nodes to choose from, and cores per rank where threads are asked for and the user
    binds nothing by himself.

    `point`: where it is to run. `cores`: of a node, where that is known: ranks are bound to several
    cores only where these suffice.
    """
    if has_placeholders(words):
        return [_filled(w, point) for w in words]
    command = parse_command(words, environ, cwd)
    if command.launcher_at is None or command.kind is None:
        raise UsageError(
            "this command shows no launcher, so Stretto cannot set its number of ranks",
            " ".join(words),
            "mark the numbers in the command: -- ./job.sh {n} (also {nodes}, {ppn}, {threads})",
        )
    if len(command.applications) != 1:
        raise UsageError(
            "several programs are started (A : B), so Stretto cannot change their number of ranks",
            " ".join(words),
            "mark the numbers in the command: mpirun -n {n} ./a : -n 1 ./b (one node)",
        )
    change = _Change(command, point)
    several = len(find_layout(command, environ, cwd).hosts) > 1
    several |= environ.get("SLURM_JOB_NUM_NODES", "1") != "1" or point.nodes > 1
    if command.kind == "slurm":
        change.set(("n", "ntasks"), str(point.nranks), "-n")
        change.set(("N", "nodes"), str(point.nodes), "-N")
        change.set(("ntasks-per-node", "tasks-per-node"), str(point.ppn), "--ntasks-per-node")
        if point.threads is not None:
            change.set(("c", "cpus-per-task"), str(point.threads), "-c")
        return change.done()
    change.set(_RANKS, str(point.nranks), "-n")
    if command.kind == "openmpi":
        _openmpi(change, several, cores)
    elif several or command.values("ppn", "perhost"):
        change.set(("ppn", "perhost"), str(point.ppn), "-ppn")
    return change.done()


def has_placeholders(words: Sequence[str]) -> bool:
    return any(_PLACEHOLDER.search(w) for w in words)


def _filled(word: str, point: RunPoint) -> str:
    values = {
        "n": point.nranks, "nodes": point.nodes, "ppn": point.ppn, "threads": point.threads or 1,
    }  # fmt: skip
    return _PLACEHOLDER.sub(lambda found: str(values[found[1]]), word)


class _Change:
    """Values of options that are replaced, and options that are put in."""

    def __init__(self, command: Command, point: RunPoint) -> None:
        self.command, self.point = command, point
        self.words = list(command.words)
        self.new: list[str] = []

    def option(self, *names: str) -> Option | None:
        """Return the last option of that name that has a value: it is the one that counts."""
        found = [o for o in self.command.options if o.name in names and o.values]
        return found[-1] if found else None

    def set(self, names: Sequence[str], value: str, name: str) -> None:
        """Replace the value of an option that is there, or put it in as `name`."""
        there = self.option(*names)
        if there is None:
            self.new += [name, value]
            return
        word = self.words[there.at]
        if "=" in word:
            self.words[there.at] = f"{word.partition('=')[0]}={value}"
        elif there.apart:
            self.words[there.at + 1] = value
        else:  # -n4, -ln4
            self.words[there.at] = word[: len(word) - len(there.values[0])] + value

    def done(self) -> list[str]:
        at = (self.command.launcher_at or 0) + 1
        return [*self.words[:at], *self.new, *self.words[at:]]


def _openmpi(change: _Change, several: bool, cores: int | None) -> None:
    """Set ranks per node and cores per rank in Open MPI's ways of saying it."""
    point = change.point
    per_node = change.option("N", "npernode")
    mapping = change.option("map-by")
    binding = change.option("bind-to")
    policy, rest = "", ""
    if mapping is not None:
        found = _MAPPING.match(mapping.values[0])
        if found is None:
            raise UsageError(
                f"--map-by {mapping.values[0]} is not understood", None,
                "mark the numbers in the command with {n}, {nodes}, {ppn} and {threads}",
            )  # fmt: skip
        policy, rest = found.group("policy"), found.group("rest")
    wide = point.threads is not None and point.threads > 1 and binding is None
    if wide and cores is not None and point.ppn * (point.threads or 1) > cores:
        change.set(("bind-to",), "none", "--bind-to")
        wide = False
    if re.search(r":pe=\d+", rest, re.IGNORECASE) and point.threads is not None:
        rest = re.sub(r"(?i):pe=\d+", f":pe={point.threads}", rest)
    elif wide and per_node is None:
        rest += f":pe={point.threads}"
    if per_node is not None:
        change.set((per_node.name,), str(point.ppn), "-N")
    elif several or policy.lower().startswith("ppr") or "pe=" in rest.lower():
        change.set(("map-by",), f"ppr:{point.ppn}:node{rest}", "--map-by")

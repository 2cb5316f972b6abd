"""What is known of one setting of an MPI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stretto.mpi.settings.names import NAMES
from stretto.mpi.settings.nodes import Nodes


@dataclass(frozen=True)
class Setting:
    """One value of one thing that can be set, applied by the environment of the whole job.

    `words`: options of the launcher that say the same thing, without dashes: where the user's
    command has one of them, it would win, and the setting is not tried.
    """

    name: str
    what: str
    environment: tuple[tuple[str, str], ...]
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Around:
    """What of a job decides which settings can matter.

    `found`: what its nodes have; None where they were not asked. `srun`: Slurm's srun starts the
    ranks, and places them: variables of mpirun's do nothing.
    """

    found: Nodes | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    srun: bool = False

    @property
    def interfaces(self) -> tuple[str, ...]:
        """The interfaces that all nodes share, where there is a choice."""
        names = tuple(self.found.interfaces) if self.found is not None else ()
        return names if len(names) > 1 else ()

    @property
    def ports(self) -> tuple[str, ...]:
        """The RDMA ports that all nodes share, where there is a choice."""
        names = self.found.ports if self.found is not None else ()
        return names if len(names) > 1 else ()

    @property
    def parts(self) -> bool:
        """Whether a node has more than one socket or NUMA domain, as far as is known."""
        return self.found is None or max(self.found.sockets, self.found.domains) > 1


@dataclass(frozen=True)
class Entry:
    """One line of a family's list: a variable, and the values that are worth trying.

    `variable`: as the MPI lists it (MPI_T), or by its alias there; None: it is the launcher's,
    which has no such list. `set_as`: the environment's name for it. `nodes`: it matters on several
    nodes only (True), on one node only (False), or everywhere (None). `besides`: more that must be
    set for it to mean anything. `many`: it matters only where a node has more than one
    rank.
    """

    variable: str | None
    set_as: str
    values: tuple[str, ...]
    what: str
    nodes: bool | None = None
    words: tuple[str, ...] = ()
    besides: tuple[tuple[str, str], ...] = ()
    many: bool = False

    def __post_init__(self) -> None:
        """Refuse what `stretto run` would not set: the list of names is the only door."""
        strange = {self.set_as, *(name for name, _ in self.besides)} - NAMES
        if strange:
            raise ValueError(f"not in stretto.mpi.settings.names: {sorted(strange)}")

    def settings(self) -> list[Setting]:
        label = self.variable or self.set_as
        return [
            Setting(f"{label}={v}", self._does(v), ((self.set_as, v), *self.besides), self.words)
            for v in self.values
        ]

    def _does(self, value: str) -> str:
        """Return what one value does, where the values have words of their own: ``X: off, on``."""
        what, _, words = self.what.partition(": ")
        each = words.split(", ")
        own = len(each) == len(self.values) > 1
        return f"{what}: {each[self.values.index(value)]}" if own else self.what

    def fits(self, nodes: int, ppn: int) -> bool:
        if self.many and ppn < 2:
            return False
        return self.nodes is None or self.nodes == (nodes > 1)


def parse(text: str, environment: Mapping[str, str]) -> Setting:
    """Return a setting as the user names it: ``NAME=VALUE,...``."""
    return Setting(text, "named by the user", tuple(environment.items()))


def without(settings: Sequence[Setting], options: Sequence[str]) -> tuple[list[Setting], list[str]]:
    """Leave out what options of the user's launcher have decided already.

    Returns the rest, and a sentence for each option that decided.
    """
    kept, notes = [], []
    for s in settings:
        names = {*s.words, s.name.partition("=")[0]}
        found = sorted(names & set(options))
        if found:
            notes.append(
                f"{found[0]} is set in the command and stays unchanged: {s.name} not tried"
            )
        else:
            kept.append(s)
    return kept, notes

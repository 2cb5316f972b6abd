"""What is known of one algorithm of an MPI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

#: how candidates begin that are settings of the MPI
PREFIX = "native:"
#: a candidate, and its launches: the MPI with all files and settings of an export
FILES = f"{PREFIX}files"


@dataclass(frozen=True)
class AlgorithmParameter:
    """A number or word that an algorithm takes.

    `name`: ``radix``, ``fanout``, ``segment`` (bytes), ``requests``, ``tree``. `values`: what a
    campaign tries, the native default among them or left out where it is unknown.
    """

    name: str
    variable: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class NativeAlgorithm:
    """One algorithm of an MPI for one collective.

    `name`: in the words of the MPI, in lower case: ``recursive_doubling``; ``7`` where it has no
    words. `value`: how the setting (and a rules file) name it: ``3``. `component`: the part of the
    MPI that has it: ``tuned``, ``han``, ``mpir``, ``posix``, ``preset``. `settings`: all that
    must be set to force it, by name. `exactly`: it works for exactly so many ranks; None: for any
    number. `nodes`: it is chosen only on communicators that span several nodes (True) or one
    (False). `shared`: it does something of its own only where a node has several of the ranks.
    """

    collective: str
    name: str
    value: str
    component: str
    settings: tuple[tuple[str, str], ...]
    parameters: tuple[AlgorithmParameter, ...] = ()
    exactly: int | None = None
    nodes: bool | None = None
    shared: bool = False
    chosen: tuple[tuple[str, str], ...] = ()

    @property
    def candidate(self) -> str:
        return PREFIX + ",".join(f"{name}={value}" for name, value in self.settings)

    @property
    def label(self) -> str:
        inside = ",".join(f"{name}={value}" for name, value in self.chosen)
        return f"{self.component} {self.name}" + (f"({inside})" if inside else "")

    def fits(self, nranks: int, nodes: int) -> bool:
        if self.exactly is not None and nranks != self.exactly:
            return False
        if self.shared and nranks <= nodes:
            return False
        return self.nodes is None or self.nodes == (nodes > 1)

    def having(self, values: Mapping[str, str]) -> NativeAlgorithm:
        """Return the algorithm with values for some of its parameters."""
        mine = [p for p in self.parameters if p.name in values]
        return replace(
            self,
            settings=self.settings + tuple((p.variable, values[p.name]) for p in mine),
            parameters=tuple(p for p in self.parameters if p.name not in values),
            chosen=self.chosen + tuple((p.name, values[p.name]) for p in mine),
        )

    def variations(self) -> list[NativeAlgorithm]:
        """Return it by itself and with each value of each parameter, one parameter at a time.

        All combinations would be too many to measure, and what one parameter is worth shows with
        the others at their defaults.
        """
        return [self] + [
            self.having({p.name: value}) for p in self.parameters for value in p.values
        ]

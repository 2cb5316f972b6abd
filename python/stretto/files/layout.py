"""How many ranks are on how many nodes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class RankLayout:
    """Nodes, ranks on a node (the most where they differ), ranks."""

    nodes: int
    ppn: int
    nranks: int

    @property
    def words(self) -> str:
        return f"{self.nranks} ranks on {self.nodes} x {self.ppn}"

    @property
    def slug(self) -> str:
        text = f"{self.nodes}x{self.ppn}"
        return text if self.nranks == self.nodes * self.ppn else f"{text}-{self.nranks}ranks"

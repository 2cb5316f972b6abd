"""How many ranks are on how many nodes."""

from __future__ import annotations

from dataclasses import dataclass

from stretto.counted import placed


@dataclass(frozen=True, order=True)
class RankLayout:
    """Nodes, ranks on a node (the most where they differ), ranks."""

    nodes: int
    ppn: int
    nranks: int

    @property
    def where(self) -> str:
        return placed(self.nranks, self.nodes, self.ppn)

    @property
    def explained(self) -> str:
        """As `where`, with what the two numbers are."""
        equal = self.nranks == self.nodes * self.ppn
        return f"{self.where} (nodes x ranks)" if equal else self.words

    @property
    def words(self) -> str:
        return f"{self.nranks} ranks on {self.where}"

    @property
    def slug(self) -> str:
        text = f"{self.nodes}x{self.ppn}"
        return text if self.nranks == self.nodes * self.ppn else f"{text}-{self.nranks}ranks"

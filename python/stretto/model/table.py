"""Tables by simulation: one for a cluster not yet rented, and what a given one is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from stretto.errors import UsageError
from stretto.files.rows import Table
from stretto.kinds import Family
from stretto.model.native import BASELINES, native_choice
from stretto.model.platform import Platform
from stretto.model.sweep import (
    CREATED,
    NATIVE,
    Answer,
    SimulatedCell,
    rows,
    seconds_of,
    simulate,
)
from stretto.version import __version__


def simulated_table(
    platform: Platform,
    nodes: Sequence[int],
    ppns: Sequence[int],
    collectives: Sequence[str],
    sizes: Sequence[int],
    family: Family,
    version: str,
    *,
    baseline: str = "openmpi",
    seed: int = 1,
    done: Callable[[SimulatedCell], None] = lambda cell: None,
) -> tuple[Table, list[Answer]]:
    """Make a table for a platform; every row's evidence says ``source=simulated``.

    Where the model has no decisions of the MPI, it also says whose stand for them
    (``baseline=openmpi``): the ratios are to these.
    """
    cells = [
        SimulatedCell(name, n, p, size)
        for name in collectives for n in nodes for p in ppns if n * p > 1
        for size in ([0] if name == "barrier" else sizes)
    ]  # fmt: skip
    if not cells:
        raise UsageError("there is nothing to price", "--nodes", "two ranks are the least")
    answers = list(simulate(cells, platform, baseline=baseline, seed=seed, wide=True, done=done))
    layouts = {(a.cell.nodes, a.cell.ppn) for a in answers}
    one = layouts.pop() if len(layouts) == 1 else (None, None)
    stands = {} if family in BASELINES else {"baseline": baseline}
    found = [replace(r, evidence={**r.evidence, **stands}) for r in rows(answers)]
    table = Table(
        family, version, one[0], one[1], CREATED, __version__, platform.name,
        f"simulated {platform.name}", found,
    )  # fmt: skip
    return table, answers


def priced_table(
    table: Table,
    platform: Platform,
    nodes: Sequence[int],
    ppns: Sequence[int],
    sizes: Sequence[int],
    baseline: str,
    seed: int,
    begun: Callable[[SimulatedCell, str], None] = lambda cell, choice: None,
) -> list[Answer]:
    """Price what a table chooses, beside native, wherever it has a row for the layout."""
    out: list[Answer] = []
    for name in dict.fromkeys(r.collective for r in table.rows):
        for p in ppns:
            for n in nodes:
                for size in [0] if name == "barrier" else sizes:
                    row = table.find(name, n, p, size)
                    if row is None or n * p < 2:
                        continue
                    cell = SimulatedCell(name, n, p, size)
                    native = native_choice(baseline, name, n * p, n, size)
                    begun(cell, row.choice)
                    times = {NATIVE: seconds_of(cell, native, platform, seed)}
                    chosen = NATIVE if row.choice.startswith(NATIVE) else row.choice
                    if chosen != NATIVE:
                        times[chosen] = seconds_of(cell, chosen, platform, seed)
                    out.append(Answer(cell, times, native, None, "", chosen))
    return out

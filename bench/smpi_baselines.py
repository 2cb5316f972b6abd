#!/usr/bin/env python3
"""Stretto's network plans against what Open MPI, MPICH, MVAPICH2 and Intel MPI would choose.

    python bench/smpi_baselines.py --cache FILE [--ranks 16,64,256] [--collectives allreduce,bcast]
                                   [--per-node 1,32] [--merge]

All run in SimGrid SMPI on one network, one or several ranks a node: SMPI's models of those MPIs'
selectors, and Stretto's real executor with the choice whose price is least. Where that is slower
than one of the four, the choices with the next prices are simulated, too, as tuning by measurement
would (`tried`, flat ones and those by nodes in turn); the choice by price alone stays in the
results. Two questions are asked, each with a choice of its own, as a table tuned for one or the
other has: one call that all ranks begin together (`timings`, ours first), and a call in the second
half of those made back to back (`steady`), where a root that need not wait is best off with few
messages of its own. With several ranks a node, our node phases take as long as a tree of messages
within the node would. Results are checked wherever the buffers fit into memory; a baseline with a
wrong result, and whatever SMPI does not finish within the limits, is left out and named. Written
are bench/results/smpi-baselines.{json,svg}; with `--merge` the cells that this run has nothing new
of stay there as they are.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from stretto.model.price import price
from stretto.plan import choices

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools" / "smpi"))
from cache import Simulations
from comparison import begin, case_of, run
from plain import NODES, PLATFORM
from smpi import SELECTORS, BeyondLimitError, Network, Result, SmpiError

COLLECTIVES = ("allreduce", "bcast", "allgather", "alltoall")
BYTES = (8, 4096, 1 << 20)
RANKS = (16, 64, 256, 1024)
OURS = "stretto"
SAME = 0.03  # of a difference that counts nowhere in Stretto
MANY_ROUNDS = 256  # ranks from which calls of P - 1 rounds are made twice; from 4 times that, once
MEMORY = 3.5e9  # bytes: more than elsewhere, so that more contents are checked
TRIED = 6  # choices by price that are simulated where the first is not fastest
BACK_TO_BACK = 8  # calls of which prices say what one takes after the others


@dataclass(frozen=True)
class Timing:
    """What one contender needs for one call; seconds."""

    contender: str
    choice: str
    alone_s: float
    steady_s: float
    checked: bool


@dataclass(frozen=True)
class Row:
    """All contenders for one call: ours first."""

    nranks: int
    ppn: int  # ranks a node
    collective: str
    bytes: int
    by_price: str  # the choice with the least price
    priced_s: float
    by_price_s: float | None  # what it took in the simulation; None: beyond the limits
    tried: int  # of our choices
    timings: list[Timing]
    steady: Timing  # ours where calls are made back to back
    left_out: list[str]
    date: str  # of the run that compared them

    @property
    def name(self) -> str:
        """Return what the cell is called."""
        return name_of(self.nranks, self.ppn, self.collective, self.bytes)

    def ratio(self, of: str) -> float:
        """Return the time of Stretto's choice for that question over the best other one's."""
        ours = self.timings[0].alone_s if of == "alone_s" else self.steady.steady_s
        others = [getattr(t, of) for t in self.timings[1:]]
        return ours / min(others) if others else float("nan")

    @property
    def by_price_ratio(self) -> float:
        """The same of one call of the choice by price alone; infinite: not simulated."""
        if self.by_price_s is None:
            return math.inf
        return self.ratio("alone_s") * self.by_price_s / self.timings[0].alone_s


def name_of(nranks: int, ppn: int, collective: str, nbytes: int) -> str:
    """Return what a cell is called."""
    nodes = "" if ppn == 1 else f" ({ppn} a node)"
    return f"{nranks}{nodes} {collective} {nbytes}"


def merged(
    rows: list[Row], missing: list[str], document: dict[str, Any]
) -> tuple[list[Row], list[str]]:
    """Return rows and what is missing with those of an earlier document.

    A cell of this run stands for the earlier one; one that it could not complete does not.
    """
    known = [
        Row(
            **{k: v for k, v in row.items() if k not in ("ratio", "ratio_steady")}
            | {"timings": [Timing(**t) for t in row["timings"]], "steady": Timing(**row["steady"])}
        )
        for row in document["rows"]
    ]
    new = {row.name for row in rows}
    rows = rows + [row for row in known if row.name not in new]
    names = {row.name for row in rows}
    again = {text.partition(":")[0]: text for text in [*document["not_simulated"], *missing]}
    return rows, [text for name, text in again.items() if name not in names]


def by_price(
    collective: str, nranks: int, ppn: int, nbytes: int, calls: int = 1
) -> list[tuple[float, str]]:
    """Return prices and choices, the least first; of those that price alike only the first.

    With several calls: prices of one of them back to back.
    """
    hosts = [rank // ppn for rank in range(nranks)]
    platform = PLATFORM if ppn == 1 else NODES
    offered = choices(collective, nranks, nranks // ppn)
    shorter = [c.replace("(16K)", "(8K)") for c in offered if "(16K)" in c]  # segments
    prices: dict[float, str] = {}
    for choice in [*offered, *shorter]:
        priced = price(collective, choice, hosts, nbytes, platform, calls=calls)
        prices.setdefault(priced.seconds, choice)
    return sorted(prices.items())


def tried_of(ranking: list[tuple[float, str]]) -> list[str]:
    """Return the choices to simulate, in order: by price, with nodes and without them in turn.

    What phases within a node cost is the least certain part of a price, so that a flat choice is
    never dropped on its word alone.
    """
    flat = [choice for _, choice in ranking if "+" not in choice]
    composed = [choice for _, choice in ranking if "+" in choice]
    turns = (composed, flat) if "+" in ranking[0][1] else (flat, composed)
    if not flat or not composed:
        return [choice for _, choice in ranking[:TRIED]]
    return [choice for pair in zip(*turns, strict=False) for choice in pair][:TRIED]


def calls_of(collective: str, nranks: int, nbytes: int) -> int | None:
    """Return how many calls back to back are simulated; None: as many as elsewhere.

    Where each rank may have a message for each, 1024 ranks send a million a call: a minute of a
    processor. There one call stands for all, being the same to the last digit as one after others
    (tests/mpi/test_smpi.py).
    """
    wide = collective in ("allgather", "alltoall") and nbytes >= 4096
    if nranks < MANY_ROUNDS or not (wide or nbytes >= 1 << 20):
        return None
    return 2 if nranks < 4 * MANY_ROUNDS else 1


def compare(
    simulations: Simulations, collective: str, nranks: int, ppn: int, nbytes: int, only_cached: bool
) -> Row | str:
    """Choose, simulate all contenders, check them; what is missing where that cannot be."""
    words = name_of(nranks, ppn, collective, nbytes)

    def simulated(choice: str, selector: str | None = None) -> Result:
        calls = calls_of(collective, nranks, nbytes)
        case = case_of(collective, choice, nbytes, nranks, calls, MEMORY)
        if only_cached and not simulations.has(nranks, case, ppn, selector):
            raise NotSimulatedError(f"{selector or choice} was not simulated")
        [result] = simulations.get(nranks, [case], ppn, selector)
        if result.wrong_ranks:
            raise SmpiError(f"wrong on {result.wrong_ranks} ranks")
        return result

    others, left_out = [], []
    for selector in SELECTORS:
        try:
            others.append(_timing(selector, simulated("native", selector)))
        except NotSimulatedError as error:
            return f"{words}: {error}"
        except SmpiError as error:
            left_out.append(f"{selector}: {str(error).splitlines()[-1][:200]}")
    ours: dict[str, Timing] = {}
    beyond: set[str] = set()

    def fastest(of: str, ranking: list[tuple[float, str]]) -> Timing:
        """Simulate choices in that order up to one that no other beats; return the best."""
        least = min((getattr(t, of) for t in others), default=math.inf)
        for choice in tried_of(ranking):
            if choice in beyond:
                continue
            if choice not in ours:
                try:
                    ours[choice] = _timing(OURS, simulated(choice))
                except BeyondLimitError as error:
                    left_out.append(f"{choice}: {error}")
                    beyond.add(choice)
                    continue
            if getattr(ours[choice], of) <= (1 + SAME) * least:
                break
        if not ours:
            raise NotSimulatedError(f"{left_out[-1]}, and so with all others")
        return min(ours.values(), key=lambda t: float(getattr(t, of)))

    ranking = by_price(collective, nranks, ppn, nbytes)
    try:
        best = fastest("alone_s", ranking)
        tried = len(ours)
        steady = min(ours.values(), key=lambda t: t.steady_s)
        if steady.steady_s > (1 + SAME) * min((t.steady_s for t in others), default=math.inf):
            steady = fastest("steady_s", by_price(collective, nranks, ppn, nbytes, BACK_TO_BACK))
    except NotSimulatedError as error:
        return f"{words}: {error}"
    return Row(
        nranks,
        ppn,
        collective,
        nbytes,
        ranking[0][1],
        ranking[0][0],
        ours[ranking[0][1]].alone_s if ranking[0][1] in ours else None,
        tried,
        [best, *others],
        steady,
        left_out,
        date.today().isoformat(),
    )


class NotSimulatedError(Exception):
    """A simulation is missing, and none is to be made."""


def _timing(contender: str, result: Result) -> Timing:
    return Timing(contender, result.case.choice, result.alone_s, result.steady_s, result.checked)


def show(rows: list[Row]) -> None:
    """Print the table: microseconds of one call, and ratios."""
    head = "".join(f"{name:>11}" for name in (OURS, *SELECTORS))
    print(f"{'one call, us':26}{head}{'ratio':>8}{'steady':>8}  choices")
    for r in rows:
        times = {t.contender: t.alone_s for t in r.timings}
        cells = "".join(
            f"{times[name] * 1e6:11.2f}" if name in times else f"{'-':>11}"
            for name in (OURS, *SELECTORS)
        )
        name = f"{r.nranks // r.ppn}x{r.ppn} {r.collective} {r.bytes}"
        print(
            f"{name:26}{cells}{r.ratio('alone_s'):8.3f}"
            f"{r.ratio('steady_s'):8.3f}  {r.timings[0].choice}"
            f"{'' if r.steady.choice == r.timings[0].choice else ' / ' + r.steady.choice}"
            f"{'' if all(t.checked for t in r.timings) else ', contents not checked'}"
            f"{'; left out ' + ', '.join(r.left_out) if r.left_out else ''}"
        )


def draw(rows: list[Row], path: Path) -> None:
    """Draw all contenders' times over the ranks, a panel a collective and size."""
    import altair as alt

    sizes = {8: "8 B", 4096: "4 KiB", 1 << 20: "1 MiB"}
    points = [
        {
            "ranks": r.nranks,
            "us": t.alone_s * 1e6,
            "contender": t.contender,
            "collective": r.collective,
            "size": sizes.get(r.bytes, f"{r.bytes} B"),
        }
        for r in rows
        if r.ppn == 1
        for t in reversed(r.timings)  # ours on top
    ]
    panel = (
        alt.Chart()
        .mark_line(point=True, strokeWidth=1.5)
        .encode(
            alt.X("ranks:Q", title="ranks").scale(type="log", base=2).axis(values=list(RANKS)),
            alt.Y("us:Q", title="us of one call (simulated)").scale(type="log"),
            alt.Color("contender:N", sort=[OURS, *SELECTORS]),
            alt.StrokeDash("contender:N", sort=[OURS, *SELECTORS]),
        )
        .properties(width=170, height=150)
    )
    chart = panel.facet(
        row=alt.Row("collective:N", sort=list(COLLECTIVES), title=None),
        column=alt.Column("size:N", sort=list(sizes.values()), title=None),
        data=alt.InlineData(values=points),
    ).resolve_scale(y="independent")
    chart.save(str(path))


def main() -> int:
    """Choose, simulate, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collectives", default=",".join(COLLECTIVES))
    parser.add_argument("--per-node", default="1,32", help="ranks of a node")
    parser.add_argument("--merge", action="store_true", help="keep the other cells of the results")
    comparison = begin(
        parser,
        "smpi-baselines",
        "Stretto's choice by price against SMPI's selectors",
        RANKS,
        BYTES,
    )
    options = comparison.options
    flat = comparison.simulations
    nodes = Simulations(
        options.cache, flat.program, Network.of(NODES, hops=True), flat.source, flat.limits
    )
    compared = [
        compare(flat if ppn == 1 else nodes, collective, nranks, ppn, nbytes, options.only_cached)
        for ppn in map(int, options.per_node.split(","))
        for nranks in options.ranks
        if nranks >= 2 * ppn and nranks % ppn == 0
        for collective in options.collectives.split(",")
        for nbytes in options.bytes
    ]
    rows = [row for row in compared if isinstance(row, Row)]
    missing = [row for row in compared if isinstance(row, str)]
    document: dict[str, Any] = {}
    if options.merge:
        document = json.loads(options.out.with_suffix(".json").read_text())
        rows, missing = merged(rows, missing, document)
    rows.sort(key=lambda r: (r.ppn, r.collective, r.bytes, r.nranks))
    show(rows)
    slower = {of: [r for r in rows if r.ratio(of) > 1 + SAME] for of in ("alone_s", "steady_s")}
    figures = {
        "compared": len(rows),
        "fastest_or_equal": len(rows) - len(slower["alone_s"]),
        "fastest_or_equal_back_to_back": len(rows) - len(slower["steady_s"]),
        "fastest_or_equal_by_price_alone": sum(r.by_price_ratio <= 1 + SAME for r in rows),
    }
    comparison.finish(
        [
            asdict(r) | {"ratio": r.ratio("alone_s"), "ratio_steady": r.ratio("steady_s")}
            for r in rows
        ],
        figures,
        missing,
        lambda path: draw(rows, path),
        document,
    )
    return int(any(slower.values()))


if __name__ == "__main__":
    run(main)

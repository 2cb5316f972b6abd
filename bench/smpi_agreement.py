#!/usr/bin/env python3
"""Compares Stretto's prices with SimGrid SMPI's simulation of the same plans on the same network.

    python bench/smpi_agreement.py --cache FILE [--ranks 64,256] [--bytes 8,4096] [--only-cached]

SMPI runs the real executor with the real plans and checks the results (tools/smpi,
docs/explanation/smpi.md); pricing evaluates the plans (src/plan/price.c).
Both give the time of one call that all ranks begin
together, and of a call in the second half of six made back to back (of two among 1024 ranks). What
was simulated is kept in the cache, so that a comparison that was stopped goes on; 1024 ranks take
hours on a busy machine; --short leaves out the algorithms with a message from each to each.
Written are a file of results and a picture, bench/results/smpi-agreement.{json,svg}.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stretto.model.price import price

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools" / "smpi"))
from comparison import begin, case_of, run
from plain import PLATFORM
from smpi import BeyondLimitError, Case, Result, SmpiError

#: the algorithms of the comparison, with the choices that are ranked against each other
ALGORITHMS = {
    ("allreduce", "recursive_doubling"): [""],
    ("allreduce", "recursive_multiplying"): ["(4)", "(8)"],
    ("allreduce", "bruck_k"): ["(2)", "(4)", "(8)"],
    ("allreduce", "knomial"): ["(2)", "(4)", "(8)"],
    ("allreduce", "rabenseifner"): [""],
    ("allreduce", "swing"): [""],
    ("allreduce", "ring"): [""],
    ("bcast", "knomial"): ["(2)", "(4)", "(8)"],
    ("bcast", "chain"): ["(64K,1)", "(8K,4)"],
    ("bcast", "binomial"): [""],
    ("bcast", "split_binary"): [""],
    ("bcast", "scatter_allgather_doubling"): [""],
    ("bcast", "scatter_allgather"): [""],
    ("reduce", "knomial"): ["(2)", "(4)", "(8)"],
    ("allgather", "bruck_k"): ["(2)", "(4)", "(8)"],
    ("allgather", "recursive_doubling"): [""],
    ("allgather", "ring"): [""],
    ("alltoall", "bruck_k"): ["(2)", "(4)", "(8)"],
    ("alltoall", "pairwise"): [""],
}
#: so many messages a rank and call that 1024 ranks take long: last
LONG = ("ring", "scatter_allgather", "pairwise")  # whole names
RANKS = (64, 256, 1024)
BYTES = (8, 4096, 262144)
DIFFERENCE, RANKED, APART = 0.10, 0.95, 0.10
ALGORITHMS_ASKED = 12  # that must be compared at all rank counts and sizes


@dataclass(frozen=True)
class Row:
    """One case, simulated and priced; seconds."""

    nranks: int
    case: Case
    checked: bool
    alone_simulated: float
    alone_priced: float
    steady_simulated: float
    steady_priced: float

    @property
    def alone(self) -> float:
        """How far the price of one call is from its simulation, as a share of that."""
        return self.alone_priced / self.alone_simulated - 1

    @property
    def steady(self) -> float:
        """The same for calls back to back."""
        return self.steady_priced / self.steady_simulated - 1


def cases(nranks: int, nbytes: int) -> list[Case]:
    """Return the cases of one rank count and size."""
    return [
        case_of(collective, name + parameter, nbytes, nranks)
        for (collective, name), parameters in ALGORITHMS.items()
        for parameter in parameters
    ]


def is_long(case: Case) -> bool:
    """Whether a case has so many messages that it takes long."""
    return case.choice.partition("(")[0] in LONG


def row(nranks: int, result: Result) -> Row:
    """Price what was simulated."""
    case = result.case
    hosts = list(range(nranks))

    def priced(calls: int) -> float:
        return price(
            case.collective, case.choice, hosts, case.bytes, PLATFORM, root=case.root, calls=calls
        ).seconds

    return Row(
        nranks,
        case,
        result.checked,
        result.alone_s,
        priced(1),
        result.steady_s,
        priced(case.calls),
    )


def ranking(rows: list[Row], of: str) -> tuple[int, int, list[str]]:
    """Count pairs of choices for the same call that differ in the simulation, and those alike."""
    pairs = alike = 0
    unlike = []
    for a, b in itertools.combinations(rows, 2):
        if (a.nranks, a.case.collective, a.case.bytes) != (
            b.nranks,
            b.case.collective,
            b.case.bytes,
        ):
            continue
        simulated: tuple[float, float] = (
            getattr(a, f"{of}_simulated"),
            getattr(b, f"{of}_simulated"),
        )
        priced = getattr(a, f"{of}_priced"), getattr(b, f"{of}_priced")
        if max(simulated) <= (1 + APART) * min(simulated):
            continue
        pairs += 1
        if (simulated[0] < simulated[1]) == (priced[0] < priced[1]):
            alike += 1
        else:
            unlike.append(
                f"{a.nranks} ranks {a.case.collective} {a.case.bytes} B:"
                f" {a.case.choice} and {b.case.choice}"
            )
    return pairs, alike, unlike


def summary(rows: list[Row]) -> dict[str, Any]:
    """Return the figures of the comparison."""
    found: dict[str, Any] = {"cases": len(rows)}
    for of in ("alone", "steady"):
        differences = [abs(getattr(r, of)) for r in rows]
        pairs, alike, unlike = ranking(rows, of)
        found[of] = {
            "median_difference": statistics.median(differences),
            "largest_difference": max(differences),
            "within_10_percent": sum(d <= DIFFERENCE for d in differences) / len(rows),
            "pairs": pairs,
            "ranked_alike": alike / pairs if pairs else 1.0,
            "ranked_otherwise": unlike,
        }
    return found


def whole(rows: list[Row], wanted: list[tuple[int, Case]]) -> list[str]:
    """Return the algorithms of which no case is missing."""

    def name(case: Case) -> str:
        return f"{case.collective} {case.choice.partition('(')[0]}"

    done = {(row.nranks, row.case) for row in rows}
    lacking = {name(case) for nranks, case in wanted if (nranks, case) not in done}
    return sorted({name(case) for _, case in wanted} - lacking)


def show(rows: list[Row]) -> None:
    """Print the table."""
    print(f"{'':40}  {'one call, us':>21}         {'back to back, us':>21}")
    print(f"{'':40}{'simulated':>12}{'priced':>11}        {'simulated':>12}{'priced':>11}")
    for r in rows:
        name = f"{r.nranks} {r.case.collective} {r.case.choice} {r.case.bytes}"
        print(
            f"{name:40}{r.alone_simulated * 1e6:12.2f}{r.alone_priced * 1e6:11.2f}{r.alone:+8.1%}"
            f"{r.steady_simulated * 1e6:12.2f}{r.steady_priced * 1e6:11.2f}{r.steady:+8.1%}"
            f"{'' if r.checked else '  contents not checked'}"
        )


def draw(rows: list[Row], path: Path) -> None:
    """Draw priced against simulated times."""
    import altair as alt

    points = [
        {
            "simulated": r.alone_simulated * 1e6,
            "priced": r.alone_priced * 1e6,
            "collective": r.case.collective,
            "ranks": str(r.nranks),
        }
        for r in rows
    ]
    times = [r.alone_simulated * 1e6 for r in rows]
    ends = [{"x": least_or_most(times)} for least_or_most in (min, max)]
    line = (
        alt.Chart(alt.InlineData(values=ends))
        .mark_line(color="#999")
        .encode(alt.X("x:Q"), alt.Y("x:Q"))
    )
    dots = (
        alt.Chart(alt.InlineData(values=points))
        .mark_point(size=45)
        .encode(
            alt.X("simulated:Q", title="SMPI, one call, us").scale(type="log"),
            alt.Y("priced:Q", title="Stretto's price, us (simulated)").scale(type="log"),
            alt.Color("collective:N"),
            alt.Shape("ranks:N", sort=[str(n) for n in RANKS]),
        )
    )
    (line + dots).properties(width=420, height=420).save(str(path))


def main() -> int:
    """Simulate, price, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulate-only", action="store_true", help="price nothing yet")
    parser.add_argument("--short", action="store_true", help="leave out what takes long")
    comparison = begin(parser, "smpi-agreement", "prices against SimGrid SMPI", RANKS, BYTES)
    options, simulations = comparison.options, comparison.simulations
    wanted = [
        (nranks, case)
        for nranks in options.ranks
        for nbytes in options.bytes
        for case in cases(nranks, nbytes)
        if not (options.short and is_long(case))
    ]
    wanted.sort(key=lambda item: is_long(item[1]) * item[0])  # stable: long ones last
    rows, missing = [], []
    for nranks, case in wanted:
        words = f"{nranks} {case.collective} {case.choice} {case.bytes}"
        if options.only_cached and not simulations.has(nranks, case):
            missing.append(words)
            continue
        try:
            [result] = simulations.get(nranks, [case])
        except BeyondLimitError as error:
            missing.append(f"{words}: {error}")
            continue
        if result.wrong_ranks:
            raise SmpiError(f"{nranks} ranks, {case}: {result.wrong_ranks} have a wrong result")
        if not options.simulate_only:
            rows.append(row(nranks, result))
    if options.simulate_only:
        return 0
    rows.sort(key=lambda r: (r.case.collective, r.case.bytes, r.nranks))
    show(rows)
    figures = {**summary(rows), "whole": whole(rows, wanted)}
    comparison.finish(
        [asdict(r) for r in rows], {"summary": figures}, missing, lambda path: draw(rows, path)
    )
    good = figures["alone"]
    return int(
        good["median_difference"] > DIFFERENCE
        or good["ranked_alike"] < RANKED
        or len(figures["whole"]) < ALGORITHMS_ASKED
    )


if __name__ == "__main__":
    run(main)

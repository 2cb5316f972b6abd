#!/usr/bin/env python3
"""Stretto's network plans against what Open MPI, MPICH, MVAPICH2 and Intel MPI would choose.

    python bench/smpi_baselines.py --cache FILE [--ranks 16,64,256] [--collectives allreduce,bcast]

All run in SimGrid SMPI on one network, one rank a node: SMPI's models of those MPIs' selectors, and
Stretto's real executor with the choice whose price is least (nothing is tried in SMPI to choose).
Given are the time of one call that all ranks begin together, and of a call in the second half of
six made back to back. Results are checked wherever the buffers fit into memory; a baseline with
a wrong result is left out and named. Written are bench/results/smpi-baselines.{json,svg}.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from stretto.errors import StrettoError
from stretto.files.identity import collect_host
from stretto.model.price import price
from stretto.plan import choices

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tools" / "smpi"))
from cache import Simulations  # noqa: E402
from plain import PLATFORM  # noqa: E402
from smpi import SELECTORS, Case, Network, Result, SmpiError, build, version  # noqa: E402

COLLECTIVES = ("allreduce", "bcast", "allgather", "alltoall")
BYTES = (8, 4096, 1 << 20)
RANKS = (16, 64, 256)
MEMORY = 2e9
OURS = "stretto"
SAME = 0.03  # of a difference that counts nowhere in Stretto


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
    """All contenders for one call."""

    nranks: int
    collective: str
    bytes: int
    priced_s: float
    timings: list[Timing]
    left_out: list[str]

    def ratio(self, of: str) -> float:
        """Return Stretto's time over the best other one's."""
        ours, *others = (getattr(t, of) for t in self.timings)
        return ours / min(others) if others else float("nan")


def best(collective: str, nranks: int, nbytes: int) -> tuple[str, float]:
    """Return the choice with the least price, and the price."""
    hosts = list(range(nranks))
    prices = [
        (price(collective, choice, hosts, nbytes, PLATFORM).seconds, choice)
        for choice in choices(collective, nranks, nranks)
    ]
    least, choice = min(prices)
    return choice, least


def compare(
    simulations: Simulations, collective: str, nranks: int, nbytes: int, only_cached: bool
) -> Row | None:
    """Choose, simulate all contenders, check them; None where that would need a simulation."""
    choice, priced = best(collective, nranks, nbytes)
    timings, left_out = [], []
    for contender in (OURS, *SELECTORS):
        case = Case(collective, choice if contender == OURS else "native", nbytes)
        if not case.fits(nranks, MEMORY):
            case = Case(collective, case.choice, nbytes, folded=True)
        selector = None if contender == OURS else contender
        if only_cached and not simulations.has(nranks, case, selector=selector):
            return None
        try:
            [result] = simulations.get(nranks, [case], selector=selector)
        except SmpiError as error:
            if contender == OURS:
                raise
            left_out.append(f"{contender}: {str(error).splitlines()[-1][:200]}")
            continue
        if result.wrong_ranks:
            if contender == OURS:
                raise SmpiError(f"{nranks} ranks, {case}: wrong on {result.wrong_ranks}")
            left_out.append(f"{contender}: wrong on {result.wrong_ranks} ranks")
            continue
        timings.append(_timing(contender, result))
    return Row(nranks, collective, nbytes, priced, timings, left_out)


def _timing(contender: str, result: Result) -> Timing:
    return Timing(contender, result.case.choice, result.alone_s, result.steady_s, result.checked)


def show(rows: list[Row]) -> None:
    """Print the table: microseconds of one call, and ratios."""
    head = "".join(f"{name:>11}" for name in (OURS, *SELECTORS))
    print(f"{'one call, us':26}{head}{'ratio':>8}{'steady':>8}  choice")
    for r in rows:
        times = {t.contender: t.alone_s for t in r.timings}
        cells = "".join(
            f"{times[name] * 1e6:11.2f}" if name in times else f"{'-':>11}"
            for name in (OURS, *SELECTORS)
        )
        print(
            f"{f'{r.nranks} {r.collective} {r.bytes}':26}{cells}{r.ratio('alone_s'):8.3f}"
            f"{r.ratio('steady_s'):8.3f}  {r.timings[0].choice}"
            f"{'' if all(t.checked for t in r.timings) else ', contents not checked'}"
            f"{'; left out ' + ', '.join(r.left_out) if r.left_out else ''}"
        )


def draw(rows: list[Row], path: Path) -> None:
    """Draw the ratios to the best other contender."""
    import altair as alt

    points = [
        {
            "ranks": str(r.nranks),
            "ratio": r.ratio("alone_s"),
            "collective": r.collective,
            "size": {8: "8 B", 4096: "4 KiB", 1 << 20: "1 MiB"}.get(r.bytes, f"{r.bytes} B"),
        }
        for r in rows
    ]
    sizes = ["8 B", "4 KiB", "1 MiB"]
    chart = (
        alt.Chart(alt.InlineData(values=points))
        .mark_bar()
        .encode(
            alt.X("ranks:N", sort=[str(n) for n in (16, 64, 256, 1024)], title="ranks"),
            alt.Y("ratio:Q", title="Stretto / best of the four (simulated)"),
            alt.Color("size:N", sort=sizes),
            alt.XOffset("size:N", sort=sizes),
            alt.Column("collective:N", sort=list(COLLECTIVES), title=None),
        )
        .properties(width=150, height=220)
    )
    chart.save(str(path))


def main() -> int:
    """Choose, simulate, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True, help="simulations made already")
    parser.add_argument("--only-cached", action="store_true", help="simulate nothing more")
    parser.add_argument("--ranks", default=",".join(map(str, RANKS)))
    parser.add_argument("--bytes", default=",".join(map(str, BYTES)))
    parser.add_argument("--collectives", default=",".join(COLLECTIVES))
    parser.add_argument("--build", type=Path, default=Path("build/smpi"), help="a folder")
    parser.add_argument("--source", type=Path, default=REPOSITORY / "src", help="another src/")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "bench/results/smpi-baselines")
    options = parser.parse_args()
    simgrid = version()
    if simgrid is None:
        raise StrettoError("SimGrid is not installed", remedy="apt-get install libsimgrid-dev")
    simulations = Simulations(
        options.cache,
        build(options.build.resolve(), options.source),
        Network.of(PLATFORM),
        options.source,
    )
    wanted = [
        (collective, int(nranks), int(nbytes))
        for nranks in options.ranks.split(",")
        for collective in options.collectives.split(",")
        for nbytes in options.bytes.split(",")
    ]
    compared = [compare(simulations, *call, options.only_cached) for call in wanted]
    rows = [row for row in compared if row]
    missing = [f"{n} {c} {b}" for (c, n, b), row in zip(wanted, compared, strict=True) if not row]
    rows.sort(key=lambda r: (r.collective, r.bytes, r.nranks))
    show(rows)
    slower = [r for r in rows if r.ratio("alone_s") > 1 + SAME]
    print(f"fastest or equal in {len(rows) - len(slower)} of {len(rows)}")
    print(f"not simulated: {len(missing)} of {len(wanted)}")
    document = {
        "what": "Stretto's choice by price against SMPI's selectors; every figure is simulated",
        "source": "simulated",
        "simgrid": simgrid,
        "host": asdict(collect_host()),
        "platform": asdict(PLATFORM),
        "fastest_or_equal": len(rows) - len(slower),
        "not_simulated": missing,
        "rows": [asdict(r) | {"ratio": r.ratio("alone_s")} for r in rows],
    }
    options.out.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    draw(rows, options.out.with_suffix(".svg"))
    return int(bool(slower))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (StrettoError, SmpiError) as error:
        sys.exit(f"smpi_baselines: {error}")

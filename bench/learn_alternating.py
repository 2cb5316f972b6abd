#!/usr/bin/env python3
"""Compare the gain that `stretto learn` reports with the gain that alternating runs show.

    python bench/learn_alternating.py [--launcher mpirun] [--seconds 4] [--repeat 10] [--tune 90s]
                                      [-- CMD...]
    python bench/learn_alternating.py --within 10 [--launcher mpirun] [--seconds 4]

Runs one job with `stretto learn`, then 12 pairs of runs without Stretto and with the learned table
in turn. Compares the gain of a whole run by the evidence in the table (95 % interval) with the mean
difference of the pairs. The cores of a virtual machine move: the job's parts with near and with far
cores (the delay of a flag before each) are compared apart, and weighted as the learning run had
them. --repeat does all of this so many times. It counts how often the measured gain was in the
reported interval, and how often the two agree within the uncertainty of both.

--within N: N learning runs instead, in each of which every second stretch of the loop calls the MPI
past Stretto. So one run has both gains, on the same cores: the reported one of an iteration, and
that of the stretches, without the 5 % of pairs on each side that a pause of the machine spoils.

Beside it, the first time, with --tune: `stretto tune -- CMD`; under Intel MPI: its autotuner
(I_MPI_TUNING_MODE=auto, then runs with the file that it dumped). The default job is
bench/learn_app.c on 2 ranks; CMD must print a line `seconds: S` (and may print `parts: S S ...` and
`flags: NS NS ...`). The exit status is 1 when the two agree less often than 9 times in 10. On a
busy machine the figures mean nothing.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flag import CLASSES
from scipy import stats

from stretto.files.identity import collect_host
from stretto.files.table import read_table
from stretto.measure.idle import idle_warning
from stretto.mpi import from_launcher

HERE = Path(__file__).resolve().parent
STRETTO = [sys.executable, "-m", "stretto"]


@dataclass(frozen=True)
class Run:
    """One run: the job's own seconds, those of its parts, their classes, and its stderr."""

    seconds: float
    parts: list[float]
    classes: list[str]
    said: str
    gains: list[float]


def run(words: Sequence[str], **variables: str) -> Run:
    """Run a job to its end."""
    done = subprocess.run(
        words, env=os.environ | variables, capture_output=True, text=True, check=False
    )
    found = re.findall(r"seconds: ([0-9.]+)", done.stdout)
    if done.returncode or not found:
        raise SystemExit(f"{' '.join(words)} failed\n{done.stdout}{done.stderr}")
    series = {
        name: [float(x) for x in values.split()]
        for name, values in re.findall(r"(parts|flags|gains):((?: [0-9.-]+)+)", done.stdout)
    }
    classes = [class_of(ns) for ns in series.get("flags", [])]
    gains = series.get("gains", [])
    return Run(float(found[-1]), series.get("parts", []), classes, done.stderr, gains)


def class_of(ns: float) -> str:
    """Return which cores a flag of so many nanoseconds is between: near, far or other."""
    return next((name for name, (low, high) in CLASSES.items() if low <= ns < high), "other")


def mean_part(runs: Sequence[Run], kind: str) -> float:
    """Return the mean seconds of a part with cores of this class; KeyError where there is none."""
    found = [s for r in runs for s, c in zip(r.parts, r.classes, strict=True) if c == kind]
    if not found:
        raise KeyError(kind)
    return statistics.mean(found)


def weighted_gain(
    learned: Run, native: Sequence[Run], tuned: Sequence[Run]
) -> tuple[float, float, float] | None:
    """Return the gain of a run with the cores of the learning run, and its 95 % interval.

    The standard error is the jackknife's over pairs. None where the job prints no flags, or one of
    the classes of the learning run is in too few pairs.
    """
    shares = Counter(learned.classes)

    def gain(left_out: int | None) -> float:
        some = [[r for i, r in enumerate(runs) if i != left_out] for runs in (native, tuned)]
        return sum(
            parts * (mean_part(some[0], kind) - mean_part(some[1], kind))
            for kind, parts in shares.items()
        )

    n = len(native)
    if not shares or n < 3:
        return None
    try:
        whole, without = gain(None), [gain(i) for i in range(n)]
    except KeyError:
        return None
    middle = statistics.mean(without)
    error = math.sqrt((n - 1) / n * sum((w - middle) ** 2 for w in without))
    half = stats.t.ppf(0.975, n - 1) * error
    return whole, whole - half, whole + half


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean and its 95 % interval."""
    mean = statistics.mean(values)
    half = stats.t.ppf(0.975, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def reported(table: Path, iterations: bool = False) -> tuple[float, float, float]:
    """Return the seconds that a whole run gains by the table's evidence, and their interval.

    `iterations`: those that an iteration gains which makes one call of each row.
    """
    mean, half = 0.0, 0.0
    for row in read_table(table).rows:
        if row.ratio is not None and row.choice != "native":
            e = {key: float(row.evidence[key]) for key in ("native_us", "low", "high", "calls")}
            calls = 1e-6 * e["native_us"] * (1 if iterations else e["calls"])
            mean += (1 - row.ratio) * calls
            half += (e["high"] - e["low"]) / 2 * calls  # they are checked at the same time
    return mean, mean - half, mean + half


def first_benefit(trial: Run, native: Sequence[Run]) -> str:
    """Return the time from which on the rest of a run is faster than all native runs were.

    The rest is at least a tenth of the run: the last parts alone are faster by chance.
    """
    if not trial.parts or not native:
        return "-"
    for at in range(len(trial.parts) * 9 // 10 + 1):
        rest = sum(trial.parts[at:])
        if rest < 0.98 * min(sum(r.parts[at:]) for r in native):
            return f"{sum(trial.parts[:at]):.2f} s"
    return "none"


def alternate(
    command: Sequence[str], other: Sequence[str], pairs: int, **variables: str
) -> tuple[list[Run], list[Run]]:
    """Return so many runs of each, in turn; the first of a pair alternates."""
    native: list[Run] = []
    tuned: list[Run] = []
    for i in range(pairs):
        for which in (0, 1) if i % 2 else (1, 0):
            if which:
                tuned.append(run(other, **variables))
            else:
                native.append(run(command))
    return native, tuned


def row(name: str, first: str, pairs: tuple[list[Run], list[Run]], lost: float) -> str:
    """Return a line of the table."""
    mean, low, high = interval([a.seconds - b.seconds for a, b in zip(*pairs, strict=True)])
    final = statistics.median(r.seconds for r in pairs[1])
    return (
        f"{name:<22}{first:>14}{final:>10.3f}  {mean:>7.3f} ({low:.3f} to {high:.3f}){lost:>9.2f}"
    )


def job(options: argparse.Namespace, folder: Path) -> list[str]:
    """Return the command to run: the given one, or the program here for about so many seconds."""
    if options.command:
        return list(options.command)
    program = folder / "learn_app"
    wrapper = options.cc or str(options.launcher.with_name("mpicc"))
    subprocess.run([wrapper, "-O2", str(HERE / "learn_app.c"), "-o", str(program)], check=True)
    words = [str(options.launcher), "-n", str(options.ranks), str(program)]
    short = run([*words, "20000", str(options.work)])
    return [*words, str(int(20000 * options.seconds / short.seconds)), str(options.work)]


def main() -> int:
    """Run the comparison; 0 when the reported and the measured gain agree."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--launcher", default="/usr/bin/mpirun")
    parser.add_argument("--cc", help="default: mpicc beside the launcher")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4, help="of one run, about")
    parser.add_argument("--work", type=float, default=5, help="microseconds between collectives")
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--repeat", type=int, default=1, help="do it so many times")
    parser.add_argument("--within", type=int, help="so many runs that have both gains")
    parser.add_argument("--tune", help="also stretto tune with this budget, e.g. 90s")
    parser.add_argument("command", nargs="*", help="CMD, after --")
    options = parser.parse_args()
    given = options.command[0] if options.command else options.launcher
    options.launcher = Path(shutil.which(given) or given).absolute()
    options.mpi = from_launcher(options.launcher)
    os.environ.update(options.mpi.environment())  # as a module of this MPI would
    warning = idle_warning()
    if warning:
        print(f"warning: {warning}", file=sys.stderr)
    inside = agreed = 0
    with tempfile.TemporaryDirectory() as text:
        command = job(options, Path(text))
        if options.within:
            runs = [within(command, Path(text, f"{i}.table")) for i in range(options.within)]
            inside, agreed = (sum(each) for each in zip(*runs, strict=True))
            print(f"in the reported interval: {inside} of {len(runs)}; agree: {agreed}")
            return 0 if agreed >= 0.9 * len(runs) else 1
        for turn in range(options.repeat):
            folder = Path(text, str(turn))
            folder.mkdir()
            is_inside, agree = compare(options, command, folder, first=turn == 0)
            inside += is_inside
            agreed += agree
    print(f"in the reported interval: {inside} of {options.repeat}; agree: {agreed}")
    return 0 if agreed >= 0.9 * options.repeat else 1


def within(command: Sequence[str], table: Path) -> tuple[bool, bool]:
    """Learn in every second stretch of a run; as compare() says of its gain."""
    learned = run([*STRETTO, "learn", "--out", str(table), "--", *command, "400"])
    after = learned.gains[len(learned.gains) // 10 :]  # at first candidates are tried
    least, most = (1e-9 * float(x) for x in stats.mstats.trimmed_mean_ci(after, (0.05, 0.05)))
    mean = (least + most) / 2
    expected, low, high = reported(table, iterations=True)
    cores = ", ".join(f"{n} {kind}" for kind, n in Counter(learned.classes).most_common())
    print(
        f"reported {1e6 * expected:.3f} us ({1e6 * low:.3f} to {1e6 * high:.3f}) an iteration, "
        f"past Stretto {1e6 * mean:.3f} ({1e6 * least:.3f} to {1e6 * most:.3f}): {cores}",
        flush=True,
    )
    agree = abs(mean - expected) <= math.hypot((high - low) / 2, (most - least) / 2)
    return low <= mean <= high, agree


def compare(
    options: argparse.Namespace, command: Sequence[str], folder: Path, first: bool
) -> tuple[bool, bool]:
    """Run everything and print the table; whether the gain is inside, and whether the two agree.

    `first`: compare with `stretto tune` and Intel MPI's autotuner, too.
    """
    table = folder / "learned.table"
    learned = run([*STRETTO, "learn", "--out", str(table), "--", *command])
    cost = float(re.findall(r"exploring cost ([0-9.e+-]+) s", learned.said)[-1])
    with_table = [*STRETTO, "run", "--table", str(table), "--", *command]
    native, tuned = both = alternate(command, with_table, options.pairs)
    lines = [row("learn", first_benefit(learned, native), both, cost)]
    if options.tune and first:
        begin = time.monotonic()
        words = [*STRETTO, "tune", "--yes", "--metric", r"seconds: ([0-9.]+)"]
        words += ["--budget", options.tune, "--out", str(folder / "tuned"), "--", *command]
        # tune copies the directory for each run of CMD
        place = None if options.command else Path(command[3]).parent
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=place)
        spent = time.monotonic() - begin
        if done.returncode:
            print(done.stderr, file=sys.stderr)
        found = sorted((folder / "tuned").glob("*.table"))
        if found:
            words = [*STRETTO, "run", "--table", str(found[0]), "--", *command]
            pairs = alternate(command, words, max(2, options.pairs // 2))
            gained = interval([a.seconds - b.seconds for a, b in zip(*pairs, strict=True)])[1] > 0
            lines.append(row("tune", f"{spent:.1f} s" if gained else "none", pairs, spent))
        else:
            lines.append(f"{'tune':<22}{'no table':>14}{'':>38}{spent:>9.2f}")
    if first and options.mpi.family == "intel":
        dump = folder / "auto.bin"
        auto = run(command, I_MPI_TUNING_MODE="auto", I_MPI_TUNING_BIN_DUMP=str(dump))
        lost = auto.seconds - statistics.median(r.seconds for r in native)
        pairs = alternate(command, command, max(2, options.pairs // 2), I_MPI_TUNING_BIN=str(dump))
        lines.append(row("I_MPI_TUNING_MODE=auto", first_benefit(auto, native), pairs, lost))
    expected, low, high = reported(table)
    weighted = weighted_gain(learned, native, tuned)
    mean, least, most = weighted or interval(
        [a.seconds - b.seconds for a, b in zip(native, tuned, strict=True)]
    )
    cores = ", ".join(f"{n} {kind}" for kind, n in Counter(learned.classes).most_common())
    host = collect_host()
    print(f"{host.cpu}, {host.cores} cores, load {os.getloadavg()[0]:.1f}: {' '.join(command)}")
    print(f"native {statistics.median(r.seconds for r in native):.3f} s (median)")
    print(f"{'':<22}{'first benefit':>14}{'final s':>10}  {'gain s (95 %)':<25}{'lost s':>8}")
    print("\n".join(lines))
    print(f"learn reports a gain of {expected:.3f} s ({low:.3f} to {high:.3f}) for a whole run")
    how = f", weighted by the cores of the learning run: {cores}" if weighted else ""
    print(f"{len(native)} pairs show {mean:.3f} s ({least:.3f} to {most:.3f}){how}")
    inside = low <= mean <= high
    both_ways = math.hypot((high - low) / 2, (most - least) / 2)
    agree = abs(mean - expected) <= both_ways
    print(
        "the measured gain is in the reported interval" if inside
        else f"the two agree within their common uncertainty of {both_ways:.3f} s" if agree
        else f"the two differ by more than their common uncertainty of {both_ways:.3f} s"
    )  # fmt: skip
    return inside, agree


if __name__ == "__main__":
    raise SystemExit(main())

"""Runs of the user's command, native and tuned in turn, and what they gained."""

from __future__ import annotations

import math
import random
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from stretto.errors import UsageError, from_oserror
from stretto.files.outcome import Verdict
from stretto.files.verdict import GainInterval, Metric, Run
from stretto.launch.evidence import VARIABLE, Evidence, read_evidence
from stretto.launch.execute import Result, run
from stretto.launch.inject import prepare, with_settings
from stretto.launch.job import understand
from stretto.measure.compare import compare_times
from stretto.measure.idle import busy_before, busy_share
from stretto.measure.stats import FEWEST, Interval
from stretto.measure.verdict import inconclusive, judge
from stretto.tune.seen import RanksSeen, watching

T = TypeVar("T")
Kind = Literal["native", "tuned"]
#: how long the machine is looked at before each run (s)
LOOK_S = 0.2


@dataclass(frozen=True)
class Trial:
    """One run of the command: how it ended, and what its ranks said about Stretto."""

    result: Result
    evidence: Evidence
    #: what was seen of its ranks; None: they were not watched
    seen: RanksSeen | None = None
    #: numbers of ranks that ranks told, whoever asked them; empty: none did
    sizes: frozenset[int] = frozenset()
    #: share of the processors' time that others used just before; None: not known
    others: float | None = None


def find_value(metric: Metric, result: Result) -> float | None:
    """Return the metric's value of one run (its last match), None where there is none."""
    if metric.pattern is None:
        return result.wall_s
    found = re.findall(metric.pattern, result.stdout + "\n" + result.stderr, re.MULTILINE)
    if not found:
        return None
    try:
        value = float(str(found[-1]).replace("D", "E"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


#: what a metric is called of which more is better: steps/s, ns/day, iterations per second, GFLOPS
RATE = re.compile(
    r"(/ ?|per )(s|sec|seconds?|min|minutes?|h|hr|hours?|days?)\b|flops?\b", re.IGNORECASE
)


def make_metric(pattern: str | None, better: str | None, unit: str | None) -> Metric:
    """Return the metric; a rate needs `better`: the wrong direction reports a loss as a gain."""
    if better not in (None, "lower", "higher"):
        raise UsageError(f"--metric-better {better} is not valid", None, "use lower or higher")
    if pattern is None:
        for value, option in ((unit, "--metric-unit"), (better == "higher", "--metric-better")):
            if value:
                raise UsageError(
                    f"{option} needs --metric: without it, the metric is wall time", option,
                    "add --metric EXPRESSION, or leave it out",
                )  # fmt: skip
        return Metric()
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise UsageError(
            f"--metric {shlex.quote(pattern)} is not a regular expression: {error}",
            None,
            "quote it",
        ) from error
    if groups != 1:
        raise UsageError(
            f"--metric has {groups} groups", None, r"mark the number: 'iterations/min: ([\d.]+)'"
        )
    if better is None and (rate := RATE.search(f"{pattern} {unit or ''}")):
        raise UsageError(
            f"--metric with '{rate[0].strip()}' seems to be a rate, and by default lower is better",
            "--metric-better",
            "add --metric-better higher, or --metric-better lower",
        )
    return Metric(pattern, unit or "", "higher" if better == "higher" else "lower", pattern)


def once(
    words: Sequence[str],
    cwd: Path,
    libraries: Sequence[Path],
    variables: dict[str, str],
    evidence: Path,
    timeout: float | None,
    mpi: str | None,
    settings: Mapping[str, str] | None = None,
    watch: bool = False,
    enough: int | None = None,
    environ: Mapping[str, str] | None = None,
    around: AbstractContextManager[object] | None = None,
) -> Trial:
    """Run the command once.

    `libraries`, `variables`: what every rank gets; without libraries nothing of Stretto's.
    `evidence`: directory for files of ranks that have Stretto; it is there for this run only.
    `watch`, `enough`: look at the ranks meanwhile, until one tells this number of ranks.
    `around`: entered when the command starts, left when it has ended.
    """
    job = with_settings(understand(words, mpi=mpi, environ=environ, cwd=cwd), settings or {})
    if not libraries:
        kept = {k: v for k, v in job.environ.items() if not k.startswith("STRETTO_")}
        job = replace(job, environ=kept)
    argv, given = prepare(job, libraries, {**variables, VARIABLE: str(evidence)})
    shutil.rmtree(evidence, ignore_errors=True)
    try:
        evidence.mkdir(parents=True)
    except OSError as error:
        raise from_oserror(error, "cannot make the directory", evidence) from error
    try:
        others = busy_share(LOOK_S)
        looking = watching(VARIABLE, str(evidence), enough) if watch else nullcontext()
        with looking as seen, around or nullcontext():
            result = run(argv, given, cwd=cwd, timeout=timeout, capture="yes")
        sizes = _sizes(evidence) | (seen.sizes if seen else frozenset())
        return Trial(result, read_evidence(evidence), seen, sizes, others)
    finally:
        shutil.rmtree(evidence, ignore_errors=True)


def _sizes(evidence: Path) -> frozenset[int]:
    """Return the numbers of ranks that ranks with Stretto wrote down."""
    out = set()
    for path in evidence.glob("rank*"):
        with suppress(OSError):
            found = re.match(r"stretto-evidence \d+ rank \d+ of (\d+)", path.read_text("utf-8"))
            out |= {int(found[1])} if found else set()
    return frozenset(out)


def longest_s(run_s: float) -> float | None:
    """Return after how long a run of CMD is ended where the user gives no limit; None: never."""
    return 60 + 10 * run_s if run_s > 0 else None


def in_turn(members: Iterable[T], rounds: int, seed: object) -> list[tuple[int, T]]:
    """Return all runs, each with its round: rounds of every member, each in an order of its own."""
    out = []
    for number in range(rounds):
        mine = list(members)
        random.Random(f"{seed} {number}").shuffle(mine)
        out += [(number, member) for member in mine]
    return out


def order(pairs: int, seed: int, done: Sequence[Run] = ()) -> list[Kind]:
    """Return the kinds of the runs still to be made.

    `done`: runs of an earlier, interrupted attempt; they are the first of the same order.
    """
    kinds: tuple[Kind, ...] = ("native", "tuned")
    return [kind for _, kind in in_turn(kinds, pairs, seed)][len(done) :]


def times_of(values: Mapping[int, float], metric: Metric) -> dict[int, float]:
    """Return values of the metric as times per unit of work: smaller is faster, whatever it is."""
    return {i: v if metric.better == "lower" else 1 / v for i, v in values.items()}


def gain_of(
    ratio: Interval, ratios: Sequence[float], p: float | None, metric: Metric
) -> GainInterval:
    """Return a ratio of times as a gain of the metric, with its interval or extremes."""
    low = ratio.low if ratio.low is not None else min(ratios)
    high = ratio.high if ratio.high is not None else max(ratios)
    if metric.better == "higher":
        return GainInterval(1 / high - 1, 1 / ratio.median - 1, 1 / low - 1, p)
    return GainInterval(1 - high, 1 - ratio.median, 1 - low, p)


def _sides(runs: Sequence[Run], metric: Metric) -> tuple[dict[int, float], dict[int, float]]:
    """Return tuned and native times by pair, of pairs that are complete."""
    sides: dict[str, dict[int, float]] = {"native": {}, "tuned": {}}
    for r in runs:
        if r.value is not None and r.value > 0 and r.exit == 0:
            sides[r.kind][r.order // 2] = r.value
    both = sorted(set(sides["native"]) & set(sides["tuned"]))
    tuned, native = ({i: sides[k][i] for i in both} for k in ("tuned", "native"))
    return times_of(tuned, metric), times_of(native, metric)


def gain(runs: Sequence[Run], metric: Metric) -> GainInterval | None:
    tuned, native = _sides(runs, metric)
    if not tuned:
        return None
    ratio, ratios, p, _ = compare_times(tuned, native)
    return gain_of(ratio, ratios, p, metric)


def judged(runs: Sequence[Run], metric: Metric) -> Verdict:
    """Return the verdict on tuned runs against native ones.

    A gain of any size counts, where the test and the interval tell it from nothing.
    """
    tuned, native = _sides(runs, metric)
    if not tuned:
        return inconclusive("no pair of runs was made", f"missing: {FEWEST} pairs of runs")
    ratio, _, p, _ = compare_times(tuned, native)
    found = judge(ratio, p, ratio.n, "pair", busy=busy_before([r.others for r in runs]), least=0.0)
    unsure = ratio.low is None or ratio.high is None or ratio.low <= 1 <= ratio.high
    if found.outcome in ("faster", "slower") and unsure:
        return Verdict("inconclusive", f"the runs vary by more than the difference ({found.why})")
    return found

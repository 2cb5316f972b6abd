"""Verdicts: what tuning gained on the user's own command (``NAME.verdict.json``)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from stretto.files.document import Document
from stretto.files.identity import Host, Identity, MPIIdentity
from stretto.files.outcome import Outcome


@dataclass
class Metric:
    """What was compared.

    `pattern`: the regular expression that finds it in the command's output; None for wall time.
    """

    name: str = "wall time"
    unit: str = "s"
    better: Literal["lower", "higher"] = "lower"
    pattern: str | None = None


def as_typed(metric: Metric) -> str:
    if metric.pattern is None:
        return "wall time (no --metric)"
    out = f"--metric {shlex.quote(metric.pattern)}"
    if metric.better != Metric.better:
        out += f" --metric-better {metric.better}"
    return out + (f" --metric-unit {shlex.quote(metric.unit)}" if metric.unit else "")


def metric_name(metric: Metric) -> str:
    """Return what was compared, for people: a pattern such as ``speed: ([0-9.]+)`` is ``speed``."""
    if metric.pattern is None or metric.name != metric.pattern:
        return metric.name
    words = re.sub(r"\(.*|\[.*|\\[a-zA-Z][*+?]?", " ", metric.pattern)
    words = re.sub(r"[\^$*+?|\\]|[:=][\s*+?]*$", " ", words.strip())
    return " ".join(words.split()) or "the metric"


def is_time(metric: Metric) -> bool:
    """Return whether a metric is a time, of which "faster" and "takes longer" can be said."""
    timed = metric.unit in ("s", "ms", "us", "ns", "min", "h")
    return metric.pattern is None or (timed and metric.better == "lower")


@dataclass
class Run:
    """One run of the command; `order` counts all runs, `value` is the metric's value.

    `value` is None when the run failed or printed no value.
    """

    kind: Literal["native", "tuned"]
    order: int
    value: float | None
    wall_s: float
    exit: int
    #: ranks that said that they had Stretto, and calls of all ranks that it carried out
    ranks: int | None = None
    calls: int | None = None
    #: share of the processors' time that others used just before; None: not known
    others: float | None = None


ComparedOutcome = Literal["same", "times", "order", "differs", "varies", "unknown"]


@dataclass
class Compared:
    """What came of comparing one output of tuned runs with that of native ones.

    `outcome` is ``same`` (bit for bit), ``times`` (apart from lines that differ between native runs
    too, or look like times), ``order`` (the same lines, in an order that varies), ``differs``,
    ``varies`` (native runs differ among themselves too much to tell) or ``unknown`` (too few runs).
    """

    name: str
    outcome: ComparedOutcome
    detail: str = ""


@dataclass
class GainInterval:
    """A gain with its interval, as a fraction: 0.05 is 5% less time (or 5% more of the metric).

    `p` is the rank test's, None for a prediction or where no test could be made.
    """

    low: float
    median: float
    high: float
    p: float | None = None


@dataclass
class VerdictFile:
    """What was predicted, what was measured, and the conclusion in words.

    `conclusion`: sentences without full stops; the first one begins in lower case. `outcome` is of
    the measured runs; `missing` is what an inconclusive one lacks. `applied`: what the tuned runs
    have, in text: runs are added only where it is the same.
    """

    stretto: str
    created: str
    host: Host
    mpi: MPIIdentity
    command: list[str]
    metric: Metric
    runs: list[Run]
    predicted: GainInterval | None
    measured: GainInterval | None
    outputs_equal: bool | None
    conclusion: list[str]
    table: str | None = None
    profile: str | None = None
    bench: str | None = None
    #: what was compared, in words, and what came of it for each output (the same ones left out)
    outputs: str | None = None
    compared: list[Compared] = field(default_factory=list)
    outcome: Outcome = "inconclusive"
    missing: str = ""
    applied: str = ""
    #: the largest gain that tuning can cause, by the profile; None: not known
    limit: float | None = None
    #: that the measured gain is larger than that, in words; empty: it is not
    warning: str = ""

    @property
    def identity(self) -> Identity:
        return Identity(self.stretto, self.created, self.host, self.mpi)


def _problems(verdict: VerdictFile) -> Iterator[str]:
    if not verdict.conclusion:
        yield "the verdict has no conclusion"
    if len({r.order for r in verdict.runs}) != len(verdict.runs):
        yield "two runs have the same order number"
    if any(r.wall_s < 0 for r in verdict.runs):
        yield "a run has a negative wall time"
    for name, gain in (("predicted", verdict.predicted), ("measured", verdict.measured)):
        if gain is None:
            continue
        if not gain.low <= gain.median <= gain.high:
            yield f"the {name} gain is not low <= median <= high"
        if gain.p is not None and not 0 <= gain.p <= 1:
            yield f"the {name} gain has p = {gain.p}, which is not a probability"


DOCUMENT = Document("stretto-verdict", VerdictFile, "a verdict", "stretto tune -- CMD", _problems)
read_verdict, write_verdict = DOCUMENT.read, DOCUMENT.write

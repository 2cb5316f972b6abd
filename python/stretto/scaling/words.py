"""In words: the metric, why a run has no figure, and what other results are of."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from stretto.files.identity import titled
from stretto.files.io import read_text
from stretto.files.scale import WHAT, Kind, ScaleHeader, parse_scale
from stretto.files.verdict import Metric, as_typed
from stretto.launch.execute import Result
from stretto.launch.resize import RunPoint
from stretto.launch.said import telling
from stretto.tune import unchanged
from stretto.tune.words import ENDED

#: of a run that succeeded and counts for nothing all the same: the metric is to be mended
NO_FIGURE = "it ran, but "
_ANEW = "start again with --restart (the old file is kept), or give another --out"


def no_figure(metric: Metric, result: Result, value: float | None, option: str = "--metric") -> str:
    """Return why a run that succeeded has no figure, with what its output ends with.

    `value`: what was found; None: nothing, or no number.
    """
    said = result.stdout + "\n" + result.stderr
    found = re.findall(metric.pattern or "", said, re.MULTILINE)
    option = f"{option} {shlex.quote(metric.pattern or '')}"
    if value is not None:
        what = f"found {value:g} in its output, which is not a time, rate or energy"
        return f"{NO_FIGURE}{option} {what}"
    if found:
        return f"{NO_FIGURE}{option} found {_short(found[-1])} in its output, which is not a number"
    words = telling(result.stdout, width=300, end=True) or telling(result.stderr, end=True)
    end = f"its output ends with: {words}" if words else "it printed nothing at all"
    return f"{NO_FIGURE}{option} found nothing in its output; {end}"


def _short(text: str) -> str:
    return f"'{text}'" if len(text) <= 60 else f"'{text[:60]}...'"


def arguments_words(words: Sequence[str], failed: Sequence[tuple[RunPoint, Kind, str]]) -> str:
    """Return what to type where other numbers of ranks failed; empty where that is not the cause.

    `words`: the command as typed. `failed`: points without a successful run, and why.
    """
    marked = any(mark in w for w in words for mark in ("{n}", "{nodes}", "{ppn}"))
    if marked or not any(kind == "native" and why.startswith(ENDED) for _, kind, why in failed):
        return ""
    return (
        "if arguments of CMD depend on the number of ranks, write {n} for it there and after -n: "
        "mpirun -n {n} ./app --npx {n}"
    )


def refuse_other(path: Path, header: ScaleHeader, set_here: Collection[str] = ()) -> None:
    """Refuse results of another command, metric, MPI, energy or environment."""
    text = read_text(path, WHAT) if path.exists() else ""
    if "\n" not in text:
        return  # its first line was never finished: it is begun anew
    old = parse_scale(text, str(path)).header
    unchanged.refuse_other(
        (
            ("command", shlex.join(old.command), shlex.join(header.command)),
            ("metric", as_typed(old.metric), as_typed(header.metric)),
            ("MPI", titled(old.mpi), titled(header.mpi)),
            ("energy", old.energy or "not measured", header.energy or old.energy or "not measured"),
        ),
        f"{path}:1",
        _ANEW,
    )
    unchanged.refuse_other_environment(
        _without(old.environment, set_here), _without(header.environment, set_here), f"{path}:1",
        _ANEW,
    )  # fmt: skip


def _without(environ: Mapping[str, str] | None, names: Collection[str]) -> dict[str, str]:
    return {n: v for n, v in (environ or {}).items() if n not in names}

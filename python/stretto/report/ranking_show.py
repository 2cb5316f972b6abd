"""Rankings of all MPIs' algorithms, for people (text) and for programs (JSON)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from stretto.counted import counted, sized
from stretto.files.layout import RankLayout
from stretto.measure.show import columns, us
from stretto.measure.stats import FEWEST
from stretto.mpi.algorithms.base import FILES, PREFIX
from stretto.mpi.algorithms.pairs import job_words
from stretto.report import format as fmt
from stretto.report.ranking import (
    NOTHING_FASTER,
    Distance,
    Gap,
    RankedCall,
    Ranking,
    RankingEntry,
    default_of,
    fastest,
)

#: settings that force an algorithm are printed for so many
MOST_FORCED = 4


def place_words(place: RankedCall, mode: str, each: bool = False) -> str:
    """Return a place in words: ``allreduce of 8 B (MPI_DOUBLE MPI_SUM) on 4 x 36, latency``.

    `each`: without the size.
    """
    size = "" if each or place.collective == "barrier" else f" of {sized(place.bytes)}"
    shape = f" ({place.shape})" if place.shape.strip() else ""
    root = f", root {place.root}" if place.root else ""
    where = RankLayout(place.nodes, place.ppn, place.nranks).explained
    return f"{place.collective}{size}{shape}{root} on {where}, {mode}"


def entry_lines(ranking: Ranking) -> list[str]:
    first = fastest(ranking.entries).beside_us
    rows = [("", "MPI", "algorithm", "us", "95 %", "x default", "x best", "launches")]
    for e in ranking.entries:
        default = default_of(ranking.entries, e.mpi)
        low, high = e.time.low, e.time.high
        rows.append(
            (
                ("*" if e is default else "") + ("?" if e.few else ""),
                e.mpi,
                e.label + (" (simulated)" if e.simulated else ""),
                us(e.time.median),
                "" if low is None or high is None else f"{us(low)} to {us(high)}",
                "" if default is None else _ratio(e, default.time.median, e is default),
                _ratio(e, first, e.beside_us == first),
                str(e.time.n),
            )
        )
    return [place_words(ranking.place, ranking.mode), *columns(rows, 3)]


def _ratio(entry: RankingEntry, to_us: float, itself: bool) -> str:
    return f"{entry.beside_us / to_us:.2f}" if itself or not entry.few else "not tested"


def gap_words(gap: Gap, default: RankingEntry) -> str:
    """Say a gap: ``x1.42 of tuned ring, 42 % slower (p=0.002)``."""
    if not gap.known:
        return gap.verdict.why
    if gap.best is default:
        if not gap.verdict.tested:
            return _verdict(gap)
        return "is the best" + ("" if gap.verdict.why == NOTHING_FASTER else f", {_verdict(gap)}")
    name = best_name(gap, default)
    if not gap.verdict.tested:
        return f"{name} {us(gap.best.time.median)} us (default: {untested(gap, default)})"
    return f"x{gap.ratio:.2f} of {name}, {_verdict(gap)}"


def best_name(gap: Gap, default: RankingEntry) -> str:
    own = gap.best.mpi == default.mpi
    return gap.best.label if own else f"{gap.best.mpi}'s {gap.best.label}"


def untested(gap: Gap, default: RankingEntry) -> str:
    """Say a ratio that no test was made of: ``3.94 times as long in one launch, not tested``."""
    digits = 2 if gap.ratio < 10 else 1
    return f"{gap.ratio:.{digits}f} times as long in {_launches(gap, default)}, not tested"


def ratio_words(gap: Gap, default: RankingEntry) -> str:
    """Return a ratio alone, marked where no test was made of it."""
    if not gap.known:
        return fmt.NONE
    if gap.best is default and not gap.verdict.tested:
        return "not tested"
    return fmt.ratio(gap.ratio) + ("" if gap.verdict.tested else " (not tested)")


def _launches(gap: Gap, default: RankingEntry) -> str:
    """Return in how many launches a default and something faster were measured."""
    own = gap.best.mpi == default.mpi
    n = gap.best.common if own else min(gap.best.time.n, default.time.n)
    return {0: "different launches", 1: "one launch"}.get(n, counted(n, "launch"))


def _verdict(gap: Gap) -> str:
    untold = gap.verdict.outcome == "inconclusive"
    return f"inconclusive: {gap.verdict.words}" if untold else gap.verdict.words


def _called(entry: RankingEntry) -> str:
    return f"{entry.mpi} (simulated)" if entry.simulated else entry.mpi


def distance_lines(ranking: Ranking) -> list[str]:
    """Return how far each MPI's default is from its own best and from the best of all.

    Where an MPI's default was not measured, its fastest stands in its place.
    """
    out = []
    for d in ranking.distances:
        gaps = (
            f"own best and best of all: {gap_words(d.own, d.default)}"
            if d.own.best is d.every.best and d.own.known
            else f"own best: {gap_words(d.own, d.default)}; "
            f"best of all: {gap_words(d.every, d.default)}"
        )
        out.append(f"  {_called(d.default)}: default {us(d.default.time.median)} us; {gaps}")
    return out + _without_default(ranking)


def _without_default(ranking: Ranking) -> list[str]:
    out = []
    known = {d.mpi for d in ranking.distances}
    for mpi in dict.fromkeys(e.mpi for e in ranking.entries if e.mpi not in known):
        e = fastest(e for e in ranking.entries if e.mpi == mpi)
        are = "launch is" if e.common == 1 else "launches are"
        few = f", {e.common} {are} too few" if e.few else ""
        out.append(
            f"  {mpi}: native was not measured; fastest: {e.label}, {us(e.time.median)} us{few}"
        )
    out += [f"  {mpi}: not measured in {ranking.mode} here (--mode)" for mpi in ranking.missing]
    return out


def _cells(gap: Gap, default: RankingEntry) -> list[str]:
    """Return a gap in a table: what is best, its time, the ratio, and what the test says."""
    if not gap.known:
        return ["not measured", "", "", ""]
    says = gap.verdict.outcome if gap.verdict.tested else "not tested"
    if gap.best is default:
        return ["default", us(default.time.median), "", says]
    return [best_name(gap, default), us(gap.best.time.median), f"x{gap.ratio:.2f}", says]


def _sizes_table(rankings: Sequence[Ranking]) -> list[str]:
    """Return one table of all sizes of a call: each default, and what is best."""
    pairs = [(r, d) for r in rankings for d in r.distances]
    # without algorithms of their own only the best of all says something
    own = any(d.own.known for _, d in pairs)
    every = not own or any(d.own.best is not d.every.best for _, d in pairs)
    head = ["bytes", "MPI", "default us"]
    head += ["own best" if every else "fastest", "us", "default /", "test"] if own else []
    head += ["best of all", "us", "default /", "test"] if every else []
    rows = [head]
    why: list[str] = []
    for r, d in pairs:
        row = [sized(r.place.bytes), _called(d.default), us(d.default.time.median)]
        shown = [d.own] * own + [d.every] * every
        rows.append(row + [cell for gap in shown for cell in _cells(gap, d.default)])
        for gap in shown:
            if gap.known and gap.verdict.outcome == "inconclusive":
                word = "inconclusive" if gap.verdict.tested else "not tested"
                why.append(f"{word}: {gap.verdict.words}")
    out = [place_words(rankings[0].place, rankings[0].mode, each=True)]
    out += columns(rows, 2) if pairs else []
    for r in rankings:
        size = "" if r.place.collective == "barrier" else f"  {sized(r.place.bytes)}:"
        out += [f"{size}{line[1:]}" for line in _without_default(r)]
    return [*out, *dict.fromkeys(why)]


def forcing(rankings: Sequence[Ranking]) -> list[str]:
    """Return how a job gets the MPIs' own algorithms that look faster than their defaults."""
    out = []
    for r in rankings:
        for d in r.distances:
            best = d.own.best
            faster = d.own.verdict.outcome == "slower" or not d.own.verdict.tested
            if d.own.known and best is not d.default and faster and best.candidate != FILES:
                words = job_words(best.candidate.removeprefix(PREFIX))
                out.append(f"to force {best.label} for {r.place.collective} at all sizes: {words}")
    found = list(dict.fromkeys(out))
    rest = len(found) - MOST_FORCED
    return found[:MOST_FORCED] + ([f"and {rest} more (--json has all settings)"] * (rest > 0))


def _two_defaults(ranking: Ranking) -> bool:
    alone = len(ranking.distances) == len(ranking.entries) == 2
    return alone and not ranking.missing and not ranking.simulated


def _over_sizes(rankings: Sequence[Ranking]) -> list[str]:
    """Return one table of all sizes of a call, where two defaults are all that was measured."""
    names = sorted(d.mpi for d in rankings[0].distances)
    rows: list[tuple[str, ...]] = [("bytes", "A us", "B us", "B / A")]
    why: list[str] = []
    for r in rankings:
        a, b = sorted(r.distances, key=lambda d: d.mpi)
        behind = b if b.every.best is a.default else a
        verdict, ratio = behind.every.verdict, behind.every.ratio
        word: str = verdict.outcome if verdict.tested else "not tested"
        if verdict.outcome in ("slower", "faster"):
            word = f"{ratio if behind is b else 1 / ratio:.2f}"
        elif verdict.outcome == "inconclusive":
            why.append(f"{word}: {verdict.words}")
        times = [us(d.default.time.median) for d in (a, b)]
        rows.append((sized(r.place.bytes), *times, word))
    legend = [f"  {letter}: {name}" for letter, name in zip("AB", names, strict=True)]
    head = place_words(rankings[0].place, rankings[0].mode, each=True)
    return [head, *legend, *columns(rows, 0), *dict.fromkeys(why)]


def _of_whom(gap: Gap, d: Distance) -> str:
    """Return the best algorithm, with its MPI where that is another one."""
    return gap.best.label if gap.best.mpi == d.mpi else f"{gap.best.label} of {gap.best.mpi}"


def answer(rankings: Sequence[Ranking]) -> str:
    """Return the answer in one sentence: the default that loses most, as far as that was tested."""
    found = [(d.every, d, r) for r in rankings for d in r.distances if d.every.verdict.tested]
    slower = [f for f in found if f[0].verdict.outcome == "slower"]
    if slower:
        gap, d, ranking = max(slower, key=lambda f: f[0].ratio)
        best = _of_whom(gap, d)
        return (
            f"{call_words(ranking.place)}: the default of {d.mpi} takes {gap.ratio:.2f} times as "
            f"long as {best}."
        )
    every = [d.every for r in rankings for d in r.distances]
    if not every:
        return "No MPI's default was measured, so nothing is compared with it."
    if len(found) == len(every) and not any(g.verdict.outcome == "inconclusive" for g in every):
        return "No default is slower than anything that was measured."
    rivals = [(d.every, d, r) for r in rankings for d in r.distances
              if not d.every.verdict.tested and d.every.best is not d.default
              and d.every.best.time.median < d.default.time.median]  # fmt: skip
    if rivals:
        gap, d, ranking = max(rivals, key=lambda f: f[0].ratio)
        best = _of_whom(gap, d)
        return (
            f"{call_words(ranking.place)}: {best} is the fastest with {us(gap.best.time.median)} "
            f"us. The default of {d.mpi} takes {us(d.default.time.median)} us: "
            f"{untested(gap, d.default)}."
        )
    why = next(g.verdict.words for g in every if not g.verdict.tested or g.verdict.outcome
               == "inconclusive")  # fmt: skip
    return f"Inconclusive: {why}."


def facts(rankings: Sequence[Ranking]) -> list[tuple[str, str]]:
    gaps = [d.every.verdict for r in rankings for d in r.distances]
    kinds = {"slower": "slower than the best", "same": "as fast", "inconclusive": "inconclusive"}
    words = [
        f"{number} {name}"
        for kind, name in kinds.items()
        if (number := sum(v.outcome == kind for v in gaps))
    ]
    entries = {(e.mpi, e.candidate) for r in rankings for e in r.entries}
    where = list(dict.fromkeys(f"{r.place.nodes} x {r.place.ppn}" for r in rankings))
    more = f" and {len(where) - 4} more" if len(where) > 4 else ""
    done = "simulated" if all(r.simulated for r in rankings) else "measured"
    return [
        ("defaults", ", ".join(words) or "not measured"),
        (done, f"{counted(len(entries), 'algorithm')} in {counted(len(rankings), 'call')}"),
        ("nodes x ranks", ", ".join(where[:4]) + more),
    ]


def call_words(place: RankedCall) -> str:
    """Return a call in short: ``MPI_Bcast of 1 MiB on 4 x 36``."""
    size = "" if place.collective == "barrier" else f" of {fmt.size(place.bytes)}"
    return f"MPI_{place.collective.capitalize()}{size} on {place.nodes} x {place.ppn}"


def lines(rankings: Sequence[Ranking], whole: bool) -> list[str]:
    """Return all as text.

    `rankings`: in the order of the places.
    """
    out: list[str] = []
    calls = groupby(
        rankings, key=lambda r: (replace(r.place, bytes=0), r.mode, {d.mpi for d in r.distances})
    )
    for _, same in calls:
        of_call = [*same]
        if not whole and all(map(_two_defaults, of_call)):
            out += [*_over_sizes(of_call), ""]
            continue
        if not whole:
            out += [*_sizes_table(of_call), ""]
            continue
        for ranking in of_call:
            out += [*entry_lines(ranking), *distance_lines(ranking), ""]
    if forced := forcing(rankings):
        out += [*forced, ""]
    if whole:
        out.append(
            "* default of the MPI; x default: time relative to that default, over launches or "
            "rounds that both have"
        )
        if any(e.few for r in rankings for e in r.entries):
            out.append(
                f"? fewer than {FEWEST} of these: shown as best only if no candidate has {FEWEST}"
            )
    return out


def as_json(rankings: Sequence[Ranking]) -> list[dict[str, Any]]:
    return [
        {
            **vars(r.place),
            "mode": r.mode,
            "simulated": r.simulated,
            "entries": [_entry_json(r, e) for e in r.entries],
            "defaults": [_distance_json(d) for d in r.distances],
            "not_measured_in_this_mode": list(r.missing),
        }
        for r in rankings
    ]


def _entry_json(ranking: Ranking, e: RankingEntry) -> dict[str, Any]:
    default = default_of(ranking.entries, e.mpi)
    return {
        "mpi": e.mpi,
        "candidate": e.candidate,
        "label": e.label,
        "kind": e.kind,
        "default": e is default,
        "median_us": e.time.median,
        "low_us": e.time.low,
        "high_us": e.time.high,
        "launches": e.time.n,
        "common_launches": e.common,
        "to_default": None if default is None else e.beside_us / default.time.median,
        "to_best": e.beside_us / fastest(ranking.entries).beside_us,
        "source": "simulated" if e.simulated else "measured",
    }


def _distance_json(d: Distance) -> dict[str, Any]:
    return {
        "mpi": d.mpi,
        "default_us": d.default.time.median,
        "simulated": d.default.simulated,
        **{
            key: {
                "mpi": gap.best.mpi,
                "candidate": gap.best.candidate if gap.known else None,
                "ratio": gap.ratio if gap.verdict.tested else None,
                "outcome": gap.verdict.outcome,
                "why": gap.verdict.why,
                "missing": gap.verdict.missing,
            }
            for key, gap in (("own_best", d.own), ("best_of_all", d.every))
        },
    }

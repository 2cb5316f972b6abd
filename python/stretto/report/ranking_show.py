"""Rankings of all MPIs' algorithms, for people (text) and for programs (JSON)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from stretto.counted import counted, sized
from stretto.measure.show import columns, us
from stretto.measure.stats import FEWEST
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


def place_words(place: RankedCall, mode: str, each: bool = False) -> str:
    """Return a place in words: ``allreduce of 8 B (MPI_DOUBLE MPI_SUM) on 4 x 36, latency``.

    `each`: without the size.
    """
    size = "" if each or place.collective == "barrier" else f" of {sized(place.bytes)}"
    shape = f" ({place.shape})" if place.shape.strip() else ""
    ranks = "" if place.nranks == place.nodes * place.ppn else f", {place.nranks} ranks"
    root = f", root {place.root}" if place.root else ""
    where = f"{place.nodes} x {place.ppn} (nodes x ranks{ranks})"
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
    name = gap.best.label if gap.best.mpi == default.mpi else f"{gap.best.mpi}'s {gap.best.label}"
    if not gap.verdict.tested:
        return f"{name} looks fastest, {_verdict(gap)}"
    return f"x{gap.ratio:.2f} of {name}, {_verdict(gap)}"


def _verdict(gap: Gap) -> str:
    untold = gap.verdict.outcome == "inconclusive"
    return f"inconclusive: {gap.verdict.words}" if untold else gap.verdict.words


def distance_lines(ranking: Ranking) -> list[str]:
    """Return how far each MPI's default is from its own best and from the best of all.

    Where an MPI's default was not measured, its fastest stands in its place.
    """
    out = []
    for d in ranking.distances:
        model = " (simulated)" if d.default.simulated else ""
        out.append(
            f"  {d.mpi}{model}: default {us(d.default.time.median)} us; own best: "
            f"{gap_words(d.own, d.default)}; best of all: {gap_words(d.every, d.default)}"
        )
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
        rows.append((str(r.place.bytes), *times, word))
    legend = [f"  {letter}: {name}" for letter, name in zip("AB", names, strict=True)]
    head = place_words(rankings[0].place, rankings[0].mode, each=True)
    return [head, *legend, *columns(rows, 0), *dict.fromkeys(why)]


def answer(rankings: Sequence[Ranking]) -> str:
    """Return the answer in one sentence: the default that loses most, as far as that was tested."""
    found = [(d.every, d, r) for r in rankings for d in r.distances if d.every.verdict.tested]
    slower = [f for f in found if f[0].verdict.outcome == "slower"]
    if slower:
        gap, d, ranking = max(slower, key=lambda f: f[0].ratio)
        best = gap.best.label if gap.best.mpi == d.mpi else f"{gap.best.label} of {gap.best.mpi}"
        return (
            f"{call_words(ranking.place)}: the default of {d.mpi} takes {gap.ratio:.2f} times as "
            f"long as {best}."
        )
    every = [d.every for r in rankings for d in r.distances]
    if not every:
        return "No MPI's default was measured, so nothing is compared with it."
    if len(found) == len(every) and not any(g.verdict.outcome == "inconclusive" for g in every):
        return "No default is slower than anything that was measured."
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
        for ranking in of_call:
            head = entry_lines(ranking)
            out += [*(head if whole else head[:1]), *distance_lines(ranking), ""]
    if whole:
        out.append(
            "* the MPI's default; x default: time / that of this MPI's default, over launches or "
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

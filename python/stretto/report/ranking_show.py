"""Rankings of all MPIs' algorithms, for people (text) and for programs (JSON)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stretto.measure.show import columns, size_words, us
from stretto.measure.stats import FEWEST
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


def place_words(place: RankedCall, mode: str) -> str:
    """Return a place in words: ``allreduce of 8 B (MPI_DOUBLE MPI_SUM) on 4 x 36, latency``."""
    size = "" if place.collective == "barrier" else f" of {size_words(place.bytes)} B"
    shape = f" ({place.shape})" if place.shape.strip() else ""
    ranks = "" if place.nranks == place.nodes * place.ppn else f", {place.nranks} ranks"
    root = f", root {place.root}" if place.root else ""
    where = f"{place.nodes} x {place.ppn} (nodes x ranks{ranks})"
    return f"{place.collective}{size}{shape}{root} on {where}, {mode}"


def entry_lines(ranking: Ranking) -> list[str]:
    first = fastest(ranking.entries).beside_us
    rows = [("", "MPI", "algorithm", "us", "95%", "x default", "x best", "launches")]
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
    """Say a gap: ``x1.42 of tuned ring, 42% slower (p=0.002)``."""
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
            f"  {mpi}: what it does by itself was not measured; "
            f"fastest: {e.label}, {us(e.time.median)} us{few}"
        )
    out += [f"  {mpi}: not measured in {ranking.mode} here (--mode)" for mpi in ranking.missing]
    return out


def lines(rankings: Sequence[Ranking], whole: bool) -> list[str]:
    """Return all as text.

    `rankings`: in the order of the places.
    """
    out: list[str] = []
    for ranking in rankings:
        head = entry_lines(ranking)
        out += [*(head if whole else head[:1]), *distance_lines(ranking), ""]
    if whole:
        out.append(
            "* the MPI's default; x default: time / that of this MPI's default, over launches or "
            "rounds that both have"
        )
        if any(e.few for r in rankings for e in r.entries):
            out.append(
                f"? fewer than {FEWEST} of these: the best only where nothing else has as many"
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

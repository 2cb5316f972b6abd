"""From the samples of bench files to points, and from tables to what is chosen at each of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from stretto.files.bench import Bench, Excluded, standing_exclusions
from stretto.files.layout import RankLayout
from stretto.files.table import Table
from stretto.report import format as fmt
from stretto.report.points import NATIVE, CandidatePoint, Panel
from stretto.report.stats import MedianInterval, estimate

_Key = tuple[str, str, RankLayout, int, str, str, str]
_Place = tuple[str, RankLayout]
_Launches = dict[tuple[int, int], list[float]]
Failed = dict[_Place, dict[str, str]]


def points_of(benches: Sequence[Bench]) -> tuple[list[CandidatePoint], Failed]:
    """Sum samples up into points; name the candidates that gave none."""
    key: _Key
    times: dict[_Key, _Launches] = defaultdict(lambda: defaultdict(list))
    wrong: set[_Key] = set()
    wanted: dict[_Place, set[str]] = defaultdict(set)
    dropped: dict[_Place, dict[str, str]] = defaultdict(dict)
    for number, bench in enumerate(benches):
        where = {q.launch: RankLayout(q.nodes, q.ppn, q.nranks) for q in bench.launches}
        for launch in bench.launches:
            for collective, names in launch.candidates.items():
                wanted[(collective, where[launch.launch])] |= set(names)
        for s in bench.samples:
            variant = ", ".join(v for v in (s.datatype, s.operation) if v)
            variant += f", root {s.root}" if s.root else ""
            variant += f", {s.pattern}" if s.pattern else ""
            key = (s.collective, s.candidate, where[s.launch], s.bytes, s.mode, variant, s.source)
            times[key][(number, s.launch)] += s.times_us
            if not s.correct:
                wrong.add(key)
        for e in standing_exclusions(bench.records).values():
            # its times are shown, and no decision rests on them
            dropped[(e.collective, where[e.launch])][e.candidate] = _why(e)
    out: list[CandidatePoint] = []
    got: dict[_Place, set[str]] = defaultdict(set)
    bad: dict[_Place, set[str]] = defaultdict(set)
    for key, by_launch in times.items():
        collective, candidate, layout, number, mode, variant, source = key
        if source == "simulated" and (*key[:-1], "measured") in times:
            continue  # what was measured needs no model
        found = estimate(list(by_launch.values()))
        if found is None:
            continue
        got[(collective, layout)].add(candidate)
        if key in wrong:
            bad[(collective, layout)].add(candidate)
        out.append(
            CandidatePoint(
                collective,
                candidate,
                layout,
                number,
                mode,
                found,
                source,
                key not in wrong,
                variant,
                _relative(by_launch, times.get((collective, NATIVE, *key[2:]), {})),
            )
        )
    failed: Failed = {}
    for place, candidates in wanted.items():
        failed[place] = {
            **{n: "gave no time" for n in sorted(candidates - got[place])},
            **{n: why for n, why in dropped[place].items() if n in candidates},
            **{n: "gave wrong results" for n in sorted(bad[place])},
        }
    return out, failed


def _why(excluded: Excluded) -> str:
    words = {
        "refused": "was refused", "wrong": "gave wrong results", "hung": "hung",
        "failed": "failed", "not_done": "was left to the MPI",
    }  # fmt: skip
    detail = f": {excluded.detail.strip().rstrip('.')}" if excluded.detail.strip() else ""
    at = "" if excluded.collective == "barrier" else f" at {fmt.size(excluded.bytes)}"
    return f"{words[excluded.reason]}{at}{detail}"


def _relative(mine: _Launches, native: _Launches) -> MedianInterval | None:
    """Return the ratio to native, launch by launch.

    What makes one launch slower than another (placement, the machine's mood) touches both of its
    candidates; in their ratio it cancels.
    """
    ratios = []
    for launch in sorted(mine.keys() & native.keys()):
        base = float(np.median(native[launch]))
        if base > 0:
            ratios.append([float(np.median(mine[launch])) / base])
    return estimate(ratios)


def choose(panel: Panel, tables: Sequence[Table]) -> None:
    """Fill in what the first table that knows of it chooses at each size of a panel."""
    for number in panel.sizes:
        for table in tables:
            row = table.find(panel.collective, panel.layout.nodes, panel.layout.ppn, number)
            if row is not None:
                panel.chosen[number] = row.choice
                break

"""Two systems side by side: the page of ``stretto report A B``."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import Any

from stretto.files.layout import RankLayout
from stretto.report import facts, findings, page
from stretto.report import format as fmt
from stretto.report.breakdown import breakdown
from stretto.report.figures import compare as draw
from stretto.report.figures.runs import dots_of_both
from stretto.report.load import System
from stretto.report.page import Head, PageFiles
from stretto.report.points import NATIVE, CandidatePoint, Panel
from stretto.report.render import Figure
from stretto.report.tables import importance


@dataclass
class SystemsCompared:
    """What the page of two systems shows."""

    systems: tuple[System, System]
    same_layout: bool
    runs: list[Figure]
    time: list[Figure]
    latency: list[Figure]
    rows: list[dict[str, Any]]
    finding: str
    notes: list[str]

    @property
    def names(self) -> tuple[str, str]:
        return (self.systems[0].name, self.systems[1].name)

    @property
    def simulated(self) -> bool:
        return any(s.simulated for s in self.systems)

    @property
    def figures(self) -> list[Figure]:
        return [*self.runs, *self.time, *self.latency]


def _pairs(a: System, b: System) -> tuple[list[tuple[Panel, Panel]], bool]:
    """Return panels to compare: of the largest layout that both have, else of each one's own."""
    here, there = ({(p.layout, p.collective, p.mode) for p in s.panels} for s in (a, b))
    shared = {layout for layout, *_ in here & there}
    same = bool(shared)
    own: tuple[RankLayout | None, RankLayout | None] = (a.layout, b.layout)
    if shared:
        largest = max(shared, key=lambda q: (q == a.layout, q == b.layout, q.nranks, q))
        own = (largest, largest)
    key = importance(a)
    left = {(p.collective, p.mode, p.variant): p for p in a.panels if p.layout == own[0]}
    right = {(p.collective, p.mode, p.variant): p for p in b.panels if p.layout == own[1]}
    found = {k: k for k in left.keys() & right.keys()}
    # a sum here and a maximum there may still be compared, when nothing closer is there
    for k in sorted(left.keys() - found.keys()):
        others = [o for o in sorted(right) if o[:2] == k[:2] and o not in found.values()]
        if others and not any(f[:2] == k[:2] for f in found):
            found[k] = others[0]
    keys = sorted(found, key=lambda k: (key(k[0]), k[1:]))
    return [(left[k], right[found[k]]) for k in keys], same


def build(a: System, b: System) -> SystemsCompared:
    pairs, same = _pairs(a, b)
    names = (a.name, b.name)
    notes = []
    if pairs and not same:
        notes.append(
            f"The layouts differ: {a.name} was measured on {fmt.layout(pairs[0][0].layout)}, "
            f"{b.name} on {fmt.layout(pairs[0][1].layout)}. Their times are for different numbers "
            "of ranks."
        )
    notes += [
        f"{p.collective}: {a.name} was measured with {p.variant or 'no data'}, "
        f"{b.name} with {q.variant or 'no data'} ({p.mode})."
        for p, q in pairs
        if p.variant != q.variant
    ]
    commands = {shlex.join(s.verdict.command) for s in (a, b) if s.verdict}
    if len(commands) > 1:
        notes.append("The commands differ: " + "; ".join(sorted(commands)) + ".")
    notes += [f"{s.name}: {n}" for s in (a, b) for n in findings.notes(s)]
    runs = dots_of_both((a.verdict, b.verdict), names) if a.verdict and b.verdict else None
    time = []
    if a.profile and b.profile:
        time.append(draw.times([breakdown(a.profile), breakdown(b.profile)], names))
    rows = [row for pair in pairs for row in _rows(*pair)]
    return SystemsCompared(
        (a, b),
        same,
        [runs] if runs else [],
        time,
        [f for p in pairs if (f := draw.latency(*p, names))],
        rows,
        _finding(a, b, rows),
        notes,
    )


def _rows(a: Panel, b: Panel) -> list[dict[str, Any]]:
    out = []
    for number in sorted(set(a.sizes) & set(b.sizes)):
        native = [p.point(NATIVE, number) for p in (a, b)]
        tuned = [p.choice_at(number) for p in (a, b)]
        native_ratio, native_words = _ratio(*native)
        tuned_ratio, tuned_words = _ratio(*tuned)
        out.append(
            {
                "collective": a.collective,
                "bytes": number,
                "mode": a.mode,
                "native_us": [p and p.estimate.median for p in native],
                "tuned_us": [p and p.estimate.median for p in tuned],
                "choices": [p.chosen.get(number) or "" for p in (a, b)],
                "native_ratio": native_ratio,
                "native_words": native_words,
                "tuned_ratio": tuned_ratio,
                "tuned_words": tuned_words,
                "simulated": a.simulated or b.simulated,
            }
        )
    return out


def _ratio(a: CandidatePoint | None, b: CandidatePoint | None) -> tuple[float | None, str]:
    """Return the second's time / the first's, and what may be said of it.

    Two 95 % intervals that do not overlap are a test, and a strict one. Without it there is no
    ratio, and where they overlap none that means something.
    """
    if a is None or b is None or a.estimate.median <= 0:
        return None, ""
    kinds = {a.estimate.kind, b.estimate.kind}
    if kinds != {"launches"} and not (len(kinds) == 1 and a.simulated and b.simulated):
        return None, "not tested"
    apart = a.estimate.high < b.estimate.low or b.estimate.high < a.estimate.low
    return (b.estimate.median / a.estimate.median, "") if apart else (None, "alike")


def _finding(a: System, b: System, rows: list[dict[str, Any]]) -> str:
    if not rows:
        held = "; ".join(f"{s.name}: {_held(s)}" for s in (a, b))
        return f"{a.name} and {b.name} have no measured point in common. {held}."
    parts = []
    for kind in ("native", "tuned"):
        known = [r for r in rows if r[f"{kind}_ratio"] or r[f"{kind}_words"]]
        ratios = [r[f"{kind}_ratio"] for r in known if r[f"{kind}_ratio"]]
        if not known:
            continue
        faster, slower = sum(q < 1 for q in ratios), sum(q > 1 for q in ratios)
        untested = sum(r[f"{kind}_words"] == "not tested" for r in known)
        words = [f"faster at {faster}", f"slower at {slower}"]
        words.append(f"no clear difference at {len(known) - faster - slower - untested}")
        words += [f"not tested at {untested}"] if untested else []
        said = [w for w in words if not w.endswith(" 0")]
        said[-1] += f" of {fmt.plural(len(known), 'point')}"
        parts.append(f"{kind} {', '.join(said)}")
    if not parts:
        return (
            f"{a.name} and {b.name} share {fmt.plural(len(rows), 'size')}, but neither native nor "
            "a table's choice was measured there on both."
        )
    text = f"{b.name} against {a.name}: " + "; ".join(parts)
    model = [r["simulated"] for r in rows]
    if any(model):
        text += f"; {'all' if all(model) else 'some'} of it simulated"
    return f"{text}."


def _held(system: System) -> str:
    """Return what was measured, and on which MPI and machine."""
    names = ", ".join(sorted({p.collective for p in system.panels})) or "no collective"
    layouts = ", ".join(fmt.layout(q) for q in sorted({p.layout for p in system.panels}))
    words = f"{names} on {layouts}" if layouts else names
    return f"{words} ({origin})" if (origin := facts.origin(system)) else words


def _side_by_side(both: SystemsCompared) -> list[tuple[str, list[str]]]:
    columns = []
    for s in both.systems:
        found = [("verdict", findings.headline(s)[0])]
        columns.append(dict(found + facts.gain_facts(s) + facts.identity(s)))
    order = list(dict.fromkeys([*columns[0], *columns[1]]))
    return [(name, [c.get(name, fmt.NONE) for c in columns]) for name in order]


def _directory(system: System) -> str:
    return os.path.relpath(os.path.commonpath([f.path.parent.absolute() for f in system.files]))


def write(both: SystemsCompared, to: PageFiles) -> list[str]:
    """Write the page and the charts that were asked for; return their paths."""
    sections = (
        ("systems", "Systems", True), ("application", "Application", both.runs),
        ("time", "Time", both.time),
        ("latency", "Latency", both.latency), ("numbers", "Numbers", both.rows),
        ("method", "Method", True),
    )  # fmt: skip
    head = Head(
        "report",
        " compared with ".join(both.names),
        both.finding,
        sections,
        [(s.name, dict(facts.facts_of(s)).get("where", s.machine)) for s in both.systems],
        following=f"stretto report {shlex.quote(_directory(both.systems[1]))}",
        warnings=[f"{s.name}: {n}" for s in both.systems for n in findings.busy_notes(s)[:1]],
        simulated=both.simulated,
    )
    return page.write(
        "compare.html.j2", head, both.figures, to,
        c=both, facts=_side_by_side(both), directories=[_directory(s) for s in both.systems],
    )  # fmt: skip


def summary(both: SystemsCompared) -> dict[str, Any]:
    return {
        "verdict": both.finding,
        "kind": "comparison",
        "systems": list(both.names),
        "same_layout": both.same_layout,
        "simulated": both.simulated,
        "points": both.rows,
        "notes": both.notes,
        "figures": [f.name for f in both.figures],
    }

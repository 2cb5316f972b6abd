"""What stands behind a row of a table: as the words of its evidence, and as people are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stretto.counted import size_range, sized
from stretto.files.table import WITHOUT_SIZE, Row
from stretto.measure.compare import BARE, NATIVE, Comparison
from stretto.measure.settings import REDUCTIONS, ROOTED
from stretto.measure.stats import geometric_mean


def evidence_of(
    choice: str, measured: Sequence[int], found: Sequence[Comparison], source: str
) -> dict[str, str]:
    """Return what stands behind a row: the weakest of its sizes, the mean of its ratios.

    `found`: at these sizes, the worst shape of the choice; of native, of all candidates.
    """
    if not measured or not found:
        return {} if not measured else {"ratio": "1", "source": source}
    sizes = ",".join(map(str, measured))
    launches = str(min(c.launches for c in found))
    if choice == NATIVE:
        out = {"ratio": "1", "launches": launches, "source": source, "sizes": sizes}
        # of what a campaign dropped after a launch or two no test can be made: luck is no best
        if tested := [c for c in found if c.verdict.tested]:
            least = min(tested, key=lambda c: c.ratio.median)
            out["launches"] = str(min(c.launches for c in tested))
            out |= {"best": least.candidate, "best_ratio": f"{least.ratio.median:.3f}"}
        return out
    less = sorted({c.cell.bytes for c in found if c.outcome != "faster"})
    proven = [c for c in found if c.cell.bytes not in less] or list(found)
    lows = [c.ratio.low if c.ratio.low is not None else c.ratio.median for c in found]
    highs = [c.ratio.high if c.ratio.high is not None else c.ratio.median for c in found]
    out = {
        "ratio": f"{geometric_mean([c.ratio.median for c in found]):.3f}",
        "low": f"{min(lows):.3f}",
        "high": f"{max(highs):.3f}",
        "p": f"{max(c.q if c.q is not None else 1.0 for c in proven):.2g}",
        "launches": launches,
        "source": source,
        "sizes": sizes,
        "modes": "+".join(sorted({c.cell.mode for c in found})),
    }
    if less:
        # one choice for all sizes gains nothing there and loses nothing; any other is faster by the
        # fit over sizes and layouts, and half of the launches here agree
        of_all = {c.cell.collective for c in found} & set(WITHOUT_SIZE)
        out["harmless" if of_all else "by_fit"] = ",".join(map(str, less))
    return out


def shapes_of(behind: Sequence[Comparison]) -> dict[str, str]:
    """Return datatypes, operations and roots that were measured, and the baseline where not native.

    Profiles do not tell roots: rooted collectives are measured with the first and the last.
    """
    out: dict[str, str] = {}
    kinds = {(c.cell.datatype, c.cell.operation) for c in behind if c.cell.collective in REDUCTIONS}
    if kinds:
        out["types"] = "+".join(sorted(f"{d}/{o}" for d, o in kinds))
    if any(c.cell.collective in ROOTED for c in behind):
        out["roots"] = "+".join(str(r) for r in sorted({c.cell.root for c in behind}))
        out["roots_used"] = "unknown"
    if patterns := sorted({c.cell.pattern for c in behind if c.cell.pattern}):
        out["pattern"] = "+".join(patterns)
    if any(c.baseline == BARE for c in behind):
        out["baseline"] = BARE
    return out


def rows_lines(rows: Sequence[Row]) -> list[str]:
    """Return the rows of a table that change something, for people; empty where none does."""
    layouts = {(r.nodes, r.ppn) for r in rows}
    out = []
    for r in rows:
        if r.choice == NATIVE:
            continue
        where = f"{r.nodes}x{r.ppn} " if len(layouts) > 1 else ""
        sizes = "" if r.collective == "barrier" else f"{size_range(r.low, r.high)}: "
        e, words = r.evidence, ""
        words += f" ({e['low']} to {e['high']})" if "low" in e else ""
        words += f", p={e['p']}" if "p" in e else ""
        if "launches" in e:  # text, as a table's evidence has it
            words += f", {e['launches']} {'launch' if e['launches'] == '1' else 'launches'}"
        source = e.get("source", "measured")
        words += weaker_words(e) + (f", {source}" if source != "measured" else "")
        out.append(
            f"  {r.collective:10} {where}{sizes}{r.choice}, "
            + (f"time x {e['ratio']}{words}" if "ratio" in e else f"not measured{words}")
        )
    return ["faster than native, and in the table:", *out] if out else []


def weaker_words(evidence: Mapping[str, str]) -> str:
    """Return at which of a row's sizes no test says that it is faster, empty where all do."""
    words = {"by_fit": "faster by the fit over sizes and layouts", "harmless": "no slower"}
    out = ""
    for key, text in words.items():
        sizes = [sized(int(s)) for s in evidence.get(key, "").split(",") if s.isdecimal()]
        out += f", {text} at {', '.join(sizes)}" if sizes else ""
    return out

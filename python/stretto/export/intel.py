"""Intel MPI: one ``I_MPI_ADJUST_<COLLECTIVE>`` variable each, clauses ``preset:low-high@p-q``.

What was seen with 2021.18, by the order in which it adds (the documentation says otherwise):

- Lower bounds are not looked at: the first clause whose upper bound reaches the value holds, and
  beyond the last clause the last one holds.
- Sizes count only in clauses without ranks. Where clauses have ranks (``@p-q``), the last clause
  for a number of ranks holds for all sizes. So a variable tells sizes apart or ranks, never both.
- There is no way to say "decide yourself": preset 0 is an algorithm, and with a preset of -1 the
  whole variable is ignored.

So a variable holds on all communicators; it is written only where no measured size is left to the
MPI, or a preset is known that was not measurably worse than its decision there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from stretto.export.output import Export
from stretto.export.rules import Rule, merged
from stretto.export.sizes import intel_bytes

#: ranks and bytes without end, as the MPI's own documentation writes them
MOST = 2147483647


def adjust(rules: Sequence[Rule]) -> Export:
    """Return the variables.

    Parameters
    ----------
    rules
        From `for_layouts`: one layout for each number of ranks.
    """
    export = Export()
    by_collective: dict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        by_collective[rule.collective].append(rule)
    for collective, mine in by_collective.items():
        if all(r.default for r in mine):
            continue
        filled = [replace(r, settings=r.instead) if r.default and r.instead else r for r in mine]
        open_ended = [r for r in filled if r.default and r.low <= _largest(mine)]
        filled = [r for r in filled if not r.default]
        if open_ended:
            export.lost.append(
                f"{collective} is left out: Intel MPI cannot be told to decide by itself from "
                f"{open_ended[0].low} bytes on, where no preset was as good as its decision"
            )
            continue
        names = {name for r in filled for name, _ in r.settings}
        if len(names) > 1:
            export.lost.append(
                f"{collective} is left out: {' and '.join(sorted(names))} would be needed for "
                "different sizes, and each holds for all"
            )
            continue
        (name,) = names
        export.environment[name] = _clauses(name, filled, export)
        export.lost.append(
            f"{name} holds on communicators of any size: what was measured is "
            + ", ".join(sorted({r.layout.words for r in mine}))
        )
    return export


def _largest(rules: Sequence[Rule]) -> int:
    """Return where the last rule that is no default begins: behind it all is what it says."""
    return max(r.low for r in rules if not r.default)


def _clauses(name: str, rules: Sequence[Rule], export: Export) -> str:
    by_ranks: dict[int, list[Rule]] = defaultdict(list)
    for rule in rules:
        by_ranks[rule.layout.nranks].append(rule)
    bounds = {ranks: _bounds(name, by_ranks[ranks], export) for ranks in sorted(by_ranks)}
    if len(bounds) > 1 and all(len(one) == 1 for one in bounds.values()):
        out, before = [], 0
        for ranks, ((_, value),) in bounds.items():
            most = MOST if ranks == max(bounds) else ranks
            out.append(f"{value}:0-{MOST}@{before + 1}-{most}")
            before = ranks
        return ";".join(out)
    largest = max(bounds)
    export.lost += [
        f"{name} on {by_ranks[ranks][0].layout.words}: Intel MPI tells sizes apart or ranks, not "
        f"both, and what was found for {largest} ranks holds"
        for ranks in bounds
        if ranks != largest and bounds[ranks] != bounds[largest]
    ]
    out, low = [], 0
    for end, value in bounds[largest]:
        out.append(f"{value}:{low}-{end}")
        low = end + 1
    return ";".join(out)


def _bounds(name: str, rules: Sequence[Rule], export: Export) -> list[tuple[int, str]]:
    """Return upper bounds of sizes with their presets, the last without end."""
    bounds: list[tuple[int, str]] = []
    for rule in merged(sorted(rules, key=lambda r: r.low)):
        ranks = rule.layout.nranks
        end = MOST if rule.high is None else intel_bytes(rule.collective, rule.high, ranks)
        value = rule.setting(name) or ""
        if end is None:
            end = MOST
        if bounds and bounds[-1][0] >= end:
            export.lost.append(
                f"{rule.collective} from {rule.low} bytes on {rule.layout.words}: Intel MPI does "
                "not look at the size"
            )
            continue
        if bounds and bounds[-1][1] == value:
            bounds.pop()
        bounds.append((end, value))
    bounds[-1] = (MOST, bounds[-1][1])
    return bounds

"""Intel MPI: one ``I_MPI_ADJUST_<COLLECTIVE>`` variable each, clauses ``preset:low-high@p-q``.

What was seen with 2021.18, by the order in which it adds (the documentation says otherwise):

- Lower bounds are not looked at: the first clause whose upper bound reaches the value holds, and
  beyond the last clause the last one holds.
- Sizes count only in clauses without ranks. Where clauses have ranks (``@p-q``), the last clause
  for a number of ranks holds for all sizes. So a variable tells sizes apart or ranks, never both.
- There is no way to say "decide yourself": preset 0 is an algorithm, and with a preset of -1 the
  whole variable is ignored.

So a variable holds on all communicators; it is written only where no measured size is left to the
MPI, or a preset is known that was not measurably worse than its decision there: on all layouts that
were measured, or on the one that was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.export import reach, unsafe
from stretto.export.output import Export
from stretto.export.rules import Rule, merged
from stretto.export.sizes import intel_bytes
from stretto.files.export import REMEDY
from stretto.files.layout import RankLayout
from stretto.files.table import WITHOUT_SIZE
from stretto.grouped import grouped
from stretto.tune.decide import GAP

#: ranks and bytes without end, as the documentation of the MPI writes them
MOST = 2147483647


def adjust(
    rules: Sequence[Rule],
    prefer: tuple[int | None, int | None] = (None, None),
    beyond: bool = False,
) -> Export:
    """Return the variables.

    `rules`: from `for_layouts`: one layout for each number of ranks. `prefer`: nodes and ranks per
    node that the variables are to be best for; None: all that there are.
    """
    export = Export(bounded=False)
    for collective, found in grouped((r.collective, numbered(r)) for r in rules).items():
        mine = _asked_for(found, prefer, export)
        if all(r.default for r in mine):
            continue
        filled = [replace(r, settings=r.instead) if r.default and r.instead else r for r in mine]
        open_ended = [
            r for r in filled if r.default and (r.measured or r.low <= _largest(mine, r.layout))
        ]
        filled = [r for r in filled if not r.default]
        if open_ended:
            first = open_ended[0]
            why = "because no preset was as fast as the native selection"
            if not first.measured:
                to = "" if first.high is None else f" to {first.high}"
                why = (
                    f"and{to} nothing was measured: measure sizes that differ by at most a "
                    f"factor of {GAP}"
                )
            export.lost.append(
                f"{collective} is left out: Intel MPI cannot be set to its native selection from "
                f"{counted(first.low, 'byte')} on, {why}"
            )
            continue
        names = {name for r in filled for name, _ in r.settings}
        if len(names) > 1:
            export.lost.append(
                f"{collective} is left out: {' and '.join(sorted(names))} would be needed for "
                "different sizes, but each applies to all sizes"
            )
            continue
        (name,) = names
        sizeless = () if beyond else WITHOUT_SIZE
        short = [reach.shortage(r) for r in filled if r.collective in sizeless]
        if any(short):
            words = next(x for x in short if x)
            export.lost.append(reach.refused(f"{collective} is left out: {name}", words))
            continue
        largest = _measured_to(filled)
        if largest is not None and largest < reach.ENOUGH and not beyond:
            export.lost.append(
                f"{collective} is left out: {name} would also apply to larger messages than were "
                f"measured (largest: {counted(largest, 'byte')}); measure up to "
                f"{reach.ENOUGH} (stretto bench --bytes), or accept this ({reach.SWITCH})"
            )
            continue
        export.environment[name] = _clauses(name, filled, export)
        if largest is not None:
            last = [
                c.preset for c in read_clauses(export.environment[name], name) if c.high == MOST
            ]
            export.lost.append(
                f"{name} also applies to messages of more than {counted(largest, 'byte')}, which "
                f"were not measured: preset {' and '.join(last)}"
            )
        export.lost.append(
            f"{name} applies to communicators of any size; measured on "
            + ", ".join(sorted({r.layout.words for r in mine}))
        )
    export.lost += unsafe.warnings(export.rows) + reach.said(export.rows, WITHOUT_SIZE)
    return export


def numbered(rule: Rule) -> Rule:
    """Return a rule with its presets as clauses have them, without zeros in front."""
    return rule.with_values(lambda _, value: str(int(value)) if value.isdecimal() else value)


def unsaid(rule: Rule) -> str | None:
    """Return in words why a rule's settings are none for a variable; None: they are."""
    names = [name for name, _ in rule.settings]
    others = [n for n in names if not n.startswith("I_MPI_ADJUST_")]
    if others:
        return f"{', '.join(others)} has no sizes"
    if len(names) > 1:
        return f"{' and '.join(names)} would be needed at the same time"
    clauses = [f"{n}={v}" for n, v in rule.settings if not v.isdecimal()]
    return f"{clauses[0]} is not a preset, but a clause consists of presets" if clauses else None


def _asked_for(
    rules: Sequence[Rule], prefer: tuple[int | None, int | None], export: Export
) -> list[Rule]:
    """Return a collective's rules of the layouts asked for; all where it has none there."""
    nodes, ppn = prefer
    layouts = {r.layout for r in rules}
    asked = {x for x in layouts if nodes in (None, x.nodes) and ppn in (None, x.ppn)}
    if not asked or asked == layouts:
        return list(rules)
    for layout in sorted(layouts - asked, key=lambda x: x.nranks):
        kept = " and ".join(sorted(x.words for x in asked))
        export.lost.append(
            f"{rules[0].collective} on {layout.words}: the variable of Intel MPI also applies "
            f"there; the export uses the best for {kept}"
        )
    return [r for r in rules if r.layout in asked]


def _largest(rules: Sequence[Rule], layout: RankLayout) -> int:
    """Return where a layout's last rule that is no default begins.

    What was not measured behind it gets what that one says.
    """
    return max((r.low for r in rules if not r.default and r.layout == layout), default=MOST)


def _measured_to(rules: Sequence[Rule]) -> int | None:
    """Return the largest size that was measured on all layouts; None: sizes do not count."""
    by_layout = grouped((r.layout, r) for r in rules)
    last = [max(mine, key=lambda r: r.low).high for mine in by_layout.values()]
    return min((high for high in last if high is not None), default=None)


def _clauses(name: str, rules: Sequence[Rule], export: Export) -> str:
    by_ranks = grouped((r.layout.nranks, r) for r in rules)
    bounds = {ranks: _bounds(name, by_ranks[ranks], export) for ranks in sorted(by_ranks)}
    if len(bounds) > 1 and all(len(one) == 1 for one in bounds.values()):
        out, before = [], 0
        for ranks, ((_, rule),) in bounds.items():
            most = MOST if ranks == max(bounds) else ranks
            out.append(Clause(rule.setting(name) or "", 0, MOST, before + 1, most))
            before = ranks
            export.rows.append(rule)
        return text_of(out)
    largest = max(bounds)
    words = {ranks: [(end, r.setting(name)) for end, r in bounds[ranks]] for ranks in bounds}
    export.lost += [
        f"{name} on {by_ranks[ranks][0].layout.words}: Intel MPI distinguishes sizes or ranks, "
        f"not both: the result for {largest} ranks applies"
        for ranks in bounds
        if ranks != largest and words[ranks] != words[largest]
    ]
    out, low = [], 0
    for end, rule in bounds[largest]:
        out.append(Clause(rule.setting(name) or "", low, end, 1, MOST))
        low = end + 1
        export.rows.append(rule)
    return text_of(out)


def _bounds(name: str, rules: Sequence[Rule], export: Export) -> list[tuple[int, Rule]]:
    """Return upper bounds of sizes with their rules, the last without end."""
    bounds: list[tuple[int, Rule]] = []
    ordered = merged(sorted(rules, key=lambda r: r.low))
    for i, rule in enumerate(ordered):
        end = _end(rule)
        if bounds and bounds[-1][0] >= end:
            export.lost.append(
                f"{rule.collective} from {counted(rule.low, 'byte')} on {rule.layout.words}: "
                "Intel MPI ignores the size"
            )
            continue
        if bounds and bounds[-1][1].setting(name) == rule.setting(name):
            before = bounds.pop()[1]
            rule = replace(rule, low=before.low, points=before.points + rule.points)
        bounds.append((end, rule))
        if end == MOST and ordered[i + 1 :] and intel_bytes(rule.collective, 0, 1) is not None:
            export.lost.append(
                f"{rule.collective} from {counted(ordered[i + 1].low, 'byte')} on "
                f"{rule.layout.words}: sizes in Intel MPI end at {MOST} bytes; larger messages "
                "use the last rule"
            )
            break
    bounds[-1] = (MOST, replace(bounds[-1][1], high=None))
    return bounds


def _end(rule: Rule) -> int:
    """Return a rule's upper bound as Intel MPI counts; where it counts a sum, up to the next one.

    A sum of blocks is no whole number of blocks when they are not all of one size.
    """
    if rule.high is None or intel_bytes(rule.collective, rule.high, rule.layout.nranks) is None:
        return MOST
    beyond = intel_bytes(rule.collective, rule.high + 1, rule.layout.nranks)
    return MOST if beyond is None else min(beyond - 1, MOST)


@dataclass(frozen=True)
class Clause:
    """``preset:low-high@first-last``; without ranks they are 1 to `MOST`.

    `typed`: the clause as it stands in a file.
    """

    preset: str
    low: int
    high: int
    first: int
    last: int
    typed: str = ""

    @property
    def with_ranks(self) -> bool:
        return (self.first, self.last) != (1, MOST)


#: ``preset``, with or without conditions on sizes and ranks
_CLAUSE = re.compile(r"(\d+)(?::(.*))?")
_CONDITION = re.compile(r"(?:(\d+)(?:-(\d+))?)?(?:@(\d+)(?:-(\d+))?)?")


def text_of(clauses: Sequence[Clause]) -> str:
    """Return the value of a variable."""
    return ";".join(
        f"{c.preset}:{c.low}-{c.high}" + (f"@{c.first}-{c.last}" if c.with_ranks else "")
        for c in clauses
    )


def read_clauses(text: str, place: str) -> list[Clause]:
    """Return the clauses of a variable; one with several conditions is several clauses."""
    out: list[Clause] = []
    for part in text.split(";"):
        found = _CLAUSE.fullmatch(part.strip())
        if not found:
            raise StrettoError(f"{part!r} is not a clause PRESET:LOW-HIGH[@P-Q]", place, REMEDY)
        for condition in (found[2] or f"0-{MOST}").split(","):
            bounds = _CONDITION.fullmatch(condition.strip())
            if not bounds or not condition.strip():
                words = f"{condition!r} is not a condition LOW-HIGH or LOW-HIGH@P-Q"
                words += "; a semicolon separates presets" if ":" in condition else ""
                raise StrettoError(words, place, REMEDY)
            low, high, first, last = bounds.groups()
            size = (int(low or 0), int(high or (MOST if low is None else low)))
            ranks = (int(first or 1), int(last or (MOST if first is None else first)))
            if size[0] > size[1] or ranks[0] > ranks[1]:
                raise StrettoError(f"{condition!r} ends before it begins", place, REMEDY)
            typed = found[1] if found[2] is None else f"{found[1]}:{condition.strip()}"
            out.append(Clause(found[1], *size, *ranks, typed))
    if len({c.with_ranks for c in out}) > 1:
        raise StrettoError("clauses with and without ranks are mixed", place, REMEDY)
    return out

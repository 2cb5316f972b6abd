"""The rules of a native file beside what `stretto bench` measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.export.mpich_leaves import PARAMETERS
from stretto.export.native_rows import NativeFile, NativeRow, exact
from stretto.export.openmpi_words import BESIDE, number_of
from stretto.export.rules import Results, natives_of, settings_of
from stretto.files.layout import RankLayout
from stretto.grouped import grouped
from stretto.measure.compare import Comparison, compare, decisive
from stretto.tune.decide import one_shape_each


@dataclass
class RowEvidence:
    """What was measured where a row holds.

    By outcome, the ratio of its algorithm's time and that of the MPI's decision, of each size;
    `better`: sizes at which another algorithm has a lower one.
    """

    layouts: set[RankLayout] = field(default_factory=set)
    by_outcome: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    better: dict[int, tuple[str, float]] = field(default_factory=dict)

    @property
    def words(self) -> str:
        if not self.layouts:
            return "not measured"
        parts = []
        for outcome, ratios in sorted(self.by_outcome.items()):
            span = f"{min(ratios):.2f}" + (f" to {max(ratios):.2f}" if len(ratios) > 1 else "")
            tested = f" (time x {span})" if outcome in ("faster", "slower") else ""
            parts.append(f"{outcome} at {counted(len(ratios), 'size')}{tested}")
        parts += [
            f"at {exact(size)} {name} is the fastest (time x {ratio:.2f})"
            for size, (name, ratio) in sorted(self.better.items())
        ]
        where = ", ".join(sorted(x.words for x in self.layouts))
        return f"on {where}: " + ("; ".join(parts) or "nothing is faster than the native selection")


def evidence(file: NativeFile, results: Results) -> list[RowEvidence]:
    """Return what was measured of each row, in the order of the file.

    Raises StrettoError: the results are of another MPI.
    """
    if results.mpi.family != file.family:
        raise StrettoError(
            f"these results are for {results.mpi.family}, but the rules are for {file.family}",
            file.path, "name results of the MPI that the rules are for",
        )  # fmt: skip
    out = [RowEvidence() for _ in file.rows]
    for layout, bench in results.benches:
        times, base = natives_of(bench)
        compared = decisive(compare(times, base), times)
        by_point = grouped(((c.cell.collective, c.cell.bytes), c) for c in compared)
        for (collective, size), found in by_point.items():
            at = file.row_for(collective, size, layout)
            if at is not None:
                _add(out[at], file.rows[at], layout, size, one_shape_each(found))
    return out


def _add(
    to: RowEvidence, row: NativeRow, layout: RankLayout, size: int, found: Sequence[Comparison]
) -> None:
    to.layouts.add(layout)
    own = next((c for c in found if row.settings and _is(row, settings_of(c.candidate))), None)
    if own is not None:
        to.by_outcome[own.outcome].append(own.ratio.median)
    elif row.settings:
        to.by_outcome["not measured"].append(1.0)
    faster = [c for c in found if c.outcome == "faster"]
    best = min(faster, key=lambda c: c.ratio.median, default=None)
    if best is not None and best is not own:
        to.better[size] = (best.candidate.removeprefix("native:"), best.ratio.median)


def _is(row: NativeRow, settings: Sequence[tuple[str, str]]) -> bool:
    """Return whether settings that were measured are what a row sets."""
    mine = dict(row.settings)
    device = ("DEVICE_COLLECTIVES", "_DEVICE_COLLECTIVE")
    given = {n: number_of(n, v) for n, v in settings if n not in BESIDE and not n.endswith(device)}
    if "algorithm" not in mine:
        return given == mine
    names: Mapping[str, str] = PARAMETERS.get(f"{row.collective} {mine['algorithm']}", {})
    upper = f"MPIR_CVAR_{row.collective.upper()}_"
    parameters = {f"{upper}{end}": mine[key] for key, end in names.items() if key in mine}
    algorithm = given.pop(f"{upper}INTRA_ALGORITHM", None)
    return algorithm == mine["algorithm"] and given.items() <= parameters.items()

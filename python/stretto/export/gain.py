"""What ``stretto export --time`` calls, and where: the bare MPI with an export's files and without.

An export is a translation with losses: rows are merged, one may hold for all sizes, algorithms that
are built of other collectives obey those collectives' rows. So what is timed is the whole set, as a
job has it, by the engine of ``stretto bench``: launches with the files are one more kind of launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from stretto.errors import StrettoError
from stretto.export import examine
from stretto.export.cases import MOST_BYTES, OTHERS, cases_of, unit_of
from stretto.export.check import read
from stretto.export.output import layout_of
from stretto.files.bench import read_bench
from stretto.files.export import REMEDY, ExportManifest, filled
from stretto.files.layout import RankLayout
from stretto.measure import settings as s
from stretto.measure.compare import BARE
from stretto.measure.idle import cores
from stretto.mpi.algorithms.base import FILES
from stretto.mpi.base import MPIInstallation

CANDIDATES = (BARE, FILES)


@dataclass(frozen=True)
class TimedCall:
    """A call that is timed.

    `row`: index of the row that it is inside of; None: the MPI is to decide there as before.
    `promised`: the row's time / native in the results that the export was made of, where
    known. `stands_in`: the files have no words for the native selection, which is to rule there:
    the row was as good, and is to cost nothing.
    """

    case: s.Case
    row: int | None
    promised: float | None = None
    stands_in: bool = False


@dataclass(frozen=True)
class LayoutTiming:
    layout: RankLayout
    calls: tuple[TimedCall, ...]
    settings: s.Settings
    path: Path


@dataclass(frozen=True)
class TimingPlace:
    """Where to time.

    `hosts`: nodes; none: this machine.
    """

    installation: MPIInstallation
    hosts: tuple[str, ...]
    most_ranks: int
    launches: int
    folder: Path
    restart: bool = False


@dataclass
class TimingPlan:
    manifest: ExportManifest
    timings: list[LayoutTiming] = field(default_factory=list)
    left: dict[RankLayout, str] = field(default_factory=dict)


def plan(directory: Path, place: TimingPlace) -> TimingPlan:
    """Return what is to be timed; an export that does not say what it should is an error."""
    manifest, variables = read(directory)
    for fault in examine.examine(manifest, directory, variables, place.installation):
        again = filled(fault.remedy or REMEDY, manifest.target, directory)
        raise StrettoError(f"these files are not timed: {fault.why}", fault.place, again)
    written = sorted((name, manifest.digests.get(name)) for name in manifest.files)
    digest = sha256(repr(written).encode()).hexdigest()[:16]
    files = s.Files(tuple(sorted(variables.items())), digest)
    out = TimingPlan(manifest)
    for layout in dict.fromkeys(layout_of(r) for r in manifest.rows):
        reason = _not_here(layout, place)
        if reason is not None:
            out.left[layout] = reason
            continue
        calls = calls_of(manifest, layout)
        cases = tuple(c.case for c in calls)
        hosts = place.hosts[: layout.nodes]
        path = place.folder / f"gain-{layout.nodes}x{layout.ppn}.bench.jsonl"
        settings = s.Settings(
            nranks=layout.nranks,
            cases=cases,
            variants=s.variants_of(cases),
            launches=place.launches,
            ppn=layout.ppn if layout.nodes > 1 else None,
            hosts=hosts,
            oversubscribed=layout.nranks > cores() * layout.nodes,
            files=files,
        )
        out.timings.append(LayoutTiming(layout, calls, settings, path))
    return out


def _not_here(layout: RankLayout, place: TimingPlace) -> str | None:
    """Return why a layout cannot be timed, with what to say so that it can."""
    if layout.nodes > 1 and len(place.hosts) < layout.nodes:
        return f"{layout.words} need {layout.nodes} nodes: --hosts A,B,..."
    if not place.hosts and layout.nranks > place.most_ranks:
        return (
            f"{layout.nranks} ranks are too many for this machine: --most-ranks "
            f"{layout.nranks}, or run on another node: --hosts A"
        )
    return None


def calls_of(manifest: ExportManifest, layout: RankLayout) -> tuple[TimedCall, ...]:
    """Return the calls of a layout: what was measured of each row, and what is beside the rows.

    Beside a row are the sizes next to it, and other collectives without rows at the smallest and
    the largest size of all rows there: they may be built of collectives that have some.
    """
    out: dict[s.Case, TimedCall] = {}
    rows = [(i, r) for i, r in enumerate(manifest.rows) if layout_of(r) == layout]
    for index, row in rows:
        for p in row.measured:
            root = p.root if row.collective in s.ROOTED else 0
            operation = p.operation if row.collective in s.REDUCTIONS else None
            shape = p.datatype or None, operation or None, root
            case = s.make_case(row.collective, p.bytes, CANDIDATES, *shape)
            out.setdefault(case, TimedCall(case, index, p.ratio, p.ratio is None))
    sizes = [c.case.bytes for c in out.values() if c.case.collective != "barrier"]
    for beside in cases_of(manifest):
        its = None if beside.row is None else layout_of(manifest.rows[beside.row])
        if its == layout and beside.ranks == layout.nranks and not beside.inside:
            case = s.make_case(beside.collective, beside.bytes, CANDIDATES)
            out.setdefault(case, TimedCall(case, None))
    # where other communicators are not left alone, a row of another layout may hold here
    named = {r.collective for r in (manifest.rows if not manifest.bounded else dict(rows).values())}
    for collective in (c for c in OTHERS if c not in named):
        unit = unit_of(collective)
        ends = (max(unit, n // unit * unit) for n in (min(sizes), max(sizes))) if sizes else ()
        for size in sorted(set(ends)):
            if size * layout.nranks <= MOST_BYTES:
                case = s.make_case(collective, size, CANDIDATES)
                out.setdefault(case, TimedCall(case, None))
    return tuple(out.values())


def refuse_others(timings: Sequence[LayoutTiming]) -> None:
    """Refuse to go on with times of other files, which are in the way."""
    for timing in timings:
        files = timing.settings.files
        if not timing.path.exists() or timing.path.stat().st_size == 0 or files is None:
            continue
        before = read_bench(timing.path).header.settings.get("files")
        digest = before.get("digest") if isinstance(before, Mapping) else None
        if digest != files.digest:
            raise StrettoError(
                "these times are for older files: the export was rewritten since",
                timing.path,
                "--restart measures these files (the old times become NAME.old)",
            )


def remedy(manifest: ExportManifest, directory: Path, collectives: Sequence[str]) -> str:
    """Return what to type so that an export lacks some collectives' rows."""
    words = filled(REMEDY, manifest.target, directory)
    names = ",".join(dict.fromkeys(collectives))
    return words.replace(" RESULTS", f" --without {names} RESULTS")

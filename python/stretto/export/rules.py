"""From results files to rules: the significantly best native settings, by layout and size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.export.sizes import OWN_SIZE
from stretto.export.tested import TestedPoint, points_in
from stretto.files.bench import Bench, read_bench
from stretto.files.caches import all_cold
from stretto.files.calls import need_blocking
from stretto.files.export import ExportPoint
from stretto.files.identity import Host, MPIIdentity, other_cpu
from stretto.files.layout import RankLayout
from stretto.files.results import results_in
from stretto.files.table import WITHOUT_SIZE
from stretto.grouped import grouped
from stretto.kinds import Family
from stretto.measure.baseline import need_baseline
from stretto.measure.compare import (
    BARE,
    NATIVE,
    Cell,
    Comparison,
    Timing,
    compare,
    decisive,
    timings,
)
from stretto.measure.stats import geometric_mean
from stretto.measure.verdict import THRESHOLD
from stretto.mpi.algorithms.base import FILES, PREFIX
from stretto.mpi.algorithms.pairs import pairs_of
from stretto.tune.decide import (
    Segment,
    calls_of,
    choose,
    complete,
    for_all_sizes,
    one_shape_each,
    segments_of,
    ties,
)


@dataclass(frozen=True)
class Rule:
    """Settings for calls of one collective on one layout, from `low` to `high` bytes.

    `low`, `high`: bytes as Stretto counts them (type size x count, of one block where each rank has
    one; of the mean block where each has a size of its own), both included; high None: without end.
    `instead`: where the MPI is to decide: settings that were nowhere measurably worse than its
    decision, for files that cannot leave it to decide; None: there are none. `measured`: some of
    the sizes were measured: a rule that only fills the sizes beside them was not.
    """

    collective: str
    layout: RankLayout
    low: int
    high: int | None
    settings: tuple[tuple[str, str], ...]
    instead: tuple[tuple[str, str], ...] | None = None
    measured: bool = False
    points: tuple[ExportPoint, ...] = field(default=(), compare=False)

    @property
    def default(self) -> bool:
        return not self.settings

    def setting(self, name: str) -> str | None:
        return dict(self.settings).get(name)

    def with_values(self, value_of: Callable[[str, str], str]) -> Rule:
        """Return the rule with other values of its settings; `value_of`: takes name and value."""
        settings = tuple((n, value_of(n, v)) for n, v in self.settings)
        instead = self.instead and tuple((n, value_of(n, v)) for n, v in self.instead)
        return replace(self, settings=settings, instead=instead)


@dataclass(frozen=True)
class MeasuredRules:
    """Rules; `lost`: what is faster and has no words.

    `points` are those where an algorithm of the MPI's was compared with its own decision.
    """

    rules: tuple[Rule, ...]
    lost: tuple[str, ...] = ()
    points: tuple[TestedPoint, ...] = ()


#: why an MPI's files have no words for a rule, whatever its sizes; None: they have
Reason = Callable[[Rule], str | None]


@dataclass(frozen=True)
class Results:
    """Results files, and the MPI that all of them are of; `cold`: with buffers in no cache."""

    mpi: MPIIdentity
    benches: tuple[tuple[RankLayout, Bench], ...]
    cold: bool = False

    def rules(
        self, reason: Reason = lambda rule: None, sizeless: Collection[str] = ()
    ) -> MeasuredRules:
        """Return the rules that the results amount to.

        `reason`: where the best has none, the next best takes its place. `sizeless`: collectives
        whose size those files do not look at, or each rank at one of its own: one rule for all that
        was measured.
        """
        by_place: dict[tuple[RankLayout, str], list[Rule]] = {}
        lost: dict[tuple[RankLayout, str], list[str]] = {}
        points: dict[tuple[RankLayout, str], list[TestedPoint]] = {}
        for layout, bench in self.benches:
            times, base = natives_of(bench)
            compared = decisive(compare(times, base), times)
            tested = points_in(bench, times, compared)
            points |= grouped(((layout, p.collective), p) for p in tested)
            by_collective = complete(compared, calls_of(times, None, (base,)))
            found = _rules(by_collective, layout, {*WITHOUT_SIZE, *sizeless}, reason)
            for collective, sentence in _alone(times, base, layout).items():
                rules, lost_there = found.get(collective, ([], []))
                found[collective] = rules, [*lost_there, sentence]
            for collective, (rules, sentences) in found.items():
                if (layout, collective) in by_place:
                    sentences = [
                        f"{collective} on {layout.words}: several files have it; only the last "
                        "one is used",
                        *sentences,
                    ]
                by_place[layout, collective], lost[layout, collective] = rules, sentences
        return MeasuredRules(
            tuple(r for rules in by_place.values() for r in rules),
            tuple(x for sentences in lost.values() for x in sentences),
            tuple(p for found in points.values() for p in found),
        )


def layout_of(bench: Bench, path: Path) -> RankLayout:
    """Return the layout of a results file, which must be the same in all launches."""
    measured = {s.launch for s in bench.samples}
    found = {RankLayout(r.nodes, r.ppn, r.nranks) for r in bench.launches if r.launch in measured}
    if len(found) != 1:
        words = ", ".join(sorted(x.words for x in found)) or "no launch with a measurement"
        raise StrettoError(
            f"results of one layout are needed, this file has {words}",
            path,
            "measure each layout into a separate file (stretto bench -o)",
        )
    return found.pop()


def read_results(paths: Sequence[Path]) -> Results:
    """Return results files, all of one MPI and one kind of nodes.

    `paths`: files of ``stretto bench``, all of one MPI; several of one layout are taken together
    collective by collective, the last one that has it.
    """
    mpi: MPIIdentity | None = None
    hosts: list[Host] = []
    benches: list[tuple[RankLayout, Bench]] = []
    for path in paths:
        bench = read_bench(path)
        if mpi is not None and (mpi.family, mpi.version) != (
            bench.header.mpi.family,
            bench.header.mpi.version,
        ):
            raise StrettoError(
                f"these results are of {bench.header.mpi.family} {bench.header.mpi.version}, the "
                f"others of {mpi.family} {mpi.version}: one export is for one MPI",
                path,
                "export the results of each MPI separately",
            )
        built = bench.header.mpi.library
        if mpi is not None and built and mpi.library and built != mpi.library:
            raise StrettoError(
                f"these results are of another build, {built!r}, the others of {mpi.library!r}: "
                "builds cannot be mixed", path, "export the results of each build separately",
            )  # fmt: skip
        mpi = bench.header.mpi
        hosts.append(bench.header.host)
        if any(other_cpu(hosts[-1], other) for other in hosts):
            raise StrettoError(
                f"these results are of {hosts[-1].cpu}, the others of {hosts[0].cpu}: kinds of "
                "nodes cannot be mixed", path,
                f"export the results of each kind separately: for example, {path.parent}",
            )  # fmt: skip
        if any(s.source != "measured" for s in bench.samples):
            raise StrettoError(
                "these results are simulated; an export needs measurements", path,
                "measure them: stretto bench --candidates 'bare;native:all'",
            )  # fmt: skip
        need_blocking(bench, path)
        need_baseline(bench, path)
        benches.append((layout_of(bench, path), bench))
    if mpi is None:
        raise StrettoError("no results were given", None, "name files of stretto bench")
    read = [(path, bench) for path, (_, bench) in zip(paths, benches, strict=True)]
    cold = all_cold(read, "export each kind separately, into different directories: --out")
    return Results(mpi, tuple(benches), cold)


def natives_of(bench: Bench) -> tuple[dict[Cell, dict[str, Timing]], str]:
    """Return the times of native algorithms beside the baseline's, and its name."""
    times = timings(bench)
    # The MPI alone is what native files replace; native (with the interposer) where it is missing.
    base = BARE if any(BARE in t for t in times.values()) else NATIVE
    return {
        # another export's files (`stretto export --time`) are no algorithm
        cell: {n: t for n, t in found.items() if n == base or (n.startswith(PREFIX) and n != FILES)}
        for cell, found in times.items()
    }, base


def _rules(
    by_collective: Mapping[str, Mapping[int, Sequence[Comparison]]],
    layout: RankLayout,
    sizeless: Collection[str],
    reason: Reason,
) -> dict[str, tuple[list[Rule], list[str]]]:
    """Return each collective's rules, and sentences on what is faster than they are.

    A row holds for all shapes: a candidate that lacks one (it crashed there?) is none there.
    """
    out: dict[str, tuple[list[Rule], list[str]]] = {}
    for collective, measured in by_collective.items():
        names = {c.candidate for found in measured.values() for c in found}
        rules_of = {n: Rule(collective, layout, 0, None, settings_of(n)) for n in names}
        unsaid = {n: why for n, rule in rules_of.items() if (why := reason(rule)) is not None}
        sizes = {
            size: [c for c in found if c.candidate not in unsaid]
            for size, found in measured.items()
        }
        options: dict[int, Mapping[str, float]] = {
            size: {
                c.candidate: c.ratio.median for c in one_shape_each(found) if c.outcome == "faster"
            }
            for size, found in sizes.items()
        }
        rules = []
        lost = [_lost(collective, layout, size, measured[size], unsaid) for size in sorted(sizes)]
        if collective not in sizeless:
            segments = segments_of(collective, choose(options, ties(sizes, options)), options, {})
        else:
            somewhere = any(options.values())
            options = dict(for_all_sizes(sizes, lambda c: c.startswith(PREFIX)))
            (choice,) = set(choose(options).values())
            segments = [Segment(0, None, choice, tuple(sorted(sizes)))]
            if choice == NATIVE and somewhere:
                lost.append(_not_by_size(collective, layout))
        for s in segments:
            settings = settings_of(s.choice)
            instead = None if settings else _as_good(sizes, s.measured)
            there = bool(s.measured), _points_of(s, sizes)
            rules.append(Rule(collective, layout, s.low, s.high, settings, instead, *there))
        out[collective] = rules, [x for x in lost if x]
    return out


def _points_of(
    segment: Segment, sizes: Mapping[int, Sequence[Comparison]]
) -> tuple[ExportPoint, ...]:
    """Return the calls at which a segment was measured, each size in its worst shape.

    Where the MPI is to decide, any shape is one in which it was measured; nothing is promised.
    """
    out = []
    for size in segment.measured:
        shapes = one_shape_each(sizes[size])
        chosen = next((c for c in shapes if c.candidate == segment.choice), None)
        call = chosen or (shapes[0] if segment.choice == NATIVE and shapes else None)
        if call is not None:
            ratio = chosen.ratio.median if chosen else None
            cell = call.cell
            out.append(ExportPoint(size, cell.datatype, cell.operation, cell.root, ratio))
    return tuple(out)


def _alone(
    native: Mapping[Cell, Mapping[str, object]], base: str, layout: RankLayout
) -> dict[str, str]:
    """Return, by collective, a sentence where the MPI by itself was not measured at some sizes.

    Nothing is known there; to say that nothing was faster would be false.
    """
    sizes: dict[str, set[int]] = defaultdict(set)
    for cell, found in native.items():
        if found and base not in found:
            sizes[cell.collective].add(cell.bytes)
    return {
        c: f"{c} of {', '.join(map(str, sorted(s)))} bytes on {layout.words}: the baseline "
        "(native or bare) is missing there, so nothing can be compared"
        for c, s in sizes.items()
    }


def _not_by_size(collective: str, layout: RankLayout) -> str:
    """Return the sentence where something is faster at some sizes, and one row is for all."""
    what, remedy = "these files ignore its size", ""
    if collective in OWN_SIZE:
        what = "in legal calls, ranks may look up different sizes, and the call hangs"
        remedy = "; --plain-calls writes rows by size"
    return (
        f"{collective} on {layout.words}: {what}, and no algorithm that is faster at some "
        f"sizes is as fast at all others: the MPI decides{remedy}"
    )


def _lost(
    collective: str,
    layout: RankLayout,
    size: int,
    found: Sequence[Comparison],
    unsaid: Mapping[str, str],
) -> str | None:
    """Return a sentence where the fastest is not for the files, None where it is."""
    faster = [c for c in one_shape_each(found) if c.outcome == "faster"]
    best = min(faster, key=lambda c: (c.ratio.median, c.candidate), default=None)
    if best is None or best.candidate not in unsaid:
        return None
    name = best.candidate.removeprefix(PREFIX)
    others = [c.ratio.median for c in faster if c.candidate not in unsaid]
    instead = (
        f"the next best that is has x {min(others):.2f}" if others else "nothing else is faster"
    )
    return (
        f"{collective} of {counted(size, 'byte')} on {layout.words}: {name} cannot be used in "
        f"these files (time x {best.ratio.median:.2f}): {unsaid[best.candidate]}; {instead}"
    )


def _as_good(
    sizes: Mapping[int, Sequence[Comparison]], measured: Sequence[int]
) -> tuple[tuple[str, str], ...] | None:
    """Return the settings that are not measurably worse than the MPI's decision at these sizes."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for size in measured:
        for c in one_shape_each(sizes[size]):
            if c.no_slower(THRESHOLD):
                ratios[c.candidate].append(c.ratio.median)
    everywhere = {n: geometric_mean(r) for n, r in ratios.items() if len(r) == len(measured) > 0}
    return settings_of(min(everywhere, key=lambda n: (everywhere[n], n))) if everywhere else None


def settings_of(choice: str) -> tuple[tuple[str, str], ...]:
    """Return the settings in ``native:A=1,B=2``; none for ``native``."""
    if not choice.startswith(PREFIX):
        return ()
    pairs = pairs_of(choice.removeprefix(PREFIX))
    # Open MPI's parameters may be given as they stand in an environment
    return tuple((name.removeprefix("OMPI_MCA_"), value) for name, value in pairs)


#: what an MPI's files know of a layout beside its number of ranks, with words for it
Known = tuple[Callable[[RankLayout], object], str]
RANKS: Known = (lambda layout: None, "only")
ONE_NODE: Known = (lambda layout: layout.nodes == 1, "and by whether they are on one node")
#: the ranks a node on average, rounded up
AVERAGE: Known = (
    lambda layout: 0 if layout.nodes == 1 else -(-layout.nranks // layout.nodes),
    "and by the ranks on each node",
)


def for_layouts(
    rules: Iterable[Rule], nodes: int | None, ppn: int | None, known: Known = RANKS
) -> tuple[list[Rule], list[str]]:
    """Keep one layout of those that the files cannot distinguish, for each collective by itself.

    `nodes`, `ppn`: the layout that is preferred; None: the one with the fewest nodes.
    """
    by_ranks: dict[tuple[str, int, object], set[RankLayout]] = defaultdict(set)
    rules = list(rules)
    for rule in rules:
        by_ranks[rule.collective, rule.layout.nranks, known[0](rule.layout)].add(rule.layout)
    kept: set[tuple[str, RankLayout]] = set()
    lost: list[str] = []
    for (collective, *_), layouts in by_ranks.items():
        wanted = [x for x in layouts if nodes in (None, x.nodes) and ppn in (None, x.ppn)]
        chosen = min(wanted or layouts, key=lambda x: (x.nodes, x.ppn))
        kept.add((collective, chosen))
        taken = f"{chosen.nranks} ranks are assumed to be on {chosen.where}"
        lost += [
            f"{collective} on {x.words}: the files of this MPI distinguish communicators by their "
            f"number of ranks {known[1]}; {taken} (--nodes {x.nodes} --ppn {x.ppn} changes this)"
            for x in sorted(layouts - {chosen}, key=lambda x: x.nodes)
        ]
    return [r for r in rules if (r.collective, r.layout) in kept], lost


def merged(rules: Sequence[Rule]) -> list[Rule]:
    """Join neighbouring rules of one collective and layout that set the same."""
    out: list[Rule] = []
    for rule in rules:
        last = out[-1] if out else None
        if (
            last
            and (last.collective, last.layout) == (rule.collective, rule.layout)
            and last.settings == rule.settings
            and last.high is not None
            and last.high + 1 == rule.low
        ):
            out[-1] = replace(
                last,
                high=rule.high,
                measured=last.measured or rule.measured,
                points=last.points + rule.points,
            )
        else:
            out.append(rule)
    return out


def chosen_results(
    paths: Sequence[Path], family: Family | None, major: str
) -> tuple[list[Path], list[str]]:
    """Return the files that an export is made of, and a sentence on those of other MPIs.

    Files that are named one by one all count: what does not fit is refused elsewhere. Of a
    directory, which may be a campaign's with several MPIs, those of the target's are taken.

    `family`, `major`: of the target; None: any MPI. Where several versions are there, those of this
    major one.
    """
    named = [p for p in paths if not p.is_dir()]
    below = [p for p in results_in([d for d in paths if d.is_dir()]) if p not in named]
    mpis = {p: read_bench(p).header.mpi for p in below}
    kept = [p for p in below if family in (None, mpis[p].family)]
    if len({mpis[p].version for p in kept}) > 1 and major:
        kept = [p for p in kept if mpis[p].version.startswith(major)] or kept
    if below and not kept and not named:
        there = ", ".join(sorted({f"{m.family} {m.version}" for m in mpis.values()}))
        raise StrettoError(
            f"this directory has no results of {family}, only of {there}",
            next(p for p in paths if p.is_dir()),
            "name another target (--to), or the results",
        )
    others = sorted({f"{mpis[p].family} {mpis[p].version}" for p in below if p not in kept})
    lost = [f"results of {name} in the directory are left out" for name in others]
    return [*named, *kept], lost

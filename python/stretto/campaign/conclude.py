"""What comes of a campaign's measurements: the results of each layout, and the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from stretto.campaign.alone import in_turn
from stretto.campaign.begun import earlier, launches_of
from stretto.campaign.claims import Claims
from stretto.campaign.decide import Decided, decide_all
from stretto.campaign.elimination import Policy
from stretto.campaign.folder import Folder
from stretto.campaign.layout import Layout, enclosing
from stretto.campaign.plan import FILE, read_plan
from stretto.campaign.regret import regret_words, untested
from stretto.campaign.request import Request
from stretto.campaign.site import Site, given_up_words
from stretto.campaign.standing import Standing
from stretto.campaign.unmeasured import interpolated, priced, read_simulated, refined
from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.files.bench import Bench, format_record, standing_exclusions
from stretto.files.identity import Identity, MPIIdentity, cpu_slug
from stretto.files.io import write_atomic
from stretto.files.table import Row, Table, read_table, write_table
from stretto.measure.compare import open_words
from stretto.measure.fitting import require_layout
from stretto.measure.idle import busy_note
from stretto.model.platform_file import load


@dataclass
class Outcome:
    """What came of a campaign with one MPI.

    `complete`: everything is measured: no launch was given up, no layout left out.
    `left_out`: a sentence for each layout that was not measured, or not all of it.
    `ended`: this start could do no more; otherwise it was stopped, or others are at work.
    `remedy`: what to do about the first layout that was left out.
    `inconclusive`: at how many calls it cannot be told whether something is faster; None: at none.
    """

    mpi: str
    table: Path | None
    results: list[Path]
    rows: list[Row]
    regret: str | None
    complete: bool
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ended: bool = True
    remedy: str | None = None
    inconclusive: str | None = None


@dataclass
class _Found:
    """What the files of all layouts hold, and sentences for people."""

    benches: dict[Layout, Bench] = field(default_factory=dict)
    nvariants: dict[Layout, int] = field(default_factory=dict)
    gone: dict[Layout, set[tuple[str, str]]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def take(self, site: Site, base: Path, say: Callable[[str], None], again: str) -> bool:
        """Take what was measured on a layout; return whether no launch of it is missing."""
        layout, merged = site.plan.layout, site.folder.merged()
        for sentence in merged.aside:
            say(f"stretto: warning: not used: {sentence}")
        if site.closed is not None:
            self.left_out.append(f"{layout.words}: {site.closed}")
        failed = site.failed()
        if failed:
            self.left_out.append(f"{layout.words}: {given_up_words(failed)}; {again}")
        self.gone[layout] = set(standing_exclusions(merged.bench.records))
        if merged.bench.samples:
            path = _results_place(base, layout)
            try:
                require_layout(merged.bench, layout.nodes, layout.ppn, path)
            except StrettoError as error:
                self.left_out.append(f"{layout.words}: {error}")
            else:
                self.benches[layout] = merged.bench
                self.nvariants[layout] = site.plan.nvariants
        return site.closed is None and not failed


def conclude(
    request: Request, standing: Standing, say: Callable[[str], None], complete: bool
) -> Outcome:
    """Write each layout's results, and the table: one start at a time, of all that is there."""
    with in_turn(request.out):
        return _conclude(request, standing, say, complete)


def _conclude(
    request: Request, standing: Standing, say: Callable[[str], None], complete: bool
) -> Outcome:
    ended = complete
    found = _Found()
    results: list[Path] = []
    remedy: str | None = None
    for site in standing.all():
        whole = found.take(site, standing.base, say, "the same command tries them again")
        complete = complete and whole
        if site.closed is not None:
            remedy = remedy or site.remedy
    for site in _earlier(standing, request, say):
        found.take(site, standing.base, say, "a start that names the layout tries them again")
        if site.plan.layout in found.benches:
            words = f"{site.plan.layout.words}, measured by other starts here"
            say(f"stretto: note: {words}, is in the table, too")
    for layout, bench in found.benches.items():
        path = _results_place(standing.base, layout)
        records = [bench.header, *bench.records]
        write_atomic(path, "".join(format_record(r) for r in records), "the results")
        if (busy := busy_note(bench)) is not None:
            say(f"stretto: note: {layout.words}: {busy}")
        results.append(path)
    mpi = standing.identity.mpi
    name = f"{mpi.family}-{mpi.version}"
    left_out = found.left_out
    if not found.benches:
        return Outcome(name, None, [], [], None, complete, left_out, ended=ended, remedy=remedy)
    decided = decide_all(found.benches, found.nvariants)
    rows = [r for d in decided.values() for r in d.rows]
    rows += _between(request, standing, found, decided)
    if request.refine is not None:
        simulated = read_simulated(request.refine, mpi.family)
        rows, kept = refined(rows, simulated, found.gone)
        are = f"{counted(kept, 'row')} {'is' if kept == 1 else 'are'}"
        say(f"stretto: {are} simulated ({request.refine}): nobody measured there")
    path = table_place(request.out, mpi, standing.node_cpu or standing.identity.host.cpu)
    write_campaign_table(path, standing.identity, standing.node_cpu, rows)
    few = [d for d in decided.values() if untested(d)]
    if few:
        points = sum(untested(d) for d in few)
        have = f"{counted(points, 'point')} {'has' if points == 1 else 'have'}"
        say(
            f"stretto: warning: {have} fewer than 6 launches: "
            "no test can be made there, and native stays"
        )
    return Outcome(
        name, path, results, rows, regret_words(list(decided.values())), complete, left_out,
        ended=ended, remedy=remedy,
        inconclusive=open_words(
            replace(c, layout=(d.layout.nodes * d.layout.ppn, d.layout.nodes, d.layout.ppn))
            for d in decided.values()
            for c in d.comparisons
        ),
    )  # fmt: skip


def _results_place(base: Path, layout: Layout) -> Path:
    return base / f"{layout.name}.bench.jsonl"


def _between(
    request: Request, standing: Standing, found: _Found, decided: dict[Layout, Decided]
) -> list[Row]:
    """Return the rows of layouts that were not measured, as far as the user has asked for them.

    A layout that was to be measured, and could not be, may have something that its neighbours do
    not have: it gets none by itself.
    """
    rows: list[Row] = []
    for layout in sorted(set(request.interpolate) - set(decided)):
        mine = interpolated(layout, decided, found.gone)
        if request.platform is not None:
            family = standing.identity.mpi.family
            mine, refused = priced(mine, load(request.platform), family, Policy().priced)
            found.left_out += refused
        rows += mine
        if not mine:
            words = "lies outside what was measured: no rows for it"
            found.left_out.append(f"{layout.words}: {words}")
        elif layout in standing.sites:
            words = "nothing that counts was measured there: its rows are interpolated, as asked"
            found.left_out.append(f"{layout.words}: {words}")
    for site in standing.all():
        layout = site.plan.layout
        begun = site.closed is not None or site.folder.merged().bench.samples
        if not begun or layout in decided or layout in request.interpolate:
            continue
        words = "nothing that counts was measured there: no rows for it"
        if enclosing(layout, decided):
            words += f" (--interpolate {layout.name} takes them from the layouts around it)"
        found.left_out.append(f"{layout.words}: {words}")
    return rows


def _earlier(standing: Standing, request: Request, say: Callable[[str], None]) -> Iterator[Site]:
    about = earlier(request.out)
    for path in sorted(standing.base.glob(f"*/{FILE}")):
        launches = request.launches
        if about is not None:
            launches = launches_of(about, path.parent.name)
        try:
            plan, _, _ = read_plan(path, launches)
        except StrettoError as error:
            say(f"stretto: warning: not used: {error}")
            continue
        if plan.layout in standing.sites:
            continue
        folder = Folder(path.parent, standing.identity, plan.settings.modes, standing.node_cpu)
        site = Site(plan, folder, Claims(path.parent / "claims", glance=True), [])
        word = site.left_out()
        if word is not None and not site.measured():
            site.closed = word["why"] + (f"; {word['remedy']}" if word.get("remedy") else "")
        yield site


def table_place(out: Path, mpi: MPIIdentity, cpu: str) -> Path:
    path = out / f"{mpi.family}-{mpi.version}.table"
    try:
        other = cpu_slug(read_table(path).cpu) != cpu_slug(cpu) if path.exists() else False
    except StrettoError:
        other = False  # damaged: made anew
    return path.with_name(f"{mpi.family}-{mpi.version}.{cpu_slug(cpu)}.table") if other else path


def write_campaign_table(
    path: Path, identity: Identity, node_cpu: str | None, rows: list[Row]
) -> None:
    host, mpi = identity.host, identity.mpi
    table = Table(
        mpi.family, mpi.version, None, None, identity.created, identity.stretto, host.name,
        node_cpu or host.cpu, rows,
    )  # fmt: skip
    write_table(table, path)

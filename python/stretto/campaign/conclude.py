"""What comes of a campaign's measurements: the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from stretto.campaign.alone import in_turn
from stretto.campaign.begun import earlier
from stretto.campaign.decide import Decided, decide_all
from stretto.campaign.layout import Layout, enclosing
from stretto.campaign.plan import plan_of
from stretto.campaign.regret import regret_words, untested
from stretto.campaign.request import Request
from stretto.campaign.site import Standing, given_up_words, left_out_word, results_of
from stretto.campaign.unmeasured import interpolated, read_simulated, refined
from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.files.bench import Bench, read_header, standing_exclusions
from stretto.files.identity import MPIIdentity, cpu_slug
from stretto.files.results import ENDING
from stretto.files.table import Row, read_table, table_of, write_table
from stretto.measure.compare import open_words
from stretto.measure.idle import busy_note
from stretto.measure.ledger import require_layout
from stretto.progress import Progress


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
    table: Path | None = None
    results: list[Path] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    regret: str | None = None
    complete: bool = False
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ended: bool = True
    remedy: str | None = None
    inconclusive: str | None = None


def conclude(
    request: Request, standing: Standing, say: Callable[[str], None], complete: bool
) -> Outcome:
    """Make the table of all that is there, one start at a time."""
    with in_turn(request.out), Progress("deciding"):
        return _conclude(request, standing, say, complete)


def _conclude(
    request: Request, standing: Standing, say: Callable[[str], None], complete: bool
) -> Outcome:
    mpi = standing.identity.mpi
    whole = _whole(request, standing, say)
    found = Outcome(f"{mpi.family}-{mpi.version}", complete=complete, ended=complete)
    benches: dict[Layout, Bench] = {}
    gone: dict[Layout, set[tuple[str, str]]] = {}
    for site in whole.all():
        layout, own = site.plan.layout, site.plan.layout in standing.sites
        if site.closed is not None:
            found.left_out.append(f"{layout.words}: {site.closed}")
            found.remedy = found.remedy or site.remedy
        failed = whole.failed(site)
        if failed:
            again = "a start with this layout tries them again"
            found.left_out.append(f"{layout.words}: {given_up_words(failed)}; {again}")
        if own and (failed or site.closed is not None):
            found.complete = False
        gone[layout] = set(standing_exclusions(site.bench.records))
        if not site.bench.samples:
            continue
        try:
            require_layout(site.bench, layout.nodes, layout.ppn, site.path)
        except StrettoError as error:
            found.left_out.append(f"{layout.words}: {error}")
            continue
        benches[layout] = site.bench
        found.results.append(site.path)
        if not own:
            say(f"stretto: note: the table includes {layout.words}, measured by other starts")
        if (busy := busy_note(site.bench)) is not None:
            say(f"stretto: note: {layout.words}: {busy}")
    if benches:
        variants = {x: whole.sites[x].plan.nvariants for x in benches}
        _decide(request, standing, found, decide_all(benches, variants), gone, say)
    return found


def _decide(
    request: Request,
    standing: Standing,
    found: Outcome,
    decided: dict[Layout, Decided],
    gone: Mapping[Layout, set[tuple[str, str]]],
    say: Callable[[str], None],
) -> None:
    """Write the table of all layouts, and into `found` what came of it."""
    identity = standing.identity
    found.rows = [r for d in decided.values() for r in d.rows]
    found.rows += _between(request, standing, found, decided, gone)
    if request.refine is not None:
        simulated = read_simulated(request.refine, identity.mpi.family)
        found.rows, kept = refined(found.rows, simulated, gone)
        are = f"{counted(kept, 'row')} {'is' if kept == 1 else 'are'}"
        say(f"stretto: {are} simulated, because nothing was measured there ({request.refine})")
    found.table = table_place(request.out, identity.mpi, identity.host.cpu)
    write_table(table_of(identity, None, None, found.rows), found.table)
    few = sum(map(untested, decided.values()))
    if few:
        have = f"{counted(few, 'point')} {'has' if few == 1 else 'have'}"
        say(
            f"stretto: warning: {have} fewer than 6 launches: "
            "too few for a test, so they stay native"
        )
    found.regret = regret_words(list(decided.values()))
    found.inconclusive = open_words(
        replace(c, layout=(d.layout.nodes * d.layout.ppn, d.layout.nodes, d.layout.ppn))
        for d in decided.values()
        for c in d.comparisons
    )


def _whole(request: Request, standing: Standing, say: Callable[[str], None]) -> Standing:
    """Return how all layouts of the directory stand, of those also that other starts measured."""
    about, base = earlier(request.out), standing.base
    system = system_name(base)
    plans = [site.plan for site in standing.all()]
    own = {results_of(base, plan.layout) for plan in plans}
    for path in sorted(set(base.glob(f"[!.]*{ENDING}")) - own):
        try:
            header, name = read_header(path), path.name.removesuffix(ENDING)
            if header is not None:
                launches = request.launches
                if about is not None:
                    launches = about.launches(system, name, launches)
                plans.append(plan_of(header, launches, path))
        except StrettoError as error:
            say(f"stretto: warning: not used: {error}")
    whole = Standing(plans, base, standing.identity)
    for layout, site in whole.sites.items():
        if layout in standing.sites:
            mine = standing.sites[layout]
            site.closed, site.remedy = mine.closed, mine.remedy
        try:
            site.read()
        except StrettoError as error:
            site.closed = str(error)
        word = left_out_word(site.path)
        if layout not in standing.sites and word is not None and whole.turn(site) is not None:
            site.closed = word["why"]
    return whole


def _between(
    request: Request,
    standing: Standing,
    found: Outcome,
    decided: dict[Layout, Decided],
    gone: Mapping[Layout, set[tuple[str, str]]],
) -> list[Row]:
    """Return the rows of layouts that were not measured, as far as the user has asked for them.

    A layout that was to be measured, and could not be, may have something that its neighbours do
    not have: it gets none by itself.
    """
    rows: list[Row] = []
    for layout in sorted(set(request.interpolate) - set(decided)):
        mine = interpolated(layout, decided, gone)
        rows += mine
        if not mine:
            words = "is outside the measured layouts, so it has no rows"
            found.left_out.append(f"{layout.words}: {words}")
        elif layout in standing.sites:
            words = "no usable measurement; its rows are interpolated, as requested"
            found.left_out.append(f"{layout.words}: {words}")
    for layout, site in standing.sites.items():
        begun = site.closed is not None or site.bench.samples
        if not begun or layout in decided or layout in request.interpolate:
            continue
        words = "no usable measurement, so it has no rows"
        if enclosing(layout, decided):
            words += f" (--interpolate {layout.name} interpolates them from neighbouring layouts)"
        found.left_out.append(f"{layout.words}: {words}")
    return rows


def system_name(base: Path) -> str:
    """Return what a campaign's directory is called of an MPI on a kind of node, relative to it."""
    return f"{base.parent.name}/{base.name}"


def table_place(out: Path, mpi: MPIIdentity, cpu: str) -> Path:
    path = out / f"{mpi.family}-{mpi.version}.table"
    try:
        other = cpu_slug(read_table(path).cpu) != cpu_slug(cpu) if path.exists() else False
    except StrettoError:
        other = False  # damaged: made anew
    return path.with_name(f"{mpi.family}-{mpi.version}.{cpu_slug(cpu)}.table") if other else path

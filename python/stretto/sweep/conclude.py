"""What comes of a campaign's measurements: the results of each layout, and the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from stretto.campaign.fitting import require_layout
from stretto.errors import StrettoError
from stretto.files.bench import Bench, format_record
from stretto.files.identity import Identity, MPIIdentity, cpu_slug
from stretto.files.io import write_atomic
from stretto.files.table import Row, Table, read_table, write_table
from stretto.sweep.decide import decide_all
from stretto.sweep.elimination import Policy
from stretto.sweep.folder import Folder
from stretto.sweep.interpolate import interpolated
from stretto.sweep.layout import Layout
from stretto.sweep.plan import FILE, read_plan
from stretto.sweep.refine import read_simulated, refined
from stretto.sweep.request import Request
from stretto.sweep.said import regret_words, untested
from stretto.sweep.site import given_up_words
from stretto.sweep.standing import Standing


@dataclass
class Outcome:
    """What came of a campaign with one MPI.

    Attributes
    ----------
    complete
        Everything is measured: no launch was given up, no layout left out.
    left_out
        A sentence for each layout that was not measured, or not all of it.
    ended
        This start could do no more; otherwise it was stopped, or others are at work.
    remedy
        What to do about the first layout that was left out.
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


def conclude(
    request: Request, standing: Standing, say: Callable[[str], None], complete: bool
) -> Outcome:
    """Write the results of each layout, and the table.

    Parameters
    ----------
    request, standing, say
        The campaign, and how it stands.
    complete
        Nothing is left that this start could measure.
    """
    ended = complete
    benches: dict[Layout, Bench] = {}
    nvariants = {site.plan.layout: site.plan.nvariants for site in standing.all()}
    results: list[Path] = []
    left_out: list[str] = []
    remedy: str | None = None
    for site in standing.all():
        layout, merged = site.plan.layout, site.folder.merged()
        for sentence in merged.aside:
            say(f"stretto: warning: not used: {sentence}")
        if site.closed is not None:
            left_out.append(f"{layout.words}: {site.closed}")
            remedy = remedy or site.remedy
        failed = site.failed()
        if failed:
            left_out.append(
                f"{layout.words}: {given_up_words(failed)}; the same command tries them again"
            )
        complete = complete and site.closed is None and not failed
        if not merged.bench.samples:
            continue
        path = standing.base / f"{layout.name}.bench.jsonl"
        try:
            require_layout(merged.bench, layout.nodes, layout.ppn, path)
        except StrettoError as error:
            left_out.append(f"{layout.words}: {error}")
            continue
        records = [merged.bench.header, *merged.bench.records]
        write_atomic(path, "".join(format_record(r) for r in records), "the results")
        results.append(path)
        benches[layout] = merged.bench
    for layout, (bench, many) in _earlier(standing, request.launches, say).items():
        say(f"stretto: note: {layout.words}, measured by other starts here, is in the table, too")
        benches[layout], nvariants[layout] = bench, many
    mpi = standing.identity.mpi
    name = f"{mpi.family}-{mpi.version}"
    if not benches:
        return Outcome(name, None, [], [], None, complete, left_out, ended=ended, remedy=remedy)
    decided = decide_all(benches, {x: nvariants[x] for x in benches})
    rows = [r for d in decided.values() for r in d.rows]
    extra = set(request.interpolate) | {s.plan.layout for s in standing.all()}
    for layout in sorted(extra - set(benches)):
        found = interpolated(layout, decided)
        if request.platform is not None:
            from stretto.model.platform_file import load
            from stretto.sweep.priced import priced

            found, refused = priced(found, load(request.platform), mpi.family, Policy().priced)
            left_out += refused
        rows += found
        if not found:
            left_out.append(f"{layout.words}: lies outside what was measured: no rows for it")
    if request.refine is not None:
        rows, kept = refined(rows, read_simulated(request.refine, mpi.family))
        say(f"stretto: {kept} rows are simulated ({request.refine}): nobody measured there")
    path = table_place(request.out, mpi, standing.node_cpu or standing.identity.host.cpu)
    write_campaign_table(path, standing.identity, standing.node_cpu, rows)
    few = [d for d in decided.values() if untested(d)]
    if few:
        say(
            f"stretto: warning: {sum(untested(d) for d in few)} points have fewer than 6 launches: "
            "no test can be made there, and native stays"
        )
    return Outcome(
        name, path, results, rows, regret_words(list(decided.values())), complete, left_out,
        ended=ended, remedy=remedy,
    )  # fmt: skip


def _earlier(
    standing: Standing, launches: int, say: Callable[[str], None]
) -> dict[Layout, tuple[Bench, int]]:
    """Return what was measured in a campaign's directory on layouts that this start does not name.

    With how many launches a round of it has.

    Parameters
    ----------
    standing
        What measured the others.
    launches
        That each candidate gets.
    say
        Prints a sentence to the user.
    """
    out: dict[Layout, tuple[Bench, int]] = {}
    for path in sorted(standing.base.glob(f"*/{FILE}")):
        try:
            plan, _, _ = read_plan(path, launches)
        except StrettoError as error:
            say(f"stretto: warning: not used: {error}")
            continue
        if plan.layout in standing.sites:
            continue
        folder = Folder(path.parent, standing.identity, plan.settings.modes, standing.node_cpu)
        bench = folder.merged().bench
        if bench.samples:
            out[plan.layout] = bench, plan.nvariants
    return out


def table_place(out: Path, mpi: MPIIdentity, cpu: str) -> Path:
    """Return where the table of an MPI on a kind of node goes: never over another kind's.

    Parameters
    ----------
    out
        The campaign's directory.
    mpi, cpu
        What it is for.
    """
    path = out / f"{mpi.family}-{mpi.version}.table"
    try:
        other = cpu_slug(read_table(path).cpu) != cpu_slug(cpu) if path.exists() else False
    except StrettoError:
        other = False  # damaged: made anew
    return path.with_name(f"{mpi.family}-{mpi.version}.{cpu_slug(cpu)}.table") if other else path


def write_campaign_table(
    path: Path, identity: Identity, node_cpu: str | None, rows: list[Row]
) -> None:
    """Write one table with the rows of all layouts.

    Parameters
    ----------
    path
        Where.
    identity, node_cpu
        The system that was measured.
    rows
        Of all layouts.
    """
    host, mpi = identity.host, identity.mpi
    table = Table(
        mpi.family, mpi.version, None, None, identity.created, identity.stretto, host.name,
        node_cpu or host.cpu, rows,
    )  # fmt: skip
    write_table(table, path)

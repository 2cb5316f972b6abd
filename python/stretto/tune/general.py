"""``stretto table make``: a table for all applications on one layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stretto.built import library
from stretto.files.identity import collect
from stretto.files.locate import table_path
from stretto.files.table import Table, write_table
from stretto.measure import settings as s
from stretto.measure.baseline import with_bare
from stretto.measure.candidates import default_candidates, need_interposer, refuse_unknown
from stretto.measure.ledger import require_layout
from stretto.measure.natives import unlisted
from stretto.measure.request import Where, announce
from stretto.measure.runner import measure
from stretto.tune.from_results import DecidedFile, decide_bench


@dataclass(frozen=True)
class LayoutRequest:
    where: Where
    out: Path | None
    only: list[str]
    sizes: str
    candidates: list[str] | None
    launches: int
    budget_s: float | None
    seed: int
    restart: bool
    yes: bool
    dry_run: bool


def settings_of(request: LayoutRequest) -> s.Settings:
    where, abi = request.where, request.where.installation.abi

    def candidates_of(name: str, size: int) -> list[str]:
        if request.candidates:
            found = with_bare(s.check_candidates(name, request.candidates), size, where.nodes)
        else:
            found = default_candidates(name, abi, where.nodes, where.nranks, size)
        need_interposer(found, abi)
        return found

    cases = s.grid(request.only, s.parse_sizes(request.sizes), candidates_of)
    return s.Settings(
        nranks=where.nranks,
        cases=tuple(cases),
        variants=s.variants_of(cases),
        launches=request.launches,
        ppn=where.ppn,
        hosts=where.hosts,
        seed=request.seed,
        budget_s=request.budget_s,
        batches=(9, 40),
        oversubscribed=where.oversubscribed,
    )


def tune_generally(
    request: LayoutRequest, command: list[str], say: Callable[[str], None]
) -> tuple[DecidedFile, list[str], Path, Path] | None:
    """Measure, decide and write the table; None in a dry run.

    Return what was decided, warnings, the table's file and that of the results.
    """
    where = request.where
    installation = where.installation
    library("bench", installation.abi)
    refuse_unknown(request.only, request.candidates or [])
    for sentence in unlisted(installation, request.candidates or []):
        say(f"stretto: warning: {sentence}")
    settings = settings_of(request)
    identity = collect(installation.identity)
    cpu = identity.host.cpu
    path = request.out or table_path(installation.identity, cpu, where.nodes, where.each)
    results = path.with_name(path.name.removesuffix(".table") + ".bench.jsonl")
    if not announce(
        settings, installation.name, results, say, request.restart, request.yes, request.dry_run
    ):
        return None
    bench, notes = measure(settings, installation, results, identity, command, say, request.restart)
    require_layout(bench, where.nodes, where.each, results)
    found = decide_bench(bench, where.nodes, where.each)
    table = Table(
        installation.family, installation.version, where.nodes, where.each, identity.created,
        identity.stretto, identity.host.name, identity.host.cpu, found.rows,
    )  # fmt: skip
    write_table(table, path)
    return found, notes, path, results

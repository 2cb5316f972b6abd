"""``stretto export``: native tuning files from results; they outlive Stretto."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from stretto.cli import options as o
from stretto.cli.complete import collectives, files, mpis
from stretto.cli.lazy import lazily
from stretto.errors import StrettoError, UsageError
from stretto.files.export import EXPORT, NAME, OWN, TARGETS
from stretto.output import print_json, say
from stretto.progress import Progress

with lazily():
    from stretto.cli import export_time
    from stretto.cli.export_refusals import (
        fits,
        is_free,
        is_this,
        layout_is_there,
        refuse,
        refuse_for_own,
    )
    from stretto.export import unsafe
    from stretto.export.check import CheckPlan, check
    from stretto.export.gain import TimingPlace
    from stretto.export.installed import for_mvapich, of_another_mpich, places_of, take
    from stretto.export.output import SCRIPT, as_rule, write
    from stretto.export.own import write_own
    from stretto.export.rules import ONE_NODE, RANKS, chosen_results, for_layouts, read_results
    from stretto.export.targets import Wishes, withheld, writer_for
    from stretto.export.tested import nothing, too_few
    from stretto.export.users import conflicts
    from stretto.export.verdicts import RowCheck
    from stretto.files.caches import COLD
    from stretto.files.identity import MPIIdentity
    from stretto.measure.names import allocated
    from stretto.measure.settings import parse_tunable
    from stretto.mpi import MPIInstallation
    from stretto.mpi.detect import TITLES

EXAMPLE = """stretto bench -n 4 --collective bcast --candidates 'bare;native:all' -o a.bench.jsonl
stretto export --to openmpi-5 --out tuning --check a.bench.jsonl
source tuning/stretto-native.sh
stretto export --check --out tuning              # once more, without writing
stretto export --time --out tuning               # what all of it gains, launch by launch"""


#: results and options in any order: nothing of a user's command stands here
CONTEXT = {"allow_interspersed_args": True}


KINDS = [*TARGETS, OWN]
RULES, CHECKS = "Rules", "Check and time"

_Results = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Results of stretto bench with native candidates, or directories of them (of a "
        "campaign: those of the MPI in --to).",
        autocompletion=files(".bench.jsonl"),
    ),
]
_To = Annotated[
    str | None,
    o.option(
        RULES,
        f"What to write: {', '.join(KINDS)}.",
        autocompletion=lambda incomplete: [t for t in KINDS if t.startswith(incomplete)],
    ),
]
_Nodes = Annotated[
    int | None,
    o.option(
        RULES,
        "Nodes of the layout to export, where the files cannot distinguish layouts; "
        "with --to stretto: only rows of this number of nodes.",
        min=1,
    ),
]
_Ppn = Annotated[int | None, o.option(RULES, "Ranks per node, as for --nodes.", min=1)]
_KeepOrder = Annotated[
    bool,
    o.option(
        RULES,
        "Use only algorithms that keep the order of operands, for operations that do not commute.",
        "--keep-order",
    ),
]
_PlainCalls = Annotated[
    bool,
    o.option(
        RULES,
        "Also export rules that are unsafe with MPI_IN_PLACE or mismatched datatypes "
        "(Open MPI: bcast, gather, allgather, allgatherv).",
        "--plain-calls",
    ),
]
_Beyond = Annotated[
    bool,
    o.option(
        RULES,
        "Also export rules that apply beyond the measured sizes (Intel MPI; rules for all sizes).",
        "--beyond-measured",
    ),
]
_Without = Annotated[
    str | None,
    o.option(
        RULES,
        "Write no rows for these collectives: allreduce,bcast.",
        autocompletion=collectives,
    ),
]
_Check = Annotated[
    bool,
    o.option(CHECKS, "Run the MPI with the files; check that each row takes effect.", "--check"),
]
_Timed = Annotated[bool, o.option(CHECKS, "Time the MPI with and without the files.", "--time")]
_Mpi = Annotated[
    str | None,
    o.option(
        CHECKS,
        "For MPICH's files, --check and --time: a family, a launcher, or a prefix.",
        autocompletion=mpis,
    ),
]
_Hosts = Annotated[
    str | None,
    o.option(CHECKS, "Nodes for rows on several nodes: a,b,c (default: those of the Slurm job)."),
]
_MostRanks = Annotated[int, o.option(CHECKS, "Limit of ranks on this machine.", min=2)]
_Launches = Annotated[
    int, o.option(CHECKS, "For --time: launches of each; a test needs six.", min=1)
]
_Times = Annotated[
    Path | None,
    o.option(
        CHECKS,
        "Directory of the times (default: --out); for --check on several nodes one that all "
        "nodes see (default: --out, else the working directory).",
    ),
]
_Restart = Annotated[
    bool, o.option(o.COST, "For --time: start again; the old file becomes NAME.old.", "--restart")
]
_Yes = Annotated[bool, o.option(o.COST, "For --time: do not ask for confirmation.", "--yes", "-y")]
_DryRun = Annotated[
    bool, o.option(o.COST, "For --time: print the cost and time nothing.", "--dry-run")
]


def command(
    results: _Results = None,
    to: _To = None,
    nodes: _Nodes = None,
    ppn: _Ppn = None,
    keep_order: _KeepOrder = False,
    plain_calls: _PlainCalls = False,
    beyond: _Beyond = False,
    without: _Without = None,
    check: _Check = False,
    timed: _Timed = False,
    mpi: _Mpi = None,
    hosts: _Hosts = None,
    most_ranks: _MostRanks = 16,
    launches: _Launches = 8,
    times: _Times = None,
    restart: _Restart = False,
    yes: _Yes = False,
    dry_run: _DryRun = False,
    out: Annotated[Path, o.out_file("Directory of the files.")] = Path("tuning"),
    as_json: o.Json = False,
) -> None:
    """Write tuning files for the MPI itself: rules, parameters, a script and a module file.

    A rule is written only where an algorithm of the MPI was significantly faster than its default.
    Elsewhere, and on other numbers of ranks, the MPI decides. --check runs the MPI with
    the files and reports each row as proven, unproven or wrong (exit code 1). --time measures with
    and without the files, and lists slower rows (exit code 1). The same command continues after an
    interruption.
    """
    of_natives = {
        "--keep-order": keep_order,
        "--plain-calls": plain_calls,
        "--beyond-measured": beyond,
    }
    written = {"--nodes": bool(nodes), "--ppn": bool(ppn), "--without": without is not None}
    looks = check or timed
    refuse({"--times": times is not None and not looks}, "{} is for --check and --time")
    # who says --dry-run does not want files written
    of_time = {"--dry-run": dry_run and not timed, "--restart": restart and not timed}
    refuse(of_time, "{} is for --time alone", "say --time as well")
    if to == OWN:
        refuse_for_own({"--check": check, "--time": timed}, of_natives)
    answer: dict[str, object] = {}
    places: Sequence[str] = ()
    left_out = tuple(parse_tunable(without, "--without")) if without else ()
    wishes = Wishes((nodes, ppn), keep_order, plain_calls, beyond, left_out)
    if results and to == OWN:
        answer = _write_own(results, out, wishes, as_json)
    elif results:
        with Progress("writing tuning files"):
            answer, places = _write(results, to, out, wishes, mpi, as_json)
    elif not looks:
        raise UsageError("there are no results", "RESULTS", "name files of stretto bench")
    else:
        is_this(out, to, written | of_natives)
    nodes_of = tuple(h for h in (hosts or _of_the_job()).split(",") if h) if looks else ()
    verdicts = _check(out, mpi, places, nodes_of, most_ranks, times, as_json) if check else []
    wrong = [v for v in verdicts if v.status == "wrong"]
    fault = None
    if check:
        answer["check"] = [v.__dict__ for v in verdicts]
    if timed and not wrong:  # what does not take effect is not worth its time
        place = TimingPlace(
            _mpi_of(out, mpi, places), nodes_of, most_ranks, launches, times or out, restart
        )
        answer["time"], fault = export_time.run(out, place, yes, dry_run, as_json)
    if as_json:
        print_json(answer)
    if fault is not None:
        raise fault
    if wrong:
        raise _wrong_rows(wrong, out)


def _wrong_rows(wrong: Sequence[RowCheck], out: Path) -> StrettoError:
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return StrettoError(
        f"{wrong[0].words}: {wrong[0].why}{more}", wrong[0].place or out, wrong[0].remedy
    )


def _write(
    results: list[Path],
    to: str | None,
    out: Path,
    wishes: Wishes,
    mpi: str | None,
    as_json: bool,
) -> tuple[dict[str, object], Sequence[str]]:
    """Write the files; return what to say of them, and where the MPIs were that were measured."""
    if to is None:
        raise UsageError(
            "no target MPI was given", "--to", f"add --to with one of {', '.join(KINDS)}"
        )
    if to not in TARGETS:
        raise UsageError(f"there is no export to {to!r}", "--to", f"there are {', '.join(KINDS)}")
    major = to[-1] if to[-2:-1] == "-" else ""
    results, elsewhere = chosen_results(results, TARGETS[to], major)
    measured = read_results(results)
    fits(measured.mpi, to)
    layout_is_there(measured, *wishes.prefer)
    # MPICH's files are made from what is in the library that was measured
    places = places_of(results, [b.header.command for _, b in measured.benches])
    trees = None
    if to == "mvapich" and mpi is None:
        trees = for_mvapich(measured.mpi)
    elif to in ("mpich", "mvapich"):
        trees = _installed(to, mpi, measured.mpi, places)
    files_of = writer_for(to, measured.mpi.version, trees or mpi, wishes)
    found = measured.rules(files_of.reason, files_of.sizeless)
    rules = [r for r in found.rules if r.collective not in wishes.without]
    lost = [x for x in found.lost if x.partition(" ")[0] not in wishes.without]
    dropped = sum(not r.default and r.collective in wishes.without for r in found.rules)
    points = [p for p in found.points if p.collective not in wishes.without]
    lost = [*elsewhere, *of_another_mpich(to, measured.mpi, trees), *too_few(points), *lost]
    if to not in ("mpich", "mvapich"):  # these know nodes
        rules, left_out = for_layouts(
            rules, *wishes.prefer, ONE_NODE if to == "openmpi-6" else RANKS
        )
        lost += left_out
    export = files_of.write(rules)
    export.lost = [COLD] * measured.cold + lost + export.lost
    files = ", ".join(str(p) for p in results)
    title = f"stretto: native tuning for {to} from {files}"
    is_free(out, to)
    written = write(export, out, title, to, measured.mpi)
    if not as_json:
        for sentence in export.lost:
            say(f"stretto: note: {sentence}")
        held = withheld(export.lost, wishes, dropped)
        if not export.rows and (held or all(r.default for r in rules)):
            what = "nothing else" if held else "nothing"
            what += " that these files can express" if found.lost else ""
            said = f"{held}{nothing(points, what) or ''}".removesuffix("; ")
            if said:
                say(f"stretto: {said}")
        rows = f"{len(export.rows)} rule{'s' * (len(export.rows) != 1)} in {out}"
        print(rows + (f"; next: source {_sourced(out / SCRIPT)}" if export.rows else ""))
    answer = {
        "files": [str(p) for p in written],
        "environment": EXPORT.read(out / NAME).environment,
        "rules": len(export.rows),
        "lost": export.lost,
    }
    return answer, places


def _write_own(results: list[Path], out: Path, wishes: Wishes, as_json: bool) -> dict[str, object]:
    """Write Stretto's own table, of all results that were named; return what was written."""
    is_free(out, OWN)
    files, _ = chosen_results(results, None, "")
    written = write_own(files, out, wishes)
    if not as_json:
        for sentence in written.notes:
            say(f"stretto: note: {sentence}")
        rows = f"{written.chosen} row{'s' * (written.chosen != 1)} in {written.path}"
        if written.command is None:
            print(rows)
        else:
            say(
                "stretto: note: there is no script to source, because LD_PRELOAD in a job script "
                "affects all of its programs"
            )
            print(f"{rows}; next: {written.command} -- CMD")
    return {
        "files": [str(written.path)],
        "environment": {},
        "rules": written.chosen,
        "campaign_table": None if written.taken is None else str(written.taken),
        "lost": written.notes,
    }


def _sourced(script: Path) -> str:
    """Return how a shell is told to source a file: a name without '/' is looked for on PATH."""
    name = str(script)
    return quote(name if "/" in name and not name.startswith("-") else f"./{name}")


def _installed(
    target: str, mpi: str | None, measured: MPIIdentity, places: Sequence[str]
) -> MPIInstallation | None:
    """Return the MPI that an export is for: the measured one; None where none of it is here."""
    if target == "mvapich" and mpi is None:
        return None  # an MPICH that happens to be here is none
    major = target[-1] if target[-2:-1] == "-" else ""
    taken = take(TARGETS[target], measured, mpi, major, places)
    found = taken.installation
    if found is not None and found.family != TARGETS[target]:
        raise UsageError(
            f"{found.name} cannot read files for {target}",
            "--mpi",
            f"name a {TITLES[TARGETS[target]]}: its prefix or its launcher",
        )
    if taken.note:
        say(f"stretto: note: {taken.note}")
    return found


def _mpi_of(out: Path, mpi: str | None, places: Sequence[str]) -> MPIInstallation:
    manifest = EXPORT.read(out / NAME)
    found = _installed(manifest.target, mpi, manifest.mpi, places)
    if found is None:
        raise UsageError(
            f"no MPI for {manifest.target} was found, and timing needs to run it",
            "--mpi",
            "name its prefix or its mpirun: --mpi PREFIX",
        )
    return found


def _counted(verdicts: list[RowCheck]) -> str:
    """Return how many rows are what: each once, by its worst, found by reading or by running."""
    worst: dict[int, str] = {}
    for v in verdicts:
        if v.row is not None:
            worst[v.row] = max(worst.get(v.row, ""), v.status)  # proven < unproven < wrong
    rows = list(worst.values())
    words = ", ".join(f"{rows.count(s)} {s}" for s in ("proven", "unproven", "wrong"))
    beside = sum(v.row is None and v.status == "wrong" for v in verdicts)
    return f"rows: {words}" + (f"; {beside} wrong outside them" if beside else "")


def _of_the_job() -> str:
    """Return the nodes of the Slurm job around this process, none where there are not several."""
    names = allocated(os.environ)
    return ",".join(names) if len(names) > 1 else ""


def _check(
    out: Path,
    mpi: str | None,
    places: Sequence[str],
    nodes: tuple[str, ...],
    most_ranks: int,
    folder: Path | None,
    as_json: bool,
) -> list[RowCheck]:
    manifest = EXPORT.read(out / NAME)
    collectives = [r.collective for r in manifest.rows]
    warnings = conflicts(manifest.target, collectives, manifest.environment, os.environ)
    if manifest.target.startswith("openmpi"):  # an older export has such rows without a word
        warnings += unsafe.described([as_rule(r) for r in manifest.rows])
    warnings += [
        f"{out / name} was changed after the export"
        for name in manifest.strangers(out)
        if name not in manifest.files  # which `check` calls wrong
    ]
    for words in warnings:
        say(f"stretto: warning: {words}")
    installation = _installed(manifest.target, mpi, manifest.mpi, places)
    if installation is None:
        say(
            f"stretto: note: no MPI for {manifest.target} was found: the files are only read; "
            "--mpi PREFIX names one"
        )
    elif installation.version != manifest.mpi.version:
        say(
            f"stretto: warning: measured with {manifest.mpi.version}, checked with "
            f"{installation.version}"
        )
    verdicts = check(out, CheckPlan(installation, nodes, most_ranks, folder), as_json)
    if not as_json:
        for v in verdicts:
            print(f"{v.status:8}  {v.words}: {v.why}" + (f" [{v.place}]" if v.place else ""))
        name = installation.name if installation else "no MPI"
        print(f"{name}: {_counted(verdicts)}")
    return verdicts

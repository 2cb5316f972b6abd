"""``stretto bench``: times collectives, native and Stretto's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from stretto.cli import options as o
from stretto.cli.complete import choices
from stretto.cli.lazy import lazily
from stretto.counted import counted
from stretto.errors import UsageError
from stretto.output import print_json, say

with lazily():
    from stretto.files.bench import BLOCKING, Bench
    from stretto.files.identity import collect
    from stretto.files.profile import read_profile
    from stretto.files.table import NEIGHBORHOODS
    from stretto.measure import settings as s
    from stretto.measure.baseline import fair
    from stretto.measure.blocks import check_graph, parse_pattern, recorded_pattern, whole_pattern
    from stretto.measure.calls import beside_bare, check_calls
    from stretto.measure.candidates import (
        labels,
        list_lines,
        listed,
    )
    from stretto.measure.compare import BARE, NATIVE, compare, timings
    from stretto.measure.inlaunch import shared_launches
    from stretto.measure.request import Shapes, Where, announce, planned, split_candidates, where
    from stretto.measure.runner import measure
    from stretto.measure.settings import IRREGULAR, Settings
    from stretto.measure.show import as_json as results_json
    from stretto.measure.show import osu_lines, table_lines
    from stretto.mpi.base import MPIInstallation

EXAMPLE = """stretto bench -n 2 --collective allreduce,bcast --bytes 8:1M:4
stretto bench -n 4 --mpi mpich --candidates native,shm,bare -o mine.bench.jsonl
stretto bench -n 4 --collective alltoallv --blocks 0:75,4:25     # three blocks in four are empty
stretto bench -n 8 --collective neighbor_alltoall --graph 'torus(4x2)'
stretto bench -n 4 --list --collective bcast       # the algorithms of the MPI
stretto bench -n 4 --collective bcast --candidates 'native:all'
stretto bench -n 2 --osu --candidates bare     # the MPI alone, in OSU's form
stretto bench -n 4 --collective alltoallv --calls persistent --mpi mpich"""


_Candidates = Annotated[
    str | None,
    o.option(
        o.WHAT,
        "native, shm, bruck_k(8); bare (nothing preloaded); native:ring (one native "
        "algorithm); native:all (all of them); native:every (also with parameters); "
        "native:NAME=VALUE. Separated by commas or semicolons. Default: native and all "
        "algorithms of Stretto that fit.",
        autocompletion=choices,
    ),
]
_Launches = Annotated[int, o.option(o.WHAT, "Repeated launches; a test needs six.", min=1)]
_Root = Annotated[int, o.option(o.WHAT, "Root of bcast, reduce, gather and scatter.", min=0)]
_Blocks = Annotated[
    str | None,
    o.option(
        o.WHAT,
        "Sizes of blocks in v-collectives and reduce_scatter, relative to the mean: "
        "FACTOR:PERCENT,... (0:50,2:50), or a profile. Default: equal sizes.",
        "--blocks",
    ),
]
_Graph = Annotated[
    str,
    o.option(
        o.WHAT,
        "Graph of neighbourhood collectives: torus(4x2), grid(4x2), torus2, grid3, near(-1,1) (by "
        "distance); with --blocks PROFILE the recorded one.",
        "--graph",
    ),
]
_Operation = Annotated[str, o.option(o.WHAT, "MPI_SUM, MAX, MIN, PROD, LAND, LOR, BAND or BOR.")]
_Datatype = Annotated[str | None, o.option(o.WHAT, "MPI_DOUBLE, MPI_FLOAT, MPI_INT, ...")]
_Cold = Annotated[bool, o.option(o.WHAT, "Rotate through buffers larger than caches.")]
_Calls = Annotated[
    str,
    o.option(
        o.WHAT,
        "blocking; nonblocking (MPI_Ibcast, MPI_Wait); or persistent (MPI_Start, MPI_Wait on a "
        "request that is made once). No overlap with computation is measured.",
        "--calls",
    ),
]
_Stall = Annotated[
    float,
    o.option(
        o.COST, "Abort a launch after this many seconds without output.", min=1, callback=o.finite
    ),
]
_ListNative = Annotated[
    bool, o.option(o.OUTPUT, "List the algorithms of the MPI; measure nothing.", "--list")
]
_Osu = Annotated[bool, o.option(o.OUTPUT, "Print in the form of the OSU benchmarks.", "--osu")]


def command(
    ranks: o.Ranks = 2,
    ppn: o.Ppn = None,
    hosts: o.Hosts = None,
    mpi: o.Mpi = None,
    collective: o.Collective = None,
    sizes: o.Sizes = "8:1M:4",
    candidates: _Candidates = None,
    launches: _Launches = 6,
    root: _Root = 0,
    blocks: _Blocks = None,
    graph: _Graph = "torus2",
    operation: _Operation = "MPI_SUM",
    datatype: _Datatype = None,
    budget: o.Budget = None,
    cold: _Cold = False,
    calls: _Calls = "blocking",
    seed: o.Seed = 1,
    stall: _Stall = 60.0,
    separate_launches: o.SeparateLaunches = False,
    out: Annotated[
        Path | None,
        o.out_file("Results file to append to (default: FAMILY-NxP.bench.jsonl).", o.new),
    ] = None,
    restart: o.RestartFile = False,
    yes: o.Yes = False,
    dry_run: o.DryRun = False,
    list_native: _ListNative = False,
    osu: _Osu = False,
    as_json: o.Json = False,
) -> None:
    """Benchmark collectives in repeated launches that interleave the candidates.

    The results file has every sample. The same command continues after an interruption.
    """
    names = s.parse_collectives(collective, near=True)
    wanted = s.parse_sizes(sizes)
    seconds = None if budget is None else s.parse_duration(budget)
    if root >= ranks:
        raise UsageError(f"--root {root} is not one of {counted(ranks, 'rank')}", "--root", "use 0")
    place = where(ranks, ppn, hosts, mpi)
    installation = place.installation
    given = None if candidates is None else split_candidates(candidates)
    if given == []:
        raise UsageError("no candidate is named", "--candidates", "leave it out for all that fit")
    check_calls(calls, installation, given, cold)
    if list_native:
        _list(names, place, as_json)
        return
    patterns = _patterns(blocks, graph, names, ranks)
    cases = Shapes(names, wanted, given, datatype, operation, root, patterns).cases(place, say)
    if calls != BLOCKING:
        cases = beside_bare(cases)
    settings = s.Settings(
        nranks=ranks,
        cases=tuple(cases),
        variants=s.variants_of(
            cases, {} if separate_launches else shared_launches(installation, cases, place.nodes)
        ),
        launches=launches,
        ppn=ppn,
        hosts=place.hosts,
        seed=seed,
        budget_s=seconds,
        cold=cold,
        calls=calls,
        oversubscribed=place.oversubscribed,
        stall_s=stall,
    )
    kind = "" if calls == BLOCKING else f".{calls}"
    path = out or Path(f"{installation.family}-{place.nodes}x{place.each}{kind}.bench.jsonl")
    if not announce(settings, installation.name, path, say, restart, yes, dry_run):
        if as_json:
            print_json(planned(settings, path, restart))
        return
    identity, words = collect(installation.identity), ["stretto", *sys.argv[1:]]
    bench, notes = measure(settings, installation, path, identity, words, say, restart)
    _show(bench, notes, settings, installation, path, osu, as_json)
    say(f"stretto: results are in {path}; next: stretto report {path}")


def _patterns(blocks: str | None, graph: str, names: list[str], ranks: int) -> dict[str, str]:
    """Return how sizes of blocks differ, and the graphs, by collective."""
    of_profile = blocks is not None and blocks.endswith(".json")
    mine = [n for n in names if n in IRREGULAR or (of_profile and n in NEIGHBORHOODS)]
    if blocks is not None and not mine:
        raise UsageError(
            "none of the collectives has blocks of different sizes", "--blocks",
            f"there are {', '.join(IRREGULAR)}",
        )  # fmt: skip
    if blocks is not None and of_profile:
        profile = read_profile(Path(blocks))
        found = {n: recorded_pattern(profile, n, blocks) for n in mine}
    else:
        typed = "" if blocks is None else parse_pattern(blocks)
        found = {n: whole_pattern(n, typed, graph) for n in names}
    for name in set(names) & set(NEIGHBORHOODS):
        check_graph(found[name].partition("/")[0], ranks)
    return found


def _list(names: list[str], place: Where, as_json: bool) -> None:
    found = listed(place.installation, names, place.nranks, place.nodes)
    if as_json:
        print_json({"mpi": place.installation.name, "algorithms": found})
    else:
        print("\n".join(list_lines(found)))


def _show(
    bench: Bench,
    notes: list[str],
    settings: Settings,
    installation: MPIInstallation,
    path: Path,
    osu: bool,
    as_json: bool,
) -> None:
    times = timings(bench)
    both = any(NATIVE in t for t in times.values())
    alone = bench.header.calls != BLOCKING
    comparisons = fair(times, alone) if both else compare(times, BARE)
    if as_json:
        found = results_json(times, comparisons, notes)
        print_json({"calls": settings.calls, **found, "file": str(path)})
    elif osu:
        print("\n".join(osu_lines(bench)))
    else:
        words = labels(installation, (c for case in settings.cases for c in case.candidates))
        lines = table_lines(times, comparisons, words)
        print("\n".join([f"{settings.calls} calls"] * alone + lines))

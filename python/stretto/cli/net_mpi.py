"""``stretto net mpi``: what messages between ranks cost through an MPI."""

from __future__ import annotations

from typing import Annotated

from stretto.cli import options as o
from stretto.cli.lazy import lazily
from stretto.cli.measured import (
    Launches,
    NetOut,
    announce,
    busy_notes,
    finish,
    net_file,
    refuse_odd,
    warned,
)
from stretto.counted import counted, duration
from stretto.errors import EXIT_DONE, EXIT_FAULT, CommandFailedError
from stretto.progress import Progress

with lazily():
    from stretto.files.net import write_net
    from stretto.measure.idle import threads
    from stretto.measure.request import Where, where
    from stretto.measure.settings import parse_sizes
    from stretto.mpi.variables import progress_thread
    from stretto.net.p2p import (
        PING,
        P2PLaunch,
        by_level,
        collected,
        expected_s,
        limit_s,
        measure,
        points,
    )
    from stretto.net.p2p_show import mpi_page, osu_lines
    from stretto.net.show import as_json as encoded

EXAMPLE = """\
stretto net mpi --hosts node1,node2                     # one pair
stretto net mpi -n 16 --ppn 8 --hosts node1,node2        # eight pairs: bandwidth of the node
stretto net mpi --mpi intel --threads 4 --osu"""

_Bytes = Annotated[str, o.option(o.WHAT, f"Sizes in bytes: {o.SIZES}.", "--bytes")]
_Threads = Annotated[
    int, o.option(o.WHAT, "Threads per rank; 2 or more also measures latency at each thread "
        "level.", min=1,
                  max=64)
]  # fmt: skip
_Progress = Annotated[
    bool | None,
    o.option(o.WHAT, "Also measure overlap with a progress thread. Default: where the MPI has one "
             "and nodes have two hardware threads per rank.",
             "--progress-thread/--no-progress-thread"),
]  # fmt: skip
_Osu = Annotated[bool, o.option(o.OUTPUT, "Print as osu_latency, osu_bw, osu_bibw, osu_mbw_mr.")]


def command(
    ranks: o.Ranks = 2,
    ppn: o.Ppn = None,
    hosts: o.Hosts = None,
    mpi: o.Mpi = None,
    sizes: _Bytes = "8:4M:8",
    threads: _Threads = 1,
    progress: _Progress = None,
    launches: Launches = 6,
    out: NetOut = None,
    osu: _Osu = False,
    dry_run: o.DryRun = False,
    as_json: o.Json = False,
) -> int:
    """Measure messages between ranks: latency, bandwidth, message rate, sends, overlap.

    The first half of the ranks sends to the second half. All pairs must be between two nodes, or
    all within one node. If a launch fails, the finished launches are kept, and the exit code is 1.
    """
    place = where(ranks, ppn, hosts, mpi)
    refuse_odd(ranks)
    wanted = points(parse_sizes(sizes), ranks, threads)
    thread, missing = _progress(place, progress)
    if thread and PING not in wanted:
        wanted.insert(0, PING)
    cost = expected_s(wanted, launches, bool(thread))
    levels = by_level(wanted)
    number = counted(sum(map(len, levels.values())), "point")
    number += f" at {len(levels)} thread levels" if len(levels) > 1 else ""
    number += f", {counted(launches, 'launch')}"
    if not announce(number, cost, dry_run=dry_run, as_json=as_json):
        return EXIT_DONE
    notes = busy_notes()
    found: list[P2PLaunch] = []
    failed = None
    with Progress("measuring messages") as bar:
        try:
            for launch in measure(
                place, wanted, launches, oversubscribe=place.oversubscribed, progress=thread,
                report=lambda n, total: bar.update(n - 1, f"launch {n} of {total}", total),
            ):  # fmt: skip
                found.append(launch)
        except CommandFailedError as error:
            if not found:
                raise
            bar.word = "stopped"
            failed = f"only {counted(len(found), 'launch')} finished: {error.message}"
    cut = any(launch.cut for launch in found)
    limit = f"a launch reached its limit of {duration(limit_s(wanted))} before all was measured"
    notes += warned(failed, f"{limit}: use an idle machine, or fewer --bytes" if cut else None)
    ranks_found = collected(place.installation.identity, found, thread)
    ranks_found.progress_missing = missing
    lines = osu_lines if osu else mpi_page
    finish(
        net_file(place.installation, ranks=ranks_found, notes=notes), write_net, encoded,
        lambda _: lines(ranks_found), out, as_json,
    )  # fmt: skip
    return EXIT_DONE if failed is None else EXIT_FAULT


def _progress(place: Where, wanted: bool | None) -> tuple[dict[str, str], str]:
    """Return the variables that start progress threads, or why there are none."""
    if wanted is False:
        return {}, "not asked for"
    found = progress_thread(place.installation)
    if not found:
        return {}, f"{place.installation.name} has none"
    if wanted is None and 2 * place.each > threads():
        return {}, (
            f"not measured: {counted(place.each, 'rank')} and as many threads need "
            f"{2 * place.each} hardware threads of a node, which has {threads()} "
            "(--progress-thread: measure anyway)"
        )
    return found, ""

"""``stretto net mpi``: what messages between ranks cost through an MPI."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stretto.cli import options as o
from stretto.output import print_json, say

if TYPE_CHECKING:
    from stretto.files.net import NetFile
    from stretto.measure.request import Where
    from stretto.net.p2p import P2PLaunch, Point

EXAMPLE = """\
stretto net mpi --hosts node1,node2                     # one pair
stretto net mpi -n 16 --ppn 8 --hosts node1,node2        # eight pairs: bandwidth of the node
stretto net mpi --mpi intel --threads 4 --osu"""

_Bytes = Annotated[str, o.option(o.WHAT, f"Sizes in bytes: {o.SIZES}.", "--bytes")]
_Threads = Annotated[
    int, o.option(o.WHAT, "Threads of a rank; 2 and more: what each thread level costs.", min=1,
                  max=64)
]  # fmt: skip
_Progress = Annotated[
    bool | None,
    o.option(o.WHAT, "Measure overlap with a progress thread, too. Default: where the MPI has one "
             "and nodes have two hardware threads a rank.",
             "--progress-thread/--no-progress-thread"),
]  # fmt: skip
_Launches = Annotated[
    int, o.option(o.RUNS, "Repeated launches (an interval needs six).", min=1, max=100)
]
_Out = Annotated[Path | None, o.option(o.OUTPUT, "File to write (NAME.net.json).", "--out", "-o")]
_Osu = Annotated[bool, o.option(o.OUTPUT, "Print as osu_latency, osu_bw, osu_bibw, osu_mbw_mr.")]


def command(
    ranks: o.Ranks = 2,
    ppn: o.Ppn = None,
    hosts: o.Hosts = None,
    mpi: o.Mpi = None,
    sizes: _Bytes = "8:4M:8",
    threads: _Threads = 1,
    progress: _Progress = None,
    launches: _Launches = 6,
    out: _Out = None,
    osu: _Osu = False,
    dry_run: o.DryRun = False,
    as_json: o.Json = False,
) -> None:
    """Measure messages between ranks: latency, bandwidth, message rate, sends, overlap.

    The first half of the ranks sends to the second half. All pairs have to be between two nodes,
    or all within one.

    Parameters
    ----------
    ranks, ppn, hosts, mpi, sizes, threads, progress, launches, out, osu, dry_run, as_json
        See the help text.
    """
    from stretto.counted import counted, duration
    from stretto.files.net import write_net
    from stretto.measure.request import where
    from stretto.measure.settings import parse_sizes
    from stretto.net.p2p import PING, expected_s, points
    from stretto.net.p2p_show import mpi_page, osu_lines
    from stretto.net.show import as_json as encoded

    place = where(ranks, ppn, hosts, mpi)
    wanted = points(parse_sizes(sizes), ranks, threads)
    thread, missing = _progress(place, progress)
    if thread and PING not in wanted:
        wanted.insert(0, PING)
    cost = expected_s(wanted, launches, bool(thread))
    if dry_run or cost > 10:
        say(f"stretto: {counted(len(wanted), 'point')}, {counted(launches, 'launch')}: about "
            f"{duration(cost)}")  # fmt: skip
    if dry_run:
        return
    found = _measured(place, wanted, launches, thread)
    if any(launch.cut for launch in found):
        say("stretto: the time of a launch ended before all was measured: ask for fewer --bytes")
    result = _result(place, found, thread, missing)
    if out is not None:
        write_net(result, out)
    assert result.ranks is not None
    if as_json:
        print_json(encoded(result, None if out is None else str(out)))
    else:
        print("\n".join((osu_lines if osu else mpi_page)(result.ranks)))
        if out is not None:
            print(f"file: {out}")


def _progress(place: Where, wanted: bool | None) -> tuple[dict[str, str], str]:
    """Return the variables that start progress threads, or why there are none."""
    from stretto.counted import counted
    from stretto.measure.idle import threads
    from stretto.mpi.variables import progress_thread

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


def _measured(
    place: Where, wanted: list[Point], launches: int, thread: dict[str, str]
) -> list[P2PLaunch]:
    from stretto.net.p2p import expected_s, measure
    from stretto.progress import Progress

    total = expected_s(wanted, launches, bool(thread))
    with Progress("measuring messages", total) as bar:
        return measure(
            place, wanted, launches, oversubscribe=place.oversubscribed, progress=thread,
            report=lambda text, done: bar.update(done * total, text),
        )  # fmt: skip


def _result(place: Where, found: list[P2PLaunch], thread: dict[str, str], missing: str) -> NetFile:
    from stretto.files.identity import collect_host, now
    from stretto.files.net import NetFile
    from stretto.net.p2p import collected
    from stretto.version import __version__

    ranks = collected(place.installation.identity, found, thread)
    ranks.progress_missing = missing
    return NetFile(__version__, now(), collect_host(), sys.argv[1:], 0, 0, None, [], ranks=ranks)

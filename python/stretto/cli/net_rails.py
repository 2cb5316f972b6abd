"""``stretto net rails``: what settings of links and rails change, bytes and connections counted."""

from __future__ import annotations

import os
from typing import Annotated

from stretto.cli import options as o
from stretto.cli.lazy import lazily
from stretto.cli.measured import NetOut, busy_notes, finish, net_file, refuse_odd
from stretto.counted import counted, duration
from stretto.errors import UsageError
from stretto.output import print_json, say
from stretto.progress import Progress

with lazily():
    from stretto.files.net import write_net
    from stretto.measure.request import Where, where
    from stretto.measure.settings import parse_sizes
    from stretto.mpi.settings import Setting
    from stretto.mpi.settings.base import parse
    from stretto.mpi.settings.nodes import Nodes
    from stretto.net.rails import ask_nodes, cost_s, measure, refuse_nothing, rows, scan
    from stretto.net.rails_judge import named, rails_page
    from stretto.net.show import as_json as encoded
    from stretto.tune.named import environment_of

EXAMPLE = """\
stretto net rails --hosts node1,node2                    # one pair
stretto net rails -n 16 --ppn 8 --hosts node1,node2       # eight pairs
stretto net rails --hosts a,b --candidates 'btl_tcp_links=16;btl_tcp_links=32' --bytes 8:4M:8"""

_Bytes = Annotated[
    str,
    o.option(
        o.WHAT,
        f"Message sizes in bytes: {o.SIZES}. Settings are compared at the largest; several sizes "
        "add a table, and a chart in stretto report.",
        "--bytes",
    ),
]
_Candidates = Annotated[
    str | None,
    o.option(o.WHAT, "Settings to try: 'NAME=VALUE;NAME=VALUE' (default: all that fit)."),
]
_Launches = Annotated[
    int, o.option(o.RUNS, "Launches of each setting (a test needs six).", min=1, max=100)
]


def command(
    ranks: o.Ranks = 2,
    ppn: o.Ppn = None,
    hosts: o.Hosts = None,
    mpi: o.Mpi = None,
    sizes: _Bytes = "4M",
    candidates: _Candidates = None,
    launches: _Launches = 6,
    out: NetOut = None,
    dry_run: o.DryRun = False,
    as_json: o.Json = False,
) -> None:
    """Try settings for TCP connections and network cards, and count connections and bytes.

    Each setting is measured in separate launches, interleaved with the others: bandwidth, message
    rate, TCP connections of each pair of ranks, and the bytes that each interface moved.
    """
    place = where(ranks, ppn, hosts, mpi)
    if place.nodes < 2 or ranks < 2:
        raise UsageError(
            "links and rails are between nodes: it takes ranks on two", "--hosts",
            "stretto net rails --hosts a,b   (in a job: -n 2 --ppn 1)",
        )  # fmt: skip
    refuse_odd(ranks)
    found = None if dry_run else ask_nodes(place)
    tried = _tried(place, found, candidates)
    wanted = rows(parse_sizes(sizes), ranks // 2)
    cost = cost_s(tried, wanted, launches)
    say(f"stretto: {place.installation.name}: {counted(len(tried), 'setting')} and native, "
        f"{counted(launches, 'launch')} each: about {duration(cost)}")  # fmt: skip
    if dry_run:
        for one in tried:
            say(f"stretto:   {one.name}: {one.what}")
        say("stretto: note: a dry run does not query the nodes for shared interfaces: the real "
            "run may try more settings")  # fmt: skip
        if as_json:
            names = [one.name for one in tried]
            print_json({"dry_run": True, "settings": names, "cost_s": round(cost, 1)})
        return
    refuse_nothing(tried, place)
    notes = busy_notes()
    with Progress("trying links and rails", launches * (1 + len(tried)), unit="launches") as bar:
        rails = measure(place, tried, wanted, launches, found, report=bar.update)
    result = net_file(place.installation, rails=rails, notes=notes)
    finish(result, write_net, encoded, lambda _: rails_page(rails), out, as_json)


def _tried(place: Where, found: Nodes | None, candidates: str | None) -> list[Setting]:
    """Return what the user named, or what the MPI has."""
    if candidates is None:
        return scan(place, found, os.environ)
    family = place.installation.family
    texts = [text for x in candidates.split(";") if (text := x.strip())]
    return [parse(named(e), e) for e in (environment_of(family, text) for text in texts)]

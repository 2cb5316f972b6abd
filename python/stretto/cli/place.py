"""``stretto place``: cores and cards for ranks, and an order of ranks that keeps messages near."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from stretto.cli import options as o
from stretto.cli.complete import files, platforms
from stretto.errors import UsageError
from stretto.output import print_json

EXAMPLE = """\
stretto place --ppn 8                                   # cores and cards, as launcher options
stretto place --profile app.profile.json --nodes 4 --hosts a,b,c,d -o order"""

_Machine = Annotated[
    Path | None,
    o.option(o.JOB, "Node as hwloc XML (lstopo --of xml; default: this machine)."),
]
_PerNode = Annotated[
    int | None, o.option(o.JOB, "Ranks on each node.", "--ppn", "--ranks-per-node", min=1)
]
_Nodes = Annotated[int | None, o.option(o.JOB, "Number of nodes (default: as recorded).", min=1)]
_Width = Annotated[int | None, o.option(o.JOB, "Cores of each rank (default: its share).", min=1)]
_Profile = Annotated[
    Path | None,
    o.option(
        o.WHAT, "Order the ranks of this recorded run.", autocompletion=files(".profile.json")
    ),
]
_Platform = Annotated[
    str | None,
    o.option(
        o.WHAT, "Also price the orders on this platform.", "--platform", "-p",
        autocompletion=platforms,
    ),
]  # fmt: skip
_Out = Annotated[Path | None, o.option(o.OUTPUT, "Directory for the order.", "--out", "-o")]


def command(
    profile: _Profile = None,
    platform: _Platform = None,
    machine: _Machine = None,
    ppn: _PerNode = None,
    nodes: _Nodes = None,
    threads: _Width = None,
    hosts: o.Hosts = None,
    seed: o.Seed = 1,
    out: _Out = None,
    as_json: o.Json = False,
) -> None:
    """Place ranks: on cores near network cards, and on nodes near the ranks they talk to.

    Without a profile, --ppn prints cores and cards of each rank of a node and the
    launcher options for them. With a profile, ranks are ordered so that few bytes go between nodes;
    -o writes the order for each launcher.
    """
    from stretto.check.facts import collect_facts
    from stretto.files.profile import read_profile
    from stretto.files.schema import encode
    from stretto.model.platform_file import load
    from stretto.place.cores import seats
    from stretto.place.hwloc import read_machine
    from stretto.place.order import block, find_order, placement, recorded, traffic_of
    from stretto.place.output import need_names, write_order
    from stretto.place.show import order_json, order_lines, seats_lines
    from stretto.place.site import JobNodes, site_of, sizes_of

    facts = collect_facts() if machine is None else read_machine(machine)
    names = [h for x in (hosts or "").split(",") if (h := x.strip())]
    if profile is None and ppn is None:
        raise UsageError(
            "nothing says what is to be placed", None,
            "give --ppn N, or --profile FILE of a recorded run",
        )  # fmt: skip
    if profile is None:
        assert ppn is not None
        found = seats(facts, ppn, threads or 1)
        site = JobNodes(tuple(names), (tuple(found),) * len(names))
        if out is not None:
            write_order(out, need_names(site), placement("block", block(site.sizes)))
        if as_json:
            print_json({"node": facts.name, "seats": encode(found)})
        else:
            print("\n".join(seats_lines(facts, found, site, out)))
        return
    run = read_profile(profile)
    site = site_of(*sizes_of(run, nodes, ppn, names), facts, threads)
    priced_on = None if platform is None else load(platform)
    order = find_order(traffic_of(run), site, recorded(run, site), priced_on, seed)
    if out is not None and order.gain:
        write_order(out, site, order.best)
    if as_json:
        print_json(order_json(order, site))
    else:
        print("\n".join(order_lines(order, site, out)))

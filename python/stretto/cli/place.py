"""``stretto place``: cores and cards for ranks, and an order of ranks that keeps messages near."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from stretto.cli import options as o
from stretto.cli.complete import files, platforms
from stretto.cli.lazy import lazily
from stretto.cli.trials import trial_options, trials
from stretto.errors import UsageError
from stretto.output import conclusion, print_json, say

with lazily():
    from stretto.check.facts import Facts, collect_facts
    from stretto.files.profile import read_profile
    from stretto.files.schema import encode
    from stretto.launch.job import understand
    from stretto.launch.naming import app_name
    from stretto.measure.names import read_names
    from stretto.model.platform import Platform
    from stretto.model.platform_file import load
    from stretto.place.hwloc import read_machine
    from stretto.place.order import block, find_order, placement, recorded, traffic_of
    from stretto.place.output import need_names, write_order
    from stretto.place.show import (
        UNCHANGED,
        binding_line,
        order_json,
        order_lines,
        seats_lines,
        typed_lines,
    )
    from stretto.place.site import JobNodes, like_recorded, seats, site_of, sizes_of
    from stretto.tune.session import Options, Tuning

EXAMPLE = """\
stretto place --ppn 8                                   # cores and cards, as launcher options
stretto place --profile app.profile.json --nodes 4 --hosts a,b,c,d -o order
stretto place -- mpirun -n 64 --hostfile hosts ./app   # record, order, run both ways"""

_Machine = Annotated[
    Path | None, o.option(o.JOB, "Node as hwloc XML (lstopo --of xml; default: this machine).")
]
_PerNode = Annotated[
    int | None, o.option(o.JOB, "Ranks on each node.", "--ppn", "--ranks-per-node", min=1)
]
_Nodes = Annotated[int | None, o.option(o.JOB, "Number of nodes (default: as recorded).", min=1)]
_Width = Annotated[
    int | None,
    o.option(
        o.JOB,
        "Cores per rank (default: an equal share of the node; with CMD: as CMD binds).",
        min=1,
    ),
]
_Profile = Annotated[
    Path | None,
    o.option(
        o.WHAT, "Order the ranks of this recorded run.", autocompletion=files(".profile.json")
    ),
]
_Platform = Annotated[
    str | None,
    o.option(
        o.WHAT, "Also predict times of the orders on this platform.", "--platform", "-p",
        autocompletion=platforms,
    ),
]  # fmt: skip
_Out = Annotated[
    Path | None, o.option(o.OUTPUT, "Directory for the order.", "--out", "-o", callback=o.new)
]


@o.sharing(trial_options)
def command(
    cmd: o.CommandLine = None,
    profile: _Profile = None,
    platform: _Platform = None,
    machine: _Machine = None,
    ppn: _PerNode = None,
    nodes: _Nodes = None,
    threads: _Width = None,
    hosts: o.Hosts = None,
    *,
    dry_run: o.DryRun = False,
    out: _Out = None,
    as_json: o.Json = False,
    **given: Any,
) -> None:
    """Place ranks on cores near network cards, and on nodes with the ranks they exchange data with.

    With CMD, one run is recorded, and its ranks are ordered so that few bytes move between nodes.
    CMD then runs alternately in both orders. --profile orders the ranks of a recorded run, and -o
    writes the order for each launcher. Otherwise --ppn prints the cores and network card of each
    rank of a node, and the launcher options for them.
    """
    priced_on = None if platform is None else load(platform)
    names = list(read_names([hosts], "--hosts")) if hosts else []
    if cmd:
        if profile or machine or ppn or nodes or hosts:
            raise UsageError(
                "CMD is recorded again on its own nodes", None,
                "leave out --profile, --machine, --ppn, --nodes and --hosts",
            )  # fmt: skip
        where = out or Path(f"place-{app_name(understand(cmd, mpi=given['mpi']))}")
        options = trials(cmd, where, dry_run=dry_run, **given)
        _command(options, threads, priced_on, as_json)
    elif profile is not None:
        node = (machine, threads)
        _profile(profile, priced_on, (nodes, ppn, names), node, given["seed"], out, as_json)
    elif ppn is not None:
        if nodes:
            raise UsageError(
                "without a profile, one node is described", "--nodes",
                "leave out --nodes; --profile FILE --nodes N orders ranks over nodes",
            )  # fmt: skip
        _cores(machine, ppn, threads or 1, names, out, as_json)
    else:
        raise UsageError(
            "nothing to place was given", None,
            "give --ppn N, --profile FILE of a recorded run, or -- CMD",
        )  # fmt: skip


def _node(machine: Path | None) -> Facts:
    return collect_facts() if machine is None else read_machine(machine)


def _cores(
    machine: Path | None, ppn: int, width: int, names: list[str], out: Path | None, as_json: bool
) -> None:
    """Print cores and cards of the ranks of a node."""
    facts = _node(machine)
    found = seats(facts, ppn, width)
    site = JobNodes(tuple(names), (tuple(found),) * len(names))
    if out is not None:
        write_order(out, need_names(site), placement("block", block(site.sizes)))
    if as_json:
        print_json({"node": facts.name, "seats": encode(found)})
    else:
        print("\n".join(seats_lines(facts, found, site, out)))


def _profile(
    profile: Path,
    platform: Platform | None,
    layout: tuple[int | None, int | None, list[str]],
    node: tuple[Path | None, int | None],
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Order the ranks of a recorded run."""
    run = read_profile(profile)
    machine, threads = node
    facts: Facts | None = _node(machine)
    assert facts is not None
    if machine is None and (unlike := like_recorded(run, facts)) is not None:
        say(f"stretto: note: {unlike}")
        facts = None
    site = site_of(*sizes_of(run, *layout), facts, threads)
    traffic = traffic_of(run)
    found = find_order(traffic, site, recorded(run, site), platform, seed)
    if out is not None and found.gain:
        from stretto.place.picture import write_picture  # an extra

        write_order(out, site, found.best)
        write_picture(traffic, found, out / "matrix.html")
    if as_json:
        if out is not None and not found.gain:
            say(f"stretto: nothing was written to {out}: {UNCHANGED}")
        print_json(order_json(found, site))
    else:
        print("\n".join([*order_lines(found), *typed_lines(found, site, out)]))


def _command(
    options: Options, threads: int | None, platform: Platform | None, as_json: bool
) -> None:
    """Record CMD, order its ranks, and run it both ways."""
    from stretto.place.run import place_command  # draws: an extra

    placed = place_command(Tuning(options, say), threads, platform)
    if placed is None:
        if as_json:
            print_json({"dry_run": True})
        return
    found, nodes = placed.ordering, placed.nodes
    if as_json:
        print_json(order_json(found, nodes, placed.conclusion))
        return
    bound = binding_line(nodes, found.gain or len(nodes.names) > 1, threads)
    print("\n".join([*order_lines(found), "", bound]))
    if found.gain:
        print(f"\n{conclusion(placed.conclusion)}")
    if found.gain and placed.helps:
        print(f"next: {placed.command}")

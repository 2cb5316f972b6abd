"""``stretto plan``: the algorithms, their plans as text and picture, and their proofs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from stretto.cli import options as o
from stretto.cli.complete import Completer, choices, collectives, platforms
from stretto.cli.lazy import lazily
from stretto.cli.plan_price import CALL, MOST_BYTES, Algorithm
from stretto.cli.plan_price import formula as _formula
from stretto.cli.plan_price import price as _price
from stretto.counted import counted
from stretto.errors import StrettoError, UsageError, meant
from stretto.output import print_json, say
from stretto.progress import Progress

with lazily():
    from stretto.files.io import write_atomic
    from stretto.measure.settings import parse_size
    from stretto.model.plan_gantt import gantt
    from stretto.model.plan_picture import picture
    from stretto.model.plan_sweep import Unproven, cases, prove, selected
    from stretto.model.platform_file import load
    from stretto.model.price import price
    from stretto.plan import CallPlans, neighborly, parse_layout, refuse_many

EXAMPLE = """stretto plan list
stretto plan show bcast "chain(64K)" -n 4 --bytes 256K --rank 1
stretto plan verify allreduce -n 32
stretto plan draw allreduce "shm+recursive_doubling" --layout 4x2 -o plan.svg
stretto plan draw neighbor_alltoall node_aware --layout 2x4 --graph "torus(4x2)"
stretto plan price "shm+bruck_k(8)" --collective allreduce --nodes 64 --ppn 64 --platform hpc7g"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)

Collective = Annotated[
    str, typer.Argument(help="allreduce, bcast, ...", autocompletion=collectives)
]


def only(what: str, names: Completer) -> Any:
    return typer.Argument(help=f"Only this {what}.", autocompletion=names)


Layout = Annotated[
    str | None, o.option(o.JOB, "Nodes x ppn as in 4x2, or the ranks of each: 3,2,2.")
]
RoundRobin = Annotated[
    bool, o.option(o.JOB, "Place ranks round-robin on the nodes.", "--round-robin")
]


def _call(
    collective: Collective,
    choice: Algorithm,
    nbytes: Annotated[str, o.option(CALL, f"Size of vector or block: {o.SIZE}.", "--bytes")] = "8",
    root: Annotated[int, o.option(CALL, "Root of bcast, reduce, gather and scatter.", min=0)] = 0,
    in_place: Annotated[bool, o.option(CALL, "Use MPI_IN_PLACE.", "--in-place")] = False,
    ordered: Annotated[
        bool, o.option(CALL, "Assume a non-commutative operation.", "--ordered")
    ] = False,
    graph: Annotated[
        str | None,
        o.option(
            CALL,
            "Graph of neighbourhood collectives: grid(4x2), torus(4x2), grid2, torus3, "
            "star, cycle, all, none, random(7) (torus2).",
        ),
    ] = None,
    ranks: Annotated[int | None, o.option(o.JOB, "Ranks (8).", "--ranks", "-n", min=1)] = None,
    layout: Layout = None,
    round_robin: RoundRobin = False,
) -> None:
    """What `show` and `draw` have in common."""


def _build(
    collective: str, choice: str, nbytes: str, root: int, in_place: bool, ordered: bool,
    graph: str | None, ranks: int | None, layout: str | None, round_robin: bool,
) -> CallPlans:  # fmt: skip

    size = parse_size(nbytes, MOST_BYTES)
    hosts = None if layout is None else parse_layout(layout, round_robin)
    if layout is None and round_robin:
        raise UsageError("--round-robin needs a layout with nodes", None, "add --layout 4x2")
    if hosts is None and choice.startswith("shm"):
        hosts = [0] * (ranks or 8) if choice == "shm" else None
        if hosts is None:
            raise UsageError("shm+X needs a layout with nodes", choice, "add --layout 4x2")
    if hosts is not None and ranks is not None and ranks != len(hosts):
        raise UsageError(
            f"the layout has {counted(len(hosts), 'rank')}, not {ranks}", "--layout",
            "leave out -n",
        )  # fmt: skip
    p = len(hosts) if hosts is not None else ranks or 8
    if root >= p:
        raise UsageError(f"--root {root} is not one of {counted(p, 'rank')}", "--root", "use 0")
    return CallPlans(collective, choice, p, hosts, root, in_place, not ordered, size, graph)


@app.command("list")
def list_algorithms(
    collective: Annotated[str | None, only("collective", collectives)] = None,
    as_json: o.Json = False,
) -> None:
    """List the algorithms, their parameters and what they need."""
    from stretto.plan import algorithms, collectives

    rows = [a for a in algorithms() if collective in (None, a.collective)]
    if not rows:
        raise UsageError(
            f"there is no collective {collective!r}", None, meant(collective or "", collectives())
        )
    if as_json:
        print_json([asdict(a) for a in rows])
        return
    last = None
    for a in rows:
        if a.collective != last:
            print(a.collective if last is None else f"\n{a.collective}")
            last = a.collective
        name = a.name if a.parameter is None else f"{a.name}({a.parameter})"
        needs = f" [{', '.join(n.replace('_', ' ') for n in a.needs)} only]" if a.needs else ""
        span = ""
        if a.parameter is not None:
            low, preset, high = (_typed(v) for v in (a.minimum, a.default, a.maximum))
            span = f" ({a.parameter} {low} to {high}, {preset} if not given)"
        print(f"  {name:<26} {a.help}{needs}{span}")


def _typed(parameter: int) -> str:
    """Return the parameter of an algorithm as it is typed in brackets: ``8``, ``64K``, ``1M``."""
    for unit, factor in (("M", 1 << 20), ("K", 1 << 10)):
        if parameter >= factor and parameter % factor == 0:
            return f"{parameter // factor}{unit}"
    return str(parameter)


@app.command("show")
@o.sharing(_call)
def show(
    *,
    rank: Annotated[int | None, o.option(o.OUTPUT, "Show only this rank.", min=0)] = None,
    as_json: o.Json = False,
    **given: Any,
) -> None:
    """Print the plans of one call as text: index, round, action."""
    with _build(**given) as call:
        if as_json:
            found = call.actions()
            if rank is not None:
                call.text(rank)  # refuses a rank that there is not
                found["ranks"] = [found["ranks"][rank]]
                found["rank"] = rank
            print_json(found)
            return
        wanted = range(call.nranks) if rank is None else [rank]
        print("\n".join(call.text(r) for r in wanted), end="")


@app.command("verify")
def verify(
    collective: Annotated[str | None, only("collective", collectives)] = None,
    choice: Annotated[str | None, only("choice", choices)] = None,
    ranks: Annotated[
        int, o.option(o.JOB, "Verify all numbers of ranks up to this.", "--ranks", "-n", min=1)
    ] = 16,
    layout: Layout = None,
    round_robin: RoundRobin = False,
    as_json: o.Json = False,
) -> None:
    """Verify algorithms for every rank count, root, order and some values of the parameter.

    With --layout: shm+X on that layout, every root. Neighbourhood collectives: on sample graphs.
    """
    if choice is not None and collective is None:
        raise UsageError("a choice needs a collective", choice, "stretto plan verify bcast X")
    refuse_many(ranks, "--ranks")
    hosts = None if layout is None else parse_layout(layout, round_robin)
    flat = choice.removeprefix("shm+") if choice is not None else None
    if flat != choice and hosts is None:
        raise UsageError("shm+X needs a layout with nodes", choice, "add --layout 4x2")
    wanted = selected(collective, flat)
    counts = [len(hosts)] if hosts is not None else list(range(1, ranks + 1))
    total = sum(p * p * len(choices) for p in counts for _, choices in wanted)
    faults: list[Unproven] = []
    results = []
    with Progress("proving", total, quiet=as_json) as progress:
        for algorithm, choices in wanted:
            proven = refused = 0
            for one in choices:
                for p in counts:
                    for case in cases(algorithm, one, p, hosts):
                        found = prove(case)
                        proven += found is None
                        if found is not None and found.refused:
                            refused += 1
                        elif found is not None:
                            faults.append(found)
                    progress.advance(p * p, f"{algorithm.collective} {one}, {p} ranks")
            wrong = len([f for f in faults if f.algorithm == algorithm])
            results.append((algorithm, proven, refused, wrong))
    if as_json:
        print_json(
            {
                "algorithms": [
                    {
                        "collective": a.collective,
                        "name": a.name,
                        "proven": proven,
                        "refused": refused,
                        "faults": wrong,
                    }
                    for a, proven, refused, wrong in results
                ],
                "faults": [f.as_json() for f in faults],
            }
        )
    else:
        for a, proven, refused, wrong in results:
            prefix = "shm+" if hosts is not None and not neighborly(a.collective) else ""
            more = f", {refused} refused" if refused else ""
            verdict = f"{wrong} WRONG" if wrong else "all proven" if proven else "nothing to prove"
            calls = "call" if proven == 1 else "calls"
            print(f"{a.collective:<10} {prefix + a.name:<26} {proven:>7} {calls}{more}, {verdict}")
    if faults:
        for fault in faults[:10]:
            say(f"{fault.words()}: {fault.reason}")
        raise StrettoError(
            f"{counted(len(faults), 'call')} {'has' if len(faults) == 1 else 'have'} plans that "
            "are wrong",
            faults[0].words(),
            "stretto plan show prints the plans of a call",
        )


def _timeline(call: CallPlans, platform: str, nbytes: int) -> str:
    hosts = call.hosts if call.hosts is not None else list(range(call.nranks))
    found = price(
        call.collective,
        call.choice,
        hosts,
        nbytes,
        load(platform),
        root=call.root,
        in_place=call.in_place,
        commutative=call.commutative,
        trace=True,
        graph=call.graph,
    )
    return gantt(found, hosts, nbytes)


@app.command("draw")
@o.sharing(_call)
def draw(
    *,
    platform: Annotated[
        str | None,
        o.option(
            o.JOB,
            "Draw the time of every rank on this platform (simulated).",
            "--platform",
            "-p",
            autocompletion=platforms,
        ),
    ] = None,
    out: Annotated[
        Path | None, o.out_file("SVG file, - for standard output (default: COLLECTIVE.svg).")
    ] = None,
    **given: Any,
) -> None:
    """Draw who sends what to whom, and when, as an SVG picture.

    With --platform: how each rank spends its time on that platform.
    """
    with Progress("drawing"), _build(**given) as call:
        if platform is None:
            svg = picture(call.actions())
        else:
            svg = _timeline(call, platform, parse_size(given["nbytes"], MOST_BYTES))
    if out is not None and str(out) == "-":
        print(svg, end="")
        return
    path = out if out is not None else Path(f"{given['collective']}.svg")
    write_atomic(path, svg, "the picture")
    say(f"stretto: {path} written")


app.command("price")(_price)
app.command("formula")(_formula)

"""``stretto plan``: the algorithms, their plans as text and picture, and their proofs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stretto.cli.plan_price import formula as _formula
from stretto.cli.plan_price import price as _price
from stretto.counted import counted
from stretto.errors import StrettoError, UsageError
from stretto.files.io import write_atomic
from stretto.output import print_json, say

if TYPE_CHECKING:
    from stretto.plan import CallPlans

EXAMPLE = """stretto plan list
stretto plan show bcast "chain(64K)" -n 4 --bytes 256K --rank 1
stretto plan verify allreduce -n 32
stretto plan draw allreduce "shm+recursive_doubling" --layout 4x2 -o plan.svg
stretto plan draw neighbor_alltoall node_aware --layout 2x4 --graph "torus(4x2)"
stretto plan price "shm+bruck_k(8)" --collective allreduce --nodes 64 --ppn 64 --platform hpc7g"""

#: more than ranks have memory for; the library's whole numbers end further on
MOST_BYTES = 1 << 40

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)

Collective = Annotated[str, typer.Argument(help="allreduce, bcast, ...")]
Choice = Annotated[str, typer.Argument(help="ring, bruck_k(8), shm+knomial(4), ...")]
Ranks = Annotated[int | None, typer.Option("-n", "--ranks", min=1, help="Ranks (8 by default).")]
Layout = Annotated[
    str | None, typer.Option(help="Nodes x ppn as in 4x2, or the ranks of each: 3,2,2.")
]
RoundRobin = Annotated[
    bool, typer.Option("--round-robin", help="Place ranks on the nodes in turn.")
]
Root = Annotated[int, typer.Option(min=0, help="Root of bcast, reduce, gather and scatter.")]
Bytes = Annotated[str, typer.Option("--bytes", help="Size of the vector or block: 8, 64K, 1M.")]
InPlace = Annotated[bool, typer.Option("--in-place", help="Use MPI_IN_PLACE.")]
Ordered = Annotated[bool, typer.Option("--ordered", help="The operation is not commutative.")]
Graph = Annotated[
    str | None,
    typer.Option(
        help="Graph of neighbourhood collectives: grid(4x2), torus(4x2), grid2, torus3, "
        "star, cycle, all, none, random(7); torus2 if not given."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _nbytes(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    digits, unit = (text[:-1], units[text[-1:]]) if text[-1:] in units else (text, 1)
    if not digits.isdecimal():
        raise UsageError(f"{text!r} is not a size", "--bytes", "write 8, 64K or 1M")
    number = int(digits) * unit
    if number > MOST_BYTES:
        raise UsageError(f"{text} bytes are more than a call can have", "--bytes", "at most 1024G")
    return number


def _size(number: int) -> str:
    for unit, size in (("M", 1 << 20), ("K", 1 << 10)):
        if number >= size and number % size == 0:
            return f"{number // size}{unit}"
    return str(number)


def _build(
    collective: str,
    choice: str,
    nranks: int | None,
    layout: str | None,
    round_robin: bool,
    root: int,
    nbytes: str,
    in_place: bool,
    ordered: bool,
    graph: str | None,
) -> CallPlans:
    from stretto.plan import CallPlans, parse_layout

    size = _nbytes(nbytes)
    hosts = None if layout is None else parse_layout(layout, round_robin)
    if layout is None and round_robin:
        raise UsageError("--round-robin says nothing without nodes", None, "add --layout 4x2")
    if hosts is None and choice.startswith("shm"):
        hosts = [0] * (nranks or 8) if choice == "shm" else None
        if hosts is None:
            raise UsageError(
                "shm+X needs to know which ranks share a node", choice, "add --layout 4x2"
            )
    if hosts is not None and nranks is not None and nranks != len(hosts):
        raise UsageError(
            f"the layout has {counted(len(hosts), 'rank')}, not {nranks}",
            "--layout",
            "leave out -n",
        )
    p = len(hosts) if hosts is not None else nranks or 8
    if root >= p:
        raise UsageError(
            f"--root {root} is not one of {counted(p, 'rank')}", "--root", "0 is always one"
        )
    return CallPlans(collective, choice, p, hosts, root, in_place, not ordered, size, graph)


@app.command("list")
def list_algorithms(
    collective: Annotated[str | None, typer.Argument(help="Only of this collective.")] = None,
    as_json: Json = False,
) -> None:
    """List the algorithms, their parameters and what they need."""
    from dataclasses import asdict

    from stretto.plan import algorithms, collectives

    rows = [a for a in algorithms() if collective in (None, a.collective)]
    if not rows:
        raise UsageError(
            f"there is no collective {collective!r}", None, f"one of {', '.join(collectives())}"
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
            low, preset, high = (_size(v) for v in (a.minimum, a.default, a.maximum))
            span = f" ({a.parameter} {low} to {high}, {preset} if not given)"
        print(f"  {name:<26} {a.help}{needs}{span}")


@app.command("show")
def show(
    collective: Collective,
    choice: Choice,
    nranks: Ranks = None,
    layout: Layout = None,
    round_robin: RoundRobin = False,
    rank: Annotated[int | None, typer.Option(min=0, help="Only this rank.")] = None,
    root: Root = 0,
    nbytes: Bytes = "8",
    in_place: InPlace = False,
    ordered: Ordered = False,
    graph: Graph = None,
    as_json: Json = False,
) -> None:
    """Print the plans of one call as text: index, round, action."""
    with _build(
        collective, choice, nranks, layout, round_robin, root, nbytes, in_place, ordered, graph
    ) as call:
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
    collective: Annotated[str | None, typer.Argument(help="Only this one.")] = None,
    choice: Annotated[str | None, typer.Argument(help="Only this one.")] = None,
    nranks: Annotated[
        int, typer.Option("-n", "--ranks", min=1, help="Every rank count up to this.")
    ] = 16,
    layout: Layout = None,
    round_robin: RoundRobin = False,
    as_json: Json = False,
) -> None:
    """Prove algorithms: every rank count, root, order and some values of the parameter.

    With --layout: shm+X over that layout, every root. Neighbourhood collectives: on sample graphs.
    """
    from stretto.model.plan_sweep import Unproven, cases, prove, selected
    from stretto.plan import neighborly, parse_layout, refuse_many
    from stretto.progress import Progress

    if choice is not None and collective is None:
        raise UsageError("a choice belongs to a collective", choice, "stretto plan verify bcast X")
    refuse_many(nranks, "--ranks")
    hosts = None if layout is None else parse_layout(layout, round_robin)
    flat = choice.removeprefix("shm+") if choice is not None else None
    if flat != choice and hosts is None:
        raise UsageError("shm+X needs to know which ranks share a node", choice, "add --layout 4x2")
    wanted = selected(collective, flat)
    counts = [len(hosts)] if hosts is not None else list(range(1, nranks + 1))
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
    from stretto.model.plan_gantt import gantt
    from stretto.model.platform_file import load
    from stretto.model.price import price

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
def draw(
    collective: Collective,
    choice: Choice,
    nranks: Ranks = None,
    layout: Layout = None,
    round_robin: RoundRobin = False,
    root: Root = 0,
    nbytes: Bytes = "8",
    in_place: InPlace = False,
    ordered: Ordered = False,
    graph: Graph = None,
    platform: Annotated[
        str | None,
        typer.Option("--platform", "-p", help="Draw the time of every rank there (simulated)."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="SVG file (COLLECTIVE.svg by default), - for stdout."),
    ] = None,
) -> None:
    """Draw who sends what to whom, and when, as an SVG picture.

    With --platform: what each rank does with its time on that platform.
    """
    from stretto.model.plan_picture import picture

    with _build(
        collective, choice, nranks, layout, round_robin, root, nbytes, in_place, ordered, graph
    ) as call:
        if platform is None:
            svg = picture(call.actions())
        else:
            svg = _timeline(call, platform, _nbytes(nbytes))
    if output is not None and str(output) == "-":
        print(svg, end="")
        return
    path = output if output is not None else Path(f"{collective}.svg")
    write_atomic(path, svg, "the picture")
    say(f"stretto: {path} written")


app.command("price")(_price)
app.command("formula")(_formula)

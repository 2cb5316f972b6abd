"""``stretto plan price`` and ``stretto plan formula``: what a call costs on a platform."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from stretto.cli import options as o
from stretto.cli.complete import choices, collectives
from stretto.cli.lazy import lazily
from stretto.counted import counted
from stretto.errors import UsageError
from stretto.output import print_json
from stretto.progress import Progress

with lazily():
    from stretto.files.io import read_text
    from stretto.measure.settings import parse_size
    from stretto.model import platform_file
    from stretto.model.price import Price
    from stretto.model.price import formula as closed
    from stretto.model.price import price as evaluate
    from stretto.plan import refuse_many

CALL = "Call"
Algorithm = Annotated[
    str, typer.Argument(help="ring, bruck_k(8), shm+knomial(4), ...", autocompletion=choices)
]
Collective = Annotated[
    str, o.option(CALL, "allreduce, bcast, ...", "--collective", "-c", autocompletion=collectives)
]
Bytes = Annotated[str, o.option(CALL, f"Size: {o.SIZE}.", "--bytes")]
#: more than ranks have memory for; the library's whole numbers end further on
MOST_BYTES = 1 << 40
#: shares of the calls whose longest time is told beside the median
TAILS = (0.95, 0.99, 1.0)


def microseconds(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3f} {unit}"
    return f"{seconds * 1e6:.3f} us"


def price(
    choice: Algorithm,
    platform: o.PlatformName,
    collective: Collective = "allreduce",
    nbytes: Bytes = "8",
    root: Annotated[int, o.option(CALL, "Root of rooted collectives.", min=0)] = 0,
    graph: Annotated[
        str | None, o.option(CALL, "Graph of neighbourhood collectives: grid(4x2), torus3, ...")
    ] = None,
    calls: Annotated[
        int,
        o.option(
            CALL, "Consecutive calls; prints the median of the second half.", min=1, max=10**6
        ),
    ] = 1,
    skew: Annotated[
        str | None,
        o.option(
            CALL,
            "Entry times of the ranks: 20us (random within this time), or a file with one number "
            "per rank in us.",
        ),
    ] = None,
    seed: o.Seed = 1,
    nodes: Annotated[int, o.option(o.JOB, "Nodes.", min=1)] = 2,
    ppn: Annotated[int, o.option(o.JOB, "Ranks per node.", min=1)] = 1,
    as_json: o.Json = False,
) -> None:
    """Simulate one algorithm on a platform: time and its parts, messages, and the lower bound.

    All printed figures are simulated (docs/explanation/model.md).
    """
    size = parse_size(nbytes, MOST_BYTES)
    refuse_many(nodes * ppn, "--nodes")
    if root >= nodes * ppn:
        raise UsageError(f"--root {root} is not one of {nodes * ppn} ranks", "--root")
    hosts = [r // ppn for r in range(nodes * ppn)]
    with Progress(f"pricing {collective} {choice}"):
        found = evaluate(
            collective, choice, hosts, size, platform_file.load(platform), root=root,
            skew=None if skew is None else entries(skew, len(hosts), seed), calls=calls,
            seed=seed, graph=graph,
        )  # fmt: skip
    if as_json:
        print_json(_as_json(found, nodes, ppn, size))
    else:
        print("\n".join(_lines(found, nodes, ppn, nbytes)))


def entries(text: str, nranks: int, seed: int) -> list[float]:
    """Return when each rank enters the first call, in seconds from the first one's entry.

    `text`: A longest time with its unit (``20us``), or a file with a number of microseconds a rank.
    """
    if found := re.fullmatch(r"([0-9]*\.?[0-9]+) ?(ns|us|ms|s)", text):
        longest = float(found[1]) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[found[2]]
        draw = random.Random(seed)
        return [longest * draw.random() for _ in range(nranks)]
    words = read_text(
        Path(text), "a file of entry times", "write a time with its unit, 20us, or give a file"
    ).split()
    times = []
    for number, word in enumerate(words):
        try:
            times.append(1e-6 * float(word))
        except ValueError:
            times.append(-1.0)
        if not 0 <= times[-1] < math.inf:
            raise UsageError(
                f"{word!r}, of rank {number}, is not a time", text, "microseconds, 0 or more"
            )
    if len(times) != nranks:
        raise UsageError(
            f"{len(times)} times for {nranks} ranks", text, "write one number a rank, in us"
        )
    return times


def _as_json(p: Price, nodes: int, ppn: int, nbytes: int) -> dict[str, Any]:
    return {
        "collective": p.collective,
        "choice": p.choice,
        "nodes": nodes,
        "ppn": ppn,
        "bytes": nbytes,
        "platform": p.platform,
        "source": "simulated",
        "seconds": p.seconds,
        "tails_s": {f"p{100 * share:g}": p.tail(share) for share in TAILS},
        "last_rank": p.last_rank,
        "took_s": p.took,
        "parts_s": p.parts,
        "messages": p.messages,
        "message_bytes": p.nbytes,
        "bound_s": p.bound,
        "bound_why": p.bound_why,
        "finish_s": p.finish,
        "enter_s": p.enter,
    }


def _bytes(number: str) -> str:
    return f"{number} byte{'' if number == '1' else 's'}"


def _lines(p: Price, nodes: int, ppn: int, nbytes: str) -> list[str]:
    lines = [
        f"{p.collective} {p.choice}, {_bytes(nbytes)}, {counted(nodes, 'node')} x {ppn} on "
        f"{p.platform} "
        "(simulated)",
        f"  time         {microseconds(p.seconds)}"
        + (f", the median of calls {len(p.took) // 2 + 1} to {len(p.took)}" * (len(p.took) > 1)),
    ]
    if len(p.took) > 1:
        tails = ", ".join(f"{100 * share:g} % {microseconds(p.tail(share))}" for share in TAILS)
        lines.append(f"  tails        no longer than, of these calls: {tails}")
    if p.bound is not None and p.bound > 0:
        lines.append(
            f"  lower bound  {microseconds(p.bound)}: {p.bound_why}; "
            f"the time is {p.seconds / p.bound:.2f} times the bound"
            + (
                "; the bound is for one call that all ranks enter at the same time"
                * (len(p.took) > 1)
            )
        )
    lines.append(f"  critical path to the end of rank {p.last_rank}, the last:")
    total = sum(p.parts.values()) or 1.0
    for name, seconds in sorted(p.parts.items(), key=lambda part: -part[1]):
        if seconds > 0:
            lines.append(
                f"    {name:<11}{microseconds(seconds):>14}  {100 * seconds / total:5.1f} %"
            )
    if any(p.messages.values()):
        lines.append("  messages per call:")
        for level, count in p.messages.items():
            if count:
                lines.append(f"    {level:<11}{count:>14,.0f}  {p.nbytes[level]:,.0f} bytes")
    return lines


def formula(
    choice: Algorithm,
    collective: Collective = "allreduce",
    nbytes: Bytes = "8",
    ranks: Annotated[int, o.option(o.JOB, "Ranks.", "--ranks", "-n", min=1)] = 8,
    as_json: o.Json = False,
) -> None:
    """Print an algorithm's closed formula, T = A alpha + B beta + C gamma, and its value.

    alpha: latency of a message; beta: time of a byte through a rank's interface; gamma: time to
    reduce a byte.
    """
    size = parse_size(nbytes, MOST_BYTES)
    found = closed(collective, choice, ranks, size)
    if as_json:
        print_json(
            {
                "collective": collective,
                "choice": choice,
                "nranks": ranks,
                "bytes": size,
                "formula": found.text,
                "exact": found.exact,
                "alpha": found.alpha,
                "beta_bytes": found.beta,
                "gamma_bytes": found.gamma,
            }
        )
        return
    print(f"{collective} {choice}: {found.text}")
    about = "" if found.exact else "about, for this number of ranks: "
    print(
        f"{counted(ranks, 'rank')}, {_bytes(nbytes)}: {about}{found.alpha:g} alpha + "
        f"{found.beta:g} B beta + {found.gamma:g} B gamma"
    )

"""Prices against published measurements of a c5n.18xlarge cluster; see docs/howto/simulate.md.

    python3 bench/c5n.py [--reference DIR] [--json FILE] [--loop]

The platforms c5n-tcp and c5n-efa are fitted on point-to-point and multi-pair curves and on
collectives within one node only. What is predicted here was not used: Open MPI's broadcast
algorithms on 8 x 36 ranks over TCP, and Intel MPI's broadcast and allreduce on 2 x 36 over EFA.
OSU's collective tests print the mean over the ranks of each rank's own time: so does this.

--loop prices OSU's loop as well, in which a barrier stands between the calls, so that the ranks do
not enter together; and asks how much longer a message between two full nodes must take for the
two-node columns to come out (docs/explanation/model.md). Nothing of it goes into a platform.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import math
import sys
from pathlib import Path
from statistics import fmean, median

from scipy.stats import kendalltau

from stretto.model.native import native_choice
from stretto.model.platform_file import load
from stretto.model.price import price
from stretto.model.sweep import hosts_of

#: Open MPI's broadcast algorithms when forced by number: coll_tuned_bcast_algorithm_segmentsize is
#: 0, which means whole messages; chains are 4 and the k-nomial radix is 4 by default
WHOLE = "64M"
FORCED = {
    "1. basic linear": "linear(1048576)",
    "2. chain": f"chain({WHOLE},4)",
    "3. pipeline": f"pipeline({WHOLE})",
    "4. split binary tree": f"split_binary({WHOLE})",
    "5. binary tree": f"binary_levels({WHOLE})",
    "6. binomial tree": f"binomial_doubling({WHOLE})",
    "7. knomial tree": "knomial(4)",
    "8. scatter_allgather": "scatter_allgather_doubling",
    "9. scatter_allgather_ring": "scatter_allgather",
}
NODES, PPN = 8, 36
#: the barrier of OSU's loop: Open MPI's for this many ranks; in two nodes one exchange of leaders
BARRIER = {"c5n-tcp": "dissemination(2)", "c5n-efa": "shm+dissemination(2)"}
#: so much later a message comes in the third column of the loop, in us: read off the two-node
#: columns themselves, which is why no platform has it
LATER_US = 14.0
SHORT = 8192  # the longest eager message of c5n-efa


def forced_choice(name: str, nbytes: int) -> str:
    """Return the plan that stands for a column of the table at one size."""
    if name in ("default", "0. ignore"):
        return native_choice("openmpi", "bcast", NODES * PPN, NODES, nbytes)
    choice = FORCED[name]
    if choice.startswith("scatter_allgather") and nbytes < NODES * PPN:
        return FORCED["1. basic linear"]  # fewer elements than ranks: Open MPI's own rule
    if choice.startswith("split_binary") and nbytes < 2:
        return FORCED["3. pipeline"]  # nothing to split: Open MPI goes round a chain of one
    return choice


def rows_of(path: Path) -> list[dict[str, str]]:
    """Read a table of the reference."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def mean_us(collective: str, choice: str, nodes: int, nbytes: int, platform: str) -> float:
    """Return what OSU's test prints, the mean over the ranks, when all enter at once; in us."""
    done = price(collective, choice, hosts_of(nodes, PPN), nbytes, load(platform), element=1)
    return 1e6 * fmean(f - e for f, e in zip(done.finish, done.enter, strict=True))


def in_loop_us(
    collective: str, choice: str, nodes: int, nbytes: int, name: str, later_us: float = 0.0
) -> float:
    """Return the same in OSU's loop of call and barrier, in its sixth round; in us.

    Between two calls the ranks leave a barrier one after another, and enter in that order.
    """
    platform = load(name)
    links = {
        level: dataclasses.replace(link, latency=link.latency + 1e-6 * later_us)
        if level in ("rail", "network")
        else link
        for level, link in platform.levels.items()
    }
    platform = dataclasses.replace(platform, levels=links)
    hosts = hosts_of(nodes, PPN)
    skew, mean = [0.0] * len(hosts), 0.0
    for _ in range(6):
        call = price(collective, choice, hosts, nbytes, platform, element=1, skew=skew)
        mean = fmean(f - e for f, e in zip(call.finish, call.enter, strict=True))
        barrier = price("barrier", BARRIER[name], hosts, 0, platform, skew=from_first(call.finish))
        skew = from_first(barrier.finish)
    return 1e6 * mean


def from_first(times: list[float]) -> list[float]:
    """Return times counted from the first one."""
    first = min(times)
    return [t - first for t in times]


def show_loop(reference: Path) -> None:
    """Print what OSU's loop makes of the predictions."""
    print("\ntwo nodes x 36 over EFA in OSU's loop, us")
    print(f"  {'':34}measured   at once   in loop   and {LATER_US:g} us later")
    for collective, choice in (
        ("bcast", "shm+knomial(2)"),
        ("allreduce", "shm+knomial(2)"),
        ("allreduce", "shm+recursive_doubling"),
    ):
        short: list[list[float]] = []
        for row in rows_of(reference / f"{collective}_intelmpi_efa_1and2nodes_us.csv"):
            nbytes, measured = int(row["message_size_bytes"]), float(row["72"])
            call = (collective, choice, 2, nbytes, "c5n-efa")
            found = [mean_us(*call), in_loop_us(*call), in_loop_us(*call, LATER_US)]
            if nbytes <= SHORT:
                short.append([ratio(f, measured) for f in found])
            words = "".join(f"{t:10.1f}" for t in (measured, *found))
            print(f"  {collective:10}{choice:18}{nbytes:8} {words[3:]}")
        factors = "".join(f"{median(column):10.2f}" for column in zip(*short, strict=True))
        print(f"  {'median factor to 8 KiB':44}{factors}")
    cells = [
        ratio(in_loop_us("bcast", forced_choice(name, n), NODES, n, "c5n-tcp"), float(value))
        for row in rows_of(reference / "bcast_openmpi4_tcp_8x36_us.csv")
        for n in [int(row.pop("message_size_bytes"))]
        for name, value in row.items()
    ]
    print(f"bcast on 8 x 36 over TCP in OSU's loop: median factor {median(cells):.2f}")


def broadcast(reference: Path) -> list[dict[str, object]]:
    """Predict the 8 x 36 table; one entry a size."""
    out: list[dict[str, object]] = []
    for row in rows_of(reference / "bcast_openmpi4_tcp_8x36_us.csv"):
        nbytes = int(row.pop("message_size_bytes"))
        cells = []
        for name, measured in row.items():
            choice = forced_choice(name, nbytes)
            predicted = mean_us("bcast", choice, NODES, nbytes, "c5n-tcp")
            cells.append({"algorithm": name, "choice": choice, "measured_us": float(measured),
                          "predicted_us": predicted})  # fmt: skip
        tau = kendalltau([c["predicted_us"] for c in cells], [c["measured_us"] for c in cells])
        out.append({"bytes": nbytes, "tau": float(tau.statistic), "cells": cells})
    return out


def two_nodes(reference: Path) -> list[dict[str, object]]:
    """Predict Intel MPI's two-node columns; which algorithm it takes is not published."""
    out: list[dict[str, object]] = []
    for collective, choice in (("bcast", "shm+knomial(2)"), ("allreduce", "shm+knomial(2)")):
        for row in rows_of(reference / f"{collective}_intelmpi_efa_1and2nodes_us.csv"):
            nbytes = int(row["message_size_bytes"])
            predicted = mean_us(collective, choice, 2, nbytes, "c5n-efa")
            out.append({"collective": collective, "choice": choice, "bytes": nbytes,
                        "measured_us": float(row["72"]), "predicted_us": predicted})  # fmt: skip
    return out


def factor(cell: dict[str, object]) -> float:
    """Return how far prediction and measurement are apart, as a factor >= 1."""
    return ratio(float(str(cell["predicted_us"])), float(str(cell["measured_us"])))


def ratio(predicted: float, measured: float) -> float:
    """Return the larger over the smaller."""
    return math.exp(abs(math.log(predicted / measured)))


def main() -> int:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--reference", type=Path, default=Path("/work/shared/reference/c5n"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--loop", action="store_true", help="price OSU's loop as well")
    args = parser.parse_args()
    if not args.reference.is_dir():
        print(f"{args.reference} is not there: give --reference", file=sys.stderr)
        return 1
    table, columns = broadcast(args.reference), two_nodes(args.reference)
    all_cells = []
    for entry in table:
        cells = entry["cells"]
        assert isinstance(cells, list)
        all_cells += cells
        print(f"\nbcast {entry['bytes']} B on 8 x 36 over TCP: Kendall tau {entry['tau']:.2f}")
        for c in cells:
            print(
                f"  {c['algorithm']:26} {c['choice']:28} measured {c['measured_us']:9.1f}  "
                f"predicted {c['predicted_us']:9.1f}  x{c['predicted_us'] / c['measured_us']:.2f}"
            )
    print("\ntwo nodes x 36 over EFA, Intel MPI")
    for c in columns:
        measured, predicted = float(str(c["measured_us"])), float(str(c["predicted_us"]))
        print(
            f"  {c['collective']:10} {c['bytes']:8} B  measured {measured:8.1f}  "
            f"predicted {predicted:8.1f}  x{predicted / measured:.2f}"
        )
    taus = [float(str(e["tau"])) for e in table]
    result = {
        "median_tau": median(taus), "tau_by_size": taus,
        "median_factor_bcast_8x36": median(factor(c) for c in all_cells),
        "median_factor_two_nodes": median(factor(c) for c in columns),
        "median_factor_all": median(factor(c) for c in [*all_cells, *columns]),
    }  # fmt: skip
    for name in ("bcast", "allreduce"):
        own = [factor(c) for c in columns if c["collective"] == name]
        result[f"median_factor_two_nodes_{name}"] = median(own)
    print()
    for key, value in result.items():
        print(f"{key}: {value if isinstance(value, list) else round(float(str(value)), 3)}")
    if args.loop:
        show_loop(args.reference)
    if args.json:
        text = json.dumps({**result, "broadcast": table, "two_nodes": columns}, indent=1)
        args.json.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

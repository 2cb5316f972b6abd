"""Allreduce of 8 bytes on hpc7g at 64 and 128 nodes x 64, priced; see docs/howto/simulate.md.

    python3 bench/model_hpc7g.py [--json FILE]

Everything is simulated on the platform hpc7g (AWS's published latencies; the rest assumed).
Compared are Stretto's best choice, flat algorithms, and two published hierarchies: reduce,
recursive doubling between nodes, bcast (Open MPI's HAN); and k-nomial with k-fanout Bruck between
nodes (AWS), each at its best radix. Their node phases are trees of messages between the ranks of
the node, priced as such; Stretto's go through shared memory.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from stretto.errors import StrettoError
from stretto.model.platform_file import load
from stretto.model.price import bound, price
from stretto.model.sweep import hosts_of

PPN, BYTES = 64, 8
RADICES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32)
PUBLISHED_HAN_US = 93.0  # 64 x 64, Open MPI main with HAN, ompi PR 12337


def steady_us(collective: str, choice: str, hosts: list[int], platform: str) -> float:
    """Return the time of one call in the steady state, us."""
    done = price(collective, choice, hosts, BYTES, load(platform), calls=3)
    return 1e6 * done.seconds


def best_of(
    collective: str, choices: list[str], hosts: list[int], platform: str
) -> tuple[str, float]:
    """Return the fastest choice, and its time."""
    found = []
    for choice in choices:
        try:
            found.append((steady_us(collective, choice, hosts, platform), choice))
        except StrettoError:
            continue  # not for this number of ranks
    time, choice = min(found)
    return choice, time


def hierarchy(nodes: int, network: list[str], platform: str) -> tuple[str, float]:
    """Return reduce to the leader, `network` between leaders, bcast: three phases, one by one."""
    one = [0] * PPN
    radices = [f"knomial({k})" for k in RADICES]
    up, up_us = best_of("reduce", radices, one, platform)
    across, across_us = best_of("allreduce", network, list(range(nodes)), platform)
    down, down_us = best_of("bcast", radices, one, platform)
    return f"{up} + {across} + {down}", up_us + across_us + down_us


def compare(nodes: int, platform: str) -> dict[str, object]:
    """Price all of them at one number of nodes."""
    hosts = hosts_of(nodes, PPN)
    flat = ["recursive_doubling", "rabenseifner"]
    flat += [f"knomial({k})" for k in (2, 4, 8, 16)] + [f"bruck_k({k})" for k in (2, 4, 8, 16)]
    ours = ["shm+recursive_doubling", f"shm+spread({nodes})"]
    ours += [f"shm+{name}({k})" for name in ("bruck_k", "knomial") for k in RADICES]
    from stretto.plan import algorithms

    for row in algorithms():  # whatever else there is of allreduce with a radix
        if row.collective == "allreduce" and row.parameter == "radix":
            ours += [f"shm+{row.name}({k})" for k in RADICES if row.minimum <= k <= row.maximum]
    rows = {
        "stretto": best_of("allreduce", list(dict.fromkeys(ours)), hosts, platform),
        "flat": best_of("allreduce", flat, hosts, platform),
        "reduce + recursive doubling + bcast": hierarchy(nodes, ["recursive_doubling"], platform),
        "k-nomial + k-fanout Bruck": hierarchy(nodes, [f"bruck_k({k})" for k in RADICES], platform),
    }
    low = bound("allreduce", hosts, BYTES, load(platform))
    assert low is not None
    return {"nodes": nodes, "ppn": PPN, "rows": rows, "bound_us": 1e6 * low[0], "bound_why": low[1]}


def main() -> int:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--platform", default="hpc7g")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results = []
    for nodes in (64, 128):
        found = compare(nodes, args.platform)
        results.append(found)
        rows = found["rows"]
        assert isinstance(rows, dict)
        ours = rows["stretto"][1]
        low = float(str(found["bound_us"]))
        print(f"\nallreduce of {BYTES} B, {nodes} x {PPN} on {args.platform} (source: simulated)")
        for name, (choice, time) in rows.items():
            print(f"  {name:38} {time:7.1f} us  x{time / ours:.2f} of Stretto's  {choice}")
        print(
            f"  {'lower bound':38} {low:7.1f} us  Stretto is within x{ours / low:.2f}  "
            f"({found['bound_why']})"
        )
        han = rows["reduce + recursive doubling + bcast"][1]
        aws = rows["k-nomial + k-fanout Bruck"][1]
        print(f"  against the best published hierarchy: {aws / ours:.2f} (aim: 1.3)")
        print(
            f"  AWS's statement, k-fanout against recursive doubling: {han / aws:.2f} "
            "(published: 2 to 3)"
        )
        if nodes == 64:
            print(
                f"  HAN's published {PUBLISHED_HAN_US:.0f} us: predicted {han:.1f}, factor "
                f"{max(han / PUBLISHED_HAN_US, PUBLISHED_HAN_US / han):.2f}"
            )
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

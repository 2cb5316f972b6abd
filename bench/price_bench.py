#!/usr/bin/env python3
"""How long pricing takes and how much memory it needs: `python bench/price_bench.py [--million]`.

Each case runs in a process of its own, so that its largest memory is its own.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time

from stretto.model import platform_file
from stretto.model.price import price

CASES = [
    ("allreduce", "shm+bruck_k(8)", 128, 64, 8),
    ("allreduce", "shm+recursive_doubling", 128, 64, 8),
    ("allreduce", "recursive_doubling", 128, 64, 8),
    ("allreduce", "rabenseifner", 128, 64, 262144),
    ("bcast", "knomial(4)", 128, 64, 4096),
]
MILLION = [
    ("allreduce", "shm+recursive_doubling", 16384, 64, 8),
    ("barrier", "dissemination", 1 << 20, 1, 0),
    ("allreduce", "recursive_doubling", 1 << 20, 1, 8),
]


def case(collective: str, choice: str, nodes: int, ppn: int, nbytes: int) -> None:
    """Price one call and print what it took."""
    hosts = [r // ppn for r in range(nodes * ppn)]
    platform = platform_file.load("hpc7g")
    begin, busy = time.perf_counter(), time.process_time()
    found = price(collective, choice, hosts, nbytes, platform)
    wall, cpu = time.perf_counter() - begin, time.process_time() - busy
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{collective:<10}{choice:<24}{nodes * ppn:>9,} ranks {nbytes:>8} B: {wall:7.3f} s "
        f"({cpu:.3f} s of a processor), {mib:7.0f} MiB, {found.events:,} events, "
        f"{found.seconds * 1e6:.2f} us",
        flush=True,
    )


def main() -> None:
    """Run all cases."""
    for one in CASES + (MILLION if "--million" in sys.argv[1:] else []):
        process = multiprocessing.get_context("spawn").Process(target=case, args=one)
        process.start()
        process.join()
        if process.exitcode:
            sys.exit(f"{one} failed")


if __name__ == "__main__":
    main()

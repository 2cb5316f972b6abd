#!/usr/bin/env python3
"""Milliseconds that commands take, in turn: wall and CPU, the least and the median of many.

    python bench/startup.py 40 'mpirun -n 2 true' 'stretto run -- mpirun -n 2 true'

Each further command is compared with the first one, launch by launch.
"""

from __future__ import annotations

import resource
import shlex
import statistics
import subprocess
import sys
import time


def launch(words: list[str]) -> tuple[float, float]:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1e3 * wall, 1e3 * cpu


def main() -> None:
    times, commands = int(sys.argv[1]), [shlex.split(text) for text in sys.argv[2:]]
    rounds = [[launch(words) for words in commands] for _ in range(times + 1)][1:]
    for at, text in enumerate(sys.argv[2:]):
        wall, cpu = zip(*(each[at] for each in rounds), strict=True)
        added = statistics.median(each[at][0] - each[0][0] for each in rounds)
        print(
            f"wall {min(wall):6.1f} ms least {statistics.median(wall):6.1f} median, CPU "
            f"{min(cpu):6.1f} least {statistics.median(cpu):6.1f} median, {added:+7.1f} ms: {text}"
        )


if __name__ == "__main__":
    main()

"""What launches have in common, and what each candidate's times have of their own, as measured.

    stretto bench -n 2 --collective allreduce,allgather,bcast,alltoall --bytes 64K,1M \
        --candidates 'native,bare,native:all,shm,ring,...' --launches 10 -o FILE.bench.jsonl
    python bench/launch_noise.py FILE.bench.jsonl ... --json bench/results/launch-noise.json
    python bench/launch_noise.py --reference FILE.bench.jsonl ... --json FILE

A launch's time of a candidate (the median of as many calls as a campaign times) is taken apart, in
logarithms: the candidate's median over launches, the effect of the launch (the median, over the
candidates that share it, of what is left), and a residual; the median of effects, and of each
candidate's residuals, is zero. `bench/regret.py` draws its noise from these. Groups of fewer than
four candidates are left out: they tell no residuals.

With ``--reference``: how far launches of each candidate lie off their median, and how far they do
as multiples of a power of the reference (`stretto.measure.reference`), the exchange of messages
that was timed in the same launch (src/bench/reference.c). Results with launches apart have it
(Intel MPI, ``--separate-launches``).
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from stretto.files.bench import Bench, Sample, read_bench
from stretto.measure.compare import timings
from stretto.measure.reference import Timed, exponent

FEWEST = 4
#: of a launch's calls, as many as in a campaign: 24 batches on average instead of 40
PART = 24 / 40


def groups(path: Path) -> list[dict[str, Any]]:
    """Return the noise of each collective and kind of launch in a results file."""
    bench = shortened(read_bench(path))
    identity = bench.header.mpi
    variants = bench.header.settings["variants"]  # type: ignore[index]
    cells: dict[tuple[str, str], dict[int, dict[str, dict[int, float]]]]
    cells = defaultdict(lambda: defaultdict(dict))
    for cell, candidates in timings(bench).items():
        if cell.mode != "latency":
            continue
        for name, timing in candidates.items():
            launches = dict(timing.by_launch)
            kind = variants[min(launches) % len(variants)]
            cells[cell.collective, kind][cell.bytes][name] = launches
    out = []
    for (collective, kind), sizes in sorted(cells.items()):
        if all(len(names) >= FEWEST for names in sizes.values()):
            out.append(
                {
                    "mpi": identity.family,
                    "version": identity.version,
                    "collective": collective,
                    "launches_of": kind,
                    "sizes": {
                        str(size): taken_apart(names) for size, names in sorted(sizes.items())
                    },
                }
            )
    return out


def beside_reference(path: Path) -> list[dict[str, Any]]:
    """Return how launches spread, by themselves and as multiples of the reference."""
    bench = shortened(read_bench(path))
    identity = bench.header.mpi
    out = []
    for cell, candidates in timings(bench).items():
        if cell.mode != "latency":
            continue
        timed = {}
        for name, timing in candidates.items():
            reference = dict(timing.reference)
            times = [Timed(us, reference[k]) for k, us in timing.by_launch if k in reference]
            if len(times) >= FEWEST:
                timed[name] = times
        power = exponent(timed.values())
        for name, times in timed.items():
            out.append(
                {
                    "mpi": identity.family,
                    "version": identity.version,
                    "collective": cell.collective,
                    "bytes": cell.bytes,
                    "candidate": name,
                    "launches": len(times),
                    "exponent": round(power, 3),
                    "spread": spread([us for us, _ in times]),
                    "spread_of_reference": spread([r for _, r in times]),
                    "spread_beside_reference": spread([us / r**power for us, r in times]),
                }
            )
    return out


def spread(values: list[float]) -> float:
    """Return the mean distance of logarithms from their median."""
    logs = np.log(values)
    return round(float(np.mean(np.abs(logs - np.median(logs)))), 4)


def shortened(bench: Bench) -> Bench:
    """Return a bench with the first part of each launch's times."""
    kept = [
        replace(r, times_us=r.times_us[: max(1, round(PART * len(r.times_us)))])
        if isinstance(r, Sample)
        else r
        for r in bench.records
    ]
    return Bench(bench.header, kept)


def taken_apart(names: dict[str, dict[int, float]]) -> dict[str, Any]:
    """Return the effects of launches, and residuals by candidate, in the order of launches."""
    common = sorted(set.intersection(*(set(t) for t in names.values())))
    logs = np.log([[names[n][launch] for launch in common] for n in sorted(names)])
    off = logs - np.median(logs, axis=1, keepdims=True)
    effects = np.median(off, axis=0)
    effects -= np.median(effects)
    residuals = off - effects
    residuals -= np.median(residuals, axis=1, keepdims=True)
    # Of k candidates the effect follows each a little: residuals would come out too small.
    wider = math.sqrt(len(names) / (len(names) - 1))
    return {
        "effects": [round(float(x), 4) for x in effects],
        "residuals": [[round(float(x), 4) for x in row] for row in wider * residuals],
    }


def main() -> None:
    """Take files apart, and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--reference", action="store_true", help="what the reference is good for")
    parser.add_argument("--json", type=Path, help="write it there")
    arguments = parser.parse_args()
    bench = read_bench(arguments.files[0])
    host, ranks = bench.header.host, bench.header.settings["nranks"]
    system = {"host": {"cpu": host.cpu, "cores": host.cores}, "ranks": ranks}
    if arguments.reference:
        rows = [r for path in arguments.files for r in beside_reference(path)]
        print_reference(rows)
        if arguments.json:
            arguments.json.write_text(json.dumps({**system, "rows": rows}, indent=1) + "\n")
        return
    found = [g for path in arguments.files for g in groups(path)]
    print("MPI              collective  launches of    bytes    launch   own (mean of |logarithm|)")
    for g in found:
        for size, noise in g["sizes"].items():
            effect = fmean(abs(x) for x in noise["effects"])
            own = fmean(abs(x) for row in noise["residuals"] for x in row)
            print(
                f"{g['mpi']:8} {g['version']:8}{g['collective']:11} {g['launches_of'][:12]:12}"
                f" {size:>8} {100 * effect:7.1f}% {100 * own:5.1f}%"
            )
    if arguments.json:
        arguments.json.write_text(json.dumps({**system, "groups": found}, indent=1) + "\n")


def print_reference(rows: list[dict[str, Any]]) -> None:
    """Print the spreads by collective and size: the mean over candidates."""
    print("MPI                collective   bytes candidates    launches  beside it   exponent")
    places = dict.fromkeys((r["mpi"], r["version"], r["collective"], r["bytes"]) for r in rows)
    for mpi, version, collective, size in places:
        place = (mpi, version, collective, size)
        here = [r for r in rows if (r["mpi"], r["version"], r["collective"], r["bytes"]) == place]
        raw, beside = (fmean(r[key] for r in here) for key in ("spread", "spread_beside_reference"))
        print(
            f"{mpi:8} {version:10}{collective:11} {size:>7} {len(here):8}    {100 * raw:8.1f}%"
            f" {100 * beside:12.1f}% {here[0]['exponent']:10.2f}"
        )


if __name__ == "__main__":
    main()

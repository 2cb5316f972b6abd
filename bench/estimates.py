#!/usr/bin/env python3
"""Holds what --dry-run says a campaign takes against campaigns that ran.

    python bench/estimates.py --mpi /usr --mpi .venv/mpi/mpich --collective allreduce,bcast

For each MPI a campaign on this machine is announced and then carried out, by `stretto tune` as a
user does. Printed are: what was expected of the search, what the campaign took and the most it may
take, and the *pace*: the seconds that its launches took over what launches with just their content
were estimated to take. The pace tells whether launches are estimated well, the first two whether
what is dropped, and when, is. Noted with it: how busy the machine was.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from stretto.campaign.expected import at_most_s, expected_s, pace
from stretto.campaign.request import make_request
from stretto.campaign.run import system_of
from stretto.errors import StrettoError
from stretto.files.bench import LaunchEnd, read_bench
from stretto.files.identity import collect_host
from stretto.files.schema import encode
from stretto.measure.idle import busy_share


@dataclass
class Held:
    """One campaign, in seconds."""

    mpi: str
    layouts: str
    expected: float
    everything: float
    took: float
    in_launches: float
    launches: int
    failed: int
    pace: float


def hold(arguments: argparse.Namespace, mpi: str, out: Path) -> Held:
    """Announce a campaign, carry it out, return both.

    Raises
    ------
    StrettoError
        The campaign cannot be planned, or ended with an error.
    """
    values = {
        "nodes": [1],
        "ppn": [int(x) for x in arguments.ppn.split(",")],
        "collectives": arguments.collective.split(","),
        "bytes": arguments.bytes,
        "launches": arguments.launches,
        "mpis": [mpi],
        "out": str(out),
    }
    file = out.with_suffix(".toml")
    file.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()))
    request = make_request(values, out, str(file))
    system = system_of(request, mpi, lambda text: print(text, file=sys.stderr), ask_nodes=False)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "stretto", "campaign", "run", str(file), "--yes"], check=False
    )
    took = time.monotonic() - began
    if done.returncode != 0:
        raise StrettoError(f"the campaign ended with {done.returncode}", mpi, "see above")
    layouts = [
        (plan, read_bench(system.base / f"{plan.layout.name}.bench.jsonl").records)
        for plan in system.plans
    ]
    ends = [r for _, records in layouts for r in records if isinstance(r, LaunchEnd)]
    return Held(
        mpi=system.installation.name,
        layouts=", ".join(p.layout.words for p in system.plans),
        expected=sum(expected_s(system.plans)),
        everything=sum(at_most_s(p) for p in system.plans),
        took=took,
        in_launches=sum(e.seconds or 0.0 for e in ends),
        launches=len(ends),
        failed=sum(e.status != "ok" for e in ends),
        pace=pace(layouts),
    )


def main() -> int:
    """Hold the estimate against a campaign with each MPI."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", action="append", default=[], help="repeatable; default: openmpi")
    parser.add_argument("--ppn", default="2", help="layouts: 2,4")
    parser.add_argument("--collective", default="allreduce,bcast,alltoall")
    parser.add_argument("--bytes", default="8:1M:4,24,1000,36000,600000")
    parser.add_argument("--launches", type=int, default=12)
    parser.add_argument("--json", type=Path, default=None, help="write the figures there")
    arguments = parser.parse_args()
    busy = busy_share()
    held: list[Held] = []
    exit_code = 0
    with tempfile.TemporaryDirectory(prefix="stretto-estimates-") as folder:
        for number, mpi in enumerate(arguments.mpi or ["openmpi"]):
            try:
                held.append(hold(arguments, mpi, Path(folder) / f"campaign{number}"))
            except StrettoError as error:  # the others' figures are good all the same
                print("\n".join(error.lines()), file=sys.stderr)
                exit_code = error.exit_code
    print(f"{'':<20} {'expected':>9} {'took':>6} {'all':>6} {'launches':>9} {'pace':>5}")
    for h in held:
        print(
            f"{h.mpi:<20} {h.expected:>7.0f} s {h.took:>4.0f} s "
            f"{h.everything:>4.0f} s {h.launches:>9} {h.pace:>5.2f}"
        )
    print(f"before: {100 * (busy or 0.0):.0f}% of the machine busy")
    if arguments.json is not None:
        found = {
            "schema": "stretto-estimates",
            "version": 1,
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "host": encode(collect_host()),
            "busy_share": busy,
            "campaigns": [asdict(h) for h in held],
        }
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return exit_code


if __name__ == "__main__":
    sys.exit(main())

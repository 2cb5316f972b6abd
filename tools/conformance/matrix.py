#!/usr/bin/env python3
"""Executes everything the registry offers, on many rank counts and layouts, against the MPI's own.

    python tools/conformance/matrix.py [--mpi mpich] [--ranks 4,17] [--rounds 40] [--testbed]

For each MPI, rank count and layout (one node; pretended nodes of 2 and of 3 ranks, or of 1) one job
runs tests/programs/conformance.c: for every set of choices in turn, so many random call shapes on
the world, its reverse and a half of it. With --testbed the layouts are real processes on namespace
nodes (2x2, 4x2, and 3 nodes of unequal numbers; needs root). The exit status is 1 when any result
differs from the MPI's, a job fails, or Stretto leaves a file behind. --form nonblocking and
--form persistent run the same shapes by those calls (nonblocking.c, persistent.c there), where
the MPI has them and lets Stretto carry them out: not under Intel MPI.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from choices import sets
from jobs import REPOSITORY, Job, Outcome, alone, files_of_stretto, learning, preload, run

from mpis import MPIS, Mpi

RANKS = (1, 2, 3, 4, 5, 7, 8, 12, 16, 17)
#: nodes, ranks on each, ranks in all: 3 x 2 with 5 ranks leaves the last node one
TESTBED = {"2x2": (2, 2, 4), "3 unequal": (3, 2, 5), "4x2": (4, 2, 8)}


#: the program of each form, and the MPIs that cannot run it with Stretto's
FORMS: dict[str, tuple[str, set[str]]] = {
    "blocking": ("conformance", set()),
    "nonblocking": ("nonblocking", {"intel"}),
    "persistent": ("persistent", {"intel", "openmpi4"}),
}


@dataclass(frozen=True)
class Layout:
    """So many ranks on so many nodes; `ppn` 0: one node."""

    ranks: int
    nodes: int
    ppn: int

    def words(self) -> str:
        """Name it."""
        return f"{self.ranks} ranks" + (f" on {self.nodes} nodes" if self.ppn else "")


def layouts(ranks: int) -> Iterator[Layout]:
    """Yield the layouts of so many ranks on one machine."""
    yield Layout(ranks, 1, 0)
    for ppn in (1, 2, 3) if ranks <= 5 else (2, 3):
        if (ranks + ppn - 1) // ppn > 1:
            yield Layout(ranks, (ranks + ppn - 1) // ppn, ppn)


def argv(program: Path, seed: int, rounds: int, largest: int) -> list[str]:
    """Return the program's command line."""
    return [str(program), str(seed), str(rounds), str(largest)]


def variables(mpi: Mpi, choices: Path, ppn: int, form: str, learn: bool) -> dict[str, str]:
    """Return the ranks' environment."""
    env = (
        learning(mpi, choices.parent, 0)
        if learn
        else preload(mpi, STRETTO_API=1, STRETTO_AFTER=0, CONFORMANCE_CHOICES=choices)
    )
    if form != "blocking":
        env["STRETTO_NONBLOCKING"] = "calls"
    if mpi.name == "intel":
        # 2021.18.1's own reductions of pairs with a gap are wrong in shared memory here
        env["I_MPI_COLL_INTRANODE"] = "pt2pt"
    return env | ({"STRETTO_FAKE_PPN": str(ppn)} if ppn else {})


@dataclass
class Totals:
    """What was seen so far."""

    jobs: int = 0
    failed: int = 0
    comparisons: int = 0
    ours: int = 0
    sets: int = 0

    def add(self, what: str, found: int, outcome: Outcome) -> None:
        """Judge one job and say so."""
        self.jobs += 1
        self.sets += found
        seen = re.search(r"(\d+) comparisons, (\d+) differences\n(\d+) calls", outcome.stdout)
        if outcome.status == 0 and seen and seen[2] == "0":
            self.comparisons += int(seen[1])
            self.ours += int(seen[3])
            print(
                f"{what}: {found} sets, {seen[1]} comparisons, {seen[3]} calls by Stretto, "
                f"{outcome.seconds:.0f} s",
                flush=True,
            )
        else:
            self.failed += 1
            print(
                f"FAILED {what}: status {outcome.status}\n{outcome.stdout[-3000:]}"
                f"{outcome.stderr[-3000:]}",
                flush=True,
            )


def here(mpi: Mpi, program: Path, folder: Path, options: argparse.Namespace, sums: Totals) -> None:
    """Run all layouts of one MPI on this machine."""
    for ranks in options.ranks:
        for layout in layouts(ranks):
            found = [] if options.learn else sets(max(layout.ranks, 2), layout.nodes)
            found = found[options.first :: options.every]
            path = folder / "choices"
            path.write_text("".join(f"{line}\n" for line in found))
            words = argv(program, options.seed + ranks, options.rounds, options.largest)
            env = variables(mpi, path, layout.ppn, options.form, options.learn)
            outcome = run(mpi, ranks, words, env, options.limit)
            sums.add(f"{mpi.name}, {layout.words()}", len(found), outcome)


def nodes(mpi: Mpi, program: Path, folder: Path, options: argparse.Namespace, sums: Totals) -> None:
    """Run the testbed's layouts of one MPI, on namespace nodes."""
    sys.path.insert(0, str(REPOSITORY / "tools" / "testbed"))
    import cluster as testbed
    from launchers import launch

    from mpis import library

    for name, (count, ppn, ranks) in TESTBED.items():
        share = [REPOSITORY, folder, library(mpi.family).parent]
        share += [m.prefix for m in MPIS.values()]
        cluster = testbed.up(count, share=share, owned=True)
        try:
            found = [] if options.learn else sets(ranks, count)[options.first :: options.every]
            path = folder / "choices"
            path.write_text("".join(f"{line}\n" for line in found))
            words = argv(program, options.seed, options.rounds, options.largest)
            env = variables(mpi, path, 0, options.form, options.learn)
            if mpi.name == "openmpi5":
                # 5.0.11's HAN, which takes over where there are nodes, leaves a hole where the
                # root's own block belongs in a gather whose two datatypes differ
                env["OMPI_MCA_coll"] = "^han"
            line, environment = launch(cluster, mpi.name, ppn, words, prefix=mpi.prefix, env=env)
            line[line.index("-n", 1) + 1] = str(ranks)
            with alone(ranks), Job(line, environment) as job:
                sums.add(f"{mpi.name}, testbed {name}", len(found), job.wait(options.limit))
        finally:
            cluster.down()


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", action="append", choices=sorted(MPIS), help="default: all four")
    parser.add_argument("--ranks", default=",".join(map(str, RANKS)))
    parser.add_argument("--rounds", type=int, default=40, help="call shapes for each set")
    parser.add_argument("--largest", type=int, default=20000, help="elements of a call")
    parser.add_argument("--every", type=int, default=1, help="only every so-manieth set of choices")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--limit", type=float, default=1200, help="seconds for a job")
    parser.add_argument("--form", choices=sorted(FORMS), default="blocking")
    parser.add_argument(
        "--learn", action="store_true", help="learning, another candidate in every call"
    )
    parser.add_argument("--testbed", action="store_true", help="namespace nodes instead")
    options = parser.parse_args()
    options.ranks = [int(word) for word in options.ranks.split(",")]
    sums, start, before = Totals(), time.monotonic(), files_of_stretto()
    source, cannot = FORMS[options.form]
    for name in options.mpi or [n for n in MPIS if n not in cannot]:
        if name in cannot:
            parser.error(f"--form {options.form} is not for {name}")
        mpi = MPIS[name]
        with tempfile.TemporaryDirectory(prefix="matrix-", dir=Path.cwd()) as text:
            folder = Path(text)
            program = folder / "conformance"
            mpi.compile(REPOSITORY / "tests" / "programs" / f"{source}.c", program, "-O1")
            (nodes if options.testbed else here)(mpi, program, folder, options, sums)
    left = files_of_stretto() - before
    print(
        f"{sums.jobs} jobs, {sums.sets} sets of choices, {sums.comparisons} comparisons, "
        f"{sums.ours} calls by Stretto, {sums.failed} jobs failed, left behind: {sorted(left)}, "
        f"seed {options.seed}, {time.monotonic() - start:.0f} s"
    )
    return 1 if sums.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())

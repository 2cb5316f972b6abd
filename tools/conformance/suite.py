#!/usr/bin/env python3
"""Runs a foreign MPI test suite without and with Stretto and compares how every program ends.

    python tools/conformance/build_suite.py SUITE BUILT --mpi mpich
    python tools/conformance/suite.py BUILT --mpi mpich --together 4
    python tools/conformance/suite.py BUILT/coll --testlist BUILT/coll/testlist --mpi mpich

BUILT holds the compiled programs. With --together N those that can run in one job do so, on N
ranks, without Stretto and with every set of choices of the registry; compared is what each of them
returns. Otherwise each line of a testlist is a run of its own. A testlist has a line
`program ranks [arg=..] [env=..] [timeLimit=..] [mem=..]` for each run (the form of MPICH's). Every
line is run without Stretto, then preloaded on one node (shm and flat choices) and on pretended
nodes of two ranks (node and network phases together), with choices forced from the moment at which
a communicator is made on (STRETTO_AFTER=0; --after N: from the N-th collective on it).

A difference: another exit status or other lines on stdout than in any of three runs without (but
for successes of programs that always fail without). The exit status is 1 when there are any.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from choices import sets
from jobs import Outcome, files_of_stretto, learning, preload, run

from mpis import MPIS, Mpi


@dataclass(frozen=True)
class Line:
    """One run that a testlist asks for."""

    program: str
    ranks: int
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    limit: float = 180
    memory: float = 0

    def words(self) -> str:
        """Name the run."""
        return " ".join([self.program, str(self.ranks), *self.arguments])


def parse(text: str) -> list[Line]:
    """Return the runs of a testlist; lines that name something configure fills in are left out."""
    found = []
    for line in text.splitlines():
        words = shlex.split(line.split("#")[0])
        if len(words) < 2 or "@" in words[0] or not words[1].isdigit():
            continue
        arguments, environment, limit, memory = [], {}, 180.0, 0.0
        for word in words[2:]:
            name, _, value = word.partition("=")
            if name == "arg":
                arguments.append(value)
            elif name == "env":
                key, _, value = value.partition("=")
                environment[key] = value
            elif name == "timeLimit":
                limit = max(limit, float(value))
            elif name == "mem":
                memory = float(value)
        found.append(Line(words[0], int(words[1]), tuple(arguments), environment, limit, memory))
    return found


def settings(ranks: int, count: int, turn: int, after: int) -> dict[str, dict[str, str]]:
    """Return the ways to run a program of so many ranks: a name, and Stretto's variables.

    The first way is shared memory on one node; of the other choices each line of the testlist takes
    `count` more on one node less one, and `count` on pretended nodes, in turn with the other lines.
    """
    found = {}
    base = {"STRETTO_AFTER": str(after)}
    flat = sets(max(ranks, 2), 1)
    nodes = (ranks + 1) // 2
    for i in range(count):
        number = 0 if i == 0 else (turn * (count - 1) + i) % len(flat)
        found[f"one node, set {number}"] = base | {"STRETTO_CHOICE": flat[number]}
    composed = sets(ranks, nodes) if nodes > 1 else []
    for i in range(count if composed else 0):
        number = (turn * count + i) % len(composed)
        found[f"{nodes} nodes, set {number}"] = base | {
            "STRETTO_CHOICE": composed[number],
            "STRETTO_FAKE_PPN": "2",
        }
    return found


def one_of(ways: dict[str, dict[str, str]], turn: int) -> dict[str, dict[str, str]]:
    """Return one of the ways, in turn with the other lines of the testlist."""
    return dict([list(ways.items())[turn % len(ways)]])


def told(outcome: Outcome) -> tuple[int | None, tuple[str, ...]]:
    """Return what is compared of a run."""
    return outcome.status, tuple(
        sorted(s.strip() for s in outcome.stdout.splitlines() if s.strip())
    )


def ours(folder: Path) -> tuple[int, int]:
    """Return the calls that Stretto carried out and passed on, from the ranks' evidence files."""
    total = [0, 0]
    for path in folder.glob("rank*"):
        for line in path.read_text().splitlines():
            words = line.split()
            if len(words) == 3 and words[1].isdigit() and words[2].isdigit():
                total[0] += int(words[1])
                total[1] += int(words[2])
    return total[0], total[1]


def compare(
    mpi: Mpi, folder: Path, line: Line, ways: dict[str, dict[str, str]]
) -> list[dict[str, object]]:
    """Run one line without Stretto and every way with it; return a record of each."""
    report: list[dict[str, object]] = []
    command = [str(folder / line.program), *line.arguments]
    native = [run(mpi, line.ranks, command, line.environment, line.limit, folder)]
    known = {told(native[0])}
    for name, variables in ways.items():
        with tempfile.TemporaryDirectory(prefix="evidence-") as evidence:
            env = line.environment | preload(mpi, **variables, STRETTO_EVIDENCE=evidence)
            got = run(mpi, line.ranks, command, env, line.limit, folder)
            if got.status is None and native[0].status is not None:  # a loaded machine?
                got = run(mpi, line.ranks, command, env, 2 * line.limit, folder)
            while told(got) not in known and len(native) < 3:
                native.append(run(mpi, line.ranks, command, line.environment, line.limit, folder))
                known.add(told(native[-1]))
            carried, passed = ours(Path(evidence))
        same = told(got) in known
        record: dict[str, object] = {
            "line": line.words(),
            "mpi": mpi.name,
            "setting": name,
            "same": same,
            "better": got.status == 0 and all(o.status != 0 for o in native),
            "native": [o.status for o in native],
            "status": got.status,
            "ours": carried,
            "passed": passed,
            "seconds": round(got.seconds, 1),
        }
        if not same:
            record |= {"variables": variables, "stdout": got.stdout[-2000:]}
            record |= {"stderr": got.stderr[-2000:], "native_stdout": native[0].stdout[-1000:]}
        report.append(record)
    return report


def returned(outcome: Outcome) -> dict[str, str]:
    """Return what each program of one job returned: the lines NAME: NUMBER."""
    lines = (line.rpartition(": ") for line in outcome.stdout.splitlines())
    return {name: value for name, _, value in lines if "/" in name and value.isdigit()}


def together(mpi: Mpi, built: Path, ranks: int, arguments: argparse.Namespace) -> int:
    """Run many programs in one job, without Stretto and with every set of choices; compare."""
    names = (built / "together").read_text().split()
    program, ways = [str(built / "run_mpitests")], {}
    for nodes in (1, (ranks + 1) // 2):
        for i, choice in enumerate(sets(ranks, nodes)):
            way = {"STRETTO_AFTER": str(arguments.after), "STRETTO_CHOICE": choice}
            way |= {"STRETTO_FAKE_PPN": "2"} if nodes > 1 else {}
            way |= {"STRETTO_NONBLOCKING": "calls"} if i % 2 and mpi.name != "intel" else {}
            ways[f"{nodes} nodes, set {i}"] = way
    if arguments.learn:
        ways = {f"learning, {ppn or ranks} ranks a node": {"learn": str(ppn)} for ppn in (0, 2, 1)}
    chosen = list(ways.items())[arguments.first :: arguments.every]

    def job(env: dict[str, str]) -> Outcome:
        # an empty name ends the program: the launcher of Open MPI 5 hands no end of file on
        given = "".join(f"{name}\n" for name in [*names, "\0"])
        return run(mpi, ranks, program, env, arguments.limit, built, given)

    while True:  # a program that ends the job natively is left out
        native = job({})
        missing = [name for name in names if name not in returned(native)]
        if not missing:  # its status is None where it returned from all and did not end
            break
        print(f"fails without Stretto: {missing[0]}: {native.status}", flush=True)
        names.remove(missing[0])
    fails = sorted(name for name, value in returned(native).items() if value != "0")
    print(f"{len(names)} programs, of which return errors without Stretto: {fails}", flush=True)
    start, differences, calls, runs = time.monotonic(), 0, [0, 0], 0
    for name, way in chosen:
        if arguments.budget and time.monotonic() - start > arguments.budget:
            break
        with tempfile.TemporaryDirectory(prefix="evidence-") as evidence:
            env = preload(mpi, **way)
            if "learn" in way:
                env = learning(mpi, Path(evidence), int(way["learn"]))
            got = job(env | {"STRETTO_EVIDENCE": evidence})
            calls = [a + b for a, b in zip(calls, ours(Path(evidence)), strict=True)]
        runs += 1
        other = [n for n in names if returned(got).get(n) != returned(native)[n]]
        if other or got.status != native.status:
            differences += 1
            print(
                f"DIFFERS: {name}: {got.status}, {other}\n{way}\n{got.stderr[-2000:]}", flush=True
            )
    print(
        f"{mpi.name}, {ranks} ranks: {len(names)} programs in one job, {runs} of {len(ways)} sets "
        f"of choices, {calls[0]} calls carried out, {calls[1]} passed on, "
        f"differences: {differences}"
    )
    return 1 if differences else 0


def earlier(output: Path) -> set[tuple[str, str, int]]:
    """Return the folder, MPI and place in the testlist of the lines that an output holds."""
    if not output.exists():
        return set()
    records = [json.loads(line) for line in output.read_text().splitlines()]
    return {(r["folder"], r["mpi"], r["turn"]) for r in records if "turn" in r}


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the compiled programs")
    parser.add_argument("--testlist", type=Path)
    parser.add_argument("--together", type=int, help="run BUILT/run_mpitests on so many ranks")
    parser.add_argument(
        "--learn", action="store_true", help="--together: learning, not the sets of choices"
    )
    parser.add_argument("--every", type=int, default=1, help="--together: every so-manieth set")
    parser.add_argument("--first", type=int, default=0, help="--together: the first of them")
    parser.add_argument("--after", type=int, default=0, help="STRETTO_AFTER")
    parser.add_argument("--mpi", choices=sorted(MPIS), required=True)
    parser.add_argument(
        "--sets", type=int, default=3, help="choices to force, on one node and on several"
    )
    parser.add_argument(
        "--once", action="store_true", help="one of these for a line, in turn with the other lines"
    )
    parser.add_argument("--memory", type=float, default=4, help="GB that a run may want")
    parser.add_argument("--ranks", type=int, default=1024, help="no lines of more")
    parser.add_argument("--only", help="programs whose name contains this")
    parser.add_argument("--skip", default="", help="programs not to run, separated by commas")
    parser.add_argument(
        "--limit", type=float, default=1800, help="at most so many seconds for a run"
    )
    parser.add_argument("--budget", type=float, help="begin no line after so many seconds")
    parser.add_argument(
        "--nonblocking", action="store_true", help="Stretto's for nonblocking and persistent, too"
    )
    parser.add_argument(
        "-o", "--output", type=Path, help="JSON lines, one a run; lines that it has are not run"
    )
    arguments = parser.parse_args()
    arguments.folder = arguments.folder.resolve()  # the programs run in it
    mpi = MPIS[arguments.mpi]
    if arguments.together:
        return together(mpi, arguments.folder, arguments.together, arguments)
    if not arguments.testlist:
        parser.error("--testlist or --together is missing")
    lines = parse(arguments.testlist.read_text())
    counts: Counter[str] = Counter()
    before = files_of_stretto()
    start = time.monotonic()
    done = earlier(arguments.output) if arguments.output else set()
    for turn, line in enumerate(lines):
        if arguments.only and arguments.only not in line.program:
            continue
        if (str(arguments.folder), arguments.mpi, turn) in done:
            counts["done before"] += 1
            continue
        if arguments.budget and time.monotonic() - start > arguments.budget:
            counts["left for later"] += 1
            continue
        if line.program in arguments.skip.split(","):
            counts["left out"] += 1
            continue
        if line.ranks > arguments.ranks:
            counts["left out for ranks"] += 1
            continue
        if line.memory > arguments.memory:
            counts["left out for memory"] += 1
            continue
        if not (arguments.folder / line.program).exists():
            counts["not built"] += 1
            continue
        line = replace(line, limit=min(line.limit, arguments.limit))
        ways = settings(line.ranks, arguments.sets, turn, arguments.after)
        if arguments.once:
            ways = one_of(ways, turn)
        if arguments.nonblocking:
            ways = {name: way | {"STRETTO_NONBLOCKING": "calls"} for name, way in ways.items()}
        report = compare(mpi, arguments.folder, line, ways)
        counts["lines"] += 1
        if report and report[0]["native"][0] != 0:  # type: ignore[index]
            counts["lines that fail without Stretto"] += 1
            print(f"fails without Stretto: {line.words()}: {report[0]['native']}", flush=True)
        for record in report:
            counts["runs with Stretto"] += 1
            counts["calls carried out"] += int(record["ours"])  # type: ignore[call-overload]
            counts["calls passed on"] += int(record["passed"])  # type: ignore[call-overload]
            if record["status"] is None and record["same"]:
                counts["runs out of time without Stretto and with it"] += 1
            if record["better"]:
                counts["runs that succeed with Stretto only"] += 1
            elif not record["same"]:
                counts["differences"] += 1
                print("DIFFERS:", json.dumps(record, indent=1), flush=True)
        if arguments.output:
            place = {"folder": str(arguments.folder), "turn": turn}
            with arguments.output.open("a") as stream:
                stream.write("".join(json.dumps(record | place) + "\n" for record in report))
    left = files_of_stretto() - before
    print(f"{mpi.name}, {arguments.testlist}: " + ", ".join(f"{n} {k}" for k, n in counts.items()))
    print(f"differences: {counts['differences']}; left behind: {sorted(left)}")
    return 1 if counts["differences"] else 0


if __name__ == "__main__":
    raise SystemExit(main())

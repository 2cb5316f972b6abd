"""``stretto place -- CMD``: records CMD, orders its ranks, and runs it both ways in turn."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stretto.check.cluster import Placed
from stretto.check.facts import Facts, collect_facts
from stretto.check.job import Started, probe
from stretto.counted import sized
from stretto.errors import StrettoError, UsageError
from stretto.files.outcome import Verdict
from stretto.files.verdict import Run
from stretto.launch.ask import ask
from stretto.launch.command import parse_command
from stretto.launch.evidence import require_native
from stretto.launch.job import Job
from stretto.model.platform import Platform
from stretto.mpi.settings.nodes import INTERNAL
from stretto.place.order import Ordering, find_order, recorded, traffic_of
from stretto.place.output import (
    LaunchOptions,
    applicable,
    launch,
    placed_words,
    rankmap_of,
    write_order,
)
from stretto.place.picture import write_picture
from stretto.place.show import answer
from stretto.place.site import JobNodes, bound_as_started, site_of
from stretto.tune.place import alone_in, keep_input
from stretto.tune.profiled import has_profile, profile_of
from stretto.tune.session import Tuning
from stretto.tune.trials import Kind
from stretto.tune.verify import TuneResult, both_ways, finished, outputs_of, write_result

#: a line of shell: the first rank of each node prints what its cards have sent
_SENT = r"""
case ${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${SLURM_LOCALID:-${PALS_LOCAL_RANKID:-0}}}} in
0)
    node=$(uname -n)
    for file in /sys/class/net/*/statistics/tx_bytes \
        /sys/class/infiniband/*/ports/*/counters/port_xmit_data \
        /sys/class/infiniband/*/ports/*/hw_counters/tx_bytes; do
        [ ! -r "$file" ] || echo "stretto-sent $node $file $(cat "$file")"
    done
    ;;
esac
"""
_LINE = re.compile(r"^stretto-sent (\S+) /sys/class/(net|infiniband)/([^/\s]+)/(\S+) (\d+)$", re.M)


@dataclass(frozen=True)
class PlacedCommand:
    """What became of a command: the order, the verdict in words, and what to type.

    `helps`: the order was not slower, as far as it was tried.
    """

    ordering: Ordering
    nodes: JobNodes
    conclusion: list[str]
    command: str = ""
    helps: bool = True


def place_command(
    session: Tuning, width: int | None = None, platform: Platform | None = None
) -> PlacedCommand | None:
    """Go through all steps; None in a dry run that has no profile yet."""
    _refuse(session.job)
    session.check()
    keep_input()
    if session.o.dry_run and not has_profile(session):
        session.say("stretto: dry run: CMD would run once recorded, then six times each way")
        return None
    with alone_in(session.o.out):
        profile = profile_of(session)
        names, sizes = [n.name for n in profile.nodes], [len(n.ranks) for n in profile.nodes]
        nodes = nodes_of_job(session.job, names, sizes, width)
        nodes = applicable(session.job.command, session.job.mpi.major, nodes)
        found = find_order(traffic_of(profile), nodes, recorded(profile, nodes), platform,
                           session.o.seed)  # fmt: skip
        directory = (session.o.out / "order").resolve()
        first = answer(found, profile.nranks)
        if not found.gain:
            write_result(session, [first], [], found=Verdict("same", first))
            return PlacedCommand(found, nodes, [first])
        write_order(directory, nodes, found.best)
        write_picture(traffic_of(profile), found, directory / "matrix.html")
        command = session.job.command
        assert command.kind is not None
        given = launch(command.kind, session.job.mpi.major, directory, nodes, found.best)
        typed = shlex.join(_changing(session.job, given)(list(command.words))).replace(
            rankmap_of(found.best), f'"$(cat {directory / "rankmap"})"'
        )
        if session.o.dry_run:
            return PlacedCommand(found, nodes, ["dry run: the order was not tried"], typed)
        result = _both_ways(session, found, nodes, given, directory)
        return PlacedCommand(found, nodes, result.conclusion, typed, result.helps)


def _refuse(job: Job) -> None:
    command = job.command
    if command.launcher_at is None or command.kind is None:
        raise UsageError(
            "this command shows no launcher, so its ranks cannot be placed",
            " ".join(command.words), "write the command with its launcher: -- mpirun -n 64 ./app",
        )  # fmt: skip
    if len(command.applications) != 1 or command.multi_prog:
        raise UsageError(
            "several programs are started, but only one can be placed", " ".join(command.words)
        )
    if command.kind != "mpich" or command.launcher is None:
        return
    asked = [str(command.launcher), "-help"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=20, check=False)
    if "-rankmap" not in done.stdout + done.stderr:
        raise StrettoError(
            "this mpiexec has no -rankmap: a host file in another order would separate the ranks "
            "of a node",
            command.launcher,
            "use MPICH 5.0 or newer; stretto place --profile FILE -o DIR writes files for Slurm",
        )


def nodes_of_job(
    job: Job, names: Sequence[str], sizes: Sequence[int], width: int | None = None
) -> JobNodes:
    """Return nodes with the seats that the job's launcher gives its ranks.

    `width`: cores that each rank is bound to instead.
    """
    started = probe(job)
    facts: Mapping[str, Facts] = {}
    placed: Sequence[Placed] = ()
    if isinstance(started, Started):
        facts, placed = started.survey.nodes, started.placed
    if width is None:
        found = bound_as_started(names, sizes, placed, facts)
    else:
        known = {n: f for n, f in facts.items() if n in names}
        found = site_of(names, sizes, True, collect_facts(), width, known)
    given = {host.split(".")[0]: host for host in job.layout.hosts}
    return replace(found, names=tuple(given.get(n.split(".")[0], n) for n in names))


def _both_ways(
    session: Tuning, found: Ordering, nodes: JobNodes, given: LaunchOptions, directory: Path
) -> TuneResult:
    job = session.job
    applied = f"{nodes.names} {found.best.node.tolist()} {found.best.seat.tolist()}\n"
    sent: dict[Kind, float] = {}

    def one(kind: Kind, number: int) -> Run | None:
        count = number < 2 and len(nodes.names) > 1
        before = _sent(job) if count else {}
        draft = Run(kind, number, None, 0.0, 0)
        change = None if kind == "native" else _changing(job, given)
        trial = session.attempt(draft, outputs_of(session), change=change)
        if trial is None:
            return None
        require_native(trial.evidence, " ".join(session.o.words))
        run = finished(session, draft, trial, f"run the commands in {directory} by hand")
        after = _sent(job) if count else {}
        if before and before.keys() == after.keys():
            sent[kind] = sum(after[key] - before[key] for key in before)
        return run

    def words(said: list[str], *_: object) -> list[str]:
        out = [
            text.replace("this table", "this order").replace("when tuned", "in this order")
            for text in said
        ]
        if len(sent) == 2:
            out.append(
                f"Network cards sent {sized(sent['native'])} in a native run, in the best order "
                f"{sized(sent['tuned'])} (interface counters)"
            )
        return out

    return both_ways(session, applied, one, words)


def _changing(job: Job, given: LaunchOptions) -> Callable[[list[str]], list[str]]:
    def change(words: list[str]) -> list[str]:
        changed = placed_words(parse_command(words, os.environ, job.cwd), given)
        variables = [f"{name}={value}" for name, value in given.variables.items()]
        return ["env", *variables, *changed] if variables else changed

    return change


def _sent(job: Job) -> dict[tuple[str, str], float]:
    """Return the bytes that each card of each node has sent so far; empty where not readable."""
    try:
        result = ask(job, _SENT)
    except StrettoError:
        return {}
    return read_sent("" if result is None else result.stdout)


def read_sent(output: str) -> dict[tuple[str, str], float]:
    """Return bytes by node and card from what ranks printed to `_SENT`."""
    found: dict[tuple[str, str], float] = defaultdict(float)
    for node, kind, name, counter, value in _LINE.findall(output):
        if kind == "net" and INTERNAL.match(name):
            continue
        words = 4 if counter.endswith("port_xmit_data") else 1  # InfiniBand counts words
        found[node, name] = max(found[node, name], float(value) * words)
    return dict(found)

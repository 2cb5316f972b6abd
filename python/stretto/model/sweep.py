"""Pricing many cells, candidates x layouts x sizes, into the files that measuring writes."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stretto import plan
from stretto.counted import duration
from stretto.errors import EXIT_USAGE, StrettoError, UsageError
from stretto.files.bench import Header, Launch, LaunchEnd, Sample
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import Host, MPIIdentity
from stretto.files.rows import Row, Table, merge_rows
from stretto.files.table import WITHOUT_SIZE
from stretto.kinds import Family
from stretto.measure.settings import REDUCTIONS, ROOTED
from stretto.measure.stats import geometric_mean
from stretto.model.native import BASELINES, native_choice
from stretto.model.platform import Platform
from stretto.model.price import bound, price
from stretto.plan import refuse_many
from stretto.version import __version__

NATIVE = "native"
#: a simulated file is of no moment and no machine: the same input gives the same bytes
CREATED = "1970-01-01T00:00:00Z"
#: messages of one call beyond which a candidate is not tried unless it was named
TOO_MANY = 2e6
#: messages of one choice beyond which nothing is evaluated: minutes of a core
MOST = 1e8


@dataclass(frozen=True)
class SimulatedCell:
    """One question: a collective of one size on one layout."""

    collective: str
    nodes: int
    ppn: int
    bytes: int


@dataclass(frozen=True)
class Answer:
    """Simulated seconds of each candidate, `native` among them, and what none can beat.

    `chosen` is what a table takes, where one is priced: it may be slower than native.
    """

    cell: SimulatedCell
    seconds: dict[str, float]
    native_is: str
    bound: float | None
    bound_why: str
    chosen: str | None = None

    @property
    def best(self) -> str:
        return min(self.seconds, key=lambda c: (self.seconds[c], c != NATIVE, c))

    @property
    def taken(self) -> str:
        """What is shown beside native: the table's choice, else the fastest."""
        return self.chosen or self.best


def hosts_of(nodes: int, ppn: int) -> list[int]:
    refuse_many(nodes * ppn, "--nodes")
    return [node for node in range(nodes) for _ in range(ppn)]


@functools.cache
def _messages(collective: str, choice: str, nodes: int, ppn: int, nbytes: int) -> float:
    hosts = hosts_of(nodes, ppn)
    return sum(price(collective, choice, hosts, nbytes, Platform()).messages.values())


def messages_of(cell: SimulatedCell, choice: str) -> float:
    """Estimate the messages per call: counted up to 128 ranks, then carried on by their growth."""
    if choice == "shm":
        return 0.0  # no message at all
    flat = "+" not in choice
    size = cell.nodes * cell.ppn if flat else cell.nodes
    if size <= 128:
        return 0.0  # whatever it is, it is soon done
    try:
        low, high = (
            _messages(cell.collective, choice.split("+")[-1], n, 1, cell.bytes) for n in (64, 128)
        )
    except StrettoError:
        return 0.0  # cannot be done for these, so it is tried
    return float(high * (size / 128) ** math.log2(max(high, 1.0) / max(low, 1.0)))


def _refuse_long(cell: SimulatedCell, choice: str) -> None:
    if (messages := messages_of(cell, choice)) > MOST:
        raise UsageError(
            f"{cell.collective} by {choice} on {cell.nodes} x {cell.ppn} ranks sends "
            f"{messages:.1g} messages, which would take about {duration(messages * 1e-6)}",
            "--nodes",
            "give fewer nodes, or remove it from --candidates (if it is the baseline: "
            "--baseline hierarchical)",
        )


def seconds_of(
    cell: SimulatedCell, choice: str, platform: Platform, seed: int = 1, calls: int = 1
) -> float:
    """Price one choice: one call that all ranks begin together.

    Calls in a row would show how fast a root can issue broadcasts, not how long one takes.

    Raises UsageError: it would take minutes.
    """
    _refuse_long(cell, choice)
    hosts = hosts_of(cell.nodes, cell.ppn)
    element = 8 if cell.bytes % 8 == 0 else 1
    return price(
        cell.collective, choice, hosts, cell.bytes, platform, element=element, calls=calls,
        seed=seed,
    ).seconds  # fmt: skip


def radices(upto: int) -> list[int]:
    """Return the radices worth trying: all to 8, then wider steps."""
    return [k for k in (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64) if k <= max(upto, 2)]


def candidates_of(collective: str, nodes: int, ppn: int, wide: bool = True) -> list[str]:
    """Return what is tried: the library's choices, and with `wide` all their radices."""
    found = plan.choices(collective, nodes * ppn, nodes)
    if not wide:
        return found
    out: list[str] = []
    rows = {a.name: a for a in plan.algorithms() if a.collective == collective}
    for choice in found:
        name = re.split(r"[(+]", choice.split("+", 1)[-1] if "+" in choice else choice)[0]
        row = rows.get(name)
        if row is None or row.parameter != "radix":
            out.append(choice)
            continue
        prefix = choice[: choice.index(name)]
        members = nodes if prefix else nodes * ppn
        for k in radices(min(members, row.maximum)):
            if k >= row.minimum:
                out.append(f"{prefix}{name}({k})")
    return list(dict.fromkeys(plan.canonical(collective, c) for c in out))


def require_time(
    cells: Sequence[SimulatedCell], candidates: Sequence[str] | None, baseline: str
) -> None:
    """Raise before anything is priced where pricing one of the choices would take minutes."""
    for cell in cells:
        ranks = cell.nodes * cell.ppn
        native = native_choice(baseline, cell.collective, ranks, cell.nodes, cell.bytes)
        for choice in (native, *(c for c in candidates or () if c != NATIVE)):
            _refuse_long(cell, choice)


def simulate(
    cells: Sequence[SimulatedCell],
    platform: Platform,
    *,
    candidates: Sequence[str] | None = None,
    baseline: str = "openmpi",
    seed: int = 1,
    wide: bool = True,
    done: Callable[[SimulatedCell], None] = lambda cell: None,
    begun: Callable[[SimulatedCell, str], None] = lambda cell, choice: None,
) -> Iterator[Answer]:
    """Price every cell; a choice that cannot be used for a cell is left out of it.

    `candidates`: choices; None: `candidates_of`.
    `done`: called after each cell.
    `begun`: called before each choice of a cell.
    """
    for cell in cells:
        ranks = cell.nodes * cell.ppn
        if ranks < 2:
            raise UsageError(
                "one rank alone does not communicate", "--nodes", "use two ranks or more"
            )
        native = native_choice(baseline, cell.collective, ranks, cell.nodes, cell.bytes)
        begun(cell, native)
        times = {NATIVE: seconds_of(cell, native, platform, seed)}
        names = candidates or candidates_of(cell.collective, cell.nodes, cell.ppn, wide)
        reason = None
        for choice in names:
            if choice == NATIVE:
                continue
            if candidates is None and messages_of(cell, choice) > TOO_MANY:
                continue  # every rank talks to every other one: minutes to evaluate
            if choice == native:
                times[choice] = times[NATIVE]
                continue
            begun(cell, choice)
            try:
                times[choice] = seconds_of(cell, choice, platform, seed)
            except StrettoError as error:
                if error.exit_code == EXIT_USAGE:
                    raise
                reason = error  # needs a power of two, or several nodes
        if candidates and len(times) == 1 and reason is not None:
            raise reason
        found = bound(cell.collective, hosts_of(cell.nodes, cell.ppn), cell.bytes, platform)
        done(cell)
        yield Answer(cell, times, native, *(found or (None, "")))


def write_results(
    answers: Sequence[Answer], platform: Platform, path: Path, command: list[str], baseline: str
) -> None:
    """Write a results file, as measuring does; every sample says ``source: simulated``."""
    layouts = sorted({(a.cell.nodes, a.cell.ppn) for a in answers})
    host = Host(platform.name, f"simulated {platform.name}", int(platform.cores), "simulated", 0)
    mpi = MPIIdentity("openmpi", "openmpi", "0.0.0", f"simulated on {platform.name}")
    settings = {"source": "simulated", "platform": platform.name, "baseline": baseline}
    head = Header(__version__, CREATED, host, mpi, command, settings)
    with BenchWriter(path, head) as out:
        for number, (nodes, ppn) in enumerate(layouts):
            own = [a for a in answers if (a.cell.nodes, a.cell.ppn) == (nodes, ppn)]
            names: dict[str, list[str]] = {}
            for a in own:
                known = names.setdefault(a.cell.collective, [])
                known += [c for c in a.seconds if c not in known]
            out.write(Launch(number, nodes, ppn, nodes * ppn, names))
            for a in own:
                for choice, seconds in a.seconds.items():
                    out.write(_sample(number, a.cell, choice, seconds))
            out.write(LaunchEnd(number, "ok"))


def _sample(number: int, cell: SimulatedCell, choice: str, seconds: float) -> Sample:
    reducing = cell.collective in REDUCTIONS
    return Sample(
        number, cell.collective, choice, cell.bytes,
        None if cell.collective == "barrier" else "MPI_DOUBLE" if reducing else "MPI_CHAR",
        "MPI_SUM" if reducing else None, 0 if cell.collective in ROOTED else None, "latency", 1,
        [round(seconds * 1e6, 6)], True, "simulated",
    )  # fmt: skip


def crossovers(answers: Sequence[Answer]) -> list[tuple[Answer, Answer]]:
    """Return the neighbouring sizes of one collective and layout at which what is taken changes."""
    out = []
    for a, b in itertools.pairwise(answers):
        same = (a.cell.collective, a.cell.nodes, a.cell.ppn)
        if same == (b.cell.collective, b.cell.nodes, b.cell.ppn) and a.taken != b.taken:
            out.append((a, b))
    return out


def rows(answers: Sequence[Answer], margin: float = 0.03) -> list[Row]:
    """Return a table's rows: the best choice where it beats native by more than `margin`.

    Bounds between two sizes lie in their geometric middle; the last row has no end. Collectives
    whose choice cannot depend on the size have one row: best in the mean, nowhere slower.
    """
    out: list[Row] = []
    for i, a in enumerate(answers):
        key = _key(a)
        if a.cell.collective in WITHOUT_SIZE:
            if i == 0 or _key(answers[i - 1]) != key:
                out.append(_one_row([x for x in answers if _key(x) == key], margin))
            continue
        before, after = (
            answers[j] if 0 <= j < len(answers) and _key(answers[j]) == key else None
            for j in (i - 1, i + 1)
        )
        low = 0 if before is None else _middle(before.cell.bytes, a.cell.bytes)
        high = None if after is None else _middle(a.cell.bytes, after.cell.bytes) - 1
        ratio = a.seconds[a.best] / a.seconds[NATIVE]
        choice = a.best if ratio < 1 - margin else NATIVE
        shown = ratio if choice != NATIVE else 1.0
        evidence = {"ratio": f"{shown:.3f}", "source": "simulated"}
        out.append(Row(*key, low, high, choice, evidence))
    return merge_rows(out)


def _one_row(answers: Sequence[Answer], margin: float) -> Row:
    means = {NATIVE: 1.0}
    for name in answers[0].seconds:
        if all(name in a.seconds for a in answers):
            ratios = [a.seconds[name] / a.seconds[NATIVE] for a in answers]
            if max(ratios) <= 1 and min(ratios) < 1 - margin:
                means[name] = geometric_mean(ratios)
    choice = min(means, key=lambda n: (means[n], n))
    evidence = {"ratio": f"{means[choice]:.3f}", "source": "simulated"}
    return Row(*_key(answers[0]), 0, None, choice, evidence)


def _key(answer: Answer) -> tuple[str, int, int]:
    return answer.cell.collective, answer.cell.nodes, answer.cell.ppn


def _middle(a: int, b: int) -> int:
    return max(a + 1, math.isqrt(max(a, 1) * b))


def simulated_table(
    platform: Platform,
    nodes: Sequence[int],
    ppns: Sequence[int],
    collectives: Sequence[str],
    sizes: Sequence[int],
    family: Family,
    version: str,
    *,
    seed: int = 1,
    done: Callable[[SimulatedCell], None] = lambda cell: None,
) -> tuple[Table, list[Answer]]:
    """Make a table for a platform; every row's evidence says ``source=simulated``.

    Where the model has no decisions of the MPI, it also says whose stand for them
    (``baseline=openmpi``): the ratios are to these.
    """
    cells = [
        SimulatedCell(name, n, p, size)
        for name in collectives for n in nodes for p in ppns if n * p > 1
        for size in ([0] if name == "barrier" else sizes)
    ]  # fmt: skip
    if not cells:
        raise UsageError("there is nothing to simulate", "--nodes", "at least two ranks are needed")
    answers = list(simulate(cells, platform, seed=seed, done=done))
    layouts = {(a.cell.nodes, a.cell.ppn) for a in answers}
    one = layouts.pop() if len(layouts) == 1 else (None, None)
    stands = {} if family in BASELINES else {"baseline": "openmpi"}
    found = [replace(r, evidence={**r.evidence, **stands}) for r in rows(answers)]
    table = Table(
        family, version, one[0], one[1], CREATED, __version__, platform.name,
        f"simulated {platform.name}", found,
    )  # fmt: skip
    return table, answers


def priced_table(
    table: Table,
    platform: Platform,
    nodes: Sequence[int],
    ppns: Sequence[int],
    sizes: Sequence[int],
    baseline: str,
    seed: int,
    begun: Callable[[SimulatedCell, str], None] = lambda cell, choice: None,
) -> list[Answer]:
    """Price what a table chooses, beside native, wherever it has a row for the layout."""
    out: list[Answer] = []
    for name in dict.fromkeys(r.collective for r in table.rows):
        for p in ppns:
            for n in nodes:
                for size in [0] if name == "barrier" else sizes:
                    row = table.find(name, n, p, size)
                    if row is None or n * p < 2:
                        continue
                    cell = SimulatedCell(name, n, p, size)
                    native = native_choice(baseline, name, n * p, n, size)
                    begun(cell, row.choice)
                    times = {NATIVE: seconds_of(cell, native, platform, seed)}
                    chosen = NATIVE if row.choice.startswith(NATIVE) else row.choice
                    if chosen != NATIVE:
                        times[chosen] = seconds_of(cell, chosen, platform, seed)
                    out.append(Answer(cell, times, native, None, "", chosen))
    return out

"""The middle stage of ``stretto tune -- CMD``: measures what CMD uses, and decides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stretto.counted import counted, duration, sized
from stretto.files.bench import BUDGET_ENDED
from stretto.files.identity import collect
from stretto.files.layout import RankLayout
from stretto.files.table import Row
from stretto.launch.inject import prepare
from stretto.launch.job import LONG_JOB_S, understand
from stretto.measure.baseline import fair, with_bare
from stretto.measure.candidates import default_candidates
from stretto.measure.commandline import Starter
from stretto.measure.compare import NATIVE, Comparison, decisive, timings
from stretto.measure.idle import cores
from stretto.measure.ledger import require_layout, time_left
from stretto.measure.request import ask
from stretto.measure.runner import SLACK, measure
from stretto.measure.settings import ROOTED, STARTUP_S, Case, Settings, make_case, variants_of
from stretto.tune.decide import Call, SizeRange, calls_of, decide
from stretto.tune.needs import Need, Needs
from stretto.tune.session import PAIRS, Tuning
from stretto.tune.verify import TuneOutlook

LAUNCHES, FEWEST_LAUNCHES = 10, 6
#: a run of CMD may take so many times as long as the recorded one
RUNS_VARY = 1.25
DRY = "dry run: nothing was run or measured"


@dataclass(frozen=True)
class Planned:
    """One campaign that is to come: a layout, what is measured on it, and into which file."""

    layout: tuple[int, int, int]  # ranks, nodes, ranks per node
    members: tuple[Need, ...]
    settings: Settings
    path: Path

    @property
    def words(self) -> str:
        nranks, nodes, ppn = self.layout
        where = RankLayout(nodes, ppn, nranks).explained
        kinds = len(self.settings.variants)
        return (
            f"{counted(len(self.settings.cases), 'call shape')} on {where}, "
            f"{counted(self.settings.launches, 'launch')}"
            + (f" of each of {kinds} kinds" if kinds > 1 else "")
        )

    @property
    def shapes(self) -> str:
        """The calls and sizes, with the number of candidates of each."""
        parts: dict[str, int] = {}
        for case in self.settings.cases:
            size = f" of {sized(case.bytes)}" if case.bytes else ""
            parts[f"{case.collective}{size}"] = len(case.candidates)
        return ", ".join(f"{c} ({counted(n, 'candidate')})" for c, n in parts.items())


def planned(session: Tuning, needs: Needs) -> list[Planned]:
    groups: dict[tuple[int, int, int], list[Need]] = defaultdict(list)
    for need in needs.chosen:
        groups[need.nranks, need.nodes, need.ppn].append(need)
    budget = _bench_budget(session)
    out: list[Planned] = []
    for (nranks, nodes, ppn), members in groups.items():
        cases = _cases(session, members, nodes, nranks)
        variants = variants_of(cases)
        share = None if budget is None else budget * len(members) / len(needs.chosen)
        hosts = session.job.layout.hosts[:nodes] if nodes > 1 else ()
        settings = Settings(
            nranks=nranks,
            cases=tuple(cases),
            variants=variants,
            launches=session.o.launches or _launches(cases, len(variants), share),
            ppn=ppn if nodes > 1 else None,
            hosts=tuple(hosts),
            seed=session.o.seed,
            budget_s=share,
            batches=(9, 30),
            oversubscribed=nranks > cores() * nodes,
        )
        path = session.path("bench.jsonl" if not out else f"{nodes}x{ppn}.bench.jsonl")
        if any(path == p.path for p in out):
            path = session.path(f"{nodes}x{ppn}.{nranks}.bench.jsonl")
        out.append(Planned((nranks, nodes, ppn), tuple(members), settings, path))
    return out


def measure_needs(session: Tuning, needs: Needs) -> tuple[list[Row], list[Comparison], list[Path]]:
    """Measure what is needed, layout by layout, and decide."""
    rows: list[Row] = []
    comparisons: list[Comparison] = []
    plans = planned(session, needs)
    # A table tells nodes x ppn apart, not 7 ranks of 2 x 4 from 8: they decide together.
    spans: dict[tuple[int, int], dict[str, dict[int, SizeRange]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    calls: dict[tuple[int, int], list[Call]] = defaultdict(list)
    for plan in plans:
        nranks, nodes, ppn = plan.layout
        left = _left_s(session, plan)
        session.say(f"stretto: measuring {plan.words}: about {left:.0f} s")
        bench, notes = measure(
            plan.settings,
            session.job.mpi,
            plan.path,
            collect(session.job.mpi.identity),
            ["stretto", "tune", "--", *session.o.words],
            session.say,
            restart=session.o.restart,
            start=_starter(session) if nranks == session.job.layout.nranks else None,
        )
        session.cut |= any(BUDGET_ENDED in note for note in notes)
        require_layout(bench, nodes, ppn, plan.path)
        times = timings(bench)
        comparisons += [replace(c, layout=plan.layout) for c in decisive(fair(times), times)]
        calls[nodes, ppn] += calls_of(times, plan.layout)
        own = spans[nodes, ppn]
        for need in plan.members:
            known = own[need.collective]
            known[need.bytes] = need.span.joined(known.get(need.bytes, need.span))
    for (nodes, ppn), own in spans.items():
        here = [c for c in comparisons if c.layout is not None and c.layout[1:] == (nodes, ppn)]
        rows += decide(here, nodes, ppn, own, calls=calls[nodes, ppn])
    return rows, comparisons, [plan.path for plan in plans]


def _cases(session: Tuning, members: Sequence[Need], nodes: int, nranks: int) -> list[Case]:
    cases = []
    for need in members:
        if session.o.candidates:
            own = session.o.candidates
            names = with_bare(own if NATIVE in own else [NATIVE, *own], need.bytes, nodes)
        else:
            names = default_candidates(
                need.collective, session.job.mpi.abi, nodes, nranks, need.bytes
            )
        roots = (0, nranks - 1) if need.collective in ROOTED else (0,)
        cases += [
            make_case(
                need.collective, need.bytes, names, shape.datatype, shape.operation, root,
                need.pattern,
            )
            for shape in need.shapes
            for root in roots
        ]  # fmt: skip
    return cases


def say_plan(session: Tuning) -> None:
    """Say what will be run and measured, before anything is."""
    budget = "" if session.o.budget_s is None else f", all within about {session.o.budget_s:.0f} s"
    pairs = _pairs(session)
    session.say(
        "stretto: cost: CMD runs once with the recorder, then its collectives are measured, then "
        f"CMD runs alternately {counted(pairs, 'time')} native and {counted(pairs, 'time')} tuned "
        f"({session.o.place.words()}){budget if session.o.pairs is None else ''}; Ctrl-C keeps "
        "all measurements"
    )


def _left_s(session: Tuning, plan: Planned) -> float:
    """Return about how long a campaign takes; its starts alone may take more than its budget."""
    found = time_left(plan.settings, plan.path, session.o.restart)
    return found if plan.settings.budget_s is None else min(found, plan.settings.budget_s)


def cost_of(session: Tuning, needs: Needs) -> tuple[float, float]:
    """Return about how long measuring takes, and runs of CMD after it (s)."""
    seconds = sum(_left_s(session, plan) for plan in planned(session, needs))
    runs = 2 * _pairs(session) * session.whole_s
    if session.o.budget_s is not None and session.o.pairs is None:
        runs = min(runs, max(0.0, session.left_s() - seconds))
    return seconds, runs


def lacking(session: Tuning, needs: Needs) -> str:
    """Return how much budget is missing for measuring and for runs; empty where none is."""
    if session.o.budget_s is None:
        return ""
    measuring = 0.0
    for plan in planned(session, needs):
        launches = session.o.launches or FEWEST_LAUNCHES
        least = replace(plan.settings, budget_s=None, launches=launches)
        measuring += time_left(least, plan.path, session.o.restart)
    number = 2 * _pairs(session)
    runs = number * session.whole_s
    more = measuring + runs - session.left_s()
    if more <= 0:
        return ""
    return (
        f"about {duration(more)} more of --budget (measuring takes about {duration(measuring)}, "
        f"{counted(number, 'run')} of CMD {duration(runs)})"
    )


def outlook(session: Tuning, needs: Needs, path: Path) -> TuneOutlook:
    """Say what would be measured, and for how long, and return it."""
    plans, (seconds, runs) = planned(session, needs), cost_of(session, needs)
    for plan in plans:
        left = _left_s(session, plan)
        session.say(f"stretto: would measure {plan.words}: about {duration(left)}")
        session.say(f"stretto:   {plan.shapes}")
    _say_cost(session, seconds, runs)
    return TuneOutlook(
        [DRY], path, list(needs.chosen), [f"{p.words}: {p.shapes}" for p in plans],
        sum(p.settings.total() for p in plans), round(seconds, 1), 2 * _pairs(session),
        round(runs, 1),
    )  # fmt: skip


def _pairs(session: Tuning) -> int:
    return PAIRS if session.o.pairs is None else session.o.pairs


def state_cost(session: Tuning, needs: Needs) -> None:
    """Say how long the rest will take, now that CMD's own time is known; ask, on a terminal."""
    seconds, runs = cost_of(session, needs)
    _say_cost(session, seconds, runs)
    if lacks := lacking(session, needs):
        session.say(f"stretto: warning: the budget may be too short; missing: {lacks}")
    ask(seconds + runs, session.o.yes or session.o.budget_s is not None)


def _say_cost(session: Tuning, seconds: float, runs: float) -> None:
    session.say(
        f"stretto: cost: about {duration(seconds)} for measuring, then about {duration(runs)} "
        f"for runs of CMD ({duration(session.run_s)} each)"
    )
    if session.run_s > LONG_JOB_S:
        session.say(
            "stretto: note: CMD is a long job; stretto learn -- CMD learns during one run of it"
        )


def _bench_budget(session: Tuning) -> float | None:
    if session.o.budget_s is None:
        return None
    left = session.left_s()
    proof = 2 * PAIRS * RUNS_VARY * session.whole_s
    # the last launch may outlast what it is given: that is not the proof's
    rest = (left - proof) / (1 + SLACK)
    return min(max(rest, 0.35 * left, FEWEST_LAUNCHES * STARTUP_S), max(left, 0.0))


def _starter(session: Tuning) -> Starter | None:
    """Return how to start stretto-bench as CMD is: same launcher, options, hosts, binding."""
    command = session.job.command
    if command.launcher_at is None or len(command.applications) != 1:
        return None
    head = list(command.words[: command.applications[0].start])

    def start(program: list[str], variables: dict[str, str]) -> tuple[list[str], dict[str, str]]:
        job = understand([*head, *program], mpi=session.o.mpi)
        settings = {k: v for k, v in variables.items() if k != "LD_PRELOAD"}
        libraries = [Path(variables["LD_PRELOAD"])] if "LD_PRELOAD" in variables else []
        return prepare(job, libraries, settings)

    return start


def _launches(cases: Sequence[Case], variants: int, share: float | None) -> int:
    """Return how many launches a share of the budget allows: ten, or the six that a test needs."""
    if share is None:
        return LAUNCHES
    candidates = sum(len(c.candidates) for c in cases)
    need = LAUNCHES * (STARTUP_S * variants + 0.03 * candidates)
    return LAUNCHES if share >= need else FEWEST_LAUNCHES

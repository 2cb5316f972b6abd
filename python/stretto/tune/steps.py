"""The steps of ``stretto tune -- CMD`` up to the table: profile, measurement, decision."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from stretto.campaign.candidates import default_candidates
from stretto.campaign.compare import NATIVE, Comparison, compare, decisive, timings
from stretto.campaign.idle import cores
from stretto.campaign.runner import Starter, measure, require_layout
from stretto.campaign.settings import STARTUP_S, Case, Settings, make_case, variants_of
from stretto.errors import CommandFailedError, StrettoError, from_oserror
from stretto.files.identity import collect
from stretto.files.io import write_atomic
from stretto.files.profile import Profile, read_profile
from stretto.files.table import Row, Table
from stretto.files.verdict import Metric
from stretto.launch.execute import Result
from stretto.launch.inject import prepare
from stretto.launch.job import understand
from stretto.launch.naming import app_name
from stretto.tune.decide import Span, decide
from stretto.tune.needs import Need, Needs
from stretto.tune.trials import Place, find_value, fresh

#: the fewest pairs of runs of CMD with which a test can be made
PAIRS = 6
LAUNCHES, FEWEST_LAUNCHES = 10, 6


@dataclass
class Options:
    """What the user asked for."""

    words: list[str]
    out: Path
    metric: Metric
    place: Place
    budget_s: float | None = None
    pairs: int | None = None
    launches: int | None = None
    only: list[str] | None = None
    candidates: list[str] | None = None
    mpi: str | None = None
    timeout_s: float | None = None
    seed: int = 1
    restart: bool = False


class Steps:
    """The steps up to the table, each resumable.

    Parameters
    ----------
    options
        What the user asked for.
    say
        Prints a sentence to the user.
    """

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self.o = options
        self.say = say
        self.begin = time.monotonic()
        self.job = understand(options.words, mpi=options.mpi)
        self.name = app_name(self.job)
        self.run_s = 0.0

    def path(self, kind: str) -> Path:
        """Return the file of a kind in the output directory."""
        return self.o.out / f"{self.name}.{kind}"

    def left_s(self) -> float | None:
        """Return what is left of the budget."""
        if self.o.budget_s is None:
            return None
        return self.o.budget_s - (time.monotonic() - self.begin)

    def profile(self) -> Profile:
        """Return the profile: the one that is there, or that of a run now."""
        path = self.path("profile.json")
        if path.exists() and not self.o.restart:
            found = read_profile(path)
            if found.command != self.o.words:
                raise StrettoError(
                    f"the profile here is of another command: {' '.join(found.command)}",
                    path,
                    "begin again with --restart, or give another directory with --out",
                )
            if found.mpi.family != self.job.mpi.family:
                raise StrettoError(
                    f"the profile here was recorded under {found.mpi.family} {found.mpi.version}, "
                    f"and the command now uses {self.job.mpi.name}",
                    path,
                    "begin again with --restart, or give another directory with --out",
                )
            if self._wall_file.exists():
                self.run_s = self._recorded_wall(found)
                self.say(f"stretto: going on with the profile in {path}")
                return found
            self.say(f"stretto: {path} is of a run that did not end well; CMD runs again")
        from stretto.profiling.record import check_result, record

        try:
            self.o.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise from_oserror(error, "cannot make the directory", self.o.out) from error
        self._wall_file.unlink(missing_ok=True)  # written again when the run has ended well
        with fresh(self.o.place) as cwd, _directory(cwd):
            recorded = record(
                self.o.words,
                output=path.resolve() if path.is_absolute() else self.home / path,
                mpi=self.o.mpi,
                timeout=self.o.timeout_s,
                capture="yes",
            )
        try:
            check_result(recorded)
        except CommandFailedError as error:
            tail = (recorded.result.stderr or recorded.result.stdout).strip().splitlines()[-3:]
            path.rename(path.with_name(f"{self.name}.failed.profile.json"))
            raise CommandFailedError(
                f"{error.message}; its last words: {' / '.join(tail) or 'none'}",
                error.place,
                "make it run without Stretto first; if it needs files outside its directory, use "
                "--in-place or --reset-command",
            ) from error
        self.run_s = recorded.result.wall_s
        write_atomic(self._wall_file, f"{self.run_s}\n", "the profiled run's time")
        self._check_metric(recorded.result)
        for note in recorded.joined[0].notes:
            self.say(f"stretto: note: {note}")
        return recorded.profile

    def _check_metric(self, result: Result) -> None:
        """Refuse a metric that CMD does not print before anything is measured for it."""
        if find_value(self.o.metric, result) is not None:
            return
        printed = self.o.out / "outputs" / "profiled.txt"
        write_atomic(printed, f"{result.stdout}\n{result.stderr}", "what the command printed")
        raise StrettoError(
            f"the command printed no number that matches --metric {self.o.metric.pattern!r}",
            printed,
            "try the expression on that file with grep -P; the profile is kept",
        )

    @property
    def _wall_file(self) -> Path:
        """The wall time of the profiled run; there only when that run ended well."""
        return self.o.out / "outputs" / "profiled-wall-s"

    def _recorded_wall(self, profile: Profile) -> float:
        """Return the wall time of the profiled run, its start included."""
        try:
            return float(self._wall_file.read_text("utf-8"))
        except (OSError, ValueError):
            return float(np.median(profile.wall_s)) + 0.5

    @property
    def home(self) -> Path:
        """The directory that we were started in."""
        return self.job.cwd

    def measured(self, needs: Needs) -> tuple[list[Row], list[Comparison], list[Path]]:
        """Measure what is needed, layout by layout, and decide."""
        groups: dict[tuple[int, int, int], list[Need]] = defaultdict(list)
        for need in needs.chosen:
            groups[need.nranks, need.nodes, need.ppn].append(need)
        budget = self._bench_budget(needs)
        rows: list[Row] = []
        comparisons: list[Comparison] = []
        paths: list[Path] = []
        # A table tells nodes x ppn apart, not 7 ranks of 2 x 4 from 8: they decide together.
        spans: dict[tuple[int, int], dict[str, dict[int, Span]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        for (nranks, nodes, ppn), members in groups.items():
            cases = self._cases(members, nodes, nranks)
            share = None if budget is None else budget * len(members) / len(needs.chosen)
            launches = self.o.launches or _launches(cases, share)
            whole = nranks == self.job.layout.nranks
            hosts = self.job.layout.hosts[:nodes] if nodes > 1 else ()
            settings = Settings(
                nranks=nranks,
                cases=tuple(cases),
                variants=variants_of(cases),
                launches=launches,
                ppn=ppn if nodes > 1 else None,
                hosts=tuple(hosts),
                seed=self.o.seed,
                budget_s=share,
                batches=(9, 30),
                oversubscribed=nranks > cores() * nodes,
            )
            path = self.path("bench.jsonl" if not paths else f"{nodes}x{ppn}.bench.jsonl")
            if path in paths:
                path = self.path(f"{nodes}x{ppn}.{nranks}.bench.jsonl")
            estimate = settings.estimate_s()
            self.say(
                f"stretto: measuring {len(cases)} call shapes on {nodes} x {ppn} (nodes x ranks), "
                f"{launches} launches: about {estimate:.0f} s"
            )
            bench, _ = measure(
                settings,
                self.job.mpi,
                path,
                collect(self.job.mpi.identity),
                ["stretto", "tune", "--", *self.o.words],
                self.say,
                restart=self.o.restart,
                start=self._starter() if whole else None,
            )
            require_layout(bench, nodes, ppn, path)
            times = timings(bench)
            comparisons += [
                replace(c, layout=(nranks, nodes, ppn)) for c in decisive(compare(times), times)
            ]
            own = spans[nodes, ppn]
            for need in members:
                own[need.collective][need.bytes] = _wider(
                    need.span, own[need.collective].get(need.bytes)
                )
            paths.append(path)
        for (nodes, ppn), known in spans.items():
            here = [c for c in comparisons if c.layout is not None and c.layout[1:] == (nodes, ppn)]
            rows += decide(here, nodes, ppn, known)
        return rows, comparisons, paths

    def _cases(self, members: Sequence[Need], nodes: int, nranks: int) -> list[Case]:
        cases = []
        for need in members:
            names = self.o.candidates or default_candidates(
                need.collective, self.job.mpi.abi, nodes, nranks
            )
            if NATIVE not in names:
                names = [NATIVE, *names]
            cases.append(
                make_case(need.collective, need.bytes, names, need.datatype, need.operation)
            )
        return cases

    def _bench_budget(self, needs: Needs) -> float | None:
        left = self.left_s()
        if left is None:
            return None
        trials = 2 * PAIRS * 1.1 * self.run_s
        return max(left - trials, 0.35 * left, FEWEST_LAUNCHES * STARTUP_S)

    def _starter(self) -> Starter | None:
        """Return how to start stretto-bench as CMD is: same launcher, options, hosts, binding."""
        command = self.job.command
        if command.launcher_at is None or len(command.applications) != 1:
            return None
        head = list(command.words[: command.applications[0].start])

        def start(
            program: list[str], variables: dict[str, str]
        ) -> tuple[list[str], dict[str, str]]:
            job = understand([*head, *program], mpi=self.o.mpi)
            settings = {k: v for k, v in variables.items() if k != "LD_PRELOAD"}
            libraries = [Path(variables["LD_PRELOAD"])] if "LD_PRELOAD" in variables else []
            return prepare(job, libraries, settings)

        return start

    def table(self, profile: Profile, rows: list[Row]) -> Table:
        """Return the table of the rows."""
        identity = collect(self.job.mpi.identity)
        return Table(
            family=self.job.mpi.family,
            mpi_version=self.job.mpi.version,
            nodes=len(profile.nodes),
            ppn=profile.ppn,
            created=identity.created,
            stretto=identity.stretto,
            host=identity.host.name,
            cpu=identity.host.cpu,
            rows=rows,
        )


def _wider(span: Span, other: Span | None) -> Span:
    """Return the span that holds both."""
    if other is None:
        return span
    return Span(min(span.low, other.low), max(span.high, other.high))


def _launches(cases: Sequence[Case], share: float | None) -> int:
    """Return how many launches a share of the budget allows: ten, or the six that a test needs."""
    if share is None:
        return LAUNCHES
    candidates = sum(len(c.candidates) for c in cases)
    need = LAUNCHES * (STARTUP_S + 0.03 * candidates)
    return LAUNCHES if share >= need else FEWEST_LAUNCHES


@contextmanager
def _directory(path: Path) -> Iterator[None]:
    """Work in another directory for a while (contextlib.chdir is younger than Python 3.10)."""
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)

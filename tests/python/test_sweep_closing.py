"""The closing rounds: what is left of a campaign's time goes where it may still change most."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stretto.campaign.compare import BARE, NATIVE, Cell, Comparison
from stretto.campaign.settings import Case, Settings
from stretto.campaign.stats import Interval
from stretto.files.bench import Bench, Header, Sample, read_bench
from stretto.files.outcome import Verdict
from stretto.sweep.borne_out import Expected, Gain
from stretto.sweep.closing import Bid, Closing, agreed, beyond
from stretto.sweep.decide import Decided, decide_all
from stretto.sweep.doubt import Doubt
from stretto.sweep.elimination import Policy, shape_of
from stretto.sweep.expected import SMALL, limit_s
from stretto.sweep.layout import Layout
from stretto.sweep.parallel import side_by_side
from stretto.sweep.plan import LayoutPlan
from stretto.sweep.request import Request
from stretto.sweep.status import read_status, status_lines
from stretto.sweep.worker import Worker
from sweeps import HOST, MPI, Fake, plans, request_of, time_us, worker_of

LAYOUTS = (Layout(1, 2), Layout(2, 2), Layout(4, 2))
WILD = ("shm",)


def small(out: Path, **more: object) -> Request:
    values = {"collectives": ("allreduce",), "layouts": LAYOUTS, "sizes": (8, 24, 36000)}
    return request_of(out, **(values | {"launches": 12} | more))


class Memory:
    """Keeps what a campaign writes."""

    def __init__(self) -> None:
        self.bench = Bench(Header("0", "", HOST, MPI, []))

    def write(self, record: object) -> None:
        self.bench.records.append(record)  # type: ignore[arg-type]


def measure(plan: LayoutPlan, turn: int, cases: tuple[Case, ...], fake: Fake, kept: Memory) -> None:
    settings: Settings = plan.in_round(turn, cases, Policy())
    needed = settings.launches_needed()
    for launch in plan.launches_of(turn):
        if settings.variant_of(launch) in needed:
            fake.measure(settings, launch, kept, Bench(kept.bench.header))  # type: ignore[arg-type]


def searched(
    mine: list[LayoutPlan], fake: Fake, begun: Callable[[Layout, str], bool] = lambda x, c: True
) -> dict[Layout, Memory]:
    """Six rounds of all candidates that are begun with."""
    out = {p.layout: Memory() for p in mine}
    for plan in mine:
        for turn in range(6):
            cases = tuple(
                Case(c.collective, c.bytes, c.datatype, c.operation, c.root,
                     tuple(n for n in c.candidates if begun(plan.layout, n)))
                for c in plan.settings.cases
            )  # fmt: skip
            measure(plan, turn, cases, fake, out[plan.layout])
    return out


def closed(
    mine: list[LayoutPlan], fake: Fake, kept: dict[Layout, Memory], policy: Policy | None = None
) -> Closing:
    """All waves, each measured before the next one is planned."""
    closing = Closing(mine, policy or Policy())
    while closing.advance({x: k.bench for x, k in kept.items()}):
        for plan in mine:
            for turn in closing.turns(plan.layout):
                measure(plan, turn, closing.cases(plan.layout, turn), fake, kept[plan.layout])
    return closing


def chosen(mine: list[LayoutPlan], kept: dict[Layout, Memory]) -> dict[Layout, dict[int, str]]:
    decided = decide_all(
        {x: k.bench for x, k in kept.items()}, {p.layout: p.nvariants for p in mine}
    )
    return {x: d.chosen["allreduce"] for x, d in decided.items()}


def worst(found: dict[Layout, dict[int, str]]) -> float:
    """By how much the choice is slower than the best, at the worst point."""
    return max(
        time_us(x, "allreduce", size, name)
        / min(
            time_us(x, "allreduce", size, n) for n in ("native", "ring", "shm", "native:coll_A=1")
        )
        for x, sizes in found.items()
        for size, name in sizes.items()
    )


def test_doubts_are_settled_within_the_time(tmp_path: Path) -> None:
    """Half of the best one's launches are disturbed: six of them prove nothing, more do."""
    mine, fake = plans(small(tmp_path)), Fake(wild=WILD)
    kept = searched(mine, fake)
    before = worst(chosen(mine, kept))
    closing = closed(mine, fake, kept, Policy(share=4.0))
    assert closing.waves and closing.spent_s is not None
    assert closing.spent_s <= closing.limit_s
    assert worst(chosen(mine, kept)) < 1.1 < before
    for wave in closing.waves:
        for rounds in wave.values():
            for cases in rounds:
                for case in cases:
                    names = set(case.candidates) - {NATIVE, BARE}
                    assert NATIVE in case.candidates and 1 <= len(names) <= 2, "few at a time"


def test_a_tenth_is_one_of_what_calls_take(tmp_path: Path) -> None:
    """Before a call is measured it is taken to be slow; the campaign then has less to spend."""
    mine, fake = plans(small(tmp_path, sizes=(8, 1 << 26))), Fake()
    kept, policy, quick = searched(mine, fake), Policy(share=4.0), 1e-3
    for memory in kept.values():
        memory.bench.records = [
            replace(r, times_us=[t * quick for t in r.times_us]) if isinstance(r, Sample) else r
            for r in memory.bench.records
        ]
    announced = limit_s(mine, policy)
    closing = Closing(mine, policy)
    assert closing.limit_s == announced
    closing.advance({x: k.bench for x, k in kept.items()})
    times = {
        p.layout: lambda case, name, at=p.layout: quick * time_us(at, "", case.bytes, name)
        for p in mine
    }
    told = limit_s(mine, policy, times, closing.searched_s)
    assert closing.limit_s == pytest.approx(told, rel=0.1) and told < 0.9 * announced
    # A search that leaves next to nothing of that tenth: closing rounds get as long again.
    part = limit_s(mine, policy, times, 0.0)
    assert limit_s(mine, policy, times, 0.5 * part) == part
    assert limit_s(mine, policy, times, 0.9 * part) >= SMALL * 0.9 * part
    # Calls that take longer than they were taken to: no more than was announced.
    slow = {p.layout: lambda case, name: 1e6 for p in mine}
    assert limit_s(mine, policy, slow, 0.0) > announced


def test_the_luck_of_launches_does_not_hide_what_shares_them(tmp_path: Path) -> None:
    """Launches lie up to a factor of three apart, and the best candidate gains a fifth."""
    found = {}
    for way in ("together", "reference", "apart"):
        apart = way != "together"
        mine, fake = plans(small(tmp_path)), Fake(luck=1.1, reference=way == "reference")
        if not apart:
            mine = [
                replace(p, settings=replace(p.settings, variants=("stretto", BARE))) for p in mine
            ]
        kept = searched(mine, fake)
        closing = closed(mine, fake, kept, Policy(share=0.5))
        found[way] = worst(chosen(mine, kept))
        for rounds in [r for wave in closing.waves for r in wave.values() if not apart]:
            for case in [case for cases in rounds for case in cases]:
                own = {"ring", "shm", "recursive_doubling"} & set(case.candidates)
                assert (NATIVE in case.candidates) == bool(own), "each beside its own baseline"
                assert BARE in case.candidates or own == set(case.candidates) - {NATIVE}
    assert max(found["together"], found["reference"]) < 1.06
    assert found["apart"] > 1.06, "without a reference a fifth cannot be told from luck"


@pytest.mark.parametrize("q, sure", [(0.049, False), (0.01, True)])
def test_a_proof_that_others_may_undo_is_none_yet(tmp_path: Path, q: float, sure: bool) -> None:
    """What a layout's other comparisons turn out to be moves each one's q."""
    (plan, *_) = plans(small(tmp_path / "c"))
    shape = shape_of(plan.settings.cases[0])
    cell = Cell(shape[0], shape[1], shape[2], shape[3], shape[4], "latency")
    ratio = Interval(0.5, 0.4, 0.6, 6)
    found = Comparison(cell, "shm", NATIVE, ratio, (0.5,) * 6, q / 4, q, Verdict("faster", ""))
    decided = Decided(
        plan.layout, [], {shape[0]: {shape[1]: "shm"}}, {shape[0]: {shape[1]: {"shm": 0.5}}}, {},
        [found],
    )  # fmt: skip
    doubt = Doubt(plan, (shape,), {}, decided, {}, {})
    assert doubt.proven("shm") is sure
    assert doubt.choice == ("shm" if sure else NATIVE)
    # Where it is no faster (at one of several sizes that have one row) there is no proof to lose.
    same = replace(decided, comparisons=[replace(found, q=0.8, verdict=Verdict("same", ""))])
    assert Doubt(plan, (shape,), {}, same, {}, {}).choice == "shm"


def test_neighbours_tell_who_may_take_the_place_of_any_choice(tmp_path: Path) -> None:
    (plan, *_) = plans(small(tmp_path / "c"))
    shape = shape_of(plan.settings.cases[0])
    collective, size = shape[:2]

    def told(choice: str, expected: dict[str, Expected], **own: Gain) -> tuple[float, float] | None:
        decided = Decided(
            plan.layout, [], {collective: {size: choice}}, {collective: {}},
            expected={collective: {size: expected}}, gains={collective: {size: own}},
        )  # fmt: skip
        return Doubt(plan, (shape,), {}, decided, {}, {}).by_neighbours("ring")

    ring, shm = Expected(0.5, 0.01), Expected(0.2, 0.0044)
    assert told(NATIVE, {"ring": ring}) == (0.5, 0.1), "over the MPI"
    assert told("shm", {"ring": ring, "shm": shm}) == pytest.approx((0.3, 0.12))
    assert told("shm", {"ring": ring}, shm=Gain(0.1, 0.05, "faster")) == pytest.approx(
        (0.4, math.sqrt(0.0125))
    ), "over what the choice's own launches say"
    assert told("shm", {"ring": ring}) is None, "nobody knows the choice"
    assert told("shm", {"shm": shm}) is None, "nor the rival"
    assert told(NATIVE, {"ring": ring}, ring=Gain(-0.3, 0.05, "slower")) is None


def test_launches_that_were_all_unlucky_are_asked_again(tmp_path: Path) -> None:
    """Six of them say that a candidate is slower, the neighbours that it is faster by half."""
    (plan, *_) = mine = plans(small(tmp_path / "c"))
    shape = shape_of(plan.settings.cases[0])
    collective, size = shape[:2]
    base = (9.0, 9.3, 9.9, 10.1, 10.6, 11.4)
    names = {NATIVE: base, "ring": tuple(1.1 * t for t in base), "shm": tuple(2 * t for t in base)}
    times = {shape: {n: dict(enumerate(t)) for n, t in names.items()}}
    closing = Closing(mine, Policy())

    def bid(rival: str, **expected: Expected) -> Bid | None:
        own = {n: Gain(-0.1, 0.05, "same", ((-0.1, 0.05),)) for n in ("ring", "shm")}
        decided = Decided(
            plan.layout, [], {collective: {size: NATIVE}}, {collective: {}},
            expected={collective: {size: expected}}, gains={collective: {size: own}},
        )  # fmt: skip
        return closing._bid(Doubt(plan, (shape,), times, decided, {}, {}), rival, 99)

    alone, told = bid("ring"), bid("ring", ring=Expected(0.4, 0.01))
    assert alone is not None and told is not None
    assert told.need <= 24 < alone.need and told.value > 1000 * alone.value
    slow = bid("shm", shm=Expected(0.1, 0.01))
    assert slow is None or (slow.rounds <= 6 and slow.value < alone.value), "another case"


def test_what_disagrees_is_less_sure() -> None:
    assert agreed([(0.1, 0.05)]) == pytest.approx((0.1, 0.05))
    assert agreed([(0.1, 0.05), (0.1, 0.05)]) == pytest.approx((0.1, 0.05 / math.sqrt(2)))
    mean, doubt = agreed([(-0.1, 0.1), (0.2, 0.1)])
    assert (mean, doubt) == pytest.approx((0.05, 0.15)), "half of what lies between them"
    assert agreed([(-2.0, 0.1), (2.0, 0.1)])[1] < 0.2, "another case"
    gain, chance = beyond(0.0, 1.0)
    assert (gain, chance) == pytest.approx((1 / math.sqrt(2 * math.pi), 0.5))
    assert beyond(-40.0, 1.0) == (0.0, 0.0) and beyond(3.0, 0.01) == pytest.approx((3.0, 1.0))


def test_without_time_left_nothing_is_begun(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    mine, fake = plans(small(tmp_path)), Fake(wild=WILD)
    kept = searched(mine, fake)
    monkeypatch.setattr("stretto.sweep.closing.limit_s", lambda plans, policy, *seen: 1.0)
    assert closed(mine, fake, kept).waves == []
    few = plans(small(tmp_path, launches=5))
    assert Closing(few, Policy()).over, "no test can be made of so few"


def test_a_layout_that_cannot_be_measured_has_no_part_in_a_wave(tmp_path: Path) -> None:
    """Its node is gone: rounds that wait for it would never be complete."""
    mine, fake = plans(small(tmp_path)), Fake(wild=WILD)
    benches = {x: k.bench for x, k in searched(mine, fake).items()}

    def first(*closed: Layout) -> set[Layout]:
        closing = Closing(mine, Policy(share=1.0))
        return set(closing.waves[0]) if closing.advance(benches, closed) else set()

    whole = first()
    assert whole
    gone = min(whole)
    assert gone not in first(gone)


def test_who_was_not_begun_with_comes_in(tmp_path: Path) -> None:
    """The best one was never measured on one layout; the fit over the others knows its time."""
    layouts = tuple(Layout(n, 2) for n in (1, 2, 4, 8))
    odd = Layout(4, 2)
    mine = plans(small(tmp_path, layouts=layouts, sizes=(8, 24, 1000, 36000)))
    fake = Fake()
    kept = searched(mine, fake, lambda x, name: (x, name) != (odd, "shm"))
    assert "shm" not in chosen(mine, kept)[odd].values()
    closed(mine, fake, kept, Policy(share=1.0))
    assert chosen(mine, kept)[odd][8] == "shm"


def test_who_brings_no_time_is_given_up(tmp_path: Path) -> None:
    layouts = tuple(Layout(n, 2) for n in (1, 2, 4, 8))
    odd = Layout(4, 2)
    mine = plans(small(tmp_path, layouts=layouts, sizes=(8, 24, 1000, 36000)))

    class Without(Fake):
        def measure(self, settings, launch, writer, before):  # type: ignore[no-untyped-def]
            done = super().measure(settings, launch, writer, before)
            if settings.nranks == odd.nranks:
                writer.bench.records[:] = [
                    r for r in writer.bench.records
                    if not (isinstance(r, Sample) and r.candidate == "shm")
                ]  # fmt: skip
            return done

    fake = Without()
    kept = searched(mine, fake)
    closing = closed(mine, fake, kept, Policy(share=1.0))
    asked = Counter(
        case.bytes
        for wave in closing.waves
        for cases in wave.get(odd, ())
        for case in cases
        if "shm" in case.candidates
    )
    assert asked and max(asked.values()) <= 8


def test_one_choice_for_all_sizes_closes_for_all_of_them(tmp_path: Path) -> None:
    request = small(tmp_path, collectives=("alltoallv",), sizes=(8, 24, 128))
    mine, fake = plans(request), Fake(wild=WILD)
    kept = searched(mine, fake)
    closing = closed(mine, fake, kept, Policy(share=1.0))
    rounds = [cases for w in closing.waves for r in w.values() for cases in r]
    assert rounds
    assert {len(cases) for cases in rounds} == {3}
    assert all(len({c.candidates for c in cases}) == 1 for cases in rounds)


def test_the_same_measurements_give_the_same_waves(tmp_path: Path) -> None:
    mine, fake = plans(small(tmp_path)), Fake(wild=WILD)
    kept = searched(mine, fake)
    closing = closed(mine, fake, kept)
    again = Closing(mine, Policy())
    benches = {x: k.bench for x, k in kept.items()}
    while again.advance(benches):  # with all that came later in them
        pass
    assert again.waves == closing.waves
    other = Closing(mine, Policy())
    assert other.advance(benches, (), 0)
    assert other.advance(benches, (), 0), "another lane has planned this wave already"
    assert len(other.waves) == 1
    without = Closing(mine, Policy())
    without.advance(benches, {LAYOUTS[0]})
    assert LAYOUTS[0] not in without.waves[0]


def taken(worker: Worker) -> dict[tuple[object, ...], list[float]]:
    return {
        (x.name, s.launch, s.bytes, s.candidate, s.mode): s.times_us
        for x, site in worker.sites.items()
        for s in site.folder.merged().bench.samples
    }


def written(worker: Worker) -> Counter[tuple[object, ...]]:
    return Counter(
        (path.parent.name, r.launch, r.bytes, r.candidate, r.mode)
        for path in worker.base.glob("*/*.bench.jsonl")
        for r in read_bench(path).records
        if isinstance(r, Sample)
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[object, ...], list[float]]:
    """A campaign of one process, with closing rounds."""
    request = small(tmp_path_factory.mktemp("undisturbed"))
    worker = worker_of(request, Fake(wild=WILD))
    assert worker.run()
    assert set(written(worker).values()) == {1}
    assert worker.closing is not None and worker.closing.waves
    late = [s for s in taken(worker) if int(str(s[1])) >= 12 * 5]
    assert late, "closing rounds were measured"
    return taken(worker)


class Killed(BaseException):
    """Stands for whatever ends a process."""


def test_killed_in_closing_rounds(
    tmp_path: Path, undisturbed: dict[tuple[object, ...], list[float]]
) -> None:
    request, chance, kills = small(tmp_path), random.Random(5), 0
    while True:
        left = chance.randrange(50, 400)

        def between() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise Killed

        worker = worker_of(request, Fake(between, wild=WILD))
        try:
            if worker.run():
                break
        except Killed:
            kills += 1
    assert kills >= 3
    assert taken(worker) == undisturbed


def test_lanes_close_together(
    tmp_path: Path, undisturbed: dict[tuple[object, ...], list[float]]
) -> None:
    request = small(tmp_path)

    def lane(hosts: tuple[str, ...], only: tuple[Layout, ...]) -> Worker:
        return worker_of(request, Fake(wild=WILD), only=only)

    whole = worker_of(request, Fake())
    assert side_by_side(whole, ("a", "b", "c", "d"), lane, lambda text: None)
    assert taken(whole) == undisturbed
    assert set(written(whole).values()) == {1}


def test_status_tells_of_closing_rounds(tmp_path: Path) -> None:
    from stretto.sweep.begun import keep_about

    request = small(tmp_path)
    base = request.out / "openmpi-4.1.4" / "a-cpu"
    keep_about(request, ["t"])
    worker = worker_of(request, Fake(wild=WILD), base=base)
    assert worker.closing is not None
    seen: list[int | None] = []
    far: list[tuple[int, int]] = []
    while (unit := worker.next_unit()) is not None:
        far.append(worker.progress())
        if worker.closing.waves and not seen:
            status = read_status(request.out)
            assert not status["complete"] and status["left_s"] > 0
            seen = [x["round"] for x in status["systems"][0]["layouts"]]
            assert any(x is not None and x > 12 for x in seen)
            assert status_lines(status)
        worker._measure(unit)
    assert seen
    status = read_status(request.out)
    assert status["complete"] and status["left_s"] == 0
    asked = sum(p.nvariants * p.settings.launches for p in worker.closing.plans.values())
    assert far[0][0] == 0 and far[0][1] >= asked, "closing rounds are expected"
    assert all(done < total for done, total in far), "never: no time left, while it goes on"
    search, closing = far[: far.index(max(far)) + 1], [x for x in far if x[0] > asked]
    assert search == sorted(search) and closing and worker.progress() == (asked, asked)
    again = worker_of(request, Fake(wild=WILD), base=base)
    again.close()
    assert again.progress() == worker.progress()

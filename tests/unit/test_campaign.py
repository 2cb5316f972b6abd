"""Campaigns: what is asked for, in which order, what is dropped, and the table that comes of it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import pytest

import sweeps
from stretto.campaign.command import lines_of, request_of
from stretto.campaign.conclude import conclude
from stretto.campaign.elimination import proven
from stretto.campaign.expected import at_most_s, expected_s, pace
from stretto.campaign.layout import Layout, enclosing, ordered, parse_layout, teachers
from stretto.campaign.levelled import levelled
from stretto.campaign.placement import RankPlace, check_places, hang_remedy
from stretto.campaign.regret import regrets_of
from stretto.campaign.times import Seen, medians
from stretto.campaign.unmeasured import read_simulated
from stretto.cli import main
from stretto.errors import StrettoError, UsageError
from stretto.files.bench import Bench, LaunchEnd
from stretto.files.table import read_table, write_table
from stretto.measure.settings import make_case, variants_of
from stretto.model.platform_file import load
from stretto.model.sweep import simulated_table
from sweeps import Fake, worker_of

FILE = """
collectives = ["allreduce", "bcast"]
nodes = [1, 2, 4]
ppn = [1, 2]
bytes = ["8:1K:4", 1000]
candidates = ["own", "native:all"]
mpis = ["openmpi"]
budget = "2h"
interpolate = ["3x2"]
"""


def test_a_campaign_file_and_options_over_it(tmp_path: Path) -> None:
    path = tmp_path / "big.toml"
    path.write_text(FILE)
    request = request_of(path, {})
    assert request.out == tmp_path / "big.campaign" and request.budget_s == 7200
    assert request.sizes == (8, 32, 128, 512, 1000) and request.file == path
    assert {x.name for x in request.layouts} == {"1x2", "2x1", "2x2", "4x1", "4x2"}
    assert request.interpolate == (Layout(3, 2),)
    other = request_of(path, {"nodes": "2:8", "ppn": "1", "candidates": "ring,native:coll_A=1;x",
                              "collectives": "MPI_Bcast", "out": str(tmp_path / "o")})  # fmt: skip
    assert {x.name for x in other.layouts} == {"2x1", "4x1", "8x1"}
    assert other.candidates == ("ring,native:coll_A=1", "x") and other.collectives == ("bcast",)
    assert other.out == tmp_path / "o" and other.sizes == request.sizes
    assert any(size & (size - 1) for size in request_of(None, {"nodes": "2"}).sizes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node = [1]", "did you mean 'nodes'"),
        ("nodes = 'x'", "not a positive whole number"),
        ("nodes = [0]", "not a positive whole number"),
        ("nodes = [true]", "nodes cannot be [True]"),
        ("nodes = [", "not TOML"),
        ("nodes = [1]\nppn = [1]", "one rank"),
        ("bytes = '8:'", "not a size"),
        ("bytes = [1.5]", "not a size"),
        ("bytes = []", "bytes is empty"),
        ("collectives = ['neighbor_alltoall']", "no collective"),
        ("launches = 0", "from 1 to 200"),
        ("eliminate = 1", "true or false"),
        ("launcher = 'ssh'", "one of"),
        ("interpolate = ['4']", "not a layout"),
        ("budget = 'soon'", "not a time"),
        ("launches = inf", "a whole number"),
        ("launches = nan", "a whole number"),
        ("platform = []", "platform is empty"),
        ("hosts = []", "hosts is empty"),
    ],
)
def test_bad_files_are_explained(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        request_of(path, {})
    words = f"{error.value.message} {error.value.remedy}"
    assert message in words and str(path) in (error.value.place or ""), words
    with pytest.raises(StrettoError, match="no such file"):
        request_of(tmp_path / "none.toml", {})


def test_ordered_begins_at_extremes_and_teachers_enclose() -> None:
    layouts = [Layout(n, p) for n in (1, 2, 4, 8) for p in (1, 2, 4) if n * p > 1]
    order = ordered(layouts)
    assert order[0] == Layout(8, 4) and set(order) == set(layouts)
    assert not teachers(order[0], order) and not teachers(order[1], order)
    taught = [x for x in order if teachers(x, order)]
    assert len(taught) >= len(order) // 2
    for x in taught:
        assert x.distance(teachers(x, order)[0]) <= 2.5
        assert all(order.index(y) < order.index(x) for y in teachers(x, order))
    assert parse_layout("3x2") == Layout(3, 2)


def test_a_table_of_all_layouts_and_some_between(tmp_path: Path) -> None:
    request = sweeps.request_of(
        tmp_path, sizes=(8, 64, 1000, 8192, 65536),
        interpolate=(Layout(3, 2), Layout(4, 8)), launches=6,
    )  # fmt: skip
    worker = worker_of(request, Fake())
    assert worker.run()
    # What layouts learn from one another knows who shared launches: it is put side by side.
    for site in worker.sites.values():
        learned = worker.times(site)
        assert isinstance(learned, Seen) and learned and all(learned.together.values())
        # by the reference, what has launches of its own, too
        assert all(rounds.keys() == learned[s].keys() for s, rounds in learned.together.items())
        last = max(r for seen in learned.values() for t in seen.values() for r in t)
        assert last < site.plan.settings.launches
    outcome = conclude(request, worker, lambda text: None, True)
    assert outcome.table is not None
    table = read_table(outcome.table)
    assert (table.nodes, table.ppn) == (None, None)
    for layout in request.layouts:
        for size in request.sizes:
            times = {
                c: sweeps.time_us(layout, "allreduce", size, c)
                for c in sweeps.CANDIDATES
                if c != "bare"
            }
            row = table.find("allreduce", layout.nodes, layout.ppn, size)
            assert row is not None
            assert times[row.choice] <= 1.05 * min(times.values()), (layout, size, row)
    between = [r for r in table.rows if (r.nodes, r.ppn) == (3, 2)]
    assert {r.evidence["source"] for r in between if r.choice != "native"} == {"interpolated"}
    assert "2x2+4x2" in {r.evidence.get("from") for r in between}
    assert not [r for r in table.rows if (r.nodes, r.ppn) == (4, 8)]
    assert any("4 x 8: is outside" in sentence for sentence in outcome.left_out)
    assert outcome.regret is not None
    assert "slower than the best of those still measured: median" in outcome.regret
    assert any("interpolated" in line for line in lines_of(outcome))
    assert len(outcome.results) == len(request.layouts)
    for name in {r.collective for r in table.rows}:
        rows = [r for r in table.rows if (r.collective, r.nodes, r.ppn) == (name, 2, 2)]
        assert len(rows) <= 6


def test_a_simulated_table_is_refined_by_what_was_measured(tmp_path: Path) -> None:
    sizes = [8, 1000, 65536]
    simulated, _ = simulated_table(
        load("hpc7g"), [2, 8], [2], ["allreduce", "bcast"], sizes, "openmpi", "4.1.4"
    )
    assert not any("baseline" in r.evidence for r in simulated.rows)
    mpich, _ = simulated_table(load("hpc7g"), [2], [2], ["allreduce"], [65536], "mpich", "5.0.2")
    assert [r.evidence["baseline"] for r in mpich.rows] == ["openmpi"], "whose ratios these are"
    path = tmp_path / "hpc7g.table"
    write_table(simulated, path)
    request = sweeps.request_of(tmp_path, sizes=(8, 1000, 65536), launches=6, refine=path)
    worker = worker_of(request, Fake())
    assert worker.run()
    said: list[str] = []
    outcome = conclude(request, worker, said.append, True)
    assert outcome.table is not None
    table = read_table(outcome.table)
    source = {
        (r.collective, r.nodes, r.ppn): r.evidence["source"] for r in table.rows if r.evidence
    }
    assert source["allreduce", 2, 2] == "measured"  # although the simulated table has it, too
    assert source["allreduce", 8, 2] == source["bcast", 2, 2] == "simulated"
    for r in simulated.rows:
        if (r.nodes, r.ppn) == (8, 2):
            assert r in table.rows
    kept = sum(r.evidence.get("source") == "simulated" for r in table.rows)
    assert any(f"{kept} rows are simulated" in sentence for sentence in said)
    assert any("simulated" in line for line in lines_of(outcome))
    for other, message in (("mpich", "is for openmpi"), ("openmpi", "is not simulated")):
        with pytest.raises(UsageError, match=message):
            read_simulated(path if other == "mpich" else outcome.table, other)
    with pytest.raises(UsageError, match="no such simulated table") as error:
        read_simulated(tmp_path / "gone", "openmpi")
    assert "stretto table simulate" in (error.value.remedy or "")


def test_without_elimination_everything_is_measured(tmp_path: Path) -> None:
    request = sweeps.request_of(
        tmp_path, layouts=(Layout(1, 2),), launches=2, eliminate=False, collectives=("allgather",)
    )
    backend = Fake()
    assert worker_of(request, backend).run()
    assert backend.cells == 2 * len(request.sizes) * len(sweeps.CANDIDATES)
    (plan,) = sweeps.plans(request)
    (most,) = expected_s([plan])
    assert most == at_most_s(plan) > 0
    assert 0 < expected_s([dataclasses.replace(plan, eliminate=True)])[0] <= most * 1.01


def test_enclosing_takes_the_nearest_pair_and_none_outside() -> None:
    measured = [Layout(2, 1), Layout(2, 4), Layout(8, 1), Layout(8, 4)]
    assert enclosing(Layout(4, 1), measured) == [Layout(2, 1), Layout(8, 1)]
    assert {x.name for x in enclosing(Layout(4, 2), measured)} in ({"2x1", "8x4"}, {"2x4", "8x1"})
    assert enclosing(Layout(16, 4), measured) == []
    crossed = [Layout(2, 4), Layout(8, 1)]  # few nodes with many ranks, many with few
    assert enclosing(Layout(4, 2), crossed) == crossed and not enclosing(Layout(4, 8), crossed)


def places(*hosts: str, cpus: dict[str, str] | None = None) -> list[RankPlace]:
    return [RankPlace(i, h, (cpus or {}).get(h, "A CPU")) for i, h in enumerate(hosts)]


def test_ranks_must_fill_node_after_node() -> None:
    assert check_places(places("a", "a", "b", "b"), Layout(2, 2)) == "A CPU"
    for wrong in (("a", "b", "a", "b"), ("a", "a", "a", "a"), ("a", "a", "a", "b")):
        with pytest.raises(StrettoError, match="are on these hosts: a"):
            check_places(places(*wrong), Layout(2, 2))
    with pytest.raises(StrettoError, match="different kinds"):
        check_places(places("a", "b", cpus={"b": "Another"}), Layout(2, 1))
    assert "launcher = 'mpirun'" in hang_remedy(["/usr/bin/srun", "-n", "2"])
    assert "password" in hang_remedy(["mpirun"])


def test_numbers_of_ranks_are_distances_in_doublings() -> None:
    assert math.isclose(Layout(2, 8).distance(Layout(4, 2)), 3)


def test_a_campaign_that_measured_nothing_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = sweeps.request_of(tmp_path, layouts=(Layout(16, 1),))
    worker = worker_of(request, Fake())
    outcome = conclude(request, worker, lambda text: None, worker.run())
    assert outcome.table is None and outcome.ended and not outcome.complete
    assert "nothing was measured" in " ".join(lines_of(outcome))
    assert "native on every row" not in " ".join(lines_of(outcome))
    monkeypatch.setattr("stretto.cli.campaign.run_campaign", lambda *words, **more: [outcome])
    assert main(["campaign", "run", "--nodes", "16"]) == 1
    said = capsys.readouterr()
    assert "nothing was measured" in said.out
    assert "nothing was measured: 16 x 1: no such nodes" in said.err


def test_two_kinds_of_nodes_have_two_tables(tmp_path: Path) -> None:
    request = sweeps.request_of(tmp_path, layouts=(Layout(1, 2),), launches=1)
    found = []
    for cpu in ("A CPU", "Another CPU", "A CPU"):
        worker = worker_of(request, Fake(cpu=cpu), cpu=cpu, base=tmp_path / cpu)
        table = conclude(request, worker, lambda text: None, worker.run()).table
        assert table is not None and read_table(table).cpu == cpu
        found.append(table)
    assert found[0] == found[2] != found[1]
    assert read_table(found[0]).cpu == "A CPU", "the second kind's has not replaced it"


def test_natives_that_share_the_bare_launch_are_paired_with_it() -> None:
    names = ("bare", "native:coll_A=1", "native:B=2")
    case = make_case("allreduce", 8, names)
    seen = {
        "bare": {r: 100.0 * 1.5 ** (r % 5) for r in range(12)},
        "native:coll_A=1": {r: 90.0 * 1.5 ** (r % 5) for r in range(12)},
    }
    name = "native:coll_A=1"
    assert proven(name, seen, 0.004, ("bare",)), "faster in each pair"
    assert proven(name, seen, 0.004, variants_of((case,))), "and in launches apart: each round"
    late = {**seen, "native:coll_A=1": {r: 90.0 for r in range(10, 16)}}
    late["bare"] = {r: 900.0 if r < 10 else 85.0 for r in range(16)}
    assert not proven(name, late, 0.004, variants_of((case,))), "faster only than hours before"


def bench_of(launches: Mapping[int, Mapping[str, float]]) -> Bench:
    """A bench with one time of each candidate in each launch."""
    times = {k: {(1024, name): us for name, us in mine.items()} for k, mine in launches.items()}
    return sweeps.bench_of("allreduce", times, Layout(1, 2))


def test_times_of_a_round_are_put_side_by_side() -> None:
    found = medians(
        bench_of(
            {
                0: {"native": 100.0, "shm": 80.0},
                1: {"bare": 150.0, "native:coll_A=1": 120.0},
                2: {"native:HAN=1": 60.0},
                3: {"native": 200.0, "shm": 160.0},
                4: {"bare": 110.0, "native:coll_A=1": 88.0},
                7: {"bare": 90.0, "native:coll_A=1": 72.0},  # a round without native
            }
        ),
        3,
    )
    ((shape, seen),) = found.items()
    assert seen["native"] == {0: 100.0, 1: 200.0} and seen["shm"] == {0: 80.0, 1: 160.0}
    assert seen["bare"] == {0: pytest.approx(100.0), 1: pytest.approx(200.0), 2: 90.0}
    assert seen["native:coll_A=1"] == {0: pytest.approx(80.0), 1: pytest.approx(160.0), 2: 72.0}
    assert seen["native:HAN=1"] == {0: 60.0}
    # And rounds: as if all had had the same luck, where it is known.
    level = levelled(found, shape)
    assert len(level["native:coll_A=1"]) == 3 and len(level["native"]) == 2
    for name in ("shm", "native:coll_A=1"):
        for us in level[name].values():
            assert us / level["native"][0] == pytest.approx(0.8)
    assert level["native:HAN=1"] == {0: 60.0}
    assert 90.0 <= level["native"][0] <= 200.0
    assert levelled(dict(found), shape)["shm"] == seen["shm"], "launches are not known"


def test_a_round_that_was_bad_for_native_alone_is_nobody_elses_luck() -> None:
    luck = [1.0, 1.3, 0.9, 1.1, 1.0, 1.2]
    base = {"a": 80.0, "b": 90.0, "c": 100.0, "d": 110.0}
    launches = {}
    for r, by in enumerate(luck):
        launches[r] = {n: t * by for n, t in base.items()}
        launches[r]["native"] = 100.0 * by * (2.0 if r == 2 else 1.0)
    launches[2]["once"] = 70.0 * luck[2]
    found = medians(bench_of(launches), 1)
    level = levelled(found, next(iter(found)))
    usual = median(level["native"].values())
    assert level["once"][2] / usual == pytest.approx(0.7)
    assert level["native"][2] / usual == pytest.approx(2.0, rel=0.25), "its own bad luck stays its"
    for name, us in base.items():
        assert all(t / usual == pytest.approx(us / 100) for t in level[name].values())


def test_launches_with_neither_baseline_are_put_side_by_side_by_the_reference() -> None:
    links, han = "native:btl_tcp_links=8", "native:coll_han_x=1"
    launches = {
        0: ({"native": 100.0}, 20.0),
        1: ({han: 60.0, links: 55.0, "native:B=1": 99.0}, 15.0),
        2: ({"native": 200.0}, 40.0),
        3: ({han: 120.0, links: 110.0, "native:B=1": 70.0}, 30.0),
        4: ({"native": 90.0}, 18.0),
        5: ({han: 70.0}, None),  # begun before there was a reference
    }
    bench = bench_of({k: times for k, (times, _) in launches.items()})
    for sample in bench.samples:
        sample.reference_us = launches[sample.launch][1]
    found = medians(bench, 2)
    ((shape, seen),) = found.items()
    assert seen["native"] == {0: 100.0, 1: 200.0, 2: 90.0}
    assert seen[han] == {0: pytest.approx(80.0), 1: pytest.approx(160.0), 2: 70.0}
    assert isinstance(found, Seen)
    assert found.together[shape] == {"native": {0, 1, 2}, "native:coll_han_x=1": {0, 1}}
    level = levelled(found, shape)
    both = [level[han][r] / level["native"][0] for r in (0, 1)]
    assert both == [pytest.approx(0.8), pytest.approx(0.8)]
    # A setting of the network changes messages, too: its gain would be divided out.
    assert level[links] == {0: 55.0, 1: 110.0}


@pytest.mark.parametrize("busy", [(2, 6), (0, 4), (1, 4), (7, 12), (10, 12), (6, 10), (0, 0)])
def test_busy_rounds_are_taken_out_of_launches_apart(busy: tuple[int, int]) -> None:
    beside = [5.0 if busy[0] <= r < busy[1] else 1.0 for r in range(12)]
    luck = [1.0, 1.1, 0.95, 1.2, 1.0, 1.3, 0.9, 1.05, 1.0, 1.15, 0.97, 1.0]
    found = medians(
        bench_of(
            {2 * r: {"native": 100.0 * luck[r] * beside[r]} for r in range(12)}
            | {2 * r + 1: {"native:coll_A=1": 90.0 * luck[-r] * beside[r]} for r in range(12)}
        ),
        2,
    )
    ((shape, _),) = found.items()
    level = levelled(found, shape)["native:coll_A=1"]
    assert max(level.values()) < 2 * min(level.values()), level  # and not five times


def test_the_regret_told_is_of_the_same_rounds() -> None:
    bench = bench_of(
        {2 * r: {"bare": 1000.0 if r < 8 else 25.0} for r in range(18)}
        | {2 * r + 1: {"native:coll_A=1": 30.0} for r in range(10, 18)}
    )
    assert regrets_of(bench, 2, {"allreduce": {1024: "native"}}) == {"allreduce": {1024: 0.0}}
    told = regrets_of(bench, 2, {"allreduce": {1024: "native:coll_A=1"}})
    assert told["allreduce"][1024] == pytest.approx(0.2)


def test_a_launch_that_did_not_end_well_says_nothing_of_the_pace(tmp_path: Path) -> None:
    request = sweeps.request_of(
        tmp_path, layouts=(Layout(1, 2),), collectives=("allreduce",), sizes=(8, 4096)
    )
    worker = worker_of(request, Fake(slow=2.0))
    assert worker.run()
    (site,) = worker.all()
    records = site.bench.records
    usual = pace([(site.plan, records)])
    assert 1.5 < usual < 2.5
    ends = (i for i, r in enumerate(records) if isinstance(r, LaunchEnd))
    first = next(ends)
    hung = dataclasses.replace(records[first], status="timeout", seconds=3600.0)
    spoilt = [*records[:first], hung, *records[first + 1 :]]
    assert pace([(site.plan, spoilt)]) == pytest.approx(usual, rel=0.2)

"""Simulating: results as measuring writes them, tables, determinism, what is refused."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from stretto.cli import main
from stretto.files.bench import read_bench
from stretto.files.table import TUNABLE, read_table
from stretto.model.native import BASELINES, native_choice
from stretto.model.platform_file import load
from stretto.model.sweep import Answer, SimulatedCell, messages_of, rows, seconds_of, simulate
from stretto.plan import canonical


def test_no_bytes_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "-p", "ib-hdr", "-c", "allreduce", "--nodes", "2", "--ppn", "1"]
    assert main([*words, "--bytes", "0"]) == 0
    assert "simulated" in capsys.readouterr().out


def simulated(out: Path, *more: str) -> int:
    return main(["simulate", "-p", "hpc7g", "-c", "allreduce,bcast", "--nodes", "2:4", "--ppn", "4",
                 "--bytes", "8,64K", "-o", str(out), *more])  # fmt: skip


def test_the_same_command_writes_the_same_bytes_marked_simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["stretto", "simulate"])
    files = []
    for name in ("a", "b"):
        out, plot = tmp_path / f"{name}.bench.jsonl", tmp_path / f"{name}.svg"
        assert simulated(out, "--plot", str(plot)) == 0
        files.append((out.read_bytes(), plot.read_bytes()))
    assert files[0] == files[1]
    bench = read_bench(tmp_path / "a.bench.jsonl")
    assert {s.source for s in bench.samples} == {"simulated"}
    assert bench.header.settings["platform"] == "hpc7g"
    assert {(x.nodes, x.ppn) for x in bench.launches} == {(2, 4), (4, 4)}
    assert {s.collective for s in bench.samples} == {"allreduce", "bcast"}
    assert b"source: simulated" in files[0][1]
    assert simulated(tmp_path / "a.bench.jsonl") == 2, "results are never overwritten"


def test_the_best_is_not_below_the_bound_and_larger_is_not_faster() -> None:
    cells = [SimulatedCell("allreduce", n, 8, 8) for n in (2, 8, 32)]
    answers = list(simulate(cells, load("hpc7g"), wide=False))
    for a in answers:
        assert a.bound is not None and a.seconds[a.best] >= a.bound
    best = [a.seconds[a.best] for a in answers]
    assert best == sorted(best)


def test_a_hierarchy_beats_flat_trees_between_slow_nodes() -> None:
    answer = next(simulate([SimulatedCell("allreduce", 16, 16, 8)], load("hpc7g"), wide=False))
    assert answer.best.startswith(("shm+", "lanes"))
    assert answer.seconds["native"] > 1.5 * answer.seconds[answer.best]


def test_table_simulate_writes_a_table_that_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new.table"
    argv = ["table", "simulate", "-p", "hpc7g", "--nodes", "2:4", "--ppn", "4", "--collective",
            "allreduce", "--bytes", "8,1M", "--out", str(path)]  # fmt: skip
    assert main(argv) == 0
    table = read_table(path)
    assert table.rows and all(r.simulated for r in table.rows)
    assert {(r.nodes, r.ppn) for r in table.rows} == {(2, 4), (4, 4)}
    assert read_bench(tmp_path / "new.bench.jsonl").samples
    assert main(argv) == 2, "a table that is there is not overwritten"
    capsys.readouterr()
    argv = ["simulate", "-p", "hpc7g", "--table", str(path), "--nodes", "4", "--ppn", "4",
            "--bytes", "8", "--json"]  # fmt: skip
    assert main(argv) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    row = table.find("allreduce", 4, 4, 8)
    assert row is not None and row.choice in cell["seconds"]


def test_rows_have_no_gaps() -> None:
    def answer(size: int, best: float) -> Answer:
        return Answer(
            SimulatedCell("bcast", 2, 2, size), {"native": 1.0, "knomial(4)": best}, "", None, ""
        )

    found = rows([answer(8, 0.5), answer(64, 0.99), answer(512, 0.5)])
    assert [(r.low, r.high, r.choice) for r in found] == [
        (0, 21, "knomial(4)"), (22, 180, "native"), (181, None, "knomial(4)")]  # fmt: skip


def test_one_row_where_the_choice_cannot_depend_on_the_size() -> None:
    def answer(nodes: int, size: int, **seconds: float) -> Answer:
        return Answer(
            SimulatedCell("alltoallv", nodes, 2, size), {"native": 1.0, **seconds}, "", None, ""
        )

    found = rows([answer(2, 8, pairwise=0.5, shm=0.2), answer(2, 4096, pairwise=0.9, shm=1.1),
                  answer(4, 8, pairwise=1.0), answer(4, 4096, pairwise=0.99)])  # fmt: skip
    assert [(r.nodes, r.low, r.high, r.choice) for r in found] == [
        (2, 0, None, "pairwise"), (4, 0, None, "native")]  # fmt: skip


@pytest.mark.parametrize("baseline", sorted(BASELINES))
def test_every_collective_with_algorithms_has_a_baseline(baseline: str) -> None:
    for collective in TUNABLE:
        for nranks, nodes in ((24, 3), (15, 3), (64, 8)):
            for size in (8, 4096, 1 << 20):
                found = native_choice(baseline, collective, nranks, nodes, size)
                assert canonical(collective, found)  # a choice of the registry


def test_what_would_take_minutes_is_recognised() -> None:
    assert messages_of(SimulatedCell("allreduce", 64, 64, 8), "ring") > 1e7
    assert messages_of(SimulatedCell("allreduce", 64, 64, 8), "recursive_doubling") < 1e5


@pytest.mark.parametrize(
    "options",
    [
        "-p hpc7g",
        "-p hpc7g -c allroundreduce",
        "-p hpc7g -c allreduce --nodes 1 --ppn 1",
        "-p hpc7g -c allreduce --candidates rings",
        "-p hpc7g -c allreduce --baseline magic",
        "-p none -c allreduce",
        "-p hpc6a -c allreduce --nodes 2,256 --ppn 96 --bytes 8 --candidates ring",
    ],
)
def test_bad_requests_are_explained(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *options.split()]) in (1, 2)
    said = capsys.readouterr().err
    assert "stretto: error:" in said
    assert ("messages, which would take about" in said) == ("2,256" in options)


def test_pricing_of_many_ranks_ends_when_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    join, evaluated = threading.Thread.join, []

    def interrupted(thread: threading.Thread, timeout: float | None = None) -> None:
        evaluated.append(thread)
        if len(evaluated) == 1:
            raise KeyboardInterrupt
        join(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        seconds_of(SimulatedCell("allreduce", 64, 16, 8), "ring", load("hpc6a"))
    assert evaluated[0] is evaluated[1] and not evaluated[0].is_alive()


def test_one_node_is_priced_too() -> None:
    answer = next(simulate([SimulatedCell("allreduce", 1, 4, 8)], load("this-machine"), wide=True))
    assert answer.best == "shm" and messages_of(answer.cell, "shm") == 0


def test_a_table_is_worth_what_it_chooses_not_what_would_be_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.table"
    table.write_text(
        "stretto-table 1\nmpi openmpi 4.1.4\nlayout nodes=8 ppn=4\n"
        'created 2026-11-21T20:00:00Z stretto 0.1.0 host x cpu "x"\n'
        "row allreduce 8 4 0-inf ring source=measured\nend 1\n"
    )
    words = ["simulate", "-p", "hpc7g", "--table", str(table), "--nodes", "8", "--ppn", "4"]
    assert main([*words, "--bytes", "8,64", "--json"]) == 0
    for cell in json.loads(capsys.readouterr().out)["cells"]:
        assert (cell["best"], cell["table"]) == ("native", "ring")
        assert cell["seconds"]["ring"] > cell["seconds"]["native"]
    assert main([*words, "--bytes", "8,64"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()[1:4]
    assert head.split()[5] == "table"
    for line in lines:
        assert " ring " in line and float(line.split("x")[-1].split()[0]) < 1, line


def test_what_table_simulate_leaves_can_be_reported_on(tmp_path: Path) -> None:
    """The table is for the MPI here, its results are of a model and of none."""
    words = ["table", "simulate", "-p", "hpc7g", "--nodes", "2", "--ppn", "2", "--bytes", "8,64"]
    out = tmp_path / "in" / "x.table"
    assert main([*words, "--collective", "allreduce", "--mpi", "openmpi", "--out", str(out)]) == 0
    page = tmp_path / "r.html"
    assert main(["report", str(out.parent), "-o", str(page), "-q"]) == 0
    assert "source: simulated" in page.read_text()

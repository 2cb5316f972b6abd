"""``stretto export --time``: launches really have the files, and what they show is called by name.

A stand-in for the measuring program is started by the real launchers: it writes down the
environment of each rank, and its times are told to it by whether the export's files are in force.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import told
from exports import mpir, preset, result_file, tuned
from mpis import alone_here, installation
from stretto.cli import main
from stretto.export import intel, mpich, openmpi
from stretto.export.check import read
from stretto.export.gain import TimingPlace, plan
from stretto.export.output import Export, write
from stretto.export.rules import Rule
from stretto.files.bench import read_bench
from stretto.files.export import EXPORT, NAME, ExportPoint
from stretto.files.layout import RankLayout
from stretto.mpi.base import MPIInstallation

pytestmark = pytest.mark.mpi
TWO, FOUR_NODES = RankLayout(1, 2, 2), RankLayout(4, 2, 8)

#: by MPI: the target, and rows of which one begins behind the smallest sizes
TARGETS = {"openmpi4": "openmpi-4", "openmpi5": "openmpi-5", "mpich": "mpich", "intel": "intel"}
POINTS = (
    ExportPoint(1024, "MPI_DOUBLE", "MPI_SUM", 0, 0.5),
    ExportPoint(4096, "MPI_DOUBLE", "MPI_SUM", 0, 0.6),
)
ROWS = [
    Rule("allreduce", TWO, 0, 1023, ()),
    Rule("allreduce", TWO, 1024, None, tuned("allreduce", 1), points=POINTS),
]


def rows_for(name: str, mpi: MPIInstallation) -> Export:
    """An export with rows for allreduce, and with Intel MPI's, which hold for all sizes."""
    if name == "mpich":
        rule = Rule("allreduce", TWO, 1024, None, mpir("allreduce", "tree"), points=POINTS)
        return mpich.trees([ROWS[0], rule], mpi)
    if name == "intel":
        return intel.adjust(
            [Rule("allreduce", TWO, 0, None, preset("allreduce", 1), points=POINTS)]
        )
    return openmpi.classic(ROWS, name[-1])


class Timed:
    """An export whose times are told."""

    def __init__(self, out: Path, mpi: MPIInstallation, lib: Path) -> None:
        self.out, self.mpi, self.lib = out, mpi, lib
        self.variables = read(out)[1]
        self.tell({})

    def tell(self, times: Mapping[str, list[float | None]], **more: object) -> None:
        """Say what calls take, without the files and with them."""
        told.tell(self.lib, self.variables, times, **more)

    def run(self, *words: str) -> int:
        mpi = str(self.mpi.launcher)
        # no lock: nobody polls in these launches
        return main(["export", "--time", "--out", str(self.out), "--mpi", mpi, *words])

    def seen(self) -> dict[int, list[dict[str, str]]]:
        """Environments of the ranks, by launch."""
        return told.seen(self.lib)


def timed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Timed:
    mpi = installation(name, monkeypatch)
    lib = tmp_path / "lib"
    told.stand_in(lib, mpi.abi)
    out = tmp_path / "out"
    write(rows_for(name, mpi), out, "test", TARGETS[name], mpi.identity)
    monkeypatch.setenv("STRETTO_LIB_DIR", str(lib))
    return Timed(out, mpi, lib)


@pytest.fixture
def four(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Timed:
    """With Open MPI 4.1."""
    return timed("openmpi4", tmp_path, monkeypatch)


def answer(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["time"]
    return found


@pytest.mark.parametrize("name", TARGETS)
def test_launches_have_the_files_or_nothing_of_them(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On every rank; whatever the shell has, which may have sourced the export itself."""
    export = timed(name, tmp_path, monkeypatch)
    export.tell({"allreduce 1024": [50, 25], "allreduce 4096": [80, 48]})
    for variable, value in export.variables.items():
        monkeypatch.setenv(variable, value)
    assert export.run("--launches", "6", "--json") == 0
    results = read_bench(export.out / "gain-1x2.bench.jsonl")
    variants = {r.launch: r.variant for r in results.launches}
    assert sorted(variants.values()) == ["bare"] * 6 + ["native:files"] * 6
    seen = export.seen()
    assert export.variables and set(seen) == set(variants)
    for launch, ranks in seen.items():
        assert len(ranks) == 2
        for environment in ranks:
            mine = {n: v for n, v in environment.items() if n in export.variables}
            assert mine == (export.variables if variants[launch] == "native:files" else {})
            assert "libstretto" not in environment.get("LD_PRELOAD", "")
    found = answer(capsys)
    assert [r["status"] for r in found["rows"]] == ["faster"], found
    calls = found["rows"][0]["calls"]
    assert [c["bytes"] for c in calls] == [1024, 4096]
    assert [c["comparison"]["ratio"] for c in calls] == [
        pytest.approx(0.5, 0.02),
        pytest.approx(0.6, 0.02),
    ]
    assert found["gain"]["calls"] == 2
    assert found["gain"]["promised"] == pytest.approx((0.5 * 0.6) ** 0.5)
    assert found["gain"]["ratio"] == pytest.approx(found["gain"]["promised"], 0.02)
    assert found["beside"] and not any(c["failed"] for c in found["beside"])
    assert {c["comparison"]["outcome"] for c in found["beside"]} == {"same"}


def test_a_row_that_is_slower_is_named(
    four: Timed, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    four.tell({"allreduce 1024": [50, 30], "allreduce 4096": [50, 90]})
    assert four.run() == 1
    said = capsys.readouterr()
    assert "allreduce of 4 KiB on 2 ranks: 80 % slower" in said.err
    assert (
        f"try: write the export again: stretto export --to openmpi-4 --out {four.out} " in said.err
    )
    assert "--without allreduce RESULTS" in said.err
    assert "slower             allreduce on 2 ranks, 1024 bytes and more: " in said.out
    assert ", none slower" in said.out
    # the remedy is one
    results = result_file(
        tmp_path / "r.bench.jsonl",
        {("allreduce", 4096): {"bare": 50.0, "native:coll_tuned_allreduce_algorithm=1": 30.0}},
        TWO,
        four.mpi.identity,
    )
    words = ["export", "--to", "openmpi-4", "--out", str(four.out), str(results)]
    assert main([*words, "--without", "allreduce"]) == 0
    assert EXPORT.read(four.out / NAME).rows == []
    assert main([*words, "--without", "allreduced"]) == 2
    assert main(words) == 0
    (row,) = EXPORT.read(four.out / NAME).rows
    assert [(p.bytes, p.datatype) for p in row.measured] == [(4096, "MPI_BYTE")]
    assert row.measured[0].ratio == pytest.approx(0.6)


def test_a_call_beside_the_rows_that_is_slower_is_named(
    four: Timed, capsys: pytest.CaptureFixture[str]
) -> None:
    """An algorithm that is built of a collective with a row obeys that row."""
    four.tell({"reduce": [20, 40], "allreduce": [50, 30]})
    assert four.run() == 1
    said = capsys.readouterr()
    assert "reduce of 1 KiB on 2 ranks, which has no row: 100 % slower" in said.err
    assert "2 SLOWER with the files" in said.out
    assert "rows: 1 faster" in said.out


def test_a_row_with_which_launches_end_is_named(
    four: Timed, capsys: pytest.CaptureFixture[str]
) -> None:
    four.tell({"allreduce 4096": [50, None]})
    assert four.run("--launches", "6") == 1
    said = capsys.readouterr()
    assert "allreduce of 4 KiB on 2 ranks: with the files it failed" in said.err
    assert "failed             allreduce on 2 ranks" in said.out


def test_times_of_other_files_are_refused(four: Timed, capsys: pytest.CaptureFixture[str]) -> None:
    """Written again into the same place, with the same variables."""
    assert four.run("--launches", "1") == 0
    export = openmpi.classic([Rule("allreduce", TWO, 0, None, tuned("allreduce", 2))], "4")
    write(export, four.out, "test", "openmpi-4", four.mpi.identity)
    capsys.readouterr()
    assert four.run("--launches", "1") == 1
    said = capsys.readouterr().err
    assert "times are for older files" in said and "gain-1x2.bench.jsonl" in said
    assert "--restart" in said
    assert four.run("--launches", "1", "--restart") == 0
    assert (four.out / "gain-1x2.bench.jsonl.old").exists()


def test_what_it_takes_is_said_first(four: Timed, capsys: pytest.CaptureFixture[str]) -> None:
    assert four.run("--dry-run", "--json") == 0
    said = capsys.readouterr()
    assert "16 starts" in said.err and "cost: about" in said.err
    found = json.loads(said.out)["time"]
    assert found["dry_run"] and found["starts"] == 16 and found["cost_s"] > 0
    assert not four.seen() and not list(four.out.glob("gain*"))
    assert main(["export", "--out", str(four.out), "--dry-run"]) == 2
    assert "--time alone" in capsys.readouterr().err


def test_rows_that_cannot_be_timed_here(
    four: Timed, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nodes that are not there, and more ranks than this machine is to have."""
    far = Rule("allreduce", FOUR_NODES, 1024, None, tuned("allreduce", 3))
    many = Rule("bcast", RankLayout(1, 64, 64), 1024, None, tuned("bcast", 1))
    write(openmpi.classic([*ROWS, far, many], "4"), four.out, "t", "openmpi-4", four.mpi.identity)
    assert four.run("--json", "--launches", "1") == 0
    said = capsys.readouterr()
    rows = {r["words"].split(",")[0]: r for r in json.loads(said.out)["time"]["rows"]}
    assert "4 nodes: --hosts A,B" in rows["allreduce on 8 ranks (4 x 2)"]["why"]
    assert "--most-ranks 64" in rows["bcast on 64 ranks"]["why"]
    assert [r["status"] for r in rows.values()].count("not timed") == 2
    assert "note: not timed: 8 ranks on 4 x 2 need 4 nodes" in said.err
    four.out = tmp_path / "far"
    write(openmpi.classic([far], "4"), four.out, "test", "openmpi-4", four.mpi.identity)
    assert four.run() == 2
    said = capsys.readouterr()
    assert "no row can be timed here" in said.err and "at: --hosts" in said.err
    write(openmpi.classic([many], "4"), four.out, "test", "openmpi-4", four.mpi.identity)
    assert four.run("--hosts", "") == 2
    assert "at: --most-ranks" in capsys.readouterr().err


def test_a_layout_is_timed_on_as_many_nodes_as_it_has(four: Timed) -> None:
    """A launcher that gets more spreads the ranks over all of them."""
    far = Rule("allreduce", FOUR_NODES, 1024, None, tuned("allreduce", 3))
    write(openmpi.classic([*ROWS, far], "4"), four.out, "t", "openmpi-4", four.mpi.identity)
    place = TimingPlace(four.mpi, ("a", "b", "c", "d", "e"), 4, 6, four.out)
    found = {t.layout: t.settings.hosts for t in plan(four.out, place).timings}
    assert found == {TWO: ("a",), FOUR_NODES: ("a", "b", "c", "d")}


def test_bad_input_is_named(
    four: Timed, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """No export, spoilt files, another MPI, a place for results that is none."""
    assert main(["export", "--time", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert NAME in said and "stretto export --to" in said
    (tmp_path / "file").write_text("")
    assert four.run("--times", str(tmp_path / "file")) == 2
    assert "--times" in capsys.readouterr().err
    assert four.run("--mpi", "/nowhere") != 0
    assert "/nowhere" in capsys.readouterr().err
    manifest = EXPORT.read(four.out / NAME)
    manifest.mpi = replace(manifest.mpi, version="4.0.7")
    EXPORT.write(manifest, four.out / NAME)
    assert four.run("--launches", "1") == 0
    assert "measured with 4.0.7, timed with 4.1.4" in capsys.readouterr().err
    rules = next(p for p in four.out.glob("*.rules"))
    rules.write_text(rules.read_text().replace("\n1024 1 0 0\n", "\n1024 2 0 0\n"))
    assert four.run("--launches", "1") == 1
    said = capsys.readouterr().err
    assert "these files are not timed" in said and f"at: {rules}" in said


def test_the_program_itself_times_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Real launches with real files; what is faster is of no importance."""
    mpi = installation("openmpi4", monkeypatch)
    point = ExportPoint(0, "MPI_BYTE", "", 0, 0.5)
    rows = [Rule("barrier", TWO, 0, None, tuned("barrier", 2), points=(point,))]
    write(openmpi.classic(rows, "4"), tmp_path, "test", "openmpi-4", mpi.identity)
    with alone_here():
        words = ["--out", str(tmp_path), "--mpi", str(mpi.launcher), "--launches", "1"]
        assert main(["export", "--time", *words, "--json"]) == 0
    (row,) = answer(capsys)["rows"]
    (call,) = row["calls"]
    assert call["without_us"] > 0 and call["with_us"] > 0 and row["status"] == "inconclusive"
    samples = read_bench(tmp_path / "gain-1x2.bench.jsonl").samples
    assert {s.candidate for s in samples} == {"bare", "native:files"}
    assert all(s.reference_us for s in samples)
    # nobody takes the files for an algorithm
    results = str(tmp_path / "gain-1x2.bench.jsonl")
    assert main(["export", "--to", "openmpi-4", "--out", str(tmp_path / "again"), results]) == 0
    assert EXPORT.read(tmp_path / "again" / NAME).rows == []

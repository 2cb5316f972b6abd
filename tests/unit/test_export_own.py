"""Stretto's own table as an export: a campaign's, where there is one, or decided from results."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import sweeps
from exports import FIVE, FOUR, result_file
from stretto.campaign.conclude import conclude
from stretto.campaign.layout import Layout
from stretto.cli import main
from stretto.files.rows import Row, Table
from stretto.files.table import read_table, write_table
from stretto.tune.table import decide_from
from sweeps import Fake, worker_of

Out = pytest.CaptureFixture[str]
OWN = ["export", "--to", "stretto", "--out"]
NAME = "openmpi-4.1.4"
TIMES = {("allgather", 8): {"native": 9.0, "bare": 9.0, "ring": 3.0}}
SIMULATED = Row(
    "allgather", 1, 8, 0, None, "ring", {"ratio": "0.5", "source": "simulated", "sizes": "8"}
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign on 1 x 2 and 1 x 4, interpolated between them, and simulated beyond."""
    base = tmp_path_factory.mktemp("own") / "ci"
    simulated = base.parent / "s.table"
    head = ("openmpi", "4.1.4", None, None, "2026-01-01T00:00:00Z", "0", "h", "c")
    write_table(Table(*head, [SIMULATED]), simulated)  # type: ignore[arg-type]
    request = sweeps.request_of(
        base, collectives=("allgather",), sizes=(8, 1000, 262144), refine=simulated,
        layouts=(Layout(1, 2), Layout(1, 4)), interpolate=(Layout(1, 3),),
    )  # fmt: skip
    worker = worker_of(request, Fake(), base=base / NAME / "a")
    assert worker.run()
    outcome = conclude(request, worker, lambda text: None, True)
    assert outcome.table == base / f"{NAME}.table"
    return base


@pytest.fixture
def campaign(made: Path, tmp_path: Path) -> Path:
    """A copy of it, as `cp -r` makes one: with new times, the table first."""
    base = tmp_path / "ci"
    (base / NAME / "a").mkdir(parents=True)
    for path in [made / f"{NAME}.table", *(made / NAME / "a").glob("*.bench.jsonl")]:
        (base / path.relative_to(made)).write_bytes(path.read_bytes())
    (base / "campaign.json").write_text("{}")
    return base


def results(base: Path) -> list[Path]:
    return sorted((base / NAME / "a").glob("*.bench.jsonl"))


def test_a_campaigns_own_table_is_what_is_exported(campaign: Path, capsys: Out) -> None:
    """It was decided anew, and without a word lacked what was interpolated, say."""
    out, table = campaign.parent / "out", campaign / f"{NAME}.table"
    own = read_table(table)
    assert {"interpolated", "simulated"} < {r.evidence.get("source") for r in own.rows}
    for sources in ([campaign], [campaign / NAME], results(campaign)):
        assert main([*OWN, str(out), *map(str, sources)]) == 0
        said = capsys.readouterr()
        assert f"the table of the campaign is used, {table} (" in said.err
        assert "3 interpolated" in said.err and "1 simulated rows" in said.err
        assert "7 rows in" in said.out and "next: stretto run --table" in said.out
        assert read_table(out / "stretto.table") == own
    assert "3 rows with a native algorithm: `stretto run` leaves" in said.err
    assert main([*OWN, str(out), str(campaign), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["campaign_table"] == str(table)


def test_of_a_campaigns_table_those_rows_are_taken_that_are_wanted(
    campaign: Path, capsys: Out
) -> None:
    out = campaign.parent / "out"
    own = read_table(campaign / f"{NAME}.table").rows

    def rows(*words: str) -> list[Row]:
        assert main([*OWN, str(out), *words]) == 0
        return read_table(out / "stretto.table").rows

    one, *_ = results(campaign)
    assert rows(str(one)) == [r for r in own if r.ppn == 2]
    assert "left out: rows of layouts whose results were not given" in capsys.readouterr().err
    assert rows(str(campaign), "--ppn", "3") == [r for r in own if r.ppn == 3]
    assert "left out, by --nodes, --ppn or --without" in capsys.readouterr().err
    assert rows(str(campaign), "--without", "allgather") == []
    said = capsys.readouterr()
    assert "7 rows with a choice were left out" in said.err and "significantly" not in said.err
    assert main([*OWN, str(out), str(campaign), "--ppn", "7"]) == 2
    assert "name a layout that has some: 1 x 2, 1 x 3, 1 x 4, 1 x 8" in capsys.readouterr().err


def remove(table: Path) -> None:
    table.unlink()


def age(table: Path) -> None:
    os.utime(table, (1e9, 1e9))


@pytest.mark.parametrize(
    ("change", "why"),
    [(remove, f"there is no {{0}}/{NAME}.table: "), (age, f"{{0}}/{NAME}.table is older than 1x2")],
)
def test_where_the_campaigns_table_does_not_count_it_is_said_what_is_lost(
    campaign: Path, capsys: Out, change: Callable[[Path], None], why: str
) -> None:
    out = campaign.parent / "out"
    change(campaign / f"{NAME}.table")
    assert main([*OWN, str(out), str(campaign)]) == 0
    said = capsys.readouterr().err
    assert why.format(campaign) in said and "table of the campaign is used" not in said
    assert "rows from the fit over layouts, interpolated and simulated rows are missing" in said
    assert {r.ppn for r in read_table(out / "stretto.table").rows} == {2, 4}


def test_a_campaigns_table_that_is_damaged_is_refused(campaign: Path, capsys: Out) -> None:
    table, out = campaign / f"{NAME}.table", campaign.parent / "out"
    table.write_text(table.read_text().rpartition("end")[0])
    assert main([*OWN, str(out), str(campaign)]) == 1
    assert "the table is truncated" in capsys.readouterr().err and not out.exists()


def test_results_of_several_places_are_not_a_campaigns(campaign: Path, capsys: Out) -> None:
    more = result_file(
        campaign.parent / "1x5.bench.jsonl", TIMES, mpi=sweeps.MPI, cpu=sweeps.HOST.cpu
    )
    assert main([*OWN, str(campaign.parent / "out"), str(campaign), str(more)]) == 0
    said = capsys.readouterr().err
    assert "the results are from several campaigns" in said and "interpolated and simulated" in said


def test_results_that_lie_beside_their_table_are_no_campaigns(tmp_path: Path, capsys: Out) -> None:
    """`tune` keeps them like this: DIR/MPI/CPU/LAYOUT."""
    place = tmp_path / "openmpi-5.0.11" / "one"
    place.mkdir(parents=True)
    path = result_file(place / "1x5.bench.jsonl", TIMES)
    assert main([*OWN, str(tmp_path / "out"), str(path)]) == 0
    said = capsys.readouterr()
    assert "campaign" not in said.err and "1 row in" in said.out


def test_a_directory_is_for_one_target(tmp_path: Path, capsys: Out) -> None:
    path = str(result_file(tmp_path / "r.bench.jsonl", TIMES))
    targets = ("stretto", "openmpi-5")
    for first, second in (targets, targets[::-1]):
        out = tmp_path / first
        assert main(["export", "--to", first, "--out", str(out), path]) == 0
        before = {p.name: p.read_bytes() for p in out.iterdir()}
        capsys.readouterr()
        assert main(["export", "--to", second, "--out", str(out), path]) == 2
        said = capsys.readouterr().err
        assert f"{out} holds an export for {first}" in said and f"--out {out}-{second}" in said
        assert {p.name: p.read_bytes() for p in out.iterdir()} == before
        assert main(["export", "--to", first, "--out", str(out), path]) == 0


def test_a_table_that_chooses_nothing_is_not_to_be_applied(tmp_path: Path, capsys: Out) -> None:
    times = {("allgather", 8): {"native": 9.0, "bare": 9.0, "ring": 9.1}}
    for launches, words in (
        (8, "no algorithm of Stretto was significantly faster than native"),
        (
            5,
            "at most 5 launches, too few for a test (at least 6): no algorithm can count as faster",
        ),
    ):
        path = result_file(tmp_path / f"{launches}.bench.jsonl", times, launches=launches)
        out = tmp_path / "out"
        assert main([*OWN, str(out), str(path)]) == 0
        said = capsys.readouterr()
        assert said.out == f"0 rows in {out / 'stretto.table'}\n"
        assert words in said.err and ("significantly" in said.err) == (launches == 8)


@pytest.mark.parametrize("option", ["--keep-order", "--plain-calls", "--beyond-measured"])
def test_what_natives_need_is_refused(tmp_path: Path, capsys: Out, option: str) -> None:
    """It was taken without a word, and did nothing."""
    path = result_file(tmp_path / "r.bench.jsonl", {("allgather", 8): {"native": 9.0, "ring": 3.0}})
    assert main([*OWN, str(tmp_path / "o"), option, str(path)]) == 2
    assert f"{option} is of native tuning files" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "o").exists()


def test_a_table_where_results_belong_is_told(tmp_path: Path, capsys: Out) -> None:
    """It was "not valid JSON ... the file is damaged or of another kind; make it again"."""
    _, table = decide_from([result_file(tmp_path / "r.bench.jsonl", TIMES)], None)
    for words in ([*OWN, str(tmp_path / "o")], ["compare"], ["table", "decide"]):
        assert main([*words, str(table)]) == 1
        said = capsys.readouterr().err
        assert (
            "this is a table; bench results" in said
            and f"at: {table}" in said
            and "JSON" not in said
        )
        assert "the .bench.jsonl beside it" in said


@pytest.mark.parametrize("layouts", [1, 2])
def test_simulated_results_have_their_table_already(
    tmp_path: Path, capsys: Out, layouts: int
) -> None:
    """It was "measure each layout into a separate file", and an empty table where it is one."""
    times = {("allgather", 8): {"native": 9.0, "ring": 3.0}}
    path, other = (
        result_file(tmp_path / f"{x.ppn}.bench.jsonl", times, x, source="simulated", launches=n)
        for x, n in ((FIVE, 1 if layouts == 1 else 8), (FOUR, 8))
    )
    if layouts == 2:
        later = [json.loads(line) for line in other.read_text().splitlines()[1:]]
        lines = [json.dumps({**r, "launch": r["launch"] + 8}) for r in later]
        path.write_text(path.read_text() + "\n".join(lines) + "\n")
    words = [*OWN, str(tmp_path / "o"), str(path)]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert "these results are simulated, but a table" in said and "table simulate" in said
    table = path.with_name("5.table")
    table.write_text("")
    assert main(words) == 1
    said = capsys.readouterr().err
    assert f"table simulate: stretto run --table {table}" in said

"""Legal calls that ranks describe differently: which of Open MPI's rows they get through."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from exports import FIVE, FOUR, result_file, tuned
from mpis import MPIS, REPOSITORY, Mpi, rarely
from stretto.cli import main
from stretto.export import openmpi, openmpi_json, plain
from stretto.export.check import read
from stretto.export.output import write
from stretto.export.rules import Rule
from stretto.files.export import EXPORT, NAME
from stretto.files.identity import MPIIdentity
from stretto.files.layout import RankLayout
from stretto.mpi import from_launcher
from stretto.mpi.algorithms import discover

#: of what the native decision gets through at this count (not at all of them: an allgatherv with
#: another type on each rank hangs where its own decision changes with the size, too); what fails
#: first of each collective stands first
CALLS = (
    "bcast", "bcast_spread", "gather", "gather_spread", "gather_in_place", "scatter",
    "scatter_spread", "scatter_in_place", "allgather", "allgather_spread", "allgather_in_place",
    "allgatherv", "allgatherv_ragged", "allgatherv_in_place", "alltoall", "alltoall_in_place",
    "reduce_in_place", "allreduce_in_place",
)  # fmt: skip
COUNT = 1000
MPI4 = MPIIdentity("openmpi", "openmpi", "4.1.4", "Open MPI v4.1.4")
DYNAMIC = "coll_tuned_use_dynamic_rules=1"


def candidate(collective: str, number: int, **more: int) -> str:
    pairs = [f"{n}={v}" for n, v in tuned(collective, number, **more)]
    return "native:" + ",".join([*pairs, DYNAMIC])


def results(path: Path) -> Path:
    """Where algorithms that cut a message, and others by size, are the fastest."""
    wide, by_size = (4, 1024, 65536), (1024, 65536)
    times: dict[tuple[str, int], Mapping[str, float]] = {}
    for size in wide:
        times["bcast", size] = {
            "bare": 10.0, candidate("bcast", 8): 4.0, candidate("bcast", 3, segmentsize=1024): 5.0,
            candidate("bcast", 6): 8.0,
        }  # fmt: skip
        for c, number in (("allgather", 4), ("allgatherv", 3), ("alltoall", 2)):
            times[c, size] = {"bare": 10.0, candidate(c, number): 5.0 if size in by_size else 20.0}
        times["allgather", size] |= {candidate("allgather", 7): 7.0}
    for size in (4, 64, 1024, 16384, 1 << 18, 1 << 19):  # one row for all sizes needs them
        times["gather", size] = {"bare": 10.0, candidate("gather", 3, segmentsize=1024): 5.0}
    return result_file(path, times, FOUR, MPI4)


def exported(tmp_path: Path, *words: str, target: str = "openmpi-4") -> Path:
    out = tmp_path / f"out{len(words)}"
    path = results(tmp_path / f"r{len(words)}.bench.jsonl")
    assert main(["export", "--to", target, "--out", str(out), "--json", *words, str(path)]) == 0
    return out


@pytest.mark.parametrize("target", ["openmpi-4", "openmpi-5", "openmpi-6"])
def test_rows_that_hang_in_legal_calls_are_for_those_who_say_so(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = exported(tmp_path, target=target)
    lost = " ".join(json.loads(capsys.readouterr().out)["lost"])
    found = EXPORT.read(out / NAME).rows
    assert {r.collective for r in found} == {"bcast", "alltoall"}
    of_bcast = [r.settings for r in found if r.collective == "bcast"]
    assert all(["coll_tuned_bcast_algorithm", "6"] in settings for settings in of_bcast)
    assert "bcast_algorithm=8,coll_tuned_use_dynamic_rules=1 is not for these files" in lost
    assert "ranks give the same data by other counts and types" in lost
    assert "allgather on 4 ranks on 1 x 4: in legal calls ranks differ in the size" in lost
    assert "allgatherv on 4 ranks on 1 x 4: in legal" in lost and "--plain-calls writes" in lost
    out = exported(tmp_path, "--plain-calls", target=target)
    lost = " ".join(json.loads(capsys.readouterr().out)["lost"])
    rows = [(r.collective, r.low) for r in EXPORT.read(out / NAME).rows]
    assert {c for c, _ in rows} == {"bcast", "gather", "allgather", "allgatherv", "alltoall"}
    assert ("allgather", 1024) in rows and ("allgatherv", 1024) in rows
    assert "bcast: scatter_allgather: hangs, ends the job or gives wrong data" in lost
    assert "gather: linear_sync with segments: hangs" in lost
    assert "allgather: rows by size: each rank looks up its own" in lost


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "2 faster choices were withheld (2 without --plain-calls: see the notes); nothing "
         "else that these files have words for was significantly faster"),
        (["--plain-calls"], None),
        (["--plain-calls", "--without", "bcast"],
         "1 faster choice was withheld (1 with --without: see the notes); nothing else was"),
        (["--keep-order", "--plain-calls"], None),
    ],
)  # fmt: skip
def test_what_a_switch_withholds_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], expected: str | None
) -> None:
    """It was "nothing was significantly faster than what the MPI does by itself"."""
    times = {("bcast", n): {"bare": 10.0, candidate("bcast", 8): 4.0} for n in (1024, 2048)}
    path = result_file(tmp_path / "r.bench.jsonl", times, FOUR, MPI4)
    out = str(tmp_path / "out")
    assert main(["export", "--to", "openmpi-4", "--out", out, *words, str(path)]) == 0
    said = capsys.readouterr().err
    assert expected in said if expected else "significantly" not in said


def test_what_reaches_too_far_or_loses_the_order_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = {
        ("gather", 1024): {"bare": 10.0, candidate("gather", 2): 4.0},
        ("allreduce", 1024): {"bare": 10.0, candidate("allreduce", 4): 4.0},
    }
    path = result_file(tmp_path / "r.bench.jsonl", times, FOUR, MPI4)
    words = ["export", "--to", "openmpi-4", "--out", str(tmp_path / "out"), "--keep-order"]
    assert main([*words, str(path)]) == 0
    said = capsys.readouterr().err
    assert "2 faster choices were withheld" in said
    assert "1 without --beyond-measured" in said and "1 with --keep-order" in said


@pytest.mark.parametrize(
    ("collective", "number", "name"),
    [("bcast", 9, "scatter_allgather_ring"), ("allgather", 7, "sparbit")],
)
def test_check_warns_of_such_rows(
    collective: str,
    number: int,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exports of before have them without a word, and each row takes effect."""
    export = openmpi.classic([Rule(collective, FOUR, 0, None, tuned(collective, number))], "5")
    export.lost = []
    write(export, tmp_path, "test", "openmpi-5", MPI4)
    monkeypatch.setattr("stretto.cli.export._installed", lambda *_: None)
    assert main(["export", "--check", "--out", str(tmp_path)]) == 0
    assert f"warning: {collective}: {name}: hangs" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["openmpi-4", "openmpi-5", "openmpi-6"])
def test_a_type_that_is_none_is_named(target: str) -> None:
    """It is looked at with any row of these collectives, and the job ends."""

    def said(rules: list[Rule]) -> list[str]:
        six = target == "openmpi-6"
        export = openmpi_json.json_rules(rules) if six else openmpi.classic(rules, target[-1])
        return [x for x in export.lost if "segmentation fault" in x]

    rows = [Rule(c, FOUR, 0, None, tuned(c, 2)) for c in ("bcast", "scatter", "reduce", "alltoall")]
    (words,) = said(rows)
    assert words.startswith("scatter and alltoall: a program that gives 0 or NULL for the type")
    assert words.endswith("--without scatter,alltoall leaves these rows out")
    assert not said([rows[0], rows[2]])
    across, priority = RankLayout(2, 2, 4), ("coll_han_priority", "100")
    of_han = Rule("scatter", across, 0, None, (("coll_han_use_scatter_algorithm", "2"), priority))
    assert not plain.warnings([of_han]), "HAN's rows are not coll/tuned's"


@pytest.fixture(scope="module", params=["openmpi4", "openmpi5"])
def described(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Mpi, Path]:
    mpi = MPIS[request.param].require()
    program = tmp_path_factory.mktemp(mpi.name) / "described"
    return mpi, mpi.compile(REPOSITORY / "tests/c/export/described.c", program, "-O2")


def through(
    described: tuple[Mpi, Path],
    variables: Mapping[str, str],
    *calls: str,
    seconds: int = 20,
    ranks: int = 4,
) -> set[str]:
    """The calls that end, and right."""
    mpi, program = described
    words = [str(program), str(seconds), str(COUNT), *calls]
    done = mpi.run(ranks, words, rank_env=variables)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {w[0] for w in lines if len(w) == 3 and w[2] == "right"}


@pytest.mark.mpi
def test_legal_calls_get_through_an_export(
    described: tuple[Mpi, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the rows that were the fastest they hung, or ended the job."""
    assert through(described, {}, *CALLS) == set(CALLS), "the MPI by itself"
    out = exported(tmp_path, target=f"openmpi-{described[0].name[-1]}")
    assert through(described, read(out)[1], *CALLS) == set(CALLS)


@pytest.mark.mpi
def test_a_type_that_is_none_ends_the_job(described: tuple[Mpi, Path], tmp_path: Path) -> None:
    """On communicators that have no row, too; without the files it gets through."""
    names = {f"{c}_nothing" for c in plain.UNREAD}
    assert through(described, {}, *names) == names
    mpi = described[0]
    identity = from_launcher(Path(mpi.launcher(1)[0]), mpi.environment).identity
    for collective in plain.UNREAD:
        rule = Rule(collective, FIVE, 0, None, tuned(collective, 2))
        export = openmpi.classic([rule], mpi.name[-1])
        write(export, tmp_path / collective, "test", f"openmpi-{mpi.name[-1]}", identity)
        variables = read(tmp_path / collective)[1]
        assert not through(described, variables, f"{collective}_nothing"), collective


@pytest.mark.mpi
def test_one_row_for_all_sizes_is_harmless(described: tuple[Mpi, Path], tmp_path: Path) -> None:
    """Of allgather and allgatherv; with rows by size these calls hang."""
    mpi = described[0]
    identity = from_launcher(Path(mpi.launcher(1)[0]), mpi.environment).identity
    target = f"openmpi-{mpi.name[-1]}"
    for collective, number in (("allgather", 4), ("allgatherv", 3)):
        export = openmpi.classic([Rule(collective, FOUR, 0, None, tuned(collective, number))], "4")
        assert not [x for x in export.lost if "rows by size" in x]
        write(export, tmp_path / collective, "test", target, identity)
        mine = {c for c in CALLS if c.partition("_")[0] == collective}
        assert through(described, read(tmp_path / collective)[1], *mine) == mine
    for call, at in (
        ("allgather_in_place", 1024),
        ("allgatherv_in_place", 1024),
        ("allgatherv", 8192),
    ):
        collective = call.partition("_")[0]
        rules = [
            Rule(collective, FOUR, 0, at - 1, tuned(collective, 2)),
            Rule(
                collective, FOUR, at, None, tuned(collective, 4 if collective == "allgather" else 3)
            ),
        ]
        export = openmpi.classic(rules, "4")
        assert [x for x in export.lost if "rows by size" in x]
        write(export, tmp_path / call, "test", target, identity)
        assert not through(described, read(tmp_path / call)[1], call, seconds=3), call


@pytest.mark.mpi
@pytest.mark.parametrize(
    "collective",
    rarely(["bcast", "gather", "scatter", "allgather", "allgatherv", "alltoall"], ["allgather"]),
)
def test_who_fails_where_ranks_describe_a_call_differently(
    collective: str, described: tuple[Mpi, Path]
) -> None:
    """Those of the table, and no others."""
    mpi = described[0]
    mine = [c for c in CALLS if c.partition("_")[0] == collective]
    setting = f"coll_tuned_{collective}_algorithm"
    found = {
        int(a.settings[0][1]): a.name
        for a in discover(from_launcher(Path(mpi.launcher(1)[0]), mpi.environment))
        if a.settings[0][0] == setting
    }
    assert len(found) >= 3
    for number, word in found.items():
        for segment in (0, 1024) if collective in ("bcast", "gather", "scatter") else (0,):
            settings = tuned(collective, number, **({"segmentsize": segment} if segment else {}))
            variables = {f"OMPI_MCA_{n}": v for n, v in settings}
            variables["OMPI_MCA_coll_tuned_use_dynamic_rules"] = "1"
            name = plain.cuts(Rule(collective, FOUR, 0, None, settings))
            ranks = 2 if word.startswith("two_proc") else 4
            got = through(described, variables, *mine, seconds=3 if name else 20, ranks=ranks)
            assert got == (set() if name else set(mine)), (settings, name)

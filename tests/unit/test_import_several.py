"""Results of several MPIs, and places that fit no pattern: what is said of which files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stretto.cli import main
from stretto.errors import StrettoError, UsageError
from stretto.files.bench import read_bench
from stretto.imports.mpis import identity_of
from stretto.imports.natives import Naming
from stretto.imports.pattern import compile_pattern, misfit
from stretto.imports.templates import chosen, templates
from stretto.mpi.algorithms import NativeAlgorithm

MPICH = "MPIR_CVAR_{COLLECTIVE}_INTRA_ALGORITHM={algorithm}"
TUNED = "coll_tuned_{collective}_algorithm={algorithm}"
Out = pytest.CaptureFixture[str]


def log_of(path: Path, run: int = 0, title: str = "Allreduce") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (f"{8 << i}   {20 + i + run * 0.013 + len(path.name):.2f}\n" for i in range(12))
    head = f"# OSU MPI {title} Latency Test v7.4\n# Size       Avg Latency(us)\n"
    path.write_text(head + "".join(lines))
    return path


def imports(place: Path, *more: str) -> int:
    out = [] if "-o" in more else ["-o", str(place.parent / "out")]
    return main(["import", "osu", str(place), *more, *out])


LAYOUT = ["--nodes", "2", "--ppn", "4"]


def candidates(out: Path) -> dict[str, set[str]]:
    return {p.name: {s.candidate for s in read_bench(p).samples} for p in out.glob("*.jsonl")}


def two_mpis(tmp_path: Path) -> Path:
    for run, (mpi, names) in enumerate({"ompi": "03", "mpich": ("default", "ring")}.items()):
        for name in names:
            log_of(tmp_path / "logs" / mpi / f"{name}.log", run)
    return tmp_path / "logs"


WHERE = [*LAYOUT, "--pattern", "{mpi}/{algorithm}.log", "--mpi", "ompi=openmpi@4.1.4"]
WHERE += ["--mpi", "mpich=mpich@77.1"]


@pytest.mark.parametrize(
    "settings",
    [
        ["ompi=" + TUNED, "mpich=" + MPICH],
        [TUNED, MPICH],
        [MPICH, "openmpi=" + TUNED],
    ],
)
def test_settings_are_those_of_one_mpi(settings: list[str], tmp_path: Path, capsys: Out) -> None:
    """MPICH's settings became candidates of Open MPI, and its 0 was no longer the baseline."""
    words = [word for text in settings for word in ("--setting", text)]
    assert imports(two_mpis(tmp_path), *WHERE, *words) == 0, capsys.readouterr().err
    assert candidates(tmp_path / "out") == {
        "openmpi-4.1.4-2x4.bench.jsonl": {"bare", "native:coll_tuned_allreduce_algorithm=3"},
        "mpich-77.1-2x4.bench.jsonl": {
            "bare",
            "native:MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=ring",
        },
    }


def test_the_remedy_for_one_mpi_leaves_the_other_as_it_is(
    tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = NativeAlgorithm("allreduce", "linear", "3", "tuned", (("coll_tuned_x_algorithm", "3"),))
    real = Naming._algorithms

    def algorithms(self: Naming, mpi: object, called: str | None) -> list[NativeAlgorithm]:
        return [ring] if called == "ompi" else real(self, mpi, called)  # type: ignore[arg-type]

    monkeypatch.setattr(Naming, "_algorithms", algorithms)
    logs = two_mpis(tmp_path)
    assert imports(logs, *WHERE) == 1
    said = " ".join(capsys.readouterr().err.split())
    setting = said.split("--setting '")[1].partition("'")[0]
    assert setting.startswith("MPIR_CVAR_")
    assert imports(logs, *WHERE, "--setting", setting) == 0
    found = candidates(tmp_path / "out")["openmpi-4.1.4-2x4.bench.jsonl"]
    assert found == {"bare", ring.candidate}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([MPICH, "mpich=" + MPICH], None),
        ([MPICH, MPICH], "two settings are of MPICH"),
        (["intel=" + MPICH, "I_MPI_ADJUST_X={algorithm}"], None),
        (["openmpi=" + MPICH], "settings of MPICH, and not of Open MPI"),
        (["intel=" + TUNED], "settings of Open MPI, and not of Intel MPI"),
        ([f"{TUNED},{MPICH}"], "settings of Open MPI and MPICH"),
        (["mpich=4"], "form NAME=VALUE"),
    ],
)
def test_settings_of_another_mpi_are_refused(given: list[str], expected: str | None) -> None:
    if expected is None:
        assert templates(given, ())
        return
    with pytest.raises(UsageError) as caught:
        templates(given, ())
    assert expected in f"{caught.value.message} {caught.value.remedy}"


def test_the_nearest_settings_are_taken() -> None:
    found = templates(["mine=A={algorithm}", "openmpi4=B={algorithm}", TUNED, "UCX_X=1"], ["mine"])
    four, five, mpich = (identity_of(x) for x in ("openmpi@4.1.4", "openmpi@5.0.6", "mpich@5.0.2"))
    taken = [
        chosen(found, *x) for x in ((four, "mine"), (four, "ompi"), (five, None), (mpich, None))
    ]
    assert [t.text for t in taken if t] == ["A={algorithm}", "B={algorithm}", TUNED, "UCX_X=1"]
    assert chosen(found[:3], mpich, "mpich") is None


def test_settings_of_an_mpi_that_no_file_is_of(tmp_path: Path, capsys: Out) -> None:
    log = log_of(tmp_path / "logs" / "3.log")
    words = [*LAYOUT, "--mpi", "openmpi@4.1.4", "--algorithm", "0", "--setting", MPICH]
    assert imports(log, *words) == 2
    assert "no file with an algorithm is of MPICH, whose settings" in capsys.readouterr().err


# algorithms


def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the MPI have a ring of allreduce, twice, and nothing of bcast."""
    ring = NativeAlgorithm(
        "allreduce", "ring", "4", "tuned", (("coll_tuned_allreduce_algorithm", "4"),)
    )
    monkeypatch.setattr(Naming, "_algorithms", lambda *_: [ring, ring])


def test_an_algorithm_that_one_collective_lacks_leaves_the_others(
    tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended the import of all files."""
    known(monkeypatch)
    for run in range(3):
        log_of(tmp_path / "logs" / f"run{run}" / "ring.log", run)
        log_of(tmp_path / "logs" / f"run{run}" / "bush.log", run)
    words = [*LAYOUT, "--mpi", "openmpi@4.1.4", "--pattern", "run{launch}/{algorithm}.log"]
    assert imports(tmp_path / "logs", *words, "--json") == 0
    done = capsys.readouterr()
    (left_out,) = json.loads(done.out)["left_out"]
    assert left_out.startswith(f"{tmp_path / 'logs' / 'run0' / 'bush.log'}")
    assert (
        "and 2 more: left out: openmpi 4.1.4 as it is installed here has no algorithm 'bush'"
        in (left_out)
    )
    assert "for allreduce; it has 4 ring; or" in left_out, "each name once"
    (bench,) = (read_bench(p) for p in (tmp_path / "out").glob("*.jsonl"))
    assert len(bench.launches) == 3

    for path in (tmp_path / "logs").glob("*/ring.log"):
        path.unlink()
    assert imports(tmp_path / "logs", *words, "-o", str(tmp_path / "none")) == 1
    said = capsys.readouterr().err
    assert "error: openmpi 4.1.4 as it is installed here has no algorithm 'bush'" in said
    assert "run0/bush.log:1" in said.replace("\n", "")


# --pattern


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (
            "N{nodes}/{mpi}/{collective}_algo{algorithm}.log",
            "'N{nodes}' from '{nodes}' on (a number)",
        ),
        (
            "{mpi}/{collective}_alg{algorithm}.txt",
            "'{collective}_alg{algorithm}.txt' from '.txt' on",
        ),
        ("{mpi}/{collective}-{algorithm}.log", "from '-' on"),
        ("a/b/c/d/e/f/g/h/i/{mpi}/{algorithm}.log", "'i'"),
        ("{algorithm}/{algorithm}.log", "'ompi' is not what its field is in the names behind it"),
    ],
)
def test_a_pattern_that_fits_no_file(
    tmp_path: Path, capsys: Out, pattern: str, expected: str
) -> None:
    """It was said once for each file, and the remedy was to give what OSU printed."""
    for run in range(20):
        log_of(tmp_path / "logs" / f"Nx{run}" / "ompi" / "allreduce_algo3.log", run)
    (tmp_path / "logs" / "README").write_text("")
    assert imports(tmp_path / "logs", *LAYOUT, "--pattern", pattern) == 2
    raw = capsys.readouterr().err
    said = " ".join(raw.split())
    assert expected in said and f"--pattern '{pattern}'" in said
    assert f"none of 21 files fits --pattern: of Nx0/ompi/allreduce_algo3.log in {tmp_path}" in said
    assert "osu_allreduce" not in said and len(raw.splitlines()) < 8


def test_where_a_path_is_too_short() -> None:
    found = misfit(compile_pattern("a/{mpi}/x.log"), Path("ompi/x.log"))
    assert found.words == "no directory is left for 'a'" and found.matched == (2, 0)


# nodes and ranks, versions, names


@pytest.mark.parametrize(
    ("words", "expected", "remedy"),
    [
        (["--ppn", "2"], "on how many nodes of 2 ranks this was measured", "--nodes 8, or {nodes}"),
        (["--nodes", "4"], "on how many ranks on each of 4 nodes", "--ppn 36, or {ppn}"),
        ([], "on how many nodes and ranks this was measured", "--nodes 8 --ppn 36, or {nodes}"),
    ],
)
def test_what_is_missing_of_a_layout_is_named(
    tmp_path: Path, capsys: Out, words: list[str], expected: str, remedy: str
) -> None:
    log = log_of(tmp_path / "logs" / "a.log")
    assert imports(log, "--mpi", "openmpi@4.1.4", *words) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert expected in said and f"say it: {remedy}" in said
    other = "--ppn" if "--ppn" in words else "--nodes" if words else "neither"
    assert f"{other} 8" not in said and f"{other} 36" not in said


def test_an_mpi_of_no_version_that_is_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was "mpich unknown is not installed here"."""
    monkeypatch.setattr("stretto.imports.natives.installations", lambda: [])
    for called, expected in (("mpich3", "--mpi mpich3=mpich@"), (None, "--mpi mpich@")):
        with pytest.raises(StrettoError) as caught:
            Naming((), print).candidate(identity_of("mpich"), "bcast", "7", called)
        assert "mpich of a version that is not said is not installed here" in caught.value.message
        assert expected in (caught.value.remedy or "")
        assert "unknown" not in str(caught.value)


def test_files_of_no_version_do_not_read_like_one(tmp_path: Path, capsys: Out) -> None:
    """openmpi-4x2.bench.jsonl was of 4 nodes, and next: named one of the files."""
    for nodes in (2, 4):
        log_of(tmp_path / "logs" / f"N{nodes}.log", nodes)
    words = ["--ppn", "2", "--mpi", "openmpi", "--pattern", "N{nodes}.log"]
    assert imports(tmp_path / "logs", *words) == 0
    out = tmp_path / "out"
    two, four = (out / f"openmpi-unknown-{n}x2.bench.jsonl" for n in (2, 4))
    assert sorted(out.iterdir()) == [two, four]
    printed = capsys.readouterr().out
    assert f"next: stretto tune --from {two} --from {four}\n" in printed

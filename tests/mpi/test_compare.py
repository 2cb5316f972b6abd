"""All MPIs and all their algorithms for one call: who is the default, and how far from the best."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mpis import missing
from results import write_results
from stretto.cli import main
from stretto.files.bench import Sample, read_bench
from stretto.files.identity import MPIIdentity
from stretto.kinds import Abi, Family, Source
from stretto.report.ranking import rank
from stretto.report.sources import sources

OPENMPI, MPICH = ("openmpi", "openmpi", "4.1.4"), ("mpich", "mpich", "5.0.2")
Who = tuple[Family, Abi, str]


def results(
    path: Path,
    who: Who,
    times: dict[tuple[str, int], dict[str, float]],
    launches: int = 8,
    modes: tuple[str, ...] = ("latency",),
    host: str = "h",
    source: Source = "measured",
) -> Path:
    """Write results; times in us by collective and size, then by candidate; 0.4% of noise."""
    samples = [
        Sample(launch, collective, name, size, "MPI_BYTE", None, 0, mode,  # type: ignore[arg-type]
               10, [us * (1 + 0.001 * ((launch * 3 + i) % 5))], True, source)
        for launch in range(launches)
        for (collective, size), found in times.items()
        for i, (name, us) in enumerate(found.items())
        for mode in modes
    ]  # fmt: skip
    return write_results(path, samples, MPIIdentity(*who), host=host)


def two(tmp_path: Path, **more: int) -> list[Path]:
    tuned = "native:coll_tuned_bcast_algorithm="
    mine = {"native": 10.2, "bare": 10.0, f"{tuned}6": 8.0, f"{tuned}1": 30.0, "shm": 5.0}
    other = {"bare": 6.0, "native:MPIR_CVAR_BCAST_INTRA_ALGORITHM=tree": 7.0}
    return [
        results(tmp_path / "a.bench.jsonl", OPENMPI, {("bcast", 8): mine}, **more),  # type: ignore[arg-type]
        results(tmp_path / "b.bench.jsonl", MPICH, {("bcast", 8): other}, **more),  # type: ignore[arg-type]
    ]


def test_defaults_are_measured_against_their_own_best_and_the_best_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *map(str, two(tmp_path)), "--json"]) == 0
    (call,) = json.loads(capsys.readouterr().out)["calls"]
    assert (call["collective"], call["bytes"], call["nodes"], call["ppn"]) == ("bcast", 8, 2, 4)
    assert [e["median_us"] for e in call["entries"]] == sorted(
        e["median_us"] for e in call["entries"]
    )
    assert {(e["mpi"], e["candidate"]) for e in call["entries"] if e["default"]} == {
        ("Open MPI 4.1.4", "bare"), ("MPICH 5.0.2", "bare"),
    }  # fmt: skip
    mpich, openmpi = call["defaults"]
    assert mpich["own_best"]["ratio"] == 1.0 and mpich["own_best"]["candidate"] == "bare"
    assert mpich["best_of_all"]["mpi"] == "Open MPI 4.1.4"
    assert mpich["best_of_all"]["candidate"] == "shm"
    assert openmpi["own_best"]["candidate"].endswith("=6")
    assert openmpi["own_best"]["ratio"] == pytest.approx(1.25, rel=0.01)
    assert openmpi["best_of_all"]["ratio"] == pytest.approx(2.0, rel=0.01)
    assert openmpi["best_of_all"]["outcome"] == mpich["best_of_all"]["outcome"] == "slower"


#: where three files lie, and what they are called then
APART = [
    (("a/x", "b/x", "c/x"), ("(a)", "(b)", "(c)")),
    (("r/a", "r/b", "r/c"), ("(a)", "(b)", "(c)")),
    (("a/x/1", "b/x/1", "c/x/1"), ("(a)", "(b)", "(c)")),
    (("a/x", "a/y", "b/x"), ("(a/x)", "(a/y)", "(b/x)")),
]


@pytest.mark.parametrize(("places", "expected"), APART)
def test_files_that_hold_the_same_are_never_called_the_same(
    tmp_path: Path, places: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    """The second and the third of one file name were mixed, and ratios between them printed."""
    paths = []
    for factor, place in enumerate(places, start=1):
        path = tmp_path / f"{place}.bench.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        times = {"bare": 10.0 * factor, "native:x=1": 5.0 * factor}
        paths.append(results(path, OPENMPI, {("bcast", 8): times}))
    files = sources([(p, read_bench(p)) for p in paths])
    assert [f.mpi for f in files] == [f"Open MPI 4.1.4 {word}" for word in expected]
    (ranking,) = rank(files, {})
    assert len(ranking.distances) == 3
    for distance in ranking.distances:
        assert distance.own.best.file == distance.default.file
        assert distance.own.ratio == pytest.approx(2.0, rel=0.01)


def test_a_file_named_twice_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    results(Path("a.bench.jsonl"), OPENMPI, {("bcast", 8): {"bare": 9}})
    same = ["a.bench.jsonl", str(tmp_path), str(tmp_path / ".." / tmp_path.name / "a.bench.jsonl")]
    assert main(["compare", *same, "--json"]) == 0
    (call,) = json.loads(capsys.readouterr().out)["calls"]
    assert [e["mpi"] for e in call["entries"]] == ["Open MPI 4.1.4"]


def test_labels_are_the_same_whether_the_mpi_is_here_or_not() -> None:
    """Made from a candidate's own settings, as the installed MPI would call it."""
    from stretto.mpi.algorithms import discover
    from stretto.mpi.algorithms.words import own_label
    from stretto.mpi.detect import installations

    here = [i for i in installations() if i.libmpi is not None]
    if not here:
        missing("no MPI is installed")
    for mpi in here:
        told = 0
        for a in (v for x in discover(mpi) for v in x.variations()):
            label = own_label(a.candidate)
            assert label in (None, a.label), (mpi.name, a.candidate)
            told += label is not None
        assert told, mpi.name
    tree = "native:MPIR_CVAR_BCAST_INTRA_ALGORITHM=tree,MPIR_CVAR_DEVICE_COLLECTIVES=percoll"
    assert own_label(f"{tree},MPIR_CVAR_BCAST_TREE_KVAL=3") == "mpir tree(radix=3)"
    assert own_label("native:coll_tuned_bcast_algorithm=6") == "tuned binomial"
    assert own_label("native:I_MPI_ADJUST_BCAST_NODE=2") == "node 2"
    assert own_label("native:coll_tuned_bcast_algorithm=77") is None
    assert own_label("native:coll_tuned_bcast_algorithm=6,btl_vader_eager_limit=1") is None


def test_the_page_and_the_charts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {("bcast", n): {"bare": n / 10, "native:x=1": n / 15} for n in (8, 1024, 65536)}
    for name, who in (("a", OPENMPI), ("b", MPICH)):
        results(tmp_path / f"{name}.bench.jsonl", who, sizes)
    page, figures = tmp_path / "out" / "compared.html", tmp_path / "figures"
    words = ["-o", str(page), "--svg", str(figures)]
    assert main(["compare", str(tmp_path), *words]) == 0
    text = page.read_text("utf-8")
    assert text.count("<svg") == 4, "three calls, and the defaults over sizes"
    assert "http://" not in text.replace("http://www.w3.org/", "") and "https://" not in text
    assert "MPICH 5.0.2" in text and "source: simulated" not in text
    drawn = [p.read_text("utf-8") for p in figures.glob("*.svg")]
    assert len(drawn) == 4 and all("Open MPI 4.1.4" in svg for svg in drawn)
    assert any("MPI_Bcast of 1 KiB" in svg for svg in drawn)
    assert "x1.50" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--collective", "reduce"], "no such measurement"),
        (["--mode", "fast"], "is not valid"),
        (["--bytes", "64"], "no such measurement"),
    ],
)
def test_bad_questions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], expected: str
) -> None:
    assert main(["compare", *map(str, two(tmp_path)), *options]) != 0
    assert expected in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["compare", str(tmp_path / "empty")]) == 1


def test_what_a_model_says_is_no_rival_of_a_measurement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The simulated MPI is listed, marked, and nobody's best."""
    files = two(tmp_path)
    cheap: dict[tuple[str, int], dict[str, float]] = {("bcast", 8): {"native": 1.0, "shm": 0.5}}
    files.append(results(tmp_path / "s.bench.jsonl", ("openmpi", "openmpi", "0.0.0"), cheap,
                         host="a platform", source="simulated"))  # fmt: skip
    assert main(["compare", *map(str, files), "--json"]) == 0
    (call,) = json.loads(capsys.readouterr().out)["calls"]
    assert call["simulated"] and len(call["defaults"]) == 3
    for d in call["defaults"]:
        best = next(e for e in call["entries"] if e["mpi"] == d["best_of_all"]["mpi"])
        assert d["simulated"] == (best["source"] == "simulated")
    assert main(["compare", *map(str, files)]) == 0
    assert "(simulated): default 1.0" in capsys.readouterr().out

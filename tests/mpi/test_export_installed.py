"""The MPI that an export is written from and checked with: the one that was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from exports import mpir, result_file, tuned
from mpis import MPIS
from stretto.campaign.begun import CAMPAIGN, DOCUMENT, About
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.export import installed
from stretto.export.output import Export
from stretto.export.targets import Writer
from stretto.files.identity import MPIIdentity
from stretto.mpi import MPIInstallation, from_launcher
from stretto.mpi.mpich import MPICH
from stretto.mpi.openmpi import OpenMPI

RING = "native:" + ",".join(f"{n}={v}" for n, v in tuned("allreduce", 4))
Out = pytest.CaptureFixture[str]


def openmpi(version: str, prefix: str, package: str = "a") -> MPIInstallation:
    library = f"Open MPI v{version}, package: {package}"
    at = Path(prefix)
    return OpenMPI(
        "openmpi", "openmpi", version, library, at, at / "lib/libmpi.so", at / "bin/mpirun"
    )


def here(monkeypatch: pytest.MonkeyPatch, *found: MPIInstallation) -> None:
    monkeypatch.setattr(installed, "installations", lambda: list(found))


def measured(version: str, package: str = "a") -> MPIIdentity:
    return openmpi(version, "/any", package).identity


def test_the_measured_one_is_taken_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = openmpi("5.0.3", "/old"), openmpi("5.0.11", "/new")
    again, four = openmpi("5.0.11", "/again", "b"), openmpi("4.1.4", "/usr")
    here(monkeypatch, four, old, new, again)
    taken = installed.take("openmpi", measured("5.0.11"), None, "5")
    assert taken.installation is new
    assert taken.note is not None and "Open MPI 5.0.11 in /new is used" in taken.note
    assert "/old" in taken.note and "/again" in taken.note and "/usr" not in taken.note
    assert installed.take("openmpi", measured("5.0.11", "b"), None, "5").installation is again
    assert installed.take("openmpi", measured("5.0.3"), "openmpi", "5").installation is old, (
        "a family's name is no choice"
    )
    elsewhere = installed.take("openmpi", measured("5.0.11", "c"), None, "5")
    assert elsewhere.installation is new
    here(monkeypatch, four, new)
    assert installed.take("openmpi", measured("5.0.11"), None, "5").note is None, (
        "nothing to choose"
    )
    here(monkeypatch)
    assert installed.take("openmpi", measured("5.0.11"), None).installation is None


def test_the_place_that_the_results_name_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was "no MPICH is installed here ... pip install 'stretto[openmpi]'"."""
    times = {("allreduce", 1024): {"bare": 50.0, RING: 30.0}}
    results = result_file(tmp_path / "camp" / "a" / "1x4.bench.jsonl", times)
    about = About([], None, ["openmpi", "/measured", "/gone", "/updated"], eliminate=True)
    DOCUMENT.write(about, tmp_path / "camp" / CAMPAIGN)
    places = installed.places_of([results], [])
    assert places == ["/measured", "/gone", "/updated"], "families name no place"

    there = {"/updated": openmpi("5.0.12", "/updated"), "/measured": openmpi("5.0.11", "/measured")}

    def find(place: str) -> MPIInstallation:
        if place not in there:
            raise StrettoError(f"there is no MPI {place!r}")
        return there[place]

    monkeypatch.setattr(installed, "find_installation", find)
    for others in ([], [openmpi("5.0.3", "/old")]):
        here(monkeypatch, *others)
        taken = installed.take("openmpi", measured("5.0.11"), None, "5", places)
        assert taken.installation is there["/measured"]
        assert taken.note == "Open MPI 5.0.11 in /measured is used: it is the MPI of the results"
    del there["/measured"]
    here(monkeypatch)
    assert installed.take("openmpi", measured("5.0.11"), None, "5", places).installation is None
    by_word = ["stretto", "bench", "--mpi", "/a", "--mpi=/b", "-o", "x"]
    assert installed.places_of([tmp_path / "x"], [by_word]) == ["/a", "/b"]


def test_another_version_is_refused_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    here(monkeypatch, openmpi("5.0.3", "/old"), openmpi("5.0.4", "/older"))
    with pytest.raises(StrettoError) as caught:
        installed.take("openmpi", measured("5.0.11"), None, "5")
    words = str(caught.value)
    assert "measured with Open MPI 5.0.11, but the installed version is another" in words
    assert "5.0.3 in /old, Open MPI 5.0.4 in /older" in words
    assert "--mpi PREFIX" in (caught.value.remedy or "")
    named = openmpi("5.0.3", "/old")
    monkeypatch.setattr(installed, "find_installation", lambda _wanted: named)
    assert installed.take("openmpi", measured("5.0.11"), "/old", "5").installation is named


def mpich(library: str, version: str = "5.0.2", prefix: str = "/m") -> MPICH:
    return MPICH("mpich", "mpich", version, library, Path(prefix), None, None)


@pytest.mark.parametrize(
    ("target", "library", "trees", "words"),
    [
        ("mvapich", "MPICH Version: 5.0.2", "MPICH Version: 5.0.2",
         ["measured with MPICH 5.0.2, and the files are for MVAPICH",
          "the trees are from MPICH in /m, not from MVAPICH"]),
        ("mvapich", "MVAPICH Version : 4.1", "MPICH Version: 5.0.2",
         ["the trees are from MPICH in /m, not from MVAPICH"]),
        ("mvapich", "MVAPICH Version : 4.1", "MVAPICH Version : 4.1", []),
        ("mpich", "MPICH Version: 5.0.2", "MPICH Version: 5.0.2", []),
        ("mpich", "MVAPICH Version : 4.1", "MPICH Version: 5.0.2",
         ["measured with MVAPICH 5.0.2, and the files are for MPICH"]),
        ("mpich", "CRAY MPICH version 8.1", "CRAY MPICH version 8.1", []),
        ("mvapich", "", "", []),
        ("intel", "Intel(R) MPI Library", "", []),
    ],
)  # fmt: skip
def test_mvapich_is_not_mpich(target: str, library: str, trees: str, words: list[str]) -> None:
    of = MPIIdentity("mpich", "mpich", "5.0.2", library)
    said = installed.of_another_mpich(target, of, mpich(trees))
    assert len(said) == len(words)
    for sentence, start in zip(said, words, strict=True):
        assert sentence.startswith(start)


def test_mpichs_results_exported_to_mvapich_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    """Trees of MPICH's own came of it, without a word that they were measured with another MPI."""
    here(monkeypatch, mpich("MPICH Version: 5.0.2"))
    monkeypatch.setattr(
        "stretto.export.targets._mpich",
        lambda *_: Writer(lambda rule: None, lambda rules: Export()),
    )
    of = MPIIdentity("mpich", "mpich", "5.0.2", "MPICH Version: 5.0.2")
    ring = "native:" + ",".join(f"{n}={v}" for n, v in mpir("allreduce", "ring"))
    times = {("allreduce", 65536): {"bare": 50.0, ring: 30.0}}
    path = result_file(tmp_path / "a.bench.jsonl", times, mpi=of)
    assert main(["export", "--to", "mvapich", "--out", str(tmp_path / "o"), str(path)]) == 0
    said = capsys.readouterr().err
    assert "note: measured with MPICH 5.0.2, and the files are for MVAPICH" in said
    assert "note: the trees are from MPICH in /m" in said


def test_the_mvapich_at_hand_is_taken_for_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    of = MPIIdentity("mpich", "mpich", "4.1", "MVAPICH Version : 4.1")
    own = mpich("MVAPICH Version : 4.1", "4.1", "/site")
    here(monkeypatch, mpich("MPICH Version: 5.0.2"), mpich("MPICH Version: 4.1", "4.1"), own)
    assert installed.for_mvapich(of) is own


def test_an_export_to_mvapich_asks_for_mvapich(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    """It was "measure with mpich", and "pip install 'stretto[mpich]'", which has other trees."""
    here(monkeypatch, openmpi("5.0.11", "/new"))
    times = {("allreduce", 1024): {"bare": 50.0, RING: 30.0}}
    words = ["export", "--to", "mvapich", "--out", str(tmp_path / "o")]
    assert main([*words, str(result_file(tmp_path / "a.bench.jsonl", times))]) == 2
    assert "measure with MVAPICH, or export to one of" in capsys.readouterr().err
    of = MPIIdentity("mpich", "mpich", "4.1", "MVAPICH Version : 4.1")
    assert main([*words, str(result_file(tmp_path / "b.bench.jsonl", times, mpi=of))]) == 1
    said = capsys.readouterr().err
    assert "no MVAPICH was found" in said and "pip install" not in said
    assert "load the module of the site's MVAPICH, or name it: --mpi PREFIX" in said


@pytest.mark.mpi
def test_mpich_trees_are_those_of_the_measured_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    """Another MPICH comes first on this machine: the files were made from it, or refused."""
    prefix = MPIS["mpich"].require().prefix
    real = from_launcher(prefix / "bin" / "mpiexec")
    other = MPICH(
        "mpich", "mpich", "4.3.0", "MPICH", Path("/other"), Path("/other/lib/libmpi.so"), None
    )
    here(monkeypatch, other, real)
    monkeypatch.setattr("stretto.export.targets.find_installation", lambda _wanted: other)
    ring = "native:" + ",".join(f"{n}={v}" for n, v in mpir("allreduce", "ring"))
    times = {("allreduce", 65536): {"bare": 50.0, ring: 30.0}}
    results = result_file(tmp_path / "a.bench.jsonl", times, mpi=real.identity)
    out = tmp_path / "tuning"
    assert main(["export", "--to", "mpich", "--out", str(out), str(results)]) == 0
    assert (
        f"several MPICH are here: {real.name} in {real.prefix} is used" in capsys.readouterr().err
    )
    assert (out / "stretto-mpich-mpir.json").exists()
    here(monkeypatch, other)
    assert main(["export", "--to", "mpich", "--out", str(out), str(results)]) == 1
    assert f"measured with MPICH {real.version}" in capsys.readouterr().err

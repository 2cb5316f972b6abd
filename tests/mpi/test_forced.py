"""What the environment says to the MPI that is measured by itself: an export, forced algorithms."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpis import MPIS
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.export import han, mpich_tree, openmpi, openmpi_json
from stretto.export.openmpi import IDS
from stretto.kinds import Family
from stretto.measure import candidates
from stretto.measure.candidates import RULES_FILES, by_itself, unlisted
from stretto.mpi.algorithms.forced import exported, forced, mark_of, settable
from stretto.mpi.algorithms.openmpi import hiding
from stretto.mpi.algorithms.openmpi_names import TUNED
from stretto.mpi.variables import Variable

FILENAME, HAN_FILE = RULES_FILES
DYNAMIC = "OMPI_MCA_coll_tuned_use_dynamic_rules"
HAN_DYNAMIC = "OMPI_MCA_coll_han_use_dynamic_file_rules"
TREE = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
RING = "OMPI_MCA_coll_tuned_allreduce_algorithm"
REDUCE = "I_MPI_ADJUST_REDUCE"


@pytest.mark.parametrize(
    ("family", "environ", "names"),
    [
        ("openmpi", {FILENAME: f"/x/{openmpi.RULES_FILE}", DYNAMIC: "1"}, [DYNAMIC, FILENAME]),
        ("openmpi", {HAN_FILE: f"/x/{han.RULES_FILE}", DYNAMIC: "1"}, [HAN_FILE]),
        ("openmpi", {FILENAME: f"/x/{openmpi_json.JSON_FILE}"}, [FILENAME]),
        ("mpich", {TREE: f"/x/{mpich_tree.FILES[mpich_tree.MPIR]}"}, [TREE]),
        ("intel", {REDUCE: "2:0-9", mark_of("intel"): REDUCE}, [REDUCE]),
    ],
)
def test_an_export_that_is_in_force_is_not_measured_as_the_mpi(
    family: Family, environ: dict[str, str], names: list[str]
) -> None:
    """It was, without a word: a campaign in such a shell found nothing to gain."""
    assert exported(family, environ) == names
    with pytest.raises(StrettoError, match="an export of Stretto is active") as error:
        by_itself(family, environ)
    marks = [n for n in environ if n == mark_of(family)]
    assert (error.value.remedy or "").endswith(f"unset {' '.join([*names, *marks])}")
    others: tuple[Family, ...] = ("openmpi", "mpich", "intel")
    assert not [o for o in others if o != family and by_itself(o, environ)], "another MPI's"


@pytest.mark.parametrize(
    ("family", "environ", "names"),
    [
        ("intel", {REDUCE: "2", "I_MPI_TUNING_BIN": "/x", "I_MPI_DEBUG": "3"},
         ["I_MPI_ADJUST_REDUCE", "I_MPI_TUNING_BIN"]),
        ("intel", {"I_MPI_ADJUST_FAILURE_ON_COLL_FALLBACK": "1"}, []),
        ("mpich", {TREE: "/site/tree.json", "MPIR_CVAR_BCAST_INTRA_ALGORITHM": "ring"},
         ["MPIR_CVAR_BCAST_INTRA_ALGORITHM", TREE]),
        ("mpich", {"MPIR_CVAR_BCAST_INTRA_ALGORITHM": "auto"}, []),
        ("openmpi", {RING: "4", DYNAMIC: "1"}, [RING]),
        ("openmpi", {RING: "4"}, []),  # nobody looks at it
        ("openmpi", {RING: "0", DYNAMIC: "1"}, []),
        ("openmpi", {FILENAME: "/site/rules", DYNAMIC: "true"}, [FILENAME]),
        ("openmpi", {FILENAME: "/site/rules"}, []),
        *(("openmpi", {RING: "4", DYNAMIC: x}, []) for x in ("0", "F", "no", "", "disabled")),
        ("openmpi", {HAN_FILE: "/site/han", HAN_DYNAMIC: "1"}, [HAN_FILE]),
        ("openmpi", {"OMPI_MCA_coll": "^han", "OMPI_MCA_btl": "self"}, ["OMPI_MCA_coll"]),
        ("openmpi", {"OMPI_MCA_coll_han_priority": "0"}, ["OMPI_MCA_coll_han_priority"]),
    ],
)  # fmt: skip
def test_what_the_user_or_the_site_forces_is_said(
    family: Family, environ: dict[str, str], names: list[str]
) -> None:
    assert forced(family, environ) == names
    said = by_itself(family, environ)
    assert len(said) == (names != [])
    assert all(", ".join(names) in x and "included in the measurement of native" in x for x in said)


@pytest.mark.mpi
def test_bench_and_tune_say_it_before_they_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix = str(MPIS["openmpi4"].require().prefix)
    words = ["-n", "2", "--mpi", prefix, "--collective", "bcast", "--bytes", "8", "--dry-run"]
    out = ["--out", str(tmp_path / "a.table")]
    monkeypatch.setenv(DYNAMIC, "1")
    job = ["--dry-run", "--", str(MPIS["openmpi4"].launcher(1)[0]), "-n", "{n}", "true"]
    scale = ["scale", "--ranks", "1,2", *job]
    settings = ["settings", *(w.replace("{n}", "2") for w in job)]
    monkeypatch.chdir(tmp_path)
    for command in (["bench", *words], ["table", "make", *words, *out], scale, settings):
        monkeypatch.setenv(RING, "4")
        monkeypatch.delenv(FILENAME, raising=False)
        assert main(command) == 0
        assert f"warning: {RING} is set here" in capsys.readouterr().err
        monkeypatch.setenv(FILENAME, f"/x/{openmpi.RULES_FILE}")
        assert main(command) == 1
        assert "an export of Stretto is active" in capsys.readouterr().err


def test_campaigns_ask_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their entry asks `unlisted` for what is not as it seems, whatever the candidates."""

    class Mpi:
        family: Family = "intel"

    monkeypatch.setenv(REDUCE, "2")
    assert [REDUCE in x for x in unlisted(Mpi(), [])] == [True]  # type: ignore[arg-type]
    monkeypatch.setenv(mark_of("intel"), REDUCE)
    with pytest.raises(StrettoError, match="an export of Stretto is active"):
        unlisted(Mpi(), [])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({}, ["hcoll"]),
        ({"OMPI_MCA_coll_hcoll_enable": "0"}, []),
        ({"OMPI_MCA_coll_hcoll_priority": "30"}, []),
        ({"OMPI_MCA_coll": "^hcoll,sm"}, []),
        ({"OMPI_MCA_coll": "tuned,basic,libnbc"}, []),
        ({"OMPI_MCA_coll": "tuned,hcoll"}, ["hcoll"]),
        ({"OMPI_MCA_coll_ucc_priority": "100"}, ["hcoll"]),  # it is off
        ({"OMPI_MCA_coll_ucc_priority": "100", "OMPI_MCA_coll_ucc_enable": "1"}, ["hcoll", "ucc"]),
    ],
)
def test_what_decides_before_coll_tuned_is_named(environ: dict[str, str], names: list[str]) -> None:
    """Candidates of coll/tuned measured it, without a word, and rows do nothing beside it."""
    there = {n: Variable(n, "") for n in ("coll_hcoll_enable", "coll_ucc_enable")}
    said = hiding(there, environ)
    assert [x.split()[0] for x in said] == [f"coll/{n}" for n in names]
    assert not hiding({}, environ), "not built in"


def test_the_names_are_the_writers() -> None:
    """The lists here are copies: no export may set what they lack."""
    assert set(mpich_tree.VARIABLES.values()) == set(settable("mpich"))
    for name in (*mpich_tree.FILES.values(), openmpi.RULES_FILE, han.RULES_FILE):
        assert exported("openmpi", {FILENAME: f"/a/{name}"}), name
    assert set(TUNED) <= set(IDS)


def test_what_decides_before_the_algorithms_is_told_when_they_are_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Under hcoll all of coll/tuned's algorithms are hcoll: nothing would be faster."""

    class Mpi:
        family: Family = "openmpi"

    hcoll = Variable("coll_hcoll_enable", "", (), "1", False, False)
    asked: list[str] = []

    def variables(installation: object) -> dict[str, Variable]:
        asked.append("once")
        return {hcoll.name: hcoll}

    monkeypatch.setattr(candidates, "control_variables", variables)
    monkeypatch.setattr(candidates, "check_settings", lambda *of: [])
    ring = "native:coll_tuned_allreduce_algorithm=4"
    (said,) = candidates.unlisted(Mpi(), ["shm", ring])  # type: ignore[arg-type]
    assert said.startswith("coll/hcoll (priority 90) is built into this Open MPI and decides")
    assert candidates.unlisted(Mpi(), ["shm"]) == [] and asked == ["once"]  # type: ignore[arg-type]
    monkeypatch.setenv("OMPI_MCA_coll_hcoll_enable", "0")
    assert candidates.unlisted(Mpi(), [ring]) == []  # type: ignore[arg-type]

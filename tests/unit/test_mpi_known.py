"""Settings that an MPI does not know are refused, with the nearest that it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from stretto.errors import UsageError
from stretto.measure import candidates
from stretto.mpi import known
from stretto.mpi.intel import IntelMPI
from stretto.mpi.known import check_settings
from stretto.mpi.mpich import MPICH
from stretto.mpi.openmpi import OpenMPI
from stretto.mpi.variables import Variable

ALGORITHMS = ((0, "ignore"), (1, "linear"), (4, "ring"))
INT = (-(2**31), 2**31 - 1)
LISTED = [
    Variable("coll_tuned_allreduce_algorithm", "", ALGORITHMS, text=False),
    Variable("coll_tuned_use_dynamic_rules", "", ((0, "false"), (1, "true")), text=False),
    Variable("btl_tcp_links", "", text=False, limits=(0, 2**32 - 1)),
    Variable("btl_tcp_eager_limit", "", text=False, limits=(0, 2**64 - 1)),
    Variable("coll_tuned_allreduce_algorithm_segmentsize", "", text=False, limits=INT),
    Variable("btl_tcp_flags", "", ((1, "send"), (2, "put"), (4, "get")), text=False),
    Variable("btl_tcp_if_include", ""),
    Variable("mpi_yield_when_idle", "", ((0, "false"), (1, "true")), text=False),
    Variable("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "", value="0", text=False, limits=INT),
    Variable("MPIR_CVAR_BCAST_TREE_KVAL", "", value="2", text=False, limits=INT),
    Variable("I_MPI_ADJUST_BCAST", ""),
]
WHERE = ("1", "x", Path("/m"), None, None)
OPENMPI = OpenMPI("openmpi", "openmpi", *WHERE)


@pytest.fixture(autouse=True)
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {v.name: v for v in LISTED}
    monkeypatch.setattr(known, "_known", lambda installation: found)
    monkeypatch.setattr(candidates, "control_variables", lambda installation: found)


@pytest.mark.parametrize(
    ("setting", "said", "remedy"),
    [
        ("nosuchvar=3", "knows no setting 'nosuchvar'", "correct the name"),
        ("coll_tuned_allreduce_algorithm=99", "has no value '99'", "4 (ring)"),
        ("coll_tuned_alreduce_algorithm=4", "knows no", "'coll_tuned_allreduce_algorithm'?"),
        ("btl_tcp_lnks=8", "knows no setting 'btl_tcp_lnks'", "did you mean 'btl_tcp_links'?"),
        ("btl_tcp_links=eight", "takes a number, and 'eight' is not one", "correct the value"),
        ("btl_tcp_links=-1", "from 0 to 4294967295, not '-1'", "correct the value"),
        ("btl_tcp_links=4g", "from 0 to 4294967295, not '4g'", "correct the value"),
        ("btl_tcp_links=0x100000000", "from 0 to 4294967295", "correct the value"),
        ("btl_tcp_eager_limit=99999999999999999999", "to 18446744073709551615", "correct"),
        ("btl_tcp_eager_limit=-1k", "integers from 0 to", "correct the value"),
        ("coll_tuned_allreduce_algorithm_segmentsize=2g", "to 2147483647", "correct the value"),
        ("btl_tcp_flags=9", "has no value '9'", "2 (put)"),
        ("mpi_yield_when_idle=maybe", "has no value 'maybe'", "1 (true)"),
    ],
)
def test_what_open_mpi_does_not_know_is_refused(setting: str, said: str, remedy: str) -> None:
    with pytest.raises(UsageError) as error:
        candidates.resolve([f"native:{setting}"], OPENMPI, "allreduce", 4, 1)
    assert said in error.value.message and remedy in (error.value.remedy or "")
    assert error.value.place == f"the candidate native:{setting}"


@pytest.mark.parametrize(
    "setting",
    ["coll_tuned_allreduce_algorithm=4", "coll_tuned_allreduce_algorithm=ring", "btl_tcp_links=8",
     "btl_tcp_links=64k", "btl_tcp_links=0", "btl_tcp_links=99999",
     "btl_tcp_links=4294967295", "btl_tcp_eager_limit=0xffffffffffffffff",
     "coll_tuned_allreduce_algorithm_segmentsize=-1", "btl_tcp_flags=7",
     "mpi_yield_when_idle=yes", "btl_tcp_if_include=eth0",
     "rmaps_base_oversubscribe=1", "OMPI_MCA_btl_tcp_links=0x8"],
)  # fmt: skip
def test_what_open_mpi_knows_is_taken(setting: str) -> None:
    candidate = f"native:{setting}"
    assert candidates.unlisted(OPENMPI, [candidate]) == [] or setting.startswith("rmaps")
    assert candidates.resolve([candidate], OPENMPI, "allreduce", 4, 1) == [candidate]


def test_a_component_that_was_not_opened_here_is_doubted_only() -> None:
    (doubt,) = check_settings(OPENMPI, {"OMPI_MCA_coll_hcoll_enable": "1"}, "here")
    assert "does not list coll_hcoll_enable" in doubt
    assert check_settings(OPENMPI, {"UCX_TLS": "tcp"}, "here") == []


def test_settings_in_the_files_of_intel_mpi_are_known(tmp_path: Path) -> None:
    """It lists few of its variables."""
    (tmp_path / "libmpi.so").write_bytes(
        b"\x7fELF\0I_MPI_MULTIRAIL\0on\0I_MPI_PIN\0I_MPI_ADJUST_\0%s\0"
    )
    intel = IntelMPI("intel", "mpich", "1", "x", tmp_path, tmp_path / "libmpi.so", None)
    assert check_settings(intel, {"I_MPI_MULTIRAIL": "1"}, "x") == []
    (doubt,) = check_settings(intel, {"I_MPI_ADJUST_": "1"}, "x")
    assert "does not list I_MPI_ADJUST_" in doubt, "it is the beginning of names"
    (doubt,) = check_settings(intel, {"I_MPI_MULTIRAL": "1"}, "x")
    assert "it has I_MPI_MULTIRAIL" in doubt


def test_the_others() -> None:
    mpich = MPICH("mpich", "mpich", *WHERE)
    assert check_settings(mpich, {"MPIR_CVAR_BCAST_INTRA_ALGORITHM": "binomial"}, "x") == []
    with pytest.raises(UsageError, match="knows no") as error:
        check_settings(mpich, {"MPIR_CVAR_BCAST_INTRA_ALGORITM": "binomial"}, "x")
    assert "MPIR_CVAR_BCAST_INTRA_ALGORITHM" in (error.value.remedy or "")
    with pytest.raises(UsageError, match="from -2147483648 to 2147483647"):
        check_settings(mpich, {"MPIR_CVAR_BCAST_TREE_KVAL": "-2147483649"}, "x")
    assert check_settings(mpich, {"MPIR_CVAR_BCAST_TREE_KVAL": "-7"}, "x") == []
    intel = IntelMPI("intel", "mpich", *WHERE)
    (doubt,) = check_settings(intel, {"I_MPI_ADJUST_BCASTT": "1"}, "x")
    assert "it has I_MPI_ADJUST_BCAST" in doubt

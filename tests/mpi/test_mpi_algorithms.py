"""Algorithms of MPIs: names, parameters and settings; test_mpi_algorithms_reported has all."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpis import MPIS
from stretto.errors import UsageError
from stretto.measure import candidates
from stretto.mpi import from_launcher
from stretto.mpi.algorithms import discover
from stretto.mpi.base import MPIInstallation


def _installation(name: str) -> MPIInstallation:
    known = MPIS[name].require()
    return from_launcher(Path(known.launcher(1)[0]), known.environment)


def test_mpich_radices_belong_to_their_algorithms() -> None:
    takes = {
        (a.collective, a.name): {p.name: p.variable for p in a.parameters}
        for a in discover(_installation("mpich"))
        if a.component == "mpir"
    }
    assert takes["allreduce", "recursive_multiplying"] == {
        "radix": "MPIR_CVAR_ALLREDUCE_RECURSIVE_MULTIPLYING_KVAL"
    }
    assert takes["barrier", "k_dissemination"] == {"radix": "MPIR_CVAR_BARRIER_DISSEM_KVAL"}
    assert takes["allgather", "k_brucks"] == {"radix": "MPIR_CVAR_ALLGATHER_BRUCKS_KVAL"}
    assert takes["allgather", "brucks"] == {}
    # doc/mpich/tuning_parameters.md: only the pipelined one of bcast's trees cuts messages
    assert set(takes["bcast", "tree"]) == {"radix", "tree", "nonblocking"}
    assert set(takes["bcast", "pipelined_tree"]) == {
        "radix", "tree", "nonblocking", "segment", "preposted",
    }  # fmt: skip
    assert takes["bcast", "pipelined_tree"]["segment"] == (
        "MPIR_CVAR_BCAST_TREE_PIPELINE_CHUNK_SIZE"
    )
    assert set(takes["allreduce", "tree"]) == {"radix", "tree", "segment", "buffers"}
    assert takes["allreduce", "k_reduce_scatter_allgather"] == {
        "radix": "MPIR_CVAR_ALLREDUCE_RECEXCH_KVAL",
        "single_phase": "MPIR_CVAR_ALLREDUCE_RECEXCH_SINGLE_PHASE_RECV",
    }
    assert takes["allreduce", "reduce_scatter_allgather"] == {}
    for collective in ("alltoall", "alltoallv", "alltoallw"):
        assert takes[collective, "scattered"] == {"requests": "MPIR_CVAR_ALLTOALL_THROTTLE"}


@pytest.mark.parametrize("name", list(MPIS))
def test_candidates_are_distinct_and_complete(name: str) -> None:
    every = [v for a in discover(_installation(name)) for v in a.variations()]
    assert len({(v.collective, v.candidate) for v in every}) == len(every)
    for v in every:
        assert all(value for _, value in v.settings)


def test_parameters_show_in_the_label() -> None:
    mpi = _installation("mpich")
    (tree,) = (a for a in discover(mpi) if (a.collective, a.name) == ("allreduce", "tree"))
    words = {v.label for v in tree.variations()}
    assert {
        "mpir tree",
        "mpir tree(radix=4)",
        "mpir tree(tree=kary)",
        "mpir tree(buffers=1)",
    } <= words
    assert "mpir tree(tree=knomial_1)" not in words, "which it is by itself"


def test_only_what_fits_is_a_candidate() -> None:
    mpi = _installation("openmpi4" if "openmpi4" in MPIS else next(iter(MPIS)))
    two = candidates.resolve([candidates.ALL], mpi, "allgather", 2, 1)
    three = candidates.resolve([candidates.ALL], mpi, "allgather", 3, 1)
    assert len(two) == len(three) + 1  # two_proc
    assert len(candidates.resolve([candidates.ALL], mpi, "allgather", 4, 2)) > len(three)  # han
    every = candidates.resolve([candidates.EVERY], mpi, "bcast", 3, 1)
    assert any("knomial_radix=8" in c for c in every)


def test_names_become_settings() -> None:
    mpi = _installation(next(n for n in MPIS if n.startswith("openmpi")))
    (ring,) = candidates.resolve(["native:ring"], mpi, "allreduce", 4, 1)
    assert "coll_tuned_allreduce_algorithm=4" in ring
    assert candidates.labels(mpi, [ring, "shm"]) == {ring: "tuned ring"}
    kept = ["shm", "native:btl_tcp_links=2"]  # bcast has no ring
    assert candidates.resolve(["native:ring", *kept], mpi, "bcast", 4, 1) == kept
    with pytest.raises(UsageError, match="no 'rings' for allreduce"):
        candidates.resolve(["native:rings"], mpi, "allreduce", 4, 1)

"""Algorithms by what an MPI lists: releases to come, names that it lacks, layouts that they fit."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from stretto.errors import UsageError
from stretto.mpi.algorithms import NativeAlgorithm, mpich, named, openmpi
from stretto.mpi.variables import Variable


def _variables(*rows: tuple[str, str, list[tuple[int, str]]]) -> Mapping[str, Variable]:
    return {name: Variable(name, words, tuple(items)) for name, words, items in rows}


def test_a_newer_release_needs_no_edit() -> None:
    """What releases will add is found as well: a number of Open MPI 6, a k of MPICH's."""
    found = openmpi.find(
        _variables(
            ("coll_tuned_reduce_algorithm", "", [(0, "ignore"), (8, "knomial")]),
            ("coll_tuned_reduce_algorithm_knomial_radix", "", []),
        )
    )
    assert [(a.name, a.value, [p.name for p in a.parameters]) for a in found] == [
        ("knomial", "8", ["radix"])
    ]
    names = ("coll_tuned_reduce_algorithm", "coll_tuned_allgather_algorithm")
    found = openmpi.find(
        _variables(
            (names[0], "", [(0, "ignore"), (8, "knomial")]),
            (f"{names[0]}_segmentsize", "", []),
            (f"{names[0]}_chain_fanout", "", []),
            (f"{names[0]}_tree_fanout", "", []),
            (names[1], "", [(0, "ignore"), (2, "bruck-k-fanout"), (7, "sparbit")]),
            (f"{names[1]}_chain_fanout", "", []),
            (f"{names[1]}_tree_fanout", "", []),
        )
    )
    assert [(a.name, [p.variable for p in a.parameters]) for a in found] == [
        ("knomial", [f"{names[0]}_chain_fanout"]),
        ("bruck-k-fanout", [f"{names[1]}_tree_fanout"]),
        ("sparbit", []),
    ]
    found = mpich.find(
        _variables(
            ("MPIR_CVAR_SCAN_INTRA_ALGORITHM", "auto - x\nwheel   - Force wheel", []),
            ("MPIR_CVAR_SCAN_WHEEL_KVAL", "k", []),
            ("MPIR_CVAR_ISCAN_INTRA_ALGORITHM", "auto - x\nsched_wheel - y", []),
        )
    )
    assert [(a.collective, a.name, [p.name for p in a.parameters]) for a in found] == [
        ("scan", "wheel", ["radix"])
    ]


def test_names_that_an_mpi_has_not() -> None:
    """Of two MPIs nobody knew which, and each name stood there once for each part that has it."""
    twice = [
        NativeAlgorithm("allgather", "brucks", n, c, ()) for n, c in (("1", "mpir"), ("2", "posix"))
    ]
    with pytest.raises(UsageError) as caught:
        named(twice, "allgather", "ring", "MPICH 5.0.2")
    assert caught.value.message == "MPICH 5.0.2 has no 'ring' for allgather"
    assert caught.value.remedy == "it has brucks; native:all takes all that it has"
    with pytest.raises(UsageError) as caught:
        named(twice, "bcast", "ring")
    assert caught.value.remedy == "it has none"


def test_what_works_within_a_node_is_no_candidate_on_several() -> None:
    """Forced there, it would be measured as what the MPI does by itself."""
    name = "MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM"
    (found,) = mpich.find(_variables((name, "mpir - x\nrelease_gather - shared memory", [])))
    assert found.label == "posix release_gather"
    assert found.fits(4, 1) and not found.fits(4, 2)

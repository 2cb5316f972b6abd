"""Nothing that an installed MPI reports is left out of its candidates.

A small C program asks MPI_T; what it lists is compared with what discovery finds, whose code is
not used for that.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from mpis import MPIS, Mpi
from processes import run_program
from stretto.mpi import from_launcher
from stretto.mpi.algorithms import NativeAlgorithm, discover

OPENMPI = [name for name in MPIS if name.startswith("openmpi")]

#: name, number of values that have names, and help of each control variable, a line each
LISTS = r"""
#include <mpi.h>
#include <stdio.h>
int main(void)
{
    int threads, count;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &threads);
    MPI_T_cvar_get_num(&count);
    for (int i = 0; i < count; i++) {
        char name[512] = "", help[8192] = "", word[256];
        int name_length = sizeof(name), help_length = sizeof(help), word_length = sizeof(word);
        int verbosity, binding, scope, items = 0;
        MPI_Datatype type;
        MPI_T_enum values = MPI_T_ENUM_NULL;
        if (MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &values, help,
                                &help_length, &binding, &scope) != MPI_SUCCESS)
            continue;
        if (values != MPI_T_ENUM_NULL &&
            MPI_T_enum_get_info(values, &items, word, &word_length) != MPI_SUCCESS)
            items = 0;
        for (char *c = help; *c; c++)
            if (*c == '\n')
                *c = '|';
        printf("%s\t%d\t%s\n", name, items, help);
    }
    MPI_T_finalize();
    return 0;
}
"""

Listed = dict[str, tuple[int, str]]


def listed(mpi: Mpi, directory: Path) -> Listed:
    source = directory / "lists.c"
    source.write_text(LISTS)
    program = mpi.compile(source, directory / f"lists-{mpi.name}")
    done = run_program(
        [str(program)], env=mpi.environment, errors="replace", timeout=200, check=True
    )
    rows = [line.split("\t", 2) for line in done.stdout.splitlines() if line.count("\t") > 1]
    assert len(rows) > 100
    return {name: (int(items), words) for name, items, words in rows}


def found(mpi: Mpi) -> list[NativeAlgorithm]:
    return discover(from_launcher(Path(mpi.launcher(1)[0]), mpi.environment))


def numbers(algorithms: list[NativeAlgorithm], component: str) -> Counter[str]:
    return Counter(a.collective for a in algorithms if a.component == component)


@pytest.mark.parametrize("name", OPENMPI)
def test_open_mpi_has_no_more_than_is_found(name: str, tmp_path: Path) -> None:
    mpi = MPIS[name].require()
    told, mine = listed(mpi, tmp_path), found(mpi)
    tuned = {
        m[1]: items - 1  # the native selection is no algorithm
        for n, (items, _) in told.items()
        if (m := re.fullmatch(r"coll_tuned_(\w+)_algorithm", n))
    }
    assert numbers(mine, "tuned") == Counter(tuned) and len(tuned) == 14
    han = {
        m[1]: items - 1
        for n, (items, _) in told.items()
        if (m := re.fullmatch(r"coll_han_use_(\w+)_algorithm", n))
    }
    # the release before the numbers: a switch between two
    switches = [m[1] for n in told if (m := re.fullmatch(r"coll_han_use_simple_(\w+)", n))]
    assert numbers(mine, "han") == Counter(han or dict.fromkeys(switches, 2))
    assert sum(numbers(mine, "han").values()) >= 12
    for component in ("adapt", "basic", "sm"):
        assert bool(numbers(mine, component)) == (f"coll_{component}_priority" in told)
    for a in mine:
        assert all(n in told for n, _ in a.settings), a.candidate
        assert all(p.variable in told and p.values for p in a.parameters), a.candidate


@pytest.mark.parametrize("name", OPENMPI)
def test_open_mpis_algorithms_take_what_they_look_at(name: str) -> None:
    """By Open MPI's sources, coll_tuned_*_decision_dynamic.c: what it passes to each."""
    takes = {
        (a.collective, a.name): {p.name for p in a.parameters}
        for a in found(MPIS[name].require())
        if a.component == "tuned" and a.parameters
    }
    segment = {"segment"}
    assert takes == {
        ("allreduce", "segmented_ring"): segment,
        ("alltoall", "linear_sync"): {"requests"},
        ("bcast", "chain"): {"segment", "fanout"},
        ("bcast", "pipeline"): segment,
        ("bcast", "split_binary_tree"): segment,
        ("bcast", "binary_tree"): segment,
        ("bcast", "binomial"): segment,
        ("bcast", "knomial"): {"segment", "radix"},
        ("reduce", "chain"): {"segment", "fanout"},
        ("reduce", "pipeline"): segment,
        ("reduce", "binary"): segment,
        ("reduce", "binomial"): segment,
        ("reduce", "in-order_binary"): segment,
    }


#: parameters of blocking collectives that are not tried: mpich.py says why
_LEFT_OUT = re.compile(
    r"_TOPO_|_(BUFFER_TOTAL_SIZE|NUM_CELLS|MSG_SIZE_THRESHOLD|SHORT_MSG_SIZE|LONG_MSG_SIZE)$"
)


def test_mpich_has_no_more_than_is_found(tmp_path: Path) -> None:
    mpi = MPIS["mpich"].require()
    told, mine = listed(mpi, tmp_path), found(mpi)
    layers: dict[str, Counter[str]] = {"mpir": Counter(), "posix": Counter()}
    kinds = {m[1] for n in told if (m := re.fullmatch(r"MPIR_CVAR_(\w+)_INTRA_ALGORITHM", n))}
    for kind in kinds:
        collective, posix, _ = kind.partition("_POSIX")
        if collective[0] == "I" and collective[1:] in kinds:
            continue
        words = re.findall(r"(?:^|\|)(\w+) +- ", told[f"MPIR_CVAR_{kind}_INTRA_ALGORITHM"][1])
        wanted = set(words) - {"auto", "nb", "ccl"} - ({"mpir"} if posix else set())
        if "_OFI" not in kind:
            layers["posix" if posix else "mpir"][collective.lower()] = len(wanted)
    for layer, count in layers.items():
        assert numbers(mine, layer) == +count, layer
    assert sum(layers["posix"].values()) >= 8
    compositions: Counter[str] = Counter()
    for n, (_, words) in told.items():
        if m := re.fullmatch(r"MPIR_CVAR_([A-Z_]+)_COMPOSITION", n):
            # "0 Auto selection 1 NM + SHM 2 NM only": one on several nodes by itself is not told
            digits = re.findall(r"\b([1-9]) (?=[A-Z])(?!SHM only)", words)
            compositions[m[1].lower()] = len(digits)
    assert numbers(mine, "composition") == compositions
    assert compositions["allreduce"] == 3 and sum(compositions.values()) >= 15


def test_mpichs_parameters_are_taken_by_some_algorithm(tmp_path: Path) -> None:
    mpi = MPIS["mpich"].require()
    told, mine = listed(mpi, tmp_path), found(mpi)
    collectives = {a.collective.upper() for a in mine}
    ends = "KVAL|KVAL_LARGE|TREE_TYPE|TREE_TYPE_LARGE|CHUNK_SIZE|PER_CHILD|PHASE_RECV|THROTTLE"
    ends += "|NON_BLOCKING|PRE_POST|BUFFER_TOTAL_SIZE|NUM_CELLS|THRESHOLD"
    theirs = {
        n
        for n in told
        if (m := re.fullmatch(rf"MPIR_CVAR_(\w+?)_\w*({ends})", n)) and m[1] in collectives
    }
    taken = {p.variable for a in mine for p in a.parameters}
    assert taken <= theirs and len(taken) > 15
    assert not [n for n in theirs - taken if not _LEFT_OUT.search(n)]
    by_variable = {
        v: {(a.collective, a.name) for a in mine if v in {p.variable for p in a.parameters}}
        for v in taken
    }
    gathers = {("allreduce", "release_gather"), ("reduce", "release_gather")}
    releases = {("allreduce", "release_gather"), ("bcast", "release_gather")}
    releases |= {("barrier", "release_gather")}
    for end in ("KVAL", "TYPE"):
        assert by_variable[f"MPIR_CVAR_BCAST_INTRANODE_TREE_{end}"] == releases
        for size in ("", "_LARGE"):
            assert by_variable[f"MPIR_CVAR_REDUCE_INTRANODE_TREE_{end}{size}"] == gathers


def test_intel_has_no_more_than_is_found(tmp_path: Path) -> None:
    mpi = MPIS["intel"].require()
    told, mine = listed(mpi, tmp_path), found(mpi)
    reported: Counter[str] = Counter()
    for _, words in told.values():
        alias, span = re.search(r"I_MPI_ADJUST_(\w+)", words), re.search(r"range: *0-(\d+)", words)
        if alias and span:
            reported[f"I_MPI_ADJUST_{alias[1]}"] = int(span[1]) + 1
    blocking = {n for n in reported if not _nonblocking(n, reported)}
    blocking -= {n for n in blocking if "SENDRECV_REPLACE" in n}
    counted = Counter(a.settings[0][0] for a in mine)
    assert counted == Counter({n: reported[n] for n in blocking})
    for level in ("composition", "network", "node"):
        assert len(numbers(mine, level)) >= 12, level


def _nonblocking(name: str, names: Counter[str]) -> bool:
    collective = name.removeprefix("I_MPI_ADJUST_")
    collective = re.sub(r"_(COMPOSITION|NETWORK|NODE)$", "", collective)
    return collective[0] == "I" and f"I_MPI_ADJUST_{collective[1:]}" in names

"""``stretto export --check`` with each MPI: right files are proven, wrong ones found and named."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from exports import FIVE, FOUR, LOOKS_S, TUNED, mpir, preset, tuned
from mpis import MPICH_YIELDS, alone_here, installation, rarely
from processes import executable, run_program
from stretto.errors import StrettoError
from stretto.export import intel, mpich, openmpi, probe
from stretto.export.cases import CheckCase
from stretto.export.check import CheckPlan, check, read, run
from stretto.export.output import Export, write
from stretto.export.rules import Rule
from stretto.export.verdicts import UNSEEN, RowCheck
from stretto.files.export import ExportManifest
from stretto.files.layout import RankLayout
from stretto.mpi.base import MPIInstallation

pytestmark = pytest.mark.mpi


#: each MPI's rows: a reduction, and collectives that only messages or arrivals tell apart
OPENMPI = [
    *TUNED,
    Rule("allgather", FIVE, 0, 511, ()),
    Rule("alltoallv", FIVE, 0, None, tuned("alltoallv", 1)),
]
MPICH = [
    Rule("allreduce", FIVE, 0, 1000, ()),
    Rule("allreduce", FIVE, 1001, 100000, mpir("allreduce", "tree", TREE_KVAL=3)),
    Rule("allreduce", FIVE, 100001, None, ()),
    Rule("allgather", FIVE, 0, 511, ()),
    Rule("allgather", FIVE, 512, 4095, mpir("allgather", "ring")),
    Rule("allgather", FIVE, 4096, None, ()),
    Rule("allreduce", FOUR, 0, None, mpir("allreduce", "recursive_doubling")),
    Rule("allgatherv", FIVE, 0, 511, ()),
    Rule("allgatherv", FIVE, 512, 4095, mpir("allgatherv", "ring")),
    Rule("allgatherv", FIVE, 4096, None, ()),
    Rule("reduce_scatter", FIVE, 0, 511, ()),
    Rule("reduce_scatter", FIVE, 512, None, mpir("reduce_scatter", "pairwise")),
]

INTEL = [
    Rule("allreduce", FIVE, 0, 99999, preset("allreduce", 1)),
    Rule("allreduce", FIVE, 100000, None, preset("allreduce", 8)),
    Rule("alltoall", FIVE, 0, None, preset("alltoall", 3)),
    Rule("allgatherv", FIVE, 0, None, preset("allgatherv", 3)),
    Rule("reduce_scatter", FIVE, 0, 4095, preset("reduce_scatter", 2)),
    Rule("reduce_scatter", FIVE, 4096, None, preset("reduce_scatter", 4)),
]


def exported(export: Export, mpi: MPIInstallation, target: str, out: Path) -> Path:
    write(export, out, "test", target, mpi.identity)
    return out


def by_status(verdicts: Sequence[RowCheck]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {"proven": [], "unproven": [], "wrong": []}
    for v in verdicts:
        out[v.status].append(f"{v.words}: {v.why}")
    return out


def seen(
    look: Callable[[], Sequence[RowCheck]], seconds: float = LOOKS_S / 2
) -> Sequence[RowCheck]:
    """The verdicts of a look, when the machine was quiet enough to see what shows them.

    In no look may anything be proven without having been seen.
    """
    until = time.monotonic() + seconds
    while True:
        found = look()
        unseen = [v for v in found if UNSEEN in v.why]
        assert all(v.status != "proven" for v in unseen), found
        if not unseen or time.monotonic() > until:
            return found


def ran(
    manifest: ExportManifest, environment: Mapping[str, str], mpi: MPIInstallation, *rows: int
) -> Callable[[], Sequence[RowCheck]]:
    """A look at what runs, of these rows, or of all."""

    def look() -> Sequence[RowCheck]:
        found = run(manifest, environment, CheckPlan(mpi), quiet=True)
        return [found[row] for row in rows] or list(found.values())

    return look


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_open_mpi_rows_are_proven(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi = installation(name, monkeypatch)
    target = f"openmpi-{name[-1]}"
    out = exported(openmpi.classic(OPENMPI, name[-1]), mpi, target, tmp_path)
    with alone_here():
        found = by_status(check(out, CheckPlan(mpi), quiet=True))
    assert not found["wrong"], found
    # its algorithms send the same messages, and no reduction shows their order
    assert [words.partition(" ")[0] for words in found["unproven"]] == ["alltoallv"], found
    assert len(found["proven"]) == 8  # seven rows, and the calls without one
    assert sum(" outside it " in words for words in found["proven"]) == 7


@pytest.mark.long
def test_intel_rows_are_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpi = installation("intel", monkeypatch)
    out = exported(intel.adjust(INTEL), mpi, "intel", tmp_path)
    with alone_here():
        found = by_status(seen(lambda: check(out, CheckPlan(mpi), quiet=True), LOOKS_S))
    assert len(found["proven"]) == 7 and not found["wrong"], found  # with calls without a row


@pytest.mark.long
def test_mpich_rows_are_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpi = installation("mpich", monkeypatch, MPICH_YIELDS)
    out = exported(mpich.trees(MPICH, mpi), mpi, "mpich", tmp_path)
    with alone_here():
        found = by_status(seen(lambda: check(out, CheckPlan(mpi), quiet=True), LOOKS_S))
    assert not found["unproven"] and not found["wrong"], found
    assert len(found["proven"]) == 6  # with the calls that have no row


#: rows whose algorithms add in the same order as those that the spoilt files have instead, on 4
#: ranks: of MPICH what its tree says there, of Intel MPI the preset
SAME_ORDER = {
    "mpich": (
        {"allreduce": "recursive_doubling", "reduce": "binomial",
         "reduce_scatter": "noncommutative"},
        {"allreduce": "reduce_scatter_allgather", "reduce": "reduce_scatter_gather",
         "reduce_scatter": "recursive_doubling"},
    ),
    "intel": ({"reduce": "2"}, {"reduce": "5"}),
}  # fmt: skip


def tree_with(text: str, old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """MPICH's tree with other algorithms in rows for all sizes beyond some, on 4 ranks."""
    tree = json.loads(text)
    for collective, name in old.items():
        rows = tree[f"collective={collective}"]["comm_type=intra"]["comm_size<=4"]
        sizes = rows["comm_size=node_comm_size"]["is_commutative=yes"]
        (beyond,) = [key for key in sizes if key.endswith("size=any")]
        row = json.dumps(sizes[beyond])
        assert f"intra_{name}" in row
        sizes[beyond] = json.loads(row.replace(f"intra_{name}", f"intra_{new[collective]}"))
    return json.dumps(tree, indent=1)


@pytest.mark.long
@pytest.mark.parametrize("name", list(SAME_ORDER))
def test_reductions_that_add_in_the_same_order(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums are the same with both: operands (MPICH) and held ranks (Intel MPI) tell them apart."""
    mpi = installation(name, monkeypatch, MPICH_YIELDS if name == "mpich" else None)
    right, wrong = SAME_ORDER[name]
    settings = {c: mpir(c, v) if name == "mpich" else preset(c, int(v)) for c, v in right.items()}
    rules = [Rule(c, FOUR, 4096, None, pairs) for c, pairs in settings.items()]
    rules += [Rule(c, FOUR, 0, 4095, () if name == "mpich" else settings[c]) for c in right]
    export = mpich.trees(rules, mpi) if name == "mpich" else intel.adjust(rules)
    out = exported(export, mpi, name, tmp_path)
    manifest, environment = read(out)
    calls = [CheckCase(c, 65536, 4, None, True) for c in right]
    with alone_here():
        found = seen(ran(manifest, environment, mpi))
        assert {v.status for v in found} == {"proven"}, found
        own = probe.take(probe.ProbePlace(mpi), calls, 4, environment, [], {})
        if name == "mpich":
            path = out / "stretto-mpich-mpir.json"
            path.write_text(tree_with(path.read_text(), right, wrong))
        else:
            environment = environment | {"I_MPI_ADJUST_REDUCE": wrong["reduce"]}
        other = probe.take(probe.ProbePlace(mpi), calls, 4, environment, [], {})
        found = seen(ran(manifest, environment, mpi))
    for case in calls:
        sums = [p.seen[case.call].kinds["sums"] for p in (own, other)]
        assert len({*sums[0], *sums[1]}) == 1, "the old evidence does not see it"
    assert {v.status for v in found if v.row is not None} == {"wrong"}, found


@pytest.mark.long
@pytest.mark.parametrize("name", ["mpich", "intel"])
def test_barriers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By who gets out while one rank stands still inside."""
    mpi = installation(name, monkeypatch, MPICH_YIELDS if name == "mpich" else None)
    forced = mpir("barrier", "k_dissemination") if name == "mpich" else preset("barrier", 3)
    rules = [Rule("barrier", FOUR, 0, None, forced)]
    export = mpich.trees(rules, mpi) if name == "mpich" else intel.adjust(rules)
    manifest, environment = read(exported(export, mpi, name, tmp_path))
    spoilt = dict(environment)
    if name == "mpich":  # its shared memory goes first again
        del spoilt["MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE"]
    else:
        spoilt["I_MPI_ADJUST_BARRIER"] = "1"
    with alone_here():
        assert [v.status for v in seen(ran(manifest, environment, mpi, 0))] == ["proven"]
        assert [v.status for v in seen(ran(manifest, spoilt, mpi, 0))] == ["wrong"]


Edit = Callable[[str], str]


def swap(old: str, new: str) -> Edit:
    def edit(text: str) -> str:
        assert old in text, text
        return text.replace(old, new, 1)

    return edit


LEAK = """6 # ranks and more
1 # message sizes
0 0 0 0
7 # bcast"""
#: how a classic file is spoilt
SPOILT: dict[str, Edit] = {
    "an algorithm that is not there": swap("\n1001 4 0 0\n", "\n1001 99 0 0\n"),
    "another algorithm": swap("\n1001 4 0 0\n", "\n1001 3 0 0\n"),
    "a row that leaks to more ranks": (
        lambda text: swap(LEAK, "7 # bcast")(swap("3 # communicator", "2 # communicator")(text))
    ),
    "half of it": lambda text: text[: len(text) // 2],
    "too many blocks announced": swap("3 # message sizes", "4 # message sizes"),
}
SOME = [r for r in OPENMPI if r.collective in ("allreduce", "bcast") and r.layout == FIVE]


@pytest.mark.parametrize("fault", rarely(SPOILT, ["another algorithm"]))
def test_wrong_files_are_found_by_running(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi = installation("openmpi5", monkeypatch)
    out = exported(openmpi.classic(SOME, "5"), mpi, "openmpi-5", tmp_path)
    path = out / openmpi.RULES_FILE
    path.write_text(SPOILT[fault](path.read_text()))
    with alone_here():
        found = run(*read(out), CheckPlan(mpi), quiet=True)
    assert any(v.status == "wrong" for v in found.values()), found


def test_one_launch_that_does_not_start_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its verdict is that of the launch that went through."""
    mpi = installation("openmpi4", monkeypatch)
    program = tmp_path / "bench"
    real = probe.library("bench", mpi.abi)
    executable(
        program,
        f"#!/bin/sh\nif mkdir {tmp_path}/tried 2>/dev/null; then echo no luck; exit 3; fi\n"
        f'exec {real} "$@"\n',
    )
    monkeypatch.setattr(probe, "library", lambda _kind, _abi: program)
    out = exported(openmpi.classic(SOME, "4"), mpi, "openmpi-4", tmp_path)
    with alone_here():
        found = run(*read(out), CheckPlan(mpi), quiet=True)
    assert {v.status for v in found.values()} == {"proven"}, found
    assert any("; one launch failed in" in v.why for v in found.values()), found


def stretto(*words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    with alone_here():
        done = run_program([sys.executable, "-m", "stretto", *words], timeout=600)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_a_script_that_fails_is_no_export_without_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had set until then would be checked as if it were all."""
    mpi = installation("openmpi4", monkeypatch)
    out = exported(openmpi.classic(SOME, "4"), mpi, "openmpi-4", tmp_path)
    script = out / "stretto-native.sh"
    whole = script.read_text()
    for last, words in (("exit 7", "exit status 7"), ("module-that-is-not load x", "not found")):
        script.write_text(f"{whole}\n{last}\n")
        with pytest.raises(StrettoError, match=f"the script cannot be sourced: .*{words}"):
            read(out)


def test_the_command_says_which_row_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi = installation("openmpi4", monkeypatch)
    out = exported(openmpi.classic(SOME, "4"), mpi, "openmpi-4", tmp_path)
    words = ("export", "--check", "--out", str(out), "--mpi", str(mpi.need_launcher()))
    script = out / "stretto-native.sh"
    script.write_text(script.read_text().replace(openmpi.RULES_FILE, "nothing.rules"))
    done = stretto(*words, status=1)
    assert "wrong     allreduce on 5 ranks, 1001 to 100000 bytes" in done.stdout
    assert "the native selection runs instead of the algorithm of the row" in done.stdout
    assert "nothing.rules, but was written as" in done.stderr and "try: write" in done.stderr


def test_what_cannot_be_run_is_unproven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpi = installation("openmpi5", monkeypatch)
    rules = [
        Rule("bcast", RankLayout(1, 64, 64), 0, None, tuned("bcast", 2)),
        Rule("bcast", RankLayout(4, 2, 8), 0, None, tuned("bcast", 3)),
        Rule("bcast", FIVE, 1 << 40, None, tuned("bcast", 3)),
    ]
    out = exported(openmpi.classic(rules, "5"), mpi, "openmpi-5", tmp_path)
    with alone_here():
        verdicts = check(out, CheckPlan(mpi), quiet=True)
    why = {v.words: (v.status, v.why) for v in verdicts if v.row is not None}
    assert {status for status, _ in why.values()} == {"unproven"}
    words = " ".join(reason for _, reason in why.values())
    assert "64 ranks are too many" in words and "needs 4 nodes" in words and "too large" in words


@pytest.mark.long
def test_intel_clauses_that_are_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Intel MPI takes its default for a bad preset without a word; the switches make it fail."""
    mpi = installation("intel", monkeypatch)
    out = exported(intel.adjust(INTEL[:2]), mpi, "intel", tmp_path)
    manifest, environment = read(out)
    name = "I_MPI_ADJUST_ALLREDUCE"
    spoilt = environment | {name: environment[name].replace("8:100000", "77:100000")}
    with alone_here():
        assert [v.status for v in seen(ran(manifest, spoilt, mpi, 1))] == ["wrong"]


#: how MPICH's tree is spoilt
SPOILT_TREES: dict[str, Edit] = {
    "an algorithm that is not there": swap(
        "MPIR_Allreduce_intra_tree", "MPIR_Allreduce_intra_bush"
    ),
    "another algorithm": swap("MPIR_Allreduce_intra_tree", "MPIR_Allreduce_intra_ring"),
    "a row that leaks to more ranks": swap('"comm_size<=5"', '"comm_size<=6"'),
    "half of it": lambda text: text[: len(text) // 2],
}


@pytest.mark.long
@pytest.mark.parametrize("fault", list(SPOILT_TREES))
def test_wrong_trees_are_found(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpi = installation("mpich", monkeypatch, MPICH_YIELDS)
    edit = SPOILT_TREES[fault]
    out = exported(mpich.trees(MPICH[:3], mpi), mpi, "mpich", tmp_path)
    path = out / "stretto-mpich-mpir.json"
    path.write_text(edit(path.read_text()))
    if "leaks" in fault:  # what the device does there hides it, else
        device = out / "stretto-mpich-ch4.json"
        device.write_text(edit(device.read_text()))
    manifest, environment = read(out)
    with alone_here():
        assert "wrong" in {v.status for v in seen(ran(manifest, environment, mpi))}

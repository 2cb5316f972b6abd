"""What `stretto export` writes and says of results: a table of cases; no MPI is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from exports import FOUR, result_file, tuned
from stretto.cli import main
from stretto.export.reach import ENOUGH
from stretto.export.sizes import OWN_SIZE
from stretto.files.export import EXPORT, NAME
from stretto.files.identity import MPIIdentity
from stretto.files.layout import RankLayout

Times = Mapping[tuple[str, int], Mapping[str, float]]
Rows = Mapping[str, str | None]
TWO_BY_TWO = RankLayout(2, 2, 4)
DYNAMIC, OFF = "coll_tuned_use_dynamic_rules=1", "coll_han_priority=0"
OPENMPI4, OPENMPI5, OPENMPI6 = (
    MPIIdentity("openmpi", "openmpi", v, f"Open MPI v{v}") for v in ("4.1.4", "5.0.11", "6.0.0")
)
INTEL = MPIIdentity("intel", "mpich", "2021.18.1", "Intel(R) MPI Library 2021.18")
ALL_OPENMPI = ("openmpi-4", "openmpi-5", "openmpi-6")
SIZES = (8, 128, 2048, 32768, 1 << 19)
#: of which one row for all sizes may be made
WHOLE = (8, 64, 1024, 16384, 1 << 18, ENOUGH)
NOTHING = "significantly faster than native"


@dataclass(frozen=True)
class Case:
    """An export and what it is to say.

    `rows`: by collective the algorithm of all its rows, None: of several. `said`, `unsaid`: in
    what is printed for people, and not there.
    """

    what: str
    target: str
    times: Times
    rows: Rows
    said: Sequence[str] = ()
    unsaid: Sequence[str] = ()
    words: tuple[str, ...] = ()
    layout: RankLayout = FOUR
    mpi: MPIIdentity = OPENMPI5
    launches: int = 8


def exported(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Export a case's results, and compare rows and words."""
    results, out = tmp_path / "r.bench.jsonl", tmp_path / "out"
    result_file(results, case.times, case.layout, case.mpi, launches=case.launches)
    words = ["export", "--to", case.target, "--out", str(out), *case.words, str(results)]
    assert main(words) == 0
    found: dict[str, set[str]] = {}
    for row in EXPORT.read(out / NAME).rows:
        chosen = (v for n, v in row.settings if n.lower().endswith("_algorithm") or "ADJUST" in n)
        found.setdefault(row.collective, set()).add(next(chosen))
    assert set(found) == set(case.rows)
    for collective, number in case.rows.items():
        assert number is None or found[collective] == {number}, collective
    err = capsys.readouterr().err
    assert not [x for x in case.said if x not in err], err
    assert not [x for x in case.unsaid if x in err], err


def candidate(collective: str, number: int, **more: int) -> str:
    pairs = [f"{n}={v}" for n, v in tuned(collective, number, **more)]
    return "native:" + ",".join([*pairs, DYNAMIC])


def reaching(target: str, collective: str, name: str, mpi: MPIIdentity) -> Iterator[Case]:
    """One of 8 bytes held up to any size without a word."""
    number, words = name.split(",")[0].partition("=")[2], f"{collective} on 4 ranks on 1 x 4: its"
    by_size = "--plain-calls writes rows by size"
    own = collective in OWN_SIZE
    said = f"{words} row applies to all sizes; measured at "
    short = (
        "would apply to all sizes, but 8 bytes is the largest",
        f"to {ENOUGH}, at most 16 times apart (stretto bench --bytes)",
    )
    times = {(collective, size): {"bare": 100.0, f"native:{name}": 50.0} for size in WHOLE}
    one = {(collective, 8): times[collective, 8]}
    row = {collective: number}
    yield Case(
        "a row for all sizes is not written of one", target, one, {},
        (*short, by_size) if own else short, () if own else (by_size,), mpi=mpi,
    )  # fmt: skip
    yield Case(
        "a row for all sizes is written of one if asked for", target, one, row, (f"{said}8 bytes",),
        words=("--beyond-measured",), mpi=mpi,
    )  # fmt: skip
    yield Case(
        "a row for all sizes is written of all", target, times, row,
        (f"{said}8, 64, 1024, 16384, 262144, {ENOUGH} bytes",), mpi=mpi,
    )  # fmt: skip


def not_for_rows() -> Iterator[Case]:
    """What files cannot say makes room for the next best."""
    more = "native:coll_tuned_allreduce_algorithm=4,btl_vader_eager_limit=65536"
    prefixed = "native:OMPI_MCA_coll_tuned_allreduce_algorithm=3"
    for target, mpi in (("openmpi-4", OPENMPI4), ("openmpi-6", OPENMPI6)):
        yield Case(
            "settings that rows cannot hold make another candidate", target,
            {("allreduce", 1024): {"bare": 50.0, more: 20.0, prefixed: 30.0}}, {"allreduce": "3"},
            ("rows cannot express btl_vader_eager_limit; the next best",), mpi=mpi,
        )  # fmt: skip
    # measured without HAN; with the files HAN runs inside, for no file turns it off
    for target in ALL_OPENMPI[1:]:
        for collective, compound, flat in (
            ("allreduce", 2, 3), ("reduce_scatter", 1, 3), ("reduce_scatter_block", 1, 2),
        ):  # fmt: skip
            both = [f"{candidate(collective, n)},{OFF}" for n in (compound, flat)]
            times = {"bare": 100.0, both[0]: 40.0, both[1]: 50.0}
            yield Case(
                "what calls others gives way beside HAN", target,
                {(collective, size): times for size in SIZES}, {collective: str(flat)},
                ("it calls other collectives", "the next best that is has x 0.5"),
                layout=TWO_BY_TWO,
            )  # fmt: skip
    han = "coll_han_priority=100,coll_han_use_bcast_algorithm=9"
    for given, layout, why in (
        ("coll_tuned_bcast_algorithm=fast", FOUR,
         "the number of coll_tuned_bcast_algorithm=fast is unknown"),
        ("coll_tuned_bcast_algorithm=0", FOUR, "native selection"),
        ("coll_tuned_bcast_algorithm=17", FOUR, "Open MPI 5 has no algorithm 17 for bcast"),
        (han, TWO_BY_TWO, "HAN has no algorithm 9 for bcast"),
    ):  # fmt: skip
        times = {"bare": 100.0, f"native:{given}": 40.0, f"{candidate('bcast', 1)},{OFF}": 50.0}
        yield Case(
            "it was an exception, and the whole export lost", "openmpi-5",
            {("bcast", size): times for size in SIZES}, {"bcast": "1"}, (why,), layout=layout,
        )  # fmt: skip
    several, one = "I_MPI_ADJUST_ALLREDUCE=2:0-1024", "I_MPI_ADJUST_ALLREDUCE=07"
    times = {"bare": 100.0, f"native:{several}": 40.0, f"native:{one}": 50.0}
    yield Case(
        "what is not one preset has no clauses", "intel",
        {("allreduce", size): times for size in SIZES}, {"allreduce": "7"},
        (f"{several} is not a preset",), mpi=INTEL,
    )  # fmt: skip


def for_all_sizes() -> Iterator[Case]:
    for target in ALL_OPENMPI:
        for c, n in (("allgather", 1), ("allgatherv", 3), ("gather", 1), ("scan", 2),
                     ("alltoallv", 1)):  # fmt: skip
            yield from reaching(target, c, f"coll_tuned_{c}_algorithm={n},{DYNAMIC}", OPENMPI5)
        # rows for some sizes had ranks of one MPI_Scatter go different ways, and hang
        words = "no algorithm that is faster at some sizes is as fast"
        for c in ("scan", "exscan", "gather", "scatter"):
            for large in (30.0, 8.0):
                times = {
                    (c, n): {"bare": 10.0, candidate(c, 2): large if n == 65536 else 8.0}
                    for n in (8, 64, 512, 4096, 65536, 1 << 19)
                }
                slower = large > 10
                yield Case(
                    "an algorithm for all sizes is nowhere slower", target, times,
                    {} if slower else {c: "2"}, (words,) * slower, (words,) * (not slower),
                )  # fmt: skip
    yield from reaching("intel", "alltoallv", "I_MPI_ADJUST_ALLTOALLV=2", INTEL)
    for target, name, mpi in (
        ("openmpi-5", candidate("barrier", 2), OPENMPI5),
        ("intel", "native:I_MPI_ADJUST_BARRIER=2", INTEL),
    ):
        yield Case(
            "a barrier has no sizes", target, {("barrier", 0): {"bare": 100.0, name: 50.0}},
            {"barrier": "2"}, unsaid=("all sizes",), mpi=mpi,
        )  # fmt: skip


def unsafe_results() -> Times:
    """Where algorithms that cut a message, and others by size, are the fastest."""
    times: dict[tuple[str, int], Mapping[str, float]] = {}
    for size in (4, 1024, 65536):
        times["bcast", size] = {
            "bare": 10.0, candidate("bcast", 8): 4.0, candidate("bcast", 3, segmentsize=1024): 5.0,
            candidate("bcast", 6): 8.0,
        }  # fmt: skip
        for c, number in (("allgather", 4), ("allgatherv", 3), ("alltoall", 2)):
            times[c, size] = {"bare": 10.0, candidate(c, number): 5.0 if size > 4 else 20.0}
        times["allgather", size] = {**times["allgather", size], candidate("allgather", 7): 7.0}
        times["allreduce", size] = {
            "bare": 10.0, candidate("allreduce", 4): 5.0, candidate("allreduce", 3): 8.0
        }  # fmt: skip
    for size in (4, 64, 1024, 16384, 1 << 18, 1 << 19):  # one row for all sizes needs them
        times["gather", size] = {"bare": 10.0, candidate("gather", 3, segmentsize=1024): 5.0}
    return times


def options() -> Iterator[Case]:
    """Which rows options write or leave out, and how many faster choices they withhold."""
    rest: Rows = {"gather": "3", "allgather": None, "allgatherv": "3", "alltoall": "2"}
    written: list[tuple[tuple[str, ...], Rows, tuple[str, ...]]] = [
        ((), {"bcast": "6", "alltoall": "2", "allreduce": "4"},
         ("bcast_algorithm=8,coll_tuned_use_dynamic_rules=1 cannot be used in these files",
          "use different counts and datatypes for the same data", "--plain-calls writes",
          "allgather on 4 ranks on 1 x 4: in legal calls, ranks may look up different sizes",
          "allgatherv on 4 ranks on 1 x 4: in legal")),
        (("--plain-calls",), {"bcast": "8", "allreduce": "4", **rest},
         ("bcast: scatter_allgather: fails (hangs, aborts or gives wrong data)",
          "gather: linear_sync with segments: fails (hangs",
          "allgather: rows by size: each rank looks up the size of its send")),
        (("--keep-order", "--plain-calls"), {"bcast": "8", "allreduce": "3", **rest},
         ("the next best that is has x 0.80",)),
    ]  # fmt: skip
    for target in ALL_OPENMPI:
        for words, rows, said in written:
            yield Case(
                "options decide which unsafe rows are written", target, unsafe_results(), rows,
                said, words=words, mpi=OPENMPI4,
            )  # fmt: skip
    fast = {c: candidate(c, n) for c, n in (("bcast", 8), ("gather", 2), ("allreduce", 4))}
    withheld = "withheld by options (see the notes)"
    left: list[tuple[tuple[str, ...], tuple[str, ...], Rows, str]] = [
        (("bcast",), (), {}, f"2 faster choices were {withheld}; nothing else that "
         "these files can express was significantly faster"),
        (("bcast",), ("--plain-calls",), {"bcast": "8"}, ""),
        (("bcast",), ("--plain-calls", "--without", "bcast"), {},
         f"1 faster choice was {withheld}; nothing else was"),
        (("gather", "allreduce"), ("--keep-order",), {}, "2 faster choices were withheld"),
    ]  # fmt: skip
    for mine, words, row, sentence in left:
        sizes = (1024, 2048) if "bcast" in mine else (1024,)
        yield Case(
            "choices that options withhold are counted", "openmpi-4",
            {(c, n): {"bare": 10.0, fast[c]: 4.0} for c in mine for n in sizes}, row,
            (sentence,) if sentence else (), () if sentence else ("significantly",),
            words=words, mpi=OPENMPI4,
        )  # fmt: skip
    for launches, counted in ((5, "5 launches"), (1, "1 launch")):
        yield Case(
            "without a test nothing is said to be no faster", "openmpi-5",
            {("allreduce", 8): {"bare": 50.0, candidate("allreduce", 4): 20.0}}, {},
            (f"at most {counted}, too few for a test (at least 6): no algorithm can count",
             "repeat the measuring command (--launches 6 or more)"),
            (NOTHING,), launches=launches,
        )  # fmt: skip


CASES = [*not_for_rows(), *for_all_sizes(), *options()]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.target} {c.what}")
def test_export_of_results_writes_and_says(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exported(case, tmp_path, capsys)

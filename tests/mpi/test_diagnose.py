"""stretto diagnose: the right cause comes first, and says whether tuning can help."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inprocess import stretto as here
from mpis import MPIS, REPOSITORY
from stretto.diagnose import MINOR
from stretto.files.profile import read_profile
from test_profile import stretto

APPS = REPOSITORY / "tests" / "programs"
pytestmark = pytest.mark.mpi

#: what other programs on the machine cost a job; where it is more than the cause, the verdict says
#: that nothing can be concluded
BUSY = {"busy_machine", "more_ranks_than_cores", "interruption"}
#: lesser causes of a case: what is packed is moved as well, which a fast processor shows
BESIDE = {"packed": {"bandwidth", "late_sender"}}


def without_others(profile: Path, folder: Path) -> set[str]:
    """Return the causes of a run whose profile knows nothing of other programs.

    Ranks that wait for each other want a core, too; which of both held them is not known.
    """
    quiet = folder / "quiet.profile.json"
    known = json.loads(profile.read_text())
    quiet.write_text(json.dumps(known | {"core_wait_s": None, "cpu_s": None}))
    done = here("diagnose", "--profile", str(quiet), "--json")
    return {c["name"] for c in json.loads(done.stdout)["causes"] if c["share"] >= MINOR}


@pytest.mark.parametrize(
    ("name", "case", "cause"),
    [
        pytest.param(name, case, cause, marks=[pytest.mark.long] if (at + other) % 2 else [])
        for other, name in enumerate(("openmpi4", "mpich"))
        for at, (case, cause) in enumerate(
            (
                ("imbalance", "imbalance"),
                ("late_sender", "late_sender"),
                ("collective", "collective"),
                ("barrier", "barrier"),
                ("serial_io", "serial_io"),
                ("compute", None),
            )
        )
    ]
    + [
        ("openmpi4", "same_file", "shared_read"),
        ("mpich", "serial_read", "serial_io"),
        ("openmpi4", "nonblocking", "imbalance"),
        ("mpich", "neighbours", "imbalance"),
        ("openmpi4", "packed", "packing"),
        ("mpich", "persistent", "imbalance"),
    ]
    + [
        pytest.param(name, case, cause, marks=pytest.mark.long)
        for name, case, cause in (
            ("mpich", "moving", "moving_imbalance"),
            ("openmpi4", "exchange", "late_sender"),
            ("openmpi4", "chain", "chain"),
            ("openmpi4", "empty", "empty_blocks"),
            ("openmpi4", "balanced", None),
            ("mpich", "overlap", None),
            ("mpich", "hidden", None),
            ("mpich", "started", None),
            ("openmpi4", "full", None),
            ("openmpi4", "pieces", None),
            ("openmpi4", "contiguous", None),
            ("openmpi4", "own_part", None),
            ("mpich", "own_write", None),
        )
    ],
)
def test_programs_made_for_each_cause(
    name: str, case: str, cause: str | None, tmp_path: Path
) -> None:
    mpi = MPIS[name].require()
    program = mpi.compile(APPS / "diagnose_cases.c", tmp_path / "cases", "-O1", "-pthread")
    kept = tmp_path / "x.profile.json"
    words = ["-o", str(kept), "--json"]
    ranks = 4 if case in ("chain", "pieces") else 2  # they sleep
    job = [*mpi.launcher(ranks), str(program), case, str(tmp_path / "file")]
    job += ["multiple"] * (case == "same_file")
    for _ in range(3):
        done = stretto(mpi, "diagnose", *words, "--", *job)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        # a rank that another program kept off its core at the end is late, by more than MINOR
        large = {c["name"]: c for c in found["causes"] if c["share"] >= 0.1}
        wrong = set(large) - {cause} - BUSY
        if found["causes"] and found["causes"][0]["name"] == cause:
            wrong -= BESIDE.get(case, set())
        busy = found["verdict"].startswith("inconclusive")
        # of the time that other programs left to the job
        left = 1 - sum(c["share"] for c in found["causes"] if c["name"] in BUSY)
        shares = {c["name"]: c["share"] for c in found["causes"]}
        seen = cause is None or shares.get(cause, 0.0) >= 0.1 * max(left, 0.01)
        seen = seen or cause in without_others(kept, tmp_path)
        if not wrong and seen:
            break
    assert not wrong and seen, (found["verdict"], shares)
    if cause is None:
        assert not found["can_help"] and (busy or found["compute_share"] > 0.8)
        if all(c["share"] < MINOR for c in found["causes"]):
            assert "computing outside MPI" in found["verdict"]
    elif cause in large:
        assert large[cause]["evidence"]
    if case in ("nonblocking", "persistent", "neighbours") and not busy:
        assert found["can_help"] is False, found["verdict"]
        assert sum(u["share"] for u in found["unjudged"]) < MINOR  # the starts
    if case in ("nonblocking", "persistent", "hidden", "started"):
        (overlap,) = found["overlaps"]
        assert case in ("hidden", "started") or overlap["blocking_s"] > 0.3
        assert overlap["under_way_s"] > 0.1
        assert overlap["reached"] is None or 0 <= overlap["reached"] <= 1
    if cause == "collective" and not busy:
        assert large[cause]["tuning_s"] > 0
        assert large[cause]["next_command"].startswith("stretto tune -- ")
    # the profile is there for a second look, which says the same
    again = here("diagnose", "--profile", str(kept), "--json")
    assert json.loads(again.stdout)["causes"] == found["causes"]
    told = here("diagnose", "--profile", str(kept))
    assert "next: stretto " in told.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    ("case", "causes", "absent"),
    [
        ("threads", {"more_threads_than_cores"}, set()),
        ("compute", set(), {"more_threads_than_cores", "empty_blocks", "imbalance"}),
        ("overlap", set(), {"more_threads_than_cores", "chain"}),
        ("full", set(), {"more_threads_than_cores", "empty_blocks"}),
    ],
)
def test_program_and_its_twin_have_the_causes_that_they_were_made_for(
    case: str, causes: set[str], absent: set[str], tmp_path: Path
) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(APPS / "diagnose_cases.c", tmp_path / "cases", "-O1", "-pthread")
    path = tmp_path / "x.profile.json"
    words = ["diagnose", "-o", str(path), "--json", "--", *mpi.launcher(2), str(program), case]
    done = stretto(mpi, *words)
    assert done.returncode == 0, done.stderr
    large = {c["name"] for c in json.loads(done.stdout)["causes"] if c["share"] >= MINOR}
    assert causes <= large and not absent & large
    busy = json.loads(path.read_text())["busy_threads"]
    assert busy == [1, 1] if case != "threads" else min(busy) >= 3


@pytest.mark.parametrize("name", ["openmpi4", "mpich"])
def test_barriers_that_order_another_rank_are_needed(name: str, tmp_path: Path) -> None:
    mpi = MPIS[name].require()
    program = mpi.compile(APPS / "diagnose_cases.c", tmp_path / "cases", "-O1", "-pthread")
    path = tmp_path / "x.profile.json"
    done = stretto(
        mpi, "diagnose", "-o", str(path), "--json", "--", *mpi.launcher(2), str(program), "put"
    )
    assert done.returncode == 0, done.stderr
    rows = [c for c in read_profile(path).calls if c.function == "MPI_Barrier"]
    assert {c.detail: c.calls for c in rows} == {"after one-sided": [30, 30], None: [30, 30]}
    assert "barrier" not in [c["name"] for c in json.loads(done.stdout)["causes"]]


@pytest.mark.parametrize(
    ("source", "words", "most"), [("record_ends", ("threads", "6"), 7), ("record_counts", (), 1)]
)
def test_threads_are_counted(
    source: str, words: tuple[str, ...], most: int, tmp_path: Path
) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(APPS / f"{source}.c", tmp_path / "program", "-pthread")
    path = tmp_path / "x.profile.json"
    run = [*mpi.launcher(2), str(program), *(words or [str(tmp_path / "file")])]
    done = stretto(mpi, "profile", "-o", str(path), "--", *run)
    told = read_profile(path).threads
    assert told is not None and all(min(most, 2) <= n <= most for n in told)
    assert ("threads of a rank call the MPI" in done.stderr) == (most > 1)

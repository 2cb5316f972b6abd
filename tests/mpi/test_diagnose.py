"""stretto diagnose: the right cause comes first, and says whether tuning can help."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mpis import MPIS, REPOSITORY
from stretto.cli import main
from stretto.diagnose import MINOR, Diagnosis, Network, diagnose
from stretto.files.identity import Host, MPIIdentity
from stretto.files.profile import Call, Communicator, FileUse, Matrix, Node, Profile
from test_profile import stretto

APPS = REPOSITORY / "tests" / "programs"


@pytest.mark.mpi
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
        pytest.param("mpich", "moving", "moving_imbalance", marks=pytest.mark.long),
        pytest.param("openmpi4", "exchange", "late_sender", marks=pytest.mark.long),
        pytest.param("openmpi4", "empty", "empty_blocks", marks=pytest.mark.long),
        pytest.param("mpich", "overlap", None, marks=pytest.mark.long),
    ],
)
def test_programs_made_for_each_cause(
    name: str, case: str, cause: str | None, tmp_path: Path
) -> None:
    mpi = MPIS[name].require()
    program = mpi.compile(APPS / "diagnose_cases.c", tmp_path / "cases", "-O1", "-pthread")
    words = ["-o", str(tmp_path / "x.profile.json"), "--json"]
    job = [*mpi.launcher(2), str(program), case, str(tmp_path / "file")]
    job += ["multiple"] * (case == "same_file")
    for _ in range(3):
        done = stretto(mpi, "diagnose", *words, "--", *job)
        assert done.returncode == 0, done.stderr
        kept = tmp_path / "x.profile.json"
        # other tests run beside this one: what a busy machine costs is test_diagnose_claims's
        kept.write_text(
            json.dumps(json.loads(kept.read_text()) | {"core_wait_s": None, "cpu_s": None})
        )
        done = stretto(mpi, "diagnose", "--profile", str(kept), "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        causes = [c for c in found["causes"] if c["name"] != "interruption"]
        # a rank that another program kept off its core at the end is late, by more than MINOR
        large = [c["name"] for c in causes if c["share"] >= 0.1]
        quiet = not large and not found["can_help"] and found["compute_share"] > 0.8
        if quiet if cause is None else causes and causes[0]["name"] == cause:
            break
    if cause is None:
        assert quiet, (large, found["can_help"], found["compute_share"])
        if all(c["share"] < MINOR for c in found["causes"]):
            assert "computing outside MPI" in found["verdict"]
    else:
        assert causes[0]["name"] == cause, [(c["name"], c["lost_s"]) for c in causes]
        assert causes[0]["evidence"]
    if case in ("nonblocking", "neighbours"):
        assert found["can_help"] is False, found["verdict"]
        assert sum(u["share"] for u in found["unjudged"]) < MINOR  # the starts
    if cause == "collective":
        assert causes[0]["tuning_s"] > 0
        assert causes[0]["next_command"].startswith("stretto tune -- ")
    # the profile is there for a second look, which says the same
    again = stretto(mpi, "diagnose", "--profile", str(tmp_path / "x.profile.json"), "--json")
    assert json.loads(again.stdout)["causes"] == found["causes"]
    told = stretto(mpi, "diagnose", "--profile", str(tmp_path / "x.profile.json"))
    assert "next: stretto " in told.stdout


def row(function: str, kind: Any, **values: Any) -> Call:
    """Make a row for two ranks."""
    base: dict[str, Any] = {
        "communicator": 0,
        "operation": None,
        "datatype": None,
        "bytes_min": 8,
        "bytes_max": 15,
        "calls": [1000, 1000],
        "bytes": [8000, 8000],
        "time_s": [0.0, 0.0],
    }
    return Call(function, kind, **(base | values))


def profile(calls: list[Call], compute: tuple[float, float] = (1.0, 1.0), **values: Any) -> Profile:
    """Make a profile of two ranks on one node."""
    mpi = [sum(c.time_s[r] for c in calls) for r in range(2)]
    io = values.get("io_s", [0.0, 0.0])
    base: dict[str, Any] = {
        "stretto": "0",
        "created": "",
        "host": Host("h", "c", 2, "k", 1),
        "mpi": MPIIdentity("openmpi", "openmpi", "4.1.4"),
        "command": ["mpirun", "-n", "2", "./a b"],
        "nranks": 2,
        "nodes": [Node("h", [0, 1])],
        "complete": True,
        "incomplete_ranks": [],
        "wall_s": [compute[r] + mpi[r] + io[r] for r in range(2)],
        "mpi_s": mpi,
        "io_s": [0.0, 0.0],
        "clock_error_s": [0.0, 0.0],
        "communicators": [Communicator(0, "MPI_COMM_WORLD", 2, 1, 2)],
        "calls": calls,
    }
    return Profile(**(base | values))


WHOLE = 2**32 - 1


def used(
    *parts: int, time_s: float = 1.0, reads: bool = True, system: str = "nfs", mpi_io: bool = False
) -> FileUse:
    """Return a file of 1 GiB of which ranks read or wrote these parts (32 bits), 0 and on."""
    n = len(parts)
    volumes, none, times = [p.bit_count() << 25 for p in parts], [0] * n, [time_s] * n
    return FileUse(
        "/data/in", system, 1 << 30, mpi_io, list(range(n)), [1 - mpi_io] * n, [0 + mpi_io] * n,
        [1] * n, [1] * n,
        volumes if reads else none, none if reads else volumes, list(parts) if reads else none,
        times if reads else [0.0] * n, [0.0] * n if reads else times, [0.0] * n,
    )  # fmt: skip


def first(found: Diagnosis) -> str:
    """Return the name of the first cause."""
    return found.causes[0].name


def test_waiting_is_imbalance_where_computing_is_uneven() -> None:
    reduce = row(
        "MPI_Allreduce", "collective", time_s=[0.001, 1.001], wait_s=[0.0, 1.0],
        transfer_s=[0.001, 0.001], sampled=1000, typical_s=1e-6,
    )  # fmt: skip
    found = diagnose(profile([reduce], (2.0, 1.0)))
    assert first(found) == "imbalance"
    assert found.causes[0].lost_s == pytest.approx(0.5)
    assert not found.can_help
    assert "cannot help" in found.verdict


def test_bytes_are_not_blamed_on_the_algorithm() -> None:
    volume = 100 * (1 << 20)

    def large(seconds: float) -> Call:
        return row(
            "MPI_Allreduce", "collective", calls=[100, 100], bytes=[volume, volume],
            bytes_min=1 << 20, bytes_max=(1 << 21) - 1, time_s=[seconds] * 2, wait_s=[0.0] * 2,
            transfer_s=[seconds] * 2, sampled=100, typical_s=seconds / 100,
        )  # fmt: skip

    fits = volume / Network().node_bandwidth
    assert first(diagnose(profile([large(fits)], (0.001, 0.001)))) == "bandwidth"
    found = diagnose(profile([large(10 * fits)], (0.001, 0.001)))
    assert first(found) == "collective"
    assert found.can_help
    assert found.next_command == "stretto tune -- mpirun -n 2 './a b'"


def test_what_stretto_leaves_to_the_mpi_promises_no_tuning() -> None:
    slow = row(
        "MPI_Alltoallw", "collective", calls=[100, 100], time_s=[5.0] * 2, wait_s=[0.0] * 2,
        transfer_s=[5.0] * 2, sampled=100, typical_s=0.05,
    )  # fmt: skip
    found = diagnose(profile([slow], (0.1, 0.1)))
    assert first(found) == "collective" and found.causes[0].tuning_s == 0
    assert not found.can_help and "leaves these collectives to the MPI" in found.verdict
    assert "stretto tune" not in found.next_command


def test_rare_long_calls_are_interruptions() -> None:
    reduce = row(
        "MPI_Allreduce", "collective", time_s=[0.01, 0.01], wait_s=[0.0, 0.0],
        transfer_s=[0.01, 0.01], sampled=1000, typical_s=1e-6,
    )  # fmt: skip
    found = diagnose(profile([reduce], (0.001, 0.001)))
    assert first(found) == "interruption"
    assert found.causes[0].because


def test_barriers_with_a_purpose_are_left_alone() -> None:
    slow: dict[str, Any] = {
        "bytes_min": 0, "bytes_max": 0, "bytes": [0, 0], "time_s": [0.5, 0.5],
        "wait_s": [0.4, 0.4], "transfer_s": [0.1, 0.1],
    }  # fmt: skip
    bare = diagnose(profile([row("MPI_Barrier", "collective", **slow)]))
    assert first(bare) == "barrier"
    used = diagnose(profile([row("MPI_Barrier", "collective", detail="after files", **slow)]))
    assert "barrier" not in [c.name for c in used.causes]


def test_serial_files_explain_the_waiting() -> None:
    bcast = row(
        "MPI_Bcast", "collective", time_s=[0.0, 1.0], wait_s=[0.0, 1.0], transfer_s=[0.0, 0.0]
    )
    for reads in (False, True):
        use = used(WHOLE, reads=reads)
        found = diagnose(profile([bcast], (1.0, 1.0), io_s=[1.0, 0.0], file_uses=[use]))
        assert first(found) == "serial_io"
        assert "1 GiB" in " ".join(found.causes[0].evidence)
        assert (" reading: " in found.causes[0].title) == reads
        assert ("read in parallel" in found.causes[0].advice) == reads
        assert ("write in parallel" in found.causes[0].advice) != reads
    # both ranks write alike: nothing serial
    even = diagnose(profile([], (1.0, 1.0), io_s=[1.0, 1.0]))
    assert "serial_io" not in [c.name for c in even.causes]


TWO_NODES = [Node("h", [0]), Node("i", [1])]


FILES_OF_ALL = [
    (used(WHOLE, WHOLE), [Node("h", [0, 1])], "shared_read"),
    (used(WHOLE, WHOLE), TWO_NODES, "shared_read"),
    (used(WHOLE, WHOLE, system="ext4"), TWO_NODES, "files"),  # two files of the same name
    (used(0xFFFF, WHOLE - 0xFFFF), [Node("h", [0, 1])], "files"),  # each its own part
    (used(WHOLE, WHOLE, reads=False), [Node("h", [0, 1])], "files"),
]


def test_mpi_io_of_all_ranks_on_the_same_bytes_is_a_shared_read() -> None:
    calls = [row("MPI_File_read_at", **READ_ALL)]
    for parts, cause in (((WHOLE, WHOLE), "shared_read"), ((0xFFFF, WHOLE - 0xFFFF), "files")):
        use = used(*parts, time_s=0.0, mpi_io=True)
        found = diagnose(profile(calls, io_s=[0.5, 0.5], file_uses=[use]))
        assert [c.name for c in found.causes] == [cause]
        assert "MPI_File_read_at_all instead of" in " ".join(found.causes[0].steps)


@pytest.mark.parametrize(
    ("use", "nodes", "cause"),
    FILES_OF_ALL,
)
def test_files_of_all_ranks_are_no_interruption(
    use: FileUse, nodes: list[Node], cause: str
) -> None:
    found = diagnose(profile([], (1.0, 1.0), io_s=[1.0, 1.0], file_uses=[use], nodes=nodes))
    assert [c.name for c in found.causes] == [cause]
    assert found.causes[0].lost_s == pytest.approx(0.5 if cause == "shared_read" else 1.0)
    assert "/data/in" in " ".join(found.causes[0].evidence)
    assert not found.can_help


READ_ALL = {"kind": "io", "communicator": None, "time_s": [0.5, 0.5]}
#: what is done, to which file, by which MPI, and what the lines to type or change then hold
ADVICE = [
    ("/d/in", {}, "4.1.4", ["read in on rank 0, then MPI_Bcast", "MPI_File_open for in",
                            '"romio_cb_read" = "enable"']),
    ("/d/in.h5", {}, "4.1.4", ["HDF5: open with H5Pset_fapl_mpio", "HDF5_USE_FILE_LOCKING=FALSE",
                               'driver="mpio"']),
    ("/d/in.NC", {}, "4.1.4", ["netCDF: open with nc_open_par", "NC_COLLECTIVE"]),
    ("/d/in", {"mpi_io": True, "call": "MPI_File_read_at"}, "4.1.4",
     ["MPI_File_read_at_all instead of MPI_File_read_at", "romio_cb_read enable",
      "OMPI_MCA_io=romio321 ROMIO_HINTS=$PWD/hints"]),
    ("/d/in.h5", {"mpi_io": True, "call": "MPI_File_read"}, "5.0.8",
     ["HDF5: transfer with H5Pset_dxpl_mpio", "OMPI_MCA_io=romio341"]),
    ("/d/in", {"mpi_io": True, "call": "MPI_File_read_all"}, "4.1.4", ["romio_cb_read enable"]),
    ("/d/a b", {"system": "lustre"}, "4.1.4",
     ["lfs getstripe '/d/a b' shows its stripes; a shared file of this size needs 8",
      "lfs setstripe -c 8 '/d/a b.new' && cp '/d/a b' '/d/a b.new' && mv '/d/a b.new' '/d/a b'"]),
    ("/d/out", {"reads": False, "system": "lustre"}, "4.1.4",
     ["MPI_File_write_at_all", "lfs setstripe -c 8 /d before the run"]),
    ("/d/out.nc", {"reads": False, "mpi_io": True, "call": "MPI_File_write_at"}, "4.1.4",
     ["netCDF: access variables with nc_var_par_access", "romio_cb_write enable"]),
    ("out (deleted)", {}, "4.1.4", []),
]  # fmt: skip


@pytest.mark.parametrize(("path", "access", "version", "lines"), ADVICE)
def test_causes_in_files_end_with_what_to_type(
    path: str, access: dict[str, Any], version: str, lines: list[str]
) -> None:
    options = {k: v for k, v in access.items() if k != "call"}
    calls = [row(access["call"], **READ_ALL)] if "call" in access else []
    use = replace(used(WHOLE, WHOLE, **options), path=path)
    made = profile(
        calls, io_s=[1.0, 1.0], file_uses=[use], mpi=MPIIdentity("openmpi", "openmpi", version)
    )
    cause = diagnose(made).causes[0]
    steps = "\n".join(cause.steps)
    assert all(line in steps for line in lines) and bool(steps) == bool(lines), steps
    library = path.lower().endswith((".h5", ".nc"))
    assert ("MPI_File_" in steps) <= (not library)  # its functions are the library's to call
    assert ("lfs" in steps) == (access.get("system") == "lustre")
    assert ("HDF5_USE_FILE_LOCKING" in steps) == (
        path.lower().endswith((".h5", ".nc")) and not calls
    )
    if not lines:
        assert cause.next_command.startswith("stretto profile ")
    elif access.get("reads", True):
        assert cause.next_command == f"stretto io -n 2 --file {shlex.quote(path)}"
    else:
        assert cause.next_command == "stretto io -n 2 --write --dir /d --bytes 2147483648"


def test_messages_that_take_what_they_should() -> None:
    matrix = Matrix([(0, 1, 1000, 8000)])
    receive = row("MPI_Recv", "p2p", calls=[0, 1000], bytes=[0, 8000], time_s=[0.0, 1.0])
    found = diagnose(profile([receive], (1.0, 1.0), matrix=matrix))
    assert first(found) == "late_sender"
    prompt = row("MPI_Recv", "p2p", calls=[0, 1000], bytes=[0, 8000], time_s=[0.0, 0.001])
    found = diagnose(profile([prompt], (1.0, 1.0), matrix=matrix))
    assert "late_sender" not in [c.name for c in found.causes]


@pytest.mark.parametrize(("node", "crowded"), [("h", True), ("h.site.org", True), ("n1", False)])
def test_cores_are_counted_where_they_are_known(node: str, crowded: bool) -> None:
    host = Host("h", "c", 1, "k", 1)
    warnings = diagnose(profile([], host=host, nodes=[Node(node, [0, 1])])).warnings
    assert any("2 ranks share 1 core:" in w for w in warnings) == crowded


def test_one_rank_and_computing_only() -> None:
    found = diagnose(profile([row("MPI_Comm_rank", "other", time_s=[0.0, 0.0])]))
    assert found.causes == []
    assert "100.0 % of the run is computing" in found.verdict
    assert not found.can_help


@pytest.mark.parametrize("words", [["--bandwidth", "nan"], ["--latency", "nan", "--json"]])
def test_numbers_that_are_none(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--profile", "x", *words]) == 2
    error = capsys.readouterr().err
    assert "nan is no number to go by" in error and f"at: {words[0]}" in error

"""The recorder with programs that do odd things: failing calls, pauses, messages of 2 GiB, TCP."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mpis import ALL, MPIS, Mpi, rarely
from stretto.profile.join import Joined, join_run, load_runs
from stretto.profile.raw import ROOT, RawFile, split_key
from test_record import APPS, calls, run_recorded

pytestmark = pytest.mark.mpi


def recorded(
    mpi: Mpi, ranks: int, words: list[str], tmp_path: Path, **env: str
) -> tuple[list[RawFile], Joined, str]:
    """Run a case of record_odd.c: the ranks' files, the profile, what was printed."""
    program = mpi.compile(APPS / "record_odd.c", tmp_path / "odd")
    done = run_recorded(mpi, ranks, [str(program), *words], tmp_path / "raw", **env)
    assert done.returncode == 0, done.stderr
    (run,) = load_runs(tmp_path / "raw")
    return run, join_run(run, ["command"]), done.stdout


def order(raw: RawFile) -> dict[int, tuple[str, int]]:
    """Return what a rank's numbered calls were: function and size class."""
    out = {}
    for event in raw.events:
        key = split_key(int(event["key"]))
        number = int(event["sequence"] & ~ROOT)
        out[number] = (raw.functions[key.function - 1][0], key.size_class)
    return out


# a broadcast that does not fit is no error to Intel MPI
_FAILING = [("failed", n) for n in ALL if "intel" not in n] + [("unmatched", n) for n in ALL]


@pytest.mark.parametrize(("case", "name"), _FAILING)
def test_calls_after_a_failed_one_have_their_own_partners(
    case: str, name: str, tmp_path: Path
) -> None:
    """An error on one rank alone: what is joined afterwards are the same calls, or nothing is."""
    run, joined, _ = recorded(ALL[name].require(), 2, [case], tmp_path)
    first, second = (order(raw) for raw in run)
    both = first.keys() & second.keys()
    assert len(both) >= 10
    assert {n: first[n] for n in both} == {n: second[n] for n in both}
    rows = [c for c in joined.profile.calls if c.function == "MPI_Allreduce"]
    assert [c.calls for c in rows] == [[10, 10]] * 2
    assert not joined.notes
    if (
        name.startswith("openmpi") or case == "unmatched"
    ):  # where the error says enough, all are joined
        assert [c.sampled for c in rows] == [10, 10]


@pytest.mark.parametrize("name", rarely(ALL, ["openmpi4"]))
def test_messages_of_more_than_two_gib(name: str, tmp_path: Path) -> None:
    """Booked with the size that came, which no int holds, and not with that of the buffer."""
    _, joined, _ = recorded(ALL[name].require(), 2, ["large"], tmp_path)
    assert calls(joined.profile, "MPI_Send").bytes == [2200 << 20, 0]
    assert calls(joined.profile, "MPI_Recv").bytes == [0, 2200 << 20]


def grown(text: str) -> list[int]:
    """Return by how many bytes each rank's heap has grown."""
    found = [int(n) for n in re.findall(r"grew by (-?\d+)", text)]
    assert len(found) == 2, text
    return found


@pytest.mark.parametrize("name", rarely(ALL, ["openmpi5", "mpich"]))
def test_communicators_freed_in_a_callback_are_forgotten(name: str, tmp_path: Path) -> None:
    """2000 of them leave nothing behind: the heap grows by no more than without the recorder."""
    mpi = ALL[name].require()
    _, _, said = recorded(mpi, 2, ["callback"], tmp_path)
    bare = mpi.run(2, [str(tmp_path / "odd"), "callback"]).stdout
    assert max(grown(said)) - max(grown(bare)) < 2000 * 32


@pytest.mark.parametrize("name", rarely(ALL, ["openmpi4", "mpich"]))
def test_after_errors(name: str, tmp_path: Path) -> None:
    """Requests of a failing wait are forgotten; a handler that never returns ends no recording."""
    _, joined, said = recorded(ALL[name].require(), 2, ["errors"], tmp_path)
    assert max(grown(said)) < 100_000
    waits = [c for c in joined.profile.calls if c.function == "MPI_Waitany"]
    assert [(c.detail, c.calls) for c in waits] == [(None, [1000, 1000])]
    rows = [c for c in joined.profile.calls if c.function == "MPI_Allreduce"]
    assert [c.calls for c in rows] == [[55, 55]] * 2
    # whether the call that was left counts on the other rank is not known: none after it is joined
    assert [c.sampled for c in rows] == [5, 5]


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
@pytest.mark.parametrize("case", ["traffic", "files"])
def test_traffic_over_tcp_is_no_file(name: str, case: str, tmp_path: Path) -> None:
    """Open MPI reads and writes its sockets as files are; real files are seen beside it."""
    env = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self"}
    env["OMPI_MCA_btl_tcp_if_include"] = "lo"  # other tests' bridges come and go
    if name == "openmpi4":  # its osc/rdma does not run over TCP
        env["OMPI_MCA_osc"] = "pt2pt"
    words = [case, *([str(tmp_path / "file")] if case == "files" else [])]
    _, joined, _ = recorded(MPIS[name].require(), 5, words, tmp_path, **env)
    written = 5 * (8 << 20) if case == "files" else 0  # by rank 0
    assert joined.profile.file_bytes is not None
    assert written <= joined.profile.file_bytes[0] <= written * 1.1
    assert joined.profile.file_bytes[1:] == [0] * 4
    assert (joined.profile.file_s or [0])[0] > 0 or case == "traffic"
    assert (joined.profile.file_s or [1])[1:] == [0] * 4


@pytest.mark.parametrize("name", rarely(ALL, ["openmpi4"]))
def test_a_pause_is_in_no_number(name: str, tmp_path: Path) -> None:
    """2.3 s computed, 128 MiB written, 2020 calls under MPI_Pcontrol(0), and 0.2 s outside it."""
    words = ["paused", str(tmp_path / "file")]
    run, joined, _ = recorded(ALL[name].require(), 2, words, tmp_path)
    p = joined.profile
    assert p.complete
    assert sum(c.calls[0] for c in p.calls if c.function == "MPI_Allreduce") == 30
    assert p.file_bytes == [0, 0] and p.file_s == [0, 0]
    for raw, wall_s in zip(run, p.wall_s, strict=True):
        assert raw.paused_s >= 2.3
        assert 0.2 <= wall_s == pytest.approx(raw.whole_s - raw.paused_s)
    assert len(joined.notes) == 1 and "MPI_Pcontrol(0)" in joined.notes[0]
    assert "on ranks 0-1" in joined.notes[0]


def test_a_job_killed_in_a_pause(tmp_path: Path) -> None:
    """A pause that goes on at the end counts up to the last call that was seen."""
    run, _, _ = recorded(
        MPIS["openmpi4"].require(), 2, ["paused", str(tmp_path / "file")], tmp_path
    )
    raw = run[0]
    header = raw.header.copy()
    assert int(header["paused_since"]) > 0  # so it was when the recording ended
    whole, paused = raw.whole_s, raw.paused_s
    header["last_ticks"] = header["paused_since"]  # killed before another call
    raw.header = header
    assert raw.wall_s == pytest.approx(whole - paused)
    header["faults"], header["grown_pages"] = 30000, 10000
    assert raw.repeated_faults == round(20000 * raw.wall_s / raw.whole_s) < 10000

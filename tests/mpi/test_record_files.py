"""Which files the recorder sees: by path and rank, with exact bytes, in every way of access."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpis import MPIS
from stretto.files.profile import FileUse
from stretto.profile.join import join_run, load_runs
from test_record import APPS, run_recorded

pytestmark = pytest.mark.mpi

SIZE = 1 << 20
READ = (
    "read",
    "pread",
    "lfs64",
    "readv",
    "fread",
    "fgets",
    "getline",
    "fscanf",
    "getc",
    "unlocked",
)
WRITTEN = {"write": (2_000_000, 4), "text": (20_000 * 42, 20_000 * 5)}
#: with the inline and the checking forms of libc's functions, or without
FLAGS = {"openmpi4": ("-O0",)}


@pytest.mark.parametrize("name", MPIS)
def test_record_files_of_all_kinds_counts_each(name: str, tmp_path: Path) -> None:
    """Under MPI_THREAD_MULTIPLE, on one node: calls, bytes, time, the parts that were read."""
    mpi = MPIS[name].require()
    data = tmp_path / "data"
    data.mkdir()
    lines = "".join(f"{i:015d}\n" for i in range(SIZE // 16))
    for kind in (*READ, "thread"):
        (data / kind).write_text(lines)
    flags = FLAGS.get(name, ("-O2", "-D_FORTIFY_SOURCE=2"))
    program = mpi.compile(APPS / "record_files.c", tmp_path / "files", "-pthread", *flags)
    done = run_recorded(mpi, 2, [str(program), str(data)], tmp_path / "raw")
    assert done.returncode == 0, done.stderr
    (run,) = load_runs(tmp_path / "raw")
    profile = join_run(run, ["command"]).profile
    uses = {Path(u.path).name: u for u in profile.file_uses or []}
    assert len(uses) <= 65 and all("small-" in u or str(data) in uses[u].path for u in uses if u)
    for kind in READ:
        use = uses[kind]
        assert (use.ranks, use.opens, use.read_bytes) == ([0, 1], [1, 1], [SIZE] * 2), kind
        assert use.written_bytes == [0, 0] and use.size == SIZE and use.touched == [2**32 - 1] * 2
        assert min(use.read_s) > 0 and not use.mpi_io
    # beside the ranks, whose time it does not take
    thread = uses["thread"]
    assert thread.read_bytes == [SIZE] * 2 and thread.read_s == thread.other_s == [0.0, 0.0]
    for kind, (volume, writes) in WRITTEN.items():
        for rank in (0, 1):
            use = uses[f"{kind}.{rank}"]
            assert (use.ranks, use.opens, use.writes) == ([rank], [1], [writes]), kind
            assert use.written_bytes == [volume] and use.write_s[0] > 0
    for rank in (0, 1):  # inline: by fillings of the buffer
        assert 999_424 <= sum(uses[f"unlocked.{rank}"].written_bytes) <= 1_003_520
    assert uses["mpi"].mpi_io and uses["mpi"].written_bytes == [500_000, 500_000]
    assert uses["mpi"].write_s == [0.0, 0.0]
    assert uses["mpi"].opens == [0, 0] and sum(uses["mpi"].mpi_opens) >= 1
    assert not any(sum(uses[kind].mpi_opens) for kind in READ)
    assert not [u for u in uses if "child" in u or u in ("stat", "missing")]
    # what found no room is not lost (beside it: what MPI-IO keeps of its own)
    small = [u for k, u in uses.items() if k.startswith("small-") or not k]
    assert 0 <= sum(sum(u.written_bytes) for u in small) - 2 * 300 * 10 < 1000
    assert sum(sum(u.opens) for u in small) >= 2 * 300
    own = sum(WRITTEN[k][0] for k in WRITTEN) + 3000
    inline = [sum(uses[f"unlocked.{rank}"].written_bytes) for rank in (0, 1)]
    assert profile.file_bytes == [len(READ) * SIZE + SIZE + own + n for n in inline]
    assert profile.file_s == pytest.approx([_spent(profile.file_uses or [], r) for r in (0, 1)])
    (barrier,) = [c for c in profile.calls if c.function == "MPI_Barrier"]
    assert barrier.detail == "after files"


def _spent(uses: list[FileUse], rank: int) -> float:
    return sum(
        u.read_s[i] + u.write_s[i] + u.other_s[i]
        for u in uses
        for i, r in enumerate(u.ranks)
        if r == rank
    )

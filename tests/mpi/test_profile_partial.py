"""Runs of which not every rank is recorded: one that cannot write, a file that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpis import MPIS
from processes import executable
from stretto.errors import StrettoError
from stretto.files.profile import parse_profile
from stretto.profile.join import join_run, load_runs
from stretto.profile.raw import RUNNING
from test_profile import stretto
from test_record import APPS, calls, run_recorded


@pytest.mark.mpi
@pytest.mark.parametrize("missing", [0, 1])
def test_a_rank_that_cannot_write(missing: int, tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(APPS / "record_counts.c", tmp_path / "counts")
    script = executable(
        tmp_path / "rank.sh",
        f'#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = {missing} ] && STRETTO_PROFILE_DIR=/nowhere\n'
        'exec "$@"\n',
    )
    words = [*mpi.launcher(3), str(script), str(program), str(tmp_path / "file")]
    done = stretto(mpi, "profile", "-o", "x.json", "--", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 ranks on 1 node," in done.stderr  # and not on another one that is not known
    assert f"nothing was recorded on ranks {missing}; all numbers" in done.stderr
    assert "did not reach MPI_Finalize" not in done.stdout + done.stderr
    assert f"nothing was recorded on 1 of 3 ranks ({missing})" in done.stderr
    profile = parse_profile((tmp_path / "x.json").read_text(), "x")
    assert profile.unrecorded_ranks == [missing]
    assert (profile.node_count, profile.ppn) == (1, 3)
    assert min(profile.recorded_part().wall_s) > 0


@pytest.mark.mpi
def test_a_file_that_cannot_be_read_costs_its_rank(tmp_path: Path) -> None:
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(APPS / "record_counts.c", tmp_path / "counts")
    raw = tmp_path / "raw"
    done = run_recorded(mpi, 3, [str(program), str(tmp_path / "file")], raw)
    assert done.returncode == 0, done.stderr
    damaged, other = sorted(raw.iterdir())[1:]
    damaged.write_bytes(damaged.read_bytes()[:30000])
    (run,) = load_runs(raw)
    joined = join_run(run, ["x"])
    assert joined.profile.unrecorded_ranks == [1] == joined.profile.incomplete_ranks
    assert calls(joined.profile, "MPI_Reduce").calls == [3, 0, 3]
    told = "\n".join(joined.notes)
    assert "rank 1 is left out: the recorder's file is truncated" in told and damaged.name in told
    # a file whose rank was ended while MPI_Init ran, and one without the rate of its clock
    whole = bytearray(other.read_bytes())
    assert whole[32:36] == bytes([2, 0, 0, 0])  # the state
    whole[32:36] = bytes([RUNNING, 0, 0, 0])
    first = 56
    whole[first + 16 : first + 32] = whole[first : first + 16]  # last = first
    other.write_bytes(whole)
    (run,) = load_runs(raw)
    assert [r.rank for r in run] == [0]
    assert any("rate of its clock" in p for p in run.problems)
    # another program of the job, all of whose files are lost, is not passed over in silence
    (raw / f"{'1' * 16}-000000.strettoraw").write_bytes(b"nothing")
    (run,) = load_runs(raw)
    assert any("another MPI program" in p for p in run.problems)
    # nothing left: the error of a file, with its name and the remedy
    for path in raw.iterdir():
        path.write_bytes(b"nothing")
    with pytest.raises(StrettoError, match="not a file of") as caught:
        load_runs(raw)
    assert caught.value.place is not None and caught.value.remedy

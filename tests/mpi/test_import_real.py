"""What real MPIs tell of their algorithms, and what real launchers and IMB print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY
from processes import run_program
from stretto.errors import StrettoError
from stretto.imports import imb, osu
from stretto.imports.mpis import identity_of
from stretto.imports.natives import Naming
from stretto.imports.printed import Reading
from stretto.model.measurements import read_series

OSU = """
# OSU MPI Allreduce Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
4   2.10
8   2.30
16   2.75

# OSU MPI Barrier Latency Test v7.4
# Avg Latency(us)
1.25
"""


def test_naming_asks_the_installed_mpi_what_numbers_mean() -> None:
    MPIS["openmpi4"].require()
    notes: list[str] = []
    naming = Naming((), notes.append)
    mpi = identity_of("openmpi4")
    assert "coll_tuned_bcast_algorithm=7" in naming.candidate(mpi, "bcast", "7")
    assert naming.candidate(mpi, "bcast", "7") == naming.candidate(mpi, "bcast", "knomial")
    assert {naming.candidate(mpi, "bcast", a) for a in ("0", None, "default")} == {"bare"}
    assert notes and "Open MPI 4" in notes[0]
    with pytest.raises(StrettoError, match="no algorithm '99'"):
        naming.candidate(mpi, "bcast", "99")
    with pytest.raises(StrettoError, match="not installed here"):
        naming.candidate(identity_of("openmpi@77.0"), "bcast", "7")


def imb_output(words: str, ranks: int = 4, tag: Sequence[str] = ()) -> str:
    mpi = MPIS["intel"].require()
    launcher, *options = mpi.launcher(ranks)
    done = run_program(
        [
            launcher,
            *tag,
            *options,
            str(mpi.prefix / "bin" / "IMB-MPI1"),
            "-time",
            "100",
            "-iter",
            "5",
            "-npmin",
            str(ranks),
            *words.split(),
        ],
        env=mpi.environment,
        timeout=300,
        check=True,
    )
    return done.stdout


def sizes(reading: Reading) -> dict[str | None, list[int]]:
    return {t.collective: [x.bytes for x in t.lines] for t in reading.tables}


def test_imb_reader_of_real_output_takes_its_tables_and_options() -> None:
    text = imb_output("-msglog 3:5 allreduce gather barrier", 2, ["-prepend-rank"])
    assert all(line.startswith("[0] ") for line in text.splitlines() if line.strip())
    reading = imb.read(text, "f")
    assert not reading.problems
    assert sizes(reading) == {"allreduce": [0, 8, 16, 32], "gather": [0, 8, 16, 32], "barrier": [0]}
    assert [t.mode for t in reading.tables] == ["latency", "latency", "throughput"]
    reading = imb.read(imb_output("-msglog 3:3 -root_shift on gather", 2), "f")
    assert not reading.tables and "root changes" in reading.problems[0]
    reading = imb.read(imb_output("-msglog 3:3 -map 2x2 allreduce barrier"), "f")
    assert not reading.tables and len(reading.problems) == 2
    # empty lines between sizes
    reading = imb.read(imb_output("-msglog 3:4 -multi 1 allreduce barrier"), "f")
    assert sizes(reading) == {"allreduce": [0, 8, 16], "barrier": [0]}
    reading = imb.read(imb_output("-msgsize 64,8,8 -off_cache -1 allreduce barrier"), "f")
    assert sizes(reading) == {"allreduce": [64, 8, 8], "barrier": [0]}
    assert all(t.cold for t in reading.tables) and not reading.problems


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("openmpi4", ["--tag-output"]),
        ("openmpi5", ["--output", "tag"]),
        ("mpich", ["-prepend-rank"]),
    ],
)
def test_osu_reader_of_real_launchers_tags_takes_each_ranks_tables(
    name: str, options: list[str], tmp_path: Path
) -> None:
    """Two ranks print the same at once: two tables, each whole."""
    mpi = MPIS[name].require()
    (tmp_path / "out").write_text(OSU)
    launcher, *more = mpi.launcher(2)
    done = run_program(
        [launcher, *options, *more, "cat", str(tmp_path / "out")],
        env=mpi.environment,
        timeout=300,
        check=True,
    )
    reading = osu.read(done.stdout, "f")
    assert not reading.problems
    expected = {t.collective: t.lines for t in osu.read(OSU, "f").tables}
    assert sorted(str(t.collective) for t in reading.tables) == [
        "allreduce", "allreduce", "barrier", "barrier",
    ]  # fmt: skip
    assert all(t.lines == expected[t.collective] for t in reading.tables)


def test_our_own_measurements_are_read(tmp_path: Path) -> None:
    """bench/pt2pt.c prints as OSU's benchmarks do; its figures on a busy machine mean nothing."""
    mpi = MPIS["openmpi4"].require()
    program = mpi.compile(REPOSITORY / "bench" / "pt2pt.c", tmp_path / "pt2pt", "-O2")
    for ranks, mode, kind in (
        (2, "latency", "latency"),
        (2, "bandwidth", "bandwidth"),
        (4, "bandwidth", "multi_pair"),
    ):
        path = tmp_path / f"{kind}.txt"
        path.write_text(mpi.run(ranks, [str(program), mode, "2"]).stdout)
        series = read_series(path, None, None, None)
        assert (series.kind, series.pairs, series.window) == (kind, ranks // 2, 64)
        assert [n for n, _ in series.points] == [1, 2]

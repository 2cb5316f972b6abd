"""Printed tables of OSU's, and their import in this process: what was written and what was said."""

from __future__ import annotations

from pathlib import Path

import pytest

from stretto.cli import main
from stretto.files.bench import read_bench

HEADING = "# Size       Avg Latency(us)\n"
#: what IMB prints first, and a block
IMB_HEAD = """\
#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part
# Date                  : Sun Nov 22 07:22:34 2026
# Release               : 5.14.0-503
# Calling sequence was:

# IMB-MPI1 {words}

# Minimum message length in bytes:   0
# MPI_Datatype                   :   MPI_BYTE
# MPI_Datatype for reductions    :   MPI_FLOAT
"""
IMB_BLOCK = """\
# Benchmarking Allreduce
# #processes = 4
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            4         1000         4.50        18.59        11.69
            8         1000         4.60        19.59        12.69
"""


def table(number: int = 0, title: str = "Allreduce", factor: float = 1.0, sizes: int = 12) -> str:
    """Return a print-out; another number gives other times, another factor another speed."""
    rows = (f"{8 << i}   {factor * (20 + i) + number * 0.013:.2f}\n" for i in range(sizes))
    return f"\n# OSU MPI {title} Latency Test v7.4\n{HEADING}" + "".join(rows)


def log_of(path: Path, number: int = 0, title: str = "Allreduce", factor: float = 1.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(table(number, title, factor))
    return path


class Import:
    """Runs imports, and holds what came of the last one."""

    def __init__(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        self.capsys = capsys
        self.out = tmp_path / "out"
        self.code = -1
        self.said = self.printed = ""

    def __call__(self, *words: str | int | Path, kind: str = "osu") -> Import:
        out = [] if "-o" in words else ["-o", str(self.out)]
        self.code = main(["import", kind, *map(str, words), *out])
        captured = self.capsys.readouterr()
        self.said, self.printed = " ".join(captured.err.split()), captured.out
        return self

    @property
    def names(self) -> list[str]:
        return sorted(p.name for p in self.out.glob("*"))

    @property
    def by_file(self) -> dict[str, set[str]]:
        """Candidates by the name of the file."""
        files = self.out.glob("*.jsonl")
        return {p.name: {s.candidate for s in read_bench(p).samples} for p in files}

    @property
    def candidates(self) -> set[str]:
        return set().union(*self.by_file.values())

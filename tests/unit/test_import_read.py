"""Which tables the readers find in output, and what they report as left out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imported import HEADING, IMB_BLOCK, IMB_HEAD
from stretto.imports import imb, osu
from stretto.imports.printed import Reading, TableLine

Tables = list[tuple[str | None, dict[int, float]]]
Read = Callable[[str, str], Reading]


def title(name: str = "Allreduce", kind: str = "Latency") -> str:
    return f"\n# OSU MPI {name} {kind} Test v7.4\n"


def imb_head(words: str) -> str:
    """Return what IMB prints first; words that begin with a dash end the program's name."""
    return IMB_HEAD.replace(" {words}", f"{words} Allreduce")


HEAD = title() + HEADING
BARRIER = "\n# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n"
NEXT, THREE = HEAD + "4  1.00\n8  1.05\n16  1.10\n", ("allreduce", {4: 1.0, 8: 1.05, 16: 1.1})
DERIVED = "# Size       Avg Latency(us)     Transmit Size\n1024          10.00           256\n"
ROW = "            8         1000         4.60        19.59         7.00\n"
TWO = ("allreduce", {4: 11.69, 8: 12.69})
REORDERED = "# #processes = 4; rank order (rowwise):\n#     0    2\n#\n#     1    3\n"
FULL = """\
[node1:123] a warning of the launcher 7 times
# OSU MPI Allreduce Latency Test v7.5
# Datatype: MPI_INT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                      11.69              4.50             18.59        1000
8                      12.10
16                     nan                5.39             17.63        1000
32                     13.21             10.11             13.30        1000
# OSU MPI-CUDA Broadcast Latency Test v7.5
# Size       Avg Latency(us)
4                       1.00
# OSU MPI Iallreduce Latency Test v7.5
# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
4                       1.00              1.00              1.00              0.00
"""

#: text, its tables (mean by size), and what each problem holds
READ: dict[str, tuple[Read, str, Tables, tuple[str, ...]]] = {
    "broken lines and other benchmarks": (
        osu.read, FULL, [("allreduce", {4: 11.69, 32: 13.21})],
        ("f:6", "f:7", "device memory", "Iallreduce"),
    ),
    "a table for each datatype under one title": (
        osu.read, title() + "".join(f"# Datatype: MPI_{n}.\n{HEADING}4 {i}.0\n"
                                    for i, n in enumerate(("CHAR", "INT", "FLOAT"), 1)),
        [("allreduce", {4: float(i)}) for i in (1, 2, 3)], (),
    ),
    "derived datatypes": (
        osu.read, f"{title('Broadcast')}# Datatype: MPI_CHAR.\n{DERIVED}# Datatype: MPI_INT.\n"
        f"{DERIVED}{NEXT}", [THREE], ("f:4: of a derived datatype", "f:7: of a derived datatype"),
    ),
    "IMB's derived datatypes": (imb.read, imb_head(" -contig_type x") + IMB_BLOCK, [],
                                ("-contig_type",)),
    "a heading behind an end is not of the title before": (
        osu.read, HEAD + "4  1.00\n\n" + HEADING + "4  2.00\n",
        [("allreduce", {4: 1.0}), (None, {4: 2.0})], (),
    ),
    "a heading behind a table": (
        osu.read, HEAD + "4  1.00\n" + HEADING + "4  2.00\n",
        [("allreduce", {4: 1.0}), ("allreduce", {4: 2.0})], (),
    ),
    # OSU's output begins with an empty line: `cat` gives a cut line its end
    "a number that the next file completed": (
        osu.read, HEAD + "4  111.00\n8  11" + NEXT, [("allreduce", {4: 111.0}), THREE],
        ("f:5: this line of the table is broken",),
    ),
    "IMB's number without its end": (
        imb.read, imb_head("") + IMB_BLOCK.replace("12.69", "12."), [("allreduce", {4: 11.69})],
        ("broken",),
    ),
    "IMB's ranks of another order": (imb.read, imb_head(" -map 2x2") + IMB_BLOCK, [],
                                     ("one node after another",)),
    "IMB's ranks in a column": (imb.read, imb_head(" -map 4x1") + IMB_BLOCK, [TWO], ()),
    "IMB's ranks in a row": (imb.read, imb_head(" -map 1x4") + IMB_BLOCK, [TWO], ()),
    "IMB's ranks as it prints them": (
        imb.read, IMB_BLOCK.replace("# #processes = 4\n", REORDERED), [], ("one node after",)
    ),
    "IMB on devices": (imb.read, imb_head("-GPU") + IMB_BLOCK, [], ("device memory",)),
    "IMB on a device's memory": (imb.read, imb_head("-GPU -mem_alloc_type device") + IMB_BLOCK, [],
                                 ("device memory",)),
    "IMB on devices, in the host's memory": (
        imb.read, imb_head("-GPU -mem_alloc_type cpu") + IMB_BLOCK, [TWO], ()
    ),
    "no such collective": (osu.read, title("Reduce_scatter") + HEADING + "8 1.5\n", [],
                           ("not one of",)),
}  # fmt: skip
READ |= {
    f"numbers behind a table of {name}{' and a line' * len(line)}": (read, *case)
    for line in ("", "\n")
    for name, read, *case in (
        ("OSU", osu.read, HEAD + "4  1.00\n8  1.05\n" + line + "8 7.00\n1700000000 12.55\n",
         [("allreduce", {4: 1.0, 8: 1.05})], ("the table ended",)),
        ("a barrier", osu.read, f"{BARRIER}   1.50\n{line}      7.00\n", [("barrier", {0: 1.5})],
         ("the table ended",)),
        ("IMB", imb.read, imb_head("") + IMB_BLOCK + line + ROW, [TWO], ("the table ended",)),
    )
}  # type: ignore[misc]  # fmt: skip
READ |= {
    f"the form {form}": (osu.read, title(form) + HEADING + "8 1.5\n", [(collective, {8: 1.5})], ())
    for form, collective in (
        ("Allgatherv", "allgatherv"), ("All-to-Allv Personalized Exchange", "alltoallv"),
        ("Gatherv", "gatherv"), ("Scatterv", "scatterv"),
    )
}  # fmt: skip
# a job's output with several programs: none is taken for another's continuation
READ |= {
    f"{'untitled ' * (not named)}{other} behind a table": (
        osu.read, f"{HEAD}8 1.5\n\n{f'# {other}' * named}\n# {columns}\n8  58.31\n9  60.00\n{NEXT}",
        [("allreduce", {8: 1.5}), THREE],
        () if named and "v5.9" in other else (other if named else columns,),
    )
    for other, columns in (
        ("OSU MPI Latency Test v5.9", "Size          Latency (us)"),
        ("OSU MPI-CUDA Latency Test", "Size          Latency (us)"),
        ("OSU MPI Bandwidth Test v5.9", "Size      Bandwidth (MB/s)"),
        ("OSU MPI_Put Latency Test v7.5", "Size          Latency (us)"),
        ("OSU OpenSHMEM Put Test", "Size          Latency (us)"),
    )
    for named in (True, False)
}  # fmt: skip
# columns are not guessed past a heading that is not known
READ |= {
    f"the columns {columns}{' without a title' * (not head.strip())}": (
        osu.read, f"{head}# {columns}\n\n8  1.25\n16  1.50\n{NEXT}", [THREE], (f"f:3: {columns}",),
    )
    for head in (title(), "\n\n")
    for columns in (
        "Size       Avg Latency(ms)", "Size       Avg Latency(s)", "Size   Bus BW (MB/s)",
        "Size  Min Latency(us)", "Size  Latency (ms)", "Size Whatever",
        "Size  Latency (us)",  # of version 3.1.1: of which ranks is not known
    )
}  # fmt: skip
READ |= {
    f"the columns {columns} of a barrier": (
        osu.read, title("Barrier") + f"# {columns}\n       7.25\n", [], ("f:3: ",)
    )
    for columns in ("Avg Latency(ms)", "Min Latency (us)")
}  # fmt: skip
READ |= {
    f"the known heading {heading!r}": (
        osu.read, title() + heading + "8  1.25\n16  1.50\n", [("allreduce", {8: 1.25, 16: 1.5})], ()
    )
    for heading in (HEADING, "# Size Avg Latency(us)\n", "# Size    Avg Latency (us)\n")
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_reader_of_a_text_takes_its_tables_and_names_the_rest(name: str) -> None:
    read, text, tables, problems = READ[name]
    reading = read(text, "f")
    found = [(t.collective, {x.bytes: x.average for x in t.lines}) for t in reading.tables]
    assert found == tables
    assert len(reading.problems) == len(problems), reading.problems
    assert all(words in said for words, said in zip(problems, reading.problems, strict=True))


def test_reader_of_all_columns_takes_largest_times_and_calls() -> None:
    (table,) = osu.read(FULL, "f").tables
    assert (table.datatype, table.tool, table.place) == ("MPI_INT", "OSU 7.5", "f:2")
    assert table.lines[0] == TableLine(4, 11.69, 18.59, 1000)
    text = title() + "".join(f"# Datatype: MPI_{n}.\n{HEADING}4 1.0\n" for n in ("CHAR", "INT"))
    assert [(t.datatype, t.place) for t in osu.read(text, "f").tables] == [
        ("MPI_CHAR", "f:2"), ("MPI_INT", "f:6"),
    ]  # fmt: skip


@given(st.sets(st.integers(1, 1 << 30), min_size=1), st.data())
def test_reader_of_a_cut_file_takes_whole_lines_only(sizes: set[int], data: st.DataObject) -> None:
    text = (
        title().lstrip() + HEADING + "".join(f"{n}  {n % 997 + 0.25:.2f}\n" for n in sorted(sizes))
    )
    whole = osu.read(text, "f").tables[0].lines
    assert len(whole) == len(sizes)
    at = data.draw(st.integers(0, len(text)))
    found = [x for t in osu.read(text[:at], "f").tables for x in t.lines]
    assert found == whole[: max(0, text[:at].count("\n") - 2)]


@given(st.text(alphabet="# OSUMPIAllreduce LatencyTestv7.\n\r0123456789.-xnan\x00[]_():\u00e9"))
def test_readers_of_any_text_take_times_above_zero(text: str) -> None:
    for head in ("", title("Bcast"), "# Benchmarking Bcast\n#bytes t_max[usec]\n"):
        for read in (osu.read, imb.read):
            for table in read(head + text, "f").tables:
                assert all((x.average or x.largest or 0) >= 0 for x in table.lines)


@pytest.mark.parametrize(
    ("version", "words", "mode", "root_stays"),
    [
        ("(R) MPI Benchmarks 2021.11", "", "latency", True),
        ("(R) MPI Benchmarks 2019 Update 3", "", "latency", True),
        ("(R) MPI Benchmarks 2021.11", " -sync off", "throughput", True),
        ("(R) MPI Benchmarks 2021.11", " -a 2 \n\n# -sync 0", "throughput", True),
        (" (R) MPI Benchmarks 2017", "", "throughput", False),
        (" (R) MPI Benchmarks 2018", " -sync on", "latency", False),
        ("(R) MPI Benchmarks 2021.11", " -root_shift off", "latency", True),
        ("(R) MPI Benchmarks 2021.11", " -root_shift on", "latency", False),
    ],
)
def test_imb_reader_takes_synchronization_and_root_from_version_and_options(
    version: str, words: str, mode: str, root_stays: bool
) -> None:
    text = imb_head(words).replace("(R) MPI Benchmarks 2021.11", version) + "".join(
        IMB_BLOCK.replace("Allreduce", name) for name in ("Bcast", "Allreduce", "Barrier")
    )
    reading = imb.read(text, "f")
    assert [t.collective for t in reading.tables] == ["bcast"] * root_stays + [
        "allreduce", "barrier",
    ]  # fmt: skip
    assert sum("root changes" in problem for problem in reading.problems) == (not root_stays)
    assert [t.mode for t in reading.tables][-2:] == [mode, "throughput"]
    assert all(t.tool == f"IMB {version.split('Benchmarks ')[1]}" for t in reading.tables)


def test_readers_keep_results_that_the_benchmark_found_wrong() -> None:
    """IMB by its own tolerance, a hundredth."""
    heading = "# Size       Avg Latency(us)        Validation\n"
    osus = title() + heading + "4        1.0      Pass\n8        1.1      Fail\n"
    imbs = IMB_BLOCK.replace("t_avg[usec]", "t_avg[usec]      defects")
    imbs = imbs.replace("11.69", "11.69  0.01").replace("12.69", "12.69  1.00")
    for read, text in ((osu.read, osus), (imb.read, imbs)):
        (table,) = read(text, "f").tables
        assert [x.correct for x in table.lines] == [True, False]

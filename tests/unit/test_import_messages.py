"""Point-to-point tables of OSU and IMB become network results."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpis import REPOSITORY
from stretto.cli import main
from stretto.files.bench import read_bench
from stretto.files.net import NetFile, read_net

DATA = REPOSITORY / "tests" / "data" / "imports"
Out = pytest.CaptureFixture[str]
Figures = dict[tuple[str, int, int, int, int], list[float]]
C5N = ("osu", str(DATA / "c5n-osu.log"), "--mpi", "openmpi@4.0.0")
NODE = ("osu", str(DATA / "node-osu.log"), "--nodes", "1", "--ppn", "2")
IMB = ("imb", str(DATA / "imb-mpi1.log"), "--mpi", "intel@2021.18", "--nodes", "1", "--ppn", "2")
THREADS = """\
# OSU MPI Multi-threaded Latency Test v5.7
# Number of Sender threads: 1
# Number of Receiver threads: 4
# Size          Latency (us)
8                       3.05
"""
LATENCY = """\
# OSU MPI Latency Test v7.1
# Size          Latency (us)
# Datatype: MPI_CHAR.
1                       4.{0}5
8                       4.{0}6
64                      4.{0}7
"""


def imported(tmp_path: Path, *words: str) -> dict[str, NetFile]:
    out = tmp_path / "out"
    assert main(["import", *words, "-o", str(out)]) == 0
    return {p.name: read_net(p) for p in sorted(out.glob("*.net.json"))}


def figures(found: NetFile) -> Figures:
    assert found.ranks is not None
    return {
        (m.test, m.bytes, m.pairs, m.window, m.threads): [v for run in m.launches for v in run]
        for m in found.ranks.messages
    }


@pytest.mark.parametrize(
    ("words", "name", "some", "count"),
    [
        pytest.param(
            (*C5N, "--nodes", "2"), "openmpi-4.0.0-2x1",
            {("bandwidth", 8192, 1, 64, 1): [1193.19]}, 5, id="osu_bw",
        ),
        pytest.param(
            (*C5N, "--nodes", "2"), "openmpi-4.0.0-2x72",
            {("bandwidth", 2048, 72, 64, 1): [11454.89]}, 5, id="osu_mbw_mr",
        ),
        pytest.param(
            (*C5N, "--nodes", "2", "--window", "1"), "openmpi-4.0.0-2x1",
            {("bandwidth", 8192, 1, 1, 1): [1193.19]}, 5, id="a window of 1",
        ),
        pytest.param(
            NODE, "openmpi-1.10.7-1x2",
            {("latency", 0, 1, 1, 1): [0.20], ("bidirectional", 1024, 1, 64, 1): [3041.29],
             ("bandwidth", 1024, 1, 64, 1): [2747.96]}, 9, id="programs that measure the same",
        ),
        pytest.param(
            IMB, "intel-2021.18-1x2",
            {("latency", 8, 1, 1, 1): [1.48], ("pingping", 8, 1, 1, 1): [0.29],
             ("sendrecv", 4096, 1, 1, 1): [0.54], ("exchange", 4096, 1, 1, 1): [1.23],
             ("bandwidth", 4096, 1, 64, 1): [pytest.approx(402.83, 1e-4)],
             ("bidirectional", 1024, 1, 64, 1): [pytest.approx(54.27, 1e-4)]}, 22, id="IMB-MPI1",
        ),
        pytest.param(
            (*IMB[:1], str(DATA / "imb-mt.log"), *IMB[2:]), "intel-2021.18-1x2",
            {("threads", 1024, 1, 1, 2): [12.14],
             ("bandwidth", 1024, 1, 64, 2): [9.84]}, 9, id="IMB-MT",
        ),
    ],
)  # fmt: skip
def test_import_of_real_logs_gives_their_figures(
    tmp_path: Path, words: tuple[str, ...], name: str, some: Figures, count: int
) -> None:
    result = imported(tmp_path, *words)[f"{name}.net.json"]
    found = figures(result)
    assert {k: found.get(k) for k in some} == some
    assert len(found) == count
    assert result.imported is not None and result.imported.software[0][:3] in ("OSU", "IMB")


def test_import_of_both_kinds_in_one_log_gives_both(tmp_path: Path, capsys: Out) -> None:
    for words in (NODE, IMB):
        out = tmp_path / words[0]
        imported(out, *words)
        (bench,) = (out / "out").glob("*.bench.jsonl")
        assert {s.collective for s in read_bench(bench).samples} <= {"allgather", "allreduce"}
    said = capsys.readouterr()
    assert "osu_multi_lat repeats the measurement of osu_latency" in said.err
    assert "Multi-process Latency" in said.err and "host.cpu" in said.out


def test_import_names_hosts_or_says_that_they_are_unknown(tmp_path: Path) -> None:
    for hosts, expected in ((("--hosts", "a,b"), "b"), ((), "unknown-2")):
        words = (*C5N, "--nodes", "2", *hosts)
        found = imported(tmp_path / expected, *words)["openmpi-4.0.0-2x72.net.json"]
        assert found.ranks is not None and found.imported is not None
        assert found.ranks.hosts[71:73] == [found.ranks.hosts[0], expected]
        assert ("hosts" in found.imported.unknown) == (not hosts)


def test_import_keeps_the_settings_of_messages(tmp_path: Path) -> None:
    command = "$ OMPI_MCA_coll_tuned_bcast_algorithm=1 mpirun --mca btl_tcp_links 4 osu_latency\n"
    (tmp_path / "a.log").write_text(command + LATENCY.format(1))
    where = ("--mpi", "openmpi@5", "--nodes", "2")
    (found,) = imported(tmp_path, "osu", str(tmp_path / "a.log"), *where).values()
    assert found.environment == {"btl_tcp_links": "4"}


def test_import_of_several_runs_gives_launches_in_their_order(tmp_path: Path) -> None:
    for run in (3, 1, 2):
        (tmp_path / f"run{run}.log").write_text(LATENCY.format(run))
    pattern = ("--pattern", "run{launch}.log")
    where = ("--mpi", "openmpi@5", "--nodes", "2")
    found = figures(imported(tmp_path, "osu", str(tmp_path), *where, *pattern)
                    ["openmpi-5-2x1.net.json"])  # fmt: skip
    assert found["latency", 8, 1, 1, 1] == [4.16, 4.26, 4.36]


def test_import_of_threads_has_their_number(tmp_path: Path) -> None:
    log = tmp_path / "mt.log"
    log.write_text(THREADS)
    where = ("--mpi", "openmpi@5", "--nodes", "1")
    found = figures(imported(tmp_path, "osu", str(log), *where)["openmpi-5-1x2.net.json"])
    assert found == {("latency-mt", 8, 1, 1, 4): [3.05]}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (C5N, "the nodes and ranks of this measurement are unknown (ranks 144)"),
        (("osu", "LOG", "--mpi", "openmpi@4"), "the number of nodes of osu_latency is not known"),
        (("osu", "LOG", "--mpi", "openmpi@4", "--nodes", "3"), "2 ranks, but 3 nodes"),
        (("osu", "LOG", "--nodes", "2"), "the MPI of this measurement"),
        ((*C5N, str(DATA / "links-osu.log"), "--nodes", "2"),
         "osu_bw was measured in two ways (no settings; btl_tcp_links=36)"),
        ((*C5N, "--nodes", "2", "--hosts", "a"), "2 nodes were used, but --hosts names 1"),
    ],
)  # fmt: skip
def test_import_refuses_what_it_would_have_to_guess(
    tmp_path: Path, capsys: Out, words: tuple[str, ...], expected: str
) -> None:
    log = tmp_path / "LOG"
    log.write_text(LATENCY.format(1))
    words = tuple(str(log) if word == "LOG" else word for word in words)
    assert main(["import", *words, "-o", str(tmp_path / "out")]) != 0
    assert expected in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


def test_import_leaves_out_pairs_of_both_kinds(tmp_path: Path, capsys: Out) -> None:
    """Of 64 ranks on nodes of 36, pair 0 is within a node, and pair 4 between two."""
    log = tmp_path / "imb.log"
    log.write_text((DATA / "imb-mpi1.log").read_text().replace("processes = 2", "processes = 64"))
    where = ("--mpi", "intel@2021.18", "--ppn", "36", "-o", str(tmp_path / "out"))
    assert main(["import", "imb", str(log), *where]) == 0
    assert "32 pairs are on two nodes" in capsys.readouterr().err


def test_import_of_other_columns_and_prefixes_takes_the_mean(tmp_path: Path, capsys: Out) -> None:
    """Percentiles, validation and a second datatype of OSU 7; the launcher's tags."""
    lines = [
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4",
        "# [ pairs: 2 ] [ window size: 64 ]",
        "# Datatype: MPI_CHAR.",
        "# Size                  MB/s        Messages/s        Validation",
        "1                      10.26       10258190.05              Pass",
        "2                      20.90       10447544.22              Fail",
        "# OSU MPI Latency Test v7.4",
        "# Datatype: MPI_CHAR.",
        "# Size       Avg Latency(us)  P50 Tail Lat(us)  P99 Tail Lat(us)",
        "1                       1.54              1.50              1.90",
        "# Datatype: MPI_INT.",
        "# Size       Avg Latency(us)  P50 Tail Lat(us)  P99 Tail Lat(us)",
        "4                       1.64              1.50              1.90",
        "# OSU MPI Latency Persistent Test v7.4",
        "# Size      Latency (us)",
        "1                       0.20",
    ]
    log = tmp_path / "v7.log"
    log.write_text("".join(f"[1,0]<stdout>:{line}\n" for line in lines))
    found = imported(tmp_path, "osu", str(log), "--mpi", "openmpi@5", "--nodes", "2")
    assert figures(found["openmpi-5-2x2.net.json"]) == {("bandwidth", 1, 2, 64, 1): [10.26]}
    assert figures(found["openmpi-5-2x1.net.json"]) == {("latency", 1, 1, 1, 1): [1.54]}
    said = capsys.readouterr().err
    for words in ("v7.log:6: the benchmark found wrong results", "another datatype (MPI_INT)",
                  "Latency Persistent Test v7.4: not one of"):  # fmt: skip
        assert words in said

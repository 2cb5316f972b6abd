"""Messages through an MPI, without one: points, placement, what a launch prints, figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from stretto.cli import main
from stretto.errors import StrettoError
from stretto.files.identity import MPIIdentity
from stretto.files.net import Messages, RailBytes, Ranks, read_net
from stretto.launch.execute import Result
from stretto.measure.request import Where
from stretto.net.compared import compared
from stretto.net.p2p import (
    LEVELS,
    Point,
    by_level,
    collected,
    expected_s,
    placement,
    points,
    read_launch,
)
from stretto.net.p2p_show import mpi_page, osu_lines, progress_answer, value
from stretto.net.systems import systems

HEAD = (
    '{"kind":"launch","ranks":4,"asked":"single","level":"multiple","library":"MPI 1",'
    '"hosts":["a","a","b","b"]}\n'
)
SAMPLE = (
    '{{"kind":"sample","test":"{}","bytes":{},"pairs":{},"window":{},"threads":1,'
    '"iterations":10,"seconds":{}{}}}\n'
)
END = '{"kind":"end","cut":false}\n'


def test_placement_of_pairs_is_named_or_refused() -> None:
    """Pair i is rank i and rank i + n/2."""
    assert placement(["a", "b"], 1) == "1 pair between nodes, 2 nodes: a-b"
    assert placement(["a", "a", "b", "b"], 2) == "2 pairs between nodes, 2 nodes: a-b"
    assert placement(["a"] * 5, 2) == "2 pairs within a node, 1 node: a"
    assert placement(["a", "b", "c", "d"], 2) == "2 pairs between nodes, 4 nodes: a-c, b-d"
    assert placement(["a", "b", "a", "c"], 1) == "1 pair within a node, 3 nodes: a"
    with pytest.raises(StrettoError, match="1 of 2 pairs are on two nodes, ranks 0 and 2"):
        placement(["a", "b", "a", "c"], 2)
    with pytest.raises(StrettoError, match="would mix network and shared memory"):
        placement(["a", "a", "a", "b"], 2)


def test_points_of_more_ranks_have_all_pairs_and_the_rate() -> None:
    two, five = points([8], 2), points([8], 5, threads=3)
    assert Point("bandwidth", 2048, 1, 64) in two and Point("bandwidth", 2048, 2, 64) in five
    assert {p.pairs for p in two} == {1} and {p.pairs for p in five} == {1, 2}
    assert {p.test for p in five} - {p.test for p in two} == {"threads", "shared", "turns"}
    assert len(set(five)) == len(five)
    assert Point("bandwidth", 8, 1, 64).word == "bandwidth:8:1:64:1"


def test_points_with_threads_have_latency_of_every_size_at_every_level() -> None:
    wanted = points([64, 4096], 2, threads=2)
    found = by_level(wanted)
    assert list(found) == list(LEVELS)
    for level, some in found.items():
        assert [p.bytes for p in some if p.test == "latency"] == [8, 64, 4096]
        assert len(set(some)) == len(some)
        assert {p for p in wanted if p.level == level} <= set(some)
    alone = points([64, 4096], 2)
    assert by_level(alone) == {"single": alone}
    fewer = expected_s(points([64], 2, threads=2), 1)
    # another size adds five tests, and its latency at three more levels
    assert expected_s(wanted, 1) - fewer == pytest.approx(8 * 8 * 0.01)


def test_page_has_latency_by_thread_level_and_its_answer() -> None:
    def of(size: int, level: str, us: float, launches: int = 6) -> Messages:
        values = [[us * (1 + n / 1000)] for n in range(launches)]
        return Messages("latency", size, 1, 1, 1, level, "us", values)

    def page(*found: Messages) -> list[str]:
        return mpi_page(Ranks(MPIIdentity("mpich", "mpich", "5"), ["a", "b"], list(found)))

    lines = page(of(8, "multiple", 1.5), of(8, "single", 1.0), of(64, "single", 2.0),
                 of(64, "multiple", 2.0), of(8, "funneled", 1.01))  # fmt: skip
    assert (
        "  MPI_THREAD_MULTIPLE against MPI_THREAD_SINGLE: higher latency at 1 of 2 sizes "
        "(most: 8 B 1.00 -> 1.50 us)."
    ) in lines
    at = lines.index("Latency by requested thread level, us")
    assert [line.split() for line in lines[at + 1 : at + 4]] == [
        ["bytes", "MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_MULTIPLE"],
        ["8", "B", "1.00", "1.01", "1.50"], ["64", "B", "2.00", "2.00"],
    ]  # fmt: skip
    for us, launches, words in (
        (1.0, 6, "no significant difference in latency."),
        (0.5, 6, "lower latency at 1 of 1 size (most: 8 B 1.00 -> 0.501 us)."),
        (1.5, 5, "not tested; a test needs 6 launches or more."),
    ):
        text = page(of(8, "single", 1.0, launches), of(8, "multiple", us, launches))
        assert any(line.endswith(f"MPI_THREAD_SINGLE: {words}") for line in text), text
    assert "thread level" not in "\n".join(page(of(8, "single", 1.0))).lower()


@pytest.mark.parametrize(
    ("sample", "figure", "unit"),
    [
        (("latency", 8, 1, 1, 2e-5, ""), 1.0, "us"),  # half of a round trip of 2 us
        (("bandwidth", 1000, 2, 64, 0.01, ""), 128.0, "MB/s"),
        (("bidirectional", 1000, 1, 64, 0.01, ""), 128.0, "MB/s"),
        (("sends", 8, 1, 50, 0.001, ""), 2.0, "us"),
        (("threads", 8, 1, 1, 2e-5, ""), 2.0, "us"),
        (("overlap", 8, 1, 1, 1.5, ',"pure_seconds":1.0,"computed_seconds":1.0'), 50.0, "%"),
        (("overlap", 8, 1, 1, 1.0, ',"pure_seconds":1.0,"computed_seconds":1.0'), 100.0, "%"),
        (("overlap", 8, 1, 1, 9.0, ',"pure_seconds":1.0,"computed_seconds":1.0'), 0.0, "%"),
    ],
)
def test_figures_of_a_test_have_its_unit(
    sample: tuple[object, ...], figure: float, unit: str
) -> None:
    text = "MPI startup(): noise\n" + HEAD + 2 * SAMPLE.format(*sample) + END
    launches = [read_launch(text, "mpirun")] * 6
    assert not launches[0].cut and launches[0].hosts == ("a", "a", "b", "b")
    ranks = collected(MPIIdentity("mpich", "mpich", "1"), launches)
    assert ranks.hosts == ["a", "a", "b", "b"] and ranks.mpi.library == "MPI 1"
    (messages,) = ranks.messages
    found = value(messages)
    assert found.median == pytest.approx(figure) and messages.unit == unit
    assert found.n == 6 and found.low == pytest.approx(figure)


def test_read_launch_without_an_end_is_cut_and_without_a_head_refused() -> None:
    assert read_launch(HEAD, "mpirun").cut
    with pytest.raises(StrettoError, match="the launch measured nothing"):
        read_launch("Segmentation fault\n", "mpirun")


def test_read_launch_with_counters_has_connections_and_bytes_by_point() -> None:
    rails = (
        '{"kind":"sockets","pairs":[2,4]}\n{"kind":"rails","test":"latency","bytes":8,"pairs":1,'
        '"window":1,"threads":1,"host":"a","rails":[{"name":"eth0","rdma":false,"up":true,'
        '"speed_mbits":0,"sent":5,"received":6}]}\n'
    )
    found = read_launch(HEAD + SAMPLE.format("latency", 8, 1, 1, 1, "") + rails + END, "mpirun")
    assert found.sockets == (2, 4) and not found.cut
    assert found.traffic == {Point("latency", 8): (RailBytes("a", "eth0", False, True, 0, 5, 6),)}


def test_page_of_two_pairs_begins_with_the_answer() -> None:
    def of(test: str, size: int, pairs: int, window: int, figure: float, unit: str) -> Messages:
        return Messages(test, size, pairs, window, 1, "single", unit, [[figure]] * 6)

    ranks = Ranks(
        MPIIdentity("openmpi", "openmpi", "5.0.11"),
        ["a", "a", "b", "b"],
        [
            of("latency", 8, 1, 1, 1.5, "us"),
            of("bandwidth", 1 << 20, 1, 64, 12_000, "MB/s"),
            of("bandwidth", 1 << 20, 2, 64, 23_000, "MB/s"),
            of("bandwidth", 2048, 2, 64, 4096, "MB/s"),
            of("overlap", 1 << 20, 1, 1, 75, "%"),
        ],
    )
    text = "\n".join(mpi_page(ranks))
    assert text.splitlines()[0] == (
        "Open MPI 5.0.11: 8 B in 1.50 us, 12000 MB/s with one pair (1 MiB messages), 23000 MB/s "
        "with 2, 2.00 million messages of 2 KiB a second."
    )
    assert "4 ranks: 2 pairs between nodes, 2 nodes: a-b" in text and "75 %" in text
    lines = osu_lines(ranks)
    assert "# OSU MPI Latency Test" in lines and "8                           1.50" in lines
    assert any(line.split() == ["2048", "4096.00", "2000000.00"] for line in lines)
    for messages in ranks.messages:
        messages.level = "multiple"  # given by an MPI that was asked for less
    assert mpi_page(ranks)[0] == text.splitlines()[0] and osu_lines(ranks) == lines


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ((("bandwidth", 1, 2, 64, 17.9), ("bandwidth", 2 << 20, 2, 64, 13012)),
         "13012 MB/s with 2 pairs (2 MiB messages), 17.9 million messages of 1 B a second"),
        ((("bandwidth", 4096, 1, 64, 20.0),),
         "20.0 MB/s with one pair (4 KiB messages), 4883 messages of 4 KiB a second"),
        ((("sends", 8, 1, 64, 0.5),), "blocking send of 8 B: 0.500 us"),
    ],
)  # fmt: skip
def test_page_answers_with_what_was_measured(
    tests: tuple[tuple[str, int, int, int, float], ...], expected: str
) -> None:
    found = [
        Messages(test, size, pairs, window, 1, "single", "us" if test == "sends" else "MB/s",
                 [[figure]])
        for test, size, pairs, window, figure in tests
    ]  # fmt: skip
    ranks = Ranks(MPIIdentity("openmpi", "openmpi", "4.0.1"), ["a", "a", "b", "b"], found)
    assert mpi_page(ranks)[0] == f"Open MPI 4.0.1: {expected}."


OVERLAP = Messages(
    "overlap", 1 << 20, 1, 1, 1, "single", "%", [[5.0]] * 6,
    pure_us=[[100.0]] * 6, overall_us=[[195.0 + n] for n in range(6)],
)  # fmt: skip
PINGS = Messages("latency", 8, 1, 1, 1, "single", "us", [[0.4 + n / 100] for n in range(6)])


def test_page_answers_whether_a_progress_thread_pays() -> None:
    ranks = Ranks(MPIIdentity("mpich", "mpich", "5.0.2"), ["a", "b"], [PINGS, OVERLAP])

    def answer(**changes: object) -> str:
        return "\n".join(progress_answer(replace(ranks, **changes)))  # type: ignore[arg-type]

    assert answer() == "  Progress thread: not measured."
    assert answer(progress_missing="MPICH 5.0.2 has none").endswith(": MPICH 5.0.2 has none.")
    assert answer(messages=[PINGS]) == ""
    hidden = replace(OVERLAP, overall_us=[[100.0 + n / 10] for n in range(6)])
    slow = replace(PINGS, launches=[[3.0 + n / 100] for n in range(6)])
    with_thread = {"progress_thread": "X=1", "with_thread": [slow, hidden]}
    assert answer(**with_thread) == (
        "  Progress thread (X=1): it helps some transfers. Transfer time that is not hidden by a "
        "computation:\n    less: message of 1 MiB 97.5 -> 1.00 us\n"
        "    more: latency of 8 B 0.425 -> 3.02 us"
    )
    assert ": it speeds up transfers. " in answer(
        progress_thread="X=1", with_thread=[PINGS, hidden]
    )
    assert ": it slows transfers. " in answer(progress_thread="X=1", with_thread=[slow, OVERLAP])
    assert "no measured value" in answer(progress_thread="X=1", with_thread=[PINGS, OVERLAP])
    few = replace(hidden, overall_us=hidden.overall_us[:5], pure_us=hidden.pure_us[:5])
    assert "not tested; a test needs 6" in answer(progress_thread="X=1", with_thread=[few])
    page = mpi_page(replace(ranks, progress_thread="X=1", with_thread=[slow, hidden]))
    row = next(line for line in page if line.startswith("  message"))
    assert row.split() == [
        "message", "1", "MiB", "100", "100", "198", "5", "%", "100", "100", "5", "%",
    ]  # fmt: skip


@pytest.mark.parametrize("finished", [0, 3])
def test_net_mpi_whose_launch_fails_keeps_the_finished_ones(
    finished: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = HEAD + SAMPLE.format("bandwidth", 2048, 2, 64, 1, "") + END
    texts = [text] * finished + [HEAD]
    mpi = SimpleNamespace(identity=MPIIdentity("mpich", "mpich", "1"), abi="mpich")
    mpi.launch = lambda *_, **options: (["mpirun"], {})
    place = Where(mpi, 4, 2, 2, 2, ("a", "b"))  # type: ignore[arg-type]
    monkeypatch.setattr("stretto.cli.net_mpi.where", lambda *_: place)
    monkeypatch.setattr("stretto.cli.measured.idle_warning", lambda: "the machine is busy")
    monkeypatch.setattr("stretto.net.p2p.library", lambda *_: Path("stretto-p2p"))
    monkeypatch.setattr("stretto.net.p2p.run", lambda *_, **options: Result(0, 1, texts.pop(0)))
    set_ = {"FI_PROVIDER": "tcp", "MPIR_CVAR_CH4_OFI_MAX_NICS": "1"}
    others = {"OMPI_MCA_btl": "tcp", "FI_PROVIDER_PATH": "/opt", "MPIR_CVAR_DEBUG_SUMMARY": "1"}
    for name, text_ in (set_ | others).items():
        monkeypatch.setenv(name, text_)
    out = tmp_path / "x.net.json"
    words = ["net", "mpi", "-n", "4", "--no-progress-thread", "--bytes", "8", "-o", str(out)]
    assert main(words) == (1 if finished else 3)
    said = capsys.readouterr().err
    assert "stretto: warning: the machine is busy" in said and "within its limit of 79 s" in said
    assert out.exists() is bool(finished)
    if finished:
        found = read_net(out)
        assert found.ranks is not None and len(found.ranks.messages[0].launches) == 3
        assert found.notes[0] == "the machine is busy" and found.environment == set_
        assert found.notes[1].startswith("only 3 launches finished: a launch measured nothing")
        assert any(found.notes[1] in note for note in compared(*systems([out, out])).notes)

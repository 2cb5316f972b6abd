"""Bench results: append-only, resumable, never mixed."""

from __future__ import annotations

import multiprocessing
import os
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exports import result_file
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.files.bench import (
    Bench,
    Excluded,
    Header,
    Launch,
    LaunchEnd,
    Record,
    Sample,
    format_record,
    parse_bench,
    read_bench,
    standing_exclusions,
)
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import Host, MPIIdentity


def header(version: str = "4.1.4", cpu: str = "AMD EPYC") -> Header:
    host = Host("h", cpu, 2, "6.1", 1 << 34)
    mpi = MPIIdentity("openmpi", "openmpi", version, "Open MPI v" + version)
    return Header("0.1.0", "2026-11-21T20:00:00Z", host, mpi, ["stretto", "bench"], {"seed": 1})


def sample(candidate: str = "shm", size: int = 8, launch: int = 0, mode: str = "latency") -> Sample:
    return Sample(
        launch, "allreduce", candidate, size, "MPI_DOUBLE", "MPI_SUM", None,
        mode,  # type: ignore[arg-type]
        10, [0.5, 0.25], True,
    )  # fmt: skip


LAUNCH = Launch(0, 1, 2, 2, {"allreduce": ["native", "shm"]}, 0.05)


def write(path: Path, records: list[Record], resume: bool = False) -> Bench:
    with BenchWriter(path, header(), resume) as writer:
        for record in records:
            writer.write(record)
        return writer.previous


@given(st.data())
def test_bench_text_that_is_cut_or_changed_loses_one_line_or_is_refused(
    data: st.DataObject,
) -> None:
    """A cut between lines loses nothing before it, one inside a line loses that line only."""
    records: list[Record] = [LAUNCH, *(sample(size=8 << i) for i in range(4))]
    text = "".join(map(format_record, (header(), *records)))
    cut = data.draw(st.integers(0, len(text)))
    whole = text[:cut].count("\n")
    if whole == 0:
        with pytest.raises(StrettoError):
            parse_bench(text[:cut], "b")
    else:
        found = parse_bench(text[:cut], "b")
        assert found.records == records[: whole - 1]
        assert found.truncated == (not text[:cut].endswith("\n"))
    raw = bytearray(text.encode())
    at = data.draw(st.integers(0, len(raw) - 1))
    change = data.draw(st.binary(min_size=1, max_size=3))
    raw[at : at + len(change)] = change
    try:
        parse_bench(raw.decode("utf-8", "replace"), "b")
    except StrettoError as error:
        assert error.place is not None and error.place.startswith("b")


def test_malformed_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.bench.jsonl"
    write(path, [LAUNCH, sample()])
    lines = path.read_text().splitlines()
    lines[1] = lines[1][:-5]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(StrettoError) as caught:
        read_bench(path)
    assert str(caught.value.place).startswith(f"{path}:2")


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (sample(launch=7), "never started"),
        (sample(candidate="ring"), "not a candidate"),
        (sample(size=-1), "at least 0"),
        (Launch(1, 1, 2, 4, {}), "do not fit"),
        (Launch(1, 0, 2, 2, {}), "at least 1"),
    ],
)
def test_impossible_records(tmp_path: Path, record: Record, words: str) -> None:
    with BenchWriter(tmp_path / "x", header()) as writer:
        writer.write(LAUNCH)
        with pytest.raises(StrettoError, match=words):
            writer.write(record)


def test_resume(tmp_path: Path) -> None:
    path = tmp_path / "x.bench.jsonl"
    write(path, [LAUNCH, sample("native"), sample(), sample("native", 16)])
    with path.open("a") as stream:
        stream.write(format_record(sample("shm", 16))[:-9])
    previous = write(path, [sample("shm", 16), LaunchEnd(0, "ok")], resume=True)
    assert previous.truncated
    assert [(s.candidate, s.bytes) for s in previous.samples] == [
        ("native", 8), ("shm", 8), ("native", 16), ("shm", 16)
    ]  # fmt: skip
    found = read_bench(path)
    assert not found.truncated
    assert len(found.samples) == 4 and found.ends[0].status == "ok"


def excluded(reason: str, launch: int = 0) -> Excluded:
    return Excluded(launch, "allreduce", "shm", 8, reason, "")  # type: ignore[arg-type]


def test_a_crash_is_forgiven_once_when_it_was_measured_since() -> None:
    crash, wrong, good = excluded("failed"), excluded("wrong"), sample()
    assert standing_exclusions([LAUNCH, good, crash])  # nothing since
    assert not standing_exclusions([LAUNCH, crash, good])
    assert standing_exclusions([LAUNCH, crash, good, excluded("hung")])
    assert standing_exclusions([LAUNCH, crash, good, excluded("hung"), good])
    assert standing_exclusions([LAUNCH, wrong, good])
    assert standing_exclusions([LAUNCH, wrong, crash, good])


def test_killed_in_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "x.bench.jsonl"
    path.write_text(format_record(header())[:40])
    write(path, [LAUNCH], resume=True)
    assert read_bench(path).records == [LAUNCH]


def test_writer_never_overwrites_or_mixes(tmp_path: Path) -> None:
    path = tmp_path / "x.bench.jsonl"
    write(path, [LAUNCH])
    with pytest.raises(StrettoError, match="never overwritten"):
        BenchWriter(path, header())
    for other in (header(version="5.0.11"), header(cpu="Intel Xeon")):
        with pytest.raises(StrettoError, match="results are of another"):
            BenchWriter(path, other, resume=True)
    assert read_bench(path).records == [LAUNCH]


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "x.bench.jsonl"
    with (
        BenchWriter(path, header()) as writer,
        pytest.raises(StrettoError, match="another campaign"),
    ):
        writer.write(LAUNCH)
        BenchWriter(path, header(), resume=True)


def _write_until_stopped(path: str, limit: int) -> None:
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    with BenchWriter(Path(path), header()) as writer:
        writer.write(LAUNCH)
        try:
            while True:
                writer.write(sample())
        except StrettoError as error:
            assert "earlier ones are kept" in error.message
            os._exit(7)


@pytest.mark.parametrize("limit", [0, 5000])
def test_writer_killed_or_without_room_keeps_whole_lines(tmp_path: Path, limit: int) -> None:
    """A limit on the size gives what a full disk gives: a short write, then an error."""
    path = tmp_path / "x.bench.jsonl"
    process = multiprocessing.get_context("fork").Process(
        target=_write_until_stopped, args=(str(path), limit)
    )
    process.start()
    while not limit and (not path.exists() or path.stat().st_size < 20000):
        assert process.is_alive()
    if not limit:
        process.kill()
    process.join()
    assert not limit or process.exitcode == 7
    found = read_bench(path)
    assert len(found.samples) > 5 and not (limit and found.truncated)
    write(path, [sample()], resume=True)
    assert len(read_bench(path).samples) == len(found.samples) + 1


def test_commands_on_a_truncated_bench_file_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "x.bench.jsonl", str(tmp_path / "x.table")
    result_file(path, {("allreduce", 1024): {"native": 51.0, "bare": 50.0, "shm": 20.0}})
    text = path.read_text(encoding="utf-8")
    head = text.index("\n") + 1
    for kept, code, words in (
        (text[:-9], 0, f"{path}: the last line is cut off and left out"),
        (text[: head + 40], 1, "contain no measurement: its last line is cut off"),
        (text[:head], 1, "these results contain no measurement"),
        (text[:20], 1, "the first line is cut off"),
    ):
        path.write_text(kept, encoding="utf-8")
        assert main(["table", "decide", str(path), "-o", out]) == code
        assert words in " ".join(capsys.readouterr().err.split()), words
    path.write_text(text[:-9], encoding="utf-8")
    assert main(["compare", str(path)]) == 0
    assert "the last line is cut off" in capsys.readouterr().err

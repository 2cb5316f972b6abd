"""The files of a layout as one: in which order what excludes a candidate stands to its samples."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import IO, Any, Literal

import pytest

import sweeps
from stretto.campaign.folder import ENDING, Folder, Session, merge, strange
from stretto.files.bench import (
    Bench,
    Excluded,
    Header,
    Launch,
    LaunchEnd,
    Record,
    Sample,
    format_record,
    standing_exclusions,
)
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import Identity
from stretto.measure.ledger import Ledger
from stretto.measure.settings import Settings, make_case

IDENTITY = Identity("0", "2026-01-01T00:00:00Z", sweeps.HOST, sweeps.MPI)
END = LaunchEnd(0, "ok")


def launch(number: int = 0) -> Launch:
    return Launch(number, 2, 2, 4, {"bcast": ["native", "ring"]}, 0.1)


def sample(candidate: str, size: int = 64) -> Sample:
    return Sample(0, "bcast", candidate, size, "byte", None, 0, "latency", 1, [10.0], True)


def out(reason: Literal["wrong", "hung", "failed"], size: int = 64) -> Excluded:
    return Excluded(0, "bcast", "ring", size, reason, "x")


def session_of(created: str, *records: Record) -> Session:
    """A file as if it had been read."""
    header = Header("0", created, sweeps.HOST, sweeps.MPI, [])
    session = Session(Path(created), header)
    for record in records:
        session.add(record)
    return session


def merged(*files: tuple[Record, ...], modes: tuple[str, ...] = ("latency",)) -> Bench:
    """What files hold that were begun one after the other, each of one start of the launch."""
    sessions = [
        session_of(f"2026-01-01T{hour:02}:00:00Z", launch(), *records)
        for hour, records in enumerate(files)
    ]
    return in_any_order(sessions, modes)


def in_any_order(sessions: list[Session], modes: tuple[str, ...] = ("latency",)) -> Bench:
    found = merge(sessions, IDENTITY, modes).bench
    assert merge(sessions[::-1], IDENTITY, modes).bench == found, "whoever is read first"
    return found


AGAIN = (sample("native"), sample("ring"), END)


def standing(*files: tuple[Record, ...]) -> bool:
    return bool(standing_exclusions(merged(*files).records))


def test_results_of_other_nodes_are_strange() -> None:
    at_login = Header("0", "", sweeps.HOST, sweeps.MPI, [], {"node_cpu": "old nodes"})
    assert strange(at_login, IDENTITY, "old nodes") is None
    said = strange(at_login, IDENTITY, "new nodes")
    assert said == "measured on old nodes, and these nodes are new nodes"
    assert strange(at_login, IDENTITY, None) is not None
    unnamed = Header("0", "", sweeps.HOST, sweeps.MPI, [])
    assert strange(unnamed, IDENTITY, None) is None
    assert strange(unnamed, IDENTITY, "new nodes") is not None


def test_a_crash_before_the_launch_measured_the_candidate_is_not_for_good() -> None:
    first, again = (sample("native"), out("hung"), LaunchEnd(0, "timeout")), AGAIN
    assert standing(first) and not standing(first, again)
    assert not standing((*first, launch(), *again)), "by the same start"
    kinds = [type(r) for r in merged(first, again).records]
    assert kinds == [Launch, Excluded, Sample, Sample, LaunchEnd, LaunchEnd]


@pytest.mark.parametrize(
    "files",
    [
        ((sample("native"), sample("ring"), out("failed", 512), END),),
        (AGAIN, (out("hung", 512), END)),
        ((out("wrong"), END), AGAIN),
        (AGAIN, (out("wrong"), END)),
        ((out("hung"), END), (out("wrong"), END), AGAIN),
        ((out("wrong"), END), (out("hung"), END), AGAIN),
        ((out("hung"), END), (out("hung"), END), AGAIN),
        ((out("hung"), END), AGAIN, (out("hung", 512), END)),
    ],
)
def test_merge_crash_behind_samples_or_twice_or_wrong_results_stand(
    files: tuple[tuple[Record, ...], ...],
) -> None:
    assert standing(*files)


FOUR = ["native", "ring", "shm", "recursive_doubling"]


def under(generation: int) -> Launch:
    """A launch of four candidates, measured under a claim."""
    return Launch(0, 2, 2, 4, {"bcast": FOUR}, 0.1, generation=generation)


def crash(candidate: str) -> Excluded:
    return Excluded(0, "bcast", candidate, 8, "failed", "signal 9")


def timed(candidate: str, us: float) -> Sample:
    return Sample(0, "bcast", candidate, 64, "byte", None, 0, "latency", 1, [us], True)


def begun(*files: tuple[int, tuple[Record, ...]]) -> Bench:
    """What files hold that were begun at these hours, by the clocks of their nodes."""
    return in_any_order([session_of(f"2026-01-01T{hour:02}:00:00Z", *r) for hour, r in files])


def test_of_two_that_measured_as_much_the_later_holder_counts() -> None:
    first = crash("recursive_doubling"), *(sample(c) for c in ("native", "ring", "shm"))
    then = crash("shm"), *(sample(c) for c in ("native", "ring", "recursive_doubling")), END
    found = begun((12, (under(1), *first)), (13, (under(2), *then)))
    assert {s.candidate for s in found.samples} == {"native", "ring", "recursive_doubling"}
    assert {k[1] for k in standing_exclusions(found.records)} == {"shm"}


def test_who_has_lost_its_claim_changes_nothing_that_was_measured_since() -> None:
    stood = under(1), timed("native", 10.0), timed("ring", 50.0), END
    took_over = under(2), timed("native", 10.0), timed("ring", 5.0), END
    for files in (((13, took_over),), ((12, stood), (13, took_over))):
        assert [s.times_us for s in begun(*files).samples] == [[10.0], [5.0]]


@pytest.mark.parametrize("hour", [12, 14])
def test_a_crash_is_past_by_the_claims_whatever_the_nodes_clocks_say(hour: int) -> None:
    hung = under(1), sample("native"), out("hung"), LaunchEnd(0, "timeout")
    again = under(2), sample("native"), sample("ring"), END
    found = begun((hour, hung), (13, again))
    assert not standing_exclusions(found.records) and found.ends[0] == END
    later = under(2), sample("native"), out("hung", 512), LaunchEnd(0, "timeout")
    found = begun((hour, later), (13, (under(1), *again[1:])))
    assert standing_exclusions(found.records) and found.ends[0].status == "timeout"


BOTH = ("throughput", "latency")
CASE = make_case("bcast", 64, ["native", "ring"])
SETTINGS = Settings(4, (CASE,), ("stretto",), 1, 2, modes=BOTH)


def of_mode(candidate: str, mode: Literal["throughput", "latency"]) -> Sample:
    return Sample(
        0, "bcast", candidate, 64, CASE.datatype, CASE.operation, CASE.root, mode, 1, [10.0], True
    )


FULL = LaunchEnd(0, "failed", "exit code 1: output: cannot be written: No space left")
HALF = of_mode("native", "throughput"), of_mode("native", "latency"), of_mode("ring", "throughput")


@pytest.mark.parametrize(
    "tail",
    [(), (FULL,), (out("failed"), FULL), (FULL, launch()), (launch(),)],
    ids=["end", "failed", "crashed", "again", "killed"],
)
def test_a_mode_that_was_broken_off_is_measured_again(tail: tuple[Record, ...]) -> None:
    found = merged((*HALF, *tail), modes=BOTH)
    assert [(s.candidate, s.mode) for s in found.samples] == [("native", m) for m in BOTH]
    for records in (found.records, [launch(), *HALF, *tail]):
        assert Ledger(SETTINGS, records).pending(0) == [CASE]
    whole = *HALF, *tail, launch(), *HALF, of_mode("ring", "latency"), END
    assert Ledger(SETTINGS, merged(whole, modes=BOTH).records).pending(0) == []


def test_a_mode_that_a_crash_broke_off_is_measured_by_the_next_try() -> None:
    ledger = Ledger(SETTINGS)
    for record in HALF:
        ledger.count(record)
    assert ledger.pending(0) == [], "as long as the program runs"
    assert ledger.strike("bcast", "ring") and ledger.pending(0) == [CASE]


def test_a_mode_of_which_nothing_came_is_not_measured_again() -> None:
    for files in (((*HALF, END),), ((sample("native", 8), FULL), (*HALF, END))):
        found = merged(*files, modes=BOTH)
        assert len([s for s in found.samples if s.datatype == CASE.datatype]) == 3
        assert Ledger(SETTINGS, found.records).pending(0) == []


def lines_of(*records: Record) -> list[bytes]:
    header = Header("0", "2026-01-01T12:00:00Z", sweeps.HOST, sweeps.MPI, [])
    return [format_record(r).encode() for r in (header, *records)]


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_hole_of_a_moment_is_no_damage(tmp_path: Path, first: int) -> None:
    lines = lines_of(launch(), sample("native"), sample("ring"), END)
    start, end = len(b"".join(lines[:first])), len(b"".join(lines[: first + 2]))
    whole = b"".join(lines)
    path = tmp_path / f"1{ENDING}"
    path.write_bytes(whole[:start] + bytes(end - start) + whole[end:])
    folder = Folder(tmp_path, IDENTITY, ("latency",))
    found = folder.merged()
    assert len(found.aside) == 1 and f"line {first + 1} and what stands behind it" in found.aside[0]
    assert folder.merged() is found, "nothing has changed"
    path.write_bytes(whole)
    found = folder.merged()
    records = [launch(), sample("native"), sample("ring"), END]
    assert not found.aside and found.bench.records == records
    with path.open("ab") as stream:
        stream.write(b"".join(lines[1:]))
    assert folder.merged().bench.ends[0] == END and len(folder.merged().bench.samples) == 2


def test_a_file_that_cannot_be_read_is_named_and_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, candidate in (("1", "native"), ("2", "ring")):
        records = lines_of(launch(), sample(candidate), END)
        (tmp_path / f"{name}{ENDING}").write_bytes(b"".join(records))
    real, broken = Path.open, {tmp_path / f"1{ENDING}"}

    def opened(path: Path, *of: Any, **more: Any) -> IO[Any]:
        if path in broken:
            raise OSError(errno.EIO, "Input/output error", str(path))
        return real(path, *of, **more)

    monkeypatch.setattr(Path, "open", opened)
    folder = Folder(tmp_path, IDENTITY, ("latency",))
    found = folder.merged()
    assert [s.candidate for s in found.bench.samples] == ["ring"]
    (aside,) = found.aside
    assert aside.startswith(f"{tmp_path / '1'}{ENDING}: cannot be read now")
    assert "Input/output error" in aside
    assert folder.merged() is found
    broken.clear()
    assert not folder.merged().aside
    assert {s.launch for s in folder.merged().bench.samples} == {0}


def test_the_end_of_a_launch_tells_what_all_files_hold_of_it(tmp_path: Path) -> None:
    folder = Folder(tmp_path, IDENTITY, ("latency",))
    header = Header("0", "2026-01-01T12:00:00Z", sweeps.HOST, sweeps.MPI, [])
    first = BenchWriter(tmp_path / f"1{ENDING}", header)
    for record in (launch(), sample("native"), sample("ring"), sample("native", 512), FULL):
        first.write(record)
    second = BenchWriter(tmp_path / f"2{ENDING}", header)
    second.held, second.generation = folder.held, 2
    for record in (launch(), sample("native", 512), sample("ring", 512), launch(), END):
        second.write(record)
    end = folder.merged().bench.ends[0]
    assert end.samples == 4 == len(folder.merged().bench.samples)
    assert folder.merged().bench.launches[0].generation == 2

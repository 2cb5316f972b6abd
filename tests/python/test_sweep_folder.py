"""The files of a layout as one: in which order what excludes a candidate stands to its samples."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import sweeps
from stretto.files.bench import (
    Bench,
    Excluded,
    Header,
    Launch,
    LaunchEnd,
    Record,
    Sample,
    standing_exclusions,
)
from stretto.files.identity import Identity
from stretto.sweep.folder import Session, merge, strange

IDENTITY = Identity("0", "2026-01-01T00:00:00Z", sweeps.HOST, sweeps.MPI)
END = LaunchEnd(0, "ok")


def launch(number: int = 0) -> Launch:
    return Launch(number, 2, 2, 4, {"bcast": ["native", "ring"]}, 0.1)


def sample(candidate: str, size: int = 64) -> Sample:
    return Sample(0, "bcast", candidate, size, "byte", None, 0, "latency", 1, [10.0], True)


def out(reason: Literal["wrong", "hung", "failed"], size: int = 64) -> Excluded:
    return Excluded(0, "bcast", "ring", size, reason, "x")


def merged(*files: tuple[Record, ...]) -> Bench:
    """What files hold that were begun one after the other, each of one start of the launch."""
    sessions = []
    for hour, records in enumerate(files):
        header = Header("0", f"2026-01-01T{hour:02}:00:00Z", sweeps.HOST, sweeps.MPI, [])
        sessions.append(Session(Path(f"{hour}"), header, [launch(), *records]))
        sessions[-1].starts = [1] * len(sessions[-1].records)
    found = merge(sessions, IDENTITY, ("latency",)).bench
    assert merge(sessions[::-1], IDENTITY, ("latency",)).bench == found, "whoever is read first"
    return found


def standing(*files: tuple[Record, ...]) -> bool:
    return bool(standing_exclusions(merged(*files).records))


def test_results_of_other_nodes_are_strange() -> None:
    """The host of the file is where the campaign was started: a login node, say."""
    at_login = Header("0", "", sweeps.HOST, sweeps.MPI, [], {"node_cpu": "old nodes"})
    assert strange(at_login, IDENTITY, "old nodes") is None
    said = strange(at_login, IDENTITY, "new nodes")
    assert said == "measured on old nodes, and these nodes are new nodes"
    assert strange(at_login, IDENTITY, None) is not None
    unnamed = Header("0", "", sweeps.HOST, sweeps.MPI, [])
    assert strange(unnamed, IDENTITY, None) is None
    assert strange(unnamed, IDENTITY, "new nodes") is not None


def test_a_crash_before_the_launch_measured_the_candidate_is_not_for_good() -> None:
    first = sample("native"), out("hung"), LaunchEnd(0, "timeout")
    again = sample("native"), sample("ring"), END
    assert standing(first) and not standing(first, again)
    assert not standing((*first, launch(), *again)), "by the same start"
    kinds = [type(r) for r in merged(first, again).records]
    assert kinds == [Launch, Excluded, Sample, Sample, LaunchEnd, LaunchEnd]


def test_a_crash_behind_the_samples_stands() -> None:
    assert standing((sample("native"), sample("ring"), out("failed", 512), END))
    assert standing((sample("native"), sample("ring"), END), (out("hung", 512), END))


def test_wrong_results_and_a_second_crash_stand_wherever_they_are() -> None:
    again = sample("native"), sample("ring"), END
    assert standing((out("wrong"), END), again) and standing(again, (out("wrong"), END))
    assert standing((out("hung"), END), (out("wrong"), END), again)
    assert standing((out("wrong"), END), (out("hung"), END), again)
    assert standing((out("hung"), END), (out("hung"), END), again)
    assert standing((out("hung"), END), again, (out("hung", 512), END))

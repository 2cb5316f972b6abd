"""Numbers of things in sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

from stretto.counted import counted, size_range
from stretto.files.export import ExportRow
from stretto.files.layout import RankLayout
from stretto.measure.settings import Settings, make_case
from stretto.tune.measured import Planned


@pytest.mark.parametrize(
    ("number", "noun", "words"),
    [
        (1, "setting", "1 setting"),
        (0, "setting", "0 settings"),
        (2, "launch", "2 launches"),
        (1, "launch", "1 launch"),
        (3, "pass", "3 passes"),
    ],
)
def test_one_is_no_plural(number: int, noun: str, words: str) -> None:
    assert counted(number, noun) == words
    assert [counted(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]


def test_layout_of_unequal_nodes_is_not_printed_as_a_product() -> None:
    uneven, even = RankLayout(2, 2, 3), RankLayout(2, 2, 4)
    assert uneven.words == uneven.explained == "3 ranks on 2 nodes with at most 2 each"
    assert (even.words, even.explained) == ("4 ranks on 2 x 2", "2 x 2 (nodes x ranks)")
    row = ExportRow("bcast", 3, 2, 2, 8, None, [])
    assert row.words == "bcast on 3 ranks (2 nodes with at most 2 each), 8 bytes and more"
    settings = Settings(3, (make_case("bcast", 1 << 17, ["native", "shm"]),), ("stretto",), 6)
    plan = Planned((3, 2, 2), (), settings, Path("a"))
    assert plan.words == "1 call shape on 3 ranks on 2 nodes with at most 2 each, 6 launches"
    assert plan.shapes == "bcast of 128 KiB (2 candidates)"
    assert size_range(0, 4095) == "below 4 KiB"

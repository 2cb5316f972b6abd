"""Numbers of things in sentences."""

from __future__ import annotations

import pytest

from stretto.counted import counted


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

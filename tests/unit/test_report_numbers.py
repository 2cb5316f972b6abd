"""Formats, intervals, label placement: the small parts of the report."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.files.layout import RankLayout
from stretto.report import format as fmt
from stretto.report import theme
from stretto.report.figures import axes, curves
from stretto.report.points import CandidatePoint, Panel, estimate

LONG = "native:coll_tuned_allreduce_algorithm=4"


@pytest.mark.parametrize(
    ("form", "given", "text"),
    [
        (fmt.significant, (0,), "0"), (fmt.significant, (1.0,), "1.00"),
        (fmt.significant, (9.996,), "10.0"), (fmt.significant, (0.0123456,), "0.0123"),
        (fmt.significant, (999.6,), "1000"), (fmt.significant, (-2.5,), "\u22122.50"),
        (fmt.significant, (math.inf,), "\u2014"),
        (fmt.microseconds, (0.0755,), "75.5 ns"), (fmt.microseconds, (1.0,), "1.00 \u00b5s"),
        (fmt.microseconds, (999.9,), "1.00 ms"), (fmt.microseconds, (1500.0,), "1.50 ms"),
        (fmt.microseconds, (2e6,), "2.000 s"), (fmt.microseconds, (None,), "\u2014"),
        (fmt.size_range, (0, None), "all sizes"), (fmt.size_range, (2048, None), "from 2 KiB"),
        (fmt.size_range, (8, 63), "8 B to 63 B"), (fmt.size_range, (0, 2047), "below 2 KiB"),
        (fmt.size_range, (1024, 4095), "1 KiB to <4 KiB"), (fmt.size_range, (8, 8), "8 B"),
        (fmt.size_range, (0, 0), "0 B"),
        (fmt.percent, (0.0521,), "5.2 %"), (fmt.percent, (0.31,), "31 %"),
        (fmt.percent, (0.0004,), "0.04 %"), (fmt.percent, (1e-6,), "<0.01 %"),
        (fmt.percent, (0,), "0 %"),
        (fmt.slowest_left_out, (1, 13, "candidate"), "the slowest of 13 candidates is left out"),
        (fmt.slowest_left_out, (5, 13, "point"), "the 5 slowest of 13 points are left out"),
        (fmt.choice, (LONG,), "tuned ring"),
        (fmt.choice, ("x" * 60,), "x" * 14 + "\u2026" + "x" * 13),
    ],
)  # fmt: skip
def test_format_value_gives_text(
    form: Callable[..., str], given: tuple[Any, ...], text: str
) -> None:
    assert form(*given) == text


def test_few_launches_say_that_there_is_no_interval() -> None:
    assert estimate([]) is None
    one = estimate([[2.0]])
    assert one is not None and (one.kind, one.low, one.high) == ("none", 2.0, 2.0)
    five = estimate([[float(i)] for i in range(1, 6)])
    assert five is not None and (five.kind, five.low, five.high) == ("range", 1.0, 5.0)
    within = estimate([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]])
    assert within is not None and within.kind == "calls"
    assert within.median == 4.0


@given(st.lists(st.floats(-50, 400), max_size=25))
def test_labels_never_overlap_and_keep_their_order(wanted: list[float]) -> None:
    placed = axes.spread(wanted, 13, 0, 250)
    gap = min(13, 250 / max(len(wanted) - 1, 1))
    order = sorted(range(len(wanted)), key=lambda i: (placed[i], wanted[i]))
    assert all(-1e-6 <= p <= 250 + 1e-6 for p in placed)
    for a, b in itertools.pairwise(order):
        assert placed[b] - placed[a] >= gap - 1e-6
        assert wanted[a] <= wanted[b] + 1e-9


@given(st.floats(1e-9, 1.0), st.floats(1.01, 1e9))
def test_log_ticks_lie_inside_and_are_few(low: float, factor: float) -> None:
    high = low * factor
    ticks = axes.log_ticks(low, high)
    assert len(ticks) <= 7
    assert all(low * 0.99 <= t <= high * 1.01 for t in ticks)
    if factor > 12:
        assert len(ticks) >= 2


@given(st.floats(1e-9, 1e9))
def test_linear_ticks(high: float) -> None:
    ticks = axes.linear_ticks(high)
    assert ticks[0] == 0
    assert 2 <= len(ticks) <= 7
    assert ticks[-1] <= high * 1.001


def _luminance(colour: str) -> float:
    def linear(v: float) -> float:
        return v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4

    r, g, b = (linear(int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def _contrast(a: str, b: str) -> float:
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [theme.LIGHT, theme.DARK])
def test_colours_can_be_told_from_the_paper(palette: dict[str, str]) -> None:
    for name in ("ink", "muted"):
        assert _contrast(palette[name], palette["paper"]) >= 4.5, name
    for name in ("native", *theme.CHOSEN_COLOURS, "other-mpi"):
        assert _contrast(palette[name], palette["paper"]) >= 3, name


def test_colours_become_variables() -> None:
    assert len(set(theme.LIGHT.values())) == len(theme.LIGHT)
    text = f'<path fill="{theme.LIGHT["native"].upper()}" stroke="white"/><path fill="#123456"/>'
    assert theme.to_variables(text) == (
        '<path fill="var(--native)" stroke="var(--paper)"/><path fill="#123456"/>'
    )


def test_random_numbers_never_print_an_exponent() -> None:
    rng = random.Random(5)
    for _ in range(2000):
        value = 10 ** rng.uniform(-12, 12)
        for text in (fmt.seconds(value), fmt.ratio(value), fmt.size(value + 1), fmt.percent(value)):
            assert "e" not in text.split()[0]


def test_curve_against_ranks_has_one_point_for_each_number() -> None:
    panels = []
    for nodes, ppn, time in ((4, 1, 9.0), (1, 4, 1.0), (2, 2, 5.0), (2, 4, 6.0)):
        layout, found = RankLayout(nodes, ppn, nodes * ppn), estimate([[time]] * 6)
        assert found is not None
        point = CandidatePoint("native", layout, 8, found, "measured")
        panels.append(Panel("bcast", layout, "latency", "MPI_BYTE", [point]))
    figure = curves.scaling([curves.Ranked(panels)], 8)
    assert figure is not None and "on the fewest nodes" in figure.note
    drawn = str(figure.chart.to_dict())
    assert "1 node × 4 ranks" in drawn and "2 nodes × 4 ranks" in drawn
    assert "4 nodes × 1 rank" not in drawn and "2 nodes × 2 ranks" not in drawn

"""What tuned runs put out against native ones: files and printed text, and the words for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stretto.errors import UsageError
from stretto.files.verdict import Compared, Run
from stretto.launch.execute import Result
from stretto.tune.lines import compare_texts, is_timing
from stretto.tune.outputs import PRINTED, Outputs, Rules, equal, stamps, words
from stretto.tune.place import COPIES, Place, case_files, fresh


def outcome(native: list[str], tuned: list[str], ordered: bool = True) -> tuple[str, str]:
    split = [[text.split("\n") for text in side] for side in (native, tuned)]
    return compare_texts(split[0], split[1], ordered)


def test_what_native_runs_do_differently_does_not_count() -> None:
    native = ["a\ntime 1\nb", "a\ntime 2\nb"]
    assert outcome(native, ["a\ntime 3\nb"])[0] == "times"
    assert outcome(native, ["a\ntime 3\nc"])[0] == "differs"
    assert outcome(native, ["a\ntime 3"])[0] == "differs"
    assert outcome(["1", "2"], ["3"])[0] == "varies"
    assert outcome(["a\nb", "a"], ["a"])[0] == "varies"
    assert outcome(["a\nb", "a\nb"], ["a\nb"] * 3) == ("same", "")


def test_times_that_happen_to_agree_between_native_runs() -> None:
    line = "ExecutionTime = {} s  ClockTime = 0 s"
    native = "\n".join(["res 1", line.format("0.1"), line.format("0.2")])
    other = "\n".join(["res 1", line.format("0.1"), line.format("0.3")])
    found, detail = outcome([native, native], [other])
    assert (
        found == "times"
        and "1 more contains or resembles a time" in detail
        and "ExecutionTime" in detail
    )
    assert outcome([native, native], [other.replace("res 1", "res 2")])[0] == "differs"
    column = "a\nstep {:6.2f}\nstep {:6.2f}"  # 10.4 has one blank less before it than 9.2
    natives = [column.format(9.2, 9.1), column.format(9.3, 9.1)]
    assert outcome(natives, [column.format(10.4, 10.2)])[0] == "times"


@pytest.mark.parametrize(
    ("one", "other", "timing"),
    [
        ("took 1.5 s", "took 1.6 s", True),
        ("Elapsed time: 12.1", "Elapsed time: 12.2", True),
        ("rate 100.0 steps/s", "rate 101.5 steps/s", True),
        ("begun 12:30:01", "begun 12:31:59", True),
        ("2026-11-22 begun", "2026-11-23 begun", True),
        ("pid 17", "pid 18", True),
        ("Time = 0.5", "Time = 0.6", False),
        ("time step 5 residual 1e-3", "time step 5 residual 2e-3", False),
        ("took 1.5 s, residual 1e-3", "took 1.5 s, residual 2e-3", False),
        ("cpu model x", "cpu model y", False),
        ("copied at 812.5 MB/s", "copied at 799.1 MB/s", True),
        (
            "Performance: 3.1 ns/day, 12.4 timesteps/s",
            "Performance: 3.0 ns/day, 12.1 timesteps/s",
            True,
        ),
        ("Steps per second: 12", "Steps per second: 13", True),
        ("Elapsed (wall clock) 0:12.34", "Elapsed (wall clock) 0:12.51", True),
        ("loop 1.53 ms/step", "loop 1.57 ms/step", True),
        ("max velocity = 3.21 m/s", "max velocity = 87.4 m/s", False),
        ("mass flow 12.000 kg/s", "mass flow -7.5 kg/s", False),
        ("strain rate 1.5 /s", "strain rate 2.5 /s", False),
        ("velocity (m/s): 3.1", "velocity (m/s): 3.2", False),
        ("acceleration 3.1 s / m", "acceleration 3.2 s / m", False),
        ('{"E":-76.02676}', '{"E":12.0}', False),
        ("energy:-76.02676", "energy:+999", False),
        ("residual 7: 1e-3", "residual 8: 1e-3", False),
        ("on domain 1:    9.73 elapsed seconds", "on domain 1:   10.70 elapsed seconds", True),
        ("on domain 1:    9.73 elapsed", "on domain  1:   10.70 elapsed", False),
        ("took 1.5 s   ok", "took 1.6 s ok", False),
        ("took 1.5 s", "took  1.5 s", False),
    ],
)
def test_what_looks_like_a_time(one: str, other: str, timing: bool) -> None:
    assert is_timing(one, other) is timing


def test_ranks_print_in_any_order() -> None:
    assert outcome(["a\nb", "b\na"], ["a\nb"], ordered=False)[0] == "order"
    assert outcome(["a\nb", "a\nb"], ["b\na"], ordered=False)[0] == "order"
    assert outcome(["a\nb", "a\nb"], ["b\na"], ordered=True)[0] == "differs"
    assert outcome(["a\nb", "a\nb"], ["a\na"], ordered=False)[0] == "differs"


def case(tmp_path: Path, rules: Rules, runs: list[dict[str, str | None]]) -> list[Compared]:
    """Make runs (native and tuned in turn) that write files; returns what came of comparing."""
    base = tmp_path / "case"
    (base / "in").mkdir(parents=True)
    (base / "in" / "mesh").write_text("mesh")
    (base / "old").write_text("old")
    place = Place(base, base / "stretto-x" / COPIES)
    kept = Outputs(base / "stretto-x" / "outputs", rules)
    done = []
    for i, files in enumerate(runs):
        run = Run("native" if i % 2 == 0 else "tuned", i, 1.0, 1.0, 0)
        with fresh(place) as cwd:
            before = stamps(cwd, case_files(place, cwd))
            for name, text in files.items():
                if text is None:
                    (cwd / name).unlink()
                elif name != PRINTED:
                    (cwd / name).parent.mkdir(exist_ok=True)
                    (cwd / name).write_bytes(text.encode("latin-1"))
            ended = Result(0, 1.0, files.get(PRINTED) or "")
            kept.keep(run, ended, cwd, before, case_files(place, cwd))
        done.append(run)
    return kept.compare(done)


def test_files_that_the_runs_wrote(tmp_path: Path) -> None:
    same = {PRINTED: "x", "res.csv": "1", "0.5/U": "u\0binary", "old": "new", "log": "took 1 s\nr"}
    second = same | {"log": "took 2 s\nr"}
    found = case(tmp_path, Rules(), [same, second, second, same])
    assert {c.name: c.outcome for c in found} == {
        PRINTED: "same", "res.csv": "same", "0.5/U": "same", "old": "same", "log": "times"
    }  # fmt: skip
    assert equal(found) is True
    said = words(found, Rules())
    assert said.startswith(
        "outputs compared: standard output and 4 files that CMD wrote; 4 the same bit"
    )
    assert "1 the same apart from lines with times: log (1 line with a time or rate)" in said
    quiet = {PRINTED: "rate: 1 it/s\nx"}
    for other, expected in (
        (quiet, "standard output is the same bit for bit"),
        ({PRINTED: "rate: 2 it/s\nx"}, "the same, except 1 line with a time or rate"),
        ({PRINTED: "id 77\nx"}, "the same, except 1 line that differs between native runs too"),
    ):
        runs = [quiet, other, other, quiet]
        found = case(tmp_path / expected[-9:], Rules(), runs)  # type: ignore[arg-type]
        assert words(found, Rules()).endswith(expected)


def test_each_kind_of_difference_is_named(tmp_path: Path) -> None:
    native: dict[str, str | None] = {
        PRINTED: "x", "text": "a\nb", "binary": "\0a", "gone": "1", "old": None
    }  # fmt: skip
    tuned: dict[str, str | None] = {
        PRINTED: "x", "text": "a\nc", "binary": "\0b", "more": "1", "old": "?"
    }  # fmt: skip
    found = case(tmp_path, Rules(), [native, tuned, native, tuned])
    outcomes = {c.name: (c.outcome, c.detail) for c in found}
    assert outcomes["text"][0] == "differs" and "'c' instead of 'b'" in outcomes["text"][1]
    assert outcomes["binary"][0] == "differs"
    assert outcomes["gone"] == ("differs", "was written by native runs, was not written by tuned")
    assert outcomes["more"] == ("differs", "was not written by native runs, was written by tuned")
    assert outcomes["old"] == ("differs", "was removed by native runs, was written by tuned")
    assert equal(found) is False and "5 DIFFER" in words(found, Rules())


def test_what_cannot_be_told_is_not_called_equal(tmp_path: Path) -> None:
    first: dict[str, str | None] = {"binary": "\0a", "run.1": "x"}
    second: dict[str, str | None] = {"binary": "\0b", "run.2": "x"}
    found = case(tmp_path, Rules(), [first, first, second, second])
    assert {c.outcome for c in found} == {"varies"}
    assert equal(found) is None
    assert "not comparable, as native runs differ" in words(found, Rules())
    one = case(tmp_path / "b", Rules(), [first, first])
    assert {c.outcome for c in one} == {"unknown"} and equal(one) is None
    assert words(one, Rules()) == "outputs not compared: too few runs"
    assert equal([]) is None and "nothing" in words([], Rules())


def test_patterns(tmp_path: Path) -> None:
    native: dict[str, str | None] = {PRINTED: "seed 1\nx", "a.csv": "1", "b.log": "1"}
    tuned: dict[str, str | None] = {PRINTED: "seed 2\nx", "a.csv": "1", "b.log": "2"}
    rules = Rules(("^seed",), ("*.csv",))
    found = case(tmp_path, rules, [native, tuned, native, tuned])
    assert {c.name: c.outcome for c in found} == {PRINTED: "same", "a.csv": "same"}
    said = words(found, rules)
    assert "files matching *.csv" in said.replace("1 file ", "1 files ") and "^seed" in said
    assert case(tmp_path / "b", Rules(), [native, tuned] * 2)[0].outcome == "differs"
    with pytest.raises(UsageError, match="--ignore"):
        Rules(("(",))

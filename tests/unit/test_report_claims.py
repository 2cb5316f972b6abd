"""What the report says must be what its files hold: names, counts, sources, and nothing more."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mpis import rarely
from report_samples import make
from stretto.cli import main
from stretto.files.bench import read_bench
from stretto.files.profile import Call, Event
from stretto.files.verdict import read_verdict, write_verdict
from stretto.report.breakdown import breakdown
from stretto.report.facts import facts_of
from stretto.report.figures import ranking as draw
from stretto.report.findings import details, headline, where_time_goes
from stretto.report.load import load
from stretto.report.ranking import rank
from stretto.report.sources import sources
from stretto.report.tables import Forest, advice

Spec = dict[str, Any]


@pytest.fixture(scope="module")
def systems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("claims")
    make.make(base / "simulated", "small")
    make.make(base / "measured", "small", "measured")
    return base


def bench(systems: Path, path: Path, specs: list[Spec], more: tuple[Spec, ...] = ()) -> Path:
    """Write results: one sample for each spec (candidate, bytes, and what differs)."""
    head = (systems / "measured" / "app.bench.jsonl").read_text().splitlines()[0]
    lines, candidates = [json.loads(head)], {}
    whole = [{"collective": "bcast", "launch": 0, "layout": (1, 2, 2), **s} for s in specs]
    for s in whole:
        mine = candidates.setdefault((s["launch"], s["layout"]), {})
        mine.setdefault(s["collective"], []).append(s["candidate"])
    for (number, (nodes, ppn, nranks)), names in candidates.items():
        names = {c: sorted(set(n)) for c, n in names.items()}
        lines.append(
            {"type": "launch", "launch": number, "nodes": nodes, "ppn": ppn, "nranks": nranks,
             "candidates": names, "clock_error_us": None}
        )  # fmt: skip
    for s in whole:
        lines.append(
            {"type": "sample", "launch": s["launch"], "collective": s["collective"],
             "candidate": s["candidate"], "bytes": s["bytes"], "datatype": "MPI_DOUBLE",
             "operation": None, "root": 0, "mode": s.get("mode", "latency"), "batch": 1,
             "times_us": s.get("times", [5.0, 5.1]), "correct": True,
             "source": s.get("source", "measured")}
        )  # fmt: skip
    lines += [{"type": "launch_end", "launch": n, "status": "ok"} for n, _ in candidates]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(x) + "\n" for x in [*lines, *more]))
    return path


def grid(names: tuple[str, ...] = ("native", "shm"), **more: Any) -> list[Spec]:
    return [{"candidate": n, "bytes": b, **more} for n in names for b in (8, 64)]


def said(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    assert main([str(w) for w in (*words, "--json", "-q")]) == 0
    return json.loads(capsys.readouterr().out)


def test_layouts_with_other_numbers_of_ranks_have_charts_of_their_own(
    systems: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    specs = [s for n in (3, 4) for s in grid(launch=n, layout=(2, 2, n))]
    path = bench(systems, tmp_path / "a.bench.jsonl", specs)
    target = tmp_path / "r.html"
    out = said(capsys, "report", path, "-o", target, "--svg", tmp_path / "svg")
    assert (
        len(out["figures"]) == len(set(out["figures"])) == len(list((tmp_path / "svg").iterdir()))
    )
    ids = re.findall(r'<figure id="([^"]*)"', target.read_text())
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    "name",
    rarely(
        ["../../x/evil", 'a"b<i>c</i>', "new\nline", "a'b\\c", "\u2028", "\udcff", "{{7*7}}"],
        ["../../x/evil", "\udcff"],
    ),
)
def test_names_may_hold_anything(systems: Path, tmp_path: Path, name: str) -> None:
    specs = [*grid(collective=name), *grid(("native", name))]
    path = bench(systems, tmp_path / "in" / "a.bench.jsonl", specs)
    charts = tmp_path / "deep" / "er" / "svg"
    assert main(["report", str(path), "-o", str(tmp_path / "r.html"), "--svg", str(charts)]) == 0
    text = (tmp_path / "r.html").read_text()
    assert "<i>c</i>" not in text
    written = [p for p in tmp_path.rglob("*.svg")]
    assert len(written) == len(load([path])[0].panels) * 4
    assert {p.parent for p in written} == {charts}
    files = [(path, read_bench(path))]
    assert all(draw.bars(r, draw.hues(rank(sources(files), {}))) for r in rank(sources(files), {}))


def test_a_command_that_is_no_utf8_can_be_on_a_picture(systems: Path, tmp_path: Path) -> None:
    value = json.loads((systems / "measured" / "app.verdict.json").read_text())
    value["command"] = ["mpirun", "./app", "a\udce9b.dat"]
    path = tmp_path / "app.verdict.json"
    path.write_text(json.dumps(value))
    assert main(["report", str(path), "--picture", str(tmp_path / "x.svg")]) == 0


def test_a_resumed_launch_is_one(
    systems: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bench(systems, tmp_path / "a.bench.jsonl", [*grid(), *grid(launch=1)])
    lines = [x for x in path.read_text().splitlines(True) if '"launch_end"' not in x]
    again = next(x for x in lines if '"type": "launch"' in x)
    path.write_text("".join([*lines, again]))
    notes = said(capsys, "report", path, "-o", tmp_path / "r.html")["notes"]
    assert sum("did not finish" in n for n in notes) == 2
    assert "from 2 launches of the measuring program" in (tmp_path / "r.html").read_text()


def test_facts_of_a_model_are_not_called_measured(systems: Path, tmp_path: Path) -> None:
    model = grid(source="simulated")
    more = [{"candidate": "native", "bytes": 8, "launch": 1, "source": "measured"}]
    for specs, expected in (
        (grid(), [("measured", "4 points"), ("launches", "1")]),
        (model, [("simulated", "4 points")]),
        (model + grid(launch=1, source="simulated", names=("shm",)),
         [("simulated", "4 points")]),
        (model + more, [("measured", "1 point, and 3 simulated"), ("launches", "1")]),
    ):  # fmt: skip
        (system,) = load([bench(systems, tmp_path / "a.bench.jsonl", specs)])
        facts = [fact for fact in facts_of(system) if fact[0] != "where"]
        assert facts == expected
        assert f"1 collective {facts[0][0]} (bcast)" in headline(system)[0]


def test_runs_that_failed_are_counted_apart(systems: Path, tmp_path: Path) -> None:
    verdict = read_verdict(systems / "measured" / "app.verdict.json")
    runs = [replace(r, exit=int(r.order == 1), value=None) for r in verdict.runs]
    path = tmp_path / "app.verdict.json"
    write_verdict(replace(verdict, runs=runs, measured=None, outcome="inconclusive"), path)
    kinds = [r.kind for r in runs if r.exit == 0]
    failed = next(r.kind for r in runs if r.exit)
    words = f"{kinds.count('native')} native, {kinds.count('tuned')} tuned; failed: 1 {failed}"
    assert ("runs", words) in facts_of(load([path])[0])
    for text, said in (
        ("inconclusive at 2 of 2 calls: 2 launches", " at 2 of 2 calls: 2 launches."),
        ("inconclusive: the budget ended", ": the budget ended."),
        ("inconclusive: a. b is in a name. B, too", ": a. b is in a name. B, too."),
    ):
        other = replace(verdict, measured=None, outcome="inconclusive", conclusion=[text, "c", "D"])
        write_verdict(other, path)
        words = headline(load([path])[0])[0]
        assert details(load([path])[0]) == ["C. D."]
        assert words.startswith("Inconclusive for ") and words.endswith(said)
        assert ": at" not in words


@pytest.mark.parametrize(
    ("typed", "launches", "expected"),
    [
        (["--launches", "1"], 1, "stretto bench -n 2 --launches 6"),
        (["--launches=1"], 1, "stretto bench -n 2 --launches 6"),
        ([], 6, "stretto table decide"),
    ],
)
def test_launches_of_all_candidates_together_are_no_test(
    systems: Path, tmp_path: Path, typed: list[str], launches: int, expected: str
) -> None:
    names = [f"native:I_MPI_ADJUST_BCAST={n}" for n in range(1, 9)]
    specs = [
        {"candidate": name, "bytes": 8, "launch": round_ * len(names) + at}
        for round_ in range(launches)
        for at, one in enumerate(names)
        for name in ("native", one)
    ]
    path = bench(systems, tmp_path / "a.bench.jsonl", specs)
    head, *rest = path.read_text().splitlines(True)
    made = {**json.loads(head), "command": ["stretto", "bench", "-n", "2", *typed]}
    path.write_text("".join([json.dumps(made) + "\n", *rest]))
    assert main(["compare", str(path), "-o", str(tmp_path / "c.html")]) == 0
    assert expected in re.sub("<[^>]*>", "", (tmp_path / "c.html").read_text())


def test_systems_are_compared_on_a_layout_where_they_share_something(
    systems: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = [{**s, "collective": "allreduce"} for s in grid(("native",))]
    for name, collective in (("a", "allreduce"), ("b", "bcast")):
        large = [{**s, "collective": collective, "launch": 1, "layout": (2, 2, 4)} for s in one]
        bench(systems, tmp_path / name / "x.bench.jsonl", [*one, *large])
    out = said(capsys, "report", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "r.html")
    assert (
        len(out["points"]) == 2
        and "b against a: native not tested at 2 of 2 points" in out["verdict"]
    )
    assert all(p["native_ratio"] is None for p in out["points"]), "one launch is no test"


def test_nothing_proven_is_not_called_the_fastest(
    systems: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in ("app.table", "app.profile.json"):
        text = (systems / "measured" / file).read_text()
        if file == "app.table":
            text = "".join(
                re.sub(r"^(row \S+ +\S+ +\S+ +\S+ +)\S+", r"\1native", x)
                for x in text.splitlines(True)
            )
        (tmp_path / file).write_text(text)
    out = said(capsys, "report", tmp_path, "-o", tmp_path / "r.html")
    assert "No algorithm is significantly faster" in out["verdict"]
    assert "native is fastest" not in (tmp_path / "r.html").read_text()


def test_a_metric_that_is_no_time_does_not_gain_time(systems: Path, tmp_path: Path) -> None:
    value = json.loads((systems / "measured" / "app.verdict.json").read_text())
    value["metric"] = {"name": "energy", "unit": "", "better": "lower", "pattern": None}
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "app.verdict.json").write_text(json.dumps(value))
    target = tmp_path / "r.html"
    assert main(["report", str(tmp_path / "a"), "-o", str(target)]) == 0
    assert "Gain (% less energy)" in target.read_text()
    assert main(["report", str(tmp_path / "a"), str(tmp_path / "b"), "-o", str(target)]) == 0
    assert "Energy ()" not in target.read_text() and ">Energy<" in target.read_text()


def test_algorithms_with_like_names_have_labels_of_their_own(systems: Path, tmp_path: Path) -> None:
    long = "native:coll_tuned_bcast_algorithm=6,coll_tuned_bcast_algorithm_segmentsize="
    odd = "native:some_component_with_a_long_name_parameter="
    names = ("native", long + "1024", long + "131072", odd + "1,x=2", odd + "1,y_x=2",
             "native:I_MPI_ADJUST_BCAST=8")  # fmt: skip
    path = bench(systems, tmp_path / "a.bench.jsonl", grid(names))
    for ranking in rank(sources([(path, read_bench(path))]), {}):
        figure = draw.bars(ranking, draw.hues([ranking]))
        data = figure.chart.to_dict(validate=False)["datasets"].values()
        labels = {row["label"] for text in data for row in json.loads(text)}
        assert len(labels) == len(names)
        assert {"tuned binomial(segment=1024)", "preset 8: knomial"} <= labels


def test_the_last_rank_is_that_of_all_ranks(systems: Path) -> None:
    from stretto.report.figures.timeline import _lanes, timeline

    (system,) = load([systems / "measured"])
    assert system.profile is not None
    late = next(r for r in range(20) if r not in _lanes(range(20)))
    events = [
        Event(r, "MPI_Allreduce", 0, 8, 2.0 if r == late else 1.0, 3.0) for r in range(20)
    ]  # fmt: skip
    run, longest = timeline(replace(system.profile, nranks=20, timeline=events))
    assert "16 of 20 ranks" in run.note
    assert "the last rank entered 1 s after the first" in longest.note.replace("1.000", "1")


def test_ranks_in_mpi_in_several_threads_take_no_more_than_all_of_the_run(
    systems: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = json.loads((systems / "measured" / "app.profile.json").read_text())
    for call in value["calls"]:
        for key in ("time_s", "wait_s", "transfer_s"):
            call[key] = None if call[key] is None else [40 * t for t in call[key]]
    value["mpi_s"] = [40 * t for t in value["mpi_s"]]
    path, target = tmp_path / "app.profile.json", tmp_path / "r.html"
    path.write_text(json.dumps(value))
    out = said(capsys, "report", path, "-o", target)
    shares = [float(x) for x in re.findall(r"([0-9.]+) %", target.read_text())]
    assert shares and max(shares) <= 100
    assert float(re.findall(r"take ([0-9.]+) %", out["verdict"])[0]) <= 100
    assert any("Several threads" in n for n in out["notes"])
    assert not any("threads" in n for n in said(
        capsys, "report", systems / "measured", "-o", target)["notes"])  # fmt: skip


def test_a_row_that_nobody_measured_is_not_called_faster(
    systems: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (systems / "measured" / "app.table").read_text().splitlines()
    head = [x for x in lines if not x.startswith(("row", "end", "#"))]
    for evidence in ("source=hand", "ratio=-1 source=hand"):
        text = "\n".join([*head, f"row allreduce 1 2 0-inf shm {evidence}", "end 1", ""])
        (tmp_path / "app.table").write_text(text)
        verdict = said(capsys, "report", tmp_path, "-o", tmp_path / "r.html")["verdict"]
        assert verdict.startswith("The only row of the table chooses ")


@pytest.mark.parametrize("source", ["measured", "interpolated", "simulated", None])
def test_a_row_of_a_layout_that_was_not_measured_is_marked(
    systems: Path, tmp_path: Path, source: str | None
) -> None:
    (tmp_path / "d").mkdir()
    for file in ("app.table", "app.profile.json"):
        (tmp_path / "d" / file).write_bytes((systems / "measured" / file).read_bytes())
    word = "" if source is None else f"source={source}"
    table = tmp_path / "d" / "app.table"
    table.write_text(table.read_text().replace("source=measured", word))
    system = load([tmp_path / "d"])[0]
    assert system.profile is not None
    told = [advice(system, s) for s in breakdown(system.profile).shapes]
    faster = [a for a in told if " faster" in a and "proven" not in a]
    mark = {"measured": "", None: " (not measured)"}.get(source, f" ({source})")
    assert faster and all(a.endswith(f"faster{mark}") for a in faster), faster
    drawn = {Forest(system.rows).plot(row) is not None for row in system.rows}
    assert drawn == {source in ("measured", "simulated")}
    said_of_it = f"all of it {source}" in headline(system)[0]
    assert said_of_it == (source in ("interpolated", "simulated"))


@pytest.mark.parametrize(
    ("detail", "part"),
    [
        (None, "p2p"),
        ("MPI_Rsend_init", "p2p"),
        ("MPI_Iallreduce", "unsplit"),
        ("MPI_Ineighbor_alltoall", "unsplit"),
        ("MPI_Rget", "other"),
        ("MPI_Comm_idup", "other"),
    ],
)
def test_waits_are_a_part_of_what_is_waited_for(
    systems: Path, detail: str | None, part: str
) -> None:
    profile = load([systems / "measured"])[0].profile
    assert profile is not None
    n = profile.nranks
    wait = Call("MPI_Wait", "wait", None, None, None, 0, 0, [1] * n, [0] * n, [3.0] * n)
    found = breakdown(replace(profile, calls=[replace(wait, detail=detail)]))
    assert {p.key: p.mean for p in found.parts if p.key not in ("compute", "io")} == {part: 3.0}
    limited = "no algorithm makes it faster" in where_time_goes(found)
    assert limited == (part != "unsplit")


def test_alltoallw_is_called_tunable_by_the_row_of_alltoallv(systems: Path) -> None:
    system = load([systems / "measured"])[0]
    assert system.profile is not None
    row = next(c for c in system.profile.calls if c.kind == "collective")
    system.profile.calls = [
        replace(row, function=f, wait_s=None) for f in ("MPI_Allreduce", "MPI_Alltoallw")
    ]
    system.tables = []
    told = {s.call.function: advice(system, s) for s in breakdown(system.profile).shapes}
    assert told == {"MPI_Allreduce": "can be tuned", "MPI_Alltoallw": "can be tuned"}

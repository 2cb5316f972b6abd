"""The page: everything in it, nothing to fetch, and sensible words where something is missing."""

from __future__ import annotations

import base64
import html.parser
import itertools
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mpis import rarely
from report_samples import make
from stretto.cli import main
from stretto.files.table import read_table
from stretto.report import sections
from stretto.report.load import load

#: what each section is made from
SECTIONS = {
    "application": ("verdict.json",), "time": ("profile.json",), "latency": ("bench.jsonl",),
    "ranks": ("bench.jsonl",), "candidates": ("bench.jsonl",), "table": ("table",),
    "plans": ("table",), "communication": ("profile.json",), "method": (),
}  # fmt: skip
PARTS = ("profile.json", "bench.jsonl", "table", "verdict.json")
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(html.parser.HTMLParser):
    """Checks that tags close, and collects what a test wants to know."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[tuple[str, str]] = []
        self.svgs = 0
        self.sections: dict[str, str] = {}
        self._section = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [given["id"] or ""] if "id" in given else []
        for name in ("src", "href", "xlink:href", "action", "data", "srcset", "poster"):
            if given.get(name):
                self.links.append((tag, given[name] or ""))
        self.svgs += tag == "svg"
        if tag == "section":
            self._section = given["id"] or ""
            self.sections[self._section] = ""
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()
        if tag == "section":
            self._section = ""

    def handle_data(self, data: str) -> None:
        if self._section:
            self.sections[self._section] += data


def offline(text: str) -> None:
    """Fail when anything in the page would be fetched."""
    page = Page(text)
    for tag, target in page.links:
        assert target.startswith(("#", "data:")), f"<{tag}> fetches {target}"
    assert not re.search(r"@import|url\(\s*['\"]?(?!#|data:)", text)
    assert "default-src 'none'" in text
    bare = re.sub(r'xmlns(:xlink)?="http://www\.w3\.org/[^"]*"', "", text)
    assert not re.search(r"https?://", bare)
    assert len(page.ids) == len(set(page.ids))


@pytest.fixture(scope="module")
def systems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("systems")
    for name in ("small", "cluster", "other"):
        make.make(base / name, name)
    make.make(base / "measured", "small", "measured")
    return base


def page_of(directory: Path, target: Path, *more: str) -> str:
    assert main(["report", str(directory), "-o", str(target), "-q", *more]) == 0
    return target.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def cluster(systems: Path) -> str:
    return page_of(systems / "cluster", systems / "cluster.html")


def test_full_input_fills_every_section(cluster: str) -> None:
    text = cluster
    offline(text)
    page = Page(text)
    assert tuple(page.sections) == tuple(SECTIONS)
    for name, words in page.sections.items():
        assert len(words.split()) > 20, name
        assert "There is no" not in words and "There are no" not in words, name
    assert page.svgs > 40
    assert "<h1>./cs_solver: 5.2 % less wall time with the table.</h1>" in text
    assert '<code>stretto run <span class="option">--table</span>' in text
    assert "best choice by layout" in text
    assert "p = 0.00016, significant" in text
    for phrase in (
        "Collectives take",
        "Tuning cannot gain more",
        "MPI_Allreduce: time per call",
        "time relative to native",
        "MPI_Allreduce of 8 B: all candidates",
        "Communication matrix by rank",
        "Communication matrix by node",
        "lanes(2)+ring for allreduce gave no time",
        "Left out of the comparison: run 17 (native, exit code 1)",
        "ran out of time",
        "95 % interval of the median over launches",
    ):
        assert phrase in text, phrase


@pytest.mark.parametrize(
    "kept",
    rarely([c for n in (1, 2) for c in itertools.combinations(PARTS, n)], [(p,) for p in PARTS]),
)
def test_partial_input_gives_sensible_words(
    kept: tuple[str, ...], systems: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "part"
    directory.mkdir()
    for name in kept:
        (directory / f"app.{name}").write_bytes((systems / "small" / f"app.{name}").read_bytes())
    text = page_of(directory, tmp_path / "page.html")
    offline(text)
    page = Page(text)
    wanted = [name for name, parts in SECTIONS.items() if set(parts) <= set(kept)]
    wanted = [name for name in wanted if name != "ranks"]  # one layout
    assert list(page.sections) == wanted, "a section without data exists"
    assert page.links
    headline = re.search(r"<h1[^>]*>(.*?)</h1>", text)
    assert headline is not None and len(headline.group(1)) > 20
    for word in ("None", "nan", "undefined", "[]"):
        visible = re.sub(r"<script>.*?</script>|<style>.*?</style>", "", text, flags=re.S)
        assert f">{word}<" not in visible and f" {word} " not in visible


@pytest.mark.long
def test_simulated_is_said_everywhere_or_nowhere(systems: Path, tmp_path: Path) -> None:
    text = page_of(systems / "small", tmp_path / "s.html")
    figures = re.findall(
        r"<figure id=\"((?:latency|relative|bars)-[^\"]*)\".*?</figure>", text, re.S
    )
    whole = re.findall(r"<figure id=\"(?:latency|relative|bars)-.*?</figure>", text, re.S)
    assert len(figures) > 15
    for figure in whole:
        caption, _, svg = figure.partition("</figcaption>")
        assert "source: simulated" in caption
        assert "source: simulated" in svg, "the picture itself must say it"
    rows = re.findall(r"<tr data-view=.*?</tr>", text, re.S)
    assert rows and all("source: simulated" in r for r in rows)
    measured = page_of(systems / "measured", tmp_path / "m.html")
    plans = re.search(r'<section id="plans">.*?</section>', measured, re.S)
    assert plans is not None and "source: simulated" in plans.group(0)
    assert "source: simulated" not in measured.replace(plans.group(0), "")


def test_chosen_plans_are_drawn_and_priced(cluster: str) -> None:
    section = re.search(r'<section id="plans">.*?</section>', cluster, re.S)
    assert section is not None
    found = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]*)"', section.group(0))
    assert len(found) >= 4 and len(found) % 2 == 0
    for number, data in enumerate(found):
        svg = base64.b64decode(data).decode()
        ElementTree.fromstring(svg)
        assert ("simulated" in svg) == bool(number % 2)
    assert section.group(0).count("source: simulated") == len(found) // 2


def test_page_json_and_pictures_say_the_same(
    systems: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pictures = ["--svg", str(tmp_path / "svg"), "--png", str(tmp_path / "png")]
    words = ["report", str(systems / "small"), "-o", str(tmp_path / "p.html"), "--json", *pictures]
    assert main(words) == 0
    out = json.loads(capsys.readouterr().out)
    assert out["kind"] == "gain"
    assert out["simulated"] is True
    assert out["measured_gain"]["median"] == pytest.approx(0.052)
    assert out["verdict"] in (tmp_path / "p.html").read_text()
    assert len(out["table_rows"]) == 28
    table = read_table(systems / "small" / "app.table")
    for row, expected in zip(out["table_rows"], table.rows, strict=True):
        # evidence has keys of these names as well
        assert (row["low"], row["high"]) == (expected.low, expected.high)
        assert row["evidence"] == expected.evidence
    assert any("low" in row["evidence"] for row in out["table_rows"])
    assert sum(out["time_s"].values()) == pytest.approx(41.7, rel=0.01)
    assert out["written"][0] == str(tmp_path / "p.html")
    svgs = sorted((tmp_path / "svg").glob("*.svg"))
    pngs = sorted((tmp_path / "png").glob("*.png"))
    assert [p.stem for p in svgs] == [p.stem for p in pngs]
    assert len(svgs) > 20
    for path in svgs:
        text = path.read_text()
        assert text.startswith("<svg ")
        assert "var(--" not in text
        assert ("source: simulated" in text) == path.stem.startswith(
            ("latency", "relative", "bars")
        ), path
    for path in pngs:
        assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        assert path.stat().st_size > 2000


def test_a_chart_of_each_kind_is_valid_vega_lite(systems: Path) -> None:
    for name in ("small", "cluster"):
        (system,) = load([systems / name])
        figures = list(sections.build(system).figures)
        assert len({f.name for f in figures}) == len(figures)
        kinds = {figure.name.partition("-")[0]: figure for figure in figures}
        assert len(kinds) > 5
        for figure in kinds.values():
            figure.chart.to_dict(validate=True)


def test_many_candidates_leave_the_chart_readable(tmp_path: Path) -> None:
    directory = make.make(tmp_path / "many")
    path = directory / "app.bench.jsonl"
    out = []
    for line in path.read_text().splitlines():
        record = json.loads(line)
        more = [f"native:coll_tuned_bcast_algorithm={i}" for i in range(40)]
        if record.get("type") == "launch":
            record["candidates"]["bcast"] += more
        out.append(json.dumps(record))
        if record.get("candidate") == "knomial(4)" and record["collective"] == "bcast":
            for i, name in enumerate(more):
                times = [t * (1 + i / 10) for t in record["times_us"]]
                out.append(json.dumps({**record, "candidate": name, "times_us": times}))
    path.write_text("\n".join(out) + "\n")
    text = page_of(directory, tmp_path / "p.html")
    offline(text)
    figure = re.search(r"<figure id=\"latency-bcast.*?</figure>", text, re.S)
    assert figure is not None
    assert "the 28 slowest of 46 candidates are left out" in figure.group(0)
    names = re.findall(r"translate\(342,([0-9.]+)\)", figure.group(0))
    heights = sorted(map(float, names))
    assert len(heights) == 18
    assert min(b - a for a, b in itertools.pairwise(heights)) > 12
    assert "the 22 slowest of 46 candidates are left out" in text


def verdict_page(systems: Path, tmp_path: Path, changes: dict[str, Any]) -> str:
    """Return the page of a verdict with other values."""
    value = json.loads((systems / "small" / "app.verdict.json").read_text())
    path = tmp_path / "app.verdict.json"
    path.write_text(json.dumps(value | changes))
    return page_of(path, tmp_path / "p.html")


def named(pattern: str, name: str) -> tuple[dict[str, Any], list[str], list[str]]:
    metric = {"name": pattern, "unit": "1/s", "better": "higher", "pattern": pattern}
    conclusion = [f"measured gain in {name}: 5 %"]
    there = [f"5.2 % more {name} with the table.</h1>", f"<dt>{name}, native</dt>"]
    return {"metric": metric, "conclusion": conclusion}, there, []


IN_TURN = "ran alternately native and tuned"


@pytest.mark.parametrize(
    ("changes", "there", "absent"),
    [
        ({}, [IN_TURN], []),
        ({"runs": []}, [], [IN_TURN]),
        (
            {"outputs_equal": False},
            ["<h1>Do not use this tuning: the outputs of icoFoam differ with it.</h1>"],
            [],
        ),
        named("iterations per second: ([0-9.]+)", "iterations per second"),
        named(r"ExecutionTime = ([\d.]+) s", "ExecutionTime"),
        named(r"^\s*Loop time of (\S+)", "Loop time of"),
        named(r"([0-9.]+)", "the metric"),
    ],
)
def test_page_verdict_says_what_it_shows(
    changes: dict[str, Any], there: list[str], absent: list[str], systems: Path, tmp_path: Path
) -> None:
    text = verdict_page(systems, tmp_path, changes)
    assert all(words in text for words in there) and not any(words in text for words in absent)


def test_page_gain_without_significance_says_so(systems: Path, tmp_path: Path) -> None:
    text = page_of(systems / "other", tmp_path / "p.html")
    for words in (
        "No gain that could be told from chance", "not significant",
        "The profile is incomplete", "the records of rank 63 end early",
    ):  # fmt: skip
        assert words in text
    value = json.loads((systems / "small" / "app.verdict.json").read_text())
    changes = {"runs": value["runs"][:4], "measured": value["measured"] | {"p": None}}
    missing = {"outcome": "inconclusive", "missing": "missing: 4 more pairs"}
    text = verdict_page(systems, tmp_path, changes | missing)
    assert "not done (it needs at least six runs of each kind)" in text
    assert ", significant" not in text
    assert "not tested" in text and "inconclusive; missing: 4 more pairs" in text


def test_text_from_files_is_escaped(systems: Path, tmp_path: Path) -> None:
    host = json.loads((systems / "small" / "app.verdict.json").read_text())["host"]
    changes = {
        "conclusion": ["a", "<script>alert(1)</script> & <b>bold</b>"],
        "command": ["./a", "<img src=x onerror=alert(1)>"],
        "host": host | {"cpu": '"><script>alert(2)</script>'},
    }
    text = verdict_page(systems, tmp_path, changes)
    offline(text)
    assert "<script>alert" not in text
    assert "<img" not in text
    names = json.loads((systems / "small" / "app.profile.json").read_text())
    names["nodes"][0]["name"] = "</svg><script>alert(3)</script>"
    path = tmp_path / "app.profile.json"
    path.write_text(json.dumps(names))
    text = page_of(path, tmp_path / "p.html")
    offline(text)
    assert "<script>alert" not in text


def test_two_systems_side_by_side(
    systems: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "both.html"
    code = main(
        ["report", str(systems / "cluster"), str(systems / "other"), "-o", str(target), "--json"]
    )
    assert code == 0
    text = target.read_text()
    offline(text)
    page = Page(text)
    wanted = ["systems", "application", "time", "latency", "numbers", "method"]
    assert list(page.sections) == wanted
    assert "cluster compared with other" in text and "MPICH 5.0.0 on node01" in text
    out = json.loads(capsys.readouterr().out)
    ratios = [p["native_ratio"] for p in out["points"] if p["native_ratio"]]
    assert len(ratios) > 20 and len(out["points"]) == 28 and out["same_layout"]
    assert all(0.55 < r < 0.85 for r in ratios)  # the second was made with speed 0.7
    assert page.svgs >= 5


def test_another_operation_is_compared_with_a_note(systems: Path, tmp_path: Path) -> None:
    other = tmp_path / "max"
    other.mkdir()
    text = (systems / "small" / "app.bench.jsonl").read_text()
    (other / "app.bench.jsonl").write_text(text.replace("MPI_SUM", "MPI_MAX"))
    target = tmp_path / "both.html"
    assert main(["report", str(systems / "small"), str(other), "-o", str(target)]) == 0
    page = target.read_text()
    offline(page)
    words = "allreduce: small was measured with MPI_DOUBLE, MPI_SUM, max with MPI_DOUBLE, MPI_MAX"
    assert words in page
    assert "no clear difference at 28" in page


def test_the_picture_of_a_single_size(systems: Path, tmp_path: Path) -> None:
    directory = tmp_path / "one"
    directory.mkdir()
    for name in ("app.table", "app.verdict.json"):
        (directory / name).write_bytes((systems / "small" / name).read_bytes())
    lines = (systems / "small" / "app.bench.jsonl").read_text().splitlines(keepends=True)
    kept = [s for s in lines if '"sample"' not in s or '"bytes": 8,' in s]
    (directory / "app.bench.jsonl").write_text("".join(kept))
    assert main(["report", str(directory), "--picture", str(tmp_path / "one.svg")]) == 0
    text = (tmp_path / "one.svg").read_text()
    assert "of 8 B" in text and "chosen" in text
    page = page_of(directory, tmp_path / "one.html")
    assert "latency" not in Page(page).sections and "candidates" in Page(page).sections


def test_the_small_picture(systems: Path, tmp_path: Path) -> None:
    svg, png = tmp_path / "result.svg", tmp_path / "result.png"
    assert main(["report", str(systems / "small"), "--picture", str(svg)]) == 0
    assert main(["report", str(systems / "small"), "--picture", str(png)]) == 0
    text = svg.read_text()
    assert "icoFoam: 5.2 % less wall time with the table." in text
    assert "source: simulated" in text
    assert "mpirun -n 2 icoFoam -parallel" in text
    assert png.read_bytes().startswith(b"\x89PNG")
    only = tmp_path / "only"
    only.mkdir()
    (only / "app.table").write_bytes((systems / "small" / "app.table").read_bytes())
    assert main(["report", str(only), "--picture", str(tmp_path / "none.svg")]) == 1
    assert not (tmp_path / "none.svg").exists()


def test_large_input_stays_small(tmp_path: Path) -> None:
    directory = make.make(tmp_path / "large", "large")
    times = sum(
        len(json.loads(line).get("times_us", ()))
        for line in (directory / "app.bench.jsonl").read_text().splitlines()
    )
    assert times > 100_000
    text = page_of(directory, tmp_path / "p.html")
    assert len(text) < 2_000_000
    offline(text)
    assert "each bar the mean of 11 neighbouring ranks" in text
    assert "one pixel is 2 \u00d7 2 ranks" in text
    assert "data:image/png;base64," in text

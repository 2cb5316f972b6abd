"""The page in a real browser: headless Chromium draws it, and a probe in the page looks at it.

The probe runs inside a copy of the page. It collects errors and refused requests, counts the marks
that have an extent on the screen, presses every button, and looks for what sticks out of it.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mpis import rarely
from net_samples import cluster
from processes import run_program
from report_samples import make
from stretto.cli import main
from stretto.files.net import write_net
from stretto.files.scale import ScaleFile, ScaleHeader, ScaleRun
from stretto.files.verdict import Metric
from stretto.report import scaling_page
from stretto.report.page import PageFiles
from stretto.scaling.analyse import analyse

pytestmark = pytest.mark.browser
PAGES = ["small", "cluster", "both", "only", "network", "networks"]
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")

CATCH = """<script>
window.probe = { errors: [], refused: [] };
addEventListener("error", (e) => probe.errors.push(String(e.message)));
addEventListener("unhandledrejection", (e) => probe.errors.push(String(e.reason)));
document.addEventListener("securitypolicyviolation", (e) => probe.refused.push(e.blockedURI));
console.error = (...a) => probe.errors.push(a.join(" "));
</script>
"""

LOOK = """<script>
addEventListener("load", () => {
  const seen = (e) => { const b = e.getBoundingClientRect(); return b.width + b.height > 0; };
  const count = (f) => [...f.querySelectorAll("path, rect, line, text, image")].filter(seen).length;
  const figures = () => {
    const out = {};
    for (const f of document.querySelectorAll("figure[id]")) if (seen(f)) out[f.id] = count(f);
    return out;
  };
  probe.figures = figures();
  probe.all = [...document.querySelectorAll("figure[id]")].map((f) => f.id);
  probe.blank = [...document.querySelectorAll("figure img")].filter((i) => !i.naturalWidth).length;
  probe.pressed = {};
  for (const b of document.querySelectorAll(".pick button")) {
    b.click();
    Object.assign(probe.pressed, figures());
  }
  for (const g of document.querySelectorAll(".pick")) g.querySelector("button").click();
  probe.wide = document.documentElement.scrollWidth - innerWidth;
  const theme = document.getElementById("theme");
  const paper = () => getComputedStyle(document.body).backgroundColor;
  const native = () => {
    const m = document.querySelector('[fill="var(--native)"]');
    return m && getComputedStyle(m).fill;
  };
  theme.click(); probe.light = [paper(), native()];
  theme.click(); probe.dark = [paper(), native()];
  theme.click();
  const mark = [...document.querySelectorAll("figure svg path[aria-label]")].find(seen);
  mark.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: 50, clientY: 50 }));
  const tip = document.getElementById("tip");
  probe.tip = [tip.hidden, tip.textContent, mark.getAttribute("aria-label")];
  const ids = new Set([...document.querySelectorAll("[id]")].map((e) => e.id));
  const links = [...document.querySelectorAll('a[href^="#"]')];
  probe.dead = links.filter((a) => !ids.has(a.hash.slice(1))).length;
  probe.fetched = performance.getEntriesByType("resource").map((r) => r.name);
  const small = [...document.querySelectorAll("figure svg text")].filter(seen)
    .map((t) => t.getBoundingClientRect().height).filter((h) => h > 0);
  probe.smallest = Math.min(...small);
  const out = document.createElement("pre");
  out.id = "probe-result"; out.hidden = true; out.textContent = JSON.stringify(probe);
  document.body.append(out);
});
</script>
"""


@pytest.fixture(scope="module")
def browser() -> str:
    """Return the browser; its absence is a failure unless it is asked for (CI installs it)."""
    if os.environ.get("STRETTO_TEST_BROWSER") == "none":
        pytest.skip("left out by STRETTO_TEST_BROWSER=none")
    given = os.environ.get("STRETTO_TEST_BROWSER")
    found = next((p for n in ([given] if given else NAMES) if (p := shutil.which(n))), None)
    if found is None:
        pytest.fail("no Chromium: apt-get install chromium, or set STRETTO_TEST_BROWSER=none")
    return found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("pages")
    make.make(base / "small", "small", "measured")
    make.make(base / "cluster", "cluster")
    make.make(base / "other", "other")
    only = base / "only"
    only.mkdir()
    shutil.copy(base / "small" / "app.profile.json", only)
    page(base, "small")
    page(base, "cluster")
    networks(base)
    named(base)
    return base


def page(base: Path, name: str) -> Path:
    """Return a page, which is made when it is first asked for."""
    path = base / f"{name}.html"
    if not path.exists():
        given = ["cluster", "other"] if name == "both" else [name]
        assert main(["report", *(str(base / g) for g in given), "-o", str(path), "-q"]) == 0
    return path


def networks(base: Path) -> None:
    """Write the pages of one and of two networks, with names as clusters in clouds have them."""
    hosts = [f"ip-172-31-{i}-150.eu-central-1.compute.internal" for i in range(6)]
    files = [
        base / f"parallelcluster-c5n-tcp-{links}-links-{when}-tuning-2026-11.net.json"
        for links, when in (("one", "before"), ("thirty-six", "after"))
    ]
    for file, factor in zip(files, (1.0, 2.4), strict=True):
        write_net(cluster(hosts, factor), file)
    for name, given in (("network", files[:1]), ("networks", files)):
        words = ["report", *map(str, given), "-o", str(base / f"{name}.html"), "-q"]
        assert main(words) == 0


def chromium(browser: str, profile: Path, width: int, *more: str, height: int = 1200) -> str:
    """Run the browser and return what it printed; again where it crashes or does not come up."""
    for turn in range(2):
        try:
            done = started(
                browser, profile.with_name(f"{profile.name}.{turn}"), width, height, *more
            )
        except subprocess.TimeoutExpired:
            if turn:
                raise
            continue
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def started(
    browser: str, profile: Path, width: int, height: int, *more: str
) -> subprocess.CompletedProcess[str]:
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--hide-scrollbars",
        "--virtual-time-budget=4000",
        f"--user-data-dir={profile}",
        f"--window-size={width},{height}",
        *more,
    ]
    return run_program(command, timeout=600)


def look(browser: str, page: Path, tmp_path: Path, width: int = 1280, extra: str = "") -> Any:
    """Return what the probe saw."""
    text = page.read_text(encoding="utf-8")
    text = text.replace("<head>", "<head>" + CATCH, 1).replace(
        "</body>", extra + LOOK + "</body>", 1
    )
    copy = tmp_path / "probed.html"
    copy.write_text(text, encoding="utf-8")
    dom = chromium(browser, tmp_path / "profile", width, "--dump-dom", copy.as_uri())
    found = re.search(r'<pre id="probe-result"[^>]*>(.*?)</pre>', dom, re.S)
    assert found is not None, "the probe did not get to its end"
    return json.loads(html.unescape(found.group(1)))


@pytest.mark.parametrize("width", rarely([1280, 500], [1280]))
@pytest.mark.parametrize("name", rarely(PAGES, ["small"]))
def test_every_chart_is_drawn(
    name: str, width: int, browser: str, pages: Path, tmp_path: Path
) -> None:
    seen = look(browser, page(pages, name), tmp_path, width)
    assert seen["errors"] == []
    assert seen["refused"] == []
    assert seen["fetched"] == []
    assert seen["dead"] == 0
    assert seen["blank"] == 0, "a picture of a plan is not shown"
    assert seen["wide"] <= 0, "the page is wider than its window"
    assert seen["smallest"] > 6, "text that nobody can read"
    drawn = {**seen["figures"], **seen["pressed"]}
    assert set(drawn) == set(seen["all"]), "a figure can never be seen"
    for figure, marks in drawn.items():
        assert marks >= 8, f"{figure} has {marks} marks"
    hidden, text, label = seen["tip"]
    assert not hidden
    assert text.split("\n") == label.split(" | ")
    assert "undefined" not in text


def named(base: Path) -> Path:
    """Return a page of all algorithms and of scaling, with names as long as they come."""
    path = base / "named.html"
    if path.exists():
        return path
    long = (
        "native:coll_tuned_allreduce_algorithm=6,coll_tuned_allreduce_algorithm_segmentsize=65536,"
        "btl_tcp_links=8"
    )
    files = []
    for name in ("cluster", "other"):
        text = (base / name / "app.bench.jsonl").read_text()
        files.append(base / f"{name}.bench.jsonl")
        files[-1].write_text(text.replace('"ring"', json.dumps(long)))
    words = ["compare", *map(str, files), "-c", "allreduce,bcast", "--nodes", "8"]
    assert main([*words, "--bytes", "8,64K", "-o", str(path)]) == 0
    host = make._host("ip-172-31-17-150.eu-central-1.compute.internal")
    program = ["srun", "-n", "36", "./a_solver_with_quite_a_long_name_for_a_program", "case.xml"]
    times = {(1, "native"): 100, (8, "native"): 22, (16, "native"): 26, (1, "tuned"): 99,
             (8, "tuned"): 19, (16, "tuned"): 21}  # fmt: skip
    runs = [
        ScaleRun(nodes, 36, None, "native" if kind == "native" else "tuned", turn,
                 time + turn / 10, time + 1.0, 0, nodes * 36)
        for (nodes, kind), time in times.items() for turn in range(8)
    ]  # fmt: skip
    header = ScaleHeader("0", make.CREATED, host, make.OPENMPI, program, Metric())
    found = analyse(runs, header.metric, 3.9)
    assert found is not None
    scaling = base / "scaling.html"
    scaling_page.write(ScaleFile(header, runs), found, 3.9, base / "x", PageFiles(scaling))
    figures = "".join(re.findall(r"<figure .*?</figure>", scaling.read_text(), re.S))
    path.write_text(path.read_text().replace("<footer>", f"{figures}<footer>"))
    return path


#: at the width of a telephone, in a font wider than the one that was measured with
OVERLAPS = """<style>body { width: 400px } text { font-family: "DejaVu Sans" }</style><script>
addEventListener("load", () => {
  const texts = [...document.querySelectorAll("figure svg")].map((svg) =>
    [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()])
      .filter(([text, b]) => text && b.width * b.height > 0));
  probe.overlaps = texts.flatMap((of) => of.flatMap(([s, a], i) => of.slice(i + 1)
    .filter(([t, b]) => t !== s && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
      && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3).map(([t]) => s + " / " + t)));
  probe.outside = [...document.querySelectorAll("figure svg")].flatMap((svg) => {
    const frame = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter((t) => {
      const b = t.getBoundingClientRect();
      return b.width && (b.left < frame.left - 2 || b.right > frame.right + 2);
    }).map((t) => t.textContent);
  });
  probe.scrolls = [...document.querySelectorAll("figure .scroll")]
    .filter((e) => e.scrollWidth > e.clientWidth + 1)
    .map((e) => getComputedStyle(e).backgroundImage.split("linear-gradient").length - 1);
});
</script>
"""


@pytest.mark.parametrize("name", rarely(["network", "networks", "named"], ["named"]))
def test_text_does_not_overlap_and_scrolling_shows(
    name: str, browser: str, pages: Path, tmp_path: Path
) -> None:
    seen = look(browser, pages / f"{name}.html", tmp_path, 500, OVERLAPS)
    assert seen["overlaps"] == []
    assert seen["outside"] == [], "names lose letters"
    assert seen["wide"] <= 0, "the page is wider than its window"
    assert set(seen["scrolls"]) <= {4}, "what scrolls shows that it does"
    if name == "named":
        assert seen["scrolls"]
        assert seen["light"] != seen["dark"]


def test_pickers_show_one_at_a_time(browser: str, pages: Path, tmp_path: Path) -> None:
    seen = look(browser, pages / "cluster.html", tmp_path)
    first = [f for f in seen["figures"] if f.startswith("latency-allreduce")]
    assert len(first) == 1 and "8x8" in first[0]
    every = [f for f in seen["pressed"] if f.startswith("latency-allreduce")]
    assert len(every) == 4
    bars = [f for f in seen["figures"] if f.startswith("bars-allreduce")]
    assert len(bars) == 1
    assert len([f for f in seen["pressed"] if f.startswith("bars-allreduce")]) == 5


def test_the_probe_itself_sees_faults(browser: str, pages: Path, tmp_path: Path) -> None:
    fault = (
        '<script>setTimeout(() => { throw new Error("planted") }, 0)</script>'
        '<img src="http://stretto.invalid/x.png" alt="">'
        '<figure id="empty"><svg></svg></figure><div style="width:4000px">x</div>'
    )
    seen = look(browser, pages / "small.html", tmp_path, extra=fault)
    assert any("planted" in e for e in seen["errors"])
    assert seen["refused"] == ["http://stretto.invalid/x.png"]
    assert seen["wide"] > 0
    assert seen["figures"].get("empty", 0) == 0


def test_without_script_everything_is_there(browser: str, pages: Path, tmp_path: Path) -> None:
    text = (pages / "cluster.html").read_text(encoding="utf-8")
    copy = tmp_path / "noscript.html"
    copy.write_text(re.sub(r"<script>.*?</script>", "", text, flags=re.S), encoding="utf-8")
    seen = look(browser, copy, tmp_path, extra='<button id="theme"></button><div id="tip"></div>')
    assert set(seen["figures"]) == set(seen["all"])


def test_it_prints(browser: str, pages: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.pdf"
    chromium(
        browser,
        tmp_path / "profile",
        1280,
        f"--print-to-pdf={target}",
        "--no-pdf-header-footer",
        (pages / "small.html").as_uri(),
    )
    data = target.read_bytes()
    assert data.startswith(b"%PDF-")
    sheets = len(re.findall(rb"/Type\s*/Page[^s]", data))
    assert 3 <= sheets <= 14

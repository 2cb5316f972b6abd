"""The page of network results: its answer first, sections with data only, charts as files."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from net_samples import TCP, cluster, messages, node, rails, result, tcp
from stretto.cli import main
from stretto.files.net import NetFile, write_net
from stretto.measure.idle import idle_warning
from stretto.net.p2p import RATE_BYTES

Out = pytest.CaptureFixture[str]
HOSTS = ["node1.site", "node2.site", "node3.site"]


def written(tmp_path: Path, **results: NetFile) -> list[str]:
    for name, found in results.items():
        write_net(found, tmp_path / f"{name}.net.json")
    return [str(tmp_path / f"{name}.net.json") for name in results]


def sections(page: Path) -> list[str]:
    return re.findall(r'<section id="([a-z]+)">', page.read_text())


@pytest.mark.parametrize(
    ("found", "answer", "expected"),
    [
        (cluster(HOSTS), "Open MPI 5.0.6: 8 B in 20.0 us",
         ["latency", "bandwidth", "streams", "pairs", "numbers", "method"]),
        (result(messages(TCP)), "Open MPI 5.0.6: 8 B in 20.0 us",
         ["latency", "bandwidth", "numbers", "method"]),
        (node(), "Cores that share a last-level cache: flag 60.0 ns, copy 9.00 GB/s, both ways "
         "15.0 GB/s (1 MiB).", ["cores", "numbers", "method"]),
        (rails(), "Open MPI 5.0.6, 256 KiB messages: btl_tcp_links=4 is fastest, 1.95x",
         ["rails", "numbers", "method"]),
        (tcp(("a", "b"), 9e9), "a -&gt; b: 9.00 Gb/s with 4 streams", ["numbers", "method"]),
    ],
)  # fmt: skip
def test_page_of_a_network_has_its_answer_and_the_sections_with_data(
    tmp_path: Path, found: NetFile, answer: str, expected: list[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["report", *written(tmp_path, a=found), "-o", str(page), "-q"]) == 0
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", page.read_text(), re.S)
    assert heading is not None and heading[1].startswith(answer), heading
    assert [name for name in sections(page) if name != "findings"] == expected


def test_page_with_thread_levels_has_a_chart_with_a_line_for_each(
    tmp_path: Path, capsys: Out
) -> None:
    single = messages({("latency", 8, 1, 1): 1.0, ("latency", 1024, 1, 1): 2.0})
    levels = [replace(m, level=level) for level in ("funneled", "multiple") for m in single]
    page, svg = tmp_path / "page.html", tmp_path / "svg"
    files = written(tmp_path, a=result([*single, *levels]), b=result(levels[2:]))
    assert main(["report", files[0], "-o", str(page), "--svg", str(svg), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["figures"] == ["net-latency-0", "net-levels"]
    assert "MPI_THREAD_MULTIPLE against MPI_THREAD_SINGLE: no sign" in found["verdict"]
    drawn = (svg / "net-levels.svg").read_text()
    for name in ("SINGLE", "FUNNELED", "MULTIPLE"):
        assert f"MPI_THREAD_{name}, 8 B | 1.00 us" in drawn
    assert "MPI_THREAD" not in (svg / "net-latency-0.svg").read_text()
    assert main(["report", files[1], "-o", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"] == ["net-latency-0"]  # one level only


def test_page_of_two_networks_compares_them(tmp_path: Path, capsys: Out) -> None:
    two = written(tmp_path, old=cluster(HOSTS), new=cluster(HOSTS, 2.0))
    page, svg = tmp_path / "page.html", tmp_path / "svg"
    words = ["report", *two, "-o", str(page), "--svg", str(svg), "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"].startswith("new against old: 8 B latency 2.00 times lower")
    assert found["verdict"] in page.read_text()
    assert sections(page) == ["latency", "bandwidth", "streams", "pairs", "numbers", "method"]
    files = {path.stem for path in svg.iterdir()}
    assert files == set(found["figures"]) and "net-pairs-bandwidth-new" in files
    rate = next(svg.glob("net-rate-0.svg")).read_text()
    assert "Message rate" in rate and "old, 8 B | 500000 messages/s" in rate


def test_page_of_several_networks_has_a_line_for_each(tmp_path: Path, capsys: Out) -> None:
    """Those of two without a common measurement, too; names are of MPI, settings, pairs."""
    one = result(messages({("bandwidth", 1, 1, 64): 0.001, ("bandwidth", 4096, 1, 64): 2.0}))
    many = result(messages({("bandwidth", 1, 8, 64): 0.01, ("bandwidth", 4096, 8, 64): 20.0}))
    links = replace(many, environment={"OMPI_MCA_btl_tcp_links": "4"})
    files = written(tmp_path, one=one, many=many, links=links, other=many)

    def drawn(*paths: str) -> tuple[dict[str, str], str]:
        page, svg = tmp_path / "page.html", tmp_path / "svg"
        assert main(["report", *paths, "-o", str(page), "--svg", str(svg), "--json"]) == 0
        found: dict[str, str] = json.loads(capsys.readouterr().out)
        return found, (svg / "net-bandwidth.svg").read_text()

    found, picture = drawn(*files[:2])
    assert found["verdict"] == (
        "2 results: highest bandwidth 20.0 MB/s (Open MPI 5.0.6, many, 8 pairs, 4 KiB); highest "
        "message rate 10005 messages/s (Open MPI 5.0.6, many, 8 pairs, 1 B)."
    )
    assert "Open MPI 5.0.6, one, 1 pair, 4 KiB | 2.00 MB/s" in picture
    assert "No two of these results have a measurement in common." in found["notes"]
    _, picture = drawn(*files[:3])
    assert "Open MPI 5.0.6, btl_tcp_links=4, links, 8 pairs, 1 B" in picture
    common = {**TCP, ("bandwidth", 1, 1, 64): 0.001}
    extra = written(tmp_path, extra=result(messages(common)))
    found, picture = drawn(files[0], *extra)
    assert found["verdict"].startswith("extra against one: bandwidth from 1 B")
    assert "extra, 8 pairs, 1 MiB" in picture and "one, 1 pair, 1 B" in picture
    found, picture = drawn(*files)
    assert picture.count(", 4 KiB | ") == 4
    assert f"stretto compare {files[1]} {files[2]}" in (tmp_path / "page.html").read_text()


def test_pictures_of_a_network_say_what_they_are_of(tmp_path: Path, capsys: Out) -> None:
    plain = result(messages(TCP))
    links = replace(plain, environment={"OMPI_MCA_btl_tcp_links": "4"})
    two = written(tmp_path, old=plain, new=links)
    page = tmp_path / "page.html"
    assert main(["report", two[0], "-o", str(page), "--svg", str(tmp_path), "-q"]) == 0
    where = "Open MPI 5.0.6; 8 pairs between nodes, 2 nodes: a-b"
    assert where in (tmp_path / "net-bandwidth-0.svg").read_text()
    assert main(["report", *two, "-o", str(page), "--svg", str(tmp_path), "-q"]) == 0
    picture = (tmp_path / "net-bandwidth-0.svg").read_text()
    assert f"new: {where}; btl_tcp_links=4" in picture
    assert "new (btl_tcp_links=4), 8 B" in picture
    capsys.readouterr()
    unknown = result(messages(TCP), ("unknown-1", "unknown-2"))
    assert main(["report", *written(tmp_path, x=unknown), "-o", str(page), "-q"]) == 0
    assert "unknown" not in page.read_text() and "8 pairs between nodes" in page.read_text()


def test_streams_of_one_number_with_more_threads_are_a_point(tmp_path: Path) -> None:
    parts = [tcp(("a", "b"), n * 1e9, streams=n) for n in (1, 36)]
    more = replace(tcp(("a", "b"), 93e9, streams=36).streams[0], threads=36)
    found = replace(parts[0], streams=[*(p.streams[0] for p in parts), more])
    words = ["report", *written(tmp_path, a=found), "-o", str(tmp_path / "page.html"), "-q"]
    assert main([*words, "--svg", str(tmp_path)]) == 0
    assert (
        "36 threads, 36 streams | 93.0 Gb/s, 1 pair" in (tmp_path / "net-streams.svg").read_text()
    )


def test_page_of_a_busy_machine_has_a_banner_and_no_such_finding(tmp_path: Path) -> None:
    found = replace(result(messages(TCP)), notes=[idle_warning(0.5) or ""])
    page = tmp_path / "page.html"
    assert main(["report", *written(tmp_path, a=found), "-o", str(page), "-q"]) == 0
    assert '<p class="banner">50 % of the processor time' in page.read_text()
    assert "findings" not in sections(page)


def test_chart_of_one_size_or_value_zero_is_left_out(tmp_path: Path) -> None:
    found = result(messages({("latency", 0, 1, 1): 5.0, ("latency", 8, 1, 1): 5.0}))
    page = tmp_path / "page.html"
    assert main(["report", *written(tmp_path, a=found), "-o", str(page), "-q"]) == 0
    assert sections(page) == ["numbers", "method"]


@pytest.mark.parametrize("more", [["--picture", "x.svg"], ["x.bench.jsonl"]])
def test_report_command_refuses_networks_with_others(
    tmp_path: Path, capsys: Out, more: list[str]
) -> None:
    one = written(tmp_path, a=result(messages(TCP)))
    assert main(["report", *one, *more]) != 0
    assert "network results have a page of their own" in capsys.readouterr().err


def test_rails_are_drawn_by_bandwidth_and_by_message_rate(tmp_path: Path) -> None:
    found = rails()
    assert found.rails is not None
    for setting in found.rails.settings:
        large = next(m for m in setting.messages if m.test == "bandwidth")
        setting.messages = [*setting.messages, replace(large, bytes=RATE_BYTES)]
    page, svg = tmp_path / "page.html", tmp_path / "svg"
    words = [*written(tmp_path, a=found), "-o", str(page), "--svg", str(svg), "-q"]
    assert main(["report", *words]) == 0
    assert {"net-rails.svg", "net-rails-rate.svg"} <= {p.name for p in svg.iterdir()}
    assert "messages/s" in (svg / "net-rails-rate.svg").read_text()

"""Platform files and their fit: readable, refused with place and remedy, recovered from curves."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from stretto.cli import main
from stretto.errors import StrettoError
from stretto.model.fit import fit, predict
from stretto.model.measurements import Series, read_series
from stretto.model.platform import LEVELS, Link, Platform
from stretto.model.platform_file import (
    DIRECTORY,
    format_platform,
    load,
    parse_platform,
    shipped,
)
from stretto.model.price import price

REPOSITORY = Path(__file__).resolve().parents[2]
TEXT = (DIRECTORY / "hpc7g.toml").read_text()


def test_all_kinds_of_clusters_are_shipped() -> None:
    wanted = {"c5n-tcp", "c5n-tcp-multi", "c5n-efa", "hpc6a", "hpc7a", "hpc7g", "ib-hdr", "ib-ndr",
              "this-machine"}  # fmt: skip
    assert wanted <= set(shipped())


@pytest.mark.parametrize("name", shipped())
def test_shipped_platforms_name_every_source_and_round_trip(name: str) -> None:
    platform = load(name)
    assert platform.name == name and platform.description
    for level in LEVELS:
        assert platform.sources[f"{level}.latency"]
    again = parse_platform(format_platform(platform), "again")
    assert again.sources == platform.sources
    assert format_platform(again) == format_platform(platform)


def test_file_in_the_documentation_is_complete(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs/reference/platforms.md").read_text()
    (text,) = re.findall(r'```toml\n(schema[^`]*"mycluster"[^`]*)```', page)
    path = tmp_path / "mycluster.toml"
    path.write_text(text)
    words = ["-c", "bcast", "--nodes", "2", "--ppn", "32", "--bytes", "8", "--candidates", "native"]
    assert main(["simulate", "-p", str(path), *words]) == 0
    without = re.sub(r"(?m)^cores_\w+ = .*\n", "", text)
    with pytest.raises(StrettoError) as caught:
        parse_platform(without, "a.toml")
    values = "cores_cache (64, preset) <= cores_numa (64, preset) <= cores (32)"
    assert caught.value.message == f"{values} does not hold"


def line_of(text: str, words: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), start=1) if words in line)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("us = 10.4", "us = 1e9", "out of range"),
        ("us = 10.4", 'us = "ten"', "not a number"),
        ("us = 10.4", "furlongs = 10.4", "furlongs"),
        ("us = 10.4, source", "us = 10.4, why", "10.4|why"),
        ("latency = { us = 10.4", "latencies = { us = 10.4", "not a parameter"),
        ("rails = { value = 1", "rails = { value = 1.5", "whole number"),
        (
            'source = "publication: AWS, one',
            'source = "somewhere: AWS, one',
            "no source for its value",
        ),
        (
            "rails = {",
            'rail_use = { value = "both", source = "assumed: x" }\nrails = {',
            "not known",
        ),
        ("rails = {", 'stripe_bytes = { bytes = 1, source = "assumed: x" }\nrails = {', "one rail"),
        ("[machine]", "[machines]", "not a section"),
        ("cores_numa = { value = 64", "cores_numa = { value = 65", "does not hold"),
        (
            "cores = { value = 64",
            "cores = { value = 32",
            r"cores_cache \(64.*\) <= cores_numa \(64.*\) <= cores \(32\) does not hold",
        ),
        ("version = 1", "version = 2", "version"),
        ("[remote]", "[remote", "not TOML"),
    ],
)
def test_a_bad_file_is_refused_with_line_and_remedy(old: str, new: str, words: str) -> None:
    assert old in TEXT
    text = TEXT.replace(old, new, 1)
    with pytest.raises(StrettoError) as caught:
        parse_platform(text, "bad.toml")
    error = caught.value
    assert re.search(words, error.message), error.message
    assert error.remedy
    assert re.match(r"bad\.toml:\d+", str(error.place)), error.place
    if "does not hold" not in words and "version" not in words:
        number = int(str(error.place).split(":")[1])
        assert number == line_of(text, new.split(" = ")[0] if "=" in new else new[:7]) or (
            text.splitlines()[number - 1].strip()
        )


def test_a_missing_latency_names_level() -> None:
    text = "\n".join(line for line in TEXT.splitlines() if "us = 10.4" not in line)
    with pytest.raises(StrettoError, match="latency is not given"):
        parse_platform(text, "x.toml")


LINK = Link(latency=5e-6, send_overhead=5e-7, recv_overhead=5e-7, gap_byte=2e-10,
            eager_bytes=16384, rendezvous=2e-6)  # fmt: skip


def made(link: Link = LINK, rails: int = 1) -> list[Series]:
    """Return what a perfect measurement of a link and an interface would be."""
    sizes, gap, byte = [2**i for i in range(21)], 1e-7, 5e-11
    out = []
    for kind, pairs in (("latency", 1), ("bandwidth", 1), ("multi_pair", 16)):
        empty = Series(kind, (), pairs, 64, kind)  # type: ignore[arg-type]
        points = tuple((n, predict(empty, link, gap, byte, n, rails)) for n in sizes)
        out.append(Series(kind, points, pairs, 64, f"{kind}.txt"))  # type: ignore[arg-type]
    return out


def osu(path: Path, title: str, series: Series) -> Path:
    head = f"# OSU MPI {title} v5.6.2\n"
    if series.kind == "multi_pair":
        head += f"# [ pairs: {series.pairs} ] [ window size: 64 ]\n"
    path.write_text(head + "# Size    Value\n" + "".join(f"{n}  {v}\n" for n, v in series.points))
    return path


def test_fit_command_recovers_a_known_network_and_is_deterministic(tmp_path: Path) -> None:
    a, b, c = made()
    files = [osu(tmp_path / "lat.txt", "Latency Test", a),
             osu(tmp_path / "bw.txt", "Bandwidth Test", b),
             osu(tmp_path / "mr.txt", "Multiple Bandwidth / Message Rate Test", c)]  # fmt: skip
    assert read_series(files[2], None, None, None).pairs == 16
    outputs = []
    for i in range(2):
        out, plot = tmp_path / f"{i}.toml", tmp_path / f"{i}.svg"
        argv = ["platform", "fit", "--when", "now", "-o", str(out), "--plot", str(plot), "mine"]
        assert main([*argv, *map(str, files)]) == 0
        outputs.append((out.read_bytes(), plot.read_bytes()))
    assert outputs[0] == outputs[1]
    assert b"measured" in outputs[0][1]
    found = load(str(tmp_path / "0.toml"))
    got = found.levels["network"]
    assert got.latency == pytest.approx(5e-6, rel=0.1)
    assert got.send_overhead == pytest.approx(5e-7, rel=0.1)
    assert got.gap_byte == pytest.approx(2e-10, rel=0.1)
    assert got.eager_bytes == 16384
    assert found.nic_gap_message == pytest.approx(1e-7, rel=0.15)
    assert found.nic_gap_byte == pytest.approx(5e-11, rel=0.1)
    assert found.sources["network.latency"].startswith("fitted: lat.txt")
    assert found.sources["node.latency"] == load("ib-hdr").sources["node.latency"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# OSU MPI Latency Test\n8 x\n", "not a measured value"),
        ("# OSU MPI Latency Test\n8\n", "lacks a size or a value"),
        ("# OSU MPI Latency Test\n", "no measured value"),
        ("# something\n8 1.0\n", "the OSU benchmark"),
        ("size,a,b\n8,1,2\n", "the kind of measurement is unknown"),
    ],
)
def test_bad_measurements_are_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "m.txt"
    path.write_text(text)
    with pytest.raises(StrettoError, match=words) as caught:
        read_series(path, None, None, None)
    assert caught.value.remedy and str(path) in str(caught.value.place)


@pytest.mark.parametrize(
    ("word", "title", "words"),
    [
        ("latency=", "OSU MPI Bandwidth Test v5.6.2", "write bandwidth="),
        ("node_bandwidth=", "OSU MPI Latency Test v7.5", "write latency="),
        ("node_bcast=", "OSU MPI Allreduce Latency Test v7.5", "write node_allreduce="),
        ("", "OSU MPI Allgather Latency Test v7.5", "the OSU benchmark"),
        ("", "OSU MPI Multi Latency Test v7.5", "the OSU benchmark"),
        ("latency=", "OSU MPI Latency Test v7.5", "the output of a benchmark has no column 'us'"),
    ],
)
def test_what_a_file_says_it_is_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], word: str, title: str, words: str
) -> None:
    """MB/s read as us, or a collective's time as a message's, would fit and mean nothing."""
    path = tmp_path / "out.log"
    path.write_text(f"# {title}\n# Size  Value\n8 1.5\n1024 2.5\n")
    column = ":us" if "column" in words else ""
    out = tmp_path / "x.toml"
    assert main(["platform", "fit", "x", f"{word}{path}{column}", "-o", str(out)]) == 1
    assert words in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bcast.log", "# OSU MPI Broadcast Latency Test v7.5\n# Size  Avg Latency(us)\n8 1.5\n"),
        ("bcast.txt", "# OSU MPI-CUDA Broadcast Latency Test v7.5\n8 1.5\n"),
        ("bcast.csv", "size,us\n8,1.5\n"),
    ],
)
def test_the_number_of_ranks_stands_behind_any_file(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(StrettoError, match="the number of ranks"):
        read_series(path, "node_bcast", None, None)
    found = read_series(path, "node_bcast", "36", None)
    assert (found.kind, found.pairs, found.points) == ("node_bcast", 36, ((8, 1.5),))


def test_show_and_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["platform", "list"]) == 0
    assert "hpc7a" in capsys.readouterr().out
    assert main(["platform", "show", "--json", "hpc7a"]) == 0
    rows = {r["name"]: r for r in json.loads(capsys.readouterr().out)["parameters"]}
    assert rows["rails"]["value"] == 2 and rows["rails"]["source"].startswith("publication")
    assert rows["rail_use"]["value"] == "by_core"
    assert main(["platform", "show", "hpc7a"]) == 0
    assert re.search(r"rail_use +by_core +publication", capsys.readouterr().out)


def between_two_nodes(platform: Platform, pairs: int) -> float:
    """Return the bandwidth, in Gb/s, of long messages from the ranks of one node to another's."""
    ranks, nbytes = 2 * pairs, 1 << 26
    sizes = [nbytes * (to == by + pairs) for by in range(ranks) for to in range(ranks)]
    hosts = [r // pairs for r in range(ranks)]
    found = price("alltoallv", "linear(1048576)", hosts, 0, platform, element=1, sizes=sizes)
    return 8e-9 * pairs * nbytes / found.seconds


@pytest.mark.parametrize(
    ("change", "pairs", "wanted"),
    [
        ({}, 1, 150),  # published: a pair of ranks shows half of the node's 300 Gb/s
        ({}, 96, 150),  # all on one socket
        ({}, 192, 300),
        ({"spread": 1.0}, 96, 300),
        ({"rail_use": 1.0}, 96, 300),
        ({"rail_use": 2.0}, 1, 300),
    ],
)
def test_hpc7a_reaches_the_bandwidth_of_the_rails_that_its_ranks_use(
    change: dict[str, float], pairs: int, wanted: float
) -> None:
    platform = replace(load("hpc7a"), **change)
    found = between_two_nodes(platform, pairs)
    assert 0.93 * wanted < found < 0.98 * wanted, "3% are headers"
    assert platform.rails_used(pairs) == round(wanted / 150)


def test_fit_of_many_pairs_gives_the_rates_of_one_rail() -> None:
    link = replace(LINK, gap_byte=1e-10)
    base = replace(load("hpc7a"), cores=16, cores_numa=8)
    found = fit("two", made(link, rails=2), base, "today")
    assert found.platform.nic_gap_message == pytest.approx(1e-7, rel=0.15)
    assert found.platform.nic_gap_byte == pytest.approx(5e-11, rel=0.1)


def test_this_machine_is_what_its_measurements_give(tmp_path: Path) -> None:
    """The command of docs/reference/platforms.md; c5n's files are not in the repository."""
    folder = REPOSITORY / "bench" / "results" / "this-machine"
    kinds = {"latency": "net_lat", "bandwidth": "net_bw", "node_latency": "node_lat",
             "node_bandwidth": "node_bw"}  # fmt: skip
    curves = [read_series(folder / f"{name}.txt", kind, None, None) for kind, name in kinds.items()]
    shipped_one = load("this-machine")
    found = fit("this-machine", curves, shipped_one, "today")
    assert found.platform.numbers() == pytest.approx(shipped_one.numbers(), rel=1e-5)
    assert 1.2 < found.median_factor < 1.35 and len(found.residuals) == 84

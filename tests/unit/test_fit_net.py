"""A platform fitted to network results, and priced again."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mpis import REPOSITORY
from net_samples import SPREAD, Key, messages, result
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.files.net import NetFile, NetImport, write_net
from stretto.model.fit import fit, predict
from stretto.model.measurements import Kind, Series, read_net_series
from stretto.model.platform import Link, foreign_note
from stretto.model.platform_file import load
from stretto.model.price import price

Out = pytest.CaptureFixture[str]
SIZES = [2**i for i in range(0, 21, 2)]
#: a network whose blocking sends cost ten times what messages in a window do
LINK = Link(latency=5e-6, send_overhead=5e-7, recv_overhead=5e-7, gap_message=4e-6, gap_byte=2e-10,
            eager_bytes=16384, rendezvous=2e-6)  # fmt: skip
TESTS: dict[Kind, tuple[str, int, int]] = {
    "latency": ("latency", 1, 1), "bandwidth": ("bandwidth", 1, 64), "sends": ("sends", 1, 64),
    "multi_pair": ("bandwidth", 8, 64),
}  # fmt: skip


def network(hosts: tuple[str, ...] = ("a", "b")) -> NetFile:
    """Return what a perfect measurement of `LINK` would be."""
    values: dict[Key, float] = {}
    for kind, (test, pairs, window) in TESTS.items():
        empty = Series(kind, (), pairs, window, "")
        for n in SIZES:
            values[test, n, pairs, window] = predict(empty, LINK, 1e-7, 5e-11, n)
    values["bandwidth", 8, 1, 1] = 1.0
    return result(messages(values, len(SPREAD)), hosts)


def one_message(found: Path, nbytes: int) -> float:
    """Return the priced time of half of a ping-pong between two nodes, in us."""
    return 1e6 * price("bcast", "binomial", [0, 1], nbytes, load(str(found)), element=1).seconds


def test_net_result_gives_the_curves_that_a_fit_takes(tmp_path: Path) -> None:
    write_net(network(), tmp_path / "a.net.json")
    curves = {s.kind: s for s in read_net_series(tmp_path / "a.net.json")}
    assert {k: (s.pairs, s.window) for k, s in curves.items()} == {
        "latency": (1, 1), "bandwidth": (1, 64), "sends": (1, 64), "multi_pair": (8, 64),
    }  # fmt: skip
    assert curves["latency"].software == ""
    write_net(network(("a",)), tmp_path / "node.net.json")
    assert {s.kind for s in read_net_series(tmp_path / "node.net.json")} == {
        "node_latency", "node_bandwidth", "node_sends",
    }  # fmt: skip
    write_net(result(None), tmp_path / "tcp.net.json")
    with pytest.raises(StrettoError, match="no measured MPI messages"):
        read_net_series(tmp_path / "tcp.net.json")


def test_platform_of_a_net_result_prices_its_ping_pong_again(tmp_path: Path, capsys: Out) -> None:
    """Eager and rendezvous; and a send costs what it cost."""
    write_net(network(), tmp_path / "a.net.json")
    out = tmp_path / "mine.toml"
    assert main(["platform", "fit", "mine", str(tmp_path / "a.net.json"), "-o", str(out)]) == 0
    link = load(str(out)).levels["network"]
    assert link.eager_bytes == 16384
    assert link.gap_message == pytest.approx(4e-6, rel=0.1)
    assert link.send_overhead == pytest.approx(5e-7, rel=0.15)
    latency = Series("latency", (), 1, 1, "")
    for nbytes in (8, 1024, 8192, 65536, 1 << 20):
        given = predict(latency, LINK, 1e-7, 5e-11, nbytes)
        assert one_message(out, nbytes) == pytest.approx(given, rel=0.08), nbytes
    assert foreign_note(load(str(out))) is None
    assert "measured by" not in out.read_text()
    capsys.readouterr()


def test_platform_without_expensive_sends_has_no_gap() -> None:
    cheap = replace(LINK, gap_message=0.0)
    curves = []
    for kind, (_, pairs, window) in TESTS.items():
        empty = Series(kind, (), pairs, window, kind)
        points = tuple((n, predict(empty, cheap, 0, 0, n)) for n in SIZES)
        curves.append(replace(empty, points=points))
    found = fit("x", [c for c in curves if c.kind != "multi_pair"], load("ib-hdr"), "today")
    link = found.platform.levels["network"]
    assert link.gap_message <= 1.1 * link.send_overhead
    assert found.median_factor < 1.05


def test_platform_of_another_software_is_named_as_such(tmp_path: Path, capsys: Out) -> None:
    imported = NetImport(["OSU 5.6", "OSU 7.4"], [], [], [])
    found = replace(network(), imported=imported)
    write_net(found, tmp_path / "osu.net.json")
    out = tmp_path / "mine.toml"
    words = ["platform", "fit", "mine", str(tmp_path / "osu.net.json"), "-o", str(out)]
    assert main([*words, "--when", "two nodes, in May"]) == 0
    assert "to figures measured by OSU 5.6, OSU 7.4" in load(str(out)).description
    assert re.search(
        r"latency = .*fitted: osu.net.json, measured by OSU 5.6, OSU 7.4, two nodes, in May",
        out.read_text(),
    )
    capsys.readouterr()
    simulate = ["simulate", "--platform", str(out), "-c", "bcast", "--nodes", "2", "--ppn", "1"]
    assert main([*simulate, "--bytes", "8", "--candidates", "binomial"]) == 0
    assert "mine is fitted to figures measured by OSU 5.6, OSU 7.4\n" in capsys.readouterr().err


def test_print_outs_of_osu_name_their_software(tmp_path: Path, capsys: Out) -> None:
    log = tmp_path / "osu_latency.txt"
    rows = "".join(f"{n}  {5 + n * 1e-4:.2f}\n" for n in SIZES)
    log.write_text(f"# OSU MPI Latency Test v7.4\n# Size  Latency (us)\n{rows}")
    out = tmp_path / "mine.toml"
    assert main(["platform", "fit", "mine", str(log), "-o", str(out)]) == 0
    assert "osu_latency.txt, measured by OSU 7.4" in out.read_text()
    capsys.readouterr()


def test_shipped_platforms_are_not_foreign() -> None:
    assert [p.stem for p in (REPOSITORY / "python/stretto/platforms").glob("*.toml")
            if foreign_note(load(p.stem)) is not None] == []  # fmt: skip

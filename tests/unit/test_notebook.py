"""Network results in notebooks: datasets and data frames with units and coordinates."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import stretto
from net_samples import SPREAD, TCP, cluster, messages, node, result, tcp
from stretto.errors import StrettoError
from stretto.files.net import NetFile, NetImport, write_net
from stretto.notebook import NetData

HOSTS = ["a", "b", "c"]


def opened(tmp_path: Path, found: NetFile) -> NetData:
    write_net(found, tmp_path / "x.net.json")
    return stretto.open_net(str(tmp_path / "x.net.json"))


def test_open_net_gives_a_dataset_with_units_and_coordinates(tmp_path: Path) -> None:
    data = opened(tmp_path, cluster(HOSTS)).to_xarray()
    assert {"latency", "bandwidth", "bandwidth_8_pairs", "bidirectional", "sends",
            "tcp_bandwidth", "tcp_latency"} == set(data.data_vars)  # fmt: skip
    latency = data["latency"]
    assert latency.dims == ("bytes", "launch") and latency.attrs["units"] == "us"
    assert data["bytes"].attrs["units"] == "byte"
    medians = [b * s * 1.0005 for b, s in ((20.0, s) for s in SPREAD)]
    assert latency.sel(bytes=8).values == pytest.approx(medians, rel=1e-3)
    assert data["bandwidth"].attrs | {"units": "MB/s", "window": 64, "pairs": 1} == data[
        "bandwidth"].attrs  # fmt: skip
    rate = data["tcp_bandwidth"]
    assert rate.dims == ("pair", "streams", "threads", "tcp_bandwidth_bytes", "run")
    assert rate.attrs["units"] == "byte/s" and not rate.isnull().any()
    one = rate.sel(streams=4).isel(pair=0)
    assert (str(one["source"].item()), str(one["target"].item())) == ("a", "b")
    assert float(one.median()) == pytest.approx(9e9 / 8 * 2)
    assert data["tcp_latency"].dims == ("pair", "tcp_latency_bytes", "run")
    assert data.attrs["mpi"] == "openmpi 5.0.6"


def test_open_net_gives_a_row_a_launch(tmp_path: Path) -> None:
    frame = opened(tmp_path, result(messages(TCP))).to_dataframe()
    assert len(frame) == len(TCP) * len(SPREAD)
    some = frame[(frame.test == "latency") & (frame.bytes == 8)]
    assert some["value"].median() == pytest.approx(20.01) and set(some["unit"]) == {"us"}
    hosts = opened(tmp_path, tcp(("a", "b"), 8e9)).to_dataframe()
    assert set(hosts["test"]) == {"tcp_bandwidth", "tcp_latency"}
    assert hosts[hosts.test == "tcp_bandwidth"]["value"].median() == pytest.approx(1e9)


def test_open_net_of_a_node_has_pairs_of_cores(tmp_path: Path) -> None:
    net = opened(tmp_path, node())
    data = net.to_xarray()
    assert data["flag"].dims == ("core_pair", "run") and data["flag"].attrs["units"] == "ns"
    near = data["flag"].where(data["share"] == "cache", drop=True)
    assert float(near.median()) == 60.0 and list(near["a"].values) == [0, 2]
    assert data["copy_shared"].dims == ("core_pair", "copy_shared_bytes", "run")
    assert set(net.to_dataframe()["test"]) == {"flag", "copy_shared"}


def test_open_net_says_what_it_is(tmp_path: Path) -> None:
    found = replace(result(messages(TCP)), imported=NetImport(["OSU <7.4>"], [], [], []))
    shown = opened(tmp_path, found)._repr_html_()
    assert "OSU &lt;7.4&gt;" in shown and "x.net.json" in shown


def test_open_net_without_xarray_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = opened(tmp_path, result(messages(TCP)))
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(StrettoError) as caught:
        net.to_xarray()
    assert caught.value.remedy == "pip install 'stretto[data]'"

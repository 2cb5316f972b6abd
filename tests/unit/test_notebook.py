"""Files in notebooks: datasets and data frames with units and coordinates, and charts."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import xarray

import stretto
from net_samples import SPREAD, TCP, cluster, messages, node, result, tcp
from report_samples import make
from stretto.errors import StrettoError
from stretto.files.net import NetFile, NetImport, write_net
from stretto.files.profile import FileUse, Matrix, read_profile, write_profile
from stretto.notebook import BenchData, NetData, ProfileData

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
    assert set(net.to_dataframe()["test"]) == {"flag", "copy_shared", "copy_shared_both"}


def test_open_net_says_what_it_is(tmp_path: Path) -> None:
    found = replace(result(messages(TCP)), imported=NetImport(["OSU <7.4>"], [], [], []))
    shown = opened(tmp_path, found)._repr_html_()
    assert "OSU &lt;7.4&gt;" in shown and "x.net.json" in shown


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> BenchData:
    path = tmp_path_factory.mktemp("bench") / "x.bench.jsonl"
    make.bench(make.CASES["small"], path)
    return stretto.open_bench(path)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> ProfileData:
    path = tmp_path_factory.mktemp("profile") / "x.profile.json"
    make.profile(make.CASES["small"], path)
    found = read_profile(path)
    use = FileUse("in.nc", "ext4", 80)
    lists = {f.name: [0, 1] if f.name == "ranks" else [1, 2]
             for f in fields(use) if isinstance(getattr(use, f.name), list)}  # fmt: skip
    use = replace(use, **lists)
    write_profile(replace(found, file_uses=[use]), path)
    return stretto.open_profile(str(path))


def round_trip(data: xarray.Dataset, path: Path) -> None:
    data.to_netcdf(path)
    with xarray.open_dataset(path) as read:
        xarray.testing.assert_equal(read, data)
        for name in data.variables:
            attrs = {k: v for k, v in read[name].attrs.items() if k in ("units", "long_name")}
            assert attrs == {k: data[name].attrs[k] for k in attrs} and attrs.keys() >= (
                {"units", "long_name"} & data[name].attrs.keys())  # fmt: skip
        assert read.attrs == data.attrs


def test_open_bench_gives_a_dataset_with_units_and_coordinates(
    bench: BenchData, tmp_path: Path
) -> None:
    data = bench.to_xarray()
    assert set(data.data_vars) == set(make.CANDIDATES)
    times = data["allreduce"]
    assert times.dims == ("mode", "candidate", "bytes", "launch")
    assert times.attrs == {
        "units": "us", "long_name": "time per call of MPI_Allreduce", "datatype": "MPI_DOUBLE",
        "operation": "MPI_SUM", "source": "simulated",
    }  # fmt: skip
    assert "operation" not in data["bcast"].attrs and "operation" not in data["barrier"].attrs
    assert data["bytes"].attrs["units"] == "byte" and data["candidate"].values[0] == "native"
    assert list(data["ranks"].values) == [2] * 6 and data["ranks"].dims == ("launch",)
    some = [s for s in bench.file.samples if (s.collective, s.candidate, s.bytes, s.launch)
            == ("allreduce", "shm", 64, 3)]  # fmt: skip
    one = times.sel(candidate="shm", bytes=64, launch=3, mode="latency")
    assert float(one) == pytest.approx(float(np.median(some[0].times_us)))
    assert data["barrier"].sel(bytes=64).isnull().all()
    kinds = {"mode": "U", "candidate": "U", "variant": "U", "bytes": "i", "launch": "i"}
    assert {name: data[name].dtype.kind for name in kinds} == kinds
    round_trip(data, tmp_path / "x.nc")


def test_open_bench_parts_call_shapes_and_leaves_out_wrong_results(bench: BenchData) -> None:
    first = bench.file.samples[0]
    wrong = replace(first, correct=False)
    other = replace(first, datatype="MPI_INT", operation="MPI_MAX")
    file = replace(bench.file, records=[bench.file.launches[0], wrong, other])
    data = BenchData(bench.path, file).to_xarray()
    assert list(data.data_vars) == ["allreduce_double_sum", "allreduce_int_max"]
    assert data["allreduce_double_sum"].isnull().all()
    assert data["allreduce_int_max"].notnull().all()


def test_open_bench_gives_a_row_a_launch(bench: BenchData) -> None:
    frame = bench.to_dataframe()
    assert len(frame) == len(bench.file.samples)
    assert {"time_us", "min_us", "max_us", "ranks", "correct"} <= set(frame.columns)
    assert (frame.min_us <= frame.time_us).all() and (frame.time_us <= frame.max_us).all()


def test_open_profile_gives_a_dataset_with_units_and_coordinates(
    profile: ProfileData, tmp_path: Path
) -> None:
    data, file = profile.to_xarray(), profile.file
    assert data["wall"].dims == ("rank",) and data["wall"].attrs["units"] == "s"
    assert data["time"].dims == ("call", "rank") and data["calls"].attrs["units"] == "1"
    at = next(i for i, c in enumerate(file.calls) if c.function == "MPI_Allreduce")
    assert str(data["function"][at].item()) == "MPI_Allreduce"
    assert data["time"][at].values == pytest.approx(file.calls[at].time_s)
    assert {"source", "target"} <= set(data["message_bytes"].coords)
    assert float(data["message_bytes"].sum()) == sum(m[3] for m in file.matrix.messages)
    round_trip(data, tmp_path / "x.nc")


def test_open_profile_gives_frames_of_calls_ranks_messages_and_files(profile: ProfileData) -> None:
    file = profile.file
    calls = profile.to_dataframe()
    assert calls["time_s"].sum() == pytest.approx(sum(sum(c.time_s) for c in file.calls))
    assert list(profile.to_dataframe("ranks")["wall_s"]) == file.wall_s
    assert len(profile.to_dataframe("messages")) == len(file.matrix.messages)
    assert list(profile.to_dataframe("files")["read_bytes"]) == [3]
    with pytest.raises(StrettoError) as caught:
        profile.to_dataframe("rank")
    assert caught.value.remedy == "give one of: calls, ranks, messages, files"


def test_plot_of_each_file_is_a_valid_chart(
    bench: BenchData, profile: ProfileData, tmp_path: Path
) -> None:
    net = opened(tmp_path, cluster(HOSTS))
    kinds = {
        "barrier": (bench, "LayerChart"), "reduce": (bench, "ConcatChart"),
        "": (profile, "Chart"), "messages": (profile, "Chart"), "latency": (net, "LayerChart"),
    }  # fmt: skip
    for what, (data, kind) in kinds.items():
        chart = data.plot(what)
        assert type(chart).__name__ == kind, what
        shown = chart.to_dict(validate=what == "barrier")
        assert shown["config"]["background"] == "#ffffff", what
    with pytest.raises(StrettoError) as caught:
        bench.plot("gather")
    assert caught.value.remedy == "give one of: allreduce, barrier, bcast, reduce"


def test_opened_files_show_what_they_are(bench: BenchData, profile: ProfileData) -> None:
    shown = bench._repr_html_()
    assert "6 launches" in shown and "1 x 2" in shown and "openmpi 4.1.4" in shown
    assert "2 ranks on 1 node" in profile._repr_html_()
    assert "layouts: 1 x 2\n" in repr(bench) and len(repr(bench)) < 400


@pytest.mark.parametrize(
    ("name", "method", "extra"),
    [("xarray", "to_xarray", "data"), ("pandas", "to_dataframe", "data"),
     ("altair", "plot", "report")],
)  # fmt: skip
def test_opened_file_without_a_package_names_the_extra(
    bench: BenchData, monkeypatch: pytest.MonkeyPatch, name: str, method: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "stretto.notebook.charts", raising=False)
    with pytest.raises(StrettoError) as caught:
        getattr(bench, method)()
    assert f"{name} is needed but not installed" in caught.value.message
    assert f"{sys.executable} -m pip install 'stretto[{extra}]'" in str(caught.value.remedy)


def test_error_in_a_notebook_ends_with_what_to_type(bench: BenchData) -> None:
    with pytest.raises(StrettoError, match="there is no chart 'ring'") as caught:
        bench.plot("ring")
    assert "try: give one of: allreduce" in "".join(getattr(caught.value, "__notes__", []))


def test_chart_without_data_names_what_is_lacking(profile: ProfileData) -> None:
    bare = replace(profile, file=replace(profile.file, timeline=None, matrix=Matrix()))
    for what, words in (("timeline", "no collectives were sampled"), ("messages", "no messages")):
        with pytest.raises(stretto.StrettoError, match=words):
            bare.plot(what)

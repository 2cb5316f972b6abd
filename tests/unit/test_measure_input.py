"""What a campaign refuses before it plans: values without end, and nodes named twice."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from stretto import cli
from stretto.campaign import request as limits
from stretto.campaign.command import request_of
from stretto.campaign.layout import ordered
from stretto.campaign.request import Request, make_request
from stretto.errors import UsageError
from stretto.plan import MOST_RANKS
from test_campaign_plan import here
from test_measure_runner import FakeMPI, mpi

__all__ = ["here", "mpi"]  # fixtures

END = 10**20


def made(values: dict[str, object]) -> Request:
    return make_request(values, Path("c"), "c.toml")


@pytest.mark.parametrize(
    ("values", "key", "said"),
    [
        ({"nodes": [10**8], "ppn": [10**6]}, "nodes", f"nodes must be at most {MOST_RANKS}"),
        ({"nodes": "1:99999999999999999999", "ppn": 1}, "nodes", "nodes must be at most"),
        ({"nodes": "1:99999999999", "ppn": 1}, "nodes", "nodes must be at most"),
        ({"nodes": "9" * 5000}, "nodes", "nodes must be at most"),
        ({"ppn": END}, "ppn", "ppn must be at most"),
        ({"nodes": [2, 8192], "ppn": [1, 4096]}, "nodes, ppn", "8192 x 4096 is more ranks than"),
        ({"interpolate": ["8192x4096"]}, "interpolate", "8192 x 4096 is more ranks than"),
        (
            {"nodes": list(range(1, 41)), "ppn": list(range(1, 41))},
            "nodes, ppn",
            "40 numbers of nodes and 40 of ranks per node are 1600 layouts",
        ),
        ({"launches": 10**7}, "launches", "launches must be from 1 to 200"),
        ({"launches": 10**11}, "launches", "launches must be from 1 to 200"),
        ({"launches": 0}, "launches", "launches must be from 1 to 200"),
        ({"launches": 2.5}, "launches", "launches must be a whole number"),
        ({"launches": "6"}, "launches", "launches must be a whole number"),
        ({"launches": float("nan")}, "launches", "launches must be a whole number"),
        ({"seed": END}, "seed", "seed must be from 0 to"),
        ({"seed": True}, "seed", "seed must be a whole number"),
        ({"bytes": "9" * 5000}, "bytes", "bytes must be sizes"),
        ({"bytes": "8:1M:" + "9" * 5000}, "bytes", "bytes must be sizes"),
        ({"nodes": [2], "hosts": ["a", "a"]}, "hosts", "a is named twice"),
        ({"nodes": [2], "hosts": "a,b, a"}, "hosts", "a is named twice"),
        ({"hosts": ","}, "hosts", "hosts names no node"),
        ({"hosts": []}, "hosts", "hosts is empty"),
        ({"candidates": []}, "candidates", "candidates is empty"),
        ({"nodes": []}, "nodes", "nodes is empty"),
    ],
)
def test_what_is_refused(values: dict[str, object], key: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        made(values)
    assert said in error.value.message
    assert error.value.place == f"c.toml: {key}" and error.value.remedy


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--nodes", "100000000", "--ppn", "1"], "the options: nodes"),
        (["--nodes", "2", "--launches", "10000000"], "the options: launches"),
        (["--nodes", "2", "--hosts", "a,a"], "the options: hosts"),
        (["--nodes", "2", "--seed", str(END)], "the options: seed"),
    ],
)
def test_options_have_the_same_limits(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["campaign", "plan", *words]) == 2
    assert f"at: {said}" in capsys.readouterr().err


def test_a_number_that_python_does_not_read(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(f"launches = {'9' * 5000}\n")
    with pytest.raises(UsageError, match="this is not TOML"):
        request_of(file, {})


def test_at_the_limits(here: FakeMPI, tmp_path: Path) -> None:
    begun = time.process_time()
    words = [
        "campaign",
        "plan",
        "--collective",
        "allreduce",
        "--bytes",
        "8",
        "--candidates",
        "ring",
    ]
    words += ["--out", str(tmp_path / "c"), "--launches", str(limits.MOST_LAUNCHES)]
    for nodes, ppn in ((MOST_RANKS, 1), (2, MOST_RANKS // 2)):
        assert cli.main([*words, "--nodes", str(nodes), "--ppn", str(ppn)]) == 0
    one = range(1, 17)
    found = made({"nodes": list(one), "ppn": list(one)}).layouts
    assert len(found) == limits.MOST_LAYOUTS - 1 and len(ordered(found)) == len(found)
    assert time.process_time() - begun < 60


def test_nodes_as_the_option_has_them(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    for value in ('"a,b"', '["a", "b"]', '["a,b"]', '" a, b,"'):
        file.write_text(f"nodes = [2]\nhosts = {value}\n")
        assert request_of(file, {}).hosts == ("a", "b")
        assert request_of(file, {"hosts": "c,d"}).hosts == ("c", "d")

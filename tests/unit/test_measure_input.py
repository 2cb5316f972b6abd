"""What a campaign refuses before it plans: values without end, and nodes named twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from stretto.campaign.request import Request, make_request
from stretto.errors import UsageError
from stretto.plan import MOST_RANKS
from test_campaign_plan import here
from test_measure_runner import mpi

__all__ = ["here", "mpi"]  # fixtures

END = 10**20


def made(values: dict[str, object]) -> Request:
    return make_request(values, Path("c"), "c.toml")


@pytest.mark.parametrize(
    ("values", "key", "said"),
    [
        ({"nodes": [10**8], "ppn": [10**6]}, "nodes", f"nodes must be at most {MOST_RANKS}"),
        ({"nodes": "1:99999999999999999999", "ppn": 1}, "nodes", "nodes must be at most"),
        ({"nodes": "9" * 5000}, "nodes", "is not a positive whole number"),
        ({"ppn": END}, "ppn", "ppn must be at most"),
        ({"nodes": [2, 8192], "ppn": [1, 4096]}, "nodes, ppn", "8192 x 4096 has too many ranks"),
        ({"interpolate": ["8192x4096"]}, "interpolate", "8192 x 4096 has too many ranks"),
        (
            {"nodes": list(range(1, 41)), "ppn": list(range(1, 41))},
            "nodes, ppn",
            "40 numbers of nodes and 40 of ranks per node are 1600 layouts",
        ),
        ({"launches": 10**7}, "launches", "a whole number from 1 to 200"),
        ({"launches": 0}, "launches", "a whole number from 1 to 200"),
        ({"launches": float("nan")}, "launches", "launches must be a whole number"),
        ({"seed": END}, "seed", "seed must be a whole number from 0 to"),
        ({"seed": True}, "seed", "seed cannot be True"),
        ({"bytes": "9" * 5000}, "bytes", "is not a size"),
        ({"nodes": [2], "hosts": "a,b, a"}, "hosts", "a is named twice"),
        ({"hosts": ","}, "hosts", "hosts has no node names"),
        ({"candidates": []}, "candidates", "candidates is empty"),
    ],
)
def test_what_is_refused(values: dict[str, object], key: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        made(values)
    assert said in error.value.message and len(error.value.message) < 200
    assert error.value.place == f"c.toml: {key}" and error.value.remedy

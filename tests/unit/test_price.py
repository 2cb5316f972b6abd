"""Pricing from Python: bounds over a wide sweep, monotone in every parameter, awkward input."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stretto.errors import StrettoError
from stretto.model.platform import LEVELS, UNITS, Link, Platform, parameters, plain
from stretto.model.price import PARTS, bound, price
from stretto.plan import choices, collectives

NEAR = Link(latency=3e-7, send_overhead=1e-7, recv_overhead=1e-7, gap_byte=1e-10,
            eager_bytes=4096, rendezvous=1e-6)  # fmt: skip
FAR = Link(latency=1e-5, send_overhead=5e-7, recv_overhead=6e-7, gap_byte=2e-10, eager_bytes=8192,
           rendezvous=2e-6, gap_message=1e-7, recv_byte=1e-11, send_byte=1e-11)  # fmt: skip
CLUSTER = Platform(
    name="cluster", levels={n: FAR if n in ("rail", "network") else NEAR for n in LEVELS},
    nic_gap_message=5e-8, nic_recv_gap_message=5e-8, nic_gap_byte=8e-11, cores=8, cores_cache=4,
    cores_numa=4, copy_byte=1e-10, reduce_byte=2e-10, flag_far=2e-7, flag_next=2e-8,
    line_byte=1e-10,
)  # fmt: skip
#: collectives that have a bound
BOUNDED = ("allreduce", "bcast", "reduce", "barrier", "allgather", "alltoall", "gather", "scatter",
           "reduce_scatter_block")  # fmt: skip


def hosts_of(nodes: int, ppn: int) -> list[int]:
    return [r // ppn for r in range(nodes * ppn)]


def test_parameters_match_the_fields_of_platforms() -> None:
    level, whole = parameters("level"), parameters("platform")
    assert list(level) == [f.name for f in fields(Link)]
    assert list(whole) == plain()
    preset = Platform()
    for source, rows in ((preset.levels["rail"], level), (preset, whole)):
        for name, p in rows.items():
            assert p.low <= getattr(source, name) == p.default <= p.high, name
            assert p.help and p.unit in UNITS


def test_the_parts_add_up_and_the_same_input_gives_the_same_bytes() -> None:
    noisy = replace(CLUSTER, latency_sigma=0.2, detour_rate=1e3, detour=1e-5)
    for choice in choices("allreduce", 16, 4):
        one = price("allreduce", choice, hosts_of(4, 4), 4096, noisy, calls=5)
        assert tuple(one.parts) == PARTS
        assert sum(one.parts.values()) == pytest.approx(one.last, rel=1e-9)
        assert one == price("allreduce", choice, hosts_of(4, 4), 4096, noisy, calls=5)


LAYOUTS = [(1, 4), (2, 1), (2, 4), (3, 2), (5, 1), (8, 3), (17, 1), (6, 8)]
PLATFORMS = {
    "cluster": CLUSTER,
    "rails by core": replace(CLUSTER, rails=2),
    "rails by local rank": replace(CLUSTER, rails=3, rail_use=1),
    "rails spread": replace(CLUSTER, rails=3, spread=1),
    "striped": replace(CLUSTER, rails=2, rail_use=2, stripe_bytes=16384),
    "oversubscribed": replace(CLUSTER, group_nodes=2, oversubscription=4, uplinks=2),
    "plain": Platform(nic_gap_byte=1e-9),
    "overhead": replace(
        CLUSTER, levels={n: replace(FAR, send_overhead=4e-6, recv_overhead=3e-6) for n in LEVELS}
    ),
    "long reach": replace(CLUSTER, levels={n: replace(FAR, latency=1e-3) for n in LEVELS}),
    "free flags": replace(CLUSTER, flag=0.0, flag_far=0.0),
}


@pytest.mark.parametrize("name", PLATFORMS)
def test_no_algorithm_beats_the_bound(name: str) -> None:
    platform = PLATFORMS[name]
    seen = 0
    for collective in (c for c in collectives() if c in BOUNDED):
        for nodes, ppn in LAYOUTS:
            hosts = hosts_of(nodes, ppn)
            for nbytes in (0,) if collective == "barrier" else (8, 4096, 262144):
                least = bound(collective, hosts, nbytes, platform)
                assert least is not None
                for choice in choices(collective, len(hosts), nodes):
                    found = price(collective, choice, hosts, nbytes, platform)
                    assert found.last >= least[0] * (1 - 1e-9), (
                        f"{collective} {choice} {nodes}x{ppn} {nbytes} B: {found.last} is less "
                        f"than {least}"
                    )
                    seen += 1
    assert seen > 1000


def test_the_bound_is_reached_where_it_can_be() -> None:
    least = bound("bcast", [0, 1], 8, CLUSTER)
    found = price("bcast", "knomial", [0, 1], 8, CLUSTER)
    assert least is not None
    assert found.last / least[0] < 1.001
    assert bound("alltoallv", [0, 1], 8, CLUSTER) is None


def _more(platform: Platform, name: str, factor: float, level: str | None) -> Platform:
    """Return the platform with a cost raised; a bandwidth's inverse, a latency, ..."""
    if level is not None:
        link = platform.levels[level]
        raised = getattr(link, name) * factor + (factor - 1) * 1e-9 * (name[-4:] != "byte")
        return replace(platform, levels={**platform.levels, level: replace(link, **{name: raised})})
    raised = getattr(platform, name) * factor + (factor - 1) * 1e-9 * (name[-4:] != "byte")
    return replace(platform, **{name: raised})


COSTS = [
    (f.name, level)
    for f in fields(Link)
    if f.name != "eager_bytes"  # eager is not always quicker: copies against a round trip
    for level in LEVELS
] + [
    (name, None)
    for name in (
        "nic_gap_message", "nic_recv_gap_message", "nic_gap_byte", "group_latency",
        "oversubscription", "reorder", "copy", "copy_byte", "reduce", "reduce_byte", "memory_byte",
        "flag", "flag_far", "flag_next", "line_byte",
    )
]  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    cost=st.sampled_from(COSTS),
    collective=st.sampled_from(("allreduce", "bcast", "reduce", "barrier", "allgather")),
    layout=st.sampled_from([(4, 1), (7, 1), (16, 1), (4, 4), (8, 2)]),
    nbytes=st.sampled_from((8, 1024, 65536)),
    factor=st.floats(1.0, 8.0),
    data=st.data(),
)
def test_nothing_becomes_cheaper_when_a_cost_rises(
    cost: tuple[str, str | None],
    collective: str,
    layout: tuple[int, int],
    nbytes: int,
    factor: float,
    data: st.DataObject,
) -> None:
    nodes, ppn = layout
    name, level = cost
    base = replace(CLUSTER, memory_byte=5e-11, cache_bytes=2048)
    shared = ppn > 1 or data.draw(st.booleans())
    if shared:
        base = replace(base, group_nodes=2, oversubscription=2)
    if collective == "barrier":
        nbytes = 0
    choice = data.draw(st.sampled_from(choices(collective, nodes * ppn, nodes)))
    hosts = hosts_of(nodes, ppn)
    before = price(collective, choice, hosts, nbytes, base)
    after = price(collective, choice, hosts, nbytes, _more(base, name, factor, level))
    slack = 0.1 * before.last if shared else 0.0
    assert after.last >= before.last - slack - 1e-15, f"{name} {level} {choice}"


def test_bad_input_is_refused_in_words() -> None:
    hosts = hosts_of(2, 2)
    with pytest.raises(StrettoError, match=r"rail\.latency is -1"):
        levels = {**CLUSTER.levels, "rail": replace(FAR, latency=-1)}
        price("bcast", "knomial", hosts, 8, replace(CLUSTER, levels=levels))
    with pytest.raises(StrettoError, match=r"rails is 1\.5; it must be a whole number"):
        price("bcast", "knomial", hosts, 8, replace(CLUSTER, rails=1.5))
    with pytest.raises(StrettoError, match="no plan"):
        price("bcast", "native", hosts, 8, CLUSTER)
    with pytest.raises(ValueError, match="skew"):
        price("bcast", "knomial", hosts, 8, CLUSTER, skew=[0.0])


def test_skew_and_trace() -> None:
    hosts = hosts_of(2, 2)
    late = price("bcast", "knomial", hosts, 8, CLUSTER, skew=[0, 0, 1e-3, 0], trace=True)
    on_time = price("bcast", "knomial", hosts, 8, CLUSTER, trace=True)
    assert late.last > on_time.last
    assert late.enter == [0, 0, 1e-3, 0]
    assert late.parts["skew"] == pytest.approx(1e-3)
    kinds = {s.kind for s in on_time.spans}
    assert {"send", "recv", "wait", "message"} <= kinds
    assert all(s.end >= s.begin >= 0 for s in on_time.spans)
    assert len([s for s in on_time.spans if s.kind == "message"]) == sum(on_time.messages.values())
    assert not price("bcast", "knomial", hosts, 8, CLUSTER).spans


def test_thousands_of_ranks_are_quick() -> None:
    hosts = hosts_of(128, 64)
    for choice in ("shm+bruck_k(8)", "shm+recursive_doubling"):
        found = price("allreduce", choice, hosts, 8, CLUSTER)
        assert found.events < 8 * len(hosts)
        assert found.nranks == 8192
        assert found.bound is not None and found.last > found.bound

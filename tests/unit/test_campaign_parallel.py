"""Layouts measured side by side: a node belongs to one lane at a time, the table is the same."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from stretto.campaign.conclude import conclude
from stretto.campaign.layout import Layout
from stretto.campaign.parallel import cut, levels, side_by_side
from stretto.campaign.request import Request
from stretto.campaign.worker import Worker
from stretto.errors import StrettoError
from stretto.files.bench_writer import BenchWriter
from stretto.measure.settings import Settings
from sweeps import Fake, request_of, table, worker_of, written

NODES = ("a", "b", "c", "d", "e")
LAYOUTS = (Layout(1, 2), Layout(2, 1), Layout(2, 2), Layout(4, 1))


def small(out: Path, **more: object) -> Request:
    values = {"collectives": ("allreduce",), "layouts": LAYOUTS, "sizes": (8, 36000)}
    return request_of(out, **(values | more))


class Nodes:
    """Which node measures what, and what was searched at once; lanes may wait to `meet`."""

    def __init__(self, meet: threading.Barrier | None = None) -> None:
        self.meet = meet
        self.lock = threading.Lock()
        self.busy: dict[str, str] = {}
        self.pairs: set[frozenset[str]] = set()

    def enter(self, hosts: tuple[str, ...], layout: str) -> None:
        with self.lock:
            taken = set(hosts) & set(self.busy)
            assert not taken, f"{layout} on {hosts}, and {self.busy}"
            self.busy |= dict.fromkeys(hosts, layout)
            self.pairs.add(frozenset(self.busy.values()))

    def leave(self, hosts: tuple[str, ...]) -> None:
        with self.lock:
            for host in hosts:
                del self.busy[host]


class Lane(Fake):
    """Measures on some nodes."""

    def __init__(self, cluster: Nodes, hosts: tuple[str, ...], **more: object) -> None:
        super().__init__(**more)  # type: ignore[arg-type]
        self.cluster, self.hosts = cluster, hosts
        self.first = True

    def fits(self, layout: Layout) -> str | None:
        return None if layout.nodes <= len(self.hosts) else "too few nodes"

    def measure(
        self, settings: Settings, launch: int, writer: BenchWriter, stop_at: float | None = None
    ) -> bool:
        layout = Layout(settings.nranks // (settings.ppn or 1), settings.ppn or 1)
        used = self.hosts[: layout.nodes]
        self.cluster.enter(used, layout.name)
        try:
            if self.cluster.meet and self.first and len(self.hosts) == 2:
                self.first = False
                self.cluster.meet.wait(600)
            return super().measure(settings, launch, writer, stop_at)
        finally:
            self.cluster.leave(used)


def run(
    request: Request,
    cluster: Nodes,
    names: tuple[str, ...] = NODES,
    between: Callable[[], None] = lambda: None,
    whole: Worker | None = None,
    fails: Callable[[Layout, int], bool] = lambda layout, launch: False,
) -> tuple[bool, Worker, list[str]]:
    def lane(hosts: tuple[str, ...], only: tuple[Layout, ...]) -> Worker:
        return worker_of(request, Lane(cluster, hosts, between=between, fails=fails), only=only)

    said: list[str] = []
    whole = whole or worker_of(request, Fake())
    return side_by_side(whole, names, lane, said.append), whole, said


def test_nodes_are_cut_into_disjoint_parts() -> None:
    assert cut(NODES, 2) == [("a", "b"), ("c", "d")]
    assert cut(NODES, 5) == [NODES] and cut(NODES, 1) == [(n,) for n in NODES]
    assert cut(NODES, 6) == [NODES]  # whoever measures there says that it does not fit
    assert levels(LAYOUTS) == [
        (4, (Layout(4, 1),)),
        (2, (Layout(2, 1), Layout(2, 2))),
        (1, (Layout(1, 2),)),
    ]


@pytest.mark.long
@pytest.mark.parametrize("eliminate", [True, False])
def test_the_same_as_one_after_another(tmp_path: Path, eliminate: bool) -> None:
    alone = small(tmp_path / "alone", eliminate=eliminate)
    single = worker_of(alone, Fake())
    assert single.run()
    request = small(tmp_path / "together", eliminate=eliminate)
    cluster = Nodes(None if eliminate else threading.Barrier(2))
    complete, whole, said = run(request, cluster)
    assert complete and not cluster.busy
    assert (frozenset({"2x1", "2x2"}) in cluster.pairs) == (not eliminate)
    assert any("a, b | c, d" in line for line in said)
    counts = written(whole)
    assert set(counts.values()) == {1} and set(counts) == set(written(single))
    assert table(request, whole) == table(alone, single)


def test_layouts_that_fit_nowhere_and_launches_that_fail(tmp_path: Path) -> None:
    request, cluster = small(tmp_path), Nodes()
    complete, whole, _ = run(
        request,
        cluster,
        NODES[:3],
        fails=lambda layout, launch: (layout.name, launch) == ("2x1", 0),
    )
    assert complete
    assert whole.sites[Layout(4, 1)].closed == "too few nodes"
    assert whole.sites[Layout(2, 1)].given_up == {0}
    outcome = conclude(request, whole, lambda text: None, True)
    words = " ".join(outcome.left_out)
    assert "too few nodes" in words and "given up: 1 launch, failed: exit code 1" in words
    assert len(outcome.results) == 3


@pytest.mark.parametrize("error", [StrettoError("disk full"), KeyboardInterrupt()])
def test_an_error_in_a_lane_ends_all_and_nothing_is_lost(
    tmp_path: Path, error: BaseException
) -> None:
    request, cluster, calls = small(tmp_path), Nodes(), itertools.count(1)

    def between() -> None:
        if next(calls) == 60:  # of all lanes, each of which counts in a thread of its own
            raise error

    with pytest.raises(type(error)):
        run(request, cluster, between=between)
    assert not cluster.busy
    complete, whole, _ = run(request, cluster)
    assert complete
    alone = worker_of(small(tmp_path / "alone"), Fake())
    assert alone.run() and set(written(whole)) == set(written(alone))


def test_told_to_stop(tmp_path: Path) -> None:
    request, cluster, calls = small(tmp_path), Nodes(), itertools.count(1)
    whole = worker_of(request, Fake())

    def between() -> None:
        if next(calls) == 30:
            whole.stopping.set()

    complete, _, _ = run(request, cluster, between=between, whole=whole)
    assert not complete and not cluster.busy
    assert run(request, cluster)[0]

"""`stretto place` on four nodes: a hidden bad order; the cards count what goes between nodes."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import clusters
from clusters import testbed
from mpis import MPICH_YIELDS, MPIS, REPOSITORY, rarely
from profiles import torus
from stretto.check.facts import collect_facts
from stretto.check.job import Started, probe
from stretto.launch.command import parse_command
from stretto.launch.job import understand
from stretto.place.order import best_order, block, placement, round_robin
from stretto.place.output import launch, placed_words, write_order
from stretto.place.run import nodes_of_job
from stretto.place.site import site_of

pytestmark = [pytest.mark.root, pytest.mark.mpi]

#: ranks on each of four nodes, of a torus; bytes to each neighbour in all steps; the seed
PPN, WIDTH, BYTES, STEPS, SEED = 4, 4, 50_000, 20, 7
#: what the halo program sends between nodes at the least: blocks of 2 x 2 ranks
LEAST = 4 * 8 * BYTES * STEPS


nodes = clusters.nodes_of(4)


def halo(nodes: testbed.Cluster, name: str, steps: int = STEPS) -> list[str]:
    path = nodes.shared / f"halo-{name}"
    if not path.exists():
        MPIS[name].require().compile(REPOSITORY / "tests" / "programs" / "halo.c", path)
    return [str(path), *map(str, (WIDTH, WIDTH, BYTES, steps, SEED, "counters"))]


def hidden() -> np.ndarray:
    """Return which rank sits at each place: as the program shuffles them."""
    at, state = np.arange(WIDTH * WIDTH), SEED
    for i in range(len(at) - 1, 0, -1):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        other = (state >> 33) % (i + 1)
        at[[i, other]] = at[[other, i]]
    return at


def sent(nodes: testbed.Cluster, name: str, words: Sequence[str]) -> int:
    env = clusters.environment(nodes, name) | (MPICH_YIELDS if name == "mpich" else {})
    done = clusters.call(list(words), nodes.shared, env, 0, 600)
    assert "wrong: 0" in done.stdout, done.stdout
    shares = {int(n) for n in re.findall(r"beside (\d+)", done.stdout)}
    assert shares == {PPN}, "ranks of a node share memory"
    counted = [int(n) for n in re.findall(r"card sent (\d+)", done.stdout)]
    assert len(counted) == 4, done.stdout
    return sum(counted)


@pytest.mark.parametrize("name", rarely(["openmpi4", "mpich"], ["openmpi4"]))
def test_order_of_a_hidden_torus_halves_what_the_cards_send(
    name: str, nodes: testbed.Cluster, tmp_path: Path
) -> None:
    traffic, names = torus(WIDTH, WIDTH, hidden()), tuple(n.name for n in nodes.nodes)
    site = site_of(names, [PPN] * 4, True, collect_facts())
    best, _ = best_order(traffic, site, None)
    first = placement("block", block(site.sizes))
    folder = nodes.shared / f"order-{name}"
    apart = {p.name: int((p.node[traffic.source] != p.node[traffic.target]).sum()) * BYTES * STEPS
             for p in (first, best)}  # fmt: skip
    assert apart["best"] == LEAST
    kind = "openmpi" if name == "openmpi4" else "mpich"
    start = clusters.launcher(nodes, name, 4, PPN)[:1]
    for placed in (first, best):
        write_order(folder, site, placed)
        given = launch(kind, 4, folder, site, placed)
        found = sent(nodes, name, [*start, *given.words, "-n", "16", *halo(nodes, name)])
        # packets add headers and acknowledgements, never as much as one neighbour's bytes
        assert apart[placed.name] < found < 1.2 * apart[placed.name], (placed.name, found)


#: what is typed for each MPI so that it binds its ranks to cores
BINDS = {"openmpi4": "--bind-to", "openmpi5": "--bind-to", "mpich": "-bind-to"}


def masks_of(words: Sequence[str]) -> list[tuple[str, tuple[int, ...]]]:
    """Return node and hardware threads of each rank as a launcher starts it, without an order."""
    started = probe(understand(words))
    assert isinstance(started, Started), started
    return sorted((rank.node, rank.cpus) for rank in started.placed)


@pytest.mark.parametrize("name", BINDS)
def test_launch_of_an_order_keeps_how_the_command_binds(
    name: str, nodes: testbed.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes have one core of two by their affinity, which bound ranks leave: masks differ."""
    for variable, value in clusters.environment(nodes, name).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.chdir(nodes.shared)
    start = clusters.launcher(nodes, name, 4, 2)
    placed = placement("best", round_robin([2] * 4))
    kind = "mpich" if name == "mpich" else "openmpi"
    for more in ((), (BINDS[name], "core")):
        words = [*start, *more, "/bin/true"]
        native = masks_of(words)
        site = nodes_of_job(understand(words), [n.name for n in nodes.nodes], [2] * 4)
        assert site.bound == bool(more) and site.loose != site.bound
        folder = nodes.shared / f"binding-{name}-{len(more)}"
        write_order(folder, site, placed)
        given = launch(kind, 4 if name == "openmpi4" else 5, folder, site, placed)
        changed = placed_words(parse_command(words, os.environ, nodes.shared), given)
        assert masks_of(changed) == native, (given, more)


def test_cart_create_with_reorder_sends_no_more_than_the_optimum(nodes: testbed.Cluster) -> None:
    """The launch line, which puts ranks on nodes in turn, stays: the grid is made in the job."""
    program = nodes.shared / "cart_halo"
    MPIS["openmpi4"].require().compile(REPOSITORY / "tests" / "programs" / "cart_halo.c", program)
    words = clusters.launcher(nodes, "openmpi4", 4, PPN)
    words += ["--map-by", "node", str(program), "16x1", "4x4"]
    before = clusters.call(words, nodes.shared, clusters.environment(nodes, "openmpi4"))
    after = clusters.stretto(
        nodes, "openmpi4", "run", "--verbose", "--", *words, STRETTO_REORDER="1"
    )
    assert "of 16x1 on 16 ranks: edges between nodes 15 -> 3 of 15" in after.stderr, after.stderr
    assert "of 4x4 on 16 ranks: edges between nodes 12 -> 8 of 24" in after.stderr, after.stderr
    for done, edges in ((before, (15, 12)), (after, (3, 8))):
        found = re.findall(r"cards sent (\d+), wrong: 0", done.stdout)
        assert len(found) == 2, done.stdout
        for counted, crossing in zip(map(int, found), edges, strict=True):
            assert 2e6 * crossing < counted < 1.2 * 2e6 * crossing, (counted, crossing)


@pytest.mark.long
@pytest.mark.parametrize("name", MPIS)
def test_place_command_runs_both_ways_and_counts(name: str, nodes: testbed.Cluster) -> None:
    words = [*clusters.launcher(nodes, name, 4, PPN), *halo(nodes, name)]
    out = nodes.shared / f"place-{name}"
    argv = [sys.executable, "-m", "stretto", "place", "--pairs", "1", "-o", str(out), "--json"]
    env = clusters.environment(nodes, name) | (MPICH_YIELDS if name == "mpich" else {})
    done = clusters.call(
        [*argv, "--metric", r"halo seconds: (\S+)", "--", *words], nodes.shared, env, 0, 900
    )
    found = json.loads(done.stdout)
    assert found["gain"]
    by_name = {cost["order"]: cost for cost in found["orders"]}
    assert by_name["best"]["nodes"] == LEAST < 0.7 * by_name["given"]["nodes"]
    text = ". ".join(found["conclusion"])
    assert "too few for a test" in text and "(interface counters)" in text, text
    counted = re.search(
        r"Network cards sent ([\d.]+) MiB in a native run, in the best order ([\d.]+) MiB", text
    )
    assert counted and float(counted[2]) < 0.75 * float(counted[1]), text
    run = (out / "outputs").glob("*-tuned*")
    printed = next(p for p in run if "halo seconds" in p.read_text(errors="replace")).read_text()
    assert {int(n) for n in re.findall(r"beside (\d+)", printed)} == {PPN}

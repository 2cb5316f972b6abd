"""`stretto place`: nodes from hwloc, cores and cards of ranks, orders of ranks and their files."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from machines import facts, hwloc_xml, instance
from processes import executable
from profiles import profile, torus
from stretto import cli
from stretto.check.cluster import Placed
from stretto.check.facts import Facts
from stretto.check.job import _placed
from stretto.errors import StrettoError
from stretto.files.profile import Matrix, Node, write_profile
from stretto.launch.command import Command, parse_command
from stretto.launch.execute import Result
from stretto.model.platform_file import load
from stretto.place.hwloc import read_machine
from stretto.place.order import (
    RankTraffic,
    best_order,
    block,
    cost,
    find_order,
    placement,
    round_robin,
)
from stretto.place.output import (
    TITLES,
    applicable,
    core_list,
    launch,
    options,
    placed_words,
    write_order,
)
from stretto.place.partition import between
from stretto.place.run import read_sent
from stretto.place.show import binding_line
from stretto.place.site import JobNodes, bound_as_started, cores_of, seats, site_of


def made(tmp_path: Path, **how: int) -> Facts:
    path = tmp_path / "node.xml"
    path.write_text(hwloc_xml(cards={"mlx5_0": 0, "mlx5_1": 1}, **how))
    return read_machine(path)


# -- one node


@pytest.mark.parametrize("version", [2, 3])
def test_read_machine_gives_hwlocs_objects(version: int, tmp_path: Path) -> None:
    found = made(tmp_path, version=version)
    assert (found.cores, found.threads, found.sockets) == (8, 16, 2)
    assert found.siblings[1] == (1, 9) and found.packages[9] == 1
    assert found.numa[1] == (1, 3, 5, 7, 9, 11, 13, 15)
    assert found.l3 == ((0, 2, 8, 10), (1, 3, 9, 11), (4, 6, 12, 14), (5, 7, 13, 15))
    assert [(f.name, f.numa) for f in found.fabrics] == [("mlx5_0", 0), ("mlx5_1", 1)]
    # hwloc goes through socket after socket, the kernel round them
    assert [core.threads[0] for core in cores_of(found)] == [0, 2, 4, 6, 1, 3, 5, 7]


OLD = """<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc.dtd"><topology>
<object type="Machine" os_index="0" cpuset="0x3,0x00000001" allowed_cpuset="0x3,0x00000001">
<object type="NUMANode" os_index="0" cpuset="0x00000001" nodeset="0x1"><object type="Socket"
os_index="0"><object type="Cache" depth="3"><object type="Core" os_index="0"><object type="PU"
os_index="0"/></object></object></object></object><object type="NUMANode" os_index="1"
cpuset="0x3,0x0" nodeset="0x2"><object type="Socket" os_index="1"><object type="Cache" depth="3">
<object type="Core" os_index="0"><object type="PU" os_index="32"/></object><object type="Core"
os_index="1"><object type="PU" os_index="33"/></object></object></object><object type="Bridge">
<object type="PCIDev"><object type="OSDev" name="eth0" osdev_type="2"/></object></object></object>
</object></topology>"""


def test_read_machine_of_hwloc_1_gives_the_same(tmp_path: Path) -> None:
    path = tmp_path / "old.xml"
    path.write_text(OLD)
    found = read_machine(path)
    assert found.packages == {0: 0, 32: 1, 33: 1} and found.allowed == (0, 32, 33)
    assert found.numa == {0: (0,), 1: (32, 33)} and found.l3 == ((0,), (32, 33))
    assert [(i.name, i.numa) for i in found.interfaces] == [("eth0", 1)]
    assert seats(found, 1)[0].card == "eth0" and seats(found, 2)[0].far


def test_read_machine_without_cores_takes_each_thread_for_one(tmp_path: Path) -> None:
    path = tmp_path / "small.xml"
    units = "".join(f'<object type="PU" os_index="{i}"/>' for i in range(2))
    path.write_text(f'<topology><object type="Machine">{units}</object></topology>')
    assert read_machine(path).siblings == ((0,), (1,))


@pytest.mark.parametrize(
    "text", ["", "no xml", "<topology/>", "<topology><object type='Machine'/></topology>",
             "<!DOCTYPE x [<!ENTITY a 'b'>]><topology>&a;</topology>"],
)  # fmt: skip
def test_read_machine_of_another_file_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "node.xml"
    path.write_text(text)
    assert cli.main(["place", "--ranks-per-node", "1", "--machine", str(path)]) == 1


#: ranks, cores of each, core numbers of each rank, the cards
SEATS = [
    (1, 1, ["0"], ["mlx5_0"]),
    (2, 1, ["0", "4"], ["mlx5_0", "mlx5_1"]),
    (4, 1, ["0", "2", "4", "6"], ["mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1"]),
    (4, 2, ["0-1", "2-3", "4-5", "6-7"], ["mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1"]),
    (2, 3, ["0-2", "4-6"], ["mlx5_0", "mlx5_1"]),
    (8, 1, list("01234567"), ["mlx5_0"] * 4 + ["mlx5_1"] * 4),
]


@pytest.mark.parametrize(("ranks", "width", "cores", "cards"), SEATS)
def test_seats_are_spread_over_sockets_caches_and_cards(
    ranks: int, width: int, cores: list[str], cards: list[str], tmp_path: Path
) -> None:
    found = seats(made(tmp_path), ranks, width)
    assert [core_list(seat.cores) for seat in found] == cores
    assert [seat.card for seat in found] == cards and not any(seat.far for seat in found)


def test_seats_with_one_card_begin_on_its_socket(tmp_path: Path) -> None:
    one = replace(made(tmp_path), fabrics=made(tmp_path).fabrics[1:])
    assert [core_list(s.cores) for s in seats(one, 1)] == ["4"]
    assert [s.far for s in seats(one, 2)] == [True, False]


def test_seats_of_ec2_instances_use_every_card(tmp_path: Path) -> None:
    hpc7a = instance(tmp_path / "a", "hpc7a.96xlarge", 192, 2, 2)
    found = seats(hpc7a, 24)
    assert [s.card for s in found] == ["rdmap0"] * 12 + ["rdmap1"] * 12
    assert [s.cpus for s in found[:2]] == [(0,), (8,)] and found[12].cpus == (96,)
    caches = replace(hpc7a, l3=tuple(tuple(range(i, i + 8)) for i in range(0, 192, 8)))
    assert [s.cpus[0] for s in seats(caches, 8)] == [0, 24, 48, 72, 96, 120, 144, 168]
    c5n = instance(tmp_path / "b", "c5n.18xlarge", 36, 2, 1)
    assert [s.far for s in seats(c5n, 4)] == [False, False, True, True]


def test_seats_inside_a_part_of_the_node_keep_to_it(tmp_path: Path) -> None:
    part = facts(tmp_path, **{"proc/self/status": "Cpus_allowed_list:\t4-7\n"})
    assert [(s.cpus, core_list(s.cores)) for s in seats(part, 2)] == [((4,), "4"), ((6,), "6")]


#: what each launcher is given for four ranks of two cores, and for two of one core
OPTIONS = {
    "openmpi4": ("", "mpirun --map-by ppr:2:node --bind-to cpu-list:ordered --cpu-list 0,4"),
    "openmpi5": ("", "mpirun --map-by pe-list=0,4:ordered --bind-to core"),
    "mpich": ("mpiexec -ppn 4 -bind-to user:0+2,4+6,1+3,5+7", "mpiexec -ppn 2 -bind-to user:0,1"),
    "intel": ("mpiexec.hydra -ppn 4 -genv I_MPI_PIN_DOMAIN '[5,50,a,a0]'",
              "mpiexec.hydra -ppn 2 -genv I_MPI_PIN_PROCESSOR_LIST 0,1"),
    "slurm": ("srun --ntasks-per-node=4 --cpu-bind=mask_cpu:0x5,0x50,0xa,0xa0",
              "srun --ntasks-per-node=2 --cpu-bind=map_cpu:0,1"),
}  # fmt: skip


def test_options_number_cores_as_each_launcher_does(tmp_path: Path) -> None:
    node = made(tmp_path)
    for kind in TITLES:
        found = (options(kind, seats(node, 4, 2)), options(kind, seats(node, 2)))
        assert found == OPTIONS[kind], kind
    # Open MPI 4 sorts its list by the kernel's numbers: here that is another order
    assert options("openmpi4", seats(node, 4)) == ""


# -- orders of ranks


def typed_for(kind: str, typed: str, tmp_path: Path) -> Command:
    script = tmp_path / kind
    about = "mpirun (Open MPI) 4.1.4" if kind == "mpirun" else "HYDRA build details: Version: 4.2"
    executable(script, f"#!/bin/sh\necho '{about}'\n")
    return parse_command([str(script), *typed.split()], {"PATH": "/usr/bin:/bin"}, tmp_path)


def plain(names: str, size: int) -> JobNodes:
    return JobNodes(tuple(names), ((None,) * size,) * len(names))


@pytest.mark.parametrize(("width", "nodes", "pairs"), [(4, 4, 16), (8, 4, 32), (8, 16, 64)])
def test_best_order_of_a_hidden_torus_is_the_optimum(width: int, nodes: int, pairs: int) -> None:
    size = width * width
    at = np.random.default_rng(width).permutation(size)
    traffic = torus(width, width, at)
    site = plain("abcdefghijklmnop"[:nodes], size // nodes)
    found = find_order(traffic, site, None, load("hpc7a"))
    best, first = found.of("best"), found.of("block")
    assert best.nodes == 2 * pairs * 1e6 < first.nodes and found.gain
    assert np.bincount(found.best.node).tolist() == site.sizes
    assert best.card < first.card
    assert (best.priced_s or 1) < (first.priced_s or 0)


def test_best_order_of_a_good_order_has_nothing_to_gain() -> None:
    x, y = np.arange(16) % 4, np.arange(16) // 4
    blocks = 2 * (y // 2) + x // 2
    traffic = torus(4, 4, np.argsort(np.argsort(blocks, kind="stable")))
    assert not find_order(traffic, plain("abcd", 4), block([4] * 4)).gain


def test_site_of_too_many_ranks_gives_all_the_whole_node(tmp_path: Path) -> None:
    site = site_of(["a"], [9], True, made(tmp_path))
    assert site.known and not site.bound
    assert {core_list(s.cores) for s in site.seats[0] if s} == {"0-7"}
    unknown = site_of(["a"], [9], True, None)
    assert not unknown.known and not unknown.loose
    assert not launch("openmpi", 4, tmp_path, unknown, placement("x", block([9]))).binds


def test_bound_as_started_takes_the_masks_of_the_ranks(tmp_path: Path) -> None:
    node, every = made(tmp_path), tuple(range(16))
    known = {"a": node, "b": node}
    sockets = [
        Placed(n, tuple(c for c in every if c % 2 == k), every) for n in "ab" for k in (0, 1)
    ]
    wide = bound_as_started(["a", "b"], [4, 4], sockets * 2, known)
    assert wide.bound and wide.overlapping
    assert [core_list(s.cores) for s in wide.seats[0] if s] == ["0-3", "0-3", "4-7", "4-7"]
    # two ranks to a socket cannot stand in a rank file of Open MPI 5
    placed, mpirun = placement("x", block([4, 4])), typed_for("mpirun", "-n 8 ./app", tmp_path)
    assert applicable(mpirun, 4, wide) is wide
    assert "--rankfile" in launch("openmpi", 4, tmp_path, wide, placed).words
    nodes = applicable(mpirun, 5, wide)
    assert nodes.sizes == [4, 4] and not nodes.known and not nodes.loose
    assert not launch("openmpi", 5, tmp_path, nodes, placed).binds
    assert "ranks share cores" in binding_line(nodes, True, None)
    one = bound_as_started(["a"], [4], sockets[:2] * 2, known)
    with pytest.raises(StrettoError, match="no other order of these ranks can be started"):
        applicable(mpirun, 5, one)
    threads = bound_as_started(["a"], [2], [Placed("a", (c,), every) for c in (8, 0)], known)
    assert [s.cpus for s in threads.seats[0] if s] == [(0,), (8,)]  # one core
    free = bound_as_started(["a"], [2], [Placed("a", (0,), (0,))] * 2, known)
    assert free.loose and not free.bound
    assert not bound_as_started(["a", "b"], [2, 2], sockets, {"a": node}).known


def test_bound_as_started_seats_ranks_in_their_order(tmp_path: Path) -> None:
    daemon = "a Cpus_allowed_list:\t{} of Cpus_allowed_list:\t0-15"
    lines = [(0, 0), (2, 2), (1, 1), (3, 3)]  # the kernel numbers cores from socket to socket
    output = "".join(
        f"rank-on {daemon.format(cpu)}, again {daemon.format(cpu)}\n"
        f"stretto-bench: rank {rank} of 4, node a, cpus {cpu}, "
        f"again rank {rank} of 4, node a, cpus {cpu}\n"
        for rank, cpu in reversed(lines)
    )
    output = output.replace("0-15,", "3,", 1)  # parts of the lines of two nodes
    placed = _placed(Result(0, 1.0, output))
    assert [p.rank for p in placed] == [3, 1, 2, 0]
    assert {p.inherited for p in placed} == {tuple(range(16))}
    mixed = Result(0, 1.0, output.replace("0-15,", "3,"))
    assert {p.inherited for p in _placed(mixed)} == {()}
    assert _placed(mixed, output) == placed  # another start tells
    swapped = [replace(p, rank=(0, 1, 3, 2)[p.rank]) for p in placed]
    node = {"a": made(tmp_path)}
    site = bound_as_started(["a"], [4], swapped, node)
    assert [s.cpus for s in site.seats[0] if s] == [(0,), (1,), (3,), (2,)]
    # ranks 0 and 3 share a socket, ranks 1 and 2 the other
    near = RankTraffic(4, np.array([0, 1]), np.array([3, 2]), np.ones(2), np.full(2, 8.0))
    assert not find_order(near, site, block([4])).gain
    assert find_order(near, site, block([4])).of("given").sockets == 0
    far = replace(near, target=np.array([1, 2]), source=np.array([0, 3]))
    found = find_order(far, site, block([4]))
    assert found.gain and (found.of("given").sockets, found.of("best").sockets) == (16, 0)


def test_binding_line_names_the_threads_option_that_binds(tmp_path: Path) -> None:
    node = made(tmp_path)
    two, many = site_of(["a"], [4], True, node, 2), site_of(["a"], [9], True, node, 1)
    assert binding_line(two, True, 2) == "binding: 2 cores for each rank (--threads 2)"
    assert "bindings of a node are redistributed" in binding_line(two, True, None)
    assert binding_line(many, False, 1).startswith("binding: none; a node has more ranks than")
    assert binding_line(many, False, None).endswith("bind them: --threads 1")


def test_place_profile_of_other_nodes_ends_at_the_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded_torus(tmp_path / "halo.profile.json", 4, 4, cores=4096)
    assert cli.main(["place", "--profile", str(path), "-o", str(tmp_path / "o")]) == 0
    both = capsys.readouterr()
    assert "the recorded nodes have 4096 processors" in both.err
    assert "Open MPI: mpirun --map-by seq" in both.out and "--bind-to none" not in both.out


def test_best_order_within_a_node_keeps_bytes_on_sockets_and_caches(tmp_path: Path) -> None:
    node = made(tmp_path)
    at = np.random.default_rng(3).permutation(8)
    pairs = RankTraffic(8, at[[0, 2, 4, 6]], at[[1, 3, 5, 7]], np.ones(4), np.full(4, 8.0))
    site = site_of(["here"], [8], True, node)
    placed, _ = best_order(pairs, site, None)
    found = cost(pairs, site, placed)
    assert (found.nodes, found.sockets, found.caches) == (0, 0, 0)
    assert sorted(placed.seat) == list(range(8))


def test_cost_of_cards_counts_the_ranks_nearest_to_each(tmp_path: Path) -> None:
    site = site_of(["a", "b"], [2, 2], True, made(tmp_path))
    one_way = RankTraffic(
        4, np.array([0, 1, 0]), np.array([2, 2, 1]), np.ones(3), np.array([5.0, 3, 9])
    )
    found = cost(one_way, site, placement("block", block([2, 2])))
    assert (found.nodes, found.card, found.sockets) == (8, 8, 9)  # both go to rank 2's card
    assert found.share == pytest.approx(8 / 17)


graphs = st.integers(2, 24).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(1, 99)),
                 min_size=1, max_size=60),
        st.lists(st.integers(1, 6), min_size=1, max_size=6),
    )
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(graphs)
def test_best_order_is_exact_in_size_and_never_worse(
    case: tuple[int, list[tuple[int, int, int]], list[int]],
) -> None:
    size, entries, shares = case
    ends = [round(size * sum(shares[:i]) / sum(shares)) for i in range(len(shares) + 1)]
    sizes = [b - a for a, b in pairwise(ends) if b > a]
    source, target, volume = (np.array(x) for x in zip(*entries, strict=True))
    traffic = RankTraffic(size, source, target, np.ones(len(volume)), volume.astype(float))
    site = JobNodes(tuple(map(str, range(len(sizes)))), tuple((None,) * s for s in sizes))
    placed, _ = best_order(traffic, site, None, tries=5)
    assert np.bincount(placed.node, minlength=len(sizes)).tolist() == sizes
    assert len(set(zip(placed.node.tolist(), placed.seat.tolist(), strict=True))) == size
    graph = traffic.graph
    least = min(between(graph, part) for part in (block(sizes), round_robin(sizes)))
    assert between(graph, placed.node) <= least


# -- files, and the command


def test_write_order_gives_each_launcher_its_words(tmp_path: Path) -> None:
    node = made(tmp_path)
    site = site_of(["a", "b"], [2, 2], True, node, 1)
    placed = placement("best", np.array([0, 1, 1, 0]))
    write_order(tmp_path / "o", site, placed)
    where = tmp_path / "o"
    assert (where / "hosts").read_text() == "a\nb\nb\na\n"
    assert (where / "nodes").read_text() == "a:2\nb:2\n"
    assert (where / "rankmap").read_text() == "0,1,1,0\n"
    assert (where / "rankfile").read_text().splitlines() == [
        "rank 0=a slot=0", "rank 1=b slot=0", "rank 2=b slot=4", "rank 3=a slot=4",
    ]  # fmt: skip
    words = " ".join(launch("mpich", 0, where, site, placed).words)
    assert words == f"-f {where}/nodes -rankmap 0,1,1,0 -bind-to user:0,1"
    unknown = JobNodes(("a", "b"), ((None, None),) * 2)
    given_ = launch("openmpi", 4, where, unknown, placed)
    assert given_.words == ("--map-by", "seq", "--hostfile", f"{where}/hosts") and not given_.binds
    loose = launch("openmpi", 5, where, replace(site, loose=True), placed)
    assert loose.words == (*given_.words, "--bind-to", "none")
    slurm = launch("slurm", 0, where, unknown, placed)
    assert slurm.words == ("--distribution=arbitrary",)
    assert slurm.variables == {"SLURM_HOSTFILE": str(where / "hosts")}


#: launcher, what is typed, what is left of it behind the launcher
REPLACED = [
    ("mpirun", "--map-by ppr:2:node --bind-to core -H a,b -n 4 -x A ./app -N 3",
     "-n 4 -x A ./app -N 3"),
    ("mpirun", "--use-hwthread-cpus --bind-to core -n 4 ./app", "-n 4 ./app"),
    ("mpiexec", "-f hosts -ppn 2 -n 4 -genv A b ./app", "-n 4 -genv A b ./app"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "typed", "left"), REPLACED)
def test_placed_words_replace_what_places_ranks(
    kind: str, typed: str, left: str, tmp_path: Path
) -> None:
    command = typed_for(kind, typed, tmp_path)
    site = JobNodes(("a", "b"), ((None, None),) * 2)
    given_ = launch(command.kind or "openmpi", 4, tmp_path, site, placement("x", block([2, 2])))
    found = placed_words(command, replace(given_, binds=True))
    assert shlex.join(found[1 + len(given_.words) :]) == left
    assert tuple(found[1 : 1 + len(given_.words)]) == given_.words
    kept = placed_words(command, given_)  # the cores are not known
    for option in ("--bind-to", "--use-hwthread-cpus"):
        assert (option in kept) == (option in typed)


def recorded_torus(path: Path, width: int, nodes: int, cores: int | None = None) -> Path:
    """Write a profile of a hidden torus on so many nodes."""
    size = width * width
    traffic = torus(width, width, np.random.default_rng(5).permutation(size))
    cells = zip(traffic.source, traffic.target, traffic.messages, traffic.bytes, strict=True)
    ones = [1.0] * size
    share = size // nodes
    found = profile(
        [], nranks=size, wall_s=ones, mpi_s=ones, io_s=ones, clock_error_s=ones, communicators=[],
        nodes=[Node(f"n{i}", [*range(i * share, (i + 1) * share)], None, cores)
               for i in range(nodes)],
        matrix=Matrix([(int(s), int(t), int(m), int(b)) for s, t, m, b in cells]),
    )  # fmt: skip
    write_profile(found, path)
    return path


def test_place_profile_prints_an_answer_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded_torus(tmp_path / "halo.profile.json", 4, 4)
    out = tmp_path / "order"
    assert cli.main(["place", "--profile", str(path), "-o", str(out), "-p", "hpc7a"]) == 0
    text = capsys.readouterr().out
    assert "of bytes between nodes -> 50 % (best of" in text.splitlines()[0], text
    assert "given order before); busiest card" in text.splitlines()[0], text
    assert f"Slurm: SLURM_HOSTFILE={out}/hosts srun --distribution=arbitrary" in text
    assert sorted(set((out / "hosts").read_text().split())) == ["n0", "n1", "n2", "n3"]
    drawn = (out / "matrix.html").read_text()
    assert drawn.count("<svg") == 2 and "50 % of the bytes go between nodes, instead of" in drawn
    assert cli.main(["place", "--profile", str(path), "--nodes", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["gain"] and sorted(found["node_of_rank"]) == ["node1"] * 8 + ["node2"] * 8
    (tmp_path / "m.xml").write_text(hwloc_xml())
    words = ["--profile", str(path), "--machine", str(tmp_path / "m.xml"), "--nodes", "2"]
    assert cli.main(["place", *words, "-o", str(out)]) == 0
    assert "--rankfile" in capsys.readouterr().out
    assert (out / "rankfile").read_text().startswith("rank 0=node1 slot=0\n")
    unchanged = tmp_path / "unchanged"
    words = ["place", "--profile", str(path), "--nodes", "1", "-o", str(unchanged)]
    assert cli.main(words) == 0
    text = capsys.readouterr().out
    assert text.startswith("nothing to gain: ranks 0..15 are on one node")
    assert f"nothing was written to {unchanged}: no order of the ranks is better" in text
    assert "busiest card" not in text, "a table of zeros"
    assert cli.main([*words, "--json"]) == 0
    assert f"nothing was written to {unchanged}" in capsys.readouterr().err
    assert not unchanged.exists()


#: arguments, exit code, part of the error
REFUSED = [
    ([], 2, "nothing to place was given"),
    (["--ranks-per-node", "9", "--machine", "XML"], 2, "has 8 usable ones"),
    (["--ppn", "2", "--machine", "XML", "-o", "x"], 2, "--hosts A,B,C"),
    (["--profile", "PROFILE", "--nodes", "3", "--hosts", "a"], 2, "1 host named for 3 nodes"),
    (["--profile", "PROFILE", "--nodes", "3", "--hosts", "n[1-2]"], 2, "2 hosts named for 3 nodes"),
    (["--ppn", "2", "--machine", "XML", "--nodes", "2"], 2, "one node is described"),
    (["--profile", "PROFILE", "--nodes", "2", "--ranks-per-node", "3"], 2, "do not fit"),
    (["--profile", "PROFILE", "--threads", "9", "--machine", "XML"], 2, "do not fit on"),
]


@pytest.mark.parametrize(("words", "code", "text"), REFUSED)
def test_place_refuses_with_a_sentence(
    words: list[str], code: int, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.xml").write_text(hwloc_xml())
    names = {"XML": str(tmp_path / "m.xml"),
             "PROFILE": str(recorded_torus(tmp_path / "a.profile.json", 4, 4))}  # fmt: skip
    assert cli.main(["place", *(names.get(w, w) for w in words)]) == code
    assert text in capsys.readouterr().err


def test_read_sent_takes_the_cards_of_each_node() -> None:
    net, rdma = "/sys/class/net", "/sys/class/infiniband"
    lines = [
        f"stretto-sent a {net}/eth0/statistics/tx_bytes 100",
        f"stretto-sent a {net}/lo/statistics/tx_bytes 999",
        f"stretto-sent a {net}/docker0/statistics/tx_bytes 999",
        f"stretto-sent b {rdma}/mlx5_0/ports/1/counters/port_xmit_data 25",
        f"stretto-sent b {rdma}/rdmap0/ports/1/hw_counters/tx_bytes 7",
        "a rank's own line",
    ]
    found = read_sent("\n".join(lines))
    assert found == {("a", "eth0"): 100, ("b", "mlx5_0"): 100, ("b", "rdmap0"): 7}


#: what is typed behind `place`, part of the error
NO_COMMAND = [
    (["--", "./app"], "shows no launcher"),
    (["--ppn", "2", "--", "mpirun", "./app"], "CMD is recorded again"),
    (["--", "mpirun.openmpi", "-n", "1", "sh", ":", "-n", "1", "sh"], "several programs"),
]


@pytest.mark.parametrize(("words", "text"), NO_COMMAND)
def test_place_of_a_command_that_shows_no_ranks_is_refused(
    words: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    executable(tmp_path / "app", "#!/bin/sh\n")
    assert cli.main(["place", "--mpi", "/usr/bin/mpirun.openmpi", *words]) != 0
    assert text in capsys.readouterr().err
    assert not [p for p in tmp_path.iterdir() if p.name.startswith("place-")]

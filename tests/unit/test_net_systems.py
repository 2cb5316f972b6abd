"""Two network results compared: the answer, the figures, and what could not be compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from net_samples import MPI, SPREAD, TCP, Key, messages, node, result, scaled, system, tcp
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.files.net import NetImport, Ranks, write_net
from stretto.mpi.surroundings import set_for
from stretto.net.compared import compared, lines
from stretto.net.systems import systems

Out = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("other", "answer"),
    [
        (scaled(latency=0.5), "new against old: 8 B latency 2.00 times lower (1.98 to 2.02), "
         "bandwidth from 8 B equal, bandwidth, 8 pairs, from 2 KiB equal, message rate at 2 KiB "
         "equal."),
        (scaled(latency=2, bandwidth=0.5), "new against old: 8 B latency 2.00 times higher "
         "(1.98 to 2.02), bandwidth at 1 MiB 2.00 times lower (1.98 to 2.02), bandwidth, 8 pairs, "
         "at 1 MiB 2.00 times lower (1.98 to 2.02), message rate at 2 KiB 2.00 times lower "
         "(1.98 to 2.02)."),
        ({("latency", 8, 1, 1): 20.0}, "new against old: 8 B latency equal."),
        ({("sends", 8, 1, 64): 5.0}, "new against old: 8 B blocking send 10.0 times higher "
         "(9.90 to 10.1)."),
    ],
)  # fmt: skip
def test_compared_systems_begin_with_an_answer(other: dict[Key, float], answer: str) -> None:
    found = compared(system("old", result(messages(TCP))), system("new", result(messages(other))))
    assert found.answer == answer
    assert lines(found)[0] == answer


def test_compared_systems_with_few_launches_have_no_ratio() -> None:
    few = result(messages(scaled(latency=0.5), 5))
    found = compared(system("old", result(messages(TCP))), system("new", few))
    assert {row.words for row in found.rows} == {"not tested"}
    assert found.answer.startswith(
        "new against old: 8 B latency 10.0 us (against 20.0, not tested)"
    )
    assert (
        "not tested: 8 figures; some have only 5 launches in a system, but 6 are needed"
        in found.notes
    )


def test_message_rates_are_of_the_smallest_size_in_messages_per_second() -> None:
    sizes: dict[Key, float] = {("bandwidth", n, 8, 64): mb for n, mb in ((1, 9.5), (4096, 9403))}
    twice = {key: 2 * value for key, value in sizes.items()}
    few = [result(messages(values, 5)) for values in (sizes, twice)]
    answer = compared(system("old", few[0]), system("new", few[1])).answer
    assert (
        "message rate at 1 B 19.0 million messages/s (against 9.50 million, not tested)" in answer
    )
    many = [result(messages(values)) for values in (sizes, twice)]
    answer = compared(system("old", many[0]), system("new", many[1])).answer
    assert answer.endswith("message rate at 1 B 2.00 times higher (1.98 to 2.02).")


def test_compared_systems_of_several_files_count_their_launches() -> None:
    """A directory is a system: its files are launches."""
    parts = [result(messages(scaled(latency=0.5 * s / SPREAD[0]), 1)) for s in SPREAD]
    found = compared(system("old", result(messages(TCP))), system("new", *parts))
    assert found.rows[0].values[1].n == 7 and "2.00 times lower" in found.rows[0].words


def test_compared_systems_name_what_only_one_has() -> None:
    old = result(messages({**TCP, ("pingping", 8, 1, 1): 9.0, ("latency", 16, 1, 1): 21.0}))
    new = replace(result(messages(TCP), ("x",)), imported=NetImport(["OSU 7.4"], [], [], []))
    notes = compared(system("old", old), system("new", new)).notes
    assert notes == (
        "only old has: pingping",
        "only old has: latency of 16 B",
        "old was measured between nodes, new within a node",
        "the systems were measured by different software: old by stretto; new by OSU 7.4",
    )


def test_compared_systems_with_other_settings_name_them(tmp_path: Path) -> None:
    same = {"OMPI_MCA_btl": "tcp,self", "UCX_TLS": "tcp"}
    plain = replace(result(messages(TCP)), environment=same)
    links = replace(plain, environment={**same, "OMPI_MCA_btl_tcp_links": "4"})
    found = compared(system("old", plain), system("new", links))
    assert found.notes == ("the settings differ: old has none; new has btl_tcp_links=4",)
    assert lines(found)[2].endswith("btl=tcp,self,UCX_TLS=tcp,btl_tcp_links=4")
    for i, one in enumerate((plain, links)):
        write_net(one, tmp_path / f"{i}.net.json")
    with pytest.raises(StrettoError, match="several MPIs, placements, settings or sources"):
        systems([tmp_path])


def test_compared_streams_of_other_pairs_and_tools_are_named() -> None:
    old, new = tcp(("a", "b"), 10e9), tcp(("c", "d"), 20e9)
    found = compared(system("old", old), system("new", new))
    assert found.answer == (
        "new against old: TCP latency equal, TCP, 4 streams x 1 thread (own) 2.00 times higher "
        "(1.98 to 2.02)."
    )
    assert "the systems have other pairs of hosts: medians over the pairs of each" in found.notes[0]
    other = compared(system("old", old), system("new", tcp(("a", "b"), 20e9, "iperf3")))
    assert "only new has: TCP, 4 streams x 1 thread (iperf3)" in other.notes


def test_compared_nodes_have_flags_and_copies_by_class() -> None:
    found = compared(system("old", node()), system("new", node(2.0)))
    assert found.answer == (
        "new against old: flag between cores of one cache 2.00 times higher (1.98 to 2.02)."
    )
    rows = {(r.figure.what, r.figure.bytes): r.words for r in found.rows}
    for both in ("", ", both ways"):
        words = rows[f"copy between cores of the node (shared){both}", 8192]
        assert words.startswith("2.00 times lower")
    twice = compared(system("old", node()), system("new", node(), node()))
    assert twice.rows[0].values[1].n == 2 * len(SPREAD)


def test_compared_messages_with_a_progress_thread_are_apart() -> None:
    ranks = Ranks(MPI, ["a", "b"], messages({("latency", 8, 1, 1): 2.0}), "X=1",
                  messages({("latency", 8, 1, 1): 3.0}))  # fmt: skip
    one = replace(result(None), ranks=ranks)
    found = compared(system("old", one), system("new", one))
    assert [r.figure.what for r in found.rows] == ["latency", "latency, progress thread"]


def test_compare_command_reads_files_and_directories(tmp_path: Path, capsys: Out) -> None:
    write_net(result(messages(TCP)), tmp_path / "old.net.json")
    (tmp_path / "new").mkdir()
    for i, spread in enumerate(SPREAD):
        part = result(messages(scaled(latency=0.5 * spread / SPREAD[0]), 1))
        write_net(part, tmp_path / "new" / f"{i}.net.json")
    two = [str(tmp_path / "old.net.json"), str(tmp_path / "new")]
    assert main(["compare", *two]) == 0
    assert capsys.readouterr().out.startswith("new against old: 8 B latency 2.00 times lower")
    assert main(["compare", *two, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"][0]["words"].startswith("2.00 times lower")
    assert [s.name for s in systems([Path(p) for p in two])] == ["old", "new"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("A",), "network results of 1 systems"),
        (("A", "A", "A"), "give two"),
        (("A", "A", "-c", "bcast"), "leave out --collective"),
        (("A", "x.bench.jsonl"), "network results and others cannot be compared"),
        (
            ("A", "B"),
            "the systems have no measurement in common: A has latency; B has TCP latency, TCP, "
            "4 streams",
        ),
    ],
)
def test_compare_command_refuses_what_is_not_two_systems(
    tmp_path: Path, capsys: Out, words: tuple[str, ...], expected: str
) -> None:
    write_net(result(messages({("latency", 8, 1, 1): 2.0})), tmp_path / "A.net.json")
    write_net(tcp(("a", "b"), 1e9), tmp_path / "B.net.json")
    named = [str(tmp_path / f"{w}.net.json") if len(w) == 1 else w for w in words]
    assert main(["compare", *named]) != 0
    assert expected in " ".join(capsys.readouterr().err.split())


def test_settings_of_a_result_leave_out_how_the_launcher_reaches_nodes() -> None:
    kept = {"OMPI_MCA_btl_tcp_links": "8", "OMPI_MCA_hwloc_base_binding_policy": "none"}
    other = {"OMPI_MCA_plm_rsh_agent": "/x/agent", "OMPI_MCA_oob_tcp_if_include": "eth0"}
    assert set_for("openmpi", {**kept, **other, "PRTE_MCA_plm_ssh_agent": "x"}) == kept

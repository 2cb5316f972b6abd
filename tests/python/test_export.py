"""Native tuning files: from results to rules, in each MPI's grammar, and read back through it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from mpis import MPIS
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.export import intel, openmpi, openmpi_json
from stretto.export.output import write
from stretto.export.rules import Layout, Rule, for_layouts, read_results
from stretto.export.targets import writer_for
from stretto.files.bench import Header, Launch, LaunchEnd, Sample
from stretto.files.bench_writer import BenchWriter
from stretto.files.identity import Host, MPIIdentity, Source

RADIX = "coll_tuned_bcast_algorithm_knomial_radix"
FIVE = Layout(5, 1, 5)
RING = (("coll_tuned_allreduce_algorithm", "4"), ("coll_tuned_use_dynamic_rules", "1"))


def _results(
    path: Path,
    times: Mapping[tuple[str, int], Mapping[str, float]],
    layout: Layout = FIVE,
    mpi: MPIIdentity | None = None,
    cpu: str = "one",
    source: Source = "measured",
) -> Path:
    """Write results of eight launches; times in us by collective and size, then by candidate."""
    identity = mpi or MPIIdentity("openmpi", "openmpi", "5.0.11", "Open MPI v5.0.11")
    head = Header("0", "2026-11-22T00:00:00Z", Host("h", cpu, 8, "6", 1 << 30), identity, [])
    candidates_of: dict[str, list[str]] = {}
    for (collective, _), names in times.items():
        candidates_of.setdefault(collective, list(names))
    with BenchWriter(path, head) as writer:
        for launch in range(8):
            writer.write(
                Launch(launch, layout.nodes, layout.ppn, layout.nranks, candidates_of, None, "bare")
            )
            for (collective, size), candidates in times.items():
                for name, us in candidates.items():
                    values = [us * (1 + 0.001 * ((launch * 7 + i) % 5)) for i in range(9)]
                    writer.write(
                        Sample(
                            launch, collective, name, size, "MPI_BYTE", None, 0, "throughput", 10,
                            values, True, source,
                        )
                    )  # fmt: skip
            writer.write(LaunchEnd(launch, "ok"))
    return path


def _read_classic(text: str) -> dict[int, dict[int, list[tuple[int, ...]]]]:
    """Read a rules file as the MPI does: numbers only, comments left out; nothing may be left."""
    words = [w for line in text.splitlines() for w in line.split("#")[0].split()]
    assert all(w == str(int(w)) for w in words), "no leading zeros"
    at = iter(map(int, words))
    out: dict[int, dict[int, list[tuple[int, ...]]]] = {}
    for _ in range(next(at)):
        sizes = out.setdefault(next(at), {})
        for _ in range(next(at)):
            ranks = next(at)
            sizes[ranks] = [tuple(next(at) for _ in range(4)) for _ in range(next(at))]
    assert next(at, None) is None
    return out


def _choice(table: dict[int, list[tuple[int, ...]]], ranks: int, size: int) -> int:
    """Return the algorithm that coll/tuned takes: both bounds are lower ones."""
    rows = table[max((r for r in table if r <= ranks), default=min(table))]
    return max(row for row in rows if row[0] <= size)[1]


def test_rules_are_what_is_significantly_faster(tmp_path: Path) -> None:
    ring = "native:coll_tuned_allreduce_algorithm=4,coll_tuned_use_dynamic_rules=1"
    path = _results(
        tmp_path / "a.bench.jsonl",
        {
            ("allreduce", 8): {"bare": 1.0, ring: 3.0},
            ("allreduce", 1024): {"bare": 4.0, ring: 4.01},
            ("allreduce", 65536): {"bare": 50.0, ring: 30.0},
            ("allreduce", 262144): {"bare": 200.0, ring: 120.0},
        },
    )
    measured = read_results([path]).rules()
    assert [(r.low, r.high, r.settings) for r in measured.rules] == [
        (0, 65535, ()),
        (65536, 262144, RING),
        (262145, None, ()),
    ]
    assert 0.55 < measured.rules[1].ratio < 0.65


def test_what_the_files_cannot_say_makes_room_for_the_next_best(tmp_path: Path) -> None:
    """HAN has no rows in Open MPI 4's files: coll/tuned's best, and a sentence on what was lost."""
    ring = "native:coll_tuned_allreduce_algorithm=4,coll_tuned_use_dynamic_rules=1"
    han_ = "native:coll_han_priority=100"
    path = _results(
        tmp_path / "a.bench.jsonl",
        {
            ("allreduce", 1024): {"bare": 50.0, ring: 30.0, han_: 20.0},
            ("bcast", 1024): {"bare": 50.0, han_: 20.0},
        },
    )
    results = read_results([path])
    assert {r.settings for r in results.rules().rules} >= {(("coll_han_priority", "100"),)}
    found = results.rules(lambda rule: openmpi.sayable(rule, "4"))
    assert {(r.collective, r.settings) for r in found.rules if not r.default} == {
        ("allreduce", RING)
    }
    first, second = found.lost
    assert first.startswith("allreduce of 1024 bytes on 5 ranks") and "next best" in first
    assert "coll_han_priority is not for these files" in second and "nothing else" in second
    five = Rule("allreduce", Layout(8, 4, 2), 0, None, (("coll_han_priority", "100"),))
    assert openmpi.sayable(five, "5") and openmpi.sayable(five, "6")
    assert not openmpi.sayable(Rule("reduce_local", FIVE, 0, None, ()), "5")


def test_rules_stay_in_their_place() -> None:
    """No rule reaches smaller or larger communicators, or sizes, than were measured."""
    rules = [
        Rule("allreduce", FIVE, 0, 999, ()),
        Rule("allreduce", FIVE, 1000, 9999, RING),
        Rule("allreduce", FIVE, 10000, None, ()),
        Rule("allreduce", Layout(6, 1, 6), 0, None, RING),
        Rule("allreduce", Layout(9, 3, 3), 0, None, RING),
        Rule("bcast", FIVE, 0, None, ()),
    ]
    tables = _read_classic(openmpi.classic(rules, "4").files[openmpi.RULES_FILE])
    assert set(tables) == {openmpi.IDS["allreduce"]}, "what has no rule is not named"
    table = tables[openmpi.IDS["allreduce"]]
    for ranks in range(2, 20):
        for size in (0, 999, 1000, 9999, 10000, 1 << 30):
            inside = (ranks == 5 and 1000 <= size < 10000) or ranks in (6, 9)
            assert _choice(table, ranks, size) == (4 if inside else 0), (ranks, size)
    assert all(rows[0][0] == 0 and rows == sorted(rows) for rows in table.values())


@pytest.mark.parametrize(
    ("collective", "factor"),
    [("allgather", 5), ("alltoall", 5), ("reduce_scatter_block", 5), ("bcast", 1), ("reduce", 1),
     ("reduce_scatter", 5), ("allgatherv", 1)],
)  # fmt: skip
def test_open_mpi_counts_in_its_own_way(collective: str, factor: int) -> None:
    setting = ((f"coll_tuned_{collective}_algorithm", "2"),)
    rules = [Rule(collective, FIVE, 0, 99, ()), Rule(collective, FIVE, 100, None, setting)]
    text = openmpi.classic(rules, "4").files[openmpi.RULES_FILE]
    (table,) = _read_classic(text).values()
    assert [row[:2] for row in table[5]] == [(0, 0), (100 * factor, 2)]


def test_what_open_mpi_cannot_say_is_said() -> None:
    rules = [
        Rule("scan", FIVE, 0, 99, ()),
        Rule("scan", FIVE, 100, None, (("coll_tuned_scan_algorithm", "2"),)),
        Rule("bcast", FIVE, 0, None, (("coll_tuned_bcast_algorithm", "7"),
                                      ("coll_tuned_bcast_algorithm_knomial_radix", "8"))),
        Rule("reduce", FIVE, 0, None, (("coll_han_use_reduce_algorithm", "2"),)),
    ]  # fmt: skip
    lost = " ".join(openmpi.classic(rules, "5").lost)
    assert "rows have no place for coll_tuned_bcast_algorithm_knomial_radix" in lost
    assert "coll_han_use_reduce_algorithm is not for rules of coll/tuned" in lost
    kept, left_out = for_layouts(
        [
            Rule("bcast", Layout(8, 2, 4), 0, None, RING),
            Rule("bcast", Layout(8, 1, 8), 0, None, ()),
        ],
        nodes=2,
        ppn=None,
    )
    assert [r.layout.nodes for r in kept] == [2]
    assert "8 ranks on 1 x 8" in left_out[0]


def test_json_of_open_mpi_6() -> None:
    rules = [
        Rule("allreduce", FIVE, 0, 999, ()),
        Rule("allreduce", FIVE, 1000, 9999, RING),
        Rule("allreduce", FIVE, 10000, None, ()),
    ]
    export = openmpi_json.json_rules(rules)
    document = json.loads(export.files[openmpi_json.JSON_FILE])
    (entry,) = document["collectives"]["allreduce"]
    assert (entry["comm_size_min"], entry["comm_size_max"]) == (5, 5)
    assert entry["comm_rank_distribution"] == "single-node"
    assert [(r["msg_size_min"], r["msg_size_max"], r["alg"]) for r in entry["rules"]] == [
        (1000, 9999, 4)
    ]
    assert any("no Open MPI 6 is released" in sentence for sentence in export.lost)


def _preset(n: int) -> tuple[tuple[str, str], ...]:
    return (("I_MPI_ADJUST_ALLREDUCE", str(n)),)


def test_intel_for_the_layout_asked_for() -> None:
    """Elsewhere no preset is as good as the MPI's decision: no reason to do without here."""
    one, two = Layout(4, 4, 1), Layout(8, 4, 2)
    rules = [
        Rule("allreduce", two, 0, 999, (), instead=_preset(3)),
        Rule("allreduce", two, 1000, None, _preset(2)),
        Rule("allreduce", one, 0, 999, ()),
        Rule("allreduce", one, 1000, None, _preset(2)),
    ]
    all_of_them = intel.adjust(rules)
    assert not all_of_them.environment and "is left out" in " ".join(all_of_them.lost)
    asked = intel.adjust(rules, (4, 2))
    assert asked.environment == {"I_MPI_ADJUST_ALLREDUCE": f"3:0-999;2:1000-{intel.MOST}"}
    assert {r.layout for r in asked.rows} == {two}
    assert asked.lost[0].startswith("4 ranks on 4 x 1: a variable of Intel MPI holds there, too")
    assert intel.adjust(rules, (None, 2)).environment == asked.environment
    assert not intel.adjust(rules, (4, None)).environment, "both are on four nodes"
    assert not intel.adjust(rules, (9, None)).environment, (
        "nobody measured there: all that is known"
    )


def test_intel_presets_never_hold_where_they_were_slower(tmp_path: Path) -> None:
    """What is left to the MPI behind the last preset's sizes counts as well as what is before."""
    mpi = MPIIdentity("intel", "mpich", "2021.18", "Intel MPI 2021.18")
    two, three = (f"native:I_MPI_ADJUST_ALLREDUCE={n}" for n in (2, 3))
    fast, slow = {"bare": 10.0, two: 5.0, three: 20.0}, {"bare": 10.0, two: 30.0, three: 20.0}
    times = {("allreduce", n): fast if n < 128 else slow for n in (8, 32, 128, 65536)}
    path = _results(tmp_path / "x.bench.jsonl", times, mpi=mpi)
    export = intel.adjust(read_results([path]).rules().rules)
    assert not export.environment and "allreduce is left out" in " ".join(export.lost), export
    as_good = {**slow, three: 10.0}
    times = {("allreduce", n): fast if n < 128 else as_good for n in (8, 32, 128, 65536)}
    path = _results(tmp_path / "y.bench.jsonl", times, mpi=mpi)
    clauses = intel.adjust(read_results([path]).rules().rules).environment["I_MPI_ADJUST_ALLREDUCE"]
    assert clauses.startswith("2:0-") and clauses.endswith(f"-{intel.MOST}")
    assert clauses.split(";")[1].startswith("3:"), clauses


@pytest.mark.parametrize("target", ["openmpi-4", "openmpi-5", "openmpi-6"])
def test_an_algorithm_with_a_radix_is_no_other_one(target: str, tmp_path: Path) -> None:
    """Rows have no place for it: without, the algorithm is another one, and here a slow one."""
    base = "native:coll_tuned_use_dynamic_rules=1,coll_tuned_bcast_algorithm"
    plain, radix, next_best = f"{base}=7", f"{base}=7,{RADIX}=16", f"{base}=6"
    times = {"bare": 10.0, plain: 20.0, radix: 5.0, next_best: 8.0}
    path = _results(tmp_path / "r.bench.jsonl", {("bcast", 8): times, ("bcast", 1024): times})
    writer = writer_for(target, "5.0.11", None, (None, None))
    found = read_results([path]).rules(writer.sayable, writer.sizeless)
    export = writer.write(list(found.rules))
    assert {r.setting("coll_tuned_bcast_algorithm") for r in export.rows} == {"6"}
    assert all(r.setting(RADIX) is None for r in export.rows)


@pytest.mark.parametrize("target", ["openmpi-4", "openmpi-5", "openmpi-6"])
@pytest.mark.parametrize("collective", ["scan", "exscan", "gather", "scatter"])
def test_an_algorithm_for_all_sizes_is_nowhere_slower(
    target: str, collective: str, tmp_path: Path
) -> None:
    """coll/tuned does not look at these collectives' size, or at one that ranks differ in: rows for
    some sizes had ranks of one MPI_Scatter go different ways, and hang."""
    name = f"native:coll_tuned_{collective}_algorithm=2,coll_tuned_use_dynamic_rules=1"
    for slower in (True, False):
        large = 30.0 if slower else 10.0
        times = {
            (collective, 8): {"bare": 10.0, name: 8.0},
            (collective, 65536): {"bare": 10.0, name: large},
        }
        path = _results(tmp_path / f"{slower}.bench.jsonl", times)
        writer = writer_for(target, "5.0.11", None, (None, None))
        found = read_results([path]).rules(writer.sayable, writer.sizeless)
        export = writer.write(list(found.rules))
        assert [(r.low, r.high) for r in export.rows] == ([] if slower else [(0, None)])
        said = any("nothing that is faster at some is as fast" in lost for lost in found.lost)
        assert said == slower


def test_two_files_of_one_collective_and_layout(tmp_path: Path) -> None:
    """The last one counts, and it is said."""
    name = "native:coll_tuned_bcast_algorithm=6,coll_tuned_use_dynamic_rules=1"
    paths = [
        _results(tmp_path / f"{n}.bench.jsonl", {("bcast", n): {"bare": 10.0, name: 5.0}})
        for n in (8, 65536)
    ]
    found = read_results(paths).rules()
    assert {r.low for r in found.rules if not r.default} == {65536}
    assert any("several files have it, and the last" in x for x in found.lost)
    assert not any("several files" in x for x in read_results(paths[:1]).rules().lost)


@pytest.mark.parametrize("time", [0.0, -1.0])
def test_a_result_without_a_time_is_refused(
    time: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be divided by; the line is named."""
    name = "native:coll_tuned_bcast_algorithm=6,coll_tuned_use_dynamic_rules=1"
    path = _results(tmp_path / "x.bench.jsonl", {("bcast", 8): {"bare": 10.0, name: 5.0}})
    lines = path.read_text().splitlines()
    record = json.loads(lines[2])
    record["times_us"][3] = time
    path.write_text("\n".join([*lines[:2], json.dumps(record), *lines[3:], ""]))
    assert main(["export", "--to", "openmpi-5", "--out", str(tmp_path / "o"), str(path)]) == 1
    said = capsys.readouterr().err
    assert "all of them above 0" in said and f"{path}:3" in said and "defect" not in said


def test_intel_tells_sizes_apart_or_ranks() -> None:
    four, most = Layout(4, 1, 4), intel.MOST
    sizes = [
        Rule("allreduce", FIVE, 0, 999, (), instead=_preset(3)),
        Rule("allreduce", FIVE, 1000, 4999, _preset(7)),
        Rule("allreduce", FIVE, 5000, None, _preset(2)),
    ]
    export = intel.adjust(sizes)
    assert export.environment == {"I_MPI_ADJUST_ALLREDUCE": f"3:0-999;7:1000-4999;2:5000-{most}"}
    assert "communicators of any size" in export.lost[0]
    ranks = [
        Rule("allreduce", four, 0, None, _preset(7)),
        Rule("allreduce", FIVE, 0, None, _preset(2)),
    ]
    assert intel.adjust(ranks).environment == {
        "I_MPI_ADJUST_ALLREDUCE": f"7:0-{most}@1-4;2:0-{most}@5-{most}"
    }
    both = intel.adjust([ranks[0], *sizes])
    assert both.environment == export.environment
    assert "tells sizes apart or ranks, not both" in " ".join(both.lost)
    undecided = [Rule("allreduce", FIVE, 0, 999, ()), *sizes[1:]]
    export = intel.adjust(undecided)
    assert not export.environment
    assert "cannot be told to decide by itself from 0 bytes" in export.lost[0]


def test_results_that_do_not_go_together(tmp_path: Path) -> None:
    times = {("bcast", 8): {"bare": 1.0}}
    a = _results(tmp_path / "a.bench.jsonl", times)
    other = MPIIdentity("openmpi", "openmpi", "4.1.4", "Open MPI v4.1.4")
    b = _results(tmp_path / "b.bench.jsonl", times, mpi=other)
    with pytest.raises(StrettoError, match=r"openmpi 4\.1\.4, the others of openmpi 5\.0\.11"):
        read_results([a, b])
    c = _results(tmp_path / "c.bench.jsonl", times, cpu="another")
    with pytest.raises(StrettoError, match="kinds of nodes are never mixed"):
        read_results([a, c])
    d = _results(tmp_path / "d.bench.jsonl", times, source="simulated")
    with pytest.raises(StrettoError, match="simulated"):
        read_results([d])


def test_options_stand_before_and_after_the_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ring = "native:" + ",".join(f"{name}={value}" for name, value in RING)
    a = _results(tmp_path / "a.bench.jsonl", {("allreduce", 8): {"bare": 50.0, ring: 30.0}})
    out = tmp_path / "out"
    assert main(["export", str(a), "--to", "openmpi-5", "--out", str(out)]) == 0
    assert "1 rules" in capsys.readouterr().out and (out / "stretto-native.sh").exists()
    assert main(["export", str(a)]) == 2
    assert "for which MPI" in capsys.readouterr().err


def test_files_have_absolute_paths(tmp_path: Path) -> None:
    out = tmp_path / "a b"
    export = openmpi.classic([Rule("allreduce", FIVE, 0, None, RING)], "4")
    write(export, out, "title", "openmpi-4", MPIIdentity("openmpi", "openmpi", "4.1.4", ""))
    script = (out / "stretto-native.sh").read_text(encoding="utf-8")
    show = '. "$0"; cat "$OMPI_MCA_coll_tuned_dynamic_rules_filename"'
    words = ["sh", "-ec", show, str(out / "stretto-native.sh")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert _read_classic(done.stdout) and "title" in script
    module = (out / "stretto-native.modulefile").read_text(encoding="utf-8")
    assert f"setenv OMPI_MCA_coll_tuned_dynamic_rules_filename {{{out}" in module


@pytest.mark.mpi
def test_the_command_writes_trees_of_the_release_that_was_measured(tmp_path: Path) -> None:
    prefix = MPIS["mpich"].require().prefix
    ring = "native:MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=ring"
    times = {("allreduce", 65536): {"bare": 50.0, ring: 30.0}}
    command = [sys.executable, "-m", "stretto", "export", "--to", "mpich", "--mpi", str(prefix)]

    def export(version: str) -> subprocess.CompletedProcess[str]:
        mpi = MPIIdentity("mpich", "mpich", version, "MPICH")
        results = _results(tmp_path / f"{version}.bench.jsonl", times, mpi=mpi)
        words = [*command, "--out", str(tmp_path / "out"), str(results)]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    done = export("5.0.2")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "stretto-mpich-mpir.json").exists()
    script = (tmp_path / "out" / "stretto-native.sh").read_text(encoding="utf-8")
    assert "export MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE=" in script
    other = export("4.3.0")
    assert other.returncode == 1
    assert "measured with 4.3.0, and this is MPICH 5.0.2" in other.stderr
    assert "try: name the MPI that was measured" in other.stderr

"""``stretto import rules``: readers that are the inverse of the writers; files that are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exports import FIVE, FOUR, TUNED, preset, result_file, tuned
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.export import han, intel, mpich, openmpi, openmpi_json
from stretto.export.mpich_tree import CH4, MPIR, Trees, text_of
from stretto.export.native_check import Reader, checked
from stretto.export.native_convert import convert
from stretto.export.native_read import read_native
from stretto.export.native_rows import NativeFile
from stretto.export.output import Export
from stretto.export.rules import Rule
from stretto.export.sizes import intel_bytes, openmpi_bytes
from stretto.files.layout import RankLayout

SIX = [r for r in TUNED if r.layout == FIVE or r.collective == "barrier"]
ACROSS = RankLayout(2, 2, 4)
SIMPLE = (("coll_han_use_allreduce_algorithm", "2"), ("coll_han_priority", "100"))
OF_HAN = [
    Rule("allreduce", ACROSS, 0, 99, tuned("allreduce", 4)),
    Rule("allreduce", ACROSS, 100, 999, ()),
    Rule("allreduce", ACROSS, 1000, None, SIMPLE),
]
OF_INTEL = [
    Rule("allreduce", FIVE, 0, 1023, preset("allreduce", 1)),
    Rule("allreduce", FIVE, 1024, None, preset("allreduce", 2)),
    Rule("barrier", FIVE, 0, None, preset("barrier", 3)),
]
TREE = {"comm_type=intra": {"algorithm=MPIR_Allreduce_intra_smp": {}}}
LIBRARY = Trees(
    {
        MPIR: {"collective=allreduce": TREE},
        CH4: {"collective=allreduce": {
            "comm_type=intra": {"composition=MPIDI_Allreduce_intra_composition_alpha": {}}}},
    },
    frozenset(f"algorithm=MPIR_Allreduce_intra_{n}" for n in ("ring", "smp")),
)  # fmt: skip
MPICH_RING = (("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "ring"),)


def read(text: str, **more: Trees) -> NativeFile:
    return read_native(text.encode(), "f", **more)


def _written() -> list[tuple[str, str, list[Rule]]]:
    four, five = openmpi.classic(TUNED, "4"), openmpi.classic(OF_HAN, "5")
    six, presets = openmpi_json.json_rules(SIX), intel.adjust(OF_INTEL, beyond=True)
    variables = "".join(f"export {n}='{v}'\n" for n, v in presets.environment.items())
    return [
        ("openmpi-4", four.files[openmpi.RULES_FILE], four.rows),
        ("openmpi-5", four.files[openmpi.RULES_FILE], four.rows),
        ("openmpi-5", five.files[han.RULES_FILE], five.rows),
        ("openmpi-6", six.files[openmpi_json.JSON_FILE], six.rows),
        ("intel", variables, presets.rows),
    ]


@pytest.mark.parametrize(("target", "text", "rows"), _written())
def test_reader_of_a_written_file_returns_its_rules(
    target: str, text: str, rows: list[Rule]
) -> None:
    file = read(text)
    assert convert(file, target).text == text  # the reader is the inverse of the writer
    for rule in rows:
        ranks = rule.layout.nranks
        for size in (rule.low, rule.high or rule.low + 10**6):
            counted = (
                intel_bytes(rule.collective, size, ranks) if target == "intel"
                else size if file.form == "han" else openmpi_bytes(rule.collective, size, ranks)
            )  # fmt: skip
            mine = [r for r in file.rows if r.collective == rule.collective]
            found = next(r for r in mine if r.holds(ranks, counted))
            if file.form == "han" and rule.setting("coll_tuned_allreduce_algorithm"):
                assert found.settings == (("component", "tuned"),)
            else:
                assert set(found.settings) <= set(rule.settings) and found.settings
    assert not checked(file, Reader(file.family, target[-1] if "-" in target else "")).faults


def test_reader_of_a_written_tree_returns_what_differs_from_the_library() -> None:
    new, export = dict(LIBRARY.trees), Export()
    rules = [
        Rule("allreduce", FOUR, 0, 999, ()),
        Rule("allreduce", FOUR, 1000, 1999, MPICH_RING),
        Rule("allreduce", FOUR, 2000, None, ()),
    ]
    mpich.put_in("allreduce", rules, LIBRARY, {}, (None, None), new, export)
    file = read(text_of(new[MPIR]), library=LIBRARY)
    ring = [r for r in file.rows if ("algorithm", "ring") in r.settings]
    assert [(r.first, r.last, r.low, r.high) for r in ring] == [(4, 4, 1000, 1999)]
    assert "comm_size=node_comm_size" in ring[0].only and not file.faults
    assert {r.choice for r in file.rows} == {"algorithm ring", "the MPI decides"}
    assert convert(file, "mvapich").text == file.text
    with pytest.raises(StrettoError, match="the native selection of this MPICH"):
        read(text_of(LIBRARY.trees[MPIR]), library=LIBRARY)
    other = {"collective=bcast": {"comm_type=intra": {"algorithm=MPIR_Allreduce_intra_ring": {}}}}
    ((place, words),) = read(text_of(other), library=LIBRARY).faults
    assert place == "f:1" and "aborts calls of allreduce" in words


CLASSIC = """# by hand
1
2 # allreduce
2
32 1
0 3 0 0
64 2
0 0 0 0
4096 6 0 0
"""
TUNER = """{"coll=Reduce": {"ppn=2": {"comm_size=2": {"comm_id=-1": {
 "msg_size=243": {"REDUCE=8": {}},
 "msg_size=-1": {"REDUCE=1": {}}}}}}}"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CLASSIC, "allreduce, 64 ranks and more, from 4 KiB on: algorithm 6 (rabenseifner)"),
        (CLASSIC, "allreduce, up to 63 ranks: algorithm 3 (recursive_doubling)"),
        (CLASSIC, "allreduce, 64 ranks and more, below 4 KiB: the MPI decides"),
        ("rule-file-version-2\n1 3 1 4 1 0 4 0 0 8", "any number of ranks: algorithm 4 (linear_"
         "sync), at most 8 requests"),
        ("1 allreduce 1 intra_node 1 1 1 0 sm", "within a node: coll/sm"),
        ("export I_MPI_ADJUST_ALLREDUCE=2", "preset 2 (documented as Rabenseifner)"),
        ("mpirun -genv I_MPI_ADJUST_REDUCE 1:0-8;2:9-99 -n 4 x", "up to 8 bytes: preset 1"),
        ("coll_tuned_bcast_algorithm = 7\ncoll_tuned_bcast_algorithm_segmentsize = 8192",
         "algorithm 7 (knomial), segments of 8192 bytes"),
        ("MPIR_CVAR_BCAST_INTRA_ALGORITHM=tree", "MPIR_CVAR_BCAST_INTRA_ALGORITHM=tree"),
        (TUNER, "reduce, up to 2 ranks, 2 ranks a node, up to 243 bytes: preset 8"),
    ],
)  # fmt: skip
def test_rules_in_words(text: str, words: str) -> None:
    assert any(words in f"{r.calls}: {r.choice}" for r in read(text).rows), [
        f"{r.calls}: {r.choice}" for r in read(text).rows
    ]


@pytest.mark.parametrize(
    ("row", "choice", "words"),
    [
        (
            "7\n1\n2 1\n0 7 4 8192",
            "algorithm 7 (knomial), segments of 8192 bytes",
            "fan-out; its rad",
        ),
        ("7\n1\n2 1\n0 1 0 8192", "algorithm 1 (basic_linear)", "does not use the segment size"),
        ("7\n1\n2 1\n0 2 8 8192", "algorithm 2 (chain), fan-out 8, segments of 8192 bytes", ""),
    ],
)
def test_parameters_that_an_algorithm_ignores_are_noted(row: str, choice: str, words: str) -> None:
    file = checked(read("1\n" + row), Reader("openmpi", "4.1.4"))
    assert [r.choice for r in file.rows] == [choice]
    found = [n for n in file.notes if "does not use" in n]
    assert words in found[0] if words else not found


@pytest.mark.parametrize(
    ("text", "last", "note"),
    [
        ("I_MPI_ADJUST_BCAST=2:0-2048;8:2049-1048576;5", "from 1048577 bytes on", ""),
        ("I_MPI_ADJUST_BCAST=2:0-2048;5:0-2147483647", "from 2049 bytes on", ""),
        ("I_MPI_ADJUST_BCAST=2:0-2048;8:2049-1048576", "from 2049 bytes on",
         "8:2049-1048576 also applies to larger messages"),
        ("I_MPI_ADJUST_BCAST=2:@1-16;8:0-2147483647@17-64", "up to 16 ranks", ""),
        ("1\n7\n1\n4 1\n0 2 0 0", "any number of ranks", "the first communicator size also"),
        ("1\n7\n1\n4 2\n0 0 0 0\n9 2 0 0", "from 9 bytes on", "the first communicator size also"),
        ("1\n7\n2\n2 1\n0 2 0 0\n8 1\n0 1 0 0", "8 ranks and more", ""),
    ],
)  # fmt: skip
def test_surprises_that_are_legal_are_notes(text: str, last: str, note: str) -> None:
    file = read(text)
    file = checked(file, Reader(file.family, "4.1.4" if file.form == "classic" else ""))
    assert last in file.rows[-1].calls
    assert not file.faults
    found = [n for n in file.notes if "applies" in n]
    assert note in found[0] if note else not found


def test_parameters_that_name_files_or_lack_their_switch_are_noted() -> None:
    text = "coll_tuned_dynamic_rules_filename = /etc/a.rules\ncoll_tuned_bcast_algorithm = 6\n"
    named = "line 1 names a file of rules: stretto import rules /etc/a.rules"
    without = read_native(text.encode(), "f")
    assert without.notes[0] == named and "ignores rules and algorithms" in without.notes[1]
    on = read_native(f"{text}coll_tuned_use_dynamic_rules = 1\n".encode(), "f")
    assert on.notes == (named,) and len(on.rows) == 1
    tree = read_native(b"export MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=/t.json", "f")
    assert tree.rows == () and tree.notes == (named.replace("/etc/a.rules", "/t.json"),)


def test_unreadable_variable_leaves_the_others_explained() -> None:
    file = read("I_MPI_ADJUST_BCAST=1:0-9,7:10-99\nI_MPI_ADJUST_REDUCE=5\n")
    assert [r.collective for r in file.rows] == ["reduce"]
    assert "a semicolon separates presets" in file.faults[0][1] and file.faults[0][0] == "f:1"


def test_mpich_file_of_few_collectives_names_those_that_it_has() -> None:
    trees = {MPIR: {f"collective={c}": TREE for c in ("allreduce", "bcast", "reduce")}}
    one = text_of(
        {"collective=allreduce": {"comm_type=intra": {"algorithm=MPIR_Allreduce_intra_ring": {}}}}
    )
    ((_, words),) = read(one, library=Trees(trees, LIBRARY.leaves)).faults
    assert "aborts calls of any collective but allreduce" in words


def _json(*entries: dict[str, object]) -> str:
    document = {"rule_file_version": 3, "module": "tuned", "collectives": {"bcast": entries}}
    return json.dumps(document, indent=1)


WHOLE = {"comm_size_min": 2, "comm_size_max": 9, "rules": [
    {"msg_size_min": 0, "msg_size_max": 99, "alg": 5}, {"msg_size_min": 10, "msg_size_max": 50,
                                                       "alg": 6}]}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "version", "place", "words"),
    [
        ("1\n99\n1\n2 1\n0 1 0 0", "", "f:2", "'99' is not a collective's number"),
        ("1\n2\n2\n8 1\n0 1 0 0\n4 1\n0 1 0 0", "", "f:6", "communicator size 4 follows 8"),
        ("1\n2\n1\n8 2\n0 1 0 0\n0 2 0 0", "", "f:6", "message size 0 follows 0"),
        ("1\n2\n1\n8 1\n0 9 0 0", "", "f:5", "no algorithm 9 for allreduce"),
        ("1\n0\n1\n8 1\n0 7 0 0", "4.1.4", "f:5", "no algorithm 7 (sparbit) for allgather"),
        ("1\n6\n1\n8 2\n0 1 0 0\n8 2 0 0", "", "f:6", "it never applies: Open MPI treats every"),
        ("rule-file-version-2\n1 2 1 8 1\n0 1 0 0", "4.1.4", "f:1", "ignores files of version 2"),
        ("rule-file-version-2\n1 2 1 8 1\n0 1 0 0", "5.0.6", "f:1", "ignores files of version 2"),
        (_json(WHOLE).replace("bcast", "allgather").replace('"alg": 5', '"alg": 2'), "", "f:10",
         "loops forever with a radix of 0"),
        (_json(WHOLE), "5.0.6", "f:1", "ignores a file of this form"),
        (_json(WHOLE), "", "f:15", "it never applies: the rule in f:10 matches these calls"),
        (_json(WHOLE, WHOLE), "", "f:22", "it never applies: an earlier entry has these ranks"),
        ("1 2 1 2 1 1 1 0 han @9", "", "f:1", "HAN has no algorithm 9"),
        ("1 2 1 2 1 1 1 0 tuned", "4.1.4", "f:1", "Open MPI 4 crashes"),
        ("I_MPI_ADJUST_BCATS=1", "", "f:1", "is not a variable of a collective"),
        ("I_MPI_ADJUST_BCAST='1:0-9;2:5-8;3:10-99'", "", "f:1", "2:5-8 never applies"),
        ("I_MPI_ADJUST_BCAST='1:0-9;2:50-99'", "", "f:1", "2:50-99 applies from 10 bytes on"),
        ("I_MPI_ADJUST_BCAST='2:0-2048@2-16'", "", "f:1", "2:0-2048@2-16 applies to all sizes"),
        ("I_MPI_ADJUST_BCAST='1;5'", "", "f:1", "5 never applies"),
        ("I_MPI_ADJUST_BCAST='1:0-9@2-9;2:0-9@1-99'", "", "f:1", "1:0-9@2-9 never applies"),
        ("I_MPI_ADJUST_BCAST='1:0-9;2:@5-8'", "", "f:1", "with and without ranks are mixed"),
        ("I_MPI_ADJUST_BCAST='fast'", "", "f:1", "is not a clause"),
        (TUNER.replace("-1\": {\"RED", "9\": {\"RED"), "", "f:3", "never applies: an earlier size"),
        ('{"collective=bcast":\n{"comm_size<=4": {"algorithm=A": {}},\n"comm_size<=2": '
         '{"algorithm=B": {}}, "comm_size=any": {"algorithm=C": {}}}}', "", "f:3", "never applies"),
        ("\0\1\2", "", "f", "it is a binary file"),
        ("hello", "", "f:1", "was found where the number of collectives"),
        ("# nothing", "", "f", "the file ends where"),
    ],
)  # fmt: skip
def test_rules_that_are_wrong_are_refused_with_their_line(
    text: str, version: str, place: str, words: str
) -> None:
    try:
        file = read(text)
    except StrettoError as error:
        assert words in error.message and error.place == place and error.remedy
        return
    faults = checked(file, Reader(file.family, version)).faults
    assert any(p == place and words in w for p, w in faults), faults


def test_classic_rules_converted_to_json_and_back_are_the_same() -> None:
    file = read(CLASSIC)
    six = convert(file, "openmpi-6")
    again = read(six.text)
    assert [(r.first, r.last, r.low, r.high) for r in again.rows] == [
        (0, 63, 0, None), (64, None, 4096, None), (64, None, 0, None)]  # fmt: skip
    assert again.rows[2].calls == "allreduce, 64 ranks and more, other sizes"
    back = convert(again, "openmpi-5").text
    for ranks, size in ((2, 0), (63, 10**6), (64, 4095), (64, 4096), (9999, 10**9)):
        one, other = ([r.settings for r in f.rows if r.holds(ranks, size)] for f in
                      (file, read(back)))  # fmt: skip
        assert one == other, (ranks, size)
    assert "coll_tuned_use_dynamic_rules=1" in six.settings[0]
    # Bruck's radix is 2 in 4 and 5, and what the row says in 6
    bruck = convert(read("1 0 1 8 1 0 2 0 0"), "openmpi-6").text
    assert json.loads(bruck)["collectives"]["allgather"][0]["rules"][0]["faninout"] == 2
    four = convert(read(bruck.replace('"faninout": 2', '"faninout": 4')), "openmpi-4")
    assert "with a radix of 2" in four.lost[0]


@pytest.mark.parametrize(
    ("text", "target", "words"),
    [
        (CLASSIC, "intel", "rules cannot be converted to another MPI"),
        ("I_MPI_ADJUST_BCAST=1", "openmpi-5", "rules cannot be converted to another MPI"),
        ("1\n0\n1\n8 1\n0 7 0 0", "openmpi-4", "no algorithm 7 (sparbit)"),
        ("1 2 1 2 1 1 1 0 tuned", "openmpi-4", "Open MPI 4 crashes"),
    ],
)
def test_conversion_that_means_nothing_is_one_sentence(text: str, target: str, words: str) -> None:
    with pytest.raises(StrettoError) as caught:
        convert(read(text), target)
    assert words in caught.value.message and caught.value.remedy
    if "another MPI" in words:
        assert f"--mpi {target.partition('-')[0]} " in caught.value.remedy
        assert f"--to {target} --out tuning" in caught.value.remedy


def test_output_of_intels_tuner_becomes_variables() -> None:
    done = convert(read(TUNER), "intel")
    assert done.text == "export I_MPI_ADJUST_REDUCE='8:0-243;1:244-2147483647'\n"
    assert "any number of ranks" in done.lost[0]


def test_import_rules_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, results = tmp_path / "t.rules", tmp_path / "r.bench.jsonl"
    path.write_text("1 # collectives\n2\n1\n2 2\n0 0 0 0\n4096 4 0 0\n")
    ring, rd = ("native:coll_tuned_allreduce_algorithm=" + n for n in ("4", "3"))
    times = {"bare": 10.0, ring: 5.0, rd: 20.0}
    result_file(results, {
        ("allreduce", 64): times | {rd: 4.0, ring: 12.0}, ("allreduce", 8192): times,
    })  # fmt: skip
    assert main(["import", "rules", str(path), "--results", str(results)]) == 0
    out, err = capsys.readouterr()
    assert "allreduce, any number of ranks, from 4 KiB on: algorithm 4 (ring)  [line 6]" in out
    assert "faster at 1 size (time x 0.50)" in out
    assert "at 64 bytes coll_tuned_allreduce_algorithm=3 is the fastest (time x 0.40)" in out
    assert "HAN of Open MPI 5 and newer decides allreduce" in err
    path.write_text(path.read_text().replace(" 4 0 0", " 44 0 0"))
    assert main(["import", "rules", str(path), "--mpi", "openmpi@5.0.6", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["faults"][0]["place"] == f"{path}:6" and f"at: {path}:6" in err

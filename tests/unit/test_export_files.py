"""Native files that need no MPI to be looked at: HAN's, MPICH's trees, Open MPI 6's JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stretto.errors import StrettoError
from stretto.export import han, mpich, openmpi, openmpi_json
from stretto.export.cases import cases_of
from stretto.export.check import CheckPlan, check
from stretto.export.mpich_leaves import leaves_of
from stretto.export.mpich_tree import CH4, MPIR, Tree, Trees, read_file, text_of
from stretto.export.native_check import Reader, lacking
from stretto.export.native_rows import NativeRow
from stretto.export.output import Export, write
from stretto.export.rules import Rule
from stretto.files.export import EXPORT, NAME, ExportManifest, ExportRow
from stretto.files.identity import MPIIdentity
from stretto.files.layout import RankLayout
from stretto.mpi.variables import Variable

FIVE, TWO_BY_TWO = RankLayout(1, 5, 5), RankLayout(2, 2, 4)
RING = (("coll_tuned_allreduce_algorithm", "4"), ("coll_han_priority", "0"))
SIMPLE = (("coll_han_use_allreduce_algorithm", "2"), ("coll_han_priority", "100"))
OPENMPI6 = MPIIdentity("openmpi", "openmpi", "6.0.0", "")
#: a rule that begins behind the smallest sizes and ends before the largest
MIDDLE = [
    Rule("allreduce", FIVE, 0, 999, ()),
    Rule("allreduce", FIVE, 1000, 9999, RING),
    Rule("allreduce", FIVE, 10000, None, ()),
]


def test_han_or_tuned_by_size() -> None:
    rules = [
        Rule("allreduce", TWO_BY_TWO, 0, 99, RING),
        Rule("allreduce", TWO_BY_TWO, 100, 999, ()),
        Rule("allreduce", TWO_BY_TWO, 1000, None, SIMPLE),
        Rule("allreduce", FIVE, 0, None, RING),
    ]
    export = openmpi.classic(rules, "5")
    text = export.files[han.RULES_FILE]
    assert [(r.first, r.low, r.settings[0][1]) for r in han.read_rules_file(text, "f")] == [
        (0, 0, "han"), (4, 0, "tuned"), (4, 100, "han"), (4, 1000, "2"),
        (5, 0, "han"),  # five ranks were measured on one node, where HAN is not active
    ]  # fmt: skip
    assert "OMPI_MCA_coll_han_dynamic_rules_filename" in export.environment
    assert [r.settings for r in export.rows] == [RING, SIMPLE, RING]
    old = openmpi.classic([r for r in rules if r.settings != SIMPLE], "4")
    assert han.RULES_FILE not in old.files, "4.1 crashes on such a file"
    only = openmpi.classic([Rule("allreduce", TWO_BY_TWO, 0, None, SIMPLE)], "5")
    assert set(only.files) == {han.RULES_FILE, openmpi.PARAMETERS_FILE}


def test_what_han_is_not_asked_for_has_no_rows_there() -> None:
    """Of allgatherv on a whole communicator: its rows are coll/tuned's, by the mean block."""
    ring = (("coll_tuned_allgatherv_algorithm", "3"), ("coll_han_priority", "0"))
    rules = [
        Rule("allgatherv", TWO_BY_TWO, 0, 999, ()),
        Rule("allgatherv", TWO_BY_TWO, 1000, None, ring),
    ]
    five, six = openmpi.classic(rules, "5"), openmpi_json.json_rules(rules)
    for export in (five, six):
        assert han.RULES_FILE not in export.files and [r.low for r in export.rows] == [1000]
    rows = openmpi.read_classic(five.files[openmpi.RULES_FILE], "f")
    assert [(r.low, r.settings) for r in rows if r.first == 4] == [(0, ()), (1000, ring[:1])]


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        ("1 2 1 2 2 1 1 0 han 4 1 0", "the file ends where a component"),
        ("1 2 1 2 1 4 1 0 han", "the first communicator size must be 1, not 4"),
        ("1 2 1 2 1 1 1 8 han", "the first message size must be 0, not 8"),
        ("1 2 1 2 1 1 1 0 hand", "'hand' is not one of self, basic"),
        ("1 bcats 1 2 1 1 1 0 han", "'bcats' is not a collective"),
        ("1 2 1 9 1 1 1 0 han", "'9' is not a level"),
        ("1 2 1 2 1 1 1 0 han @simple", "@simple is not an algorithm's number"),
        ("1 2 1 2 1 1 1 0 han 9", "'9' is surplus"),
    ],
)
def test_hans_files_that_are_wrong(spoilt: str, message: str) -> None:
    with pytest.raises(StrettoError, match=message):
        han.read_rules_file(spoilt, "f")


#: a library's trees in small
OWN: Tree = {
    "comm_size=pow2": {"algorithm=MPIR_Allreduce_intra_recexch": {"k=2": {}}},
    "comm_size=any": {"algorithm=MPIR_Allreduce_intra_smp": {}},
}
LAYERS, DOUBLING = ("alpha", "beta"), ("recursive_doubling",)
LEAVES = ("tree", "ring", "smp", "recexch", *DOUBLING)
LIBRARY = Trees(
    {
        MPIR: {"collective=allreduce": {"comm_type=intra": OWN}},
        CH4: {
            "collective=allreduce": {
                "comm_type=intra": {"composition=MPIDI_Allreduce_intra_composition_alpha": {}}
            }
        },
    },
    frozenset(
        [f"algorithm=MPIR_Allreduce_intra_{name}" for name in LEAVES]
        + [f"composition=MPIDI_Allreduce_intra_composition_{x}" for x in LAYERS]
    ),
)
VARIABLES = {
    v.name: v
    for v in (
        Variable("MPIR_CVAR_ALLREDUCE_COMPOSITION", "0 Auto selection 1 NM + SHM 2 NM only"),
        Variable("MPIR_CVAR_ALLREDUCE_TREE_TYPE", "", value="kary"),
        Variable("MPIR_CVAR_ALLREDUCE_TREE_KVAL", "", value="2"),
        Variable("MPIR_CVAR_ALLREDUCE_TREE_PIPELINE_CHUNK_SIZE", "", value="0"),
        Variable("MPIR_CVAR_ALLREDUCE_TREE_BUFFER_PER_CHILD", "", value="0"),
    )
}


def trees(rules: list[Rule]) -> tuple[dict[str, Tree], Export]:
    new, export = dict(LIBRARY.trees), Export()
    mpich.put_in("allreduce", rules, LIBRARY, VARIABLES, (None, None), new, export)
    return {k: read_file(text_of(t), "f", LIBRARY.leaves) for k, t in new.items()}, export


def flat(name: str, **more: int) -> tuple[tuple[str, str], ...]:
    return (
        ("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", name),
        ("MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE", "0"),
        *((f"MPIR_CVAR_ALLREDUCE_{n}", str(v)) for n, v in more.items()),
    )


def expected(own: Tree, leaves: dict[str, Tree]) -> Tree:
    """The branch of the rules below: a bracket for each row, and what the MPI does beside it."""

    def taken(tree: Tree) -> Tree:
        return {"is_commutative=yes": tree, "is_commutative=no": own}

    sizes = {
        "avg_msg_size<=999": own,
        "avg_msg_size<=9999": leaves["tree"],
        "avg_msg_size=any": own,
    }
    return {
        "comm_size<=3": own,
        "comm_size<=4": {
            "comm_avg_ppn<=1": taken(leaves["recursive_doubling"]),
            "comm_avg_ppn<=2": taken(leaves["ring"]),
            "comm_size=any": own,
        },
        "comm_size<=5": {"comm_size=node_comm_size": taken(sizes), "comm_size=any": own},
        "comm_size=any": own,
    }


def test_rows_stay_in_their_place_in_a_tree() -> None:
    rules = [
        Rule("allreduce", FIVE, 0, 999, ()),
        Rule("allreduce", FIVE, 1000, 9999, flat("tree", TREE_KVAL=3)),
        Rule("allreduce", FIVE, 10000, None, ()),
        Rule("allreduce", TWO_BY_TWO, 0, None, flat("ring")),
        Rule("allreduce", RankLayout(4, 1, 4), 0, None, flat("recursive_doubling")),
    ]
    new, export = trees(rules)
    assert len(export.rows) == 3 and not export.lost
    leaves: dict[str, Tree] = {
        name: {f"algorithm=MPIR_Allreduce_intra_{name}": {}} for name in ("ring", *DOUBLING)
    }
    leaves["tree"] = {
        "algorithm=MPIR_Allreduce_intra_tree": {
            "tree_type=kary": {}, "k=3": {}, "chunk_size=0": {}, "buffer_per_child=0": {},
        }
    }  # fmt: skip
    alpha, beta = (f"composition=MPIDI_Allreduce_intra_composition_{x}" for x in LAYERS)
    betas: dict[str, Tree] = {name: {beta: {}} for name in leaves}
    assert new[MPIR]["collective=allreduce"]["comm_type=intra"] == expected(OWN, leaves)
    assert new[CH4]["collective=allreduce"]["comm_type=intra"] == expected({alpha: {}}, betas)


def test_what_mpichs_files_cannot_say_is_said() -> None:
    cells = ("MPIR_CVAR_CH4_SHM_POSIX_QUEUE_CELL_SIZE", "65536")
    for settings, words in (
        (flat("recexch"), "RECEXCH_KVAL is not known, and recexch needs it"),
        (flat("bush"), "no algorithm=MPIR_Allreduce_intra_bush"),
        ((("MPIR_CVAR_ALLREDUCE_COMPOSITION", "4"),), "no composition=MPIDI_Allreduce_intra_"),
        ((*flat("ring"), cells), f"{cells[0]} cannot be expressed in MPICH files"),
    ):
        assert words in str(
            leaves_of(Rule("allreduce", FIVE, 0, None, settings), LIBRARY, VARIABLES)
        )


def by_size(tree: Tree) -> Tree:
    """The first node of a tree whose keys are sizes."""
    if any("msg_size" in key for key in tree):
        return tree
    return next((found for below in tree.values() if (found := by_size(below))), {})


@pytest.mark.parametrize(("collective", "layout"), [("allgather", RankLayout(64, 8, 512)),
                                                    ("allreduce", FIVE)])  # fmt: skip
def test_rows_end_where_mpichs_sizes_end(collective: str, layout: RankLayout) -> None:
    """Its numbers have 31 bits; a row that reached beyond held for all larger messages."""
    ranks = 1 if collective == "allreduce" else layout.nranks
    leaf = f"algorithm=MPIR_{collective.capitalize()}_intra_ring"
    own: Tree = {"algorithm=MPIR_own": {}}
    library = Trees(
        {MPIR: {f"collective={collective}": {"comm_type=intra": own}}}, frozenset([leaf])
    )
    ring = ((f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM", "ring"),)
    first, end = (1 << 27) // ranks, (1 << 31) // ranks

    def written(*bounds: tuple[int, int]) -> tuple[Export, Tree]:
        rules, at = [], 0
        for low, high in bounds:
            rules += [
                Rule(collective, layout, at, low - 1, ()),
                Rule(collective, layout, low, high, ring),
            ]
            at = high + 1
        new, export = dict(library.trees), Export()
        rules.append(Rule(collective, layout, at, None, ()))
        mpich.put_in(collective, rules, library, {}, (None, None), new, export)
        return export, new[MPIR]

    export, tree = written((first, end), (2 * end, 3 * end))
    assert [(r.low, r.high) for r in export.rows] == [(first, end - 1)]
    assert (
        f"{collective} from {end} bytes" in export.lost[0]
        and "sizes in MPICH files end at" in export.lost[0]
    )
    assert f"from {2 * end} bytes" in export.lost[1]
    ends = {k.rpartition("=")[2]: leaf in v for k, v in by_size(tree).items()}
    assert ends == {str(first * ranks - 1): False, str((1 << 31) - 1): True, "any": False}
    export, tree = written((2 * end, 3 * end))
    assert not export.rows and tree == library.trees[MPIR] and len(export.lost) == 1
    export, tree = written((first, end - 1))
    assert [(r.low, r.high) for r in export.rows] == [(first, end - 1)] and not export.lost


def test_a_trees_file_never_fills_a_page() -> None:
    for length in range(4000, 4200):
        text = text_of({"any": {f"algorithm={'x' * length}": {}}})
        assert len(text) % 4096 != 0
        read_file(text, "f", frozenset())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"collective=bcast": {"comm_size<=4": {"algorithm=A": {}}}}', "nothing applies after"),
        ('{"collective=bcast": {"comm_sizes<=4": {"algorithm=A": {}}}}', "is not a key of MPICH"),
        ('{"collective=bcast": {"any": {}}}', "is not an object with keys"),
        ('{"collective=bcast": {"any": {"algorithm=B": {}}}}', "this MPI has no"),
        ('{"any": {"algorithm=A": {}}, "any": {"algorithm=A": {}}}', "occurs twice"),
        ('{"any": {"algorithm=A"', "it is not JSON"),
    ],
)
def test_trees_that_end_the_job_are_refused(text: str, message: str) -> None:
    with pytest.raises(StrettoError, match=message):
        read_file(text, "f", frozenset(["algorithm=A"]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"rule_file_version": 3', '"rule_file_version": 2', "does not have rule_file_version 3"),
        ('"alg": 4', '"alg": "rings"', "'rings' is not an algorithm of allreduce"),
        ('"comm_size_max": 5', '"comm_size_max": "inf"', "reads as -1"),
        ('"allreduce"', '"reducescatter"', "is not a collective"),
        ('"allreduce"', '"gatherv"', "Open MPI 6 crashes"),
        ('"alg": 4,', '"alg": 4 "faninout": 4,', "is not JSON"),
    ],
)
def test_json_that_open_mpi_6_cannot_read_is_refused(old: str, new: str, message: str) -> None:
    text = openmpi_json.json_rules(MIDDLE).files[openmpi_json.JSON_FILE]
    assert old in text
    with pytest.raises(StrettoError, match=message):
        openmpi_json.read_json(text.replace(old, new), "f")
    # also in an entry that never applies: the MPI reads it all the same
    document = json.loads(text)
    (entry,) = document["collectives"]["allreduce"]
    document["collectives"]["allreduce"] = [entry, {**entry, "rules": [{"alg": "rings"}]}]
    with pytest.raises(StrettoError, match="'rings' is not an algorithm"):
        openmpi_json.read_json(json.dumps(document, indent=1), "f")


def test_a_row_that_nobody_has_run_is_unproven_and_a_changed_file_is_wrong(tmp_path: Path) -> None:
    write(openmpi_json.json_rules(MIDDLE), tmp_path, "test", "openmpi-6", OPENMPI6)
    (row,) = check(tmp_path, CheckPlan(None), quiet=True)
    assert (row.status, row.why) == ("unproven", "no MPI loaded these files here")
    path = tmp_path / openmpi_json.JSON_FILE
    path.write_text(path.read_text().replace('"alg": 4', '"alg": 5'))
    wrong, _ = check(tmp_path, CheckPlan(None), quiet=True)
    assert (wrong.status, wrong.place) == ("wrong", str(path)) and wrong.remedy


@pytest.mark.parametrize("collective", ["foo", "neighbor_allgather", "alltoallw"])
def test_a_row_of_no_collective_is_explained(tmp_path: Path, collective: str) -> None:
    """A list that was edited by hand, or is of another Stretto."""
    mpi = MPIIdentity("openmpi", "openmpi", "4.1.4")
    row = ExportRow(collective, 2, 1, 2, 0, None, [("a", "1")])
    manifest = ExportManifest("openmpi-4", "2026-11-22T00:00:00Z", mpi, {}, [], [row])
    (tmp_path / NAME).write_text(EXPORT.format(manifest))
    with pytest.raises(StrettoError, match="there is no rule for") as caught:
        EXPORT.read(tmp_path / NAME)
    assert caught.value.place and caught.value.remedy


def test_a_row_is_looked_at_at_its_ends_and_just_beside_them() -> None:
    """And on one rank more and less; where another row holds, that is not beside it."""
    mpi = MPIIdentity("openmpi", "openmpi", "4.1.4", "")

    def calls(low: int, high: int | None, *more: ExportRow) -> set[tuple[int, int, bool]]:
        rows = [ExportRow("allreduce", 5, 1, 5, low, high, list(RING)), *more]
        cases = cases_of(ExportManifest("openmpi-4", "", mpi, {}, [], rows))
        return {(c.bytes, c.ranks, c.inside) for c in cases if c.row == 0}

    ends, beside = {(1004, 5, True), (100000, 5, True)}, {(1000, 5, False), (100004, 5, False)}
    others = {(1004, 4, False), (1004, 6, False)}
    assert calls(1004, 100003) == ends | beside | others
    assert calls(1001, 100000) == ends | {(996, 5, False), (100004, 5, False)} | others
    next_one = ExportRow("allreduce", 5, 1, 5, 100004, None, list(RING))
    assert calls(1004, 100003, next_one) == ends | {(1000, 5, False)} | others


def test_an_algorithm_of_han_that_an_mpi_does_not_list_is_named() -> None:
    """Where it lists none of that setting, nothing was said."""
    name = "coll_han_use_bcast_algorithm"
    row = NativeRow("f:1", "bcast", 0, None, 0, None, ((name, "2"),))
    for known, words in (
        ({"coll_tuned_bcast_algorithm=1"}, "Open MPI 4.1.4 has no algorithm 2 for bcast"),
        ({f"{name}=2"}, None),
        (set[str](), None),
    ):
        assert lacking(row, Reader("openmpi", "4.1.4", known)) == words

"""Settings as they were measured, and whether files of Open MPI and MPICH have words for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from exports import FIVE, FOUR, mpir, preset, tuned
from mpis import MPIS
from stretto.export import intel, mpich_leaves, openmpi, openmpi_words
from stretto.export.mpich_tree import CH4, MPIR, Trees
from stretto.export.rules import Rule, for_layouts
from stretto.export.targets import Wishes, writer_for
from stretto.files.layout import RankLayout
from stretto.mpi import from_launcher
from stretto.mpi.variables import control_variables

TWO_BY_TWO = RankLayout(2, 2, 4)


def otherwise(rule: Rule, release: str, measured: str) -> str:
    """Why a rule would do something else than was measured; empty: it would not."""
    assert openmpi_words.unsaid(rule, release) is None
    return openmpi_words.beside_han(rule, release, measured) or ""


def test_what_calls_others_is_taken_where_han_is_as_it_was() -> None:
    for collective, number in openmpi_words.COMPOUND:
        setting = ((f"coll_tuned_{collective}_algorithm", number),)
        off = (*setting, ("coll_han_priority", "0"))
        release = "6" if (collective, number) == ("allreduce", "7") else "5"
        assert not otherwise(Rule(collective, FOUR, 0, None, off), release, release)
        several = Rule(collective, TWO_BY_TWO, 0, None, off)
        assert "it calls other collectives" in otherwise(several, release, release)
        # HAN leaves these to coll/tuned, and was on inside, as it is with the files
        on = Rule(collective, TWO_BY_TWO, 0, None, setting)
        of_han = collective in openmpi_words.of_han(release)
        assert otherwise(on, release, release).startswith(
            "without coll_han_priority=0 HAN ran instead" if of_han else ""
        )
        assert bool(otherwise(on, release, release)) == of_han
        assert "it calls other collectives" in otherwise(on, release, "4"), "HAN is off there"
        if release == "5":
            assert not otherwise(several, "4", "5") and not otherwise(on, "4", "4")
            assert otherwise(on, "4", "5")


def test_values_are_read_as_open_mpi_reads_them() -> None:
    """Numbers by their beginning, octal or hexadecimal, and with a suffix; enumerations by name."""
    base = "coll_tuned_bcast_algorithm"
    size = f"{base}_segmentsize"
    for name, value, number in (
        (size, "8192", 8192), (size, "010", 8), (size, "0x10", 16), (size, "8k", 8192),
        (size, "1M", 1 << 20), (base, "binomial", 6), (base, "0x6", 6),
        ("coll_han_use_allreduce_algorithm", "simple", 2),
    ):  # fmt: skip
        assert openmpi_words.number_of(name, value) == str(number)
    for target in ("openmpi-4", "openmpi-5", "openmpi-6"):
        write = writer_for(target, "5.0.11", None, Wishes()).write
        settings = ((base, "binomial"), (size, "64k"))
        (row,) = write([Rule("bcast", FOUR, 0, None, settings)]).rows
        assert row.settings == ((base, "6"), (size, "65536"))


def test_han_decides_by_its_priority() -> None:
    ring = ("coll_tuned_allreduce_algorithm", "4")
    above = Rule("allreduce", TWO_BY_TWO, 0, None, (ring, ("coll_han_priority", "60")))
    assert otherwise(above, "4", "4").startswith("with coll_han_priority=60 HAN ran instead")
    alone = Rule("allreduce", TWO_BY_TWO, 0, None, (ring,))
    assert not otherwise(alone, "4", "4") and not otherwise(alone, "5", "4")
    assert otherwise(alone, "4", "5").startswith("without coll_han_priority=0 HAN ran instead")
    for release, more in (("4", ()), ("5", (("coll_han_priority", "0"),))):
        (row,) = openmpi.classic([alone], release).rows
        assert row.settings == (ring, *more), "what does the same by itself, for --check"
    simple = (("coll_han_use_allreduce_algorithm", "2"), ("coll_han_priority", "0"))
    rule = Rule("allreduce", TWO_BY_TWO, 0, None, simple)
    assert "with coll_han_priority=0 HAN did not run" in otherwise(rule, "5", "5")
    equal = Rule("allreduce", TWO_BY_TWO, 0, None, (simple[0], ("coll_han_priority", "30")))
    assert "with coll_han_priority=30 HAN did not run" in otherwise(equal, "5", "5"), "tuned's own"


@pytest.mark.parametrize(
    ("collective", "number", "name", "since"),
    [("allgather", 7, "sparbit", 5), ("allgatherv", 6, "sparbit", 5), ("allgather", 8, "dir", 6),
     ("allreduce", 7, "allgather_reduce", 6), ("reduce", 8, "knomial", 6)],
)  # fmt: skip
def test_algorithms_that_a_release_lacks_make_no_rows(
    collective: str, number: int, name: str, since: int
) -> None:
    """Each call with such a row ended the program."""
    rule = Rule(collective, FIVE, 0, None, tuned(collective, number))
    for release in (4, 5, 6):
        words = openmpi_words.unsaid(rule, str(release))
        if release >= since:
            assert words is None
            continue
        assert f"Open MPI {release} has no algorithm {number} ({name}" in str(words)


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_algorithms_are_those_of_the_release(name: str) -> None:
    """By name and number, as MPI_T lists them: no more and no fewer."""
    mpi = MPIS[name].require()
    release = name[-1]
    found = 0
    for variable in control_variables(
        from_launcher(Path(mpi.launcher(1)[0]), mpi.environment)
    ).values():
        words = variable.name.split("_")
        if words[-1] != "algorithm" or words[1] not in ("tuned", "han") or not variable.items:
            continue
        found += 1
        of_han = words[1] == "han"
        collective = "_".join(words[3 if of_han else 2 : -1])
        layout = TWO_BY_TWO if of_han else FOUR
        top = max(value for value, _ in variable.items)
        for value, word in variable.items:
            if value > 0:
                rule = Rule(collective, layout, 0, None, ((variable.name, word),))
                assert openmpi_words.numbered(rule).settings == ((variable.name, str(value)),)
                assert openmpi_words.unsaid(openmpi_words.numbered(rule), release) is None
        beyond = Rule(collective, layout, 0, None, ((variable.name, str(top + 1)),))
        assert "has no algorithm" in str(openmpi_words.unsaid(beyond, release))
    assert found >= 14


@pytest.mark.parametrize("release", ["4", "5"])
def test_a_chain_has_the_fan_out_that_forcing_gives_it(release: str) -> None:
    """The tree's is none that it looks at: the row had it, and forcing the chain's 4."""
    name = "coll_tuned_bcast_algorithm"
    for more, fanout in (
        ({"tree_fanout": 2}, 4),
        ({"chain_fanout": 2}, 2),
        ({"tree_fanout": 8, "chain_fanout": 2}, 2),
    ):
        rule = Rule("bcast", FIVE, 0, None, tuned("bcast", 2, **more))
        export = openmpi.classic([rule], release)
        assert f"\n0 2 {fanout} 0\n" in export.files[openmpi.RULES_FILE]
        rows = openmpi.read_classic(export.files[openmpi.RULES_FILE], "f")
        (read,) = (dict(r.settings) for r in rows if r.first == 5)
        assert read.items() <= dict(rule.settings).items() and f"{name}_tree_fanout" not in read


def test_each_collective_has_layouts_of_its_own() -> None:
    """What another collective was measured on says nothing of this one's rows."""
    rules = [
        Rule("bcast", FOUR, 0, None, tuned("bcast", 6)),
        Rule("allreduce", TWO_BY_TWO, 0, None, tuned("allreduce", 3)),
        Rule("reduce", FOUR, 0, None, ()),
        Rule("reduce", TWO_BY_TWO, 0, None, ()),
    ]
    kept, lost = for_layouts(rules, None, None)
    assert kept == rules[:3]
    assert len(lost) == 1 and lost[0].startswith("reduce on 4 ranks on 2 x 2: ")
    assert lost[0].endswith("are assumed to be on 1 x 4 (--nodes 2 --ppn 2 changes this)")
    kept, _ = for_layouts(rules, 2, None)
    assert kept == [rules[0], rules[1], rules[3]], "where it was measured there"
    ready = [
        Rule(c, x, 0, None, preset(c, 2)) for c, x in (("bcast", FOUR), ("allreduce", TWO_BY_TWO))
    ]
    names = {"I_MPI_ADJUST_BCAST", "I_MPI_ADJUST_ALLREDUCE"}
    assert set(intel.adjust(ready, (2, None)).environment) == names


#: compositions as MPICH 5.0.2 has them: allgatherv's only one is the network's
LEAVES = frozenset(
    [
        *(f"composition={CH4}Allreduce_intra_composition_{g}" for g in ("alpha", "beta", "gamma")),
        f"composition={CH4}Allgatherv_intra_composition_alpha",
        f"algorithm={MPIR}Allreduce_intra_ring",
        f"algorithm={MPIR}Allreduce_intra_recexch",
        f"algorithm={MPIR}Allgatherv_intra_ring",
    ]
)
LIBRARY = Trees(
    {
        layer: {f"collective={c}": {"comm_type=intra": {}} for c in ("allreduce", "allgatherv")}
        for layer in (CH4, MPIR)
    },
    LEAVES,
)


def leaves(collective: str, *settings: tuple[str, str]) -> object:
    return mpich_leaves.leaves_of(Rule(collective, FOUR, 0, None, settings), LIBRARY, {})


def test_mpichs_flat_algorithms_are_measured_without_compositions() -> None:
    """With them, the device runs something else, and the files would turn them off."""
    ring, *pair = mpir("allreduce", "ring")
    alone = leaves("allreduce", ring)
    assert "the device composition was enabled" in str(alone) and "native:ring" in str(alone)
    assert isinstance(leaves("allreduce", ring, *pair), dict)
    assert isinstance(leaves("allreduce", ring, pair[1]), dict), "percoll is the default"
    assert isinstance(leaves("allreduce", ring, ("MPIR_CVAR_DEVICE_COLLECTIVES", "none")), dict)
    all_ = ("MPIR_CVAR_DEVICE_COLLECTIVES", "all")
    assert "composition was enabled" in str(leaves("allreduce", ring, all_, pair[1]))
    assert isinstance(leaves("allgatherv", mpir("allgatherv", "ring")[0]), dict)


@pytest.mark.parametrize("number", ["0", "9", "-1", "auto"])
def test_a_composition_that_there_is_not(number: str) -> None:
    """0 is the MPI's choice, and was taken for the last one; 9 was an exception."""
    found = leaves("allreduce", ("MPIR_CVAR_ALLREDUCE_COMPOSITION", number))
    assert found == f"MPIR_CVAR_ALLREDUCE_COMPOSITION={number} is not a composition"
    assert isinstance(leaves("allreduce", ("MPIR_CVAR_ALLREDUCE_COMPOSITION", "2")), dict)


def test_mpichs_parameters_are_numbers_in_files() -> None:
    recexch = mpir("allreduce", "recexch")
    kval = ("MPIR_CVAR_ALLREDUCE_RECEXCH_KVAL", "4")
    phase = "MPIR_CVAR_ALLREDUCE_RECEXCH_SINGLE_PHASE_RECV"
    found = leaves("allreduce", *recexch, kval, (phase, "yes"))
    assert "single_phase_recv=1" in str(found) and "k=4" in str(found)
    words = leaves("allreduce", *recexch, kval, (phase, "perhaps"))
    assert words == f"{phase}=perhaps is not a number, as the files require"

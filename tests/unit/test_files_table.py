"""Tables: text that C and Python read, places where tables are found."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.cli import apply
from stretto.errors import StrettoError
from stretto.files import locate
from stretto.files.identity import MPIIdentity, cpu_model, cpu_slug
from stretto.files.table import (
    COLLECTIVES,
    Row,
    Table,
    check_choices,
    format_table,
    merge_rows,
    parse_table,
    read_table,
    write_table,
)

NUMBER = st.none() | st.integers(1, 2**24)
WORD = st.from_regex(r"[!#-<>-~]{1,12}", fullmatch=True)
CHOICE = st.sampled_from(["native", "shm", "native:coll_tuned_allreduce_algorithm=4"])

#: collectives that every choice above is for
SHARED = [c for c in COLLECTIVES if c not in ("alltoall", "alltoallv") and "neighbor" not in c]


@st.composite
def rows(draw: st.DrawFn) -> Row:
    low = draw(st.integers(0, 2**62))
    return Row(
        draw(st.sampled_from(SHARED)),
        draw(NUMBER),
        draw(NUMBER),
        low,
        draw(st.none() | st.integers(low, 2**63 - 1)),
        draw(CHOICE),
        draw(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), WORD, max_size=3)),
    )


TABLES = st.builds(
    Table,
    st.sampled_from(["openmpi", "mpich", "intel"]),
    WORD,
    NUMBER,
    NUMBER,
    WORD,
    WORD,
    WORD,
    st.from_regex(r"[ !#-~]{0,30}", fullmatch=True),
    st.lists(rows(), max_size=4),
)


@given(TABLES, st.data())
def test_table_survives_a_round_trip_and_damage_is_refused(
    table: Table, data: st.DataObject
) -> None:
    text = format_table(table)
    assert parse_table(text, "t") == table
    with pytest.raises(StrettoError) as caught:
        parse_table(text[: data.draw(st.integers(0, len(text) - 1))], "t")
    assert str(caught.value.place).startswith("t:")
    at = data.draw(st.integers(0, len(text) - 1))
    changed = text[:at] + data.draw(st.characters(codec="utf-8")) + text[at + 1 :]
    try:
        parse_table(changed, "t")
    except StrettoError as error:
        assert error.place is not None and error.place.startswith("t")


GOOD = """stretto-table 1
mpi openmpi 4.1.4
layout nodes=1 ppn=2
created 2026-11-21T20:00:00Z stretto 0.1.0 host NAME cpu "AMD EPYC"
# collective  nodes  ppn  bytes          choice            evidence
row allreduce 1      2    0-2047         shm               ratio=0.41 source=measured
row allreduce 1      2    2048-inf       native            -
end 2
"""


def test_the_documented_example() -> None:
    table = parse_table(GOOD, "t")
    assert table.cpu == "AMD EPYC"
    assert table.rows[0].ratio == 0.41 and not table.rows[0].simulated
    assert table.rows[1].high is None and table.rows[1].ratio is None
    found = table.find("allreduce", 1, 2, 2047)
    assert found is not None and found.choice == "shm"
    assert table.find("bcast", 1, 2, 1) is None
    assert table.find("allreduce", 2, 2, 1) is None


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("stretto-table 1", "nonsense", 1, "does not begin with"),
        ("stretto-table 1", "stretto-table 9", 1, "version 9"),
        ("mpi openmpi 4.1.4", "mpi lam 7", None, "mpi line is"),
        ("0-2047", "2047", 6, "range of bytes"),
        ("0-2047", "9-3", 6, "empty"),
        ("0-2047", "x-3", 6, "not a size"),
        ("row allreduce 1 ", "row allreduse 1 ", 6, "no collective"),
        ("row allreduce 1 ", "row allreduce 0 ", 6, "must be from 1"),
        (" shm ", " sHm ", 6, "not a choice"),
        ("ratio=0.41", "ratio", 6, "not evidence"),
        ("end 2", "end 3", 8, "2 rows were read"),
        ("end 2\n", "end 2\nrow\n", 9, "nothing may follow"),
        ('"AMD EPYC"', '"AMD EPYC', 4, "not closed"),
        ("layout nodes=1 ppn=2\n", "", 5, "come after"),
        ("created", "made", 4, "not a line of a table"),
        (
            "row allreduce 1      2    2048-inf",
            "mpi mpich 5\nrow allreduce 1 2 1-inf",
            7,
            "not a line",
        ),
    ],
)
def test_bad_lines(old: str, new: str, line: int | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / "x.table"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(StrettoError) as caught:
        read_table(path)
    assert words in caught.value.message
    assert str(caught.value.place) == (str(path) if line is None else f"{path}:{line}")
    assert caught.value.remedy


def test_find_prefers_the_exact_layout_and_the_narrow_range() -> None:
    table = Table(
        "openmpi", "5", None, None, "t", "s", "h", "c",
        [
            Row("bcast", None, None, 0, None, "native"),
            Row("bcast", None, 2, 0, None, "ring"),
            Row("bcast", 4, 2, 0, None, "shm"),
            Row("bcast", 4, 2, 8, 16, "shm+ring"),
        ],
    )  # fmt: skip
    found = [table.find("bcast", *call) for call in ((1, 1, 8), (1, 2, 8), (4, 2, 1), (4, 2, 9))]
    assert [r.choice for r in found if r] == ["native", "ring", "shm", "shm+ring"]


def test_write_refuses_what_could_not_be_read(tmp_path: Path) -> None:
    table = parse_table(GOOD, "t")
    table.rows[0].evidence["note"] = "two words"
    with pytest.raises(StrettoError, match="one word"):
        write_table(table, tmp_path / "x.table")
    assert not (tmp_path / "x.table").exists()


def test_merge_rows() -> None:
    parts = [
        Row("bcast", 1, 2, 0, 7, "shm"),
        Row("bcast", 1, 2, 8, 15, "shm"),
        Row("bcast", 1, 2, 16, None, "native"),
    ]
    assert merge_rows(parts) == [Row("bcast", 1, 2, 0, 15, "shm"), parts[2]]


@pytest.mark.parametrize("text", ["allreduce", "nosuch=shm", "allreduce=Shm", "allreduce=a b"])
def test_bad_forced_choices(text: str) -> None:
    with pytest.raises(StrettoError) as caught:
        check_choices(text)
    assert caught.value.exit_code == 2


def test_mismatches() -> None:
    table = parse_table(GOOD, "t")
    same = MPIIdentity("openmpi", "openmpi", "4.1.4")
    assert table.mismatches(same, 1, 2) == []
    assert "4.1.4" in table.mismatches(MPIIdentity("openmpi", "openmpi", "5.0"), 1, 2)[0]
    assert "mpich" in table.mismatches(MPIIdentity("mpich", "mpich", "5.0"), 1, 2)[0]
    assert "2 x 2" in table.mismatches(same, 2, 2)[0]
    assert table.mismatches(same, None, None) == []


def test_table_that_does_not_fit_is_applied_with_what_follows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rows of one layout do nothing on another one, and nothing said so."""
    version = (
        "it was made on openmpi 4.1.4, but the job uses 4.1.9; it is applied all the same, because"
    )
    for row, then in (("1 2", "no row fits, so the table changes"), ("* 2", "no row"),
                      ("* *", "rows for any layout apply")):  # fmt: skip
        path = tmp_path / "my.table"
        head = GOOD.partition("row ")[0]
        path.write_text(f"{head}row allreduce {row} 0-inf shm -\nend 1\n")
        found, layouts = apply._table(path)
        job: Any = SimpleNamespace(
            mpi=SimpleNamespace(family="openmpi", name="Open MPI 4.1.9",
                                identity=MPIIdentity("openmpi", "openmpi", "4.1.9")),
            layout=SimpleNamespace(nodes=1, ppn=4),
        )  # fmt: skip
        apply._check_fits(found, layouts, path, job, "--table")
        err = capsys.readouterr().err
        assert f"but the job has 1 x 4; {then}" in err, (row, err)
        assert f"{version} --table names it" in err


def test_find_table_prefers_the_users_and_the_exact_layout(tmp_path: Path) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path / "user"), "STRETTO_SITE_TABLES": str(tmp_path / "site")}
    cpu, mpi = "AMD EPYC 9R14 96-Core Processor", MPIIdentity("openmpi", "openmpi", "4.1.4")
    assert locate.find_table(mpi, cpu, 1, 2, env) is None
    for base, layout in (("site", "any"), ("site", "1x2"), ("user/stretto/tables", "1x2")):
        path = tmp_path / base / "openmpi-4.1.4" / "amd-epyc-9r14" / f"{layout}.table"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(GOOD)
        assert locate.find_table(mpi, cpu, 1, 2, env) == path
    site = tmp_path / "site/openmpi-4.1.4/amd-epyc-9r14/any.table"
    assert locate.find_table(mpi, cpu, 4, 2, env) == site
    assert locate.find_table(MPIIdentity("mpich", "mpich", "5"), cpu, 1, 2, env) is None


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_table_of_the_site_is_found_by_another_user_behind_his_own() -> None:
    mpi, cpu, nobody = MPIIdentity("openmpi", "openmpi", "4.1.4"), "AMD EPYC 9R14", 65534
    with tempfile.TemporaryDirectory() as base:
        home = Path(base) / "user"
        home.mkdir()
        os.chown(home, nobody, nobody)
        Path(base).chmod(0o755)
        env = {"XDG_DATA_HOME": str(home), "STRETTO_SITE_TABLES": f"{base}/site"}
        site = locate.table_path(mpi, cpu, 1, 2, locate.site_tables(env))
        own = locate.table_path(mpi, cpu, 1, 2, locate.user_tables(env))
        site.parent.mkdir(parents=True)
        site.write_text(GOOD)
        os.seteuid(nobody)
        try:
            assert locate.find_table(mpi, cpu, 1, 2, env) == site
            assert read_table(site).rows and not os.access(site, os.W_OK, effective_ids=True)
            own.parent.mkdir(parents=True)
            own.write_text(GOOD)
            assert locate.find_table(mpi, cpu, 1, 2, env) == own
        finally:
            os.seteuid(0)


@pytest.mark.parametrize(
    ("cpuinfo", "model", "slug"),
    [
        ("model name\t: Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz\n", None, "intel-xeon-gold-6148"),
        ("model name : AMD EPYC 9R14 96-Core Processor\n", None, "amd-epyc-9r14"),
        # a virtual machine's: the name alone would be that of five generations
        (
            "cpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n",
            "AMD EPYC (family 25, model 1)",
            "amd-epyc-family-25-model-1",
        ),
        ("cpu family : 25\nmodel : 1\nmodel name : AMD EPYC 7R13\n", "AMD EPYC 7R13", None),
        ("model name : AMD EPYC\n", "AMD EPYC", "amd-epyc"),
        ("CPU implementer\t: 0x41\nCPU part\t: 0xd40\n", "Arm Neoverse-V1", "arm-neoverse-v1"),
        ("CPU implementer : 0x46\nCPU part : 0x001\n", "Fujitsu A64FX", "fujitsu-a64fx"),
        ("CPU implementer : 0x99\nCPU part : 0x123\n", "implementer 0x99 part 0x123", None),
        ("processor : 0\ncpu : POWER9, altivec supported\n", "POWER9, altivec supported", None),
        ("processor : 0\nisa : rv64imafdc\n", "unknown", "unknown"),
    ],
)
def test_cpu_names(cpuinfo: str, model: str | None, slug: str | None) -> None:
    found = cpu_model(cpuinfo)
    assert model is None or found == model
    assert slug is None or cpu_slug(found) == slug

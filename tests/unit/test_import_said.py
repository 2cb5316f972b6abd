"""What the user says of results that were made elsewhere: taken, or refused, but never ignored."""

from __future__ import annotations

import bz2
import errno
import gzip
import json
import lzma
import os
import re
import shlex
import shutil
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from imported import HEADING, Import, log_of, table
from stretto.errors import StrettoError, UsageError
from stretto.files.bench import read_bench
from stretto.imports import natives, walk
from stretto.imports.mpis import agreed, assigned, identity_of
from stretto.imports.natives import Naming
from stretto.imports.templates import SETTINGS, Template, chosen, default_for, templates
from stretto.mpi.algorithms import NativeAlgorithm

LAYOUT = ("--nodes", "1", "--ppn", "4")
MINE = (*LAYOUT, "--mpi", "openmpi@4.1.4")
SETTING = "coll_tuned_{collective}_algorithm={algorithm}"
MPICH = "MPIR_CVAR_{COLLECTIVE}_INTRA_ALGORITHM={algorithm}"
THREE = "coll_tuned_allreduce_algorithm=3"
WHERE = (*MINE, "--pattern", "run{launch}/{algorithm}.log")
IMB = """\
# Benchmarking Allreduce
# #processes = 8
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.03         0.03         0.03
            8         1000         5.50        19.59        12.69
"""


@pytest.fixture
def imports(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Import:
    return Import(capsys, tmp_path)


#: names of files below ``logs``, options, and what the refusal says
REFUSED: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "an MPI that is not known": (
        "a.log", (*LAYOUT, "--mpi", "spectrum@10.4"),
        ("is not an MPI that Stretto supports", "--mpi openmpi@4.0.1 (or mpich@..., mvapich@..."),
    ),
    "an MPI that nobody names": ("a.log", LAYOUT, ("the MPI of this measurement is unknown",)),
    "nothing but the table": (
        "a.log", (),
        ("MPI, nodes and ranks of this measurement are unknown",
         "give --mpi openmpi@4.0.1 --nodes 8 --ppn 36, or {mpi}, {nodes} and {ppn} in --pattern"),
    ),
    "a value that is not printed": ("a.log", (*MINE, "--value", "mean"), ("is not valid",)),
    "names without a place for them": (
        "a.log", (*LAYOUT, "--mpi", "openmpi@4", "--mpi", "ompi=openmpi@4.1.4"),
        ("mark the name by {mpi} in --pattern",),
    ),
    "a version in a place": (
        "x-4 (old).log", (*LAYOUT, "--pattern", "x-{version}.log", "--mpi", "openmpi"),
        ("'4 (old)' is not a version", "x-4 (old).log:2"),
    ),
    "two versions": (
        "openmpi5-4.1.log", (*LAYOUT, "--pattern", "{mpi}-{version}.log"),
        ("gives version 4.1, but the MPI is openmpi@5",),
    ),
    "settings where no algorithm is known": (
        "a.log", (*MINE, "--setting", THREE), ("none is known",),
    ),
    "settings of another MPI": (
        "3.log", (*MINE, "--algorithm", "0", "--setting", MPICH),
        ("settings of MPICH, but no file with an algorithm is from it",),
    ),
    "settings of several algorithms": (
        "run0/3.log run0/4.log", (*WHERE, "--setting", THREE),
        ("selects one algorithm, but there are several: 3, 4", "replace its number or name"),
    ),
    "no ranks": (
        "a.log", ("--mpi", "openmpi@4.1.4"),
        ("the nodes and ranks of this measurement are unknown",),
    ),
    "no nodes": (
        "a.log", ("--mpi", "openmpi@4.1.4", "--ppn", "2"),
        ("are unknown (ranks per node 2)", "give --nodes 8 --ppn 36"),
    ),
    "no ranks a node": (
        "a.log", ("--mpi", "openmpi@4.1.4", "--nodes", "4"),
        ("are unknown (nodes 4)",),
    ),
    "0 nodes": (
        "N0n8/a.log", ("--mpi", "openmpi@4.1.4", "--pattern", "N{nodes}n{nranks}/*.log"),
        ("nodes of 0, from the name of the file, is not a layout",),
    ),
    "0 ranks": (
        "N2n0/a.log", ("--mpi", "openmpi@4.1.4", "--pattern", "N{nodes}n{nranks}/*.log"),
        ("nranks of 0, from the name of the file, is not a layout",),
    ),
}  # fmt: skip
REFUSED |= {
    f"setting {text!r}": ("a.log", (*MINE, "--algorithm", "4", "--setting", text), (words,))
    for words, texts in (
        ("form NAME=VALUE", ("x", "", "A={algorithm},", "A={algorithm},B", "=4", "A=")),
        ("has braces", ("A={algorithm", "A=algorithm}", "A_{Collective}={algorithm}", "A={nodes}",
                        "A={{algorithm}}")),
    )
    for text in texts
}  # fmt: skip
REFUSED |= {
    f"version {text!r}": (
        "a.log", (*LAYOUT, "--mpi", f"openmpi@{text}"), ("is not a version of an MPI",)
    )
    for text in ("../../x", "4/1", "", "4 1", ".4", "4\n")
}  # fmt: skip
REFUSED |= {
    f"pattern {text}": (
        " ".join(f"Nx{i}/ompi/allreduce_algo3.log" for i in range(3)), (*LAYOUT, "--pattern", text),
        (f"does not end in {end!r}", f"--pattern '{text}'", "no file fits --pattern (3 files)"),
    )
    for text, end in (
        ("N{nodes}/{mpi}/{collective}_algo{algorithm}.log",) * 2,
        ("{mpi}/{collective}_alg{algorithm}.txt", "{collective}_alg{algorithm}.txt"),
        ("x/{mpi}/{algorithm}.log", "x/{mpi}/{algorithm}.log"),
        ("{algorithm}/{algorithm}.log", "{algorithm}/{algorithm}.log"),
    )
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_import_of_unclear_results_is_refused(name: str, tmp_path: Path, imports: Import) -> None:
    files, words, expected = REFUSED[name]
    for number, file in enumerate(files.split(" ") if "(" not in files else [files]):
        log_of(tmp_path / "logs" / file, number)
    assert imports(tmp_path / "logs", *words).code in (1, 2) and not imports.names
    assert all(text in imports.said for text in expected), imports.said
    assert not list(tmp_path.glob("*.jsonl")), "outside the directory"


def test_naming_of_0_is_the_default_of_open_mpi_alone() -> None:
    """A preset of Intel MPI's, and a number that is none of coll/tuned's, mean themselves."""
    segment = "coll_tuned_{collective}_algorithm_segmentsize={algorithm}"
    for mpi, setting, expected in (
        ("openmpi", SETTING, "bare"),
        ("intel", "I_MPI_ADJUST_{COLLECTIVE}={algorithm}", "native:I_MPI_ADJUST_BCAST=0"),
        ("openmpi", segment, "native:coll_tuned_bcast_algorithm_segmentsize=0"),
    ):
        naming = Naming(templates([setting], ()), print)
        assert naming.candidate(identity_of(mpi), "bcast", "0") == expected
    with pytest.raises(UsageError, match="form NAME=VALUE"):
        naming.candidate(identity_of("openmpi"), "bcast", "3,x")


@pytest.mark.parametrize(
    "settings",
    [["ompi=" + SETTING, "mpich=" + MPICH], [SETTING, MPICH], [MPICH, "openmpi=" + SETTING]],
)
def test_settings_of_several_mpis_are_each_of_one(
    settings: list[str], tmp_path: Path, imports: Import
) -> None:
    words = [word for text in settings for word in ("--setting", text)]
    assert imports(two_mpis(tmp_path), *TWO_MPIS, *words).code == 0, imports.said
    assert imports.by_file == {
        "openmpi-4.1.4-1x4.bench.jsonl": {"bare", f"native:{THREE}"},
        "mpich-77.1-1x4.bench.jsonl": {
            "bare", "native:MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=ring"
        },
    }  # fmt: skip


def two_mpis(tmp_path: Path) -> Path:
    for run, (mpi, names) in enumerate({"ompi": "03", "mpich": ("default", "ring")}.items()):
        for i, name in enumerate(names):
            log_of(tmp_path / "logs" / mpi / f"{name}.log", 2 * run + i)
    return tmp_path / "logs"


TWO_MPIS = (*LAYOUT, "--pattern", "{mpi}/{algorithm}.log", "--mpi", "ompi=openmpi@4.1.4", "--mpi",
            "mpich=mpich@77.1")  # fmt: skip


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([MPICH, "mpich=" + MPICH], None),
        ([MPICH, MPICH], "two values are for MPICH"),
        (["intel=" + MPICH, "I_MPI_ADJUST_X={algorithm}"], None),
        (["openmpi=" + MPICH], "settings of MPICH, not of Open MPI"),
        (["intel=" + SETTING], "settings of Open MPI, not of Intel MPI"),
        ([f"{SETTING},{MPICH}"], "settings of Open MPI and MPICH"),
        (["mpich=4"], "form NAME=VALUE"),
    ],
)
def test_templates_of_another_mpi_are_refused(given: list[str], expected: str | None) -> None:
    if expected is None:
        assert templates(given, ())
        return
    with pytest.raises(UsageError) as caught:
        templates(given, ())
    assert expected in f"{caught.value.message} {caught.value.remedy}"


def test_templates_for_results_are_the_nearest() -> None:
    given = ["mine=A={algorithm}", "openmpi4=B={algorithm}", SETTING, "UCX_X=1"]
    found = templates(given, ["mine"])
    four, five, mpich = (identity_of(x) for x in ("openmpi@4.1.4", "openmpi@5.0.6", "mpich@5.0.2"))
    places = ((four, "mine"), (four, "ompi"), (five, None), (mpich, None))
    taken = [chosen(found, *x) for x in places]
    assert [t.text for t in taken if t] == ["A={algorithm}", "B={algorithm}", SETTING, "UCX_X=1"]
    assert chosen(found[:3], mpich, "mpich") is None


def test_import_of_algorithm_that_a_collective_lacks_keeps_the_others(
    tmp_path: Path, imports: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = NativeAlgorithm("allreduce", "ring", "4", "tuned",
                           (("coll_tuned_allreduce_algorithm", "4"),))  # fmt: skip
    monkeypatch.setattr(Naming, "_algorithms", lambda *_: [ring, ring])
    for run in range(3):
        log_of(tmp_path / "logs" / f"run{run}" / "ring.log", run)
        log_of(tmp_path / "logs" / f"run{run}" / "bush.log", run + 3)
    assert imports(tmp_path / "logs", *WHERE, "--json").code == 0
    (left_out,) = json.loads(imports.printed)["left_out"]
    assert left_out.startswith(f"{tmp_path / 'logs' / 'run0' / 'bush.log'}")
    lacks = "openmpi 4.1.4, as installed here, has no algorithm 'bush' for allreduce"
    assert f"and 2 more: left out: {lacks}; it has 4 ring; or" in left_out
    assert len(read_bench(imports.out / imports.names[0]).launches) == 3
    for path in (tmp_path / "logs").glob("*/ring.log"):
        path.unlink()
    assert imports(tmp_path / "logs", *WHERE, "-o", str(tmp_path / "none")).code == 1
    assert f"error: {lacks}" in imports.said and "run0/bush.log:2" in imports.said


# --mpi


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("openmpi", ["openmpi@4.1.4"], "openmpi-4.1.4-1x4.bench.jsonl"),
        ("ompi", ["openmpi@4.1.4"], "openmpi-4.1.4-1x4.bench.jsonl"),
        ("openmpi4", ["openmpi@4.1.4"], "openmpi-4.1.4-1x4.bench.jsonl"),
        ("openmpi4.1.4", ["openmpi@4"], "openmpi-4.1.4-1x4.bench.jsonl"),
        ("ompi", ["ompi=openmpi", "openmpi@4.1.4"], "openmpi-4.1.4-1x4.bench.jsonl"),
        ("ompi", ["ompi=openmpi@4.0.1", "openmpi@4.1.4"], "openmpi-4.0.1-1x4.bench.jsonl"),
        ("ompi", ["ompi=mpich@5", "openmpi@4.1.4"], "mpich-5-1x4.bench.jsonl"),
        ("openmpi41", ["openmpi41=openmpi@4.1.4"], "openmpi-4.1.4-1x4.bench.jsonl"),
        ("openmpi", ["openmpi@v4.1.4"], "openmpi-4.1.4-1x4.bench.jsonl"),
        ("openmpi", ["intel@2021.18"], "contains openmpi, but --mpi names intel@2021.18"),
        ("openmpi5", ["openmpi@4.1.4"], "contains openmpi@5, but --mpi names openmpi@4.1.4"),
        (
            "openmpi41",
            ["openmpi@4.1.4"],
            "give the MPI of that name: --mpi openmpi41=openmpi@4.1.4",
        ),
        ("openmpi", ["openmip=openmpi@4.1.4"], "no file has the name 'openmip' at {mpi}"),
        ("openmpi", ["openmpi@4", "mpich@5"], "gives two values for the MPI of all files"),
        ("openmpi", ["openmpi=openmpi", "openmpi=mpich"], "gives two values for openmpi"),
        # MVAPICH is of MPICH's family, and another MPI than MPICH of the same version
        ("mvapich3", [], "mvapich-3-1x4.bench.jsonl"),
        ("mpich3", [], "mpich-3-1x4.bench.jsonl"),
        ("mvapich2-2.3.7", [], "mvapich-2.3.7-1x4.bench.jsonl"),
        ("x", ["x=MVAPICH-3.0"], "mvapich-3.0-1x4.bench.jsonl"),
        # openmpi-4x2.bench.jsonl was of 4 nodes
        ("openmpi", [], "openmpi-unknown-1x4.bench.jsonl"),
    ],
)
def test_import_of_mpi_in_a_place_agrees_with_the_option(
    tmp_path: Path, imports: Import, name: str, given: list[str], expected: str
) -> None:
    log_of(tmp_path / "logs" / name / "x.log")
    words = [word for text in given for word in ("--mpi", text)]
    done = imports(tmp_path / "logs", *LAYOUT, "--pattern", "{mpi}/x.log", *words)
    if expected.endswith(".jsonl"):
        assert done.code == 0 and done.names == [expected], done.said
    else:
        assert done.code != 0 and not done.names and expected in done.said


def test_import_of_files_with_and_without_a_name_asks_for_builds(
    tmp_path: Path, imports: Import
) -> None:
    """`openmpi` is what --mpi says; a name of its own may be a build of its own."""
    log_of(tmp_path / "logs" / "openmpi" / "x.log", 0)
    log_of(tmp_path / "logs" / "y.log", 1)
    words = [*MINE, "--pattern", "{mpi}/x.log", "--pattern", "y.log"]
    assert imports(tmp_path / "logs", *words, "-o", str(tmp_path / "first")).code == 0
    assert len(read_bench(next((tmp_path / "first").iterdir())).launches) == 2

    log_of(tmp_path / "logs" / "ompi" / "x.log", 2)
    assert imports(tmp_path / "logs", *words).code == 1 and not imports.names
    assert "would both go to openmpi-4.1.4-1x4" in imports.said
    say = re.search(r"one MPI: (.*?);", imports.said)
    assert say is not None, "and it works as it stands"
    assert imports(tmp_path / "logs", *words, *say.group(1).split()).code == 0, imports.said
    assert imports.names == ["openmpi-4.1.4-1x4.bench.jsonl"]


def test_agreed_versions_are_the_most_exact() -> None:
    assert agreed("4", "4.1.4") == agreed("4.1.4", "4", "unknown") == "4.1.4"
    assert agreed("unknown") == "unknown"
    assert agreed("4.1", "4.10") is None and agreed("4.1.4", "4", "5") is None
    assert assigned(["a=b=ompi@4"])[0]["a=b"].version == "4"
    with pytest.raises(UsageError, match="names two versions"):
        identity_of("openmpi4@5.0.6")


@pytest.mark.parametrize(
    ("family", "setting"),
    [("mpich", MPICH), ("intel", "I_MPI_ADJUST_{COLLECTIVE}={algorithm}"), ("openmpi", SETTING)],
)
def test_naming_without_the_mpi_asks_for_settings(
    family: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stretto.imports.natives.installations", lambda: [])
    with pytest.raises(StrettoError, match="not installed here") as caught:
        Naming((), print).candidate(identity_of(f"{family}@77.1"), "bcast", "7")
    remedy = str(caught.value.remedy)
    assert "on PATH" in remedy and setting in remedy and remedy.count("--setting") == 1
    found = re.search("--setting '(.*?)'", remedy)
    assert found is not None
    naming = Naming(templates([found.group(1)], ()), print)
    assert naming.candidate(identity_of(family), "bcast", "7")
    for called, expected in (("mine", f"--mpi mine={family}@"), (None, f"--mpi {family}@")):
        with pytest.raises(StrettoError) as caught:
            Naming((), print).candidate(identity_of(family), "bcast", "7", called)
        assert f"{family} (version not given)" in caught.value.message
        assert expected in (caught.value.remedy or "") and "unknown" not in str(caught.value)


def test_naming_asks_the_installation_of_the_nearest_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = [
        SimpleNamespace(family="openmpi", version=v, library="", libmpi=Path("x"), name=v)
        for v in ("5.0.10", "5.0.1")
    ]
    monkeypatch.setattr(natives, "installations", lambda: here)
    asked = [
        Naming((), print)._installation(identity_of(f"openmpi@{version}"), None).version
        for version in ("5.0.1", "5.0.10", "5.0.7", "5")
    ]
    assert asked == ["5.0.1", "5.0.10", "5.0.10", "5.0.10"]


@pytest.mark.parametrize(
    ("words", "algorithm", "beside", "found"),
    [
        ("openmpi@5.0.11", "4", "coll_han_priority=0", "on several nodes HAN decided"),
        ("openmpi@4.1.4", "4", "", ""),
        ("mpich@5.0.2", "ring", "MPIR_CVAR_DEVICE_COLLECTIVES=percoll,"
         "MPIR_CVAR_{COLLECTIVE}_DEVICE_COLLECTIVE=0", "the collectives of the device were used"),
        ("intel@2021.18", "4", "", ""),
    ],
)  # fmt: skip
def test_naming_notes_settings_that_the_files_do_not_show(
    words: str, algorithm: str, beside: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi = identity_of(words)
    setting = SETTINGS[mpi.family]
    whole = f"{setting},{beside}" if beside else setting
    notes: dict[str, None] = {}
    naming = Naming((), lambda text: notes.update({text: None}))

    def algorithms(self: Naming, of: object, called: str | None) -> list[NativeAlgorithm]:
        out = []
        for collective in ("allreduce", "bcast"):
            pairs = [x.split("=") for x in Template(whole).filled(collective, algorithm).split(",")]
            pairs.sort(key=lambda pair: not pair[0].lower().endswith("_algorithm"))
            chosen = tuple((n, v) for n, v in pairs)
            out.append(NativeAlgorithm(collective, algorithm, algorithm, "tuned", chosen))
        return out

    monkeypatch.setattr(Naming, "_algorithms", algorithms)
    for collective in ("allreduce", "bcast"):
        assert naming.candidate(mpi, collective, algorithm).endswith("=0") == bool(beside)
    assert len(notes) == bool(beside), notes
    for note in notes:
        assert f"with {beside}, which the files do not show" in note and found in note
        assert note.endswith(f"--setting '{setting}'"), "how to say otherwise"
    # where nobody can be asked, the remedy names what the algorithm needs
    assert default_for(mpi) == whole


# --out


def test_import_onto_a_full_disk_leaves_nothing(
    tmp_path: Path, imports: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in (2, 4):
        log_of(tmp_path / "logs" / f"n{n}.log", n)
    asked: list[int] = []

    def full(handle: int) -> None:
        asked.append(handle)
        if len(asked) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    words = [*MINE, "--pattern", "n{nranks}.log"]
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert imports(tmp_path / "logs", *words).code == 1
    assert "cannot write the results: No space left" in imports.said and "df -h" in imports.said
    assert str(imports.out / "openmpi-4.1.4-1x4.bench.jsonl") in imports.said and not imports.names
    assert imports(tmp_path / "logs", *words).code == 0 and len(imports.names) == 2


# files of other kinds


@pytest.mark.timeout(600)
def test_import_of_what_is_not_a_file_is_left_out_or_refused(
    tmp_path: Path, imports: Import
) -> None:
    """A pipe that nobody writes into is read for ever; a lost link ended the import."""
    logs = tmp_path / "logs"
    log_of(logs / "a.log")
    os.mkfifo(logs / "pipe.log")
    (logs / "to-pipe.log").symlink_to("pipe.log")
    (logs / "lost.log").symlink_to("not-there")
    (logs / "round.log").symlink_to("round.log")
    (logs / "mem.log").symlink_to("/proc/self/mem")  # a regular file; to read it is an error
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(logs / "s.log"))
    assert imports(logs, *MINE).code == 0, imports.said
    assert len(read_bench(imports.out / imports.names[0]).launches) == 1
    for name in ("pipe.log", "to-pipe.log", "s.log", "lost.log", "round.log"):
        assert f"/{name}: a broken link, a pipe, a socket or a device" in imports.said
    assert "/mem.log: cannot read a benchmark's output: Input/output error" in imports.said
    for place, code, words in (
        (logs / "mem.log", 75, "Input/output error"),
        (logs / "pipe.log", 1, "it is a pipe, a socket or a device"),
        (Path("/dev/zero"), 1, "it is a pipe, a socket or a device"),
        (logs / "lost.log", 1, "No such file"),
    ):
        assert imports(place, *MINE).code == code and words in imports.said, place
    there, back = os.pipe()  # as a shell does for <(zcat a.log.gz)
    os.write(back, table().encode())
    os.close(back)
    assert imports(f"/dev/fd/{there}", *MINE, "-o", str(tmp_path / "o")).code == 0, imports.said
    os.close(there)


def test_import_of_another_benchmarks_output_names_it_once(tmp_path: Path, imports: Import) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for i in range(3):
        (logs / f"imb{i}.log").write_text(IMB.replace("12.", f"1{i}."))
    assert imports(logs, *MINE).code == 1 and "broken" not in imports.said
    assert imports.said.count("Intel MPI Benchmarks") == 1, imports.said
    assert "this is the output of Intel MPI Benchmarks (and 2 files more)" in imports.said
    assert "try: stretto import imb" in imports.said
    log_of(logs / "osu.log")
    assert imports(logs, *MINE).code == 0 and imports.said.count("Intel MPI Benchmarks") == 1
    words = "imb0.log and 2 more: this is the output of Intel MPI Benchmarks; stretto import imb"
    assert words in imports.said
    assert imports(logs / "osu.log", *MINE, kind="imb").code == 1
    assert "output of the OSU micro-benchmarks" in imports.said and "import osu" in imports.said


def test_import_of_packed_files_reads_gzip_and_names_others(
    tmp_path: Path, imports: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = table(sizes=3).encode()
    packed = gzip.compress(text)
    log = tmp_path / "a.log.gz"
    log.write_bytes(packed)
    assert imports(log, *MINE).code == 0
    assert [s.bytes for s in read_bench(imports.out / imports.names[0]).samples] == [8, 16, 32]
    new = ("-o", str(tmp_path / "new"))
    for data, words in (
        (packed[:-20], "the compressed file is damaged"),
        (packed[:30] + b"nothing of it" + packed[43:], "the compressed file is damaged"),
    ):
        log.write_bytes(data)
        assert imports(log, *MINE, *new).code == 1 and words in imports.said
        assert str(log) in imports.said
    log.write_bytes(packed)
    with monkeypatch.context() as patch:
        patch.setattr(walk, "MOST_BYTES", len(text) - 1)
        assert imports(log, *MINE, *new).code == 1 and "too large" in imports.said
    logs = tmp_path / "logs"
    logs.mkdir()
    for i in range(3):
        (logs / f"a{i}.log.xz").write_bytes(lzma.compress(text))
    assert imports(logs, *MINE, *new).code == 1 and "no table" not in imports.said
    assert "compressed with xz" in imports.said and "(and 2 files more)" in imports.said
    assert "try: unxz it first" in imports.said
    log_of(logs / "osu.log")
    (logs / "b.log.bz2").write_bytes(bz2.compress(text))
    (logs / "c.log.zst").write_bytes(b"\x28\xb5\x2f\xfd and what follows")
    assert imports(logs, *MINE, *new).code == 0 and imports.said.count("compressed with") == 3
    assert "a0.log.xz and 2 more: compressed with xz" in imports.said
    assert "unzstd it first" in imports.said


def test_import_of_wrong_results_and_of_0_bytes_names_them_once(
    tmp_path: Path, imports: Import
) -> None:
    log = tmp_path / "a.log"
    head = "# OSU MPI Allgather Latency Test v7.4\n" + HEADING.replace(")\n", ")  Validation\n")
    log.write_text(head + "4   11.69   Fail\n8   12.10   Pass\n")
    assert imports(log, *MINE).code == 0
    words = f"allgather, 4 B: the benchmark found wrong results ({log}:3); candidate bare"
    assert f"{words} is excluded for allgather" in imports.said
    assert imports(log, *MINE, "--json", "-o", str(tmp_path / "new")).code == 0
    assert len(json.loads(imports.printed)["found_wrong"]) == 1
    log.write_text(IMB + IMB.replace("Allreduce", "Bcast").replace("12.", "13."))
    assert imports(log, "--mpi", "intel@2021", "--ppn", 8, kind="imb").code == 0
    words = "lines of 0 bytes are left out, because they send nothing: 1 (allreduce)"
    assert words in imports.said and imports.said.count("0 bytes") == 1, imports.said


# names of files that tell algorithms

BASE = "bcast/N8n288/run{run}/openmpi4/bcast_{name}.log"
NAMED = ("--mpi", "openmpi@4.0.1", "--nodes", "8", "--ppn", "36")


def named_logs(base: Path, names: list[str], form: str = BASE) -> Path:
    for run in (1, 2):
        for i, name in enumerate(names):
            log_of(base / form.format(run=run, name=name), 10 * i + run, "Broadcast")
    return base


@pytest.mark.parametrize(
    ("form", "names"),
    [
        (BASE, ["algo0", "algo1", "algo7", "default"]),
        (BASE, ["algorithm_3", "algorithm_12"]),
        (BASE, ["algo-binomial", "algo-knomial"]),
        ("bcast/8x36/rep{run}/alg{name}/x.log", ["1", "2", "default"]),
        ("8x36.{run}_alg{name}.log", ["1", "2", "default"]),
    ],
)
def test_import_of_names_with_algorithms_is_refused_with_a_pattern_that_fits(
    tmp_path: Path, imports: Import, form: str, names: list[str]
) -> None:
    """All were runs of the default, without a word."""
    where = named_logs(tmp_path / "osu", names, form)
    assert imports(where, *NAMED).code == 1 and not imports.names, imports.said
    assert "the algorithm differs between tables" in imports.said
    assert "--algorithm default" in imports.said
    form = imports.said.partition("give its position, as in ")[2].partition("; if all")[0]
    given = shlex.split(form)
    assert given[0] == "--pattern"
    assert imports(where, *NAMED, *given, "--setting", SETTING).code == 0, imports.said
    by_pattern = imports.candidates
    assert by_pattern - {"bare"}
    shutil.rmtree(imports.out)
    assert imports(where, *NAMED, "--setting", SETTING).code == 0, imports.said
    assert imports.candidates == by_pattern, "the name says as much"


@pytest.mark.parametrize(
    ("names", "words", "code", "note"),
    [
        (["algo1", "algo2"], ["--pattern", "run{launch}/*/*.log"], 1, False),
        (["algo1", "algo2"], ["--algorithm", "default"], 0, False),
        (["default"], [], 0, False),
        (["a", "b"], [], 0, False),
        (["algo7"], [], 0, True),
    ],
)
def test_import_of_names_takes_default_and_notes_an_algorithm(
    tmp_path: Path, imports: Import, names: list[str], words: list[str], code: int, note: bool
) -> None:
    where = named_logs(tmp_path / "algo9", names)  # the directory that was named is not one of them
    assert imports(where, *NAMED, *words).code == code, imports.said
    assert ("algorithm 7 is named, but counted as native" in imports.said) == note

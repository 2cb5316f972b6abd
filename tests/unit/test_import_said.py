"""What the user says of results that were made elsewhere: taken, or refused, but never ignored."""

from __future__ import annotations

import errno
import os
import re
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from stretto.cli import main
from stretto.errors import StrettoError, UsageError
from stretto.files.bench import read_bench
from stretto.files.bench_writer import BenchWriter
from stretto.files.table import read_table
from stretto.imports import natives
from stretto.imports.mpis import agreed, assigned, identity_of
from stretto.imports.natives import Naming
from stretto.imports.templates import SETTINGS, default_for, templates
from stretto.mpi.algorithms import NativeAlgorithm

TITLE = "\n# OSU MPI Allreduce Latency Test v7.4\n"
HEADING = "# Size       Avg Latency(us)\n"
MINE = ["--nodes", "1", "--ppn", "4"]
SETTING = "coll_tuned_{collective}_algorithm={algorithm}"


def allreduce(run: int, factor: float = 1.0) -> str:
    lines = (f"{8 << i}   {factor * (20 + i) + run * 0.013:.2f}\n" for i in range(12))
    return TITLE + HEADING + "".join(lines)


def log_of(path: Path, run: int = 0, factor: float = 1.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(allreduce(run, factor))
    return path


class Import:
    """Runs an import, and holds what came of it."""

    def __init__(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        self.capsys = capsys
        self.out = tmp_path / "out"
        self.code = -1
        self.said = self.printed = ""

    def __call__(self, place: Path, *more: str) -> Import:
        words = ["import", "osu", str(place), *MINE, *more]
        self.code = main(words if "-o" in more else [*words, "-o", str(self.out)])
        captured = self.capsys.readouterr()
        self.said, self.printed = " ".join(captured.err.split()), captured.out
        return self

    @property
    def names(self) -> list[str]:
        return sorted(p.name for p in self.out.glob("*"))

    @property
    def candidates(self) -> set[str]:
        return {s.candidate for p in self.out.glob("*.jsonl") for s in read_bench(p).samples}


@pytest.fixture
def imports(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Import:
    return Import(capsys, tmp_path)


# --setting


def campaign(base: Path, *algorithms: str) -> Path:
    for i, name in enumerate(algorithms):
        for run in range(2):
            log_of(base / f"run{run}" / f"{name}.log", run, 1 + i / 10)
    return base


WHERE = ["--mpi", "openmpi@4.1.4", "--pattern", "run{launch}/{algorithm}.log"]


def test_settings_without_the_algorithm_do_not_merge_algorithms(
    tmp_path: Path, imports: Import
) -> None:
    """Three algorithms were one candidate, with a third of the launches each."""
    logs = campaign(tmp_path / "logs", "default", "3", "4")
    literal = ["--setting", "coll_tuned_allreduce_algorithm=3"]
    assert imports(logs, *WHERE, *literal).code == 2 and not imports.names
    assert "stands for one algorithm, and these are several: 3, 4" in imports.said
    assert "put {algorithm} where" in imports.said

    for run in range(2):  # one by itself, whatever its name: "recursive" may well be 3
        (logs / f"run{run}" / "4.log").unlink()
        (logs / f"run{run}" / "3.log").rename(logs / f"run{run}" / "recursive.log")
    assert imports(logs, *WHERE, *literal).code == 0, imports.said
    assert imports.candidates == {"bare", "native:coll_tuned_allreduce_algorithm=3"}


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("x", "form NAME=VALUE"),
        ("", "form NAME=VALUE"),
        ("A={algorithm},", "form NAME=VALUE"),
        ("A={algorithm},B", "form NAME=VALUE"),
        ("=4", "form NAME=VALUE"),
        ("A=", "form NAME=VALUE"),
        ("A={algorithm", "the braces"),
        ("A=algorithm}", "the braces"),
        ("A_{Collective}={algorithm}", "the braces"),
        ("A={nodes}", "the braces"),
        ("A={{algorithm}}", "the braces"),
    ],
)
def test_settings_that_are_none(
    tmp_path: Path, imports: Import, setting: str, expected: str
) -> None:
    log = log_of(tmp_path / "a.log")
    words = ["--mpi", "openmpi@4.1.4", "--setting", setting, "--algorithm", "4"]
    assert imports(log, *words).code == 2 and not imports.names
    assert expected in imports.said and "--setting" in imports.said


def test_settings_of_no_algorithm(tmp_path: Path, imports: Import) -> None:
    """They were ignored: what was measured with them was the MPI by itself."""
    log = log_of(tmp_path / "a.log")
    words = ["--mpi", "openmpi@4.1.4", "--setting", "coll_tuned_allreduce_algorithm=3"]
    assert imports(log, *words).code == 2 and not imports.names
    assert "no file's algorithm is known" in imports.said
    assert imports(log, *words, "--algorithm", "3").code == 0
    assert imports.candidates == {"native:coll_tuned_allreduce_algorithm=3"}


def test_an_algorithms_name_cannot_make_settings_of_its_own() -> None:
    naming = Naming(templates([SETTING], ()), print)
    mpi = identity_of("openmpi")
    assert naming.candidate(mpi, "bcast", "3").endswith("coll_tuned_bcast_algorithm=3")
    with pytest.raises(UsageError, match="form NAME=VALUE"):
        naming.candidate(mpi, "bcast", "3,x")


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
        ("openmpi", ["intel@2021.18"], "says openmpi, --mpi intel@2021.18"),
        ("openmpi5", ["openmpi@4.1.4"], "says openmpi@5, --mpi openmpi@4.1.4"),
        ("openmpi41", ["openmpi@4.1.4"], "say what the name means: --mpi openmpi41=openmpi@4.1.4"),
        ("openmpi", ["openmip=openmpi@4.1.4"], "no file has the name 'openmip' at {mpi}"),
        ("openmpi", ["openmpi@4", "mpich@5"], "says twice what the MPI of all files is"),
        ("openmpi", ["openmpi=openmpi", "openmpi=mpich"], "says twice what openmpi is"),
    ],
)
def test_what_is_said_of_an_mpi_that_stands_in_the_place(
    tmp_path: Path, imports: Import, name: str, given: list[str], expected: str
) -> None:
    """It was ignored."""
    log_of(tmp_path / "logs" / name / "x.log")
    words = [word for text in given for word in ("--mpi", text)]
    done = imports(tmp_path / "logs", "--pattern", "{mpi}/x.log", *words)
    if expected.endswith(".jsonl"):
        assert done.code == 0 and done.names == [expected], done.said
    else:
        assert done.code != 0 and not done.names and expected in done.said


def test_names_without_a_place_for_them(tmp_path: Path, imports: Import) -> None:
    log = log_of(tmp_path / "a.log")
    assert imports(log, "--mpi", "openmpi@4", "--mpi", "ompi=openmpi@4.1.4").code == 2
    assert "{mpi} in --pattern says where the name stands" in imports.said


def test_files_with_and_without_a_name(tmp_path: Path, imports: Import) -> None:
    """`openmpi` is what --mpi says; a name of its own may be a build of its own."""
    log_of(tmp_path / "logs" / "openmpi" / "x.log", 0)
    log_of(tmp_path / "logs" / "y.log", 1)
    words = ["--pattern", "{mpi}/x.log", "--pattern", "y.log", "--mpi", "openmpi@4.1.4"]
    assert imports(tmp_path / "logs", *words, "-o", str(tmp_path / "first")).code == 0
    assert len(read_bench(next((tmp_path / "first").iterdir())).launches) == 2

    log_of(tmp_path / "logs" / "ompi" / "x.log", 2)
    assert imports(tmp_path / "logs", *words).code == 1 and not imports.names
    assert "would both be openmpi-4.1.4-1x4" in imports.said
    say = re.search(r"say so: (.*?);", imports.said)
    assert say is not None, "and it works as it stands"
    assert imports(tmp_path / "logs", *words, *say.group(1).split()).code == 0, imports.said
    assert imports.names == ["openmpi-4.1.4-1x4.bench.jsonl"]


@pytest.mark.parametrize("text", ["../../x", "4/1", "", "4 1", ".4", "4\n"])
def test_versions_that_are_none(tmp_path: Path, imports: Import, text: str) -> None:
    """One wrote outside the directory."""
    log = log_of(tmp_path / "logs" / "a.log")
    assert imports(log, "--mpi", f"openmpi@{text}").code == 2
    assert "is no version of an MPI" in imports.said and not list(tmp_path.glob("*.jsonl"))


def test_versions_in_places(tmp_path: Path, imports: Import) -> None:
    log_of(tmp_path / "logs" / "x-4 (old).log")
    words = ["--pattern", "x-{version}.log", "--mpi", "openmpi"]
    assert imports(tmp_path / "logs", *words).code == 2
    assert "'4 (old)' is no version" in imports.said and "x-4 (old).log:2" in imports.said
    (tmp_path / "logs" / "x-4 (old).log").rename(tmp_path / "logs" / "openmpi5-4.1.log")
    assert imports(tmp_path / "logs", "--pattern", "{mpi}-{version}.log").code == 1
    assert "says version 4.1, 'openmpi5' 5" in imports.said
    with pytest.raises(UsageError, match="names two versions"):
        identity_of("openmpi4@5.0.6")


def test_the_more_exact_of_two_versions() -> None:
    assert agreed("4", "4.1.4") == agreed("4.1.4", "4", "unknown") == "4.1.4"
    assert agreed("unknown") == "unknown"
    assert agreed("4.1", "4.10") is None and agreed("4.1.4", "4", "5") is None
    assert assigned(["a=b=ompi@4"])[0]["a=b"].version == "4"


@pytest.mark.parametrize(
    ("family", "setting"),
    [
        ("mpich", "MPIR_CVAR_{COLLECTIVE}_INTRA_ALGORITHM={algorithm}"),
        ("intel", "I_MPI_ADJUST_{COLLECTIVE}={algorithm}"),
        ("openmpi", SETTING),
    ],
)
def test_an_mpi_that_is_not_here(family: str, setting: str) -> None:
    with pytest.raises(StrettoError, match="not installed here") as caught:
        Naming((), print).candidate(identity_of(f"{family}@77.1"), "bcast", "7")
    assert caught.value.remedy is not None
    assert "on PATH" in caught.value.remedy and setting in caught.value.remedy
    found = re.search("--setting '(.*)'", caught.value.remedy)
    assert found is not None
    assert Naming(templates([found.group(1)], ()), print).candidate(
        identity_of(family), "bcast", "7"
    )
    assert caught.value.remedy.count("--setting") == 1


def test_the_results_own_version_is_asked_before_others(monkeypatch: pytest.MonkeyPatch) -> None:
    here = [
        SimpleNamespace(
            family="openmpi", version=v, library="", libmpi=Path("x"), name=f"Open MPI {v}"
        )
        for v in ("5.0.10", "5.0.1")
    ]
    monkeypatch.setattr(natives, "installations", lambda: here)
    asked: list[str] = []

    def discover(found: SimpleNamespace) -> list[object]:
        asked.append(found.version)
        return []

    monkeypatch.setattr(natives, "discover", discover)
    for version in ("5.0.1", "5.0.10", "5.0.7", "5"):
        with pytest.raises(StrettoError, match="no algorithm"):
            Naming((), print).candidate(identity_of(f"openmpi@{version}"), "bcast", "7")
    assert asked == ["5.0.1", "5.0.10", "5.0.10", "5.0.10"]


# --out


@pytest.mark.parametrize("place", ["file", "file/sub", "file/sub/sub", "nowhere"])
def test_places_that_are_no_directory(tmp_path: Path, imports: Import, place: str) -> None:
    """There was a NotADirectoryError."""
    log = log_of(tmp_path / "a.log")
    (tmp_path / "file").write_text("")
    (tmp_path / "nowhere").symlink_to("not-there")
    words = ["--mpi", "openmpi@4.1.4", "-o", str(tmp_path / place)]
    assert imports(log, *words).code == 1
    assert "this is no directory" in imports.said and "--out" in imports.said
    assert str(tmp_path / place.partition("/")[0]) in imports.said


@pytest.mark.parametrize("asked", ["exists", "unlink", "replace"])
def test_a_place_without_permission(
    tmp_path: Path, imports: Import, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    log = log_of(tmp_path / "a.log")
    real = getattr(Path, asked)

    def refuse(self: Path, *more: object, **named: object) -> object:
        if tmp_path / "closed" in self.parents:  # root may go everywhere, and tests run as root
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))
        return real(self, *more, **named)

    monkeypatch.setattr(Path, asked, refuse)
    words = ["--mpi", "openmpi@4.1.4", "-o", str(tmp_path / "closed" / "x")]
    assert imports(log, *words).code == 1
    assert "cannot write the results: Permission denied" in imports.said
    assert "check the permissions" in imports.said


def test_a_name_that_is_too_long(tmp_path: Path, imports: Import) -> None:
    log = log_of(tmp_path / "a.log")
    assert imports(log, "--mpi", "openmpi@4.1.4", "-o", str(tmp_path / ("x" * 300))).code == 1
    assert "cannot write the results: File name too long" in imports.said


def test_a_full_disk_leaves_nothing(
    tmp_path: Path, imports: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first file stayed, and was in the way of doing it again."""
    for n in (2, 4):
        log_of(tmp_path / "logs" / f"n{n}.log", n)
    append = BenchWriter.append

    def fail(self: BenchWriter, line: str, sync: bool) -> None:
        if "1x4" in self.path.name:
            full = os.open("/dev/full", os.O_WRONLY)
            os.dup2(full, self.handle)
            os.close(full)
        append(self, line, sync)

    words = ["--mpi", "openmpi@4.1.4", "--pattern", "n{nranks}.log"]
    with monkeypatch.context() as patch:
        patch.setattr(BenchWriter, "append", fail)
        assert imports(tmp_path / "logs", *words).code == 1
    assert "cannot write the results: No space left" in imports.said and "df -h" in imports.said
    assert str(imports.out / "openmpi-4.1.4-1x4.bench.jsonl") in imports.said
    assert "kept" not in imports.said and not imports.names
    assert imports(tmp_path / "logs", *words).code == 0 and len(imports.names) == 2


# What is no file


@pytest.mark.timeout(600)
def test_what_is_no_file_is_left_out(tmp_path: Path, imports: Import) -> None:
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
    assert imports(logs, "--mpi", "openmpi@4.1.4").code == 0, imports.said
    assert len(read_bench(imports.out / imports.names[0]).launches) == 1
    for name in ("pipe.log", "to-pipe.log", "s.log"):
        assert f"/{name}: a pipe, a socket or a device" in imports.said
    for name in ("lost.log", "round.log"):
        assert f"/{name}: a link that cannot be followed" in imports.said
    assert "/mem.log: cannot read a benchmark's output: Input/output error" in imports.said
    assert imports(logs / "mem.log", "--mpi", "openmpi@4.1.4").code == 75, "it was asked for"


@pytest.mark.timeout(600)
def test_a_pipe_that_is_named(tmp_path: Path, imports: Import) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "lost").symlink_to("not-there")
    assert imports(tmp_path / "pipe", "--mpi", "openmpi@4.1.4").code == 1
    assert "might never end" in imports.said and "<(cat " in imports.said
    assert imports(Path("/dev/zero"), "--mpi", "openmpi@4.1.4").code == 1
    assert imports(tmp_path / "lost", "--mpi", "openmpi@4.1.4").code == 1
    assert "no such file" in imports.said and "where links lead" in imports.said

    there, back = os.pipe()  # as a shell does for <(zcat a.log.gz)
    os.write(back, allreduce(0).encode())
    os.close(back)
    assert imports(Path(f"/dev/fd/{there}"), "--mpi", "openmpi@4.1.4").code == 0, imports.said
    os.close(there)


# What comes next


def test_the_next_command_can_be_pasted(tmp_path: Path, imports: Import) -> None:
    out = tmp_path / "im p" / "$x"
    log = log_of(tmp_path / "a.log")
    assert imports(log, "--mpi", "openmpi@4.1.4", "-o", str(out)).code == 0
    assert f"stretto tune --from '{out}/openmpi-4.1.4-1x4.bench.jsonl'\n" in imports.printed
    assert f"stretto compare '{out}'/*.bench.jsonl" in imports.printed


def test_a_table_of_native_results_says_native(tmp_path: Path, imports: Import) -> None:
    """As docs/howto/import.md says."""
    logs = tmp_path / "logs"
    for name, factor in (("default", 1.0), ("3", 0.5)):
        for run in range(6):
            log_of(logs / f"run{run}" / f"{name}.log", run, factor)
    assert imports(logs, *WHERE, "--setting", SETTING).code == 0, imports.said
    assert main(["tune", "--from", str(imports.out / imports.names[0])]) == 0
    table = read_table(imports.out / "openmpi-4.1.4-1x4.table")
    assert {row.choice for row in table.rows} == {"native"}


# what is taken for granted


@pytest.mark.parametrize(
    ("words", "algorithm", "beside", "found"),
    [
        ("openmpi@5.0.11", "4", "coll_han_priority=0", "on several nodes HAN decided"),
        ("openmpi@4.1.4", "4", "", ""),
        ("mpich@5.0.2", "ring", "MPIR_CVAR_DEVICE_COLLECTIVES=percoll,"
         "MPIR_CVAR_{COLLECTIVE}_DEVICE_COLLECTIVE=0", "the device's own collectives decided"),
        ("intel@2021.18", "4", "", ""),
    ],
)  # fmt: skip
def test_settings_that_nobody_named_are_said(
    words: str, algorithm: str, beside: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By number ``algo4`` became ``...,coll_han_priority=0``, without a word."""
    mpi = identity_of(words)
    setting = SETTINGS[mpi.family]
    notes: list[str] = []
    naming = Naming((), lambda text: None if text in notes else notes.append(text))

    def algorithms(self: Naming, of: object, called: str | None) -> list[NativeAlgorithm]:
        out = []
        for collective in ("allreduce", "bcast"):
            text = f"{setting},{beside}" if beside else setting
            for name, value in (("collective", collective), ("COLLECTIVE", collective.upper()),
                                ("algorithm", algorithm)):  # fmt: skip
                text = text.replace(f"{{{name}}}", value)
            pairs = [part.split("=") for part in text.split(",")]
            pairs.sort(key=lambda pair: not pair[0].lower().endswith("_algorithm"))
            settings = tuple((n, v) for n, v in pairs)
            out.append(NativeAlgorithm(collective, algorithm, algorithm, "tuned", settings))
        return out

    monkeypatch.setattr(Naming, "_algorithms", algorithms)
    for collective in ("allreduce", "bcast"):
        candidate = naming.candidate(mpi, collective, algorithm)
        assert candidate.endswith("=0") == bool(beside)
    assert len(notes) == bool(beside), notes
    for note in notes:
        assert f"with {beside}, which the files do not say" in note and found in note
        assert note.endswith(f"--setting '{setting}'"), "how to say otherwise"
    # where nobody can be asked, the remedy names what the algorithm needs
    assert default_for(mpi) == (f"{setting},{beside}" if beside else setting)


@pytest.mark.parametrize("name", ["N0n8", "N2n0"])
def test_no_nodes_and_no_ranks_are_no_layout(name: str, tmp_path: Path, imports: Import) -> None:
    """0 was taken for "not said", and the remedy was to say it."""
    place = log_of(tmp_path / name / "a.log").parents[1]
    words = ["import", "osu", str(place), "--mpi", "openmpi@4.1.4", "-o", str(imports.out)]
    assert main([*words, "--pattern", "N{nodes}n{nranks}/*.log"]) != 0
    said = imports.capsys.readouterr().err
    zero = "nodes" if name == "N0n8" else "nranks"
    assert f"{zero} of 0, as the file's name says, is no layout" in said
    assert "correct --pattern" in said and not imports.names

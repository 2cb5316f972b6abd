"""Tables of several algorithms, MPIs or sizes in one log: told apart by the text, or refused."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mpis import REPOSITORY
from stretto.cli import main
from stretto.files.bench import read_bench

DATA = REPOSITORY / "tests" / "data" / "imports"
Out = pytest.CaptureFixture[str]
MINE = ("--mpi", "openmpi@4.1.5", "--nodes", "2", "--ppn", "8")
INTEL = ("--mpi", "intel@2021.9", "--nodes", "2", "--ppn", "8")
HERE = ("--nodes", "2", "--ppn", "8")
MPICH = ("--mpi", "mpich@4.1", "--nodes", "2", "--ppn", "8")
SETTING = "coll_tuned_{collective}_algorithm={algorithm},coll_tuned_use_dynamic_rules=1"
TUNED = "coll_tuned_bcast_algorithm={},coll_tuned_use_dynamic_rules=1"
OPTIONS = {"MINE": MINE, "INTEL": INTEL, "HERE": HERE, "MPICH": MPICH}
RULES = "--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_bcast_algorithm"
ARGV = str(RULES.split())[1:-1]


def table(number: int, title: str = "Broadcast", sharp: str = "# ") -> str:
    rows = "".join(f"{8 << i}      {10 + i + number * 0.37:.2f}\n" for i in range(8))
    return f"\n{sharp}OSU MPI {title} Latency Test v7.4\n{sharp}Size       Avg Latency(us)\n{rows}"


def log(*parts: str) -> str:
    """Return a log of lines, with a table of other times wherever ``T`` stands."""
    out, number = "", 0
    for part in parts:
        number += part == "T"
        out += table(number) if part == "T" else part + "\n"
    return out


def imported(
    tmp_path: Path, capsys: Out, *words: str, kind: str = "osu"
) -> tuple[dict[str, int], str]:
    """Import files; return the launches by candidate (with the MPI, but for 4.1.5), or why not."""
    out = tmp_path / "out"
    code = main(["import", kind, *words, "-o", str(out)])
    said = " ".join(capsys.readouterr().err.split())
    found: Counter[str] = Counter()
    for path in sorted(out.glob("*.jsonl")):
        where = path.name.removesuffix(".bench.jsonl").removeprefix("openmpi-4.1.5-2x8")
        for launch in read_bench(path).launches:
            for names in launch.candidates.values():
                found[" ".join(filter(None, [where, names[0].removeprefix("native:")]))] += 1
    assert (code == 0) == bool(found), said
    return dict(found), said


def cases(name: str) -> list[Any]:
    """Return log, options and expectation of each case in a file of ``tests/data/imports``."""
    out = []
    for text in (DATA / name).read_text().split("\n## ")[1:]:
        head, expected, *lines = text.splitlines()
        title, options = (word.strip() for word in head.split("|"))
        words = options.replace("SETTING", SETTING).split()
        lines = [
            x.replace("RULES", RULES).replace("ARGV", ARGV).replace("ESC", "\x1b") for x in lines
        ]
        given = (*OPTIONS.get(words[0], words[:1]), *words[1:])
        out.append(pytest.param(log(*lines), given, expected.removeprefix("= "), id=title))
    return out


def counts(text: str) -> dict[str, int]:
    """Return the launches of each candidate in ``2 bare; 1 tuned 3``."""
    pairs = (part.split(" ", 1) for part in text.split("; "))
    return {re.sub(r"^tuned (\d)$", lambda m: TUNED.format(m[1]), k): int(n) for n, k in pairs}


@pytest.mark.parametrize(("text", "options", "expected"), cases("separated.txt"))
def test_import_log_of_several_contexts_keeps_them_apart(
    tmp_path: Path, capsys: Out, text: str, options: tuple[str, ...], expected: str
) -> None:
    (tmp_path / "a.log").write_text(text)
    found, said = imported(tmp_path, capsys, str(tmp_path / "a.log"), *options)
    assert found == counts(expected), said


@pytest.mark.parametrize(("text", "options", "expected"), cases("refused.txt"))
def test_import_log_with_unclear_context_is_refused(
    tmp_path: Path, capsys: Out, text: str, options: tuple[str, ...], expected: str
) -> None:
    (tmp_path / "a.log").write_text(text)
    found, said = imported(tmp_path, capsys, str(tmp_path / "a.log"), *options)
    assert not found and expected in said, (found, said)
    assert re.search(r"a\.log:\d+", said) and " try: " in said


# several files


def files(base: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text)
    return base


def test_files_of_several_contexts_are_told_apart(tmp_path: Path, capsys: Out) -> None:
    command = "+ mpirun -np 16 {} ./osu_bcast\n"
    logs = files(tmp_path / "logs", {
        "a.log": command.format(f"{RULES} 3") + table(1),
        "b.log": command.format("") + table(2),
        "c.log": table(3),
        "d.log": command.format(f"{RULES} 3") + table(4),
    })  # fmt: skip
    found, said = imported(tmp_path, capsys, str(logs), *MINE)
    assert found == {TUNED.format(3): 2, "bare": 2}, said


def test_what_a_copy_says_counts_for_the_original(tmp_path: Path, capsys: Out) -> None:
    """The job's output tells the algorithm, and the logs it was made of do not."""
    texts = {f"run{i}.log": table(i) for i in range(3)}
    whole = "".join(f"+ mpirun {RULES} {i} ./osu_bcast\n{t}" for i, t in enumerate(texts.values()))
    logs = files(tmp_path / "logs", {**texts, "slurm.out": whole})
    found, said = imported(tmp_path, capsys, str(logs), *MINE)
    assert found == {"bare": 1, TUNED.format(1): 1, TUNED.format(2): 1}, said


NAMES = {
    "several algorithms by name": (("bcast_ring.log", "bcast_knomial.log"), MINE, "{algorithm}"),
    "several algorithms by setting": (
        ("I_MPI_ADJUST_BCAST_3.log", "I_MPI_ADJUST_BCAST_4.log"),
        INTEL,
        "{algorithm}",
    ),
    "another MPI": (
        ("intel.log",),
        MINE,
        "the file's name contains intel, but --mpi names openmpi",
    ),
    "another version": (
        ("openmpi-4.0.5/bcast.log",),
        MINE,
        "the file's name contains openmpi@4.0.5, but --mpi names",
    ),
    "several numbers of ranks": (("np16.log", "np32.log"), MINE, "32 ranks are named here, but"),
    "several layouts": (("2x8/a.log", "4x8/a.log"), MINE, "the size of the job differs"),
    "several numbers of nodes": (("bcast-2nodes.log", "bcast-4nodes.log"), MINE, "of the job"),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files_that_say_otherwise_are_refused(
    tmp_path: Path, capsys: Out, name: str
) -> None:
    names, options, expected = NAMES[name]
    logs = files(tmp_path / "logs", {n: table(i) for i, n in enumerate(names)})
    found, said = imported(tmp_path, capsys, str(logs), *options)
    assert not found and expected in said, said
    more = ("--algorithm", "default") if "algorithm" in expected else ("--pattern", "*")
    found, said = imported(tmp_path, capsys, str(logs), *options, *more)
    assert sum(found.values()) == len(names), said


# titles


NO_HASH = table(0, "", sharp="").replace("MPI  ", "MPI ").replace("Avg Latency(us)", "Latency (us)")


@pytest.mark.parametrize("collective", [[], ["--collective", "bcast"]])
def test_titles_without_a_hash_are_titles(
    tmp_path: Path, capsys: Out, collective: list[str]
) -> None:
    """--collective made bcast of a point-to-point table, and the right one was dropped."""
    (tmp_path / "report.txt").write_text(NO_HASH.lstrip() + table(1, sharp=""))
    found, said = imported(tmp_path, capsys, str(tmp_path / "report.txt"), *MINE, *collective)
    (path,) = (tmp_path / "out").glob("*.bench.jsonl")
    assert found == {"bare": 1}
    assert read_bench(path).samples[0].times_us == [10.37]
    assert ("report.txt:1: left out: its title names latency" in said) == bool(collective)
    assert len(list((tmp_path / "out").glob("*.net.json"))) == (not collective)


def test_a_table_of_another_collective_is_left_out(tmp_path: Path, capsys: Out) -> None:
    (tmp_path / "a.log").write_text(table(0) + table(1, "Allreduce"))
    words = [str(tmp_path / "a.log"), *MINE, "--collective"]
    found, said = imported(tmp_path, capsys, *words, "allreduce")
    assert (
        found == {"bare": 1}
        and "a.log:2: left out: its title names bcast, but --collective names" in said
    )
    assert (
        imported(tmp_path / "x", capsys, *words, "reduce")[1].count("no table contains reduce") == 1
    )


# numbers


@pytest.mark.parametrize("row", ["1e999", "nan", "-1", "0.00", "1e300", "9" * 5000, "inf"])
@pytest.mark.parametrize("kind", ["osu", "imb"])
def test_numbers_that_none_can_be_are_named(
    tmp_path: Path, capsys: Out, kind: str, row: str
) -> None:
    """An integer of 5,000 digits ended in a traceback."""
    heads = {
        "osu": "# OSU MPI Broadcast Latency Test v7.4\n# Size  Avg Latency(us)\n",
        "imb": "# Benchmarking Allreduce\n# #processes = 16\n"
        "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n",
    }
    rows = {"osu": "8  {}\n", "imb": "8 1000 1.00 {0} {0}\n"}
    log = tmp_path / "a.log"
    log.write_text(heads[kind] + rows[kind].format(row))
    at = len(heads[kind].splitlines()) + 1
    found, said = imported(tmp_path, capsys, str(log), *MINE, kind=kind)
    assert not found and f"a.log:{at}: this line of the table is broken" in said
    assert "there was nothing to import" in said
    log.write_text(heads[kind] + f"{'9' * 5000} 1000 1.00 1.00 1.00\n" + rows[kind].format("2.00"))
    assert sum(imported(tmp_path / "x", capsys, str(log), *MINE, kind=kind)[0].values()) == 1


NINES = "9" * 5000


@pytest.mark.parametrize(
    ("benchmark", "line"),
    [
        ("Allreduce", f"# #processes = {NINES}"),
        ("Allreduce", f"# ( {NINES} additional processes waiting in x)"),
        ("Uniband", f"# window_size = {NINES}"),
    ],
)
def test_numbers_of_processes_that_none_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, benchmark: str, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    heading = "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n"
    text = f"# Benchmarking {benchmark}\n{line}\n{heading}8 1000 1.00 1.00 1.00\n"
    Path("a.log").write_text(text)
    assert main(["import", "imb", "a.log", *MINE]) == 0


# IMB


def imb(*processes: int) -> str:
    return "".join(
        f"# Benchmarking Bcast\n# #processes = {n}\n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        f"            8         1000         1.00         2.{n:02}         1.50\n\n"
        for n in processes
    )


IMB_HEAD = "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n"


def test_imbs_numbers_of_processes_are_no_mixture(tmp_path: Path, capsys: Out) -> None:
    text = "+ mpirun -genv I_MPI_ADJUST_BCAST 3 -np 16 -ppn 8 IMB-MPI1 bcast\n" + IMB_HEAD
    text += imb(2, 4, 8, 16).replace("= 8\n", "= 8\n# ( 8 additional processes waiting in x)\n")
    text += "+ mpirun -genv I_MPI_ADJUST_BCAST 4 -np 16 -ppn 8 IMB-MPI1 bcast\n" + IMB_HEAD
    (tmp_path / "a.log").write_text(text + imb(16))
    found, said = imported(
        tmp_path, capsys, str(tmp_path / "a.log"), "--mpi", "intel@2021.9", kind="imb"
    )
    three, four = (f"I_MPI_ADJUST_BCAST={n}" for n in "34")
    assert found == {
        f"intel-2021.9-1x2 {three}": 1, f"intel-2021.9-1x4 {three}": 1,
        f"intel-2021.9-1x8 {three}": 1, f"intel-2021.9-2x8 {three}": 1,
        f"intel-2021.9-2x8 {four}": 1,
    }, said  # fmt: skip

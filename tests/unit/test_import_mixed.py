"""Tables of several algorithms, MPIs or sizes in one log: told apart by the text, or refused."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from mpis import REPOSITORY
from stretto.cli import main
from stretto.files.bench import read_bench

CASES = REPOSITORY.parent / "shared" / "cases"
MINE = ("--mpi", "openmpi@4.1.5", "--nodes", "2", "--ppn", "8")
INTEL = ("--mpi", "intel@2021.9", "--nodes", "2", "--ppn", "8")
HERE = ("--nodes", "2", "--ppn", "8")
MPICH = ("--mpi", "mpich@4.1", "--nodes", "2", "--ppn", "8")
SETTING = "coll_tuned_{collective}_algorithm={algorithm},coll_tuned_use_dynamic_rules=1"
TUNED = "coll_tuned_bcast_algorithm={},coll_tuned_use_dynamic_rules=1"
RULES = "--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_bcast_algorithm"


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
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *words: str, kind: str = "osu"
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


#: lines of a log with T for a table, options, and the launches of each candidate
TOLD_APART = {
    "echoed commands": (
        [
            f"+ mpirun -np 16 {RULES} 3 ./osu_bcast",
            "T",
            f"+ mpirun -np 16 {RULES} 4 ./osu_bcast",
            "T",
        ],
        MINE,
        {TUNED.format(3): 1, TUNED.format(4): 1},
    ),
    "algorithm 0 and none are the MPI by itself": (
        [
            f"$ mpirun -np 16 {RULES} 0 ./osu_bcast",
            "T",
            "$ mpirun -np 16 ./osu_bcast",
            "T",
            f"$ mpirun -np 16 {RULES} 4 ./osu_bcast",
            "T",
        ],
        MINE,
        {"bare": 2, TUNED.format(4): 1},
    ),
    "the same algorithm again": (
        [
            f"+ mpirun -np 16 {RULES} 3 ./osu_bcast",
            "T",
            f"+ mpirun -np 16 {RULES} 3 ./osu_bcast",
            "T",
        ],
        MINE,
        {TUNED.format(3): 2},
    ),
    "a failed run between": (
        [
            f"+ mpirun -np 16 {RULES} 3 ./osu_bcast",
            "T",
            f"+ mpirun -np 16 {RULES} 9 ./osu_bcast",
            "[node1:77] *** An error occurred in MPI_Bcast",
            f"+ mpirun -np 16 {RULES} 4 ./osu_bcast",
            "T",
            f"+ mpirun {RULES} 5 ./osu_bcast",
            "killed",
        ],
        MINE,
        {TUNED.format(3): 1, TUNED.format(4): 1},
    ),
    "exports": (
        [
            "+ export I_MPI_ADJUST_BCAST=3",
            "+ I_MPI_ADJUST_BCAST=3",
            "T",
            "T",
            "export I_MPI_ADJUST_BCAST=4",
            "T",
            "unset I_MPI_ADJUST_BCAST",
            "T",
        ],
        INTEL,
        {
            "intel-2021.9-2x8 I_MPI_ADJUST_BCAST=3": 2,
            "intel-2021.9-2x8 I_MPI_ADJUST_BCAST=4": 1,
            "intel-2021.9-2x8 bare": 1,
        },
    ),
    "assignments before commands": (
        [
            "+ OMPI_MCA_coll_tuned_bcast_algorithm=6 OMPI_MCA_coll_tuned_use_dynamic_rules=true "
            "mpirun -n 16 /opt/osu/osu_bcast",
            "T",
            "+ mpirun -n 16 /opt/osu/osu_bcast",
            "T",
        ],
        MINE,
        {TUNED.format(6): 1, "bare": 1},
    ),
    "-genv and -env": (
        [
            "mpiexec.hydra -genv I_MPI_ADJUST_BCAST 5 -n 16 -ppn 8 osu_bcast",
            "T",
            "mpiexec.hydra -env I_MPI_ADJUST_BCAST=6 -n 16 -ppn 8 osu_bcast",
            "T",
        ],
        INTEL,
        {"intel-2021.9-2x8 I_MPI_ADJUST_BCAST=5": 1, "intel-2021.9-2x8 I_MPI_ADJUST_BCAST=6": 1},
    ),
    "srun with variables of MPICH": (
        [
            "$ MPIR_CVAR_BCAST_INTRA_ALGORITHM=binomial srun -N 2 -n16 ./osu_bcast",
            "T",
            "$ srun --export=ALL,MPIR_CVAR_BCAST_INTRA_ALGORITHM=auto -N2 -n 16 ./osu_bcast",
            "T",
        ],
        MPICH,
        {"mpich-4.1-2x8 MPIR_CVAR_BCAST_INTRA_ALGORITHM=binomial": 1, "mpich-4.1-2x8 bare": 1},
    ),
    "mpirun_rsh with variables of MVAPICH": (
        [
            "mpirun_rsh -np 16 -hostfile h MV2_USE_KNOMIAL_BCAST=1 ./osu_bcast",
            "T",
            "mpirun_rsh -np 16 -hostfile h MV2_USE_KNOMIAL_BCAST=0 ./osu_bcast",
            "T",
        ],
        ("--mpi", "mvapich@2.3.7", *HERE),
        {
            "mvapich-2.3.7-2x8 MV2_USE_KNOMIAL_BCAST=1": 1,
            "mvapich-2.3.7-2x8 MV2_USE_KNOMIAL_BCAST=0": 1,
        },
    ),
    "commands in colour": (
        [f"\x1b[32m+ mpirun {RULES} {a} ./osu_bcast\x1b[0m" if a else "T" for a in (3, 0, 4, 0)],
        MINE,
        {TUNED.format(3): 1, TUNED.format(4): 1},
    ),
    "commands as Python prints them, and env behind srun": (
        [
            f"running {['mpirun', '-np', '16', *RULES.split(), '3', './osu_bcast']}",
            "T",
            "+ srun -n16 -N2 env OMPI_MCA_coll_tuned_use_dynamic_rules=1 "
            "OMPI_MCA_coll_tuned_bcast_algorithm=4 ./osu_bcast",
            "T",
        ],
        MINE,
        {TUNED.format(3): 1, TUNED.format(4): 1},
    ),
    "variables that only count runs": (
        ["+ RUN=1 mpirun ./osu_bcast", "T", "+ RUN=2 LANG=C mpirun ./osu_bcast", "T"],
        MINE,
        {"bare": 2},
    ),
    "lists of as many nodes": (["Running on n[01-02]", "T", "on n[3,7]", "T"], MINE, {"bare": 2}),
    "settings of other collectives": (
        [f"+ mpirun {RULES} 3 --mca coll_tuned_reduce_algorithm 2 ./osu_bcast", "T"],
        MINE,
        {TUNED.format(3): 1},
    ),
    "settings that all have": (
        [
            "+ mpirun --mca pml ucx -x UCX_TLS=rc,sm ./osu_bcast",
            "T",
            f"+ mpirun --mca pml ucx -x UCX_TLS=rc,sm {RULES} 3 ./osu_bcast",
            "T",
        ],
        MINE,
        {"bare": 1, TUNED.format(3): 1},
    ),
    "settings that not all have": (
        ["+ mpirun --mca pml ucx ./osu_bcast", "T", "+ mpirun --mca pml ob1 ./osu_bcast", "T"],
        MINE,
        {"pml=ucx": 1, "pml=ob1": 1},
    ),
    "names with versions": (
        ["openmpi@4.1.5%gcc@12 osu_bcast", "T", "mpich@4.1%gcc@12 osu_bcast", "T"],
        HERE,
        {"bare": 1, "mpich-4.1-2x8 bare": 1},
    ),
    "modules": (
        [
            "+ module load gcc/12 openmpi/4.1.5",
            "T",
            "T",
            "+ module purge",
            "+ module load intel/2023 impi/2021.9",
            "T",
        ],
        HERE,
        {"bare": 2, "intel-2021.9-2x8 bare": 1},
    ),
    "libraries that name themselves": (
        [
            "Open MPI v4.1.5, package: Open MPI root@node",
            "T",
            "[0] MPI startup(): Intel(R) MPI Library, Version 2021.9  Build 20230306",
            "T",
            "MVAPICH2 Version : 2.3.7",
            "T",
            "mpirun (Open MPI) 4.1.5",
            "T",
        ],
        HERE,
        {"bare": 2, "intel-2021.9-2x8 bare": 1, "mvapich-2.3.7-2x8 bare": 1},
    ),
    "paths": (
        [
            "$ /opt/openmpi-4.1.5/bin/mpirun -n 16 ./osu_bcast",
            "T",
            "$ /opt/mpich-4.1/bin/mpiexec -n 16 ./osu_bcast",
            "T",
        ],
        HERE,
        {"bare": 1, "mpich-4.1-2x8 bare": 1},
    ),
    "settings of an MPI that is no longer loaded": (
        [
            "module load impi/2021.9",
            "export I_MPI_ADJUST_BCAST=3",
            "T",
            "module purge",
            "module load openmpi/4.1.5",
            "T",
        ],
        HERE,
        {"bare": 1, "intel-2021.9-2x8 I_MPI_ADJUST_BCAST=3": 1},
    ),
    "sizes of jobs": (
        [
            "+ mpirun -np 16 -npernode 8 ./osu_bcast",
            "T",
            "+ mpirun -np 32 --npernode 8 ./osu_bcast",
            "T",
            "+ mpirun -np 32 --map-by ppr:4:node ./osu_bcast",
            "T",
            "+ srun -N 2 -n 16 ./osu_bcast",
            "T",
        ],
        ("--mpi", "openmpi@4.1.5"),
        {"bare": 2, "openmpi-4.1.5-4x8 bare": 1, "openmpi-4.1.5-8x4 bare": 1},
    ),
    "what differs between launches": (
        [
            "Thu Nov 26 10:00:01 UTC 2026",
            "=== run 1 of 3 ===",
            "T",
            "real 0m7.8s",
            "Thu Nov 26 10:04:59 UTC 2026",
            "=== run 2 of 3 ===",
            "T",
            "real 0m9.1s",
            "Fri Nov 27 00:00:00 UTC 2026",
            "=== run 3 of 3 ===",
            "T",
        ],
        MINE,
        {"bare": 3},
    ),
    "options of the benchmark": (
        [
            "+ mpirun -n 16 ./osu_bcast -x 10 -i 100 -m 8:1024",
            "T",
            "+ mpirun -n 16 ./osu_bcast -x 20 -i 1000",
            "T",
        ],
        MINE,
        {"bare": 2},
    ),
    "algorithms in words, and what chose them": (
        [
            "Running algorithm 3",
            "T",
            "Running algorithm 4",
            "T",
            "Running algorithm 3",
            "T",
            "Running algorithm 0",
            "T",
        ],
        (*MINE, "--setting", SETTING),
        {
            "coll_tuned_bcast_algorithm=3,coll_tuned_use_dynamic_rules=1": 2,
            TUNED.format(4): 1,
            "bare": 1,
        },
    ),
    "algorithms in words that are all the MPI by itself": (
        ["Running algorithm 3", "T", "Running algorithm 4", "T"],
        (*MINE, "--algorithm", "default"),
        {"bare": 2},
    ),
    "an algorithm in words, of all tables": (["algorithm 3", "T", "T"], MINE, {"bare": 2}),
    "no text at all": (["T", "T", "T"], MINE, {"bare": 3}),
    "a script's text with one command": (
        [
            "#BSUB -n 16",
            f"mpirun -np 16 {RULES} 3 ./osu_bcast",
            "The output (if any) follows:",
            "T",
            "T",
        ],
        MINE,
        {TUNED.format(3): 2},
    ),
    "tables without titles, named by commands": (
        ["osu_latency", "8  1.55", "16  1.60", "", "osu_bcast", "8   7.55", "16   7.60", ""],
        MINE,
        {"bare": 1},
    ),
}


@pytest.mark.parametrize("name", TOLD_APART)
def test_tables_of_several_contexts_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    lines, options, expected = TOLD_APART[name]
    (tmp_path / "a.log").write_text(log(*lines))
    found, said = imported(tmp_path, capsys, str(tmp_path / "a.log"), *options)
    assert found == expected, said


#: lines of a log, options, and what the refusal says
REFUSED = {
    "several MPIs and one said": (
        ["openmpi@4.0.5 osu_bcast", "T", "openmpi@4.1.5 osu_bcast", "T"],
        MINE,
        "the log names several MPIs (openmpi@4.0.5, openmpi@4.1.5)",
    ),
    "another MPI": (["module load mpich/4.1", "T"], MINE, "the log names mpich@4.1"),
    "several MPIs before one table": (
        ["module load openmpi/4.1.5", "module load mpich/4.1", "T"],
        HERE,
        "names several MPIs",
    ),
    "another MPI's settings": (
        ["export I_MPI_ADJUST_BCAST=3", "T"],
        MINE,
        "a setting of Intel MPI, and the MPI is said",
    ),
    "algorithms in words": (
        ["Running algorithm 3", "T", "Running algorithm 4", "T"],
        MINE,
        "the algorithm differs",
    ),
    "algorithms in words, and none at first": (
        ["T", "algorithm: ring", "T"],
        MINE,
        "the algorithm differs",
    ),
    "algorithms by loops of names": (
        ["=== ring ===", "T", "=== knomial ===", "T"],
        MINE,
        "the heading line differs",
    ),
    "a line without decoration": (
        ["ring", "T", "binomial", "T"],
        MINE,
        "the line before the table differs",
    ),
    "numbers alone": (["1", "T", "2", "T"], MINE, "the heading line differs"),
    "compilers": (
        ["openmpi@4.1.5%gcc@12 osu_bcast", "T", "openmpi@4.1.5%intel@19 osu_bcast", "T"],
        HERE,
        "the line before the table differs",
    ),
    "context behind the tables": (
        ["T", "that was algorithm 3", "T", "that was algorithm 4"],
        MINE,
        "before or behind its table",
    ),
    "settings behind the table": (
        ["T", f"used: {RULES} 3"],
        MINE,
        "before or behind its table",
    ),
    "commands that begin late": (
        ["T", f"+ mpirun {RULES} 3 ./osu_bcast", "T"],
        MINE,
        "which command printed it",
    ),
    "a loop's text": (
        [f"for a in 1 2 3; do mpirun -n 16 {RULES} $a ./osu_bcast; done", "T", "T", "T"],
        MINE,
        "stands for a value that the log does not show",
    ),
    "a script's text with several commands": (
        [f"mpirun {RULES} 1 ./osu_bcast", f"mpirun {RULES} 2 ./osu_bcast", "T", "T"],
        MINE,
        "which of several commands printed it",
    ),
    "assignments that may have ended": (
        [
            "+ I_MPI_ADJUST_BCAST=3",
            "+ mpirun -n 16 ./osu_bcast",
            "T",
            "+ mpirun -n 16 ./osu_bcast",
            "T",
        ],
        INTEL,
        "whether I_MPI_ADJUST_BCAST still held",
    ),
    "default after settings": (
        ["I_MPI_ADJUST_BCAST=3", "T", "=== default ===", "T"],
        INTEL,
        "whether it still held",
    ),
    "sizes in words": (
        ["=== 16 ranks ===", "T", "=== 32 ranks ===", "T"],
        MINE,
        "the log says 32 ranks, and 2 x 8 with 16 ranks",
    ),
    "sizes as variables": (["np=16", "T", "np=32", "T"], MINE, "the log says 32 ranks"),
    "nodes in words": (["=== 2 nodes ===", "T", "4 nodes", "T"], MINE, "size of the job differs"),
    "sizes by commands and other ones said": (
        ["+ mpirun -np 16 ./osu_bcast", "T", "+ mpirun -np 32 ./osu_bcast", "T"],
        MINE,
        "32 ranks do not fit on 2 nodes",
    ),
    "ranks per node and others said": (
        ["+ mpirun -np 16 -ppn 4 ./osu_bcast", "T"],
        MINE,
        "the command in the log has ppn 4",
    ),
    "a size that is not shown": (
        ["for n in 8 16; do mpirun -np $n ./osu_bcast; done", "T", "T"],
        MINE,
        "and not its value",
    ),
    "binding": (
        [
            "+ mpirun -n 16 --bind-to core ./osu_bcast",
            "T",
            "+ mpirun -n 16 --bind-to none ./osu_bcast",
            "T",
        ],
        MINE,
        "the launcher's options differs",
    ),
    "binding before the launcher": (
        ["+ numactl -m 0 mpirun ./osu_bcast", "T", "+ numactl -m 1 mpirun ./osu_bcast", "T"],
        MINE,
        "the launcher's options differs",
    ),
    "other variables": (
        ["+ mpirun -x LD_PRELOAD=/o/libhcoll.so ./osu_bcast", "T", "+ mpirun ./osu_bcast", "T"],
        MINE,
        "the launcher's options differs",
    ),
    "parameters in another form than the launcher's": (
        [
            f"+ mpirun --mca coll_tuned_bcast_algorithm={a} ./osu_bcast" if a else "T"
            for a in (1, 0, 2, 0)
        ],
        MINE,
        "the launcher's options differs",
    ),
    "what chooses another MPI": (
        [
            "+ source /a/env.sh",
            "+ mpirun ./osu_bcast",
            "T",
            "+ source /b/env.sh",
            "+ mpirun ./osu_bcast",
            "T",
        ],
        MINE,
        "the line before the table differs",
    ),
    "lists of nodes": (["on n[01-02]", "T", "on n[01-04]", "T"], MINE, "size of the job differs"),
    "sizes that begin with a number": (["2x8", "T", "4x8", "T"], MINE, "before the table differs"),
    "any words behind the tables": (
        ["T", "done with binomial", "T", "done with chain"],
        MINE,
        "before or behind its table",
    ),
    "builds": (
        [
            "$ /opt/a/bin/mpirun -n 16 ./osu_bcast",
            "T",
            "$ /opt/b/bin/mpirun -n 16 ./osu_bcast",
            "T",
        ],
        MINE,
        "directory differs",
    ),
    "an algorithm that is said to be another": (
        [f"+ mpirun {RULES} 3 ./osu_bcast", "T"],
        (*MINE, "--algorithm", "default"),
        "the log shows coll_tuned_bcast_algorithm=3, and the algorithm is said to be default",
    ),
    "an algorithm that is said for several": (
        [f"+ mpirun {RULES} 3 ./osu_bcast", "T", f"+ mpirun {RULES} 4 ./osu_bcast", "T"],
        (*MINE, "--algorithm", "3", "--setting", SETTING),
        "the log shows coll_tuned_bcast_algorithm=4, and the algorithm is said to be 3",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_tables_that_cannot_be_told_apart_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    lines, options, expected = REFUSED[name]
    (tmp_path / "a.log").write_text(log(*lines))
    found, said = imported(tmp_path, capsys, str(tmp_path / "a.log"), *options)
    assert not found and expected in said, (found, said)
    assert re.search(r"a\.log:\d+", said) and " try: " in said


# several files


def files(base: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text)
    return base


def test_files_of_several_contexts_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "+ mpirun -np 16 {} ./osu_bcast\n"
    logs = files(tmp_path / "logs", {
        "a.log": command.format(f"{RULES} 3") + table(1),
        "b.log": command.format("") + table(2),
        "c.log": table(3),
        "d.log": command.format(f"{RULES} 3") + table(4),
    })  # fmt: skip
    found, said = imported(tmp_path, capsys, str(logs), *MINE)
    assert found == {TUNED.format(3): 2, "bare": 2}, said


def test_what_a_copy_says_counts_for_the_original(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    "another MPI": (("intel.log",), MINE, "the file's name says intel, and --mpi says openmpi"),
    "another version": (
        ("openmpi-4.0.5/bcast.log",),
        MINE,
        "the file's name says openmpi@4.0.5, and --mpi says",
    ),
    "several numbers of ranks": (("np16.log", "np32.log"), MINE, "like the size of the job"),
    "several layouts": (("2x8/a.log", "4x8/a.log"), MINE, "like the size of the job"),
    "several numbers of nodes": (("bcast-2nodes.log", "bcast-4nodes.log"), MINE, "of the job"),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files_that_say_otherwise_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
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
    tmp_path: Path, capsys: pytest.CaptureFixture[str], collective: list[str]
) -> None:
    """--collective made bcast of a point-to-point table, and the right one was dropped."""
    (tmp_path / "report.txt").write_text(NO_HASH.lstrip() + table(1, sharp=""))
    found, said = imported(tmp_path, capsys, str(tmp_path / "report.txt"), *MINE, *collective)
    (path,) = (tmp_path / "out").iterdir()
    assert found == {"bare": 1}
    assert read_bench(path).samples[0].times_us == [10.37]
    assert re.search(r"report.txt:1: OSU MPI Latency Test v7.4: not one of .* left out", said)


def test_a_table_of_another_collective_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.log").write_text(table(0) + table(1, "Allreduce"))
    words = [str(tmp_path / "a.log"), *MINE, "--collective"]
    found, said = imported(tmp_path, capsys, *words, "allreduce")
    assert found == {"bare": 1} and "a.log:2: of bcast by its title, and --collective says" in said
    assert imported(tmp_path / "x", capsys, *words, "reduce")[1].count("no table is of reduce") == 1


# numbers


@pytest.mark.parametrize("row", ["1e999", "nan", "-1", "1e300", "9" * 5000, "inf"])
@pytest.mark.parametrize("kind", ["osu", "imb"])
def test_numbers_that_none_can_be_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, row: str
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
    "line", [f"# #processes = {NINES}", f"# ( {NINES} additional processes waiting in x)"]
)
def test_numbers_of_processes_that_none_can_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    heading = "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n"
    text = f"# Benchmarking Allreduce\n{line}\n{heading}8 1000 1.00 1.00 1.00\n"
    (tmp_path / "a.log").write_text(text)
    assert imported(tmp_path, capsys, str(tmp_path / "a.log"), *MINE, kind="imb")[0] == {"bare": 1}


# IMB


def imb(*processes: int) -> str:
    return "".join(
        f"# Benchmarking Bcast\n# #processes = {n}\n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        f"            8         1000         1.00         2.{n:02}         1.50\n\n"
        for n in processes
    )


IMB_HEAD = "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n"


def test_imbs_numbers_of_processes_are_no_mixture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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

"""Taking commands apart: launchers of four kinds, wrappers, several applications, layouts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import answering
from stretto.errors import StrettoError
from stretto.launch.command import Application, Command, parse_command, skip_wrappers
from stretto.launch.job import _launchers_in
from stretto.launch.layout import JobLayout, find_layout, parse_hosts
from stretto.launch.naming import app_name, program_of

#: what `salloc -N2 --ntasks-per-node=4` sets
ALLOCATED = {"SLURM_JOB_NUM_NODES": "2", "SLURM_NTASKS": "8", "SLURM_NTASKS_PER_NODE": "4"}

FOUR = {"SLURM_JOB_NUM_NODES": "4"}
TWO_EACH, FOUR_EACH = ({"SLURM_TASKS_PER_NODE": f"{n}(x4)"} for n in (2, 4))


machine = pytest.fixture(answering.machine)


def parse(machine: Path, kind: str, line: str) -> Command:
    env = {"PATH": f"{machine / kind}:{machine}:/usr/bin:/bin"}
    return parse_command(line.split(), env, machine)


def programs(command: Command) -> list[str]:
    return [command.words[a.program] for a in command.applications if a.program is not None]


@pytest.mark.parametrize(
    ("kind", "line", "nranks"),
    [
        ("openmpi4", "mpirun -n 4 ./app -n 9", 4),
        ("openmpi4", "mpirun --np 4 --bind-to core --mca btl self,vader -x A=1 ./app", 4),
        ("openmpi4", "mpirun -mca btl self,vader -np 4 --oversubscribe app", 4),
        ("openmpi4", "mpirun -n 3 app : -n 2 other x", 5),
        ("openmpi4", "env A=B OMP_NUM_THREADS=1 mpirun -n 4 ./app", 4),
        ("openmpi4", "nice -n 5 mpirun -n 4 numactl --localalloc -C 0,1 ./app", 4),
        ("openmpi4", "time -p mpirun -n 4 env -u X A=1 ./app", 4),
        ("openmpi4", "timeout -k 5 60 mpirun -n 4 taskset -c 0-1 ./app", 4),
        ("openmpi4", "mpirun --some-new-option value -n 4 ./app", 4),
        ("openmpi4", "mpirun --some-new-flag -n 4 ./app", 4),
        ("openmpi4", "mpirun -n 4 -- ./app", 4),
        ("openmpi5", "mpirun --prtemca plm_ssh_agent /x/agent -n 4 ./app", 4),
        ("mpich", "mpiexec.hydra -genv A 1 -n 4 -bind-to core ./app", 4),
        ("mpich", "mpiexec.hydra -genv A=1 -n 4 ./app", 4),
        ("mpich", "mpiexec.hydra -genvall -n 2 ./app : -env B 2 -n 2 ./other", 4),
        ("intel", "mpirun -ppn 2 -hosts a,b -genv I_MPI_DEBUG 5 ./app", 4),
        ("slurm", "srun -n4 --mpi=pmix ./app -n 9", 4),
        ("slurm", "srun --ntasks 4 -N 2 --cpu-bind=cores ./app", 4),
        ("slurm", "srun -N2 --ntasks-per-node=2 ./app", 4),
        ("slurm", "srun -n 2 ./app x : -n 4 ./other", 6),
        ("slurm", "srun -ln4 ./app", 4),
        ("slurm", "srun -uln 4 ./app", 4),
        ("slurm", "srun -K1 -lN2 --ntasks=4 ./app", 4),
        ("slurm", "srun -lK0 -On2 ./app", 2),
    ],
)
def test_programs_and_ranks(machine: Path, kind: str, line: str, nranks: int) -> None:
    command = parse(machine, kind, line)
    assert command.launcher is not None
    assert command.kind == kind.rstrip("45")
    for program in programs(command):
        assert Path(program).name in ("app", "other")
    assert len(programs(command)) == 1 + line.split().count(":")
    assert find_layout(command, {}, machine).nranks == nranks


def test_no_launcher(machine: Path) -> None:
    command = parse(machine, "openmpi4", "env A=1 ./app mpirun")
    assert command.launcher is None
    assert programs(command) == ["./app"]
    assert command.assignments == {"A": "1"}


@pytest.mark.parametrize(("line", "words"), [("", "no command"), ("env A=1", "no program")])
def test_nothing_to_run(machine: Path, line: str, words: str) -> None:
    with pytest.raises(StrettoError, match=words) as caught:
        parse(machine, "openmpi4", line)
    assert caught.value.exit_code == 2
    with pytest.raises(StrettoError, match="no launcher"):
        parse_command(["mpirun", "-n", "2", "app"], {"PATH": str(machine)}, machine)


def test_a_program_called_mpirun_that_is_no_launcher(machine: Path) -> None:
    path = machine / "openmpi4" / "mpirun"
    path.write_text("#!/bin/sh\necho hello\n")
    with pytest.raises(StrettoError, match=r"Stretto does not know this launcher.*hello"):
        parse(machine, "openmpi4", "mpirun -n 2 app")


@pytest.mark.parametrize(
    ("kind", "line", "env", "layout"),
    [
        ("openmpi4", "mpirun -n 4 app", {}, (4, 1, 4)),
        ("openmpi4", "mpirun app", {}, (None, 1, None)),
        ("openmpi4", "mpirun -H a:2,b:2 -n 4 app", {}, (4, 2, 2)),
        ("openmpi4", "mpirun -H a:2,b:2 -n 3 app", {}, (3, 2, 2)),
        ("openmpi4", "mpirun -H a:2,b:2 -n 2 app", {}, (2, 1, 2)),
        ("openmpi4", "mpirun -H a,a,b,b -n 4 app", {}, (4, 2, 2)),
        ("openmpi4", "mpirun -n 8 -N 2 -H a:2,b:2,c:2,d:2 app", {}, (8, 4, 2)),
        ("openmpi4", "mpirun --map-by ppr:2:node -n 8 app", FOUR, (8, 4, 2)),
        ("openmpi4", "mpirun -n 4 --map-by node --host a:4,b:4 app", {}, (4, 2, 2)),
        ("openmpi4", "mpirun -n 3 --map-by node:PE=2 --host a:4,b:4 app", {}, (3, 2, 2)),
        ("openmpi4", "mpirun -n 4 --bynode --host a:4,b:4 app", {}, (4, 2, 2)),
        ("openmpi4", "mpirun -n 8 --map-by node app", {**FOUR, **FOUR_EACH}, (8, 4, 2)),
        ("openmpi4", "mpirun -n 8 app", FOUR, (8, 4, None)),
        ("openmpi4", "mpirun -n 8 app", {**FOUR, **TWO_EACH}, (8, 4, 2)),
        ("openmpi4", "mpirun -n 8 app", {"PBS_NODEFILE": "/x"}, (8, None, None)),
        ("openmpi4", "mpirun --hostfile hosts -n 6 app", {}, (6, 2, 4)),
        ("mpich", "mpiexec.hydra -hosts a:2,b:2 -n 4 app", {}, (4, 2, 2)),
        ("mpich", "mpiexec.hydra -f machines -n 4 app", {}, (4, 2, 2)),
        ("intel", "mpirun -hosts a,b -ppn 2 -n 4 app", {}, (4, 2, 2)),
        ("intel", "mpirun -hosts a,b -n 4 app", {}, (4, None, None)),
        ("openmpi4", "mpirun --hostfile hosts -N 2 app", {}, (4, 2, 2)),
        ("openmpi4", "mpirun --hostfile hosts --npernode 2 app", {}, (4, 2, 2)),
        ("openmpi4", "mpirun --hostfile hosts -pernode app", {}, (2, 2, 1)),
        ("openmpi4", "mpirun --host a:4,b:4 --map-by ppr:2:node app", {}, (4, 2, 2)),
        ("openmpi4", "mpirun --hostfile hosts --map-by ppr:2:socket app", {}, (None, None, None)),
        ("openmpi4", "mpirun -n 4 --hostfile hosts --rankfile r app", {}, (4, None, None)),
        ("openmpi4", "mpirun -n 2 --hostfile plain app", {}, (2, None, None)),
        ("openmpi4", "mpirun -n 8 --hostfile plain -N 4 app", {}, (8, 2, 4)),
        ("openmpi4", "mpirun -n 2 --hostfile one app", {}, (2, 1, 2)),
        ("openmpi4", "mpirun --hostfile hosts --host node2:2 app", {}, (2, 1, 2)),
        ("openmpi4", "mpirun app", {"OMPI_MCA_orte_default_hostfile": "hosts"}, (8, 2, 4)),
        ("openmpi5", "mpirun app", {"PRTE_MCA_prte_default_hostfile": "hosts"}, (8, 2, 4)),
        ("mpich", "mpiexec.hydra -n 4 app", {"HYDRA_HOST_FILE": "machines"}, (4, 2, 2)),
        ("mpich", "mpiexec.hydra -hosts a:2 app", {"HYDRA_HOST_FILE": "machines"}, (2, 1, 2)),
        ("mpich", "mpiexec.hydra -hosts a:4,b:4 -ppn 2 app", {}, (4, 2, 2)),
        ("intel", "mpirun -n 4 -ppn 2 app", {"I_MPI_HYDRA_HOST_FILE": "plain"}, (4, 2, 2)),
        ("slurm", "srun -n 8 app", FOUR, (8, 4, 2)),
        ("slurm", "srun app", {**FOUR, "SLURM_NTASKS": "8"}, (8, 4, 2)),
        ("slurm", "srun -n 8 app", {}, (8, None, None)),
        ("slurm", "srun -n 8 --ntasks-per-node=4 app", {}, (8, 2, 4)),
        ("slurm", "srun -n 8 --tasks-per-node 4 app", {}, (8, 2, 4)),
        ("slurm", "srun -N1 -n2 app", ALLOCATED, (2, 1, 2)),
        ("slurm", "srun -n2 app", ALLOCATED, (2, 2, 1)),
        ("slurm", "srun --ntasks-per-node=1 app", ALLOCATED, (8, 2, 4)),
        ("slurm", "srun -n1 app", ALLOCATED, (1, 1, 1)),
        ("slurm", "srun -lN2 app", {}, (2, 2, 1)),
        ("slurm", "srun -lN1 -ln4 app", ALLOCATED, (4, 1, 4)),
        # components lie on nodes of their own
        ("slurm", "srun -N1 -n2 app : -N2 -n4 other", {}, (6, 3, 2)),
        ("slurm", "srun -N1 -n2 app : -N1 -n4 other", ALLOCATED, (6, 2, 4)),
        ("slurm", "srun -n2 app : -n4 other", ALLOCATED, (6, None, None)),
        ("slurm", "srun -N1 -n2 app : other", ALLOCATED, (None, None, None)),
    ],
)
def test_layouts(
    machine: Path,
    kind: str,
    line: str,
    env: dict[str, str],
    layout: tuple[int | None, int | None, int | None],
) -> None:
    (machine / "hosts").write_text("# two\nnode1 slots=4\nnode2 slots=4 max_slots=8\n")
    (machine / "plain").write_text("node1\nnode2\n")
    (machine / "one").write_text("node1\n")
    (machine / "machines").write_text("node1:2\nnode2:2\n")
    found: JobLayout = find_layout(parse(machine, kind, line), env, machine)
    assert (found.nranks, found.nodes, found.ppn) == layout


@pytest.mark.parametrize("option", ["-N", "-npernode", "--hostfile", "--host", "--map-by", "--mca"])
def test_an_option_cut_off_before_its_value(machine: Path, option: str) -> None:
    """It is the launcher's to complain of."""
    command = parse(machine, "openmpi4", f"mpirun -n 4 {option}")
    assert find_layout(command, {}, machine).nranks in (4, None)


def test_hosts() -> None:
    assert parse_hosts(["a:2,b", "a"]) == [("a", 3), ("b", None)]


def test_wrappers() -> None:
    words = ["A=1", "env", "-u", "X", "B=2", "nice", "-n", "3", "stdbuf", "-oL", "app", "x"]
    at, assignments = skip_wrappers(words, 0, len(words))
    assert at is not None and words[at] == "app"
    assert assignments == {"A": "1", "B": "2"}
    assert skip_wrappers(["numactl", "-C", "0"], 0, 3)[0] is None


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("mpirun -n 2 ./a\n", ["mpirun"]),
        ("# mpirun\nsrun ./a", ["srun"]),
        ("if true; then /opt/x/bin/mpiexec -n 2 a; fi", ["/opt/x/bin/mpiexec"]),
        ("x=$(mpiexec.hydra -n 2 a)\n", ["mpiexec.hydra"]),
        ("MPI='mpirun -np 4'\n", ["mpirun"]),
        ("subprocess.run(['mpirun', '-n'])", ["mpirun"]),
        ("echo rmpirunner mpirunx\n", []),
    ],
)
def test_launchers_in_scripts(script: str, found: list[str]) -> None:
    assert _launchers_in(script) == found


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("mpirun -n 2 ./shallow case.nml", "shallow"),
        ("mpirun -n 2 python3 sim.py case.nml", "sim"),
        ("mpirun -n 2 bash job.sh", "job"),
        ("mpirun -n 2 python3.11 -m solver", "solver"),
        ("mpirun -n 2 python3 -u -m pkg.solver case.toml", "pkg.solver"),
        ("mpirun -n 2 python3 -m mpi4py.futures pool.py 4", "pool"),
        ("mpirun -n 2 python3 -m mpi4py -m pkg.run in.nml", "pkg.run"),
    ],
)
def test_files_are_called_by_the_program(line: str, name: str) -> None:
    """Not by its input, where a program's name only begins like an interpreter's."""
    words = line.split()
    end = len(words)
    job = SimpleNamespace(
        command=SimpleNamespace(words=words, applications=[Application(3, 3, end)])
    )
    assert app_name(job) == name  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["openmpi4", "mpich"])
def test_assignments_without_env_before_them(kind: str, machine: Path) -> None:
    """As a shell takes them; a program cannot be started by that name."""
    command = parse(machine, kind, "OMP_NUM_THREADS=1 A= mpirun -n 2 ./app")
    assert command.words[:4] == ("env", "OMP_NUM_THREADS=1", "A=", "mpirun")
    assert command.assignments == {"OMP_NUM_THREADS": "1", "A": ""}
    assert programs(command) == ["./app"] and find_layout(command, {}).nranks == 2


@pytest.mark.parametrize(
    ("words", "program"),
    [
        ("mpirun -n 2 ./heat -v", "./heat"),
        ("mpirun -n 2 python3 /home/a/cases/inversion.py", "inversion.py"),
        ("mpirun -n 2 /opt/bin/app", "app"),
    ],
)
def test_program_of_recorded_command_is_as_typed_without_absolute_directories(
    words: str, program: str
) -> None:
    assert program_of(words.split()) == program

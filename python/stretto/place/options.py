"""Options of the launchers that start the ranks of every node on chosen cores.

What each launcher understands by a number was tried with it: Open MPI numbers cores as hwloc does,
MPICH, Intel MPI and Slurm take the kernel's numbers of hardware threads.
"""

from __future__ import annotations

from collections.abc import Sequence

from stretto.place.cores import Core, Seat

#: launchers, as they are called in the output
TITLES = {
    "openmpi4": "Open MPI 4", "openmpi5": "Open MPI 5", "mpich": "MPICH", "intel": "Intel MPI",
    "slurm": "srun",
}  # fmt: skip


def core_list(cores: Sequence[Core]) -> str:
    """Return core numbers as Open MPI writes them: ``0-3,8``."""
    numbers = sorted(core.number for core in cores)
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)


def _mask(cpus: Sequence[int]) -> str:
    return f"{sum(1 << cpu for cpu in cpus):x}"


def binding(kind: str, seats: Sequence[Seat]) -> str:
    """Return the options that bind the ranks of each node, the first of a node to the first seat.

    For Open MPI: where one rank has one core. Empty: only a rank file says it.
    """
    single = all(len(seat.cores) == 1 for seat in seats)
    cpus = [seat.cpus for seat in seats]
    if kind == "openmpi5" and single:
        numbers = ",".join(str(seat.cores[0].number) for seat in seats)
        return f"--map-by pe-list={numbers}:ordered --bind-to core"
    if kind == "openmpi4" and _sorted_alike(seats):
        numbers = ",".join(str(seat.cores[0].number) for seat in seats)
        return f"--bind-to cpu-list:ordered --cpu-list {numbers}"
    if kind == "mpich":
        return f"-bind-to user:{','.join('+'.join(map(str, c)) for c in cpus)}"
    if kind == "intel" and single:
        return f"-genv I_MPI_PIN_PROCESSOR_LIST {','.join(str(c[0]) for c in cpus)}"
    if kind == "intel":
        return f"-genv I_MPI_PIN_DOMAIN '[{','.join(map(_mask, cpus))}]'"
    if kind == "slurm" and single:
        return f"--cpu-bind=map_cpu:{','.join(str(c[0]) for c in cpus)}"
    if kind == "slurm":
        return f"--cpu-bind=mask_cpu:{','.join(f'0x{_mask(c)}' for c in cpus)}"
    return ""


def _sorted_alike(seats: Sequence[Seat]) -> bool:
    """Whether Open MPI 4's --cpu-list, which the kernel's order sorts, gives these seats.

    It takes all threads of the listed cores, in the kernel's order, one a rank.
    """
    if any(len(seat.cores) != 1 for seat in seats):
        return False
    threads = sorted(cpu for seat in seats for cpu in seat.cores[0].threads)
    return threads[: len(seats)] == [seat.cores[0].threads[0] for seat in seats]


def options(kind: str, seats: Sequence[Seat]) -> str:
    """Return what a user types before the program, for the same number of ranks on each node."""
    per = len(seats)
    bound = binding(kind, seats)
    if not bound:
        return ""
    if kind == "openmpi4":
        return f"mpirun --map-by ppr:{per}:node {bound}"
    if kind == "openmpi5":  # --host a:N,b:N or slots=N decide how many are on a node
        return f"mpirun {bound}"
    if kind == "slurm":
        return f"srun --ntasks-per-node={per} {bound}"
    return f"{'mpiexec.hydra' if kind == 'intel' else 'mpiexec'} -ppn {per} {bound}"

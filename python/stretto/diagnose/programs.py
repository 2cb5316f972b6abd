"""Which MPI programs a command ran: the ones beside the diagnosed one, and runs of one rank."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.counted import counted, seconds
from stretto.diagnose.numbers import MINOR, mean
from stretto.files.profile import Profile
from stretto.launch.naming import interpreter, program_of
from stretto.mpi.detect import LAUNCHER_NAMES

#: of the other programs, how many are printed
LISTED = 5

#: how `recv` of mpi4py learns the size of a pickled object, and receives it
PROBES = ("MPI_Mprobe", "MPI_Improbe")
RECEIVES = ("MPI_Mrecv", "MPI_Imrecv")


@dataclass
class Other:
    """Another MPI program of the same command.

    `name`: its file's name.
    `nranks`, `wall_s`: its ranks, and seconds from MPI_Init to MPI_Finalize.
    `rank_s`: the same times the ranks: programs are ordered by it.
    `verdict`: that of its own diagnosis.
    `next_command`: the command that prints this diagnosis.
    """

    name: str
    nranks: int
    wall_s: float
    rank_s: float
    verdict: str
    next_command: str


def program_name(profile: Profile) -> str:
    """Return what the ranks ran in one word, or two: "app", "nemo, xios", "the program".

    Of a Python program it is the script or module, where the command shows it.
    """
    names = [Path(p).name for p in profile.executables or []]
    typed = {interpreter(Path(word).name) for word in profile.command} - {None}
    if names and {interpreter(name) for name in names} == typed:
        found = program_of(profile.command)
        if " " not in found:
            return Path(found).name
    return ", ".join(names) or "the program"


def spawned(profile: Profile) -> bool:
    """Return whether ranks started other processes (`MPI_Comm_spawn`)."""
    return any(c.function.startswith("MPI_Comm_spawn") for c in profile.calls)


def other_program(profile: Profile, where: Path, verdict: str, first: Profile) -> Other:
    """Return a program beside the diagnosed one, whose profile is `first`."""
    name = program_name(profile)
    both = spawned(first) and name == program_name(first)
    return Other(
        f"{name} (spawned processes)" if both else name,
        profile.nranks,
        max(profile.wall_s),
        sum(profile.wall_s),
        verdict,
        f"stretto diagnose --profile {shlex.quote(str(where))}",
    )


def others_words(mine: str, others: Sequence[Other]) -> list[str]:
    if not others:
        return []
    lines = [
        f"\nThis command ran {len(others) + 1} MPI programs. The diagnosis above is that of "
        f"{mine}, which took the most time. The others:"
    ]
    for other in others[:LISTED]:
        lines.append(
            f"   {other.name}, {counted(other.nranks, 'rank')}, {seconds(other.wall_s)}: "
            f"{other.verdict}\n   see: {other.next_command}"
        )
    if len(others) > LISTED:
        lines.append(f"   {len(others) - LISTED} more (--json has them)")
    return lines


def pickle_note(profile: Profile) -> str | None:
    """Return that a Python program sends pickled objects; None where little time goes to that.

    The lower-case methods of mpi4py receive messages with MPI_Mprobe and MPI_Mrecv. Its collectives
    send the size of each pickle as MPI_COUNT before its bytes.
    """
    if not all(interpreter(Path(p).name) == "python" for p in profile.executables or [""]):
        return None
    sizes = [c for c in profile.calls if c.datatype == "MPI_COUNT" and c.bytes_max < 16]
    received = [c for c in profile.calls if c.function in RECEIVES and c.datatype == "MPI_BYTE"]
    over = {c.communicator for c in sizes}
    probes = [c for c in profile.calls if c.function in PROBES and received]
    at = over | {c.communicator for c in probes}
    rows = [c for c in profile.calls if c.datatype == "MPI_BYTE" and c.communicator in at]
    of_messages = [c for c in received if c.communicator not in at]
    spent = sum(mean(c.time_s) for c in [*sizes, *rows, *probes, *of_messages])
    methods = ["send", "recv"] * bool(received) + ["allreduce", "bcast"] * bool(sizes)
    if not methods or spent < MINOR * max(profile.wall_s):
        return None
    first = ", after the size of each object" if sizes else ""
    return (
        f"lower-case methods of mpi4py ({', '.join(methods)}) take {seconds(spent)} per rank, "
        f"waiting included: they send pickled objects{first}. Upper-case methods "
        f"({', '.join(m.capitalize() for m in methods)}) with NumPy arrays send the data itself"
    )


def _launched(profile: Profile) -> bool:
    return bool(profile.command) and Path(profile.command[0]).name in LAUNCHER_NAMES


def one_rank(profile: Profile, show_command: str) -> tuple[str, str]:
    base = "tuning cannot help, because there is only one rank"
    if spawned(profile):
        return f"{base} besides the processes that it spawned", show_command
    if not profile.command:
        return base, show_command
    if _launched(profile):
        return (
            f"{base}: check the number of ranks in the launcher's command line (-n)",
            show_command,
        )
    program = shutil.which(profile.command[0])
    direct = program is not None and str(Path(program).resolve()) in (profile.executables or [])
    where = "" if direct else ", here or in the script"
    again = f"stretto diagnose -- mpirun -n 4 {shlex.join(profile.command)}"
    return (
        f"{base}: was the launcher (mpirun, srun) forgotten{where}?",
        again if direct else show_command,
    )


def ranks_apart(profiles: Sequence[Profile]) -> str | None:
    """Return the verdict where each rank of a launched program ran as a job of one rank."""
    first = profiles[0]
    alike = all(p.nranks == 1 and p.executables == first.executables for p in profiles)
    if len(profiles) < 2 or not alike or not _launched(first) or any(map(spawned, profiles)):
        return None
    return (
        f"no diagnosis: {len(profiles)} ranks of {program_name(first)} each ran as a job of one "
        f"rank, because {first.command[0]} is not the launcher of the MPI that they use "
        f"({first.mpi.library or first.mpi.family})"
    )

"""What starts ranks on chosen cores or in a computed order: options of launchers, and files."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stretto.errors import StrettoError, UsageError, from_oserror
from stretto.files.io import write_atomic
from stretto.kinds import LauncherKind
from stretto.launch.command import Command
from stretto.place.order import Placement
from stretto.place.site import Core, JobNodes, Seat
from stretto.profile.join import rank_words

#: options of launchers that place or bind ranks: a computed order replaces them
_PLACING: dict[LauncherKind, tuple[str, ...]] = {
    "openmpi": (
        "H", "host", "hostfile", "machinefile", "default-hostfile", "map-by", "rank-by", "bind-to",
        "rf", "rankfile", "N", "npernode", "npersocket", "pernode", "ppr", "bynode", "byslot",
        "bind-to-core", "bind-to-none", "cpu-set", "cpu-list", "slot-list", "cpus-per-proc",
        "cpus-per-rank", "use-hwthread-cpus",
    ),
    "mpich": (
        "f", "hostfile", "machinefile", "machine", "host", "hosts", "ppn", "perhost", "grr",
        "bind-to", "map-by", "binding", "order-nodes", "rankmap",
    ),
    "slurm": (
        "m", "distribution", "N", "nodes", "w", "nodelist", "ntasks-per-node", "tasks-per-node",
        "cpu-bind", "B", "extra-node-info", "ntasks-per-socket", "ntasks-per-core",
    ),
}  # fmt: skip
_PLACING["intel"] = _PLACING["mpich"]
#: those of them that bind ranks of a node, and leave its ranks where they are
_BINDING = {
    "bind-to", "bind-to-core", "bind-to-none", "binding", "cpu-bind", "use-hwthread-cpus",
}  # fmt: skip


@dataclass(frozen=True)
class LaunchOptions:
    """What one launcher is given: words after its name, and variables.

    `binds`: the words decide how ranks are bound, in place of the command's own options.
    """

    words: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    binds: bool = True


def need_names(site: JobNodes) -> JobNodes:
    """Refuse to write files for nodes without names."""
    if not site.names:
        raise UsageError(
            "the files need the names of the nodes",
            "--out",
            "give the names of the nodes: --hosts A,B,C",
        )
    return site


def write_order(directory: Path, site: JobNodes, placed: Placement) -> list[Path]:
    """Write an order for all launchers; return the files.

    ``hosts`` has a line with the node of each rank (Open MPI's `seq` mapping, Intel MPI, Slurm),
    ``rankfile`` the cores too (Open MPI), ``rankmap`` the number of each rank's node (MPICH, with
    its ``nodes``), ``openmpi.nodes`` the slots of each node.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise from_oserror(error, "cannot make the directory", directory) from error
    names, sizes = site.names, site.sizes
    texts = {
        "hosts": "".join(f"{names[n]}\n" for n in placed.node),
        "nodes": "".join(f"{name}:{size}\n" for name, size in zip(names, sizes, strict=True)),
        "openmpi.nodes": "".join(
            f"{name} slots={size}\n" for name, size in zip(names, sizes, strict=True)
        ),
        "rankmap": rankmap_of(placed) + "\n",
    }
    if site.bound:
        texts["rankfile"] = _rankfile(site, placed)
    for name, text in texts.items():
        write_atomic(directory / name, text, "the order of ranks")
    return [directory / name for name in texts]


def rankmap_of(placed: Placement) -> str:
    """Return the number of each rank's node, as MPICH takes it."""
    return ",".join(map(str, placed.node))


def _rankfile(site: JobNodes, placed: Placement) -> str:
    lines = []
    for rank, (node, seat) in enumerate(zip(placed.node, placed.seat, strict=True)):
        mine = site.seats[node][seat]
        assert mine is not None
        lines.append(f"rank {rank}={site.names[node]} slot={core_list(mine.cores)}")
    return "\n".join(lines) + "\n"


def _common(site: JobNodes, placed: Placement) -> list[Seat] | None:
    """Return seats by rank of a node, where all nodes may have the same; None: no binding.

    These launchers know one list for all nodes: where the orders inside the nodes differ, each
    node's ranks take its seats as they come.
    """
    if not site.bound:
        return None
    lists = []
    for node, every in enumerate(site.seats):
        order = placed.seat[placed.node == node]
        lists.append([s for i in order if (s := every[i]) is not None])
    if all(mine == lists[0] for mine in lists):
        return lists[0]
    plain = [[s for s in every if s is not None] for every in site.seats]
    longest = max(plain, key=len)
    return longest if all(p == longest[: len(p)] for p in plain) else None


def applicable(command: Command, major: int, site: JobNodes) -> JobNodes:
    """Return the nodes, without seats where the command's launcher cannot give them to ranks.

    Open MPI 5 refuses a rank file that gives one core to two ranks.
    """
    if command.kind != "openmpi" or major < 5 or not (site.bound and site.overlapping):
        return site
    if len(site.names) == 1:
        raise StrettoError(
            "no other order of these ranks can be started: they share cores of one node, which a "
            "rank file of Open MPI 5 cannot express",
            " ".join(command.words), "bind each rank to separate cores: --threads 1",
        )  # fmt: skip
    return site.unseated


def launch(
    kind: LauncherKind, major: int, directory: Path, site: JobNodes, placed: Placement
) -> LaunchOptions:
    """Return what a launcher is given to start ranks as `write_order` wrote it.

    `major`: version of Open MPI.
    """
    common = _common(site, placed)
    bound = binding(kind, common).replace("'", "").split() if common else []
    binds = bool(bound)
    if kind == "slurm":
        variables = {"SLURM_HOSTFILE": str(directory / "hosts")}
        return LaunchOptions(("--distribution=arbitrary", *bound), variables, binds)
    if kind == "mpich":
        words = ("-f", str(directory / "nodes"), "-rankmap", rankmap_of(placed), *bound)
        return LaunchOptions(words, binds=binds)
    if kind == "intel":
        return LaunchOptions(("-machinefile", str(directory / "hosts"), *bound), binds=binds)
    in_turn = ("--map-by", "seq", "--hostfile", str(directory / "hosts"))
    if site.loose:
        return LaunchOptions((*in_turn, "--bind-to", "none"))
    if not site.known:
        return LaunchOptions(in_turn, binds=False)
    ranks, nodes = str(directory / "rankfile"), str(directory / "openmpi.nodes")
    # a rank file of Open MPI 4 always binds, that of 5 as the policy says, which may be none
    by: tuple[str, ...] = ("--rankfile", ranks)
    if major >= 5:
        by = ("--map-by", f"rankfile:file={ranks}", "--bind-to", "core")
    return LaunchOptions(("--hostfile", nodes, *by))


def launch_lines(directory: Path, site: JobNodes, placed: Placement) -> list[tuple[str, str]]:
    """Return launchers, and what to type for each before the program."""
    kinds: list[tuple[str, LauncherKind, int, str]] = [
        ("Open MPI 4", "openmpi", 4, "mpirun"), ("Open MPI 5", "openmpi", 5, "mpirun"),
        ("MPICH", "mpich", 0, "mpiexec"), ("Intel MPI", "intel", 0, "mpiexec.hydra"),
        ("Slurm", "slurm", 0, "srun"),
    ]  # fmt: skip
    ranks = str(len(placed.node))
    out: dict[str, str] = {}
    for title, kind, major, name in kinds:
        given = launch(kind, major, directory, site, placed)
        before = [f"{n}={shlex.quote(v)}" for n, v in given.variables.items()]
        text = " ".join([*before, shlex.join([name, *given.words, "-n", ranks])])
        out[title] = text.replace(rankmap_of(placed), f'"$(cat {directory / "rankmap"})"')
    if out["Open MPI 4"] == out["Open MPI 5"]:
        out = {"Open MPI": out.pop("Open MPI 4"), **out}
        del out["Open MPI 5"]
    return list(out.items())


def placed_words(command: Command, given: LaunchOptions) -> list[str]:
    """Return a command with other options for where its ranks go."""
    assert command.kind is not None and command.launcher_at is not None
    gone: set[int] = set()
    kept: set[str] = set() if given.binds else _BINDING
    for option in command.options:
        if option.name in _PLACING[command.kind] and option.name not in kept:
            gone |= set(range(option.at, option.at + 1 + len(option.values) * option.apart))
    words = [w for i, w in enumerate(command.words) if i not in gone]
    at = command.launcher_at + 1
    return [*words[:at], *given.words, *words[at:]]


#: launchers, as they are called in the output
TITLES = {
    "openmpi4": "Open MPI 4", "openmpi5": "Open MPI 5", "mpich": "MPICH", "intel": "Intel MPI",
    "slurm": "srun",
}  # fmt: skip


def core_list(cores: Sequence[Core]) -> str:
    """Return core numbers as Open MPI writes them: ``0-3,8``."""
    return rank_words(sorted(core.number for core in cores)).replace(" ", "")


def _mask(cpus: Sequence[int]) -> str:
    return f"{sum(1 << cpu for cpu in cpus):x}"


def binding(kind: str, seats: Sequence[Seat]) -> str:
    """Return the options that bind the ranks of each node, the first of a node to the first seat.

    For Open MPI: where one rank has one core. Empty: only a rank file says it.
    """
    cpus = [seat.cpus for seat in seats]
    single = all(len(c) == 1 for c in cpus)
    if kind == "openmpi5" and all(len(seat.cores) == 1 for seat in seats):
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

"""How many ranks on how many nodes a command asks for, as far as it says so."""

from __future__ import annotations

from stretto.files.regular import MOST_SMALL_BYTES, read_regular
from stretto.launch.command import Command, Option
from stretto.light import TYPE_CHECKING, dataclass, later
from stretto.paths import Path

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence
else:
    re = later("re")


@dataclass(frozen=True)
class JobLayout:
    """Ranks, nodes and the largest number of ranks on a node; None where it is not known."""

    nranks: int | None
    nodes: int | None
    ppn: int | None
    hosts: tuple[str, ...] = ()


#: variables that name a host file, where the command names no hosts
_HOSTFILES: dict[str, tuple[str, ...]] = {
    "openmpi": ("OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"),
    "mpich": ("HYDRA_HOST_FILE",),
    "intel": ("I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE"),
}


def _int(text: str | None) -> int | None:
    known = text is not None and text.isascii() and text.isdigit()
    return int(text) if text is not None and known and text[0] != "0" and len(text) < 10 else None


def _slurm_ppn(text: str | None) -> int | None:
    """Return the largest number in Slurm's ``2(x3),1``."""
    numbers = [int(n) for n in re.findall(r"(?:^|,)(\d+)", text)] if text else []
    return max(numbers, default=None)


def parse_hosts(words: Sequence[str]) -> list[tuple[str, int | None]]:
    """Return host and slots of ``a:2,b`` lists; a repeated host counts as that many slots."""
    out: dict[str, int | None] = {}
    for word in words:
        for one in word.split(","):
            host, _, slots = one.partition(":")
            if not host:
                continue
            number = _int(slots)
            if host in out:
                out[host] = (out[host] or 1) + (number or 1)
            else:
                out[host] = number
    return list(out.items())


def read_hostfile(path: Path) -> list[tuple[str, int | None]]:
    """Return host and slots of a host file of Open MPI (``a slots=2``) or Hydra (``a:2``)."""
    try:
        lines = read_regular(path, MOST_SMALL_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    words = []
    for line in lines:
        parts = line.partition("#")[0].split()
        if not parts:
            continue
        slots = next((p.split("=", 1)[1] for p in parts[1:] if p.startswith("slots=")), None)
        words.append(f"{parts[0].split(':')[0]}:{slots}" if slots else parts[0])
    return parse_hosts(words)


def find_layout(command: Command, environ: Mapping[str, str], cwd: Path | None = None) -> JobLayout:
    """Return what a command and its environment say about ranks and nodes."""
    if command.launcher is None:
        return JobLayout(1, 1, 1)
    if command.kind == "slurm":
        return _slurm(command, environ)
    counts = [
        _int(o.values[0]) if o.values else None
        for a in command.applications
        for o in a.options
        if o.name in ("n", "np", "c")
    ]
    per_app = len(counts) == len(command.applications) and None not in counts
    nranks = sum(c or 0 for c in counts) if per_app else None
    told = _told_ppn(command)
    # Ranks a socket, or a place for each rank: how many are on a node it does not say.
    unclear = bool(command.values("npersocket", "rf", "rankfile")) or any(
        re.match(r"(?:ppr:)?\d+:(?!node)", v[0]) for v in command.values("map-by", "ppr")
    )
    # One rank on each node in turn: all nodes are used, however many slots each of them has.
    in_turn = any(v[0].split(":")[0] == "node" for v in command.values("map-by")) or any(
        o.name == "bynode" for o in command.options
    )
    hosts, by_cores = _hosts(command, environ, cwd or Path.cwd())
    if not hosts:
        nodes = _int(environ.get("SLURM_JOB_NUM_NODES"))
        if nodes is None and not any(
            n in environ for n in ("PBS_NODEFILE", "LSB_HOSTS", "PE_HOSTFILE")
        ):
            nodes = 1
        if nranks is None and nodes is not None and told is not None:
            nranks = nodes * told
        if nodes == 1:
            return JobLayout(nranks, 1, nranks or told)
        slots = told or _slurm_ppn(environ.get("SLURM_TASKS_PER_NODE"))
        if in_turn and nranks is not None and nodes is not None:
            slots = -(-nranks // nodes)
        return _filled(nranks, nodes, slots, ())
    names = tuple(h for h, _ in hosts)
    ppn = told
    if ppn is None and in_turn and nranks is not None:
        ppn = -(-nranks // len(names))
    elif ppn is None and not by_cores and not unclear:
        # One rank a listed host, unless it is told to oversubscribe.
        ppn = max(s or 1 for _, s in hosts)
    if nranks is None and told is not None:
        nranks = told * len(names)
    elif nranks is None and ppn is not None:
        nranks = sum(s or ppn for _, s in hosts)
    if ppn is None:
        alone = len(names) == 1
        return JobLayout(nranks, 1 if alone else None, nranks if alone else None, names)
    return _filled(nranks, len(names), ppn, names)


def _told_ppn(command: Command) -> int | None:
    """Return the ranks per node that mpirun or mpiexec is told; the last option wins."""
    told = 1 if any(o.name == "pernode" for o in command.options) else None
    for value, *_ in command.values("N", "npernode", "ppn", "perhost"):
        told = _int(value)
    for value, *_ in command.values("map-by", "ppr"):
        found = re.match(r"(?:ppr:)?(\d+):node", value)
        told = int(found.group(1)) if found else told
    return told


def _hosts(
    command: Command, environ: Mapping[str, str], cwd: Path
) -> tuple[list[tuple[str, int | None]], bool]:
    """Return the hosts with their slots, and whether some take as many ranks as they have cores.

    So it is where a host file of Open MPI or a list of Intel MPI gives no number (seen by running
    them); Open MPI's ``--host`` only picks from its file, with slots of its own.
    """
    hosts = parse_hosts([v[0] for v in command.values("H", "host", "hosts")])
    if hosts and command.kind == "openmpi":
        return hosts, False
    files = [v[0] for v in command.values("hostfile", "machinefile", "f", "default-hostfile")]
    if not hosts and not files:
        named = _HOSTFILES.get(command.kind or "", ())
        files = [environ[name] for name in named if environ.get(name)][:1]
    for file in files:
        hosts += read_hostfile(cwd / file)
    open_ended = any(slots is None for _, slots in hosts)
    return hosts, open_ended and command.kind in ("openmpi", "intel")


def _filled(
    nranks: int | None, nodes: int | None, ppn: int | None, hosts: tuple[str, ...]
) -> JobLayout:
    """Return the layout when nodes are filled one after another."""
    if nranks is not None and ppn is not None:
        used = -(-nranks // ppn)
        if nodes is None or used <= nodes:
            return JobLayout(nranks, used, min(ppn, nranks), hosts)
        if nodes is not None:  # oversubscribed
            return JobLayout(nranks, nodes, -(-nranks // nodes), hosts)
    return JobLayout(nranks, nodes, ppn, hosts)


def _slurm(command: Command, environ: Mapping[str, str]) -> JobLayout:
    """Return the ranks of a step of srun's, or of the components of a heterogeneous one.

    These never share a node, inside an allocation or not (seen on Slurm 22.05). What their sizes
    are where a component does not give them, the variables tell of the whole allocation only.
    """
    if len(command.applications) == 1:
        return _step(command.applications[0].options, environ)
    steps = [_step(a.options, None) for a in command.applications]
    nranks = [s.nranks for s in steps if s.nranks is not None]
    nodes = [s.nodes for s in steps if s.nodes is not None]
    ppn = [s.ppn for s in steps if s.ppn is not None]
    everywhere = len(nodes) == len(ppn) == len(steps)
    return JobLayout(
        sum(nranks) if len(nranks) == len(steps) else None,
        sum(nodes) if everywhere else None,
        max(ppn) if everywhere else None,
    )


def _step(options: Sequence[Option], environ: Mapping[str, str] | None) -> JobLayout:
    """Return the ranks of one component; `environ` is None where no variable is of it."""

    def number(names: tuple[str, ...], variable: str) -> int | None:
        values = [o.values[0] for o in options if o.name in names and o.values]
        if values:
            return _int(values[-1].split("-")[0])
        return _int((environ or {}).get(variable))

    nodes = number(("N", "nodes"), "SLURM_JOB_NUM_NODES")
    ppn = number(("ntasks-per-node", "tasks-per-node"), "SLURM_NTASKS_PER_NODE")
    nranks = number(("n", "ntasks"), "SLURM_NTASKS")
    if nranks is None and nodes is not None and (environ is not None or ppn is not None):
        nranks = nodes * (ppn or 1)
    if nranks is not None and nodes is not None:
        nodes = min(nodes, nranks)  # srun says "can't run 1 processes on 2 nodes", and takes one
        ppn = -(-nranks // nodes)  # it warns of another --ntasks-per-node, and ignores it
    elif nranks is not None and ppn is not None:
        nodes = -(-nranks // ppn)
    return JobLayout(nranks, nodes, ppn)

"""Whether the MPI itself comes up on a layout: MPI_Init and a barrier, before anything is measured.

Starting a line of shell says nothing of that: an MPI that takes an interface on which nodes do not
reach one another hangs in its first message, and one that a launcher of another kind has started
dies in MPI_Init, or is as many jobs of one rank as there are ranks. Every launch of a campaign
would find that out by itself, at the cost of its watchdog's patience.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from stretto.campaign.layout import Layout
from stretto.campaign.placement import LIMIT_S, HangError, by_srun
from stretto.errors import StrettoError, from_oserror
from stretto.files.room import look_for_room
from stretto.launch.said import telling
from stretto.measure import process
from stretto.measure.commandline import Starter, command_line
from stretto.measure.compare import BARE
from stretto.measure.job import format_job, parse_line
from stretto.measure.settings import Settings, make_case
from stretto.mpi.base import MPIInstallation

#: s: more for each rank, of which thousands take their time in MPI_Init
RANK_S = 0.02
#: bytes that a launch and what it says need at least; without them its ranks die without a word
ROOM = 1 << 16
#: what says where an MPI's messages go
INTERFACES = {
    "openmpi": (
        "OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include", "OMPI_MCA_btl",
        "OMPI_MCA_pml", "OMPI_MCA_mtl", "UCX_NET_DEVICES", "UCX_TLS", "FI_PROVIDER",
    ),
    "mpich": ("FI_PROVIDER", "FI_TCP_IFACE", "FI_SOCKETS_IFACE", "UCX_NET_DEVICES", "UCX_TLS"),
    "intel": ("I_MPI_FABRICS", "I_MPI_OFI_PROVIDER", "FI_PROVIDER", "FI_TCP_IFACE"),
}  # fmt: skip
EXAMPLES = {
    "openmpi": "OMPI_MCA_btl_tcp_if_include=10.1.0.0/16",
    "mpich": "FI_PROVIDER=tcp FI_TCP_IFACE=eth0",
    "intel": "FI_PROVIDER=tcp FI_TCP_IFACE=eth0",
}


def greet(
    installation: MPIInstallation,
    layout: Layout,
    hosts: Sequence[str],
    start: Starter | None,
    oversubscribe: bool,
    place: Path,
    limit_s: float | None = None,
) -> None:
    """Start the measuring program with one barrier, or say what is wrong and what to do.

    `limit_s`: after that it is taken to hang; None: by the number of ranks.
    """
    limit = limit_s if limit_s is not None else LIMIT_S + RANK_S * layout.nranks
    settings = Settings(
        nranks=layout.nranks, cases=(make_case("barrier", 0, [BARE]),), variants=(BARE,),
        launches=1, ppn=layout.ppn, hosts=tuple(hosts), batches=(3, 3), modes=("throughput",),
        oversubscribed=oversubscribe,
    )  # fmt: skip
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".start.", dir=place) as name:
            directory = Path(name).resolve()
            job, output, status = (directory / n for n in ("job", "output", "status"))
            text = format_job(settings, 0, settings.cases, output, status, limit)
            job.write_text(text, "utf-8")
            command, environ = command_line(settings, installation, 0, job, start)
            looked = process.Looked()
            ended = process.run(
                command, environ, directory / "log", lambda: looked.look() > limit,
                scratch=directory,
            )  # fmt: skip
            lines = output.read_text("utf-8", "replace") if output.exists() else ""
            if ended.stopped or ended.status != 0:
                look_for_room(directory, ROOM)
    except OSError as error:
        raise from_oserror(error, "cannot start the test job", place) from error
    _judge(installation, layout, command, environ, ended, lines, limit)


def _judge(
    installation: MPIInstallation,
    layout: Layout,
    command: Sequence[str],
    environ: Mapping[str, str],
    ended: process.Ended,
    lines: str,
    limit: float,
) -> None:
    found = [v for v in (parse_line(x, 0) for x in lines.splitlines()) if v is not None]
    begun = [v for v in found if v.get("type") == "launch"]
    words, at = telling(ended.output), " ".join(command[:4])
    if begun and layout.nranks > 1 and int(begun[0].get("nranks", 0)) == 1:
        raise StrettoError(
            f"each of {layout.nranks} ranks runs as its own one-rank job: the launcher does not "
            f"belong to {installation.name}",
            at,
            start_remedy(installation, command),
        )
    loaded = " ".join(str(begun[0].get("library", "")).split()) if begun else ""
    if loaded and installation.library and loaded != installation.library:
        raise StrettoError(
            f"the ranks do not load {installation.name}: they load {loaded!r} instead of "
            f"{installation.library!r}",
            at,
            f"LD_LIBRARY_PATH must contain the libraries of {installation.prefix} on the nodes "
            "too: unload the module of the other MPI, and remove its path from the shell's start "
            "files",
        )
    if ended.stopped:
        stage = "the first messages between them" if begun else "MPI_Init or the first message"
        raise HangError(
            f"{layout.nranks} ranks start, but hang in {stage}: no output within {limit:.0f} s"
            + (f" ({words})" if words else ""),
            at,
            network_remedy(installation, layout, command, environ),
        )
    if ended.status != 0:
        how = f"signal {-ended.status}" if ended.status < 0 else f"exit code {ended.status}"
        raise StrettoError(
            f"{layout.nranks} ranks start, but {installation.name} fails on them "
            f"({how}): {words or 'no reason was given'}",
            at,
            network_remedy(installation, layout, command, environ),
        )


def start_remedy(installation: MPIInstallation, command: Sequence[str]) -> str:
    if not by_srun(command):
        return (
            f"use the mpirun of {installation.name} (--mpi {installation.prefix}), "
            "and unload the module of the other MPI"
        )
    given = next((x.partition("=")[2] for x in command if x.startswith("--mpi=")), "")
    fits = {"openmpi": "pmix", "mpich": "pmi2", "intel": "pmi2"}[installation.family]
    return (
        f"use an mpi_type other than {given!r} (srun --mpi=list prints them; {installation.name} "
        f"usually needs {fits}), or launcher = 'mpirun'"
    )


def network_remedy(
    installation: MPIInstallation,
    layout: Layout,
    command: Sequence[str],
    environ: Mapping[str, str],
) -> str:
    out = [start_remedy(installation, command)] if by_srun(command) else []
    if layout.nodes == 1:
        out.append("check the node's /dev/shm (df /dev/shm), and start a small MPI program there")
        return "; or ".join(out)
    names = [n for n in INTERFACES[installation.family] if environ.get(n) and n in os.environ]
    given = ", ".join(f"{n}={environ[n]}" for n in names)
    out.append(
        f"name the network that connects the nodes (e.g. {EXAMPLES[installation.family]}; "
        "`stretto check` lists the interfaces)"
        + (f" instead of {given} in the environment" if given else "")
        + ", and check that no firewall separates the nodes"
    )
    return "; or ".join(out)

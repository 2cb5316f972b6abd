"""How each MPI's launcher is told to start ranks on a testbed cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from cluster import AGENT, Cluster, TestbedError

# Ranks outnumber the cores: they must give way. Only TCP and shared memory, as between real nodes.
_OMPI = "--mca pml ob1 --mca mpi_yield_when_idle 1 --mca btl_tcp_if_include {net} --bind-to none"
_OMPI4 = (
    "--allow-run-as-root --mca btl self,vader,tcp --mca plm_rsh_agent {agent} "
    "--mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include {net} "
)
_OMPI5 = (
    "--allow-run-as-root --mca btl self,sm,tcp --prtemca plm_ssh_agent {agent} "
    "--prtemca plm_ssh_no_tree_spawn 1 --prtemca prte_if_include {net} "
    "--pmixmca ptl_tcp_if_include lo "
)


def launch(
    cluster: Cluster,
    mpi: str,
    ppn: int,
    command: Sequence[str],
    *,
    prefix: Path | None = None,
    nodes: int | None = None,
    env: Mapping[str, str] | None = None,
) -> tuple[list[str], dict[str, str]]:
    """Return the command line and environment that run ``command`` on the cluster.

    Parameters
    ----------
    mpi : {"openmpi4", "openmpi5", "mpich", "intel"}
        Which launcher.
    ppn : int
        Ranks on each node.
    prefix : Path, optional
        Where the MPI is installed, bin and lib below it; by default /usr.
    nodes : int, optional
        Use only the first so many nodes.
    env : mapping, optional
        Variables for the ranks.
    """
    used = cluster.nodes[:nodes]
    names = [node.name for node in used]
    prefix = prefix or Path("/usr")
    environment = dict(os.environ)
    environment.pop("LD_PRELOAD", None)
    variables = dict(env or {})
    if prefix != Path("/usr"):
        environment["PATH"] = f"{prefix}/bin:{environment['PATH']}"
        if mpi != "openmpi5":
            variables.setdefault("LD_LIBRARY_PATH", f"{prefix}/lib")
    words: list[str]
    if mpi in ("openmpi4", "openmpi5"):
        options = (_OMPI4 if mpi == "openmpi4" else _OMPI5) + _OMPI
        words = [str(prefix / "bin" / "mpirun")]
        words += options.format(net=f"{cluster.network}.0/24", agent=AGENT).split()
        words += ["--host", ",".join(f"{name}:{ppn}" for name in names)]
        for name, value in variables.items():
            words += ["-x", f"{name}={value}"]
        words += ["-n", str(ppn * len(used))]
    elif mpi in ("mpich", "intel"):
        environment["LD_LIBRARY_PATH"] = f"{prefix}/lib"
        if mpi == "mpich":
            words = [str(prefix / "bin" / "mpiexec"), "-launcher", "ssh"]
            words += ["-launcher-exec", str(AGENT), "-iface", cluster.bridge]
            words += ["-hosts", ",".join(f"{name}:{ppn}" for name in names)]
            variables.setdefault("FI_PROVIDER", "tcp")
            variables.setdefault("FI_TCP_IFACE", "eth0")
        else:
            words = [str(prefix / "bin" / "mpiexec.hydra"), "-bootstrap", "ssh"]
            words += ["-bootstrap-exec", str(AGENT), "-iface", cluster.bridge]
            words += ["-hosts", ",".join(names), "-ppn", str(ppn)]
            environment |= {"I_MPI_ROOT": str(prefix), "FI_PROVIDER_PATH": f"{prefix}/lib"}
            variables.setdefault("I_MPI_ROOT", str(prefix))
            variables.setdefault("FI_PROVIDER_PATH", f"{prefix}/lib")
            variables.setdefault("FI_PROVIDER", "tcp")
            variables.setdefault("FI_TCP_IFACE", "eth0")
            variables.setdefault("I_MPI_PIN", "0")
        for name, value in variables.items():
            words += ["-genv", name, value]
        words += ["-n", str(ppn * len(used))]
    else:
        raise TestbedError(f"MPI {mpi!r}: give openmpi4, openmpi5, mpich or intel")
    return [*words, *command], environment

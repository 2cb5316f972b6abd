"""How each MPI's launcher is told to start ranks on a testbed cluster."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from cluster import AGENT, Cluster, TestbedError

# Ranks outnumber the cores: they must give way. Only TCP and shared memory, as between real nodes.
_OMPI = "--mca pml ob1 --mca mpi_yield_when_idle 1 --mca btl_tcp_if_include {all} --bind-to none"
_OMPI4 = (
    "--allow-run-as-root --mca btl self,vader,tcp --mca plm_rsh_agent {agent} "
    "--mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include {net} "
)
_OMPI5 = (
    "--allow-run-as-root --mca btl self,sm,tcp --prtemca plm_ssh_agent {agent} "
    "--prtemca plm_ssh_no_tree_spawn 1 --prtemca prte_if_include {net} "
    "--pmixmca ptl_tcp_if_include lo "
)


def _networks(cluster: Cluster) -> dict[str, str]:
    """Return networks: for what starts ranks the first rail, for messages all of them."""
    every = [f"{network}.0/24" for network in cluster.networks]
    return {"net": every[0], "all": ",".join(every)}


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

    `mpi`: openmpi4, openmpi5, mpich or intel. `prefix`: where the MPI is installed; by default
    /usr. `nodes`: use only the first so many. `env`: variables for the ranks.
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
        words += options.format(**_networks(cluster), agent=AGENT).split()
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


def environment(
    cluster: Cluster, mpi: str, *, prefix: Path | None = None, nodes: int | None = None
) -> dict[str, str]:
    """Return the variables with which an MPI's own launcher starts ranks on the cluster.

    For commands that name their hosts themselves (``mpirun --host``, ``stretto bench --hosts``) and
    know nothing of a testbed, as a site's module file would set them for its network.
    """
    prefix = prefix or Path("/usr")
    names = [node.name for node in cluster.nodes[:nodes]]
    out = {"TESTBED_HOSTS": ",".join(names)}
    if prefix != Path("/usr"):
        out["PATH"] = f"{prefix}/bin:{os.environ['PATH']}"
        out["LD_LIBRARY_PATH"] = f"{prefix}/lib"
    if mpi in ("openmpi4", "openmpi5"):
        words = (
            ((_OMPI4 if mpi == "openmpi4" else _OMPI5) + _OMPI)
            .format(**_networks(cluster), agent=AGENT)
            .split()
        )
        prefixes = {"--mca": "OMPI_MCA_", "--prtemca": "PRTE_MCA_", "--pmixmca": "PMIX_MCA_"}
        for at, word in enumerate(words):
            if word in prefixes:
                out[prefixes[word] + words[at + 1]] = words[at + 2]
        for owner in ("OMPI", "PRTE"):
            out[f"{owner}_ALLOW_RUN_AS_ROOT"] = out[f"{owner}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        policy = "OMPI_MCA_hwloc_base_binding_policy" if mpi == "openmpi4" else None
        out[policy or "PRTE_MCA_hwloc_default_binding_policy"] = "none"
    elif mpi == "mpich":
        out |= {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(AGENT)}
        out |= {"HYDRA_IFACE": cluster.bridge, "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0"}
    elif mpi == "intel":
        out |= {"I_MPI_HYDRA_BOOTSTRAP": "ssh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": str(AGENT)}
        out |= {"I_MPI_HYDRA_IFACE": cluster.bridge, "I_MPI_PIN": "0"}
        out |= {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0", "I_MPI_ROOT": str(prefix)}
        out["FI_PROVIDER_PATH"] = f"{prefix}/lib"
    else:
        raise TestbedError(f"MPI {mpi!r}: give openmpi4, openmpi5, mpich or intel")
    return out


def exports(variables: Mapping[str, str], prefix: Path | None = None) -> list[str]:
    """Return the lines by which a shell sets what `environment` returns.

    Its PATH is the shell's own, with the MPI before it: this process's may be that of sudo.
    """
    lines = []
    for name, value in variables.items():
        word = shlex.quote(value)
        if name == "PATH":
            word = shlex.quote(f"{prefix}/bin") + ':"$PATH"'
        lines.append(f"export {name}={word}")
    return lines

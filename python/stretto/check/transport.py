"""What carries the messages of a job between and within nodes, as its MPI says when it starts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stretto.kinds import Family

#: what makes an MPI (and UCX) name its transports in MPI_Init or at the first message
VERBOSE: dict[Family, dict[str, str]] = {
    "openmpi": {
        "OMPI_MCA_pml_base_verbose": "10",
        "OMPI_MCA_btl_base_verbose": "10",
        "OMPI_MCA_mtl_base_verbose": "10",
        "UCX_LOG_LEVEL": "info",
    },
    "mpich": {"MPIR_CVAR_DEBUG_SUMMARY": "1", "UCX_LOG_LEVEL": "info"},
    "intel": {"I_MPI_DEBUG": "4"},
}
#: "[a:12] mca: bml: Using tcp btl for send to [[3,1],1] on node b" (Open MPI 4.1 and 5.0)
_BTL = re.compile(
    r"^\[([^:\]]+):\d+\] mca: bml: Using (\w+) btl for send to \S+ on node (\S+)", re.M
)
#: libfabric's provider: Open MPI's mtl/ofi, Intel MPI's and MPICH's own lines
_PROVIDER = re.compile(
    r"^.*(?:mtl:ofi:prov\w*|libfabric provider|^provider(?: name)?)\s*[:=]\s*([\w;-]+).*$", re.M
)
#: UCX names the lanes of each kind of peer: "inter-node cfg#1 tag(tcp/eth0)"
_UCX = re.compile(r"^.*(inter-node|intra-node) cfg#\d+ tag\(([^)]*)\).*$", re.M)
_TCP = re.compile(r"(tcp|sockets|udp)\b")


@dataclass(frozen=True)
class Transports:
    """Names of transports, each with the line that says so.

    `between`: used between nodes, or by all messages where the MPI makes no difference. `within`:
    used between ranks of one node.
    """

    between: dict[str, str]
    within: dict[str, str]

    @property
    def tcp_between(self) -> str | None:
        """The line that shows that messages between nodes go by TCP; None where they do not."""
        return _only_tcp(self.between)

    @property
    def tcp_within(self) -> str | None:
        """The line that shows that messages within a node go by TCP; None where they do not."""
        return _only_tcp(self.within)


def _only_tcp(lines: dict[str, str]) -> str | None:
    slow = [line for name, line in lines.items() if _TCP.match(name)]
    return slow[0] if slow and len(slow) == len(lines) else None


def _same_host(one: str, other: str) -> bool:
    """Return whether two names are of one host: Open MPI leaves the domain out in some places."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def read_transports(output: str) -> Transports:
    """Return what the start of an MPI program showed under `VERBOSE`."""
    between: dict[str, str] = {}
    within: dict[str, str] = {}
    for found in _BTL.finditer(output):
        here, name, node = found.groups()
        if name != "self":
            (within if _same_host(here, node) else between).setdefault(name, found[0])
    for found in _PROVIDER.finditer(output):
        between.setdefault(found[1], found[0].strip())
    for found in _UCX.finditer(output):
        to = between if found[1] == "inter-node" else within
        for lane in found[2].split():
            to.setdefault(lane, found[0].strip())
    return Transports(between, within)

"""Which of a node's interfaces, ports and transports: what each MPI has for it."""

from __future__ import annotations

import re
from dataclasses import replace

from stretto.mpi.settings.base import Around, Entry
from stretto.mpi.settings.nodes import MOST, chosen

_INCLUDE = "btl_tcp_if_include"
#: variables that name libfabric's provider; the others win over the first
_PROVIDER = ("FI_PROVIDER", "I_MPI_OFI_PROVIDER", "MPIR_CVAR_OFI_USE_PROVIDER")
#: providers by the names of RDMA devices: EFA, Omni-Path
_BY_DEVICE = {"efa|rdmap": ("efa",), "hfi": ("opx", "psm2")}
_OF_MPICH = ("verbs", "psm3")


def tcp_interfaces(around: Around) -> list[Entry]:
    """Return Open MPI's choices for TCP: each shared interface, and all of them."""
    names = around.interfaces
    # Open MPI refuses a list of what to take beside one of what to leave.
    if not names or around.found is None or "OMPI_MCA_btl_tcp_if_exclude" in around.environ:
        return []
    said = around.environ.get(f"OMPI_MCA_{_INCLUDE}")
    # Told nothing, it takes every interface, those that lead nowhere as well.
    native = None if around.found.others else set(names)
    if said:
        native = chosen(said, around.found)
    lists = [{n} for n in names[:MOST]] + [set(names)]
    values = tuple(",".join(sorted(x)) for x in lists if x != native)
    words = ("btl_tcp_if_exclude",)
    return [
        Entry(_INCLUDE, f"OMPI_MCA_{_INCLUDE}", values, "interfaces for TCP messages", True,
              words)
    ]  # fmt: skip


def ucx_devices(around: Around) -> list[Entry]:
    """Return Open MPI's choices where it uses UCX: each RDMA port that the nodes share.

    Without such ports Open MPI uses UCX only where it is told to, and then over TCP.
    """
    pml = around.environ.get("OMPI_MCA_pml", "")
    if pml not in ("", "ucx"):
        return []
    return _ucx(around, around.ports or (around.interfaces if pml == "ucx" else ()))


def netmods(around: Around, has_ucx: bool) -> list[Entry]:
    """Return MPICH's choices, by the network module that it uses.

    Built with both, it uses the first of its build unless a variable names one: an interface is
    then set for both, and a transport together with its module.
    """
    told = around.environ.get("MPIR_CVAR_CH4_NETMOD", "").lower()
    if told == "ofi" or not has_ucx:
        return [*libfabric(around), *providers(around, ("sockets",), _OF_MPICH)]
    found = _ucx(around, around.ports or around.interfaces)
    if told == "ucx":
        return found
    if libfabric(around) and around.found is not None and not around.found.ports:
        found = [
            replace(e, values=(value,), besides=(("FI_TCP_IFACE", value),))
            for e in found
            for value in e.values
        ]
    ofi = (("MPIR_CVAR_CH4_NETMOD", "ofi"),)
    return [*found, *providers(around, ("tcp", "sockets"), _OF_MPICH, ofi)]


def _ucx(around: Around, names: tuple[str, ...]) -> list[Entry]:
    ports = around.found.ports if around.found is not None else ()
    out = []
    if around.found is not None and names and (not ports or around.ports):
        out.append(_choice("UCX_NET_DEVICES", names[:MOST], around, "what UCX uses"))
    if around.ports:  # by itself it takes two
        values = ("1", str(len(names))) if len(names) > 2 else ("1",)
        out.append(
            Entry(None, "UCX_MAX_RNDV_RAILS", values, "number of ports for a large message", True)
        )
    if ports:
        lists = tuple(f"{name},sm,self" for name in ("rc", "dc", "ud", "tcp"))
        out.append(_choice("UCX_TLS", lists, around, "transports that UCX may use"))
    return out


def libfabric(around: Around) -> list[Entry]:
    """Return the interfaces to choose from for MPIs over libfabric where its provider is tcp.

    It is where it is named, and where no RDMA device is there for another one.
    """
    if around.found is None or not around.interfaces:
        return []
    provider = next((around.environ[n] for n in _PROVIDER if around.environ.get(n)), "")
    tcp = "tcp" in provider.split(";") if provider else not around.found.ports
    what = "interface for libfabric"
    return [_choice("FI_TCP_IFACE", around.interfaces[:MOST], around, what)] if tcp else []


def providers(
    around: Around,
    over_tcp: tuple[str, ...],
    over_rdma: tuple[str, ...],
    besides: tuple[tuple[str, str], ...] = (),
) -> list[Entry]:
    """Return the libfabric providers to try, by the RDMA devices of the nodes.

    A provider that the library lacks fails at once. `over_tcp`, `over_rdma`: those that this MPI
    may have without RDMA, and for devices other than EFA and Omni-Path. `besides`: what makes the
    MPI use libfabric.
    """
    if around.found is None or any(around.environ.get(n) for n in _PROVIDER[1:]):
        return []
    names, ports = over_tcp, around.found.ports
    if ports:
        known = (some for prefix, some in _BY_DEVICE.items() if re.match(prefix, ports[0]))
        names = (*next(known, over_rdma), "tcp")
    # what the user has set does nothing as long as the MPI does not use libfabric
    names = tuple(n for n in names if besides or n != around.environ.get("FI_PROVIDER"))
    return [Entry(None, "FI_PROVIDER", names, "libfabric's provider", True, besides=besides)]


def _choice(variable: str, names: tuple[str, ...], around: Around, what: str) -> Entry:
    values = tuple(n for n in names if n != around.environ.get(variable))
    return Entry(None, variable, values, what, True)

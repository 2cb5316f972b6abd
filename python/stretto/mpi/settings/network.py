"""Which of a node's interfaces: what each MPI has for it, where the nodes share several."""

from __future__ import annotations

from dataclasses import replace

from stretto.mpi.settings.base import Around, Entry
from stretto.mpi.settings.nodes import MOST, chosen

_INCLUDE = "btl_tcp_if_include"


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
        Entry(_INCLUDE, f"OMPI_MCA_{_INCLUDE}", values, "interfaces that TCP messages take", True,
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

    Built with both, it uses the first that it was built with, unless it is told: a choice is then
    said to both, and the other one's variable does nothing.
    """
    told = around.environ.get("MPIR_CVAR_CH4_NETMOD", "").lower()
    if told == "ofi" or not has_ucx:
        return libfabric(around)
    found = _ucx(around, around.ports or around.interfaces)
    if told == "ucx" or not libfabric(around):
        return found
    return [
        replace(e, values=(value,), besides=(("FI_TCP_IFACE", value),))
        for e in found
        for value in e.values
    ]


def _ucx(around: Around, names: tuple[str, ...]) -> list[Entry]:
    known = around.found is not None and (not around.found.ports or bool(around.ports))
    if not names or not known:
        return []
    out = [_devices("UCX_NET_DEVICES", names, around, "what UCX uses")]
    if around.ports:  # by itself it takes two
        values = ("1", str(len(names))) if len(names) > 2 else ("1",)
        out.append(Entry(None, "UCX_MAX_RNDV_RAILS", values, "ports for a large message", True))
    return out


def libfabric(around: Around) -> list[Entry]:
    """Return the choices of MPIs over libfabric where its provider is tcp.

    It is where it is named, and where no RDMA device is there for another one.
    """
    if around.found is None or not around.interfaces:
        return []
    names = ("FI_PROVIDER", "I_MPI_OFI_PROVIDER", "MPIR_CVAR_OFI_USE_PROVIDER")
    provider = next((around.environ[n] for n in names if around.environ.get(n)), "")
    tcp = "tcp" in provider.split(";") if provider else not around.found.ports
    if not tcp:
        return []
    return [_devices("FI_TCP_IFACE", around.interfaces, around, "interface that libfabric takes")]


def _devices(variable: str, names: tuple[str, ...], around: Around, what: str) -> Entry:
    values = tuple(n for n in names[:MOST] if n != around.environ.get(variable))
    return Entry(None, variable, values, what, True)

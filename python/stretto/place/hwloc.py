"""A node as hwloc describes it: the XML that ``lstopo --of xml`` writes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as Xml

from stretto.check.facts import Fabric, Facts, Interface
from stretto.errors import StrettoError, from_oserror
from stretto.files.regular import read_regular

_MOST_BYTES = 1 << 26
#: osdev_type of a network interface and of an RDMA device; in hwloc 3 bits of a mask
_INTERFACE, _FABRIC = 2, 3
_INTERFACE_BIT, _FABRIC_BIT = 16, 32


@dataclass
class _Objects:
    version: str = ""
    packages: dict[int, int] = field(default_factory=dict)
    siblings: list[tuple[int, ...]] = field(default_factory=list)
    numa: dict[int, tuple[int, ...]] = field(default_factory=dict)
    l3: list[tuple[int, ...]] = field(default_factory=list)
    interfaces: list[Interface] = field(default_factory=list)
    fabrics: list[Fabric] = field(default_factory=list)


def read_machine(path: Path) -> Facts:
    """Return the node that an hwloc XML file describes, of hwloc 1, 2 or 3.

    What hwloc does not write (limits, kernel settings, speeds) is as if unlimited or unknown.
    """
    try:
        text = read_regular(path, _MOST_BYTES)
    except OSError as error:
        raise from_oserror(error, "cannot read the machine", path) from error
    # entities of a file that came from elsewhere could fill the memory; hwloc writes none
    root = None
    if b"<!ENTITY" not in text:
        try:
            root = Xml.fromstring(text)
        except Xml.ParseError:
            root = None
    machine = root.find("object") if root is not None and root.tag == "topology" else None
    found = _Objects()
    if root is not None and machine is not None:
        found.version = root.get("version", "")
        _walk(machine, None, frozenset(), found)
    if root is None or machine is None or not found.siblings:
        raise StrettoError(
            "this is not the XML of hwloc", path, "write it on the node: lstopo --of xml > node.xml"
        )
    info = {i.get("name", ""): i.get("value", "") for i in root.iter("info")}
    threads = sorted(cpu for core in found.siblings for cpu in core)
    allowed = _bits(machine.get("allowed_cpuset", "")) & set(threads)
    memory = sum(int(n.get("local_memory", "0")) for n in machine.iter("object"))
    return Facts(
        name=info.get("HostName") or path.stem,
        cpu=info.get("CPUModel", "unknown"),
        kernel=info.get("OSRelease", "unknown"),
        memory_bytes=memory,
        cores=len(found.siblings),
        threads=len(threads),
        sockets=len(set(found.packages.values())) or 1,
        allowed=tuple(sorted(allowed)) or tuple(threads),
        numa=found.numa,
        product=" ".join(filter(None, map(info.get, ("DMISysVendor", "DMIProductName")))),
        interfaces=tuple(found.interfaces),
        fabrics=tuple(found.fabrics),
        siblings=tuple(sorted(found.siblings)),
        packages=found.packages,
        l3=tuple(sorted(found.l3)),
    )


def _bits(text: str) -> set[int]:
    """Return the numbers in a bitmap of hwloc: ``0x1,0x000000ff``, the highest word first."""
    words = [w.removeprefix("0x") or "0" for w in text.split(",")]
    if not all(re.fullmatch(r"[0-9a-fA-F]{1,16}", w) for w in words):
        return set()
    value = sum(int(word, 16) << 32 * i for i, word in enumerate(reversed(words)))
    return {i for i in range(value.bit_length()) if value >> i & 1}


def _threads(one: Xml.Element) -> tuple[int, ...]:
    """Return the hardware threads below an object, as the kernel numbers them."""
    own = (o for o in one.iter("object") if o.get("type") == "PU")
    return tuple(sorted(int(o.get("os_index", "0")) for o in own))


def _walk(one: Xml.Element, package: int | None, nodes: frozenset[int], found: _Objects) -> None:
    """Collect an object and what is below it; `nodes`: NUMA nodes of the object above."""
    kind = one.get("type", "")
    number = int(one.get("os_index", "0"))
    nodes = frozenset(_bits(one.get("nodeset", ""))) or nodes
    if kind in ("Package", "Socket"):
        package = number
    elif kind == "NUMANode":
        found.numa[number] = tuple(sorted(_bits(one.get("cpuset", ""))))
    elif kind == "L3Cache" or (kind == "Cache" and one.get("depth") == "3"):
        found.l3.append(_threads(one))
    elif kind == "Core":
        found.siblings.append(_threads(one))
    elif kind == "PU":
        found.packages[number] = package or 0
        if not any(number in core for core in found.siblings[-1:]):
            found.siblings.append((number,))  # a machine without cores
    elif kind == "OSDev":
        _card(one, next(iter(nodes)) if len(nodes) == 1 else None, found)
    for below in one.findall("object"):
        _walk(below, package, nodes, found)


def _card(one: Xml.Element, numa: int | None, found: _Objects) -> None:
    name, kind = one.get("name", ""), int(one.get("osdev_type", "0"))
    if found.version.startswith("3"):
        kind = _FABRIC if kind & _FABRIC_BIT else _INTERFACE if kind & _INTERFACE_BIT else 0
    if kind == _FABRIC:
        found.fabrics.append(Fabric(name, "", "unknown", "unknown", numa))
    elif kind == _INTERFACE and name != "lo":
        found.interfaces.append(Interface(name, None, 0, "unknown", numa))

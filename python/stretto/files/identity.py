"""Who measured: the host, the MPI and the Stretto that a file comes from."""

from __future__ import annotations

import os
import time

from stretto.light import TYPE_CHECKING, dataclass, later
from stretto.paths import Path
from stretto.version import __version__

if TYPE_CHECKING:
    import re

    from stretto.kinds import Abi, Family
else:
    re = later("re")


@dataclass(frozen=True)
class Host:
    """The machine.

    `cores`: physical cores that are online.
    """

    name: str
    cpu: str
    cores: int
    kernel: str
    memory_bytes: int


@dataclass(frozen=True)
class MPIIdentity:
    """The MPI: family, ABI family, version, and what `MPI_Get_library_version` says first."""

    family: Family
    abi: Abi
    version: str
    library: str = ""


@dataclass(frozen=True)
class Identity:
    """What every file between the stages begins with."""

    stretto: str
    created: str
    host: Host
    mpi: MPIIdentity


def now() -> str:
    """Return the present time, ISO 8601, UTC, whole seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def collect(mpi: MPIIdentity) -> Identity:
    return Identity(__version__, now(), collect_host(), mpi)


#: of a processor whose model /proc/cpuinfo does not give
UNKNOWN_CPU = "unknown"
# Part numbers of the Arm cores found in HPC and cloud machines; /proc/cpuinfo gives numbers only.
_ARM_PARTS = {
    (0x41, 0xD07): "Cortex-A57",
    (0x41, 0xD08): "Cortex-A72",
    (0x41, 0xD0C): "Neoverse-N1",
    (0x41, 0xD40): "Neoverse-V1",
    (0x41, 0xD49): "Neoverse-N2",
    (0x41, 0xD4F): "Neoverse-V2",
    (0x41, 0xD83): "Neoverse-V3AE",
    (0x41, 0xD84): "Neoverse-V3",
    (0x41, 0xD8E): "Neoverse-N3",
    (0x43, 0x0AF): "ThunderX2",
    (0x46, 0x001): "A64FX",
    (0x48, 0xD01): "Kunpeng-920",
    (0xC0, 0xAC3): "Ampere-1",
    (0xC0, 0xAC4): "Ampere-1a",
}
_ARM_MAKERS = {0x41: "Arm", 0x43: "Cavium", 0x46: "Fujitsu", 0x48: "HiSilicon", 0xC0: "Ampere"}


def collect_host(root: Path = Path("/")) -> Host:
    return Host(
        name=os.uname().nodename.split(".")[0] or "localhost",
        cpu=this_cpu(root),
        cores=count_cores(root),
        kernel=_read(root / "proc/sys/kernel/osrelease").strip() or os.uname().release,
        memory_bytes=_memory_bytes(_read(root / "proc/meminfo")),
    )


def this_cpu(root: Path = Path("/")) -> str:
    return cpu_model(_cpuinfo(root / "proc/cpuinfo"))


def _cpuinfo(path: Path) -> str:
    """Return what is said of the first processor where that names the model, else the whole.

    The kernel asks each processor for its clock rate: with hundreds of them, that takes a while.
    """
    lines: list[str] = []
    named = False
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            for line in stream:
                lines.append(line)
                named |= line.startswith("model name")
                if named and not line.strip():
                    break
    except OSError:
        return ""
    return "".join(lines)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _memory_bytes(meminfo: str) -> int:
    found = re.search(r"^MemTotal:\s+(\d+) kB", meminfo, re.MULTILINE)
    return int(found.group(1)) * 1024 if found else 0


def cpu_model(cpuinfo: str) -> str:
    """Return the CPU model named in the text of ``/proc/cpuinfo`` (x86-64, aarch64, POWER, RISC-V).

    Where a virtual machine hides the model ("AMD EPYC"), the family and model numbers are added, so
    that two generations are not taken for one kind of node.
    """
    fields: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        key, colon, value = line.partition(":")
        if colon and value.strip():
            fields.setdefault(key.strip(), " ".join(value.split()))
    for key in ("model name", "Model", "cpu", "uarch"):
        if key in fields:
            name = fields[key].replace('"', "'")
            # on x86-64 these two tell generations apart
            if key == "model name" and not any(map(str.isdecimal, name)) and "cpu family" in fields:
                name += f" (family {fields['cpu family']}, model {fields.get('model', '?')})"
            return name
    if "CPU implementer" in fields and "CPU part" in fields:
        return arm_name(f"implementer {fields['CPU implementer']} part {fields['CPU part']}")
    return UNKNOWN_CPU


def arm_name(text: str) -> str:
    """Return the name for ``implementer 0x41 part 0xd40``; any other text stays as it is.

    Tables that the C library writes have the numbers.
    """
    found = re.fullmatch(r"implementer (0x[0-9a-fA-F]+) part (0x[0-9a-fA-F]+)", text)
    if not found:
        return text
    maker, part = (int(number, 16) for number in found.groups())
    name = _ARM_PARTS.get((maker, part), f"part 0x{part:03x}")
    return f"{_ARM_MAKERS.get(maker, f'implementer 0x{maker:02x}')} {name}"


def count_cores(root: Path = Path("/")) -> int:
    """Return the number of physical cores that are online (hardware threads counted once)."""
    cores: set[tuple[str, str]] = set()
    for cpu in sorted((root / "sys/devices/system/cpu").glob("cpu[0-9]*")):
        package = _read(cpu / "topology/physical_package_id").strip()
        core = _read(cpu / "topology/core_id").strip()
        siblings = _read(cpu / "topology/thread_siblings_list").strip()
        if siblings or core:
            cores.add((package, siblings or core))
    return len(cores) or os.cpu_count() or 1


def other_cpu(one: Host, two: Host) -> bool:
    """Return whether two hosts are known to have different processors."""
    return other_model(one.cpu, two.cpu)


def other_model(one: str, two: str) -> bool:
    """Return whether two CPU models, as in `Host.cpu`, are known to be different processors."""
    return len({cpu_slug(one), cpu_slug(two)} - {UNKNOWN_CPU}) > 1


def cpu_slug(cpu: str) -> str:
    """Return a CPU model as a directory name: ``"AMD EPYC 9R14"`` gives ``amd-epyc-9r14``.

    Marketing marks and the clock rate, which do not tell machines apart, are dropped.
    """
    text = cpu.lower()
    for mark in ("(r)", "(tm)", "(c)"):
        text = text.replace(mark, " ")
    text = text.partition("@")[0]
    kept: list[str] = []
    for word in "".join(c if c.isalnum() or c in "_-" else " " for c in text).split():
        parts = word.split("-")
        for at, part in enumerate(parts):
            cores = part == "core" and at and parts[at - 1].isdecimal()
            if cores:
                kept.pop()
            elif part not in ("processor", "cpu"):
                kept.append(part)
    plain = "".join(c if c in _PLAIN else " " for c in " ".join(kept))
    return "-".join(plain.split()) or UNKNOWN_CPU


_PLAIN = "abcdefghijklmnopqrstuvwxyz0123456789"
TITLES = {"openmpi": "Open MPI", "mpich": "MPICH", "intel": "Intel MPI", "mvapich": "MVAPICH"}


def product_of(family: str, library: str) -> str:
    """Return ``mvapich`` where the library says that it is this, else the family."""
    # it is made of MPICH
    told = library.lstrip().upper().startswith("MVAPICH")
    return "mvapich" if family == "mpich" and told else family


def product(mpi: MPIIdentity) -> str:
    return product_of(mpi.family, mpi.library)


def titled(mpi: MPIIdentity) -> str:
    """Return an MPI in words: ``Open MPI 4.1.4``."""
    return f"{TITLES[product(mpi)]} {mpi.version}"

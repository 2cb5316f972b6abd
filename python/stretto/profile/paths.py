"""The files of a run by path: the ranks' rows joined, the biggest kept."""

from __future__ import annotations

from collections.abc import Sequence

from stretto.files.profile import FileUse
from stretto.profile.raw import Array, RawFile

#: paths that a profile keeps; all others are one row without a path
KEPT = 64

_SYSTEMS = {
    0xEF53: "ext4", 0x58465342: "xfs", 0x9123683E: "btrfs", 0x01021994: "tmpfs",
    0x794C7630: "overlay", 0x6969: "nfs", 0x0BD00BD0: "lustre", 0x47504653: "gpfs",
    0x19830326: "beegfs", 0x00C36400: "ceph", 0xFF534D42: "cifs", 0xFE534D42: "cifs",
    0x65735546: "fuse", 0x2FC12FC1: "zfs", 0x73717368: "squashfs", 0x20030528: "orangefs",
    0xAAD7AAEA: "panfs", 0x013111A8: "dvs", 0x01021997: "9p",
}  # fmt: skip


def system_name(kind: int) -> str:
    """Return a file system's name by the `f_type` of statfs; its number where it is not known."""
    return _SYSTEMS.get(kind, hex(kind))


def _used(raw: RawFile, row: Array) -> float:
    """Return how much a row matters: bytes, or nanoseconds where they are more."""
    volume = sum(int(row[k]) for k in _BYTES)
    return max(float(volume), sum(int(row[k]) for k in _TICKS) * raw.ns_per_tick)


_BYTES = ("read_bytes", "written_bytes", "mpi_read_bytes", "mpi_written_bytes")
_TICKS = ("read_ticks", "write_ticks", "other_ticks")


def file_seconds(raw: RawFile) -> float:
    return sum(int(raw.files[k].sum()) for k in _TICKS) * raw.ns_per_tick * 1e-9


def file_bytes(raw: RawFile) -> int:
    return sum(int(raw.files[k].sum()) for k in _BYTES[:2])


def join_files(run: Sequence[RawFile]) -> list[FileUse]:
    """Return the files that the ranks used, those that matter most first, the rest as one."""
    weights: dict[str, float] = {}
    for raw in run:
        for row in raw.files:
            path = _path(row)
            weights[path] = weights.get(path, 0.0) + _used(raw, row)
    named = sorted((p for p in weights if p), key=lambda p: (-weights[p], p))
    found: dict[str, FileUse] = {p: FileUse(p) for p in named[:KEPT]}
    for raw in run:
        for row in raw.files:
            path = _path(row)
            if path not in found:
                path = ""
                found.setdefault(path, FileUse(path))
            _add(found[path], raw, row)
    return list(found.values())


def _path(row: Array) -> str:
    return bytes(row["path"]).split(b"\0")[0].decode("utf-8", "backslashreplace")


def _add(use: FileUse, raw: RawFile, row: Array) -> None:
    if not use.ranks or use.ranks[-1] != raw.rank:
        use.ranks.append(raw.rank)
        counts = (use.opens, use.mpi_opens, use.reads, use.writes, use.touched)
        for numbers in (*counts, use.read_bytes, use.written_bytes):
            numbers.append(0)
        for times in (use.read_s, use.write_s, use.other_s):
            times.append(0.0)
    use.opens[-1] += int(row["opens"])
    use.mpi_opens[-1] += int(row["mpi_opens"])
    use.reads[-1] += int(row["reads"])
    use.writes[-1] += int(row["writes"])
    use.read_bytes[-1] += int(row["read_bytes"]) + int(row["mpi_read_bytes"])
    use.written_bytes[-1] += int(row["written_bytes"]) + int(row["mpi_written_bytes"])
    use.touched[-1] |= int(row["touched"])
    second = raw.ns_per_tick * 1e-9
    use.read_s[-1] += int(row["read_ticks"]) * second
    use.write_s[-1] += int(row["write_ticks"]) * second
    use.other_s[-1] += int(row["other_ticks"]) * second
    if sum(int(row[k]) for k in ("mpi_opens", "mpi_read_bytes", "mpi_written_bytes")):
        use.mpi_io = True
    if use.path:
        use.size = max(use.size, int(row["size"]), 0)
        use.system = system_name(int(row["system"]))

"""Causes that lie in files: one rank at work while the others wait, or all at the same bytes."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from stretto.counted import counted, seconds, sized
from stretto.diagnose.causes import Cause
from stretto.diagnose.file_steps import (
    PROGRAM_ADVICE,
    data_path,
    function_of,
    is_program,
    known_path,
    read_steps,
    write_steps,
)
from stretto.diagnose.numbers import SERIAL_OTHERS, SERIAL_SHARE, mean
from stretto.diagnose.patterns import PatternCauses
from stretto.files.profile import FileUse

#: how many ranks read the same bytes, on average over a file, from which on it is a cause
COPIES = 1.5
#: files below this share of the run are not listed: Python's modules, settings of libraries
SMALL_FILE = 0.01
#: below this mean size of an access larger ones are advised
SMALL_ACCESS = 64 << 10
#: of a file, in `FileUse.touched`
PARTS = 32
#: file systems of one node: the same path is another file on the next node
LOCAL = ("ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "squashfs")

#: a file that several ranks read: what is lost, and all time spent on it (s a rank)
Shared = tuple[float, float, FileUse]


def _copies(use: FileUse, ranks: Sequence[int]) -> float:
    """Return how many of the ranks read each byte that was read, on average.

    Parts of the file tell it, and the bytes: who reads every other record touches all parts.
    """
    bits = [use.touched[i] for i in ranks]
    parts = sum(b.bit_count() for b in bits)
    every = 0
    for b in bits:
        every |= b
    if not parts:
        return 1.0
    covered = use.size * every.bit_count() / PARTS
    by_bytes = sum(min(use.read_bytes[i], covered) for i in ranks) / covered
    return max(min(parts / every.bit_count(), by_bytes), 1.0)


def access_words(use: FileUse) -> str:
    if not use.mpi_io:
        return "by POSIX calls"
    own = sum(use.opens)
    words = "by MPI-IO (time of its calls)"
    return f"{words}, and {counted(own, 'time')} by POSIX calls" if own else words


class FileCauses(PatternCauses):
    """What file access costs, by the files and ranks that the recorder saw."""

    def serial_rank(self) -> int | None:
        """Return the rank that does most of all file work, None where several share it."""
        files, total = self.p.io_s, sum(self.p.io_s)
        if self.n < 2 or total <= 0:
            return None
        most = max(files)
        others = (total - most) / (self.n - 1)
        if most < SERIAL_SHARE * total or others > SERIAL_OTHERS * most:
            return None
        return files.index(most)

    def file_causes(self, waiting: float) -> list[Cause | None]:
        """Return what files cost; `waiting`: for ranks that are at files longer than others."""
        alone = self.serial_rank()
        shared, rows = self._shared()
        if alone is not None:
            return [self._serial_cause(alone, waiting), *self._shared_causes(0.0, rows)]
        most = shared >= 0.25 * mean(self.p.io_s)
        rest = max(mean(self.p.io_s) - sum(spent for _, spent, _ in rows), 0.0)
        return [
            *self._shared_causes(waiting if most and rows else 0.0, rows),
            self._file_cause(rest + (0.0 if most and rows else waiting)),
        ]

    # ---- how long, and what ----------------------------------------------------------------

    def _by_mpi(self, word: str) -> list[float]:
        out = [0.0] * self.n
        for call in self.p.calls:
            if word in function_of(call):
                out = [a + b for a, b in zip(out, call.time_s, strict=True)]
        return out

    def read_write_s(self) -> tuple[list[float], list[float]]:
        """Return the time of reading and of writing, by rank, MPI-IO included."""
        reading, writing = self._by_mpi("read"), self._by_mpi("write")
        for use in self.p.file_uses or []:
            for i, rank in enumerate(use.ranks):
                reading[rank] += use.read_s[i]
                writing[rank] += use.write_s[i]
        return reading, writing

    def _shared(self) -> tuple[float, list[Shared]]:
        """Return what reading the same bytes on several ranks costs, a rank, and the files.

        Those with their loss and all time spent on them, a rank, MPI-IO included; most first.
        """
        by_mpi, moved = self._by_mpi("read"), [0] * self.n
        for use in self.p.file_uses or []:
            for i, rank in enumerate(use.ranks):
                moved[rank] += use.read_bytes[i] if use.mpi_io else 0
        rows = []
        for use in self.p.file_uses or []:
            if not use.path or use.size <= 0:
                continue
            inside = [
                by_mpi[rank] * use.read_bytes[i] / max(moved[rank], 1) if use.mpi_io else 0.0
                for i, rank in enumerate(use.ranks)
            ]
            found, lost = False, 0.0
            for group in self._groups(use):
                taken = _copies(use, group)
                if taken < COPIES:
                    continue
                found = True
                spent = sum(use.read_s[i] + use.other_s[i] + inside[i] for i in group)
                lost += spent * (1 - 1 / taken) / self.n
            if found:
                rows.append((lost, (use.total_s + sum(inside)) / self.n, use))
        rows.sort(key=lambda r: -r[0])
        return sum(r[0] for r in rows), rows

    def _groups(self, use: FileUse) -> list[list[int]]:
        """Return which of a file's ranks can have meant the same file."""
        if use.system not in LOCAL or len(self.p.nodes) < 2:
            return [list(range(len(use.ranks)))]
        node_of = {r: i for i, node in enumerate(self.p.nodes) for r in node.ranks}
        groups: dict[int, list[int]] = {}
        for i, rank in enumerate(use.ranks):
            groups.setdefault(node_of[rank], []).append(i)
        return list(groups.values())

    def _rows(self, rank: int | None) -> list[tuple[float, int, int, FileUse]]:
        """Return seconds, bytes read and written of each file, by a rank or all; most first."""
        rows: list[tuple[float, int, int, FileUse]] = []
        for use in self.p.file_uses or []:
            chosen = [i for i, r in enumerate(use.ranks) if rank is None or r == rank]
            time_s = sum(use.read_s[i] + use.write_s[i] + use.other_s[i] for i in chosen)
            read = sum(use.read_bytes[i] for i in chosen)
            written = sum(use.written_bytes[i] for i in chosen)
            rows.append((time_s, read, written, use))
        return sorted(rows, key=lambda r: (-r[0], -r[1] - r[2]))

    def _main(self, rank: int | None, reads: bool) -> FileUse | None:
        """Return the file with a known path of which most time, or most bytes, are reading."""
        moved = [(row[0], row[1] if reads else row[2], row[3]) for row in self._rows(rank)]
        return next((use for _, n, use in moved if n and data_path(use)), None)

    def _measure(self, use: FileUse | None, reads: bool) -> str:
        """Return the command that measures other ways to read or write as much there."""
        if use is None:
            return self.show_command()
        n = f"-n {self.n}"
        if self.p.node_count > 1:
            n += f" --ppn {self.p.ppn}"
        if reads:
            return f"stretto io {n} --file {shlex.quote(use.path)}"
        volume = max(sum(use.written_bytes), 1)
        folder = shlex.quote(str(PurePosixPath(use.path).parent))
        return f"stretto io {n} --write --dir {folder} --bytes {volume}"

    def _biggest(self, rank: int | None) -> list[str]:
        lines = []
        rows = self._rows(rank)
        most = max((read + written for _, read, written, _ in rows), default=0)
        for time_s, read, written, use in rows[:2]:
            moved = [f"{sized(read)} read"] * bool(read) + [f"{sized(written)} written"] * bool(
                written
            )
            # an MPI has small files of its own
            if time_s > 0 or 100 * (read + written) > most:
                name = use.path or "all smaller files"
                took = f" in {seconds(time_s)}" if time_s > 0 else ""
                what = " and ".join(moved) or "opened"
                lines.append(f"{name}: {what}{took}, {access_words(use)}")
        return lines

    def _openings(self) -> list[str]:
        """Return the functions of MPI-IO, other than reading and writing, that take most time."""
        times: dict[str, float] = {}
        for call in self.p.calls:
            name = function_of(call)
            if name and "read" not in name and "write" not in name:
                times[name] = times.get(name, 0.0) + mean(call.time_s)
        most = sorted(times, key=lambda name: -times[name])[:2]
        return [f"{name}: {seconds(times[name])} per rank" for name in most]

    # ---- the causes ------------------------------------------------------------------------

    def _serial_cause(self, rank: int, lost: float) -> Cause | None:
        files = self.p.io_s
        reading, writing = (times[rank] for times in self.read_write_s())
        reads = reading > writing
        evidence = [
            f"rank {self.p.number(rank)} spends {seconds(files[rank])} on files, the others "
            f"{seconds(sum(files) - files[rank])} together"
        ]
        if reading + writing > 0:
            evidence.append(f"of that, {seconds(reading)} reading and {seconds(writing)} writing")
        evidence += self._biggest(rank)
        waits = self._top_waits(self.blocking)
        if waits:
            evidence.append(f"most of the waiting is in {waits}")
        use = self._main(rank, reads)
        if reads:
            title = "serial reading: one rank reads files while the others wait"
            advice = (
                "read in parallel (MPI-IO with MPI_File_read_all, parallel HDF5 or netCDF: each "
                "rank its part), or read the next data while the other ranks compute"
            )
        else:
            title = "serial writing: one rank writes files while the others wait"
            advice = (
                "write in parallel (MPI-IO, parallel HDF5 or netCDF), less often, or from a rank "
                "that the others do not wait for"
            )
        return self._cause(
            "serial_io",
            title,
            lost,
            evidence,
            advice,
            self._measure(use, reads),
            because="no collective algorithm changes how fast a file is "
            + ("read" if reads else "written"),
            steps=self._steps(use, reads, False),
        )

    def _shared_causes(self, waiting: float, rows: Sequence[Shared]) -> list[Cause | None]:
        """Return what reading data and modules costs; `waiting` belongs to the greater."""
        data = [row for row in rows if not is_program(row[2])]
        modules = [row for row in rows if is_program(row[2])]
        lost = sum(part for part, *_ in data)
        of_modules = sum(part for part, *_ in modules)
        greater = lost >= of_modules
        return [
            self._shared_cause(lost + (waiting if greater else 0.0), data),
            self._module_cause(of_modules + (0.0 if greater else waiting), modules),
        ]

    def _module_cause(self, lost: float, rows: Sequence[Shared]) -> Cause | None:
        bytes_read = sum(sum(use.read_bytes) for *_, use in rows) / self.n
        first = f", most of it for {rows[0][2].path}" if rows else ""
        return self._cause(
            "modules",
            "Python modules and libraries: each rank reads the same files at import",
            lost,
            [f"{counted(len(rows), 'file')}, {sized(bytes_read)} per rank{first}"],
            PROGRAM_ADVICE,
            because="the time is spent reading files, before any collective",
        )

    def _shared_cause(self, lost: float, rows: Sequence[Shared]) -> Cause | None:
        evidence = []
        listed = [row for row in rows[:3] if row[0] >= SMALL_FILE * self.wall] or rows[:1]
        for part, _, use in listed:
            readers = [i for i, n in enumerate(use.read_bytes) if n]
            each = sum(use.read_bytes[i] for i in readers) / len(readers)
            evidence.append(
                f"{use.path} ({sized(use.size)}, {use.system}): {len(readers)} of {self.n} ranks "
                f"read {sized(each)} each {access_words(use).partition(',')[0]}, "
                f"{seconds(part)} per rank more than reading every byte once"
            )
        rest = rows[len(listed) :]
        if (more := sum(part for part, *_ in rest)) >= SMALL_FILE * self.wall:
            evidence.append(f"and {counted(len(rest), 'more file')}: {seconds(more)}")
        first = next((use for *_, use in rows if known_path(use)), None)
        return self._cause(
            "shared_read",
            "the same file is read by many ranks: each reads the same bytes",
            lost,
            evidence,
            "read it on one rank and broadcast it (MPI_Bcast), or with collective MPI-IO "
            "(MPI_File_read_all)",
            self._measure(first, True),
            because="the time is spent reading files, before any collective",
            steps=self._steps(first, True, True),
        )

    def _steps(self, use: FileUse | None, reads: bool, shared: bool) -> list[str]:
        if use is None:
            return []
        return read_steps(self.p, use, shared) if reads else write_steps(self.p, use)

    def _file_cause(self, lost: float) -> Cause | None:
        uses = self.p.file_uses or []
        reading, writing = (mean(times) for times in self.read_write_s())
        opening = max(mean(self.p.io_s) - reading - writing, 0.0)
        moved = sum(sum(u.read_bytes) + sum(u.written_bytes) for u in uses)
        accesses = sum(sum(u.reads) + sum(u.writes) for u in uses)
        evidence = [
            f"{seconds(reading)} reading, {seconds(writing)} writing, {seconds(opening)} opening, "
            "closing and flushing, per rank"
        ]
        reads = reading > writing
        opens = opening > reading + writing
        programs = not opens and reads and bool(uses) and is_program(self._rows(None)[0][3])
        if opens:
            evidence += self._openings()
        evidence += self._biggest(None)
        if accesses:
            evidence.append(
                f"{counted(accesses, 'access', 'accesses')} of {sized(moved / accesses)} on average"
            )
        if opens:
            advice = "open each file once and keep it open; use fewer files, and flush less often"
        elif programs:
            advice = PROGRAM_ADVICE
        else:
            small = accesses > 0 and moved / accesses < SMALL_ACCESS
            advice = "read and write larger pieces at a time, " if small else ""
            advice += (
                "less often, or with collective MPI-IO (MPI_File_write_all); keep data that is "
                "read repeatedly in memory"
            )
        use = None if opens or programs else self._main(None, reads)
        return self._cause(
            "files",
            "files: opening and closing take this time"
            if opens
            else "files: reading and writing take this time",
            lost,
            evidence,
            advice,
            self._measure(use, reads),
            because="no collective algorithm makes files faster",
            steps=self._steps(use, reads, False),
        )

"""Spoils native files as a person might: another algorithm's number, a size that is not the row's.

For campaign_exports.py. Each function changes one row of an export in place, as the MPI's own
grammar has it, and nothing else; it returns the row's index, or None where no row can be spoilt so.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from stretto.export import han, intel, mpich_tree, openmpi
from stretto.export.output import SCRIPT
from stretto.export.sizes import MPICH_TOTAL, openmpi_bytes
from stretto.files.export import EXPORT, NAME, ExportManifest, ExportRow

#: MPICH's algorithms that take no parameter: one of them stands in for a row's own
PLAIN = {
    "allreduce": ("ring", "recursive_doubling"),
    "bcast": ("scatter_ring_allgather", "binomial"),
    "reduce": ("reduce_scatter_gather", "binomial"),
    "allgather": ("ring", "brucks"),
    "alltoall": ("pairwise", "brucks"),
}
#: a wrong size is so many times the right one where a row ends, and so often in it where one begins
SHIFT = 4


def another_algorithm(folder: Path, rows: list[int]) -> int | None:
    """Give a row another algorithm than its own.

    Parameters
    ----------
    folder
        The export's.
    rows
        Indices of rows that may be spoilt, the first that can be is.
    """
    return _first(folder, rows, _SPOILERS[_family(folder)][0])


def another_size(folder: Path, rows: list[int]) -> int | None:
    """Let a row begin, or end, at another size than its own.

    Parameters
    ----------
    folder, rows
        As for `another_algorithm`.
    """
    return _first(folder, rows, _SPOILERS[_family(folder)][1])


_Spoiler = Callable[[Path, ExportManifest, ExportRow], bool]


def _first(folder: Path, rows: list[int], spoil: _Spoiler) -> int | None:
    manifest = EXPORT.read(folder / NAME)
    return next((i for i in rows if spoil(folder, manifest, manifest.rows[i])), None)


def _family(folder: Path) -> str:
    return EXPORT.read(folder / NAME).target.split("-")[0]


# ---- Open MPI: lines of numbers ------------------------------------------------------------------


def _line(
    folder: Path, manifest: ExportManifest, row: ExportRow
) -> tuple[Path, list[int], int] | None:
    """Return a row's file, the lines of its communicator's rows, and which of them is its own."""
    number = openmpi.IDS[row.collective]
    path = folder / openmpi.RULES_FILE
    if any(name.startswith("coll_tuned") for name, _ in row.settings):
        size = openmpi_bytes(row.collective, row.low, row.nranks) or 0
        classic = openmpi.read_classic(path.read_text(), str(path))[number][row.nranks]
        lines = [(r.line, r.size) for r in classic]
    else:
        path, size = folder / han.RULES_FILE, row.low
        own = han.read_rules_file(path.read_text(), str(path))[number][row.nranks]
        lines = [(r.line, r.size) for r in own]
    at = [i for i, (_, begins) in enumerate(lines) if begins == size]
    return (path, [n for n, _ in lines], at[0]) if at else None


def _open_mpi_algorithm(folder: Path, manifest: ExportManifest, row: ExportRow) -> bool:
    found = _line(folder, manifest, row)
    if found is None:
        return False
    path, lines, at = found

    def edit(words: list[str]) -> list[str]:
        if path.name == openmpi.RULES_FILE:
            return [words[0], "2" if words[1] == "1" else "1", *words[2:]]
        return [words[0], "tuned"]

    _edit_line(path, lines[at], edit)
    return True


def _open_mpi_size(folder: Path, manifest: ExportManifest, row: ExportRow) -> bool:
    found = _line(folder, manifest, row)
    if found is None:
        return False
    path, lines, at = found
    if at == 0 and len(lines) == 1:
        return False  # it holds for all sizes
    if at > 0:
        _edit_line(path, lines[at], lambda words: [str(int(words[0]) // SHIFT), *words[1:]])
    else:
        _edit_line(path, lines[1], lambda words: [str(int(words[0]) * SHIFT), *words[1:]])
    return True


def _edit_line(path: Path, number: int, edit: Callable[[list[str]], list[str]]) -> None:
    lines = path.read_text().splitlines()
    lines[number - 1] = " ".join(edit(lines[number - 1].split()))
    path.write_text("\n".join(lines) + "\n")


# ---- MPICH: trees --------------------------------------------------------------------------------


def _branches(
    folder: Path, row: ExportRow
) -> Iterator[tuple[Path, dict[str, Any], dict[str, Any]]]:
    """Yield each file with a branch for a row's communicators, its tree, and that branch."""
    most = -(-row.nranks // row.nodes)
    where = "comm_size=node_comm_size" if row.nodes == 1 else f"comm_avg_ppn<={most}"
    for name in mpich_tree.FILES.values():
        path = folder / name
        if not path.exists():
            continue
        tree = json.loads(path.read_text())
        intra = tree.get(f"collective={row.collective}", {}).get("comm_type=intra", {})
        branch = intra.get(f"comm_size<={row.nranks}", {}).get(where)
        if branch:
            yield path, tree, branch


def _rename(tree: dict[str, Any], old: str, new: str, leaf: dict[str, Any] | None = None) -> bool:
    """Rename a key wherever it stands; its value stays, or becomes `leaf`."""
    done = False
    for key in list(tree):
        value = tree.pop(key)  # and in again, so that the order stays
        if key == old:
            tree[new], done = value if leaf is None else leaf, True
            continue
        tree[key] = value
        done = (isinstance(value, dict) and _rename(value, old, new, leaf)) or done
    return done


def _mpich_algorithm(folder: Path, manifest: ExportManifest, row: ExportRow) -> bool:
    upper = row.collective.upper()
    name = dict(map(tuple, row.settings)).get(f"MPIR_CVAR_{upper}_INTRA_ALGORITHM")
    if name is None:
        return False
    begin = f"algorithm=MPIR_{row.collective.capitalize()}_intra_"
    other = next(x for x in PLAIN[row.collective] if x != name)
    return _spoil(folder, row, begin + name, begin + other, {})


def _mpich_size(folder: Path, manifest: ExportManifest, row: ExportRow) -> bool:
    total = row.collective in MPICH_TOTAL
    key, factor = ("total", row.nranks) if total else ("avg", 1)
    bound = row.low or (0 if row.high is None else row.high + 1)
    wrong = row.low // SHIFT or bound * SHIFT
    old, new = (f"{key}_msg_size<={size * factor - 1}" for size in (bound, wrong))
    return bound > 0 and _spoil(folder, row, old, new)


def _spoil(
    folder: Path, row: ExportRow, old: str, new: str, leaf: dict[str, Any] | None = None
) -> bool:
    done = False
    for path, tree, branch in _branches(folder, row):
        if _rename(branch, old, new, leaf):
            path.write_text(mpich_tree.text_of(tree))
            done = True
    return done


# ---- Intel MPI: clauses in variables -------------------------------------------------------------


def _intel(folder: Path, manifest: ExportManifest, row: ExportRow, spoil_size: bool) -> bool:
    name, preset = row.settings[0]
    value = manifest.environment[name]
    clauses = intel.read_clauses(value, name)
    mine = [i for i, c in enumerate(clauses) if c.preset == preset]
    parts = value.split(";")
    if spoil_size:
        if len(clauses) < 2 or any(c.last != intel.MOST for c in clauses):
            return False
        at = max(mine[0] - 1, 0)  # where the row begins, or the first one ends
        preset_, _, rest = parts[at].partition(":")
        low = rest.partition("-")[0]
        parts[at] = f"{preset_}:{low}-{SHIFT * (clauses[at].high + 1) - 1}"
    else:
        other = next(x for x in ("1", "2", "3") if x not in {c.preset for c in clauses})
        parts[mine[0]] = f"{other}:" + parts[mine[0]].partition(":")[2]
    script = folder / SCRIPT
    line = f"export {name}={shlex.quote(value)}"
    assert line in script.read_text(), name
    new = f"export {name}={shlex.quote(';'.join(parts))}"
    script.write_text(script.read_text().replace(line, new))
    return True


_SPOILERS: dict[str, tuple[_Spoiler, _Spoiler]] = {
    "openmpi": (_open_mpi_algorithm, _open_mpi_size),
    "mpich": (_mpich_algorithm, _mpich_size),
    "intel": (lambda f, m, r: _intel(f, m, r, False), lambda f, m, r: _intel(f, m, r, True)),
}

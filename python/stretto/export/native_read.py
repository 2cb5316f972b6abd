"""Reads native tuning files: what `stretto export` writes, and what the MPIs take besides."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stretto.errors import StrettoError
from stretto.export import han, intel, openmpi_words
from stretto.export.counts import IDS
from stretto.export.mpich_tree import CH4, MPIR, POSIX, Tree, Trees, is_leaf, read_file
from stretto.export.native_rows import NativeFile, NativeRow
from stretto.export.openmpi import read_classic
from stretto.export.openmpi_json import read_json
from stretto.files.export import REMEDY as OF_EXPORT
from stretto.files.placed import PlacedObject, object_of, placed_json
from stretto.kinds import Family
from stretto.mpi.algorithms.forced import OFF

REMEDY = "correct the file there"
#: ``export NAME=VALUE``, ``setenv NAME VALUE``, ``-genv NAME VALUE``, ``NAME = VALUE``
_SETTING = re.compile(
    r"(?:^|\s)(?:-x\s+|-genv\s+|setenv\s+|--?mca\s+)?"
    r"((?:OMPI_MCA_)?coll_\w+|MPIR_CVAR_\w+|I_MPI_ADJUST_\w+)"
    r"(?:\s*=\s*|\s+)(\"[^\"]*\"|'[^']*'|[^\s\"']+)"
)


def read_native(data: bytes, path: str, library: Trees | None = None) -> NativeFile:
    """Return the rules of a file; its form is found out from the text.

    `library`: of an MPICH: what its tree says already is left out. Raises StrettoError, with file
    and line, where the MPI could not read the file.
    """
    text = data.decode(errors="replace")
    if "\0" in text or "\ufffd" in text:
        raise StrettoError(
            "it is a binary file; the format of I_MPI_TUNING_BIN is not documented", path,
            "give the text file of the tuner, or the I_MPI_ADJUST_* variables",
        )  # fmt: skip
    try:
        found = parsed(text, path, library)
    except StrettoError as error:
        remedy = REMEDY if error.remedy in (None, OF_EXPORT) else error.remedy
        raise StrettoError(error.message, error.place, remedy) from error
    if not (found.rows or found.faults or found.notes):
        raise StrettoError(
            "it contains no rules", path,
            "give rules of Open MPI or HAN, a tree of MPICH, or I_MPI_ADJUST_* variables",
        )  # fmt: skip
    return found


def parsed(text: str, path: str, library: Trees | None = None) -> NativeFile:
    """Return what is in a file, whatever its form."""
    if text.lstrip().startswith("{"):
        if "rule_file_version" in text:
            rows, faults = read_json(text, path)
            return NativeFile(path, "json", "openmpi", text, tuple(rows), tuple(faults))
        return _intel_tree(text, path) if '"coll=' in text else _mpich(text, path, library)
    if _SETTING.search(text):
        return _settings(text, path)
    words = [w for line in text.splitlines() for w in line.split("#")[0].split()]
    if {*han.COMPONENTS, *han.LEVELS}.intersection(words):
        rows = han.read_rules_file(text, path)
        return NativeFile(path, "han", "openmpi", text, tuple(rows))
    return NativeFile(path, "classic", "openmpi", text, tuple(read_classic(text, path)))


# -- MPICH and Intel MPI: trees in which the first key that holds is taken
_SIZES = ("avg_msg_size", "total_msg_size", "msg_size")


@dataclass
class _Way:
    """What holds on the way to a node of a tree: spans by measure, and further conditions.

    `own`: the rules that MPICH has built in for the collective: an equal rule changes nothing.
    """

    collective: str = ""
    spans: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    own: Mapping[str, Any] = field(default_factory=dict)

    def row(self, place: str, settings: tuple[tuple[str, str], ...]) -> NativeRow:
        first, last = self.spans.get("comm_size", (0, None))
        low, high = next((self.spans[n] for n in _SIZES if n in self.spans), (0, None))
        others = [
            f"{name} {a} to {'any' if b is None else b}"
            for name, (a, b) in self.spans.items()
            if name not in (*_SIZES, "comm_size")
        ]
        bounds = (first, last, low, high)
        return NativeRow(place, self.collective, *bounds, settings, (*self.only, *others))


def _mpich(text: str, path: str, library: Trees | None) -> NativeFile:
    tree = read_file(text, path, library.leaves if library else frozenset())
    rows: list[NativeRow] = []
    faults: list[tuple[str, str]] = []
    own = _layer_of(tree, library)
    missing = [k.partition("=")[2] for k in own if k not in tree]
    there = [k.partition("=")[2] for k in tree]
    for key in list(tree):
        if own.get(key) == tree[key]:
            del tree[key]
    _walk(tree, _Way(own=own), path, rows, faults)
    notes = []
    if missing:
        words = ", ".join(missing)
        if len(there) < len(missing):
            words = f"any collective but {', '.join(there)}"
        faults.append((f"{path}:1", f"MPICH aborts calls of {words}: the file replaces the whole "
                       "tree and has no branch for them"))  # fmt: skip
    if not own:
        notes.append(
            "the whole tree is shown; --mpi PREFIX compares it with the MPICH that it is for"
        )
    elif not rows and not faults:
        raise StrettoError(
            "it equals the native selection of this MPICH",
            path,
            "leave out the variable that names it",
        )
    return NativeFile(path, "mpich", "mpich", text, tuple(rows), tuple(faults), tuple(notes))


def _layer_of(tree: Tree, library: Trees | None) -> Mapping[str, Any]:
    """Return the tree of the library that a file replaces; empty: not known."""
    first = next(_leaves(tree), "").partition("=")[2]
    trees = library.trees if library else {}
    return next((trees[x] for x in (POSIX, CH4, MPIR) if first.startswith(x) and x in trees), {})


def _leaves(tree: Mapping[str, Any]) -> Iterator[str]:
    for key, below in tree.items():
        if is_leaf(key):
            yield key
        else:
            yield from _leaves(below)


#: what stands before an algorithm's name in a leaf
_PLAIN = re.compile(r"MPIR_\w+?_intra_|MPIDI_POSIX_mpi_[a-z]+_|MPIDI_\w+?_intra_composition_")


def _walk(
    tree: Mapping[str, Any], way: _Way, path: str, rows: list[NativeRow],
    faults: list[tuple[str, str]],
) -> None:  # fmt: skip
    """Add the rows of a branch, and what is wrong in it."""
    left = dict(way.spans)  # of a measure: what the keys before have not taken
    over = ""
    for key, below in tree.items():
        place = f"{path}:{tree.line_of(key) if isinstance(tree, PlacedObject) else 0}"
        if is_leaf(key):
            kind, _, name = key.partition("=")
            more = (p.partition("=") for p in below)
            settings = ((kind, _PLAIN.sub("", name)), *((n, v) for n, _, v in more))
            if way.collective and "comm_type=inter" not in way.only:
                rows.append(way.row(place, settings))
            return
        if over:
            faults.append((place, f"{key} never applies: an earlier {over} matches all calls"))
            continue
        name, sign, value = re.split(r"(<=|<|=)", "=any" if key == "any" else key, maxsplit=1)
        here = replace(way, spans={**way.spans, **left})
        if value == "any":
            over = key
        elif name == "collective":
            here.collective, here.own = value, way.own.get(key, {})
        elif sign == "=" or not value.isdecimal():
            here.only = way.only if key == "comm_type=intra" else (*way.only, key)
        else:
            low, high = left.get(name, (0, None))
            upto = int(value) - (sign == "<")
            if upto < low:
                faults.append((place, f"{key} never applies: an earlier key matches these calls"))
                continue
            here.spans[name] = (low, upto if high is None else min(upto, high))
            left[name] = (upto + 1, high)
        if name != "comm_type" and below == here.own.get("comm_type=intra"):
            rows.append(here.row(place, ()))
            continue
        _walk(below, here, path, rows, faults)


_INTEL_KEY = re.compile(r"(coll|ppn|comm_size|comm_id|msg_size)=(-?\w+)|([A-Z_]+)=(\d+)")


def _intel_tree(text: str, path: str) -> NativeFile:
    """Read what ``mpitune -m analyze`` writes: sizes are upper bounds, -1 is any."""
    tree = placed_json(text, path, REMEDY)
    rows: list[NativeRow] = []
    faults: list[tuple[str, str]] = []

    def walk(node: object, way: _Way, place: str) -> None:
        low: int | None = 0
        branch = object_of(node, "it", place, REMEDY)
        for key, below in branch.items():
            here = f"{path}:{branch.line_of(key)}"
            found = _INTEL_KEY.fullmatch(key)
            if not found:
                raise StrettoError(f"{key!r} is not a key of Intel MPI's tuner", here)
            name, value, variable, preset = found.groups()
            inner = replace(way, spans=dict(way.spans))
            if variable:
                setting = (f"I_MPI_ADJUST_{variable}", preset)
                rows.append(way.row(here, (setting,)))
                continue
            if name == "coll":
                inner.collective = value.lower()
                if inner.collective not in IDS:
                    raise StrettoError(f"{value!r} is not a collective", here)
            elif name == "msg_size":
                high = None if value == "-1" else int(value)
                if low is None or (high is not None and high < low):
                    faults.append(
                        (here, f"{key} never applies: an earlier size matches these calls")
                    )
                    continue
                inner.spans["msg_size"] = (low, high)
                low = None if high is None else high + 1
            elif name == "comm_size" and value != "-1":
                inner.spans["comm_size"] = (int(value), int(value))
            elif value != "-1":
                inner.only = (*way.only, f"{value} ranks a node" if name == "ppn" else key)
            walk(below, inner, here)

    walk(tree, _Way(), path)
    return NativeFile(path, "intel", "intel", text, tuple(rows), tuple(faults))


# -- variables and parameters, as in job scripts and mca-params.conf
_ALGORITHM = re.compile(
    r"(coll_tuned_([a-z_]+)_algorithm|coll_han_use_([a-z_]+)_algorithm"
    r"|MPIR_CVAR_([A-Z_]+?)(?:_POSIX)?_INTRA_ALGORITHM)(_\w+)?"
)


def _settings(text: str, path: str) -> NativeFile:
    forced: dict[str, NativeRow] = {}
    rows: list[NativeRow] = []
    faults: list[tuple[str, str]] = []
    notes: list[str] = []
    values: dict[str, str] = {}
    family: Family = "intel"
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{path}:{number}"
        for given, quoted in _SETTING.findall(re.sub(r"^\s*#.*|\s#\s.*", "", line)):
            name, value = given.removeprefix("OMPI_MCA_"), quoted.strip("\"'")
            if name.startswith("I_MPI_ADJUST_"):
                rows += _adjusted(name, value, place, faults, notes)
                continue
            family = "openmpi" if name.startswith("coll_") else "mpich"
            values[name] = value
            if name.endswith(("_rules_filename", "_TUNING_JSON_FILE")):
                command = f"stretto import rules {shlex.quote(value)}"
                notes.append(f"line {number} names a file of rules: {command}")
            found = _ALGORITHM.fullmatch(name)
            collective = next(filter(None, found.groups()[1:4]), "").lower() if found else ""
            if not found or (not found[5] and value in ("0", "auto", "ignore")):
                continue
            if collective not in IDS:
                faults.append((place, f"{name}: {collective!r} is not a collective"))
                continue
            row = NativeRow(place, collective, 0, None, 0, None, ())
            row = row if not found[5] else forced.get(found[1], row)
            value = openmpi_words.number_of(name, value)
            forced[found[1]] = replace(row, settings=(*row.settings, (name, value)))
    rows += forced.values()
    off = values.get("coll_tuned_use_dynamic_rules", "").lower() in OFF
    if off and any(re.fullmatch(r"coll_tuned_\w+_(algorithm|filename)", x) for x in values):
        notes.append(
            "Open MPI ignores rules and algorithms of coll/tuned unless "
            "coll_tuned_use_dynamic_rules=1, which is not set here"
        )
    return NativeFile(path, "settings", family, text, tuple(rows), tuple(faults), tuple(notes))


def _adjusted(
    name: str, value: str, place: str, faults: list[tuple[str, str]], notes: list[str]
) -> list[NativeRow]:
    """Return the rows of a variable as Intel MPI 2021.18 was seen to read it (`export.intel`)."""
    own = re.sub(r"_(COMPOSITION|NETWORK|NODE)$", "", name.removeprefix("I_MPI_ADJUST_"))
    collective = own.lower()
    if not {collective, collective.removeprefix("i")} & IDS.keys():
        faults.append((place, f"{name} is not a variable of a collective"))
        return []
    try:
        clauses = intel.read_clauses(value, place)
    except StrettoError as error:  # of one variable: the others are explained
        faults.append((place, f"{name}: {error.message}"))
        return []
    rows: list[NativeRow] = []
    low, most = 0, len(clauses) - 1
    for i, clause in enumerate(clauses):
        words = clause.typed
        setting = ((name, clause.preset),)
        if clause.with_ranks:
            if (clause.low, clause.high) != (0, intel.MOST):
                faults.append((place, f"{words} applies to all sizes: Intel MPI ignores sizes in "
                    "clauses with ranks"))  # fmt: skip
            later = clauses[i + 1 :]
            if any(c.first <= clause.first and clause.last <= c.last for c in later):
                faults.append((place, f"{words} never applies: in clauses with ranks, the last "
                    "one for a number of ranks applies to all sizes"))  # fmt: skip
                continue
            last = None if clause.last == intel.MOST else clause.last
            rows.insert(0, NativeRow(place, collective, clause.first, last, 0, None, setting))
            continue
        if clause.high < low:
            faults.append((place, f"{words} never applies: an earlier clause has these sizes"))
            continue
        if clause.low not in (0, low):
            faults.append((place, f"{words} applies from {low} bytes on: Intel MPI ignores lower "
                "bounds"))  # fmt: skip
        if i == most and clause.high != intel.MOST:
            notes.append(f"{name}: {words} also applies to larger messages: beyond the last clause "
                "Intel MPI takes the last one")  # fmt: skip
        high = None if i == most or clause.high == intel.MOST else clause.high
        rows.append(NativeRow(place, collective, 0, None, low, high, setting))
        low = clause.high + 1
    return rows

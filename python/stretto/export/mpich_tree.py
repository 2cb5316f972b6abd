"""MPICH's selection trees: what is in the library, how it reads them, how brackets are put in.

A tree is JSON; in each object the first key that holds is taken and there is no way back, so an
object ends with ``...=any`` and a bracket carries a whole copy of what it does not change. Seen in
the sources of 5.0 and by running 5.0.2 (docs/howto/export.md tells more):

- ``comm_size<N`` below a key of the call's own (sizes, operations) is read as ``<=``: only ``<=``
  is written.
- Parameters of an algorithm that a leaf leaves out are whatever memory held: all are written.
- The file is mapped, and its text ends where the mapping has a zero: its length must be no multiple
  of a page.
- ``total_msg_size`` of gather and scatter is a number of elements: no size is told there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stretto.errors import StrettoError
from stretto.files.export import REMEDY
from stretto.files.parse import json_value
from stretto.files.placed import PlacedObject, placed_json

Tree = dict[str, Any]
#: layers of the library, by the beginning of their leaves: what decides within a node, how the
#: levels are put together, and the algorithms over the whole communicator
POSIX, CH4, MPIR = "MPIDI_POSIX_", "MPIDI_", "MPIR_"
VARIABLES = {
    POSIX: "MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE",
    CH4: "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE",
    MPIR: "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE",
}
FILES = {
    POSIX: "stretto-mpich-posix.json",
    CH4: "stretto-mpich-ch4.json",
    MPIR: "stretto-mpich-mpir.json",
}
_PAGE = 4096
LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Trees:
    """What a library brings along."""

    trees: Mapping[str, Tree]
    leaves: frozenset[str] = field(default_factory=frozenset)


def read_library(libmpi: Path) -> Trees:
    """Return the trees and the names of algorithms that stand as text in a library."""
    try:
        data = libmpi.read_bytes()
    except OSError as error:
        raise StrettoError(f"the library cannot be read: {error.strerror}", libmpi) from error
    trees: dict[str, Tree] = {}
    for found in re.finditer(rb'\{"collective=[^\0]{100,}\0', data):
        try:
            tree = json_value(found.group()[:-1])
        except ValueError:
            continue
        names = re.findall(rb'(?:algorithm|composition)=(\w+)"', found.group())
        for layer in (POSIX, CH4, MPIR):
            if names and names[0].startswith(layer.encode()):
                trees.setdefault(layer, tree)
                break
    leaves = re.findall(rb"(?:algorithm|composition)=\w+(?=\0)", data)
    if MPIR not in trees or CH4 not in trees:
        raise StrettoError(
            "this library has no selection trees that a file can replace",
            libmpi,
            "name one built with the ch4 device, 4.2 or newer: --mpi PREFIX",
        )
    return Trees(trees, frozenset(x.decode() for x in leaves))


def text_of(tree: Tree) -> str:
    text = json.dumps(tree, indent=1) + "\n"
    return text + "\n" * (len(text) % _PAGE == 0)


def read_file(text: str, place: str, leaves: frozenset[str]) -> Tree:
    """Return a tree from a file's text; one that MPICH would end the job for is refused.

    `leaves`: the library's; empty: not known.
    """
    if len(text.encode()) % _PAGE == 0:
        raise StrettoError(
            f"its length is a multiple of {_PAGE} bytes, and MPICH would read beyond its end",
            place,
            REMEDY,
        )
    tree = placed_json(text, place, REMEDY)
    _validate(tree, place, "", leaves)
    return dict(tree)


def _validate(tree: Any, place: str, path: str, leaves: frozenset[str]) -> None:
    if not isinstance(tree, PlacedObject) or not tree:
        raise StrettoError(f"{path or 'the file'} is not an object with keys", place, REMEDY)
    if tree.twice:
        where = f"{place}:{tree.line_of(tree.twice)}"
        raise StrettoError(f"the key {tree.twice!r} occurs twice", where, REMEDY)
    for key, below in tree.items():
        where = f"{place}:{tree.line_of(key)}"
        if is_leaf(key):
            if leaves and key not in leaves:
                raise StrettoError(f"{path}: this MPI has no {key}", where, REMEDY)
            return
        if not _KEY.fullmatch(key):
            raise StrettoError(f"{path}: {key!r} is not a key of MPICH", where, REMEDY)
        _validate(below, place, f"{path}/{key}", leaves)
    last = list(tree)[-1]
    if re.match(r"comm_size|avg_msg|total_msg|count|comm_avg", last) and not last.endswith("=any"):
        where = f"{place}:{tree.line_of(last)}"
        raise StrettoError(f"{path}: nothing applies after {last!r} (=any)", where, REMEDY)


_KEY = re.compile(
    r"(any|collective=\w+|comm_type=(intra|inter|any)|comm_size(<=?\d+|=(pow2|node_comm_size|any))"
    r"|(avg|total)_msg_size(<=?\d+|=any)|count(<=\d+|<pow2|=any)|comm_avg_ppn(<=?\d+|=any)"
    r"|comm_hierarchy=(parent|node_roots|node|flat|any)"
    r"|is_(multi_threaded|commutative|sendbuf_inplace|op_built_in|block_regular|node_consecutive)"
    r"=(yes|no|any))"
)


def is_leaf(key: str) -> bool:
    return key.startswith(("algorithm=", "composition="))

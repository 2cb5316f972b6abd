"""Control variables of an MPI library, as it lists them itself (MPI_T, MPI-4.1 chapter 15).

Every MPI since MPI-3 answers `MPI_T_cvar_get_info` without `MPI_Init`, and tells the names of the
values where a variable is an enumeration; no tool of the MPI's (ompi_info, mpivars, impi_info) has
to be installed. It is asked in a process of its own, and the answer is kept in the cache.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.errors import StrettoError
from stretto.kinds import Family
from stretto.mpi.base import MPIInstallation
from stretto.mpi.library import LOADS, asked, cached, require

#: that starts a progress thread: as MPI_T lists it, and the environment's name for it
_PROGRESS: Mapping[Family, tuple[str, str]] = {
    "openmpi": ("opal_async_progress", "OMPI_MCA_opal_async_progress"),
    "mpich": ("MPIR_CVAR_ASYNC_PROGRESS", "MPIR_CVAR_ASYNC_PROGRESS"),
    "intel": ("MPIR_CVAR_ASYNC_PROGRESS", "I_MPI_ASYNC_PROGRESS"),
}
#: MPI_T_SCOPE_CONSTANT and _READONLY of Open MPI, and of the MPICH family
_CONSTANT = (0, 1, 60438, 60439)

# Handles are an int or a pointer, by MPI; eight bytes hold either. A string is asked for twice: the
# first answer is its length.
_PROGRAM = """
import ctypes, json, sys
c_int, ref, text = ctypes.c_int, ctypes.byref, ctypes.create_string_buffer
lib = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
if lib.MPI_T_init_thread(0, ref(c_int())):
    sys.exit("MPI_T_init_thread failed")
number = c_int()
if lib.MPI_T_cvar_get_num(ref(number)):
    sys.exit("MPI_T_cvar_get_num failed")
def setting(i, kind):  # by MPICH's handles of MPI_INT and MPI_CHAR; no other MPI's values are asked
    handle, count, number = ctypes.c_void_p(), c_int(), c_int()
    if kind not in (0x4c000405, 0x4c000101) or lib.MPI_T_cvar_handle_alloc(
            i, None, ref(handle), ref(count)):
        return None
    if kind == 0x4c000405:
        return None if lib.MPI_T_cvar_read(handle, ref(number)) else str(number.value)
    words = text(max(count.value, 1) + 4096)
    return None if lib.MPI_T_cvar_read(handle, words) else words.value.decode("utf-8", "replace")
def ask(i, n, d):
    name, words, enum, kind = text(max(n, 1)), text(max(d, 1)), ctypes.c_void_p(), ctypes.c_uint64()
    n, d, level, bind, scope = c_int(n), c_int(d), c_int(), c_int(), c_int()
    failed = lib.MPI_T_cvar_get_info(i, name, ref(n), ref(level), ref(kind), ref(enum), words,
                                     ref(d), ref(bind), ref(scope))
    return (failed, n.value, d.value, name.value, words.value, enum, kind.value & 0xffffffff,
            scope.value)
chars = {0x4c000101}  # MPI_CHAR: a number of MPICH's, an address of Open MPI's
if hasattr(lib, "ompi_mpi_char"):
    chars = {ctypes.addressof(ctypes.c_char.in_dll(lib, "ompi_mpi_char")) & 0xffffffff}
whole = {0x4c000405: c_int, 0x4c000406: ctypes.c_uint, 0x4c000807: ctypes.c_long,
         0x4c000808: ctypes.c_ulong, 0x4c000809: ctypes.c_longlong, 0x4c000819: ctypes.c_ulonglong,
         0x209: c_int, 0x20a: ctypes.c_long, 0x20b: ctypes.c_longlong, 0x20d: ctypes.c_uint,
         0x20e: ctypes.c_ulong, 0x20f: ctypes.c_ulonglong}  # MPICH's handles, and the standard's
if hasattr(lib, "ompi_mpi_char"):
    named = {"int": c_int, "unsigned": ctypes.c_uint, "long": ctypes.c_long,
             "unsigned_long": ctypes.c_ulong, "long_long_int": ctypes.c_longlong,
             "unsigned_long_long": ctypes.c_ulonglong, "int32_t": ctypes.c_int32,
             "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64}
    whole = {ctypes.addressof(ctypes.c_char.in_dll(lib, "ompi_mpi_" + n)) & 0xffffffff: c
             for n, c in named.items() if hasattr(lib, "ompi_mpi_" + n)}
def limits(kind):  # the least and the greatest number that the type holds
    if kind not in whole:
        return None
    bits = 8 * ctypes.sizeof(whole[kind])
    if whole[kind](-1).value < 0:
        return [-(1 << bits - 1), (1 << bits - 1) - 1]
    return [0, (1 << bits) - 1]
out = []
for i in range(number.value):
    failed, n, d, *_ = ask(i, 0, 0)
    if not failed:
        failed, n, d, name, words, enum, kind, scope = ask(i, n + 1, d + 1)
    if failed:
        continue
    items = []
    count, length = c_int(), c_int(256)
    if enum.value and not lib.MPI_T_enum_get_info(enum, ref(count), text(256), ref(length)):
        for j in range(count.value):
            value, item, length = c_int(), text(256), c_int(256)
            if not lib.MPI_T_enum_get_item(enum, j, ref(value), item, ref(length)):
                items.append([value.value, item.value.decode("utf-8", "replace")])
    out.append([name.decode("utf-8", "replace"), words.decode("utf-8", "replace"), items,
                setting(i, kind), scope, kind in chars, limits(kind)])
json.dump(out, sys.stdout)
"""


@dataclass(frozen=True)
class Variable:
    """One control variable.

    `items`: number and name of each value, where the MPI tells them. `value`: what it is when
    nobody sets it, where it is a number or a word of MPICH's; None elsewhere. `constant`: the MPI
    says that a running process cannot change it (that it says nothing is no promise). `text`: its
    values are words; otherwise numbers, or truths. `limits`: the least and the greatest number that
    its type holds, where that is one of whole numbers.
    """

    name: str
    help: str
    items: tuple[tuple[int, str], ...] = ()
    value: str | None = None
    constant: bool = False
    text: bool = True
    limits: tuple[int, int] | None = None


def control_variables(installation: MPIInstallation) -> dict[str, Variable]:
    """Return all control variables of an MPI by name."""
    libmpi = _library(installation)

    def ask() -> tuple[str, bool]:
        answer = _ask(installation, libmpi, {})
        try:
            return answer, bool(_parsed(answer))
        except (ValueError, TypeError):
            return answer, False

    answer = cached("variables", libmpi, ask)
    try:
        return dict(_parsed(answer))
    except (ValueError, TypeError) as error:
        raise StrettoError(f"the MPI's list of settings cannot be read: {error}", libmpi) from error


@functools.lru_cache(maxsize=8)
def _parsed(answer: str) -> Mapping[str, Variable]:
    """Return the variables in an answer: there are thousands, and they are asked for often."""
    return {
        name: Variable(
            name,
            words,
            tuple((int(v), str(item)) for v, item in items),
            value,
            scope in _CONSTANT,
            bool(text),
            (int(limits[0]), int(limits[1])) if limits else None,
        )
        for name, words, items, value, scope, text, limits in json.loads(answer)
    }


def _ask(installation: MPIInstallation, libmpi: Path, settings: Mapping[str, str]) -> str:
    """Return the program's answer: the variables of a process with some of them set."""
    env = {**os.environ, **installation.environment()}
    # what a user has set is not what the MPI does by itself
    env = {n: v for n, v in env.items() if not n.startswith("MPIR_CVAR")}
    if os.geteuid() == 0:
        env |= installation.root_environment()
    argv = [sys.executable, "-I", "-c", _PROGRAM, str(libmpi)]
    what = "the MPI does not list its settings"
    return require(asked(argv, {**env, **settings}, what, libmpi), what, libmpi, LOADS)


def numbers(
    installation: MPIInstallation, words: Mapping[str, Sequence[str]]
) -> dict[tuple[str, str], str]:
    """Return the numbers that an MPICH makes of words in its environment, by variable and word.

    MPI_T gives such a variable as an integer without names for its values. So the library is
    loaded with each word set, and asked for the variable. It does not load with a word that it does
    not know.

    `words`: by variable; those of its own help (`stretto.mpi.algorithms`). Raises StrettoError: it
    refuses one of the words.
    """
    default = control_variables(installation)
    libmpi = _library(installation)
    mine = {n: w for n, w in words.items() if n in default and default[n].value is not None}

    def ask() -> tuple[str, bool]:
        found: list[tuple[str, str, str]] = []
        for turn in range(max((len(w) for w in mine.values()), default=0)):
            settings = {n: w[turn] for n, w in mine.items() if len(w) > turn}
            rows = json.loads(_ask(installation, libmpi, settings))
            values = {name: value for name, _, _, value, *_ in rows}
            found += [(n, w, values[n]) for n, w in settings.items() if values.get(n) is not None]
        return json.dumps(found), len(found) == sum(len(w) for w in mine.values())

    kind = f"numbers-{zlib.crc32(json.dumps(mine, sort_keys=True).encode()):08x}"
    try:
        found = json.loads(cached(kind, libmpi, ask))
        return {(n, w): str(v) for n, w, v in found if str(v).lstrip("-").isdecimal()}
    except (ValueError, TypeError) as error:
        raise StrettoError(f"the MPI's list of settings cannot be read: {error}", libmpi) from error


def _library(installation: MPIInstallation) -> Path:
    if installation.libmpi is None:
        raise StrettoError(
            f"the library of {installation.name} was not found, so it cannot be asked for its "
            "settings",
            installation.prefix,
            "load the MPI's module, so that its lib directory is found",
        )
    return installation.libmpi.resolve()


def progress_thread(installation: MPIInstallation) -> dict[str, str]:
    """Return the variable that starts a progress thread in each rank; empty: the MPI has none.

    Open MPI 4 and 5 have none; `opal_async_progress` came after 5.0 (open-mpi/ompi pull request
    13088).
    """
    listed, variable = _PROGRESS[installation.family]
    if installation.libmpi is None or listed not in control_variables(installation):
        return {}
    return {variable: "1"}

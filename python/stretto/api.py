"""Choosing and asking from inside an MPI program in Python, through mpi4py communicators.

The functions call those of ``include/stretto.h`` in the library that ``stretto run`` (or
``LD_PRELOAD``) has put into the process; ``STRETTO_API=1`` sets it up also without a table. mpi4py
is imported when a function is called, not before.

>>> import stretto
>>> from mpi4py import MPI
>>> stretto.choose(MPI.COMM_WORLD, "allreduce", "recursive_doubling")  # doctest: +SKIP
>>> stretto.last(MPI.COMM_WORLD, "allreduce")  # doctest: +SKIP
'recursive_doubling: forced'
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stretto.errors import StrettoError

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["AlltoallvPlan", "Blocks", "Counters", "choose", "counters", "last", "loaded"]

_TEXT = 512


@functools.cache
def _library() -> ctypes.CDLL | None:
    """Return the process's own symbols, when Stretto is among them."""
    everything = ctypes.CDLL(None)
    return everything if hasattr(everything, "stretto_choose") else None


def loaded() -> bool:
    """Whether Stretto's library is in this process."""
    return _library() is not None


def _need() -> ctypes.CDLL:
    library = _library()
    if library is None:
        raise StrettoError(
            "Stretto's library is not loaded in this process",
            remedy="start the program with: STRETTO_API=1 stretto run -- mpirun -n N python ...",
        )
    return library


def _handle(thing: MPI.Comm | MPI.Datatype, kind: Any) -> ctypes.c_void_p | ctypes.c_int:
    """Return the C handle: a pointer or an int, by the MPI's ABI."""
    from mpi4py import MPI

    size, address = MPI._sizeof(kind), MPI._addressof(thing)
    if size == ctypes.sizeof(ctypes.c_int):
        return ctypes.c_int.from_address(address)
    return ctypes.c_void_p.from_address(address)


def _comm(comm: MPI.Comm) -> ctypes.c_void_p | ctypes.c_int:
    from mpi4py import MPI

    return _handle(comm, MPI.Comm)


def choose(comm: MPI.Comm, collective: str, choice: str) -> None:
    """Have `collective` on `comm` carried out by `choice` from now on. Collective.

    Parameters
    ----------
    comm
        An intra-communicator.
    collective
        "allreduce", "bcast", "alltoallv", ...; rank 0's words count.
    choice
        "native", "shm", "ring", "shm+bruck_k(8)", ...; "" returns to what the table says. With
        STRETTO_REPRODUCIBLE=1 a reduction's is taken, and not used.

    Raises
    ------
    StrettoError
        On every rank, when the choice is unknown or cannot be done on this communicator; the former
        one stays. Also when the library is not loaded, or is not set up.
    """
    error = ctypes.create_string_buffer(_TEXT)
    status = _need().stretto_choose(
        _comm(comm), collective.encode(), choice.encode(), error, ctypes.c_size_t(_TEXT)
    )
    if status:
        raise StrettoError(error.value.decode(), place=f"{collective}={choice}")


def last(comm: MPI.Comm, collective: str) -> str | None:
    """Return how the last call of `collective` on `comm` was done, as "choice: why". Local.

    None when there was none, or Stretto does not know the communicator.
    """
    text = ctypes.create_string_buffer(_TEXT)
    status = _need().stretto_last(_comm(comm), collective.encode(), text, ctypes.c_size_t(_TEXT))
    return None if status else text.value.decode()


@dataclass(frozen=True)
class Counters:
    """Calls that Stretto carried out itself, and that it passed to the MPI."""

    ours: int
    native: int


def counters(comm: MPI.Comm, collective: str) -> Counters | None:
    """Return the calls of `collective` on `comm` so far; None when it is not known. Local."""
    ours, native = ctypes.c_ulonglong(), ctypes.c_ulonglong()
    status = _need().stretto_counters(
        _comm(comm), collective.encode(), ctypes.byref(ours), ctypes.byref(native)
    )
    return None if status else Counters(ours.value, native.value)


@dataclass(frozen=True)
class Blocks:
    """One side of an irregular exchange: a block for each rank of the communicator.

    ``counts`` in elements of ``datatype``, ``displs`` in its extents (None: one after another).
    """

    counts: Sequence[int]
    datatype: MPI.Datatype
    displs: Sequence[int] | None = None

    def places(self) -> list[int]:
        """Return the displacements."""
        if self.displs is not None:
            return list(self.displs)
        return list(itertools.accumulate(self.counts, initial=0))[:-1]

    def extent(self) -> int:
        """Return the bytes that a buffer for these blocks must have, from its beginning."""
        _, extent = self.datatype.Get_extent()
        true_lower, true_extent = self.datatype.Get_true_extent()
        ends = [
            (at + count - 1) * extent + true_lower + true_extent
            for at, count in zip(self.places(), self.counts, strict=True)
            if count
        ]
        return max(ends, default=0)


class AlltoallvPlan:
    """An exchange as by ``MPI_Alltoallv`` that is carried out again and again with the same counts.

    Making it is collective over `comm`, and so is each ``run``. Free it (or leave its ``with``
    block) before the communicator and before MPI is finalised.

    Parameters
    ----------
    comm
        An intra-communicator.
    send, receive
        The blocks of the two buffers, one a rank; they must fit together as in ``MPI_Alltoallv``.
    choice
        "aggregated", "bruck_v(4)", "linear", "native", ...; rank 0's counts. "": what
        ``MPI_Alltoallv`` on `comm` would use now.

    Raises
    ------
    StrettoError
        As `choose`.
    ValueError
        Not one block a rank, or a negative count.
    """

    def __init__(self, comm: MPI.Comm, send: Blocks, receive: Blocks, choice: str = "") -> None:
        from mpi4py import MPI

        self._plan = ctypes.c_void_p()
        library, numbers = _need(), []
        for blocks in (send, receive):
            for values in (blocks.counts, blocks.places()):
                if len(values) != comm.size:
                    raise ValueError(f"{len(values)} blocks for {comm.size} ranks")
                numbers.append((ctypes.c_int * comm.size)(*values))
            if min(blocks.counts) < 0:
                raise ValueError("a count is negative")
        self._bytes = send.extent(), receive.extent()
        error = ctypes.create_string_buffer(_TEXT)
        status = library.stretto_alltoallv_plan(
            _comm(comm), *numbers[:2], _handle(send.datatype, MPI.Datatype), *numbers[2:],
            _handle(receive.datatype, MPI.Datatype), choice.encode(), ctypes.byref(self._plan),
            error, ctypes.c_size_t(_TEXT),
        )  # fmt: skip
        if status:
            raise StrettoError(error.value.decode(), place=f"alltoallv={choice}")

    @property
    def choice(self) -> str:
        """What carries it out: "aggregated", "native", ..."""
        text = ctypes.create_string_buffer(_TEXT)
        _need().stretto_alltoallv_choice(self._alive(), text, ctypes.c_size_t(_TEXT))
        return text.value.decode()

    def run(self, sendbuf: Any, recvbuf: Any) -> None:
        """Exchange: `sendbuf` and `recvbuf` are contiguous buffers (NumPy arrays, ...) apart.

        Raises
        ------
        ValueError
            A buffer is too small or cannot be written.
        mpi4py.MPI.Exception
            What the MPI reports, where the communicator returns errors.
        """
        from mpi4py import MPI

        addresses = []
        for buffer, need, readonly in zip(
            (sendbuf, recvbuf), self._bytes, (True, False), strict=True
        ):
            view = memoryview(buffer)
            if view.nbytes < need:
                raise ValueError(f"a buffer of {view.nbytes} bytes, {need} are needed")
            if not view.contiguous or (view.readonly and not readonly):
                raise ValueError("a buffer is not contiguous or not writable")
            addresses.append(ctypes.c_void_p(MPI.Get_address(buffer) if view.nbytes else None))
        code = _need().stretto_alltoallv_run(self._alive(), *addresses)
        if code:
            raise MPI.Exception(code)

    def _alive(self) -> ctypes.c_void_p:
        if not self._plan:
            raise StrettoError("this exchange was freed")
        return self._plan

    def free(self) -> None:
        """Give it back. Local; twice does no harm."""
        _need().stretto_alltoallv_free(ctypes.byref(self._plan))

    def __enter__(self) -> AlltoallvPlan:
        """Return itself."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Free it."""
        self.free()

"""What the user asked for: a campaign file (TOML), or the same by options."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stretto.campaign.layout import Layout, parse_layout
from stretto.counted import counted
from stretto.errors import UsageError
from stretto.files.io import read_text
from stretto.files.regular import MOST_SMALL_BYTES
from stretto.files.table import TUNABLE
from stretto.files.toml import toml_values
from stretto.measure.names import read_names
from stretto.measure.settings import (
    REDUCTIONS,
    parse_collectives,
    parse_counts,
    parse_duration,
    parse_size,
    parse_sizes,
)
from stretto.plan import MOST_RANKS

#: powers of four, and sizes between them that are none: counts of real programs seldom are
SIZES = "8:1M:4,24,1000,36000,600000"
#: bytes of what reductions are measured with
ELEMENT = 4
#: stands for all of Stretto's own algorithms that fit
OWN = "own"
LAUNCHERS = ("auto", "mpirun", "srun")
#: more than anybody waits for, and up to them a plan is made within seconds as a rule: its time
#: grows with launches x layouts, and where the order of layouts is sought with their third power
MOST_LAUNCHES = 200
MOST_LAYOUTS = 256
#: launches make seeds of their own of it, which a 64-bit word has to hold
MOST_SEED = 10**12
#: so many digits are a mistake; much longer ones Python refuses to read
_ENDLESS = re.compile(r"\d{19}")
EXAMPLE = """collectives = ["allreduce", "bcast"]
nodes = [1, 2, 4]
ppn = [1, 2]
bytes = "8:1M:4,24,1000,36000"
candidates = ["own", "native:all"]
mpis = ["openmpi", "/opt/mpich"]
hosts = ["n1", "n2", "n3", "n4"]
"""


@dataclass(frozen=True)
class Request:
    """A campaign as it was asked for.

    `out`: directory of everything that is measured and made.
    `mpis`: as for ``--mpi``; several are measured one after another, each by itself.
    `layouts`: nodes x ranks per node.
    `sizes`: in bytes; for reductions those that are whole numbers of elements.
    `candidates`: ``own``, ``native:all``, ``native:every``, or single ones.
    `hosts`: nodes; empty: those of the batch system's allocation, or this machine.
    `launches`: of each candidate that is not dropped before.
    `eliminate`: drop hopeless candidates early.
    `budget_s`: time for this start; None: until all is measured.
    `stall_s`: a candidate that does nothing for so long is taken to hang.
    `platform`: whose prices tell which of Stretto's candidates are hopeless from the start.
    `interpolate`: layouts that are not measured, but get rows from their neighbours.
    `refine`: a simulated table, whose rows stay for what is not measured; None: no such rows.
    `mpi_type`: for ``srun --mpi=``; None to find out.
    `separate_launches`: native algorithms have launches apart even where they could share
    one.
    `parallel`: layouts that need half of the nodes or fewer are measured side by side.
    `shared_cores`: others use the nodes' cores, too: ranks give way while they wait, and only
    batches of calls are timed, for no two ranks can be told to begin together.
    `alone`: one rank on one node was asked for as well.
    """

    out: Path
    mpis: tuple[str, ...] = ()
    collectives: tuple[str, ...] = TUNABLE
    layouts: tuple[Layout, ...] = (Layout(1, 2),)
    sizes: tuple[int, ...] = field(default_factory=lambda: tuple(parse_sizes(SIZES)))
    candidates: tuple[str, ...] = (OWN, "native:all")
    hosts: tuple[str, ...] = ()
    launches: int = 36
    eliminate: bool = True
    seed: int = 1
    budget_s: float | None = None
    stall_s: float = 60.0
    platform: str | None = None
    interpolate: tuple[Layout, ...] = ()
    refine: Path | None = None
    launcher: str = "auto"
    mpi_type: str | None = None
    separate_launches: bool = False
    parallel: bool = False
    shared_cores: bool = False
    alone: bool = False
    file: Path | None = None

    def sizes_of(self, collective: str) -> list[int]:
        return [0] if collective == "barrier" else _whole_elements(collective, self.sizes)


def _whole_elements(collective: str, sizes: Sequence[int]) -> list[int]:
    return [x for x in sizes if collective not in REDUCTIONS or x % ELEMENT == 0]


def _words(value: Any, key: str) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    if not items:
        raise UsageError(f"{key} is empty", key, "leave it out for what holds without it")
    if not all(isinstance(x, str) and x.strip() for x in items):
        raise UsageError(f"{key} must be a list of words", key, f'write for example {key} = ["a"]')
    return tuple(x.strip() for x in items)


def _hosts(value: Any, key: str) -> tuple[str, ...]:
    """Return names of nodes: a list, or as ``--hosts`` has them, with commas between."""
    return read_names(_words(value, key), key)


def _counts(value: Any, key: str) -> tuple[int, ...]:
    if isinstance(value, str):
        if _ENDLESS.search(value):
            raise _too_many(key)
        found: list[Any] = parse_counts(value, key)
    else:
        found = value if isinstance(value, list) else [value]
    if not found:
        raise UsageError(f"{key} is empty", key, f"write for example {key} = [1, 2]")
    if not all(isinstance(x, int) and not isinstance(x, bool) for x in found):
        raise UsageError(f"{key} must be whole numbers", key, f"write for example {key} = [1, 2]")
    if min(found) < 1:
        raise UsageError(f"{key} must be at least 1", key, f"write for example {key} = [1, 2]")
    if max(found) > MOST_RANKS:
        raise _too_many(key)
    return tuple(dict.fromkeys(found))


def _too_many(key: str) -> UsageError:
    return UsageError(
        f"{key} must be at most {MOST_RANKS}", key, "a campaign has no more ranks in all"
    )


def _sizes(value: Any, key: str) -> tuple[int, ...]:
    items = value if isinstance(value, list) else [value]
    found: set[int] = set()
    if not items:
        raise UsageError(f"{key} must be sizes", key, f'write for example {key} = "8:1M:4,24"')
    for x in items:
        if isinstance(x, bool) or not isinstance(x, int | str) or _ENDLESS.search(str(x)):
            raise UsageError(f"{key} must be sizes", key, f'write for example {key} = "8:1M:4,24"')
        found |= {parse_size(str(x))} if isinstance(x, int) else set(parse_sizes(x))
    return tuple(sorted(found))


def _whole(least: int, most: int) -> Callable[[Any, str], int]:
    def read(value: Any, key: str) -> int:
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if not good or not math.isfinite(value) or value != int(value):
            raise UsageError(f"{key} must be a whole number", key, f"write for example {key} = 12")
        if not least <= value <= most:
            raise UsageError(f"{key} must be from {least} to {most}", key, "correct it")
        return int(value)

    return read


def _truth(value: Any, key: str) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{key} must be true or false", key, "correct it")
    return value


def _one_of(*names: str) -> Callable[[Any, str], str]:
    def read(value: Any, key: str) -> str:
        if value not in names:
            raise UsageError(f"{key} must be one of {', '.join(names)}", key, "correct it")
        return str(value)

    return read


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{key} must be one word", key, f'write for example {key} = "a"')
    return value.strip()


def _time(value: Any, key: str) -> float:
    return parse_duration(str(value), key)


#: key of the file -> how its value is read; those without a field of that name are put together
KEYS: dict[str, Callable[[Any, str], Any]] = {
    "mpis": _words,
    "collectives": lambda v, k: tuple(parse_collectives(",".join(_words(v, k)))),
    "nodes": _counts,
    "ppn": _counts,
    "bytes": _sizes,
    "candidates": _words,
    "hosts": _hosts,
    "launches": _whole(1, MOST_LAUNCHES),
    "eliminate": _truth,
    "seed": _whole(0, MOST_SEED),
    "budget": _time,
    "stall": _time,
    "platform": _text,
    "interpolate": lambda v, k: tuple(parse_layout(x, k) for x in _words(v, k)),
    "refine": _text,
    "launcher": _one_of(*LAUNCHERS),
    "mpi_type": _text,
    "separate_launches": _truth,
    "parallel": _truth,
    "shared_cores": _truth,
    "out": _text,
}
_FIELDS = {"bytes": "sizes", "budget": "budget_s", "stall": "stall_s"}


def read_values(path: Path) -> dict[str, Any]:
    remedy = f"write one, for example:\n{EXAMPLE}"
    text = read_text(path, "a campaign file", remedy, MOST_SMALL_BYTES)
    try:
        return toml_values(text)
    except ValueError as error:
        raise UsageError(f"this is not TOML: {error}", str(path), "correct the line") from error


def make_request(values: Mapping[str, Any], default_out: Path, place: str) -> Request:
    """Return the request that keys and values say.

    `default_out`: the directory when they say none; a relative ``out`` or ``refine`` lies beside
    it.
    """
    read: dict[str, Any] = {}
    for key, value in values.items():
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(KEYS)}"
            raise UsageError(f"a campaign has no key {key!r}", place, hint)
        try:
            read[key] = KEYS[key](value, key)
        except UsageError as error:
            if error.place in (None, key, "--bytes", "--collective"):
                error.place = f"{place}: {key}"
            raise
    nodes, ppn = read.pop("nodes", (1,)), read.pop("ppn", None)
    out = default_out.parent / read.pop("out") if "out" in read else default_out
    if "refine" in read:
        read["refine"] = default_out.parent / read["refine"]
    ppn = ppn or ((2,) if nodes == (1,) else (1,))
    _refuse_vast(nodes, ppn, read.get("interpolate", ()), place)
    layouts = tuple(Layout(n, p) for n in nodes for p in ppn if n * p > 1)
    read["alone"] = 1 in nodes and 1 in ppn
    if not layouts:
        raise UsageError(
            "one rank alone does not communicate", place, "take more nodes, or ppn = [2]"
        )
    for name in read.get("collectives", ()):
        if name not in TUNABLE:
            raise UsageError(f"{name} is left to the MPI", place, f"take of {', '.join(TUNABLE)}")
        if "bytes" in read and not _whole_elements(name, read["bytes"]):
            raise UsageError(
                f"{name} has no size to be measured at: reductions are of elements of {ELEMENT} "
                f"bytes, and no size is a multiple of that", f"{place}: bytes",
                f"name sizes that are (bytes, --bytes), or leave {name} out",
            )  # fmt: skip
    fields = {_FIELDS.get(key, key): value for key, value in read.items()}
    return Request(out=out, layouts=layouts, **fields)


def _refuse_vast(
    nodes: Sequence[int], ppn: Sequence[int], interpolate: Sequence[Layout], place: str
) -> None:
    most = f"at most {MOST_RANKS} in all (nodes x ppn)"
    if max(nodes) * max(ppn) > MOST_RANKS:
        words = Layout(max(nodes), max(ppn)).words
        raise UsageError(
            f"{words} is more ranks than can be looked at", f"{place}: nodes, ppn", most
        )
    for layout in interpolate:
        if layout.nranks > MOST_RANKS:
            words = f"{layout.words} is more ranks than can be looked at"
            raise UsageError(words, f"{place}: interpolate", most)
    if len(nodes) * len(ppn) > MOST_LAYOUTS:
        raise UsageError(
            f"{counted(len(nodes), 'number')} of nodes and {len(ppn)} of ranks per node are "
            f"{len(nodes) * len(ppn)} layouts", f"{place}: nodes, ppn",
            f"take at most {MOST_LAYOUTS}; interpolate = [...] gives those between them rows, too",
        )  # fmt: skip

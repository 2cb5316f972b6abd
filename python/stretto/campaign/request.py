"""What the user asked for: a campaign file (TOML), or the same by options."""

from __future__ import annotations

import difflib
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
from stretto.measure.request import split_candidates
from stretto.measure.settings import (
    REDUCTIONS,
    parse_collectives,
    parse_counts,
    parse_duration,
    parse_sizes,
    whole,
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


def _as_option(value: Any, key: str) -> str:
    """Return a value of the file as an option has it: parts of a list with commas between."""
    items = value if isinstance(value, list) else [value]
    words = [str(x).strip() for x in items if not isinstance(x, bool | list | dict)]
    if not items or not all(words) or len(words) < len(items):
        wrong = "is empty" if not items or not all(words) else f"cannot be {value!r}"
        like = _LIKE.get(key, f'{key} = ["a"]')
        raise UsageError(f"{key} {wrong}", key, f"write for example {like}")
    return ",".join(words)


def _words(text: str, key: str) -> tuple[str, ...]:
    return tuple(x.strip() for x in text.split(",") if x.strip())


def _counts(text: str, key: str) -> tuple[int, ...]:
    found = parse_counts(text, key)
    if max(found) > MOST_RANKS:
        raise UsageError(
            f"{key} must be at most {MOST_RANKS}",
            key,
            "a campaign has at most this number of ranks in total",
        )
    return tuple(dict.fromkeys(found))


def _whole(least: int, most: int) -> Callable[[str, str], int]:
    def read(text: str, key: str) -> int:
        if not whole(text) or not least <= int(text) <= most:
            words = f"{key} must be a whole number from {least} to {most}, not {text}"
            raise UsageError(words, key, "correct it")
        return int(text)

    return read


def _truth(value: Any, key: str) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{key} must be true or false", key, "correct it")
    return value


def _launcher(text: str, key: str) -> str:
    if text not in LAUNCHERS:
        raise UsageError(f"{key} must be one of {', '.join(LAUNCHERS)}", key, "correct it")
    return text


def _text(text: str, key: str) -> str:
    return text


_LIKE = {"nodes": "nodes = [1, 2]", "ppn": "ppn = [1, 2]", "bytes": 'bytes = "8:1M:4,24"'}
#: keys of the file, each with the reader of its text; those without a field are put together
KEYS: dict[str, Callable[[str, str], Any]] = {
    "mpis": _words,
    "collectives": lambda text, key: tuple(parse_collectives(text, key)),
    "nodes": _counts,
    "ppn": _counts,
    "bytes": lambda text, key: tuple(parse_sizes(text)),
    "candidates": lambda text, key: tuple(split_candidates(text)),
    "hosts": lambda text, key: read_names([text], key),
    "launches": _whole(1, MOST_LAUNCHES),
    "eliminate": _truth,
    "seed": _whole(0, MOST_SEED),
    "budget": parse_duration,
    "stall": parse_duration,
    "platform": _text,
    "interpolate": lambda text, key: tuple(parse_layout(x, key) for x in _words(text, key)),
    "refine": _text,
    "launcher": _launcher,
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
            hint = f"did you mean {near[0]!r}?" if near else f"keys are {', '.join(KEYS)}"
            raise UsageError(f"a campaign has no key {key!r}", place, hint)
        try:
            given = value if KEYS[key] is _truth else _as_option(value, key)
            if key == "candidates" and isinstance(value, list):  # they may have commas
                read[key] = tuple(str(x).strip() for x in value)
            else:
                read[key] = KEYS[key](given, key)
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
            "one rank alone does not communicate", place, "use more nodes, or ppn = [2]"
        )
    for name in read.get("collectives", ()):
        if name not in TUNABLE:
            raise UsageError(f"{name} cannot be tuned", place, f"choose from {', '.join(TUNABLE)}")
        if "bytes" in read and not _whole_elements(name, read["bytes"]):
            raise UsageError(
                f"no size can be measured for {name}: an element has {ELEMENT} bytes, and no "
                f"size is a multiple of that", f"{place}: bytes",
                f"add multiples of {ELEMENT} (bytes, --bytes), or leave {name} out",
            )  # fmt: skip
    fields = {_FIELDS.get(key, key): value for key, value in read.items()}
    return Request(out=out, layouts=layouts, **fields)


def _refuse_vast(
    nodes: Sequence[int], ppn: Sequence[int], interpolate: Sequence[Layout], place: str
) -> None:
    most = f"at most {MOST_RANKS} in all (nodes x ppn)"
    if max(nodes) * max(ppn) > MOST_RANKS:
        words = Layout(max(nodes), max(ppn)).words
        raise UsageError(f"{words} has too many ranks", f"{place}: nodes, ppn", most)
    for layout in interpolate:
        if layout.nranks > MOST_RANKS:
            words = f"{layout.words} has too many ranks"
            raise UsageError(words, f"{place}: interpolate", most)
    if len(nodes) * len(ppn) > MOST_LAYOUTS:
        raise UsageError(
            f"{counted(len(nodes), 'number')} of nodes and {len(ppn)} of ranks per node are "
            f"{len(nodes) * len(ppn)} layouts", f"{place}: nodes, ppn",
            f"give at most {MOST_LAYOUTS}; interpolate = [...] adds rows for the layouts between",
        )  # fmt: skip

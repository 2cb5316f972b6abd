"""Compares `stretto net mpi` with IMB and NetPIPE, in turn, on this node.

    python bench/net_against_imb.py [--launches 20] [--bytes 8,4K,64K,1M]
        [--intel .venv/mpi/intel] [--libiomp DIR] [--openmpi /usr] [--netpipe FILE]

Compared are `stretto net mpi` and IMB-MPI1 (PingPong, Uniband, Biband) under Intel MPI, IMB-MT at
two thread levels, and NetPIPE under Open MPI 4. The programs are launched in turn, in random
order. Before and after each launch, the delay of a flag between the cores is measured: the host of
a virtual machine moves its cores every few seconds, and a launch during which it did is left out.
So launches are compared by where the cores were, not by pairs: a second or two later they are
elsewhere. Printed is the ratio of the medians (Stretto divided by the other) with its 95 %
interval (bootstrap over the launches). Both programs give the best of five batches of about 10 ms:
IMB prints one mean a size, so it gets the same size several times (``-msglen``), and the first two
rows are its warm-up. One long mean would have every interruption in it, and a median of batches
those during which the cores were elsewhere. The batches must be of one length: on a virtual machine
the best of five windows of 64 KiB was 32 GB/s with batches of 2 ms, 30 with 10 ms, 27 with 50 ms.
What is not there is left out, and named:

- IMB-MPI1 and IMB-MT come with Intel MPI (PyPI: impi-devel). IMB-MT needs libiomp5.so (PyPI:
  intel-openmp): ``--libiomp`` is the directory that holds it.
- NetPIPE: ``apt-get download netpipe-openmpi; dpkg -x netpipe-openmpi_*.deb DIR``;
  ``--netpipe DIR/usr/bin/NPopenmpi``.

Settings of IMB, and why: Uniband and Biband send a window of 256 messages per repetition by
default, so that 1000 repetitions of 1 MiB are 256 GiB: minutes. Here the window is 64, as
Stretto's, and the repetitions follow the size (``-iter_policy off -iter N``: otherwise IMB
estimates N from a trial, and has taken 1). Buffers of both are malloc's (IMB: MPI_Alloc_mem, which
is malloc under Intel MPI). Both receive from their partner only (IMB: with MPI_ANY_TAG).

NetPIPE sends back the buffer that it received, and so does Stretto's test ``echo``: with single
copies (CMA), data that is never written again is read from the receiver's own cache, which halves
the time at 64 KiB. NetPIPE's time is the least of its trials, too.

The ranks of all of them spin: beside other processes all figures are worthless, and a launch can
take a minute. So each launch has a time limit, and the load of the machine is printed.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import re
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from flag import Flag

from stretto.counted import sized, three
from stretto.files.identity import collect_host
from stretto.measure.request import Where, where
from stretto.measure.settings import parse_sizes
from stretto.net.p2p import PING, SAMPLES, WINDOW, Level, P2PLaunch, Point, launch, value_of

REPOSITORY = Path(__file__).resolve().parents[1]
#: of one launch of another program
LIMIT_S = 30.0
#: bytes that a row of IMB or a run of NetPIPE moves at most, and bounds of the repetitions
VOLUME, FEWEST, MOST = 100 << 20, 2, 10_000
#: and a row of windows, which takes 10 ms, too, at 30 GB/s
WINDOWS = 3 * VOLUME
#: rows of IMB that are its warm-up
WARM_UP = 2
#: launches of each program that make a ratio
ENOUGH = 8
#: samples of the bootstrap
DRAWS = 2000
#: flags around a launch that differ by more: the cores moved
MOVED = 1.5
#: flags of two threads of one core, of one L3 cache and of two: ns, from and below
KINDS = {"one core": (0.0, 45.0), "near": (45.0, 150.0), "far": (150.0, 1e9)}
#: Stretto's test by IMB's name; NetPIPE sends back what it received
TESTS = {"PingPong": "latency", "Uniband": "bandwidth", "Biband": "bidirectional", "Echo": "echo"}

Launch = Callable[[], float | None]


def words(test: str, size: int) -> str:
    return f"{test} {sized(size)}"


def stretto_launch(place: Where, size: int, test: str) -> float | None:
    """Return a latency in us or a bandwidth in MB/s."""
    point = Point(TESTS[test], size, 1, 1 if test in ("PingPong", "Echo") else WINDOW)
    return _figure(launch(place, "single", [point]), point)


def stretto_level(place: Where, level: Level) -> float | None:
    """Return the latency of 8 B at a thread level, us."""
    return _figure(launch(place, level, [PING]), PING)


def _figure(found: P2PLaunch, point: Point) -> float | None:
    return best(point.test, (value_of(point, batch) for batch in found.batches[point]))


def best(test: str, values: Iterable[float]) -> float:
    """Return the shortest time, or the highest bandwidth."""
    return (max if test in ("bandwidth", "bidirectional") else min)(values)


def output_of(argv: list[str], environ: dict[str, str]) -> str:
    """Return what a program prints; nothing where it fails or takes too long."""
    try:
        done = subprocess.run(
            argv, env=environ, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        print(f"  over {LIMIT_S:.0f} s, left out: {' '.join(argv)}", flush=True)
        return ""
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["?"]
        print(f"  failed, left out: {' '.join(argv)}: {last[0]}", flush=True)
        return ""
    return done.stdout


def imb_launch(place: Where, size: int, test: str) -> float | None:
    """Return IMB-MPI1's figure, with repetitions to suit the size: us one way, or MB/s."""
    if test == "PingPong":
        n = max(FEWEST, min(MOST, VOLUME // size))
    else:
        n = max(FEWEST, min(MOST // 8, WINDOWS // (2 * WINDOW * size)))
    program = str(place.installation.prefix / "bin/IMB-MPI1")
    with tempfile.TemporaryDirectory() as folder:
        lengths = Path(folder) / "lengths"
        lengths.write_text(f"{size}\n" * (WARM_UP + SAMPLES))
        options = ["-msglen", str(lengths), "-iter", str(n), "-iter_policy", "off"]
        options += ["-window_size", str(WINDOW)]
        argv, environ = place.installation.launch(2, [program, test, *options])
        rows = re.findall(rf"^ +{size} +\d+ +([\d.]+)", output_of(argv, environ), re.MULTILINE)
    if len(rows) != WARM_UP + SAMPLES:
        return None
    return best(TESTS[test], map(float, rows[WARM_UP:]))


def imb_mt_launch(place: Where, libiomp: Path, level: Level) -> float | None:
    """Return IMB-MT's ping-pong of one thread, us."""
    program = str(place.installation.prefix / "bin/IMB-MT")
    options = ["-thread_level", level, "-datatype", "char", "-count", "8"]
    options += ["-warmup", "10000", "-repeat", "200000"]
    argv, environ = place.installation.launch(2, [program, "PingPongMT", *options])
    environ |= {"OMP_NUM_THREADS": "1"}
    environ["LD_LIBRARY_PATH"] = f"{environ.get('LD_LIBRARY_PATH', '')}:{libiomp}"
    row = re.search(r"^ +8 +\d+ +[\d.]+ +[\d.]+ +([\d.]+)", output_of(argv, environ), re.MULTILINE)
    return float(row[1]) if row else None


def netpipe_launch(place: Where, size: int, program: Path) -> float | None:
    """Return NetPIPE's time of a message one way, us."""
    n = max(FEWEST, min(MOST, VOLUME // size // 8))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "out"
        options = ["-l", str(size), "-u", str(size), "-p", "0", "-n", str(n), "-o", str(file)]
        argv, environ = place.installation.launch(2, [str(program), *options])
        output_of(argv, environ)
        for line in file.read_text().splitlines() if file.exists() else []:
            bytes_, _, seconds = line.split()
            if int(bytes_) == size:
                return 1e6 * float(seconds)
    return None


@dataclass(frozen=True)
class Cell:
    """One figure that both programs give: a test at a size, or a thread level."""

    title: str
    name: str
    ours: Launch
    theirs: Launch


def cells(options: argparse.Namespace, sizes: Sequence[int]) -> Iterator[Cell]:
    """Yield what can be compared here."""
    if (options.intel / "bin/IMB-MPI1").is_file():
        intel = where(2, None, None, str(options.intel))
        for test in ("PingPong", "Uniband", "Biband"):
            for size in sizes:
                yield Cell(
                    f"IMB-MPI1, {intel.installation.name}",
                    words(test, size),
                    partial(stretto_launch, intel, size, test),
                    partial(imb_launch, intel, size, test),
                )
        libiomp = options.libiomp
        if libiomp is not None and (libiomp / "libiomp5.so").is_file():
            for level in ("single", "multiple"):
                yield Cell(
                    f"IMB-MT PingPongMT, one thread, {intel.installation.name}",
                    f"{level} 8 B",
                    partial(stretto_level, intel, level),
                    partial(imb_mt_launch, intel, libiomp, level),
                )
        else:
            print("left out: IMB-MT (--libiomp DIR with libiomp5.so, PyPI: intel-openmp)")
    else:
        print(f"left out: IMB (no {options.intel}/bin/IMB-MPI1; --intel PREFIX)")
    if options.netpipe is not None and options.netpipe.is_file():
        openmpi = where(2, None, None, str(options.openmpi))
        for size in sizes:
            yield Cell(
                f"NetPIPE, {openmpi.installation.name}",
                words("Echo", size),
                partial(stretto_launch, openmpi, size, "Echo"),
                partial(netpipe_launch, openmpi, size, options.netpipe),
            )
    else:
        print("left out: NetPIPE (--netpipe FILE; see the head of this script)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--launches", type=int, default=20, help="launches of each program and figure"
    )
    parser.add_argument("--bytes", default="8,4K,64K,1M", help="message sizes")
    parser.add_argument("--only", default="", help="only figures whose title or name has this")
    parser.add_argument("--intel", type=Path, default=REPOSITORY / ".venv/mpi/intel")
    parser.add_argument("--libiomp", type=Path, help="directory of libiomp5.so, for IMB-MT")
    parser.add_argument("--openmpi", type=Path, default=Path("/usr"))
    parser.add_argument("--netpipe", type=Path, help="NPopenmpi, built for --openmpi")
    parser.add_argument("--limit", type=float, default=540, help="no new launch after so many s")
    options = parser.parse_args()
    sizes = parse_sizes(options.bytes)
    host = collect_host()
    print(f"{host.cpu}, {host.cores} cores, Linux {platform.release()}")
    compared = [c for c in cells(options, sizes) if options.only in f"{c.title} {c.name}"]
    flag, began = Flag(None, None), time.monotonic()
    found: dict[Cell, list[Seen]] = defaultdict(list)
    ns = flag.once_ns()
    for _ in range(options.launches):
        for cell, ours in random.sample(
            [(c, o) for c in compared for o in (True, False)], 2 * len(compared)
        ):
            if time.monotonic() > began + options.limit:
                break
            value = cell.ours() if ours else cell.theirs()
            ns, before = flag.once_ns(), ns
            if value:
                found[cell].append(Seen(kind_of(before, ns), ours, value))
    kinds = Counter(seen.kind for each in found.values() for seen in each)
    print(f"load {os.getloadavg()[0]:.1f}; launches by flag: {dict(kinds)}")
    for kind in KINDS:
        report(kind, {c: [s for s in each if s.kind == kind] for c, each in found.items()})


@dataclass(frozen=True)
class Seen:
    """One launch: where the cores were, whether it was Stretto's, its figure."""

    kind: str
    ours: bool
    value: float


def kind_of(before: float, after: float) -> str:
    """Return where the cores were, by the delay of a flag, ns."""
    if max(before, after) > MOVED * min(before, after):
        return "moved"
    return next(kind for kind, (low, high) in KINDS.items() if low <= (before + after) / 2 < high)


def report(kind: str, found: dict[Cell, list[Seen]]) -> None:
    """Print the ratios: us for ping-pongs and thread levels, MB/s for the others."""
    for title in dict.fromkeys(cell.title for cell in found):
        here = sorted((c for c in found if c.title == title), key=lambda c: _order(c.name))
        print(f"\n{title}, cores: {kind}")
        print(f"  {'':20}{'Stretto':>10}{'other':>10}   ratio, 95 % interval, launches")
        for cell in here:
            mine, other = ([s.value for s in found[cell] if s.ours == o] for o in (True, False))
            number = f"{len(mine)} + {len(other)}"
            if min(len(mine), len(other)) < ENOUGH:
                print(f"  {cell.name:20} left out: {number} launches are too few")
                continue
            drawn = sorted(
                median(random.choices(mine, k=len(mine)))
                / median(random.choices(other, k=len(other)))
                for _ in range(DRAWS)
            )
            low, high = drawn[DRAWS // 40], drawn[-DRAWS // 40]
            ratio = median(mine) / median(other)
            within = "" if abs(ratio - 1) <= 0.05 else "  not within 5 %"
            print(
                f"  {cell.name:20}{three(median(mine)):>10}{three(median(other)):>10}   "
                f"{ratio:.3f}, {low:.3f} to {high:.3f}, {number}{within}"
            )


def _order(name: str) -> tuple[int, int]:
    test = name.split()[0]
    place = list(TESTS).index(test) if test in TESTS else len(TESTS)
    number, unit = name.split()[1:]
    return place, int(float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[unit])


if __name__ == "__main__":
    main()

"""Compares `stretto net mpi` with IMB and NetPIPE, in turn, on this node.

    python bench/net_against_imb.py [--launches 6] [--bytes 8,4K,64K,1M]
        [--intel .venv/mpi/intel] [--libiomp DIR] [--openmpi /usr] [--netpipe FILE]

Each round has one launch of each program, in a new order: `stretto net mpi` and IMB-MPI1 (PingPong,
Uniband, Biband) under Intel MPI; `stretto net mpi` and NetPIPE under Open MPI 4; IMB-MT and
`stretto net mpi` at two thread levels. Printed is the ratio of the two in a round (Stretto divided
by the other), median and range over the rounds. What is not there is left out, and named:

- IMB-MPI1 and IMB-MT come with Intel MPI (PyPI: impi-devel). IMB-MT needs libiomp5.so (PyPI:
  intel-openmp): ``--libiomp`` is the directory that holds it.
- NetPIPE: ``apt-get download netpipe-openmpi; dpkg -x netpipe-openmpi_*.deb DIR``;
  ``--netpipe DIR/usr/bin/NPopenmpi``.

Settings of IMB, and why: Uniband and Biband send a window of 256 messages per repetition by
default, so that 1000 repetitions of 1 MiB are 256 GiB: minutes. Here the window is 64, as
Stretto's, and the repetitions follow the size (``-iter_policy off -iter N``: otherwise IMB
estimates N from a trial, and has taken 1). NetPIPE's time is the least of its trials, Stretto's and
IMB's are not.

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
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from flag import Flag

from stretto.files.identity import collect_host
from stretto.measure.request import Where, where
from stretto.measure.settings import parse_sizes
from stretto.net.judge import size_words, three
from stretto.net.p2p import PING, WINDOW, Point, measure, value_of

REPOSITORY = Path(__file__).resolve().parents[1]
#: of one launch of another program
LIMIT_S = 30.0
#: bytes that a test of IMB moves at most, and bounds of its repetitions
VOLUME, FEWEST, MOST = 400 << 20, 8, 10_000
#: Stretto's test by IMB's name
TESTS = {"PingPong": "latency", "Uniband": "bandwidth", "Biband": "bidirectional"}

Figures = dict[str, float]
Launch = Callable[[], Figures]


def words(test: str, size: int) -> str:
    return f"{test} {size_words(size)}"


def stretto_launch(place: Where, sizes: Sequence[int], tests: Sequence[str]) -> Figures:
    """Return latencies in us and bandwidths in MB/s by test and size."""
    windows = {"latency": 1, "bandwidth": WINDOW, "bidirectional": WINDOW}
    points = {
        words(test, size): Point(TESTS[test], size, 1, windows[TESTS[test]])
        for test in tests
        for size in sizes
    }
    (launch,) = measure(place, list(points.values()), 1)
    return {name: median(value_of(p, b) for b in launch.batches[p]) for name, p in points.items()}


def stretto_levels(place: Where) -> Figures:
    """Return the latency of 8 B at the lowest and the highest thread level."""
    wanted = [PING, Point("threads", 8)]
    return {
        f"{launch.level} 8 B": median(value_of(PING, b) for b in launch.batches[PING])
        for launch in measure(place, wanted, 1)
        if launch.level in ("single", "multiple")
    }


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


def imb_launch(place: Where, sizes: Sequence[int], tests: Sequence[str]) -> Figures:
    """Return IMB-MPI1's figures: one launch a size and test, with repetitions to suit."""
    out: Figures = {}
    program = str(place.installation.prefix / "bin/IMB-MPI1")
    for test in tests:
        for size in sizes:
            moved = size if test == "PingPong" else 3 * WINDOW * size
            n = max(FEWEST, min(MOST // (1 if test == "PingPong" else 8), VOLUME // moved))
            options = ["-msgsize", str(size), "-iter", str(n), "-iter_policy", "off"]
            options += ["-window_size", str(WINDOW)]
            argv, environ = place.installation.launch(2, [program, test, *options])
            row = re.search(rf"^ +{size} +\d+ +([\d.]+)", output_of(argv, environ), re.MULTILINE)
            if row:  # PingPong: us one way; the others: MB/s
                out[words(test, size)] = float(row[1])
    return out


def imb_mt_launch(place: Where, libiomp: Path) -> Figures:
    """Return IMB-MT's ping-pong of one thread, by thread level."""
    out: Figures = {}
    program = str(place.installation.prefix / "bin/IMB-MT")
    for level in ("single", "multiple"):
        options = ["-thread_level", level, "-datatype", "char", "-count", "8", "-repeat", "5000"]
        argv, environ = place.installation.launch(2, [program, "PingPongMT", *options])
        environ |= {"OMP_NUM_THREADS": "1"}
        environ["LD_LIBRARY_PATH"] = f"{environ.get('LD_LIBRARY_PATH', '')}:{libiomp}"
        row = re.search(
            r"^ +8 +\d+ +[\d.]+ +[\d.]+ +([\d.]+)", output_of(argv, environ), re.MULTILINE
        )
        if row:
            out[f"{level} 8 B"] = float(row[1])
    return out


def netpipe_launch(place: Where, sizes: Sequence[int], program: Path) -> Figures:
    """Return NetPIPE's time of a message one way, us."""
    out: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            n = max(FEWEST, min(MOST, VOLUME // size // 8))
            file = Path(folder) / f"{size}.out"
            options = ["-l", str(size), "-u", str(size), "-p", "0", "-n", str(n), "-o", str(file)]
            argv, environ = place.installation.launch(2, [str(program), *options])
            output_of(argv, environ)
            for line in file.read_text().splitlines() if file.exists() else []:
                bytes_, _, seconds = line.split()
                if int(bytes_) == size:
                    out[words("PingPong", size)] = 1e6 * float(seconds)
    return out


def comparisons(
    options: argparse.Namespace, sizes: Sequence[int]
) -> Iterator[tuple[str, Launch, Launch]]:
    """Yield what can be compared here: a title, Stretto's launch, and the other one's."""
    names = list(TESTS)
    if (options.intel / "bin/IMB-MPI1").is_file():
        intel = where(2, None, None, str(options.intel))
        yield (
            f"IMB-MPI1, {intel.installation.name}",
            lambda: stretto_launch(intel, sizes, names),
            lambda: imb_launch(intel, sizes, names),
        )
        libiomp = options.libiomp
        if libiomp is not None and (libiomp / "libiomp5.so").is_file():
            yield (
                f"IMB-MT PingPongMT, one thread, {intel.installation.name}",
                lambda: stretto_levels(intel),
                lambda: imb_mt_launch(intel, libiomp),
            )
        else:
            print("left out: IMB-MT (--libiomp DIR with libiomp5.so, PyPI: intel-openmp)")
    else:
        print(f"left out: IMB (no {options.intel}/bin/IMB-MPI1; --intel PREFIX)")
    if options.netpipe is not None and options.netpipe.is_file():
        openmpi = where(2, None, None, str(options.openmpi))
        yield (
            f"NetPIPE, {openmpi.installation.name}",
            lambda: stretto_launch(openmpi, sizes, ["PingPong"]),
            lambda: netpipe_launch(openmpi, sizes, options.netpipe),
        )
    else:
        print("left out: NetPIPE (--netpipe FILE; see the head of this script)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--launches", type=int, default=6, help="rounds")
    parser.add_argument("--bytes", default="8,4K,64K,1M", help="message sizes")
    parser.add_argument("--intel", type=Path, default=REPOSITORY / ".venv/mpi/intel")
    parser.add_argument("--libiomp", type=Path, help="directory of libiomp5.so, for IMB-MT")
    parser.add_argument("--openmpi", type=Path, default=Path("/usr"))
    parser.add_argument("--netpipe", type=Path, help="NPopenmpi, built for --openmpi")
    parser.add_argument("--limit", type=float, default=340, help="no new round after so many s")
    options = parser.parse_args()
    sizes = parse_sizes(options.bytes)
    host = collect_host()
    print(f"{host.cpu}, {host.cores} cores, Linux {platform.release()}")
    ratios: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    compared = list(comparisons(options, sizes))
    flag, began, last = Flag(None, None), time.monotonic(), 0.0
    for number in range(options.launches):
        started = time.monotonic()
        if started + last > began + options.limit:
            print(f"{number} rounds: the time is used up")
            break
        flag.wait()
        load = os.getloadavg()[0]
        print(f"round {number + 1}: flag {flag.seen_ns[-1]:.0f} ns, load {load:.1f}", flush=True)
        for title, ours, theirs in random.sample(compared, len(compared)):
            found: dict[bool, Figures] = {}
            for mine in random.sample((True, False), 2):
                found[mine] = ours() if mine else theirs()
            for name in found[True].keys() & found[False].keys():
                ratios[title, name].append((found[True][name], found[False][name]))
        last = time.monotonic() - started
    report(ratios)


def report(found: dict[tuple[str, str], list[tuple[float, float]]]) -> None:
    """Print the ratios: us for ping-pongs and thread levels, MB/s for the others."""
    for title in dict.fromkeys(title for title, _ in found):
        print(f"\n{title}\n  {'':20}{'Stretto':>10}{'other':>10}   ratio, range, rounds")
        names = sorted((name for t, name in found if t == title), key=_order)
        for name in names:
            pairs = found[title, name]
            each = sorted(a / b for a, b in pairs if b > 0)
            if not each:
                continue
            mine, other = (three(median(values)) for values in zip(*pairs, strict=True))
            within = "" if abs(median(each) - 1) <= 0.05 else "  not within 5 %"
            print(
                f"  {name:20}{mine:>10}{other:>10}   {median(each):.3f}, {each[0]:.3f} to "
                f"{each[-1]:.3f}, {len(each)}{within}"
            )


def _order(name: str) -> tuple[int, int]:
    test = name.split()[0]
    place = list(TESTS).index(test) if test in TESTS else len(TESTS)
    number, unit = name.split()[1:]
    return place, int(float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[unit])


if __name__ == "__main__":
    main()

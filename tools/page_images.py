#!/usr/bin/env python3
"""Make every kind of HTML page from real runs, and take a picture of its head for the docs.

    python tools/page_images.py [KIND ...]      # default: all kinds; `make docs-page-images`

Runs use the MPIs in .venv/mpi with two ranks. Several nodes are network namespaces on this machine
(tools/testbed, root). docs/explanation/pages.md shows the pictures, docs/images/page-KIND.png, and
says which results are simulated or published. Results stay in build/pages/KIND.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "pages"
IMAGES = ROOT / "docs" / "images"
MPIS = ROOT / ".venv" / "mpi"
PICTURE = (1280, 800)
NARROW = (400, 800)
MOST_BYTES, MOST_BYTES_OF_ALL = 60_000, 900_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")

JOB = "mpirun -n 2 python inversion.py --days"
RATE = (
    "--metric 'iterations per second: ([0-9.]+)' --metric-better higher --metric-unit iterations/s"
)
BENCH = "-c bcast --bytes 8,1K,64K --launches 6 --candidates"


@dataclass(frozen=True)
class Kind:
    """One kind of page: the commands that make page.html, in a directory with inversion.py.

    `nodes`, `rails`: namespaces and networks between them. `more`: a narrow and a dark picture.
    """

    commands: str
    nodes: int = 0
    rails: int = 1
    more: bool = False


KINDS = {
    "profile": Kind(f"""
        stretto profile -o inversion.profile.json -- {JOB} 300
        stretto report inversion.profile.json -o page.html"""),
    "tune": Kind(f"""
        stretto tune --yes --budget 90s --launches 6 {RATE} -- {JOB} 300
        stretto report stretto-inversion -o page.html""", more=True),
    "learn": Kind(f"""
        stretto learn -- {JOB} 2000
        stretto report stretto-inversion -o page.html"""),
    "settings": Kind(f"""
        stretto settings --yes --candidates 'btl_sm_eager_limit=65536;btl_sm_fbox_max=64' \
            {RATE} -- {JOB} 200
        stretto report stretto-inversion -o page.html"""),
    "scale": Kind(f"""
        stretto scale --yes --ranks 1,2 --native-only --repeats 6 -- {JOB} 200
        cp stretto-scale-inversion/*.html page.html"""),
    "mpis": Kind(f"""
        stretto bench --mpi openmpi {BENCH} 'bare;native:all' -o openmpi.bench.jsonl
        stretto bench --mpi $MPICH {BENCH} 'bare;native:all' -o mpich.bench.jsonl
        stretto compare openmpi.bench.jsonl mpich.bench.jsonl -o page.html""", more=True),
    "published": Kind("""
        stretto import osu published -o imported --mpi openmpi@4.0.1 --nodes 8 --ppn 36 -c bcast \
            --pattern '{algorithm}.txt' --setting \
            'coll_tuned_use_dynamic_rules=1,coll_tuned_{collective}_algorithm={algorithm}'
        stretto compare imported -o page.html"""),
    "systems": Kind(f"""
        stretto bench --mpi openmpi {BENCH} 'native;shm;knomial' -o openmpi/all.bench.jsonl
        stretto bench --mpi $MPICH {BENCH} 'native;shm;knomial' -o mpich/all.bench.jsonl
        stretto report openmpi mpich -o page.html"""),
    "campaign": Kind("""
        stretto campaign run --yes --nodes 1,2 --ppn 1,2 --hosts $HOSTS -c allreduce \
            --bytes 8,4K,64K --candidates 'shm;ring;recursive_doubling' --launches 6 -o all.campaign
        stretto report all.campaign -o page.html""", nodes=2),
    "simulated": Kind("""
        stretto table simulate -p hpc7g --nodes 2:8 --ppn 4,16 -c allreduce --bytes 8,4K,64K \
            -o hpc7g.table
        stretto report hpc7g.table -o page.html"""),
    "forecast": Kind("""
        cp ../profile/inversion.profile.json .
        stretto simulate -p hpc7g --profile inversion.profile.json --nodes 1:32 --ppn 64 \
            -o inversion.forecast.json
        stretto report inversion.forecast.json -o page.html"""),
    "tcp": Kind("""
        stretto net tcp --hosts $HOSTS --agent $AGENT --all-pairs --streams 1,4 --threads 1 \
            --tool own --seconds 0.4 --warmup 0.1 -o cluster.net.json
        stretto report cluster.net.json -o page.html""", nodes=3),
    "rails": Kind("""
        stretto net rails --hosts $HOSTS --bytes 256K \
            --candidates 'btl_tcp_if_include=eth0;btl_tcp_if_include=eth1' -o rails.net.json
        stretto report rails.net.json -o page.html""", nodes=2, rails=2),
    "mpi": Kind("""
        stretto net mpi --bytes 8:512K:8 -o node.net.json
        stretto report node.net.json -o page.html"""),
    "cores": Kind("""
        stretto net node --all-pairs -o cores.net.json
        stretto report cores.net.json -o page.html"""),
    "networks": Kind("""
        stretto net mpi --mpi openmpi --bytes 8:512K:8 -o openmpi.net.json
        stretto net mpi --mpi $MPICH --bytes 8:512K:8 -o mpich.net.json
        stretto report openmpi.net.json mpich.net.json -o page.html"""),
    "io": Kind("""
        stretto io --bytes 64M --write -o scratch.io.json
        stretto report scratch.io.json -o page.html"""),
    "place": Kind("""
        stretto profile -o ring.profile.json -- mpirun -n 4 --oversubscribe python ring.py
        stretto place --profile ring.profile.json --nodes 2 -o order
        cp order/matrix.html page.html"""),
}  # fmt: skip

#: ranks exchange with those two places away: neighbours are on different nodes
RING = """\
from mpi4py import MPI
comm = MPI.COMM_WORLD
half = (comm.rank + comm.size // 2) % comm.size
for _ in range(1000):
    comm.Sendrecv(bytearray(4096), half, recvbuf=bytearray(4096), source=half)
"""


def environment() -> dict[str, str]:
    """Return what a user's shell has with the embedded Open MPI in PATH."""
    env = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "OPAL_PREFIX")}
    env["PATH"] = f"{MPIS / 'openmpi' / 'bin'}:{ROOT / '.venv' / 'bin'}:{env['PATH']}"
    env["MPICH"] = str(MPIS / "mpich")
    for owner in ("OMPI", "PRTE"):
        env[f"{owner}_ALLOW_RUN_AS_ROOT"] = env[f"{owner}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return env


@contextlib.contextmanager
def cluster(kind: Kind) -> Iterator[Mapping[str, str]]:
    """Start the nodes that a kind needs, for the time of the block; yield their variables."""
    if not kind.nodes:
        yield {}
        return
    sys.path.insert(0, str(ROOT / "tools" / "testbed"))
    testbed, launchers = map(importlib.import_module, ("cluster", "launchers"))
    share = [ROOT, (MPIS / "openmpi").resolve()]
    bandwidth = "200mbit" if kind.rails > 1 else None
    nodes: Any = testbed.up(
        kind.nodes, bandwidth=bandwidth, share=share, owned=True, rails=kind.rails
    )
    try:
        env = launchers.environment(nodes, "openmpi5", prefix=MPIS / "openmpi")
        hosts = env["TESTBED_HOSTS"]
        env["PATH"] = f"{env['PATH']}:{ROOT / '.venv' / 'bin'}"
        yield env | {"HOSTS": hosts, "AGENT": str(testbed.AGENT)}
    finally:
        nodes.down()


def published(directory: Path) -> None:
    """Write the published bcast times of 8 x 36 ranks of a c5n cluster as OSU prints them."""
    directory.mkdir()
    recorded = json.loads((ROOT / "bench/results/c5n-predicted.json").read_text())
    tables: dict[str, list[str]] = {}
    for size in recorded["broadcast"]:
        for one in size["cells"]:
            number = one["algorithm"].partition(".")[0]
            line = f"{size['bytes']:<10}{one['measured_us']:18.2f}"
            tables.setdefault(number, []).append(line)
    for number, lines in tables.items():
        head = "# OSU MPI Broadcast Latency Test v5.6\n# Size       Avg Latency(us)\n"
        (directory / f"{number}.txt").write_text(head + "\n".join(lines) + "\n")


def make(name: str, kind: Kind) -> Path:
    """Run the commands of a kind; return its page."""
    place = BUILD / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "inversion.py", place)
    (place / "ring.py").write_text(RING)
    if name == "published":
        published(place / "published")
    with cluster(kind) as variables, (BUILD / f"{name}.log").open("w") as log:
        subprocess.run(
            ["bash", "-euxc", kind.commands], cwd=place, env=environment() | variables, check=True,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
    return place / "page.html"


def shoot(page: Path, image: Path, size: tuple[int, int], dark: bool = False) -> None:
    """Take a picture of the head of a page. A frame: a window is never as narrow as a telephone."""
    from PIL import Image

    frame = page.with_name("frame.html")
    width, height = size
    frame.write_text(
        f'<body style="margin:0"><iframe src="{page.name}" scrolling="no" '
        f'style="border:0;width:{width}px;height:{height}px"></iframe>'
    )
    browser = next(b for b in BROWSERS if shutil.which(b))
    scheme = 0 if dark else 1  # of Blink
    with contextlib.ExitStack() as stack:
        profile = page.with_name("browser")
        stack.callback(shutil.rmtree, profile, ignore_errors=True)
        command = [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--hide-scrollbars", "--allow-file-access-from-files",
            "--virtual-time-budget=4000", f"--blink-settings=preferredColorScheme={scheme}",
            f"--user-data-dir={profile}", f"--window-size={max(width, 500)},{height}",
            f"--screenshot={image}", frame.as_uri(),
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    with Image.open(image) as taken:
        small = taken.convert("RGB").crop((0, 0, width, height))
    for colours in (80, 48, 32):
        small.quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            image, optimize=True
        )
        if image.stat().st_size <= MOST_BYTES:
            return


def main() -> None:
    names = sys.argv[1:] or list(KINDS)
    if unknown := set(names) - set(KINDS):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; kinds: {', '.join(KINDS)}")
    failed = []
    begin = time.monotonic()
    for name in names:
        kind, since = KINDS[name], time.monotonic()
        try:
            page = make(name, kind)
        except subprocess.CalledProcessError as error:
            failed.append(name)
            print(f"{name}: {error}; see {BUILD / name}.log", file=sys.stderr)
            continue
        shoot(page, IMAGES / f"page-{name}.png", PICTURE)
        if kind.more:
            shoot(page, IMAGES / f"page-{name}-narrow.png", NARROW)
            shoot(page, IMAGES / f"page-{name}-dark.png", PICTURE, dark=True)
        print(f"page-{name}: {time.monotonic() - since:.0f} s", flush=True)
    images = list(IMAGES.glob("page-*.png"))
    bytes_ = sum(image.stat().st_size for image in images)
    print(f"{len(images)} pictures, {bytes_ / 1000:.0f} kB, {time.monotonic() - begin:.0f} s")
    if failed or bytes_ > MOST_BYTES_OF_ALL:
        sys.exit(1)


if __name__ == "__main__":
    main()

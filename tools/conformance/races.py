#!/usr/bin/env python3
"""Run programs under ThreadSanitizer that learn, with another candidate in every call.

    python tools/conformance/races.py [--ranks 3]

The library and the programs are built with it, MPICH is not: what races inside it is not looked at.
In all programs but the first, several threads call collectives, each on communicators of its own;
the table, what was learned and the reports are shared by all. The exit status is 1 where a race is
found, a program fails, or nothing was learned.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from jobs import REPOSITORY

from mpis import MPIS, Mpi

PROGRAMS = (
    "learning 300", "call_shapes threads", "progress threads", "threads_make 20",
    "rooted_threads 1000",  # long enough for blocks of several calls
)  # fmt: skip
FLAGS = ("-fsanitize=thread", "-g", "-O1", "-fno-omit-frame-pointer")
RACE = "WARNING: ThreadSanitizer"
#: ThreadSanitizer crashes where UCX calls process_vm_readv, and where UCX's hook of madvise runs at
#: the end of a thread
UCX = {"UCX_TLS": "^cma", "UCX_MEM_EVENTS": "n", "UCX_MEM_MMAP_HOOK_MODE": "none"}


def build_library(mpi: Mpi) -> Path:
    """Return the interposer for an MPI with ThreadSanitizer in it."""
    folder = REPOSITORY / "build" / "races"
    target = f"stretto-{mpi.interposer}"
    configure = ["cmake", "-S", str(REPOSITORY), "-B", str(folder), "-G", "Ninja"]
    subprocess.run(
        [*configure, f"-DCMAKE_C_FLAGS={' '.join(FLAGS)}", "-DCMAKE_BUILD_TYPE=Debug"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    build = ["cmake", "--build", str(folder), "--target", target, "--", "--quiet"]
    subprocess.run(build, check=True)
    return folder / f"lib{target}.so"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=3)
    options = parser.parse_args()
    mpi = MPIS["mpich"].require()
    runtime = subprocess.run(
        ["gcc", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    found = 0
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        rank_env = UCX | {
            "LD_PRELOAD": f"{Path(runtime).resolve()}:{build_library(mpi)}",
            "TSAN_OPTIONS": "ignore_noninstrumented_modules=1 exitcode=0",
            "STRETTO_LEARN": "1", "STRETTO_LEARN_AFTER": "1", "STRETTO_LEARN_BLOCK": "1",
            "STRETTO_AFTER": "1", "STRETTO_LEARN_TABLE": str(folder / "learned.table"),
        }  # fmt: skip
        for line in PROGRAMS:
            source, *words = line.split()
            program = mpi.compile(
                REPOSITORY / "tests" / "programs" / f"{source}.c", folder / source,
                *FLAGS, "-pthread", "-ldl", "-lm",
            )  # fmt: skip
            # it cannot work with addresses that are too random
            argv = ["setarch", platform.machine(), "-R", str(program), *words]
            done = mpi.run(options.ranks, argv, rank_env=rank_env, timeout=300)
            races = done.stderr.count(RACE)
            learned = done.stderr.count("stretto: learned: ")
            print(f"{line}: exit {done.returncode}, {races} races, {learned} lines on learning")
            if races or done.returncode or not learned:
                print(done.stderr, file=sys.stderr)
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

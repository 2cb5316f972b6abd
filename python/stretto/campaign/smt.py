"""What Slurm counts as a processor: a core, or each of its hardware threads."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping


def per_core(environ: Mapping[str, str]) -> int:
    """Return how many of the processors that a Slurm job is said to have are one core.

    Seen with Slurm 22.05, nodes of 4 cores with 2 threads each, all their cores in the job:
    ``SLURM_JOB_CPUS_PER_NODE`` is 8, but 4 with ``--hint=nomultithread`` or
    ``--threads-per-core=1``, which ``SLURM_THREADS_PER_CORE`` tells. Where a site has given its
    nodes as many CPUs as they have cores, cores are counted as well.
    """
    asked = environ.get("SLURM_THREADS_PER_CORE", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    names = environ.get("SLURM_JOB_NODELIST") or environ.get("SLURM_NODELIST")
    if not names or shutil.which("scontrol") is None:
        return 1
    try:
        done = subprocess.run(
            ["scontrol", "show", "node", "-o", names],
            capture_output=True, text=True, timeout=60, check=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return 1  # as many cores as processors, then, unless the nodes say that they have fewer
    return max((_of_node(line) for line in done.stdout.splitlines()), default=1)


def _of_node(line: str) -> int:
    said = {k: int(n) for k, n in re.findall(r"\b(\w+)=(\d+)(?=\s|$)", line)}
    cores = said.get("Sockets", 0) * said.get("CoresPerSocket", 0)
    if cores == 0:
        return 1
    return max(1, min(said.get("ThreadsPerCore", 1), said.get("CPUTot", 0) // cores))

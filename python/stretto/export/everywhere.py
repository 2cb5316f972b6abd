"""Whether all nodes of a job see an export's files.

The script of an export runs on one node, and every rank reads the files that it names. Open MPI
goes on without a word where there are none (coll_tuned_dynamic_file.c, coll_han_dynamic_file.c):
ranks there take the built-in decision, others the rows, and a call of both hangs or gives wrong
data. MPICH ends such a job in MPI_Init.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from stretto.diagnose.files import LOCAL
from stretto.measure import process
from stretto.mpi.base import MPIInstallation

MOUNTS = Path("/proc/self/mounts")
LIMIT_S = 60.0
_WORD = "stretto-sees"
_LOOK = f'echo "{_WORD} $(uname -n) $(cat "$@" 2>/dev/null | sha256sum | cut -c 1-64) ."'


def own_file_system(directory: Path, mounts: str) -> str | None:
    """Return the kind of a file system that other nodes hardly see; None: they may see it."""
    kind, longest = None, -1
    for line in mounts.splitlines():
        words = line.split(" ")
        if len(words) < 3:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), words[1])
        # of several on one place the last one is seen
        if directory.is_relative_to(point) and len(point) >= longest:
            kind, longest = words[2], len(point)
    return kind if kind in LOCAL else None


def to_be_seen(directory: Path, target: str, mounts: Path = MOUNTS) -> str:
    """Return a sentence: who must see an export's directory, and whether that is likely."""
    try:
        kind = own_file_system(directory, mounts.read_text("utf-8", "replace"))
    except OSError:
        kind = None
    else_ = (
        "ranks that do not find the files use other algorithms in the same call: it hangs or "
        "silently gives wrong data"
        if target.startswith("openmpi")
        else "a job fails in MPI_Init if a rank does not find the files"
    )
    if kind is None:
        return f"every node of a job must see {directory} under this path: {else_}"
    return (
        f"{directory} is on the local {kind} of this machine, but every node of a job must see "
        f"it under this path: {else_}; write the export to a shared file system (--out), or copy "
        "it to the same path on all nodes"
    )


def unseen(
    files: Sequence[Path], hosts: Sequence[str], installation: MPIInstallation
) -> list[str] | None:
    """Return the names of nodes that do not see files as they are here; None: no answer."""
    here = sha256(b"".join(f.read_bytes() for f in files)).hexdigest()
    program = ["/bin/sh", "-c", _LOOK, "sh", *map(str, files)]
    command, environ = installation.launch(
        len(hosts), program, ppn=1, hosts=hosts, bind="none", oversubscribe=True
    )
    with tempfile.TemporaryDirectory(prefix="stretto-sees.") as directory:
        log, looked = Path(directory) / "log", process.Looked()
        ended = process.run(command, environ, log, lambda: looked.look() > LIMIT_S)
        said = log.read_text("utf-8", "replace")
    found: list[tuple[str, str]] = re.findall(rf"{_WORD} (\S+) ([0-9a-f]{{64}}) \.", said)
    if ended.status != 0 or not found:
        return None  # the launches that follow say why
    return sorted({node for node, digest in found if digest != here})

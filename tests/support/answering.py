"""Launchers that only answer --version, as the real ones do, and run no MPI."""

from __future__ import annotations

from pathlib import Path

import pytest

from processes import executable

VERSIONS = {
    "openmpi4": "mpirun (Open MPI) 4.1.4",
    "openmpi5": "mpirun (Open MPI) 5.0.11",
    "mpich": "HYDRA build details:\\n    Version:                                 5.0.2",
    "intel": "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626",
    "slurm": "slurm 22.05.8",
}


def answer(path: Path, kind: str) -> Path:
    """Write a launcher of this kind."""
    path.parent.mkdir(exist_ok=True)
    return executable(path, f"#!/bin/sh\nprintf '{VERSIONS[kind]}\\n'\n")


def machine(tmp_path: Path) -> Path:
    """All launchers, each kind in its folder, and two programs; a fixture where assigned to one."""
    for kind in VERSIONS:
        for name in ("mpirun", "mpiexec.hydra", "srun"):
            answer(tmp_path / kind / name, kind)
    for name in ("app", "other"):
        executable(tmp_path / name, "#!/bin/sh\n")
    return tmp_path


def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Go to a folder of its own, and return options for commands that run no MPI; a fixture too."""
    path = answer(tmp_path / "bin" / "mpirun", "openmpi4")
    where = tmp_path / "case"
    where.mkdir()
    monkeypatch.chdir(where)
    return ["--mpi", str(path), "-o", str(tmp_path / "out"), "-y"]

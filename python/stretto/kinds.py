"""Words of which a value of a file, an option or a function is one."""

from __future__ import annotations

from typing import Literal

Abi = Literal["openmpi", "mpich", "mpi5"]
Part = Literal["interposer", "record", "bench", "p2p", "io", "plan"]
Family = Literal["openmpi", "mpich", "intel"]
Source = Literal["measured", "simulated"]
Binding = Literal["core", "none", "default"]
LauncherKind = Literal["openmpi", "mpich", "intel", "slurm"]

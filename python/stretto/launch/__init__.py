"""Understanding the user's command, bringing Stretto to its ranks, and running it.

job = understand(["mpirun", "-n", "4", "./app"])     # which MPI, how many ranks
argv, environ = prepare(job, [library_for("interposer", job.mpi)], {"STRETTO_TABLE": ...})
result = run(argv, environ, timeout=600, capture="tee")
"""

from stretto.launch.execute import Result, run
from stretto.launch.inject import prepare
from stretto.launch.job import Job, understand
from stretto.launch.layout import Layout
from stretto.launch.library import library, library_for

__all__ = [
    "Job",
    "Layout",
    "Result",
    "library",
    "library_for",
    "prepare",
    "run",
    "understand",
]

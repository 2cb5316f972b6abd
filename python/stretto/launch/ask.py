"""Asks a job's own ranks something, by a line of shell that its launcher starts in CMD's place."""

from __future__ import annotations

import signal

from stretto.launch.command import Application, Command
from stretto.launch.execute import Result, run
from stretto.launch.job import Job

_LIMIT_S = 60.0
#: options of launchers by which output goes to files, and srun's variables for the same
_FILE_OPTIONS = {
    "openmpi": ("output-filename", "output", "xml-file", "report-pid", "report-uri"),
    "mpich": ("outfile-pattern", "errfile-pattern", "outfile", "errfile"),
    "intel": ("outfile-pattern", "errfile-pattern", "outfile", "errfile"),
    "slurm": ("o", "output", "e", "error"),
}
_FILE_VARIABLES = ("SLURM_STDOUTMODE", "SLURM_STDERRMODE")
#: as which MPICH's mpiexec may end when its ranks end at once: it tells nothing of the ranks
BROKEN_PIPE = (-int(signal.SIGPIPE), 128 + int(signal.SIGPIPE))


def before(command: Command, start: int, application: Application) -> list[str]:
    """Return the words before a program, without the options that send output to files.

    CMD's own output of earlier runs may lie there, and the answer is to be read.
    """
    gone: set[int] = set()
    for option in application.options:
        if option.name in _FILE_OPTIONS.get(command.kind or "", ()):
            values = len(option.values) if option.apart else 0
            gone |= set(range(option.at, option.at + 1 + values))
    return [command.words[i] for i in range(start, application.start) if i not in gone]


def ask(job: Job, shell: str) -> Result | None:
    """Start a small program by the job's launcher and options; None without a launcher."""
    command = job.command
    if command.launcher_at is None or any(a.program is None for a in command.applications):
        return None
    if command.multi_prog:
        return None  # what stands in the program's place is a file of programs
    words: list[str] = []
    end = 0
    for application in command.applications:
        words += [*before(command, end, application), "sh", "-c", shell]
        end = application.end
    environ = {n: v for n, v in job.environ.items() if n not in _FILE_VARIABLES}

    def start() -> Result:
        return run(words, environ, job.cwd, timeout=_LIMIT_S, capture="yes")

    result = start()
    if result.status not in BROKEN_PIPE:
        return result
    # Some answers may be lost with the pipe: those of the start count that has more of them.
    return max(result, start(), key=lambda r: (r.status == 0, r.stdout.count("\n")))

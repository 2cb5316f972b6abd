"""Commands that a log shows: what was started, on how many ranks, with which settings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from stretto.launch.options import HYDRA, OPENMPI, SRUN, words_of
from stretto.mpi.detect import LAUNCHER_NAMES

#: variables that may change how fast an MPI is
VARIABLE = r"(?:OMPI_MCA|I_MPI|MPIR_CVAR|MPICH|MV2|MVP|UCX|FI|PSM2?|HCOLL|UCC|SHARP)_\w+"
#: ... and those of them that do not
_NEUTRAL = re.compile(
    r"(?:OMPI_MCA_)?(?:plm|rmaps|orte|oob|ras|ess|iof|odls|prte|mpi_show|mpi_warn|hwloc)_\w*"
    r"|\w*(?:VERBOSE|verbose|_warn|WARN|_DEBUG|LOG_LEVEL|base_help|STATS)\w*"
    r"|I_MPI_(?:ROOT|MPIRUN|HYDRA|PMI|CC|CXX|F77|F90|FC|INFO|LIBRARY|TMPDIR|PRINT)\w*"
    r"|MPICH_(?:VERSION_DISPLAY|DIR|ENV_DISPLAY)|FI_PROVIDER_PATH"
)
_ANY = re.compile(r"mpirun|mpiexec|orterun|prterun|srun|flux|aprun|jsrun|ibrun|lrun|yhrun|prun")
_SLURM = ("srun", "flux")
#: whose -n and -N mean something else on each machine
_OTHERS = ("aprun", "jsrun", "ibrun", "lrun", "yhrun", "prun")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_PROGRAM = re.compile(r"(?:osu_\w+|IMB-\w+)$")
_TABLE = {**OPENMPI, **HYDRA}
#: as Python prints a command
_ARGV = re.compile(r"\[((?:(?:'[^']*'|\"[^\"]*\")(?:,\s*)?)+)\]")
#: before a launcher: where and how what it starts runs
_BINDING = ("numactl", "taskset", "chrt", "nice", "perf", "strace", "nsys", "vtune", "valgrind")
#: variables that differ from launch to launch, or from login to login
_ANYTHING = re.compile(
    r"(?:RUN|REP|ITER|TRIAL|LAUNCH|SEED|JOB|TMP|HOME|PWD|USER|LOG|OUT|TERM|DISPLAY|LANG|LC_|TZ"
    r"|HYDRA_|PRTE_|OMPI_ALLOW)\w*",
    re.IGNORECASE,
)
#: say nothing of how fast it is
_WITHOUT_EFFECT = re.compile(
    "allow-run-as-root|tag-output|timestamp-output|output(-filename)?|o|error|e|label|l|prepend-rank"
    "|prepend-pattern|report-bindings|display(-map|-allocation)?|verbose|v|quiet|wdir|wd|chdir|D"
    "|path|prefix|outfile-pattern|errfile-pattern|job-name|J|time|t|timeout|account|A|qos"
    "|reservation|hosts?|H|(default-)?hostfile|machinefile|f|w|nodelist|x|exclude|print-rank-map"
    "|stdin|input|i|genv(list|all)|env(list|all)|mpi"
)


@dataclass(frozen=True)
class LaunchLine:
    """One command.

    `settings`: variables and parameters that it sets: Open MPI's by their names without
    ``OMPI_MCA_``. `nranks`, `nodes`, `ppn`: as written (``8``, ``$n``); None: the command does not
    say. `options`: what else may make a difference: binding, mapping, wrappers.
    """

    program: str
    settings: tuple[tuple[str, str], ...] = ()
    nranks: str | None = None
    nodes: str | None = None
    ppn: str | None = None
    options: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


@dataclass
class _Found:
    settings: list[tuple[str, str]] = field(default_factory=list)
    sizes: dict[str, str] = field(default_factory=dict)
    options: list[str] = field(default_factory=list)

    def variable(self, word: str) -> bool:
        assigned = _ASSIGNMENT.fullmatch(word)
        if assigned is None:
            return False
        if re.fullmatch(VARIABLE, assigned[1]):
            if matters(assigned[1]):
                self.settings.append((assigned[1], assigned[2]))
        elif not _ANYTHING.fullmatch(assigned[1]):
            self.options.append(word)  # LD_PRELOAD=...
        return True


def matters(name: str) -> bool:
    """Return whether a variable or parameter may change how fast an MPI is."""
    known = name[:1].islower() or re.fullmatch(VARIABLE, name) is not None
    return known and _NEUTRAL.fullmatch(name) is None


def launch_in(line: str) -> LaunchLine | None:
    """Return the command that a line shows, None where it shows none."""
    if not _ANY.search(line):
        return None
    words = _words(line)
    at = next((i for i, word in enumerate(words) if _launcher(word) is not None), None)
    if at is None or at + 1 >= len(words):
        return None
    kind = _launcher(words[at]) or ""
    start = at + 1 + (kind == "flux") + (words[at + 1 : at + 3] == ["mini", "run"])
    named = next((i for i in range(start, len(words)) if _PROGRAM.search(words[i])), None)
    if named is None and not any(w.startswith("-") for w in words[start : start + 1]):
        return None  # a sentence on the launcher
    if kind == "flux" and "run" not in words[at + 1 : at + 3]:
        return None
    found = _Found()
    bound = False
    for word in words[:at]:
        bound = bound or _name(word) in _BINDING
        if not found.variable(word) and bound:
            found.options.append(word)
    program = _options(words, start, named, kind, found)
    if program is None:
        return None
    path = PurePosixPath(words[program])
    places = (PurePosixPath(words[at]).parent, path.parent)
    return LaunchLine(
        path.name, tuple(found.settings), found.sizes.get("nranks"), found.sizes.get("nodes"),
        found.sizes.get("ppn"), tuple(found.options), tuple(map(str, places)),
    )  # fmt: skip


def _words(line: str) -> list[str]:
    text = re.sub(r"^[`>*\s]+|[`*\s]+$", "", line)
    if argv := _ARGV.search(text):
        text = re.sub(r"(['\"]),\s*(?=['\"])", r"\1 ", argv[1])
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    ends = (i for i, word in enumerate(words) if word in ("|", ">", ">>", "2>&1", "&&", ";", "&>"))
    words = words[: next(ends, len(words))]
    return [word.rstrip(";") for word in words if word.rstrip(";")]


def _name(word: str) -> str:
    return word.rpartition("/")[2].lstrip("$`+")


def _launcher(word: str) -> str | None:
    name = _name(word)
    return name if name in (*LAUNCHER_NAMES, *_SLURM, *_OTHERS, "mpiexec_mpt") else None


def _options(
    words: Sequence[str], at: int, named: int | None, kind: str, found: _Found
) -> int | None:
    """Take the words before the program; return where it stands."""
    table = SRUN if kind in _SLURM else _TABLE
    end = len(words) if named is None else named
    while at < end:
        word = words[at]
        if not word.startswith("-") or len(word) < 2:
            if found.variable(word):
                pass  # of mpirun_rsh, or of env
            elif named is None:
                return at
            else:
                found.options.append(word)  # a wrapper, or its option
            at += 1
            continue
        name, equals, value = word.partition("=")
        short = re.fullmatch(r"-([nNc])(\d+)", word) if kind in _SLURM else None
        if short:
            name, values, step = f"-{short[1]}", [short[2]], 1
        elif equals:
            values, step = [value], 1
        else:
            step = 1 + words_of(word, table) + (word == "-env" and kind in _SLURM)
            if step == 3 and at + 1 < end and "=" in words[at + 1]:
                step = 2  # -genv NAME=VALUE
            values = list(words[at + 1 : min(at + step, len(words))])
        _option(name.lstrip("-"), values, kind, found)
        at += step
    return named


def _option(name: str, values: list[str], kind: str, found: _Found) -> None:
    """Take one option of the launcher."""
    value = values[0] if values else ""
    if name in ("mca", "gmca", "omca", "prtemca", "pmixmca"):
        if name in ("mca", "gmca", "omca"):
            pair = (value, values[1]) if len(values) > 1 else tuple(value.split(" ", 1))
            if "=" in pair[0]:  # not as the launcher takes it
                found.options.append(" ".join([name, *values]))
            elif len(pair) == 2 and matters(pair[0]):
                found.settings.append((pair[0], pair[1]))
    elif (name in ("x", "genv", "env", "export") and kind != "srun") or name == "export":
        for part in [f"{value}={values[1]}"] if len(values) > 1 else _assigned(value):
            found.variable(part)
    elif kind in _OTHERS:
        found.options.append(" ".join([name, *values]))
    elif name in ("n", "np", "ntasks") or (name == "c" and kind not in _SLURM):
        found.sizes["nranks"] = value
    elif name in ("nodes", "N") and kind in _SLURM:
        found.sizes["nodes"] = value
    elif name in ("N", "npernode", "ppn", "perhost", "ntasks-per-node", "tasks-per-node"):
        found.sizes["ppn"] = value
    elif name == "pernode":
        found.sizes["ppn"] = "1"
    elif name in ("map-by", "ppr") and (each := re.match(r"(?:ppr:)?([\w$]+):node", value)):
        found.sizes["ppn"] = each[1]
    elif not _WITHOUT_EFFECT.fullmatch(name):
        found.options.append(" ".join([name, *values]))


def _assigned(value: str) -> list[str]:
    """Return the parts of ``ALL,A=1,B=x,y``: what begins with no name belongs to the one before."""
    return re.split(r",(?=[A-Za-z_]\w*(?:=|,|$))", value)

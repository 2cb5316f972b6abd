"""Settings as the user names them, and what the command has decided before any is set.

All settings are set for the launcher. What the command itself sets on the way (``env NAME=VALUE``,
``-x``, ``--mca``, ``-genv``, ``--export``) wins over that: a setting of the same name would never
reach the ranks, and be judged as if it made no difference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from stretto.errors import UsageError
from stretto.launch.command import Command, skip_wrappers
from stretto.mpi.algorithms.pairs import pairs_of
from stretto.mpi.settings import Setting
from stretto.mpi.settings.base import parse

_PARAMETER = ("mca", "omca", "gmca", "prtemca")
_VARIABLE = ("x", "env", "genv")
#: variables that place ranks, and the options that say the same thing and win
_PLACING = (
    (re.compile(r"binding|_BIND\b|I_MPI_PIN"), ("bind-to", "bind-to-core", "bind-to-socket",
                                                 "binding", "cpu-bind")),
    (re.compile(r"mapping|HYDRA_(MAPPING|BINDING)|I_MPI_PIN|DISTRIBUTION"),
     ("map-by", "m", "distribution")),
)  # fmt: skip
#: how variables begin that are not Open MPI's parameters without their prefix
_VARIABLES = ("OMPI_", "PRTE_", "PMIX_", "UCX_", "FI_", "MALLOC_")
_BEGINS = re.compile(r"[A-Za-z_]\w*=")


def option_names(command: Command) -> list[str]:
    """Return the names of all that the user's launcher is told: options, parameters, variables."""
    out: list[str] = []
    for option in command.options:
        out.append(option.name)
        if option.name in (*_PARAMETER, *_VARIABLE) and option.values:
            name, equals, _ = option.values[0].partition("=")
            if equals or option.name != "x":  # -x NAME hands on what the launcher has
                out.append(name.removeprefix("OMPI_MCA_"))
    return out


def decided(command: Command) -> dict[str, str]:
    """Return the variables that a command sets itself, each with the word that does."""
    out = dict.fromkeys(command.assignments, "env")
    for application in command.applications if command.launcher is not None else ():
        _, there = skip_wrappers(
            command.words, application.start, application.program or application.end
        )
        out |= dict.fromkeys(there, "env")
    for option in command.options:
        dashes = "-" if len(option.name) == 1 or option.name in ("env", "genv") else "--"
        word = dashes + option.name
        value = option.values[0] if option.values else ""
        name, equals, _ = value.partition("=")
        if option.name in _PARAMETER:
            out |= {f"OMPI_MCA_{name}": word, f"PRTE_MCA_{name}": word}
        elif option.name == "export":
            parts = (p.partition("=") for p in value.split(","))
            out |= {n: word for n, is_set, _ in parts if is_set}
        elif option.name in _VARIABLE and (equals or option.name != "x"):
            out[name] = word
    return out


def left(
    settings: Sequence[Setting], command: Command, environ: Mapping[str, str]
) -> tuple[list[Setting], list[str]]:
    """Leave out what the command has decided, and what the environment says already.

    Also return a sentence for each that is left out.
    """
    words, notes = decided(command), []
    kept = []
    for s in settings:
        names = [n for n, _ in s.environment if n in words]
        if names:
            notes.append(
                f"{words[names[0]]} sets {names[0]} in the command, which stays unchanged: "
                f"{s.name} not tried"
            )
        elif _is_there(s, environ):
            notes.append(f"the environment already sets {s.name}: not tried")
        else:
            kept.append(s)
    return kept, notes


def named(
    texts: Sequence[str], family: str, command: Command, environ: Mapping[str, str]
) -> list[Setting]:
    """Return the settings that the user names, each once; refuse what could not reach the ranks."""
    found: list[Setting] = []
    for text in texts:
        one = parse(text, environment_of(family, text))
        if dict(one.environment) not in [dict(s.environment) for s in found]:
            found.append(one)
    words = decided(command)
    for s in found:
        for name, _ in s.environment:
            by = words.get(name) or _placed(name, command)
            if by is not None:
                raise UsageError(
                    f"{by} in the command overrides {s.name}, which would not reach the ranks",
                    "--candidates",
                    f"remove {by} from the command, or {s.name} from the candidates",
                )
        if _is_there(s, environ):
            raise UsageError(
                f"the environment already sets {s.name}, so native runs have it "
                "too", "--candidates",
                "unset it, so that the native value is compared with it, or leave it out",
            )  # fmt: skip
    return found


def _is_there(setting: Setting, environ: Mapping[str, str]) -> bool:
    return all(environ.get(n) == v for n, v in setting.environment)


def _placed(variable: str, command: Command) -> str | None:
    for pattern, options in _PLACING:
        for option in command.options:
            if pattern.search(variable) and option.name in options:
                return ("-" if len(option.name) == 1 else "--") + option.name
    return None


def environment_of(family: str, text: str) -> dict[str, str]:
    """Return the variables of ``NAME=VALUE,...``: Open MPI's parameters without their prefix."""
    text = text.removeprefix("native:")
    if not _BEGINS.match(text):
        first = text.partition(",")[0]
        raise UsageError(f"{first!r} is not NAME=VALUE", "--candidates", "write NAME=VALUE;...")
    out: dict[str, str] = {}
    for name, value in pairs_of(text):
        plain = family == "openmpi" and not name.startswith(_VARIABLES)
        variable = f"OMPI_MCA_{name}" if plain else name
        if variable in out:
            raise UsageError(
                f"{text!r} gives {name} two values", "--candidates",
                "separate settings to try one by one with semicolons",
            )  # fmt: skip
        out[variable] = value
    return out

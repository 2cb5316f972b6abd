"""What stands between a launcher and a program and takes the environment away, or may do so."""

from __future__ import annotations

from stretto.launch.command import Application, Command
from stretto.launch.options import WRAPPERS
from stretto.light import TYPE_CHECKING, dataclass, later
from stretto.paths import Path

if TYPE_CHECKING:
    import re
else:
    re = later("re")

#: start programs elsewhere, without this environment
_REMOTE = ("ssh", "rsh", "pdsh", "clush", "docker", "podman", "nerdctl", "kubectl")
#: start them in another file system, with what of the environment their configuration says
_CONTAINERS = ("apptainer", "singularity", "ch-run", "shifter", "sarus", "enroot", "podman-hpc")


@dataclass(frozen=True)
class Obstacle:
    """Something by which Stretto's variables do not get to a program.

    `certain`: they are lost; else they may be.
    """

    words: str
    certain: bool


def _ignoring(word: str) -> bool:
    """Tell whether an option of `env` begins as ``-i``, ``-0i`` or ``-vi`` does."""
    return word[:1] == "-" and word[1:].lstrip("0v")[:1] == "i"


def dropping(words: list[str]) -> str | None:
    """Return what of the words before a program drops LD_PRELOAD, None where nothing does."""
    wrapper = ""
    for at, word in enumerate(words):
        if Path(word).name in WRAPPERS:
            wrapper = Path(word).name
        if wrapper == "sudo":
            return "sudo"
        if wrapper != "env":
            continue
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in ("-", "--ignore-environment") or _ignoring(word):
            return f"env {word}"
        if word in ("-u", "--unset") and following == "LD_PRELOAD":
            return f"env {word} LD_PRELOAD"
        if word in ("-uLD_PRELOAD", "--unset=LD_PRELOAD"):
            return f"env {word}"
    return None


def obstacles(command: Command) -> list[Obstacle]:
    """Return what lies between the launcher and the programs (a script, where there is none)."""
    found = [_of(command, application) for application in command.applications]
    found += [
        Obstacle(f"{command.words[option.at].partition('=')[0]}", certain=False)
        for option in command.options
        if command.kind == "slurm" and option.name in ("container", "container-image")
    ]
    return list(dict.fromkeys(o for o in found if o is not None))


def in_script(text: str) -> list[str]:
    """Return what a script does by which variables may get lost: ``env -i``, ``ssh``.

    That is also where it sets LD_PRELOAD to something else, or removes it.
    """
    code = re.sub(r"(?m)(^|\s)#.*$", "", text)
    names = "|".join(map(re.escape, (*_REMOTE, *_CONTAINERS, "sudo")))
    found = re.findall(
        rf"(?:^|[\s;&|(`/'\"])(env\s+-[0v]*i|env\s+-u\s*LD_PRELOAD|unset\s+LD_PRELOAD|{names})(?=[\s;]|$)",
        code,
    )
    found += [f"LD_PRELOAD={v}" for v in preloads(code) if "LD_PRELOAD" not in v]
    return list(dict.fromkeys(" ".join(word.split()) for word in found))


def preloads(text: str) -> list[str]:
    """Return the values that a script, or a word of a command, gives LD_PRELOAD."""
    found = re.findall(r"\bLD_PRELOAD=(?:\"([^\"]*)\"|'([^']*)'|([^\s\"';|&,)]*))", text)
    return ["".join(one) for one in found]


def _of(command: Command, application: Application) -> Obstacle | None:
    if application.program is None:
        return None
    if command.launcher_at is not None:
        dropped = dropping(list(command.words[application.start : application.program]))
        if dropped is not None:
            return Obstacle(dropped, certain=True)
    name = Path(command.words[application.program]).name
    if name in _REMOTE:
        return Obstacle(name, certain=True)
    return Obstacle(name, certain=False) if name in _CONTAINERS else None

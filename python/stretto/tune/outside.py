"""Words of a command that name files: what they lead to where the command runs in a copy.

A relative path out of the directory would lead elsewhere from a copy, and gets its full path. A
full path into the directory would lead to the user's own files, and is pointed at the copy.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from stretto.errors import StrettoError
from stretto.files.regular import MOST_SMALL_BYTES, read_regular
from stretto.home import home
from stretto.tune.place import Place, uncopied

#: ``-o``, ``--out``, ``--output-dir``: a run must not write there what the user keeps
_OUTPUT = re.compile(r"--?o(ut(put)?([-_.]?\w+)*)?\Z", re.IGNORECASE)
#: a full path in a word or in a script's text; behind ``-o`` it may stand without a blank
_FULL = re.compile(
    r"(?:(?<![\w./~}-])|(?<=\A-\w)|(?<=\s-\w))(~|\$HOME|\$\{HOME\})?(/[^\s'\"`;:,&|<>()$*?\[\]{}\\]*)"
)
#: what a shell's text may name as a file
_PART = re.compile(r"[^\s'\"`;&|<>()=]+")
#: variables that lead to programs and libraries, which are read where they are
_READ = re.compile(r"PATH|PREFIX|PRELOAD|VIRTUAL_ENV|_HOME\Z|_ROOT\Z|\AHOME\Z|\ASTRETTO_|\A_\Z")


def for_copies(words: Sequence[str], place: Place, copy: Path) -> list[str]:
    """Return a command as one run gets it.

    A relative path, alone or behind ``NAME=``, is replaced when it leads out of the directory and
    there is something. Names of outputs are left alone: each copy's lead to a place of its own.
    Full paths into the directory, wherever they stand in a word, lead into the copy.
    """
    if not place.copied:
        return list(words)
    return [_into(word, place, copy) for word in _from_everywhere(words, place)]


def variables_for(environ: Mapping[str, str], place: Place, copy: Path) -> dict[str, str]:
    """Return the environment of one run: full paths into the directory lead into the copy."""
    if not place.copied:
        return dict(environ)
    return {
        name: value if _READ.search(name) else _into(value, place, copy)
        for name, value in environ.items()
    }


def outside(words: Sequence[str], place: Place) -> list[str]:
    """Return what `for_copies` makes of the words that lead out of the directory."""
    pairs = zip(words, _from_everywhere(words, place), strict=True)
    return list(dict.fromkeys(new for old, new in pairs if new != old))


def full_paths(words: Sequence[str], programs: Iterable[Path], place: Place) -> list[str]:
    """Refuse a script that names the directory by its full path; say which inputs do.

    A script would write to the user's files, since only words are pointed at a copy. An input file
    may do so as well, or only name what is read.

    `programs`: what the command starts, scripts of interpreters included.
    The inputs come as ``FILE:LINE: PATH``.
    """
    found = []
    scripts = dict.fromkeys(path.resolve() for path in programs)
    parts = (part for word in words for part in [word, *_PART.findall(word)])
    others = (place.base / part for part in parts if part)
    for path in dict.fromkeys([*scripts, *others, Path("/proc/self/fd/0")]):
        named = _named_in(path, place)
        if named is None:
            continue
        number, text, script = named
        if path.resolve() not in scripts and not script:
            name = "standard input" if path.parent == Path("/proc/self/fd") else path
            found.append(f"{name}:{number}: {text}")
            continue
        raise StrettoError(
            f"this script contains the full path of the directory ({text}): its runs would write "
            "here, not into their copies", f"{path}:{number}",
            "write the path relative to the directory, or give --reset-command or --in-place",
        )  # fmt: skip
    return list(dict.fromkeys(found))


def uncopied_notes(words: Sequence[str], programs: Iterable[Path], place: Place) -> list[str]:
    """Return what the user must know of files that are no part of the copies."""
    if not place.copied:
        return []
    out = []
    named = full_paths(words, programs, place)
    if found := outside(words, place):
        out.append(f"outside the directory, so shared by all runs (not copied): {', '.join(found)}")
    if named:
        out.append(
            "an input contains the full path of the directory: what CMD writes to that path is "
            f"not in a copy: {', '.join(named)}"
        )
    if lacking := uncopied(place):
        out.append(f"not copied (sockets, devices): {', '.join(lacking)}")
    return out


def _named_in(path: Path, place: Place) -> tuple[int, str, bool] | None:
    """Return line and path by which a text names the directory, and whether it is a script.

    None: nowhere, or it is no text.

    Comments do not count, nor the interpreter in the first line, nor the scripts of a Python
    environment, which name their own place.
    """
    try:
        if not path.is_file() or (path.parent.parent / "pyvenv.cfg").is_file():
            return None
        data = read_regular(path, MOST_SMALL_BYTES)
    except (OSError, ValueError):  # too large for a script; a text that is no name
        return None
    if b"\0" in data:
        return None
    script = data.startswith(b"#!")
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        if "/" not in line or line.lstrip().startswith("#"):
            continue
        for match in _FULL.finditer(line):
            if _inside(_meant(match), place) is not None:
                return number, match.group(), script
        if _odd(place.base) and str(place.base) in line:
            return number, str(place.base), script
    return None


def _into(word: str, place: Place, copy: Path) -> str:
    """Return a word whose full paths into the directory lead into a copy of it."""
    name, equals, value = word.partition("=")
    for before, path in (("", word), (f"{name}{equals}", value)):
        if path.startswith("/") and (found := _there(Path(path), place, copy)) is not None:
            return before + found + ("/" if path.endswith("/") else "")
    base = str(place.base)
    if _odd(place.base):  # a blank in it: no path in a text is found by its characters
        for spelled in (base, re.sub(r"([^\w./-])", r"\\\1", base)):
            word = word.replace(f"{spelled}/", f"{copy}/")

    def replaced(match: re.Match[str]) -> str:
        found = _there(_meant(match), place, copy)
        if found is None:
            return match.group()
        return found + ("/" if match.group().endswith("/") else "")

    return _FULL.sub(replaced, word)


def _odd(base: Path) -> bool:
    return _FULL.fullmatch(str(base)) is None


def _meant(match: re.Match[str]) -> Path:
    return home() / match.group(2).lstrip("/") if match.group(1) else Path(match.group(2))


def _there(path: Path, place: Place, copy: Path) -> str | None:
    """Return where a path lies in a copy; None for one that is not in the directory.

    What is in no copy (tune's own output directory, sockets) stays where it is.
    """
    relative = _inside(path, place)
    if relative is None:
        return None
    for at in (relative, relative.parent):
        if os.path.lexists(place.base / at) and not os.path.lexists(copy / at):
            return None
    return str(copy / relative)


def _inside(path: Path, place: Place) -> Path | None:
    """Return a full path relative to the directory, by whatever names and links it leads there."""
    base = place.base.resolve()
    try:
        beside = Path(os.path.normpath(path.parent.resolve() / path.name))
        for real in (beside, path.resolve()):
            if base in (real, *real.parents):
                return real.relative_to(base)
    except (OSError, ValueError, RuntimeError):  # no name of a file, or a link to itself
        return None
    return None


def _from_everywhere(words: Sequence[str], place: Place) -> list[str]:
    return [
        word if _OUTPUT.match(before) else _from_anywhere(word, place.base)
        for before, word in zip(["", *words], words, strict=False)
    ]


def _from_anywhere(word: str, base: Path) -> str:
    name, equals, value = word.partition("=")
    found = _outside(word, base)
    if found is None and equals and not _OUTPUT.match(name):
        found = _outside(value, base)
        return word if found is None else f"{name}={found}"
    return word if found is None else found


def _outside(word: str, base: Path) -> str | None:
    """Return the full path of something outside of a directory, None where a word is none."""
    if ".." not in word.split("/") or word.startswith("/"):
        return None
    typed = base / word
    plain = Path(os.path.normpath(typed))
    if base in (plain, *plain.parents) or not _exists(typed):
        return None
    # behind a link, .. is not what the text says
    return str(plain if plain.resolve() == typed.resolve() else typed)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a text that is too long for a name, or no name at all
        return False

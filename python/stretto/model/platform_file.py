"""Platform files: readable TOML, every parameter with its source (``docs/reference/platforms.md``).

A level's section gives one `Link`; ``[local]`` stands for cache, numa and node together, and
``[remote]`` for rail and network, and a level's own section goes before them. A value is written in
a unit of its kind: ``{ us = 1.5, source = "..." }``, ``{ GBps = 12.5, ... }``, ``{ value = 4 }``.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stretto.errors import StrettoError
from stretto.files.io import read_text, write_atomic
from stretto.files.regular import MOST_SMALL_BYTES
from stretto.files.toml import toml_values
from stretto.home import home
from stretto.model.platform import LEVELS, UNITS, WORDS, Link, Parameter, Platform, parameters

SCHEMA = "stretto-platform"
VERSION = 1
WHAT = "a platform file"
DIRECTORY = Path(__file__).resolve().parent.parent / "platforms"
#: sections that stand for several levels
GROUPS = {"local": ("cache", "numa", "node"), "remote": ("rail", "network")}
NODE = "machine"
_SOURCE = re.compile(r"(publication|measurement|fitted|assumed): \S")
_REMEDY = "see docs/reference/platforms.md, or compare with: stretto platform show c5n-tcp"


@dataclasses.dataclass
class _Place:
    """Where things stand in the text, for messages."""

    file: str
    lines: dict[tuple[str, str], int]

    def of(self, section: str, key: str = "") -> str:
        number = self.lines.get((section, key), self.lines.get((section, ""), 1))
        name = ".".join(w for w in (section, key) if w)
        return f"{self.file}:{number}: {name}" if name else f"{self.file}:{number}"


def _scan(text: str, file: str) -> _Place:
    """Find the line of each section and key; TOML parsers do not report it."""
    lines: dict[tuple[str, str], int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if head := re.match(r"\s*\[\s*([\w.-]+)\s*\]", line):
            section = head[1]
            lines.setdefault((section, ""), number)
        elif key := re.match(r"\s*([\w-]+)\s*=", line):
            lines.setdefault((section, key[1]), number)
    return _Place(file, lines)


def shipped() -> list[str]:
    return sorted(p.stem for p in DIRECTORY.glob("*.toml"))


def locate(name: str) -> Path:
    """Return the file of a platform: a path, a name in the user's directory, or one shipped.

    `name`: ``c5n-tcp``, ``./mine.toml``.
    """
    if name.endswith(".toml") or "/" in name:
        return Path(name)
    own = user_directory() / f"{name}.toml"
    path = own if own.exists() else DIRECTORY / f"{name}.toml"
    if not path.exists():
        raise StrettoError(
            f"there is no platform {name!r}",
            "--platform",
            f"choose from {', '.join(shipped())}; or name a file: ./mine.toml",
        )
    return path


def user_directory() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or str(home() / ".config")
    return Path(base) / "stretto" / "platforms"


def load(name: str) -> Platform:
    return read_platform(locate(name))


def read_platform(path: Path) -> Platform:
    """Read a file, or raise a `StrettoError` that names file, line, key and remedy."""
    remedy = "stretto platform list shows all platforms"
    return parse_platform(read_text(path, WHAT, remedy, MOST_SMALL_BYTES), str(path))


def parse_platform(text: str, file: str) -> Platform:
    try:
        data = toml_values(text)
    except ValueError as error:
        line = re.search(r"line (\d+)", str(error))
        raise StrettoError(
            f"this is not TOML: {error}", f"{file}:{line[1]}" if line else file, _REMEDY
        ) from error
    place = _scan(text, file)
    if data.get("schema") != SCHEMA or data.get("version") != VERSION:
        raise StrettoError(
            f'{WHAT} begins with schema = "{SCHEMA}" and version = {VERSION}',
            place.of("", "schema"),
            "give a platform file, or use the Stretto that wrote it",
        )
    head = {k: data.pop(k, None) for k in ("schema", "version", "name", "description")}
    for key in ("name", "description"):
        if not isinstance(head[key], str) or not str(head[key]).strip():
            raise StrettoError(f"{key} is missing or not text", place.of("", key), _REMEDY)
    sources: dict[str, str] = {}
    known = (*GROUPS, *LEVELS, NODE)
    for section, body in data.items():
        if section not in known or not isinstance(body, dict):
            raise StrettoError(
                f"{section} is not a section", place.of(section, ""),
                f"sections are {', '.join(known)}",
            )  # fmt: skip
    levels: dict[str, Link] = {}
    for level in LEVELS:
        values: dict[str, float] = {}
        for section in (*(g for g, members in GROUPS.items() if level in members), level):
            for key, raw in data.get(section, {}).items():
                values[key], why = _value(parameters("level"), section, key, raw, place)
                sources[f"{level}.{key}"] = why
        missing = [n for n in ("latency", "eager_bytes") if n not in values]
        if missing:
            raise StrettoError(
                f"{level}.{missing[0]} is not given",
                place.of("remote" if level in GROUPS["remote"] else "local"),
                f"add it to [{level}], or for several levels to [local] or [remote]",
            )
        levels[level] = Link(**values)
    plain: dict[str, Any] = {}
    for key, raw in data.get(NODE, {}).items():
        plain[key], sources[key] = _value(parameters("platform"), NODE, key, raw, place)
    platform = Platform(
        name=str(head["name"]), description=str(head["description"]).strip(), levels=levels,
        sources=sources, **plain,
    )  # fmt: skip
    _check_together(platform, place)
    return platform


def _value(
    among: Mapping[str, Parameter], section: str, key: str, raw: Any, place: _Place
) -> tuple[float, str]:
    where = place.of(section, key)
    parameter = among.get(key)
    if parameter is None:
        raise StrettoError(
            f"{key} is not a parameter of [{section}]", where, f"choose from {', '.join(among)}"
        )
    units = UNITS[parameter.unit]
    if not isinstance(raw, dict):
        raise StrettoError(
            f"{key} needs a value and a source", where,
            f'write {key} = {{ {next(iter(units))} = ..., source = "assumed: why" }}',
        )  # fmt: skip
    given = [u for u in raw if u != "source"]
    if len(given) != 1 or given[0] not in units:
        raise StrettoError(
            f"{key} has {', '.join(given) or 'no value'}", where,
            f"give exactly one of {', '.join(units)}",
        )  # fmt: skip
    number = raw[given[0]]
    if parameter.unit == "word":
        if number not in WORDS[key]:
            raise StrettoError(
                f"{key} = {number!r} is not known", where, f"choose from {', '.join(WORDS[key])}"
            )
        number = WORDS[key].index(number)
    if isinstance(number, bool) or not isinstance(number, (int, float)) or math.isnan(number):
        raise StrettoError(f"{number!r} is not a number", where, f"{key}: {parameter.help}")
    value = float(number)
    if given[0].endswith("Bps"):
        value = 1 / (value * units[given[0]]) if value > 0 else math.inf
    else:
        value *= units[given[0]]
    if not parameter.low <= value <= parameter.high:
        raise StrettoError(
            f"{key} = {number} {given[0]} is out of range", where,
            f"it must be from {parameter.low:g} to {parameter.high:g} {parameter.unit}: "
            f"{parameter.help}",
        )  # fmt: skip
    if parameter.unit in ("count", "flag") and value != int(value):
        raise StrettoError(f"{key} must be a whole number", where, parameter.help)
    source = raw.get("source")
    if not isinstance(source, str) or not _SOURCE.match(source):
        raise StrettoError(
            f"{key} has no source for its value", where,
            'add source = "KIND: words", KIND being publication, measurement, fitted or assumed',
        )  # fmt: skip
    return value, source


def _check_together(platform: Platform, place: _Place) -> None:
    if platform.cores_cache > platform.cores_numa or platform.cores_numa > platform.cores:
        values = " <= ".join(
            f"{name} ({getattr(platform, name):g}{'' if name in platform.sources else ', preset'})"
            for name in ("cores_cache", "cores_numa", "cores")
        )
        raise StrettoError(
            f"{values} does not hold", place.of(NODE, "cores"),
            "give all three: cores that share a cache, a memory (NUMA domain), and a node",
        )  # fmt: skip
    if platform.rails > 1 and "rails" in platform.sources and platform.nic_gap_byte == 0:
        raise StrettoError(
            "several rails, but no bandwidth", place.of(NODE, "rails"), "add nic_gap_byte"
        )
    if "stripe_bytes" in platform.sources and not platform.striped:
        raise StrettoError(
            "stripe_bytes does not apply: each rank has one rail", place.of(NODE, "stripe_bytes"),
            'add rail_use = { value = "striped", source = ... }, or leave stripe_bytes out',
        )  # fmt: skip


def _text(parameter: Parameter, value: float) -> str:
    def digits(number: float) -> str:
        return f"{number:.6g}"

    if parameter.unit == "s":
        return f"us = {digits(value * 1e6)}"
    if parameter.unit == "s/B":
        return f"GBps = {digits(1e-9 / value)}" if value > 0 else "s_per_byte = 0"
    if parameter.unit == "word":
        return f'value = "{WORDS[parameter.name][int(value)]}"'
    return f"{next(iter(UNITS[parameter.unit]))} = {digits(value)}"


def format_platform(platform: Platform) -> str:
    """Return a platform as the text of a file; only parameters that have a source are written."""
    out = [f'schema = "{SCHEMA}"', f"version = {VERSION}", f"name = {_quoted(platform.name)}"]
    out += [f"description = {_quoted(platform.description)}"]

    def lines(among: Mapping[str, Parameter], prefix: str, holder: object) -> list[str]:
        found = []
        for key, parameter in among.items():
            source = platform.sources.get(prefix + key)
            if source is not None:
                value = _text(parameter, float(getattr(holder, key)))
                found.append(f"{key} = {{ {value}, source = {_quoted(source)} }}")
        return found

    for group, members in GROUPS.items():
        bodies = [lines(parameters("level"), f"{m}.", platform.levels[m]) for m in members]
        if all(b == bodies[0] for b in bodies):
            out += ["", f"[{group}]", *bodies[0]]
            continue
        for member, body in zip(members, bodies, strict=True):
            out += ["", f"[{member}]", *body]
    out += ["", f"[{NODE}]", *lines(parameters("platform"), "", platform)]
    return "\n".join(out) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def write_platform(platform: Platform, path: Path) -> None:
    write_atomic(path, format_platform(platform), "the platform file")

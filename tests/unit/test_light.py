"""`stretto run` loads little, and what it has instead of `dataclasses` passes for one."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import pickle
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from processes import executable, run_program
from stretto import light
from stretto.cli import app, main
from stretto.files.identity import cpu_model, this_cpu
from stretto.files.schema import decode, encode
from stretto.paths import Quick
from stretto.version import __version__


@light.dataclass(frozen=True)
class Point:
    """Two numbers."""

    x: int
    y: int = 2
    names: dict[str, str] = light.field(default_factory=dict)

    @property
    def both(self) -> int:
        return self.x + self.y


@dataclasses.dataclass(frozen=True)
class Model:
    x: int
    y: int = 2
    names: dict[str, str] = dataclasses.field(default_factory=dict)


class Child(Point):
    pass


def test_light_dataclass_of_any_values_equals_the_librarys() -> None:
    for values, named in (
        ((1,), {}),
        ((1, 3), {}),
        ((), {"y": 4, "x": 5}),
        ((1, 2, {"a": "b"}), {}),
    ):
        mine, model = Point(*values, **named), Model(*values, **named)  # type: ignore[arg-type]
        assert dataclasses.asdict(mine) == dataclasses.asdict(model) == encode(mine)
        assert repr(mine) == repr(model).replace("Model", "Point")
        assert mine == Point(*values, **named) and mine != model  # type: ignore[arg-type]
        assert copy.deepcopy(mine) == pickle.loads(pickle.dumps(mine)) == mine
        assert light.replace(mine, y=9) == dataclasses.replace(mine, y=9) != mine
        assert decode(Point, encode(mine), "x") == mine
    assert Point(1).names is not Point(1).names and Point(1).both == 3
    assert [f.name for f in dataclasses.fields(Point)] == ["x", "y", "names"]
    assert Child(1) == Child(1) != Point(1) and light.replace(Child(1), y=1) == Child(1, 1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(1))


@pytest.mark.parametrize(
    ("values", "named", "words"),
    [
        ((), {}, "'x'"),
        ((1, 2, {}, 4), {}, "4 arguments"),
        ((1,), {"x": 1}, "'x'"),
        ((1,), {"z": 1}, "'z'"),
    ],
)
def test_light_dataclass_of_wrong_arguments_is_refused(
    values: tuple[int, ...], named: dict[str, int], words: str
) -> None:
    for kind in (Point, Model):
        with pytest.raises(TypeError) as caught:
            kind(*values, **named)  # type: ignore[arg-type]
        assert kind is Model or words in str(caught.value)


def test_light_dataclass_keeps_its_values() -> None:
    for change in (lambda p: setattr(p, "x", 2), lambda p: delattr(p, "x")):
        with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
            change(Point(1))


def test_light_module_is_loaded_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    later = light.later("json")
    assert later.dumps is json.dumps
    monkeypatch.setattr(json, "dumps", "patched")
    assert later.dumps == "patched"


#: all that may be loaded before the job starts, beside what the interpreter loads by itself
LIBRARY = {"__future__", "errno"}
OURS = {
    "stretto", "stretto.cli", "stretto.cli.apply", "stretto.cli.start", "stretto.counted",
    "stretto.errors", "stretto.files", "stretto.files.identity", "stretto.files.locate",
    "stretto.files.regular", "stretto.files.rows", "stretto.files.trust", "stretto.home",
    "stretto.launch",
    "stretto.launch.command", "stretto.launch.inject", "stretto.launch.job",
    "stretto.launch.layout", "stretto.launch.naming", "stretto.launch.options",
    "stretto.launch.reach", "stretto.launch.tools", "stretto.light", "stretto.mpi",
    "stretto.mpi.base", "stretto.mpi.detect", "stretto.mpi.elf", "stretto.mpi.intel",
    "stretto.mpi.library", "stretto.mpi.mpich", "stretto.mpi.openmpi", "stretto.output",
    "stretto.paths", "stretto.signals", "stretto.version",
}  # fmt: skip
#: prints, in place of becoming the job, what was loaded, and how many processes were started
WATCHED = """
import os, sys
before, started = set(sys.modules), []
def heard(event, given):
    if event in ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"):
        started.append(event)
def ended(*given):
    loaded = sorted(set(sys.modules) - before)
    print(len(started), *loaded)
    sys.stdout.flush()
    os._exit(0)
sys.addaudithook(heard)
os.execvpe = ended
from stretto.cli import main
sys.exit(main(sys.argv[1:]))
"""


#: and to bring a table to the ranks
OURS_TO_APPLY = {"stretto.built", "stretto.launch.library"}
TABLE = """\
stretto-table 1
mpi openmpi 4.1.4
layout nodes=1 ppn=2
created 2026-11-28T00:00:00Z stretto 0.1.0 host x cpu "unknown"
row bcast 1 2 0-inf shm ratio=0.5
end 1
"""


def make_launcher(directory: Path) -> dict[str, str]:
    """Make an mpirun that shows what its process ignores, and return an environment for it."""
    executable(
        directory / "mpirun",
        "#!/bin/sh\n[ $1 = --version ] && exec echo 'mpirun (Open MPI) 4.1.4'\n"
        "exec grep SigIgn /proc/self/status\n",
    )
    environ = {"PATH": f"{directory}:/usr/bin:/bin", "HOME": str(directory)}
    return environ | {"XDG_CACHE_HOME": str(directory / "cache")}


@pytest.mark.parametrize(
    ("how", "disable", "words", "more"),
    [
        ([], "", "no table for Open MPI 4.1.4", set()),
        (["--verbose"], "0", "no table for Open MPI 4.1.4", set()),
        (["--table", "x"], "0", "with table x (openmpi 4.1.4, 1 node x 2 ranks)", OURS_TO_APPLY),
        (["--table", "x"], "1", "stretto: STRETTO_DISABLE=1: nothing is changed", set()),
    ],
)
def test_run_loads_and_starts_nothing_that_it_does_not_need(
    how: list[str], disable: str, words: str, more: set[str], tmp_path: Path
) -> None:
    """`stretto run` stands before every start of a job: what it loads is what it costs."""
    (tmp_path / "x").write_text(TABLE)
    (tmp_path / "libstretto-openmpi.so").touch()
    environ = make_launcher(tmp_path) | {"STRETTO_LIB_DIR": str(tmp_path)}
    environ["STRETTO_DISABLE"] = disable
    counts, loaded = [], set()
    for _ in range(2):  # the second time the cache knows launcher and table
        done = run_program(
            [sys.executable, "-c", WATCHED, "run", *how, "--", "mpirun", "-n", "2", "true"],
            env=environ,
            cwd=tmp_path,
        )
        assert done.returncode == 0 and words in done.stderr, done.stderr
        number, *names = done.stdout.split()
        counts.append(int(number))
        loaded = set(names)
    assert counts == [1, 0]
    assert loaded - LIBRARY == OURS | more


def test_run_command_does_not_ignore_what_python_ignores(tmp_path: Path) -> None:
    environ = make_launcher(tmp_path)
    done = run_program(
        [sys.executable, "-m", "stretto", "run", "--", "mpirun", "-n", "2", "true"],
        env=environ,
        cwd=tmp_path,
    )
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1), done.stderr


def test_version_loads_no_typer() -> None:
    program = "import sys; from stretto.cli import main; main(['--version']); print(*sys.modules)"
    done = run_program([sys.executable, "-c", program], check=True)
    first, second = done.stdout.splitlines()
    assert first == f"stretto {__version__}"
    assert not {"typer", "pathlib", "re"} & set(second.split()) - set(sys.builtin_module_names)


#: all of Stretto that parsers and completion need, beside the modules of commands
OURS_TO_PARSE = {
    "stretto", "stretto.built", "stretto.cli", "stretto.counted", "stretto.errors", "stretto.files",
    "stretto.files.document", "stretto.files.export", "stretto.files.identity",
    "stretto.files.io", "stretto.files.layout", "stretto.files.parse", "stretto.files.regular",
    "stretto.files.rows", "stretto.files.schema", "stretto.files.table", "stretto.kinds",
    "stretto.light", "stretto.output", "stretto.paths", "stretto.plan", "stretto.progress",
    "stretto.signals", "stretto.version",
}  # fmt: skip
#: and names of platforms
PLATFORMS = {
    "stretto.files.toml", "stretto.home", "stretto.model",
    "stretto.model.platform", "stretto.model.platform_file",
}  # fmt: skip
#: prints the --help of commands, one after another, and then what was loaded
HELPS = """
import sys
from stretto.cli import app
for words in sys.argv[1:]:
    app.run(words.split(), True)
print(*sys.modules)
"""


def check_loaded(names: str, more: set[str]) -> None:
    loaded = set(names.split())
    ours = {n for n in loaded if n.startswith("stretto") and not n.startswith("stretto.cli.")}
    assert ours <= OURS_TO_PARSE | more
    assert not {"numpy", "scipy", "xarray", "altair", "rich"} & loaded


def test_help_of_commands_loads_their_parsers_only(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--help"]
    for name, _ in app.COMMANDS:
        command: Any = typer.main.get_command(app.build_app(name))
        below = getattr(command.commands[name], "commands", {})
        asked += [f"{name} --help", *(f"{name} {inner} --help" for inner in below)]
    for words in asked:
        assert main(words.split()) == 0
    done = run_program([sys.executable, "-c", HELPS, *asked], check=True)
    text, _, loaded = done.stdout.rstrip().rpartition("\n")
    assert text.rstrip() == capsys.readouterr().out.rstrip()
    check_loaded(loaded, set())


@pytest.mark.parametrize(
    ("typed", "offered", "more"),
    [
        ("tune --coll", "--collective", set()),
        ("bench --candidates sh", "shm", set()),
        ("simulate --platform hpc7", "hpc7g", PLATFORMS),
    ],
)
def test_completion_of_a_word_loads_no_more_than_its_values_need(
    typed: str, offered: str, more: set[str]
) -> None:
    program = "import sys; from stretto.cli import app; app.run(sys.argv[1:], True)"
    done = run_program(
        [
            sys.executable,
            "-c",
            f"{program}; print(*sys.modules)",
            "completion",
            "bash",
            "--",
            *typed.split(),
        ],
        check=True,
    )
    *found, loaded = done.stdout.splitlines()
    assert offered in found
    check_loaded(loaded, more)


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        (["run", "--", "mpirun", "-n", "2", "a"], True),
        (["run", "--", "a", "--", "b"], True),
        (["run", "--", "a", "--table", "b"], True),
        (["run", "--", "-n"], True),
        (["run", "--"], True),
        (["run", "--", "a", ""], True),
        (["run", "--table", "x/../y", "--verbose", "--mpi", "mpich", "--", "a"], True),
        (["run", "-v", "--settings", "", "--choice", "bcast=shm", "--table", "z", "--", "a"], True),
        (["run", "--table", "x", "--table", "y", "--", "a"], True),
        (["run", "--table=x", "--", "a"], False),
        (["run", "--table", "x", "a", "--", "b"], False),
        (["run", "a", "b"], False),
        (["learn", "--", "a"], True),
        (["learn", "--table", "x", "-v", "--", "a"], True),
        (["learn", "--reproducible", "--out", "x", "--", "a"], False),
    ],
)
def test_run_is_read_the_same_with_and_without_typer(
    typed: list[str], plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(light, "starting", False)
    from stretto.cli import start

    calls: list[dict[str, object]] = []
    signature = inspect.signature(start.start)

    def record(*given: object, **named: object) -> None:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        for name in ("table", "settings"):
            value = bound.arguments[name]
            bound.arguments[name] = None if value is None else Path(value)
        calls.append(bound.arguments)

    monkeypatch.setattr(start, "start", record)
    assert main(typed) == 0
    assert light.starting == plain
    app.run(typed)
    assert calls[0] == calls[1]


PATHS = (
    "", ".", "/", "//", "///", "a", "a/", "./a", "a//b", "a/./b/..", "/a", "/a/b.c", "//a/b",
    "..", "/..", ".a", "a.", "a.b.c", "/usr/bin/mpirun.openmpi", "a b", "x\udce9y",
)  # fmt: skip


@pytest.mark.parametrize("text", PATHS)
def test_quick_path_equals_a_path(text: str) -> None:
    mine, model = Quick(text), Path(text)
    for name in ("name", "suffix", "stem", "parent", "parents", "parts"):
        got, wanted = getattr(mine, name), getattr(model, name)
        same = [str(p) for p in got] == [str(p) for p in wanted] if name[-1] == "s" else False
        assert same or str(got) == str(wanted), name
    for name in ("is_absolute", "as_posix", "absolute", "resolve", "__str__"):
        assert str(getattr(mine, name)()) == str(getattr(model, name)()), name
    for other in PATHS:
        assert str(mine / other) == str(model / other) == str(mine / Quick(other))
        assert str(other / mine) == str(other / model) == str(Path(other) / mine)
    assert Path(mine) == model and hash(mine) == hash(Quick(text))


def test_quick_path_of_files_equals_a_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text\n")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    for name in (".", "file", "link", "broken", "loop", "none", "file/x", "nu\0ll", "x" * 300):
        mine, model = Quick(tmp_path / name), tmp_path / name
        for method in ("exists", "is_file", "is_dir", "is_symlink", "lstat", "stat", "readlink"):
            got: list[object] = []
            for path in (mine, model):
                try:
                    got.append(getattr(path, method)())
                except (OSError, ValueError) as error:
                    got.append(type(error))
            assert str(got[0]) == str(got[1]), (name, method)
    assert Quick(tmp_path, "file").read_text(encoding="utf-8") == "text\n"
    with Quick(tmp_path, "link").open("rb") as stream:
        assert stream.read() == b"text\n"
    Quick(tmp_path, "a/b").mkdir(parents=True)
    Quick(tmp_path, "file").replace(tmp_path / "a" / "b" / "moved")
    assert [p.name for p in Quick(tmp_path, "a").rglob("*")] == ["b", "moved"]
    assert str(Quick.cwd()) == str(Path.cwd()) and str(Quick.home()) == str(Path.home())


def test_cached_function_is_asked_once_for_an_argument() -> None:
    asked: list[int] = []

    @light.cache
    def times(number: int, factor: int = 2) -> int:
        asked.append(number)
        return factor * number

    assert [times(2), times(3), times(2), times(2, factor=3), times(2, factor=3)] == [4, 6, 4, 6, 6]
    assert asked == [2, 3, 2]


X86 = "processor\t: {0}\nmodel name\t: AMD EPYC\ncpu family\t: 25\nmodel\t\t: 17\n\n"
ARM = "processor\t: {0}\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n\n"


@pytest.mark.parametrize(
    "text",
    [
        "".join(map(X86.format, range(4))),
        "".join(map(ARM.format, range(4))),
        "".join(map(ARM.format, range(4))) + "Model\t: Board 4\n",
        "processor\t: 0\nmodel name\t: AMD EPYC",
        "",
    ],
)
def test_cpu_of_the_first_processor_is_that_of_all(text: str, tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cpuinfo").write_text(text)
    assert this_cpu(tmp_path) == cpu_model(text)


def test_suppressed_errors_are_those_named() -> None:
    with light.suppress(OSError, KeyError):
        {}["x"]
    with pytest.raises(ValueError, match="invalid"), light.suppress(OSError):
        int("x")

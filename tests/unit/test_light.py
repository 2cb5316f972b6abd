"""`stretto run` loads little, and what it has instead of `dataclasses` passes for one."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from stretto import light
from stretto.cli import main
from stretto.files.schema import decode, encode


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


#: each takes as long to load as many modules of Stretto
SLOW = ("dataclasses", "inspect", "typing", "json", "subprocess", "threading", "typer", "numpy")


def test_run_loads_nothing_slow(tmp_path: Path) -> None:
    """`stretto run` stands before every start of a job: what it loads is what it costs."""
    program = (
        "import os, sys\n"
        "def ended(*given): print(*sorted(set(sys.modules) & set(sys.argv[1].split(',')))); "
        "sys.stdout.flush(); os._exit(0)\n"
        "os.execvpe = ended\n"
        "from stretto.cli import main\n"
        "print(main(['run', '--', 'mpirun', '-n', '2', 'true']))\n"
    )
    launcher = tmp_path / "mpirun"
    launcher.write_text("#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\n")
    launcher.chmod(0o755)
    (tmp_path / "libmpi.so.40").write_text("")
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environ |= {"HOME": str(tmp_path)}
    for _ in range(2):  # the second time the cache knows the launcher
        done = subprocess.run(
            [sys.executable, "-c", program, ",".join(SLOW)],
            env=environ, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.stdout.strip() == "", done.stderr


@pytest.mark.parametrize(
    "words",
    [["mpirun", "-n", "2", "a"], ["a", "--", "b"], ["a", "--table", "b"], ["-n"], [], ["a", ""]],
)
def test_run_without_options_is_the_same_with_and_without_typer(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from stretto.cli import app, start

    calls: list[inspect.BoundArguments] = []
    signature = inspect.signature(start.start)

    def record(*given: object) -> None:
        calls.append(signature.bind(*given))
        calls[-1].apply_defaults()

    monkeypatch.setattr(start, "start", record)
    assert main(["run", "--", *words]) == 0
    app.run(["run", "--", *words])
    assert calls[0].arguments == calls[1].arguments
    assert calls[0].arguments["words"] == words

"""What stands between Stretto and the ranks, and drops its variables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from processes import run_program
from stretto.errors import StrettoError
from stretto.launch.inject import prepare
from stretto.launch.reach import Obstacle, dropping, obstacles
from test_launch_variables import CHOICE, LIB, job


def test_what_drops_variables_is_named(tmp_path: Path) -> None:
    cases = {
        "env -i A=1": "env -i",
        "env A=1 - B=1": "env -",
        "numactl -m 0 env -u HOME -vi": "env -vi",
        "env --ignore-environment": "env --ignore-environment",
        "env -u LD_PRELOAD": "env -u LD_PRELOAD",
        "env -uLD_PRELOAD": "env -uLD_PRELOAD",
        "env --unset=LD_PRELOAD": "env --unset=LD_PRELOAD",
        "timeout 3 sudo -u me": "sudo",
        "env -u HOME A=-i": None,
        "stdbuf -i 0": None,
        "numactl -i all": None,
    }
    for line, words in cases.items():
        assert dropping(line.split()) == words, line
    between = {
        "mpirun -n 2 ./a : -n 1 env -i ./a": [Obstacle("env -i", certain=True)],
        "mpirun -n 2 ssh host ./a": [Obstacle("ssh", certain=True)],
        "mpirun -n 2 /usr/bin/apptainer exec x.sif ./a": [Obstacle("apptainer", certain=False)],
        "env -i mpirun -n 2 ./a": [],
        "mpirun -n 2 ./a env -i ssh": [],
    }
    for line, expected in between.items():
        assert obstacles(job(tmp_path, "openmpi4", line).command) == expected, line
    slurm = job(tmp_path, "slurm", "srun --container-image=x.sqsh -n 2 ./a").command
    assert obstacles(slurm) == [Obstacle("--container-image", certain=False)]


@pytest.mark.parametrize("line", ["mpirun -n 2 env -i ./a", "docker run image ./a"])
def test_run_where_variables_are_dropped_is_refused(tmp_path: Path, line: str) -> None:
    made = job(tmp_path, "openmpi4", line)
    with pytest.raises(StrettoError, match="removes LD_PRELOAD"):
        prepare(made, [LIB], CHOICE)
    assert prepare(made, [])[0] == line.split()  # nothing to bring


def test_run_behind_env_i_before_the_launcher_sets_variables_again(tmp_path: Path) -> None:
    show = tmp_path / "show.sh"
    show.write_text('echo "$LD_PRELOAD|$STRETTO_CHOICE|$HOME"\n')
    for line in ("env -i /bin/sh ./show.sh", "sudo /bin/sh ./show.sh"):
        words, environ = prepare(job(tmp_path, "mpich", line), [LIB], CHOICE)
        if words[0] == "sudo":
            assert words[1] == "env" and f"LD_PRELOAD={LIB}" in words
            continue
        done = run_program(words, env=environ, cwd=tmp_path)
        assert done.stdout == f"{LIB}|allreduce=shm bcast=shm|\n"


def test_options_for_address_sanitizer_keep_the_users(tmp_path: Path) -> None:
    option = "verify_asan_link_order=0"
    cases: list[tuple[str, str, dict[str, str], str]] = [
        ("openmpi4", "mpirun -n 2 a", {}, option),
        ("openmpi4", "mpirun -n 2 a", {"ASAN_OPTIONS": "b=1"}, f"b=1:{option}"),
        ("openmpi4", "mpirun -x ASAN_OPTIONS=b=1 a", {}, f"ASAN_OPTIONS=b=1:{option}"),
        ("openmpi5", "mpirun -x ASAN_OPTIONS a", {"ASAN_OPTIONS": "c"}, f"ASAN_OPTIONS=c:{option}"),
        ("mpich", "mpirun -genv ASAN_OPTIONS b=1 a", {}, f"-genv ASAN_OPTIONS b=1:{option}"),
        ("slurm", "srun -n 2 env ASAN_OPTIONS=b=1 a", {}, f"env ASAN_OPTIONS=b=1:{option}"),
        ("mpich", "env ASAN_OPTIONS=b=1 mpirun a", {}, f"env ASAN_OPTIONS=b=1:{option}"),
    ]
    for kind, line, environ, expected in cases:
        made = replace(job(tmp_path, kind, line, **environ), sanitized=True)
        words, env = prepare(made, [LIB], CHOICE)
        there = f"{' '.join(words)} {' '.join(env.values())}"
        assert expected in there, line
        assert option not in str(prepare(replace(made, sanitized=False), [LIB], CHOICE)), line
        assert option not in str(prepare(made, [])), line

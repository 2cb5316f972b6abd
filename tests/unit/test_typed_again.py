"""Commands that are suggested keep the input that the shell opened for the one that was typed."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from processes import run_program

CODE = "import sys; from stretto.launch.typed import typed; print(typed(sys.argv[1:]), end='')"


@pytest.mark.parametrize(
    ("shell", "expected"),
    [
        ("{} mpirun -n 2 pw.x < in.txt", "mpirun -n 2 pw.x < in.txt"),
        ("{} ./a 'b c' < 'my input'", "./a 'b c' < 'my input'"),
        ("cd sub && {} ./a < ../in.txt", "./a < {where}/in.txt"),
        ("{} bash -c './a < in.txt > out'", "bash -c './a < in.txt > out'"),
        ("{} ./a < /dev/null", "./a"),
        ("cat in.txt | {} ./a", "./a"),
        ("{} ./a <&-", "./a"),
        ("{} ./a 0<gone.txt", "./a"),
    ],
)
def test_suggested_commands_keep_the_input(shell: str, expected: str, tmp_path: Path) -> None:
    where = tmp_path.resolve()
    (where / "sub").mkdir()
    for name in ("in.txt", "my input", "gone.txt"):
        (where / name).write_text("x")
    program = shlex.join([sys.executable, "-c", CODE])
    if "gone" in shell:
        program = f"rm gone.txt; {program}"
        shell = shell.replace("{} ./a 0<gone.txt", "{{ {} ./a; }} 0<gone.txt")
    done = run_program(
        shell.format(program), shell=True, cwd=where, env=dict(os.environ), check=True
    )
    assert done.stdout == expected.format(where=where)

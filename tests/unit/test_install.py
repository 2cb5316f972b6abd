"""What a packager does: a source archive, and an installation into a package's tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
VERIFY = ("plan", "verify", "allreduce", "ring", "-n", "8")

pytestmark = pytest.mark.long


def run(*words: str | Path, **more: str) -> str:
    environ = {n: v for n, v in os.environ.items() if not n.startswith(("STRETTO_", "PYTHON"))}
    done = subprocess.run(
        [*map(str, words)], cwd=REPOSITORY, env=environ | more, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source archive, and a wheel from that alone."""
    out = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "-o", out)
    (archive,) = out.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(out, filter="data")
    (tree,) = (d for d in out.iterdir() if d.is_dir())
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    pip = (sys.executable, "-m", "pip", "-q", "wheel", "--no-deps", "--no-build-isolation")
    run(*pip, "-w", out, tree, PATH=path)
    (built,) = out.glob("*.whl")
    return built


def test_wheel_of_the_source_archive_is_small_and_works(wheel: Path, tmp_path: Path) -> None:
    assert wheel.stat().st_size < 10e6
    venv.create(tmp_path / "v", with_pip=True)
    python = tmp_path / "v" / "bin" / "python"
    run(python, "-m", "pip", "-q", "--disable-pip-version-check", "install", wheel)
    assert "all proven" in run(python, "-m", "stretto", *VERIFY)


def test_install_script_into_a_packages_tree_leaves_no_path_of_the_build(
    wheel: Path, tmp_path: Path
) -> None:
    prefix, destdir = tmp_path / "opt", tmp_path / "tree"
    more = {"PREFIX": str(prefix), "DESTDIR": str(destdir), "EXTRAS": "", "WHEEL": str(wheel)}
    run("bash", "tools/install.sh", PYTHON=sys.executable, **more)
    shutil.move(str(destdir) + str(prefix), prefix)
    assert "all proven" in run(prefix / "bin" / "stretto", *VERIFY)
    share = prefix / "share"
    assert (share / "man/man1/stretto-tune.1.gz").is_file()
    found = [p for p in [*share.rglob("*"), *(prefix / "lib/stretto/bin").iterdir()] if p.is_file()]
    assert found and not [p for p in found if str(destdir).encode() in p.read_bytes()]
    assert f'"{prefix}/bin"' in (next(share.glob("modulefiles/stretto/*.lua"))).read_text()

"""Which MPI it is: words of launchers and libraries, ELF files, the loader's search."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processes import executable
from stretto import mpi
from stretto.errors import StrettoError
from stretto.kinds import Binding
from stretto.launch.job import understand
from stretto.mpi import detect
from stretto.mpi import library as asking
from stretto.mpi.elf import find_needed, read_dynamic
from test_launch_variables import made


@pytest.mark.parametrize(
    ("text", "family", "version"),
    [
        ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "openmpi", "4.1.4"),
        ("Open MPI v5.0.11rc1, package: x", "openmpi", "5.0.11rc1"),
        ("MPICH Version:      5.0.2\nMPICH Release date: x", "mpich", "5.0.2"),
        ("Intel(R) MPI Library 2021.18.1 for Linux* OS\n\n", "intel", "2021.18.1"),
        ("MVAPICH Version      :       4.0\nMVAPICH Release", "mpich", "4.0"),
        ("MPI VERSION    : CRAY MPICH version 8.1.29 (ANL base 3.4a2)", "mpich", "8.1.29"),
    ],
)
def test_library_versions(text: str, family: str, version: str) -> None:
    found = asking.parse_library_version(text, None, "x")
    assert (found.family, found.version) == (family, version)
    assert found.abi == ("openmpi" if family == "openmpi" else "mpich")


def test_unknown_library() -> None:
    with pytest.raises(StrettoError, match="LAM/MPI"):
        asking.parse_library_version("LAM/MPI 7.1", None, "x")
    with pytest.raises(StrettoError, match="no version text"):
        asking.parse_library_version("", None, "x")


@pytest.mark.parametrize(
    ("name", "abi"),
    [
        ("libmpi.so.40", "openmpi"),
        ("libmpi.so.40.30.4", "openmpi"),
        ("libmpi.so.12", "mpich"),
        ("libmpich.so.12", "mpich"),
        ("libmpi_abi.so.1", "mpi5"),
        ("libmpi_cray.so.12", "mpich"),
        ("libmpi.so", None),
        ("libmpi.so.20", None),
    ],
)
def test_abi_of_names(name: str, abi: str | None) -> None:
    assert asking.abi_of_name(name) == abi


@given(data=st.data())
def test_damaged_elf(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    original = Path(shutil.which("ls") or "/bin/ls").read_bytes()[:6000]
    raw = bytearray(original[: data.draw(st.integers(0, len(original)))])
    for _ in range(data.draw(st.integers(0, 4))):
        if raw:
            raw[data.draw(st.integers(0, min(700, len(raw)) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("elf") / "f"
    path.write_bytes(bytes(raw))
    read_dynamic(path)  # no exception


def build(folder: Path, name: str, needs: list[Path], *options: str) -> Path:
    """Build a library (or, by its name, a program) that needs others."""
    source = folder / "s.c"
    source.write_text("int main(void) { return 0; }\n")
    out = folder / name
    kind = ["-shared", "-fPIC", f"-Wl,-soname,{name}"] if ".so" in name else []
    argv = ["cc", *kind, str(source), "-o", str(out), "-Wl,--no-as-needed", *map(str, needs)]
    subprocess.run([*argv, "-Wl,--allow-shlib-undefined", *options], check=True)
    return out


def test_search_follows_the_loader(tmp_path: Path) -> None:
    """Through a library in between; by RUNPATH with $ORIGIN, RPATH, LD_LIBRARY_PATH."""
    for name in ("mpi", "between", "bin", "other"):
        (tmp_path / name).mkdir()
    libmpi = build(tmp_path / "mpi", "libmpi.so.40", [])
    between = build(tmp_path / "between", "libbetween.so", [libmpi], "-Wl,-rpath,$ORIGIN/../mpi")
    direct = build(tmp_path / "bin", "direct", [libmpi])
    program = build(tmp_path / "bin", "app", [between], "-Wl,-rpath,$ORIGIN/../between")
    (found,) = find_needed(program, ("libmpi.so",), {})
    assert found.path is not None and found.path.resolve() == libmpi
    (lost,) = find_needed(direct, ("libmpi.so",), {})
    if lost.path is not None:  # the distribution's Open MPI
        assert not lost.path.is_relative_to(tmp_path)
    shutil.copy(libmpi, tmp_path / "other")
    env = {"LD_LIBRARY_PATH": f"{tmp_path / 'other'}"}
    (found,) = find_needed(direct, ("libmpi.so",), env)
    assert found.path == tmp_path / "other" / "libmpi.so.40"
    # LD_LIBRARY_PATH wins over RUNPATH, and not over RPATH
    old = build(
        tmp_path / "bin", "old", [libmpi], f"-Wl,-rpath,{tmp_path}/mpi", "-Wl,--disable-new-dtags"
    )
    new = build(
        tmp_path / "bin", "new", [libmpi], f"-Wl,-rpath,{tmp_path}/mpi", "-Wl,--enable-new-dtags"
    )
    paths = [find_needed(p, ("libmpi.so",), env)[0].path for p in (old, new)]
    assert paths == [libmpi, tmp_path / "other" / "libmpi.so.40"]


def test_no_mpi_in_ls() -> None:
    assert detect.needed_mpi(Path("/bin/ls"), os.environ) is None
    with pytest.raises(StrettoError, match="ls uses no MPI library, and no launcher prec") as error:
        understand(["ls"])
    assert "put mpirun or srun before it" in str(error.value.remedy)
    assert "add --mpi" in str(error.value.remedy)


def test_ranks_that_do_not_divide_find_slots_on_all_hosts() -> None:
    """Rounded down, five ranks on two hosts would find four slots."""
    found = made("openmpi5")
    options = found.launch_options(5, None, ("n1", "n2"), "core")
    assert options == ["-n", "5", "--host", "n1:3,n2:3", "--bind-to", "core"]
    assert "n1:4,n2:4" in found.launch_options(5, 4, ("n1", "n2"), "default")


def test_intel_binds_each_rank_to_a_core_or_to_none() -> None:
    found = made("intel")
    where = ["-hosts", "n1,n2", "-ppn", "2", "-n", "4"]
    pins = {bind: found.launch_options(4, 2, ("n1", "n2"), bind) for bind in get_args(Binding)}
    assert pins["core"] == [
        "-genv", "I_MPI_PIN", "1", "-genv", "I_MPI_PIN_DOMAIN", "core", *where
    ]  # fmt: skip
    assert pins["none"] == ["-genv", "I_MPI_PIN", "0", *where] and pins["default"] == where


def test_intel_on_the_other_nodes_of_a_slurm_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mpiexec.hydra uses ssh by default; its mpirun sets the bootstrap."""
    for variable in ("SLURM_JOB_ID", "I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC"):
        monkeypatch.delenv(variable, raising=False)
    found = made("intel")

    def bootstrap() -> str | None:
        return found.launch(2, ["a"], ppn=1, hosts=("n1", "n2"))[1].get("I_MPI_HYDRA_BOOTSTRAP")

    assert bootstrap() is None
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert bootstrap() == "slurm"
    assert found.environment() == {}, "a user's own command keeps its way"
    monkeypatch.setenv("I_MPI_HYDRA_BOOTSTRAP", "ssh")
    assert bootstrap() == "ssh"
    monkeypatch.delenv("I_MPI_HYDRA_BOOTSTRAP")
    monkeypatch.setenv("I_MPI_HYDRA_BOOTSTRAP_EXEC", "/site/agent")
    assert bootstrap() is None


def test_no_such_mpi() -> None:
    with pytest.raises(StrettoError, match="there is no MPI 'lam'"):
        mpi.find_installation("lam")
    with pytest.raises(StrettoError, match="no Intel MPI is installed") as caught:
        mpi.find_installation("intel", {"PATH": "/nonexistent"})
    remedy = str(caught.value.remedy)
    assert "stretto[intel]" in remedy and "--mpi PREFIX" in remedy and "openmpi" not in remedy


def test_broken_library(tmp_path: Path) -> None:
    path = tmp_path / "libmpi.so.40"
    path.write_bytes(b"\x7fELF not really")
    with pytest.raises(StrettoError, match="could not be loaded"):
        asking.identify_library(path)


def test_library_of_a_development_build(tmp_path: Path) -> None:
    source = tmp_path / "stand_in.c"
    source.write_text(
        "#include <string.h>\n"
        "int MPI_Get_library_version(char *text, int *length) {\n"
        '    strcpy(text, "Open MPI v6.1.0a1, package: stand-in");\n'
        "    *length = (int)strlen(text);\n"
        "    return 0;\n"
        "}\n"
    )
    for name, works in (("libmpi.so.0.0.0", False), ("libmpi.so.40.0.0", True)):
        real = tmp_path / name
        subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(real)], check=True)
        link = tmp_path / "libmpi.so"
        link.unlink(missing_ok=True)
        link.symlink_to(real)
        if works:
            assert asking.identify_library(link).version == "6.1.0a1"
            continue
        with pytest.raises(StrettoError, match=r"is libmpi.so.0.0.0; Stretto supports") as caught:
            asking.identify_library(link)
        assert "libmpi_so_version" in str(caught.value.remedy)


def test_answers_are_kept_until_the_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    script = tmp_path / "mpirun"
    count = tmp_path / "count"
    executable(script, f"#!/bin/sh\necho x >> {count}\necho 'mpirun (Open MPI) 4.1.4'\n")
    for _ in range(3):
        assert mpi.identify_launcher(script).version == "4.1.4"
    assert count.read_text().count("x") == 1
    script.write_text(script.read_text().replace("4.1.4", "5.0.11"))
    assert mpi.identify_launcher(script).version == "5.0.11"
    for file in (tmp_path / "cache").rglob("*.txt"):
        file.write_text("{ broken")
    assert mpi.identify_launcher(script).version == "5.0.11"

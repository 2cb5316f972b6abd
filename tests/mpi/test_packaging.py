"""What is installed: a build from nothing but a C compiler, a package's tree, and the wheels."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from mpis import REPOSITORY, have, missing
from processes import run_program

FAMILIES = ("openmpi", "mpich", "mpi5")
EXPECTED = {f"libstretto-{f}.so" for f in FAMILIES}
EXPECTED |= {f"libstretto-record-{f}.so" for f in FAMILIES}
PROGRAMS = {f"stretto-{p}-{f}" for p in ("bench", "p2p", "io") for f in FAMILIES}
PROGRAMS |= {"stretto-net", "stretto-cores"}
EXPECTED |= PROGRAMS
EXPECTED |= {"libstretto-openmpi5.so", "libstretto-record-openmpi4.so", "libstretto-plan.so"}

#: what a library inside somebody's application may bring along: the C library, nothing else
ALLOWED = re.compile(r"(libc|libm|libpthread|libdl|librt|ld-linux-[a-z0-9-]+)\.so\.\d+$")

#: what pip says where it got no answer: of the build nothing is known then
NETWORK = re.compile(
    r"connection (broken|aborted|reset)|timed out|max retries|HTTP error|Could not find a version"
    r"|NewConnectionError|ProtocolError|IncompleteRead|SSLError",
    re.IGNORECASE,
)


def dynamic(path: Path) -> tuple[str, list[str], set[str]]:
    """Return an ELF file's machine, the libraries it needs, and the symbols it exports."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        needed: list[str] = []
        exported: set[str] = set()
        for section in elf.iter_sections():
            if isinstance(section, DynamicSection):
                needed += [t.needed for t in section.iter_tags() if t.entry.d_tag == "DT_NEEDED"]
            if isinstance(section, SymbolTableSection) and section.name == ".dynsym":
                for symbol in section.iter_symbols():
                    if symbol.name and symbol["st_shndx"] != "SHN_UNDEF":
                        exported.add(symbol.name)
        return str(elf["e_machine"]), needed, exported


def undefined(path: Path) -> set[str]:
    with path.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".dynsym")
        return {s.name for s in table.iter_symbols() if s.name and s["st_shndx"] == "SHN_UNDEF"}


def check_serial(directory: Path, machine: str) -> None:
    """The MPI for one process: needs the C library only, exports the MPI's names."""
    parts = {"bin/mpicc", "bin/mpicxx", "bin/mpif77", "bin/mpif90", "bin/mpifort"}
    parts |= {"bin/mpiexec", "bin/mpirun", "include/stretto-serial-procedures.h"}
    parts |= {"include/mpi.f90", "include/mpi.h", "include/mpif.h"}
    parts |= {"include/mpi_f08.f90", "include/mpi_f08_types.f90"}
    parts |= {"lib/libstretto-serial.a", "lib/libstretto-serial.so"}
    assert {str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file()} == parts
    found, needed, exported = dynamic(directory / "lib" / "libstretto-serial.so")
    assert found == machine and [n for n in needed if not ALLOWED.match(n)] == []
    assert [s for s in exported if not re.match("MPI_|mpi_|stretto_serial_", s)] == []


#: of libc, which the recorder takes
FILE_CALLS = set(re.findall(r"\w+", (REPOSITORY / "src/record/files_calls.c").read_text()))


def check_libraries(directory: Path, machine: str) -> None:
    names = {path.name for path in directory.iterdir()}
    assert names == EXPECTED | {"serial"}
    check_serial(directory / "serial", machine)
    for path in sorted(directory.glob("*stretto-*")):
        found, needed, exported = dynamic(path)
        assert found == machine, path.name
        assert [n for n in needed if not ALLOWED.match(n)] == [], path.name
        assert [s for s in undefined(path) if s.startswith(("MPI_", "PMPI_", "ompi_"))] == []
        if path.name.startswith("libstretto-") and "plan" not in path.name:
            ours = re.compile(r"P?MPI_|mpi_|MPI[A-Z]|ompi_|MPIX_|stretto_")
            strange = {s for s in exported if not ours.match(s.lower() if s.isupper() else s)}
            assert strange <= (FILE_CALLS if "-record-" in path.name else set()), path.name
            assert "MPI_Init" in exported


def run(*words: str | Path, **more: str) -> str:
    environ = {n: v for n, v in os.environ.items() if not n.startswith(("STRETTO_", "PYTHON"))}
    done = run_program([*map(str, words)], cwd=REPOSITORY, env=environ | more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source archive, and a wheel from that and a C compiler alone.

    The build isolates itself: CMake and Ninja come with it, no MPI, no CMake on the machine.
    """
    out = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "-o", out)
    (archive,) = out.glob("*.tar.gz")
    tools = out / "tools"
    tools.mkdir()
    hidden = re.compile(r"cmake|ctest|ninja|mpi|ompi|opal|orte|prte|pip|python|clang|auditwheel")
    for directory in ("/bin", "/usr/bin"):
        for program in Path(directory).iterdir():
            if not hidden.search(program.name) and not (tools / program.name).is_symlink():
                (tools / program.name).symlink_to(program)
    environment = out / "venv"
    run(sys.executable, "-m", "venv", environment)
    keep = ("PIP_", "HTTP", "http", "SSL", "REQUESTS", "no_proxy", "NO_PROXY", "HOME", "TMP")
    env = {k: v for k, v in os.environ.items() if k.startswith(keep)}
    env |= {"PIP_RETRIES": "10", "PIP_TIMEOUT": "60"}
    env["PATH"] = f"{environment}/bin:{tools}"
    env["SKBUILD_CMAKE_BUILD_TYPE"] = "Debug"  # half the time; what is built for users: test_wheel
    words = [environment / "bin" / "python", "-m", "pip", "-q", "wheel", "--no-deps", "-w", out]
    for _ in range(3):
        done = run_program([*words, archive], env=env)
        if done.returncode == 0 or not NETWORK.search(done.stderr):
            break
    assert done.returncode == 0, done.stderr[-5000:]
    (found,) = out.glob("*.whl")
    return found


VERIFY = ("plan", "verify", "allreduce", "ring", "-n", "8")


@pytest.mark.long
def test_from_the_source_archive_and_a_c_compiler(built: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "v", with_pip=True)
    python = tmp_path / "v" / "bin" / "python"
    run(python, "-m", "pip", "-q", "--disable-pip-version-check", "install", built)
    installed = next((tmp_path / "v/lib").glob("python3*/site-packages/stretto/lib"))
    check_libraries(installed, "EM_AARCH64" if os.uname().machine == "aarch64" else "EM_X86_64")
    for path in [*(installed / p for p in PROGRAMS), installed / "serial" / "bin" / "mpicc"]:
        assert os.access(path, os.X_OK)
    assert run(tmp_path / "v/bin/stretto", "--version").startswith("stretto 0.")
    assert "all proven" in run(python, "-m", "stretto", *VERIFY)


@pytest.mark.long
def test_install_script_into_a_packages_tree_leaves_no_path_of_the_build(
    built: Path, tmp_path: Path
) -> None:
    prefix, destdir = tmp_path / "opt", tmp_path / "tree"
    more = {"PREFIX": str(prefix), "DESTDIR": str(destdir), "EXTRAS": "", "WHEEL": str(built)}
    run("bash", "tools/install.sh", PYTHON=sys.executable, **more)
    shutil.move(str(destdir) + str(prefix), prefix)
    assert "all proven" in run(prefix / "bin" / "stretto", *VERIFY)
    share = prefix / "share"
    assert (share / "man/man1/stretto-tune.1.gz").is_file()
    found = [p for p in [*share.rglob("*"), *(prefix / "lib/stretto/bin").iterdir()] if p.is_file()]
    assert found and not [p for p in found if str(destdir).encode() in p.read_bytes()]
    assert f'"{prefix}/bin"' in (next(share.glob("modulefiles/stretto/*.lua"))).read_text()


def wheel(machine: str) -> Path:
    found = sorted((REPOSITORY / "dist").glob(f"stretto-*_{machine}.whl"))
    if not found:
        missing(f"no wheel for {machine} in dist (make wheels)")
    return found[-1]


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_wheel(tmp_path: Path, machine: str) -> None:
    path = wheel(machine)
    assert path.stat().st_size < 10e6
    # Every Python 3, and the oldest glibc that the symbols allow: as auditwheel read them.
    assert re.fullmatch(rf"stretto-[\d.]+-py3-none-manylinux_2_\d+_{machine}\.whl", path.name)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path)
        names = archive.namelist()
    check_libraries(tmp_path / "stretto" / "lib", f"EM_{machine.upper()}")
    assert "stretto/cli/__init__.py" in names and "stretto/py.typed" in names
    strangers = ("stretto/", "stretto-", "stretto.libs/")
    assert [n for n in names if not n.startswith(strangers)] == []
    sources = [n for n in names if n.endswith((".c", ".h", ".pyc")) or "/tests/" in n]
    assert [n for n in sources if not n.startswith("stretto/lib/serial/include/")] == []
    metadata = next(n for n in names if n.endswith(".dist-info/METADATA"))
    text = (tmp_path / metadata).read_text()
    assert {"openmpi", "mpich", "intel"} <= set(re.findall(r"Provides-Extra: (\w+)", text))
    assert any("LICENSE" in n for n in names)


LOADER = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (dlopen(argv[i], RTLD_NOW | RTLD_LOCAL) == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
    puts("loaded");
    return 0;
}
"""


def test_aarch64_wheel_under_qemu(tmp_path: Path) -> None:
    """The cross-built libraries load and their programs run, on another processor."""
    compiler = have("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross")
    qemu = [have("qemu-aarch64", "qemu-user"), "-L", "/usr/aarch64-linux-gnu"]
    with zipfile.ZipFile(wheel("aarch64")) as archive:
        archive.extractall(tmp_path)
    libraries = sorted(str(p) for p in (tmp_path / "stretto" / "lib").glob("*.so"))
    (tmp_path / "loader.c").write_text(LOADER)
    loader = str(tmp_path / "loader")
    subprocess.run([compiler, str(tmp_path / "loader.c"), "-o", loader], check=True)
    for library in libraries:
        done = run_program([*qemu, loader, library], timeout=60)
        assert (done.returncode, done.stdout) == (0, "loaded\n"), done.stderr
    bench = tmp_path / "stretto" / "lib" / "stretto-bench-openmpi"
    bench.chmod(0o755)
    done = run_program([*qemu, str(bench)], timeout=60)
    assert done.returncode > 0 and "stretto" in done.stderr  # without an MPI it says what it misses


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_c_tests_under_qemu() -> None:
    """The C tests, cross-built, pass under qemu-aarch64."""
    have("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross")
    have("qemu-aarch64", "qemu-user")
    build = REPOSITORY / "build" / "aarch64"
    cmake, ctest = (str(Path(sys.prefix) / "bin" / name) for name in ("cmake", "ctest"))
    env = os.environ | {"PATH": f"{sys.prefix}/bin:{os.environ['PATH']}"}
    toolchain = REPOSITORY / "cmake" / "aarch64-linux-gnu.cmake"
    # The node phases' tests are long under qemu; `make ctest` has an aarch64 selection of its own.
    # The proofs of plans take minutes there, and know nothing of a processor.
    steps = [
        [cmake, "-S", ".", "-B", str(build), "-G", "Ninja", "--toolchain", str(toolchain)],
        [cmake, "--build", str(build), "--target", "stretto-tests"],
        [ctest, "--test-dir", str(build), "--output-on-failure", "--no-tests=error", "-j2",
         "-E", "^node|mutants|verify"],
    ]  # fmt: skip
    for step in steps:
        done = run_program(step, cwd=REPOSITORY, env=env)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert re.search(r"100% tests passed", done.stdout)

"""What all Python tests share: directories of their own, and MPI programs built once."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from hypothesis import settings

from mpis import ALL, STRICT

# Where everything must pass, the same examples each time; on a developer's machine new ones.
settings.register_profile("stretto", deadline=None, print_blob=True, derandomize=STRICT)
settings.load_profile("stretto")


@pytest.hookimpl(trylast=True)  # after the terminal has registered
def pytest_configure(config: pytest.Config) -> None:
    # What a script starts with & has them ignored, and tests of Ctrl-C would wait in vain.
    for number in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            default = number == signal.SIGINT
            signal.signal(number, signal.default_int_handler if default else signal.SIG_DFL)
    # Jobs of Open MPI 4 that begin at the same time all make this directory, and one of them fails
    # ("mkdir: File exists") where another has just removed it, as who ends does if it is empty but
    # for files of other names than output-*.
    sessions = Path("/tmp", f"ompi.{os.uname().nodename.partition('.')[0]}.{os.getuid()}")
    sessions.mkdir(mode=0o700, exist_ok=True)
    (sessions / "output-kept-by-the-tests-of-stretto").touch()
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:  # which workers have not
        config.pluginmanager.register(Failures(terminal))


#: A module that has one of these starts MPI jobs, simulated ones included: it has no place in
#: tests/unit.
STARTS_MPI = {"ALL", "MPIS", "Mpi", "STANDARD_ABI", "alone_here", "beside_others", "installation"}
STARTS_MPI |= {"library", "have", "clusters", "Cluster", "testbed", "simulate"}


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that start MPI jobs, and as long all but a diagonal of a test over several axes.

    One of these axes is the MPI. On the diagonal, each value of each axis is met once or more: 4
    MPIs x 3 choices x 2 numbers of ranks are 4 tests instead of 24. ``make test-long`` runs the
    others.
    """
    of: dict[object, list[pytest.Function]] = {}
    for item in items:
        module = item.getparent(pytest.Module)
        if item.path.parent.name != "unit":
            item.add_marker(pytest.mark.mpi)
        elif module is not None and not STARTS_MPI.isdisjoint(vars(module.obj)):
            raise pytest.UsageError(f"{item.path} starts MPI jobs: move it to tests/mpi")
        given = getattr(item, "callspec", None)
        if isinstance(item, pytest.Function) and given and given.params.get("name") in ALL:
            of.setdefault((item.path, item.cls, item.originalname), []).append(item)
    for several in of.values():
        at = [_place(item) for item in several]
        axes = [list(dict.fromkeys(column)) for column in zip(*at, strict=True)]
        kept = {tuple(axis[i % len(axis)] for axis in axes) for i in range(max(map(len, axes)))}
        for item, place in zip(several, at, strict=True):
            if place not in kept:
                item.add_marker(pytest.mark.long)


def _place(item: pytest.Function) -> tuple[str, ...]:
    """Return what distinguishes the item in each ``parametrize`` of its function."""
    given = item.callspec.params
    axes = [mark.args[0] for mark in item.iter_markers("parametrize")]
    names = [a.replace(" ", "").split(",") if isinstance(a, str) else list(a) for a in axes]
    return tuple(repr([given[name] for name in axis if name in given]) for axis in names)


class Failures:
    """Names what failed at once, and what hung: a run that is ended from outside has no summary."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self.terminal = terminal
        self.running: dict[str, float] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.running[nodeid] = time.monotonic()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.running.pop(nodeid, None)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = str(crash.message if crash else report.longrepr).strip().partition("\n")[0]
            self.terminal.line(f"\n{report.nodeid} failed after {report.duration:.0f} s: {why}")

    def pytest_keyboard_interrupt(self) -> None:
        for nodeid, began in self.running.items():
            self.terminal.line(f"\n{nodeid} was running for {time.monotonic() - began:.0f} s")


@pytest.fixture(scope="session", autouse=True)
def _own_directories(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the user's tables, caches and settings out of the tests, and the other way round."""
    base = tmp_path_factory.mktemp("xdg")
    for name in ("DATA", "CACHE", "STATE", "CONFIG"):
        os.environ[f"XDG_{name}_HOME"] = str(base / name.lower())
    os.environ["STRETTO_SITE_TABLES"] = str(base / "site")
    for name in [n for n in os.environ if n.startswith("STRETTO_")]:
        if not name.startswith(("STRETTO_TEST", "STRETTO_LIB_DIR", "STRETTO_SITE_TABLES")):
            del os.environ[name]
    if os.geteuid() == 0:
        for prefix in ("OMPI", "PRTE"):
            os.environ[f"{prefix}_ALLOW_RUN_AS_ROOT"] = "1"
            os.environ[f"{prefix}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"


@pytest.fixture(autouse=True)
def _short_looks() -> None:
    """Look for less time at how busy the machine is before each run of CMD: no test judges it."""
    trials = sys.modules.get("stretto.tune.trials")
    if trials is not None:
        trials.LOOK_S = 0.03


PRELOADED = """
#include <stdlib.h>
#include <unistd.h>
#include <stdio.h>
#include <errno.h>
/* stands in for Stretto's libraries: tells into a file which program loaded it */
__attribute__((constructor)) static void loaded(void)
{
    const char *log = getenv("STRETTO_TEST_LOADED");
    FILE *file = log ? fopen(log, "a") : NULL;
    if (!file) return;
    fprintf(file, "%s\\n", program_invocation_short_name);
    fclose(file);
}
"""


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of libraries with the names of Stretto's that only tell who loaded them."""
    import shutil
    import subprocess

    base = tmp_path_factory.mktemp("lib")
    source = base / "preloaded.c"
    source.write_text(PRELOADED)
    first = base / "libstretto-openmpi.so"
    argv = ["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", str(source), "-o", str(first)]
    subprocess.run(argv, check=True)
    for name in (
        "openmpi5",
        "mpich",
        "mpi5",
        "record-openmpi",
        "record-openmpi4",
        "record-mpich",
    ):
        shutil.copy(first, base / f"libstretto-{name}.so")
    return base

"""The watchdog of a campaign's first start: what hangs is ended, and the remedy named."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from processes import alive, executable, run_program
from stretto.campaign.layout import Layout
from stretto.campaign.placement import PROBE, HangError, StartError, _parse, probe
from stretto.campaign.slurm import srun_starter
from stretto.errors import StrettoError
from stretto.measure import process
from stretto.mpi import from_launcher
from stretto.mpi.base import MPIInstallation

#: says who it and its child are, and waits for ever; an mpirun also tells of a version
HANGS = """#!/bin/sh
case "$1" in --version) echo "mpirun (Open MPI) 4.1.4"; exit 0;; esac
sleep 1000 &
echo "$$ $!" > "{mark}"
wait
"""


def hanging(path: Path) -> Path:
    """A launcher that hangs, and the file in which it says its process and its child's."""
    mark = path.parent / "processes"
    path.parent.mkdir(parents=True, exist_ok=True)
    executable(path, HANGS.format(mark=mark))
    return mark


def mpi_of(directory: Path) -> MPIInstallation:
    hanging(directory / "bin" / "mpirun")
    return from_launcher(directory / "bin" / "mpirun", dict(os.environ))


def ended(mark: Path) -> bool:
    """Whether both have been there and are gone, which may take them a moment."""
    processes = mark.read_text().split()
    assert len(processes) == 2
    deadline = time.monotonic() + 300
    while any(map(alive, processes)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(alive, processes))


def stands_until_it_hangs(mark: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the watchdog's clock stand until the launcher has said its processes: 1 s a look then."""
    clock = [0.0]

    def monotonic() -> float:
        if mark.exists() and len(mark.read_text().split()) == 2:
            clock[0] += 1.0
        return clock[0]

    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=monotonic))


@pytest.mark.parametrize(
    ("direct", "said"),
    [
        (True, ["2 ranks did not end within 3 s", "launcher = 'mpirun'", "mpi_type",
                "two steps: sbatch or salloc", "srun --mpi=list"]),
        (False, ["without a password (ssh NODE true)", "stretto check"]),
    ],
)  # fmt: skip
def test_launcher_that_hangs_is_ended_and_its_remedy_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direct: bool, said: list[str]
) -> None:
    mpi = mpi_of(tmp_path / "mpi")
    mark = tmp_path / "mpi" / "bin" / "processes"
    start = None
    if direct:
        mark = hanging(tmp_path / "slurm" / "srun")
        monkeypatch.setenv("PATH", f"{mark.parent}:{os.environ['PATH']}")
        start = srun_starter("pmix")(Layout(2, 1), ("a", "b"))
    stands_until_it_hangs(mark, monkeypatch)
    with pytest.raises(HangError) as caught:
        probe(mpi, Layout(2, 1), ("a", "b"), start, limit_s=3)
    lines = "\n".join(caught.value.lines())
    assert all(words in lines for words in said) and ("srun" in lines) == direct, lines
    assert ended(mark)


#: an srun that starts two ranks with numbers of their own
RANKS = """#!/bin/sh
while [ "$1" != /bin/sh ]; do shift; done
for k in 0 1; do {name}=$k "$@"; done
"""


#: an mpirun whose pipe breaks after so many ranks of each start have spoken
BROKEN = """#!/bin/sh
while [ "$1" != /bin/sh ]; do shift; done
echo >> "{mark}"
for k in $(sed -n "$(grep -c '' "{mark}")p" "{mark}.ranks"); do PMI_RANK=$k "$@"; done
kill -PIPE $$
"""


@pytest.mark.parametrize(
    ("ranks", "starts"), [(("0 1",), 1), (("1", "0 1"), 2), (("", "0"), 2)], ids=str
)
def test_a_launchers_broken_pipe_is_no_answer(
    tmp_path: Path, ranks: tuple[str, ...], starts: int
) -> None:
    """MPICH's mpiexec may die of SIGPIPE, after ranks that end at once as well as before."""
    mpi = mpi_of(tmp_path)
    mark = tmp_path / "starts"
    (tmp_path / "starts.ranks").write_text("".join(f"{r}\n" for r in ranks))
    (tmp_path / "bin" / "mpirun").write_text(BROKEN.format(mark=mark))
    if ranks[-1] == "0 1":
        assert [p.rank for p in probe(mpi, Layout(2, 1), ("a", "b"), None)] == [0, 1]
    else:
        with pytest.raises(StartError, match="1 of 2 ranks answered"):
            probe(mpi, Layout(2, 1), ("a", "b"), None)
    assert len(mark.read_text().splitlines()) == starts


@pytest.mark.parametrize("name", ["PMIX_RANK", "PMI_RANK", "SLURM_PROCID"])
def test_the_numbers_of_a_step_around_are_not_those_of_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for other in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"):
        monkeypatch.setenv(other, "0")
    srun = tmp_path / "slurm" / "srun"
    hanging(srun)
    srun.write_text(RANKS.format(name=name))
    monkeypatch.setenv("PATH", f"{srun.parent}:{os.environ['PATH']}")
    start = srun_starter("pmix")(Layout(2, 1), ())
    places = probe(mpi_of(tmp_path / "mpi"), Layout(2, 1), (), start, limit_s=500)
    assert [p.rank for p in places] == [0, 1]


def test_what_starts_proxies_by_srun_counts_its_ranks_itself() -> None:
    """Hydra's proxies, with MpiDefault=pmix, have numbers of Slurm's, which their ranks inherit."""
    said = ""
    for k in range(2):
        env = os.environ | {"PMIX_RANK": "0", "SLURM_PROCID": "0", "PMI_RANK": str(k)}
        env.pop("OMPI_COMM_WORLD_RANK", None)
        done = run_program(["/bin/sh", "-c", PROBE], env=env)
        said += done.stdout
    assert [p.rank for p in _parse(said)] == [0, 1]


def test_srun_step_says_all_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """What srun takes from the environment would change the ranks, or where their words go."""
    changes = {
        "SLURM_EXPORT_ENV": "NONE", "SRUN_CPUS_PER_TASK": "4", "SLURM_NTASKS_PER_SOCKET": "1",
        "SLURM_NTASKS_PER_CORE": "1", "SLURM_NTASKS_PER_GPU": "1", "SLURM_STDOUTMODE": "/x",
        "SLURM_HOSTFILE": "/h", "SLURM_EXCLUSIVE": "1", "SLURM_NTASKS": "64",
        "SLURM_NTASKS_PER_NODE": "32", "SLURM_CPU_BIND": "none", "LD_PRELOAD": "",
    }  # fmt: skip
    for name, value in changes.items():
        monkeypatch.setenv(name, value)
    start = srun_starter("pmi2")(Layout(2, 3), ("a", "b"))
    words, environ = start(["/bin/prog", "x"], {"LD_PRELOAD": "/lib/one.so"})
    assert not changes.keys() & environ.keys() and environ["PATH"] == os.environ["PATH"]
    options = words[1 : words.index("env")]
    assert {"--hint=nomultithread", "--overlap", "--export=ALL", "--mpi=pmi2"} <= set(options)
    assert {"--ntasks-per-node=3", "--distribution=block:block", "--kill-on-bad-exit=1"} <= set(
        options
    )
    assert options[options.index("-N") + 1] == "2" and options[options.index("-n") + 1] == "6"
    assert options[options.index("-w") + 1] == "a,b"
    assert words[-4:] == ["env", "LD_PRELOAD=/lib/one.so", "/bin/prog", "x"]


def test_one_that_ends_by_itself_did_not_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi = mpi_of(tmp_path / "mpi")
    program = tmp_path / "slurm" / "srun"
    hanging(program)
    program.write_text("#!/bin/sh\necho 'srun: error: Invalid MPI type' >&2\nexit 1\n")
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    start = srun_starter("pmix")(Layout(2, 1), ())
    with pytest.raises(StrettoError, match="Invalid MPI type") as caught:
        probe(mpi, Layout(2, 1), (), start, limit_s=60)
    assert not isinstance(caught.value, HangError)

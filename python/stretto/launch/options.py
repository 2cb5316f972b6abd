"""How many words each option of a launcher or a wrapper takes: what is needed to find the program.

An option that is not listed takes none (beyond an ``=value`` of its own).
"""

from __future__ import annotations


def _table(**counts: str) -> dict[str, int]:
    """Return option -> number of words, from ``one="-a -b"`` and ``two="-c"``."""
    numbers = {"one": 1, "two": 2}
    return {option: numbers[k] for k, words in counts.items() for option in words.split()}


#: Open MPI 4 (orterun) and 5 (prterun); each long option works with one dash as well
OPENMPI = _table(
    one="""-n -np -c --n --np -N --npernode --npersocket --ppr -H --host --hostfile --machinefile
    --default-hostfile --add-hostfile --add-host -x --map-by --rank-by --bind-to --cpus-per-proc
    --cpus-per-rank --cpu-set --cpu-list --slot-list -rf --rankfile --app --tune -am --am
    -wd -wdir --wd --wdir --path --prefix --output-filename --output --stdin --timeout
    --personality --launch-agent --report-uri --report-pid --preload-files --ompi-server
    --server-wait-time --max-restarts --xml-file --dvm-uri --dvm --pidfile --display
    --runtime-options --rtos --forward-signals --debugger --pset""",
    two="--mca --gmca --prtemca --pmixmca --omca --pmca",
)

#: Hydra of MPICH and of Intel MPI; each with one or two dashes
HYDRA = _table(
    one="""-n -np -host -hosts -f -hostfile -machinefile -machine -ppn -perhost -grr -wdir -path
    -configfile -envlist -genvlist -launcher -bootstrap -launcher-exec -bootstrap-exec -iface
    -bind-to -map-by -membind -order-nodes -rmk -outfile-pattern -errfile-pattern -prepend-pattern
    -usize -gtool -gtoolfile -localhost -timeout -umask -tmpdir -binding -branch-count -s
    -ranks-per-proc -ckpoint-interval -ckpoint-prefix -ckpointlib -ckpoint-num""",
    two="-env -genv",
)

#: Slurm's srun; short options may hold their value (-n4), long ones too (--ntasks=4)
SRUN = _table(
    one="""-n -N -c -p -t -w -x -J -o -e -i -D -A -C -d -m -r -B -T -G -L -q -M -S -W -b -F
    --ntasks --nodes --cpus-per-task --partition --time --nodelist --exclude --job-name --output
    --error --input --chdir --account --constraint --dependency --distribution --relative
    --extra-node-info --threads --gpus --licenses --qos --clusters --core-spec --wait --mpi
    --cpu-bind --mem-bind --mem --mem-per-cpu --mem-per-gpu --gres --gres-flags --gpus-per-node
    --gpus-per-task --gpus-per-socket --gpu-bind --gpu-freq --cpu-freq --cpus-per-gpu
    --ntasks-per-node --tasks-per-node --ntasks-per-core --ntasks-per-socket --ntasks-per-gpu
    --export --export-file --reservation --threads-per-core --cores-per-socket --sockets-per-node
    --hint
    --signal --network --epilog --prolog --task-epilog --task-prolog --jobid --het-group --comment
    --deadline --mincpus --priority --profile --acctg-freq --begin --container --switches
    --thread-spec --time-min --tmp --tres-per-task --tres-bind --uid --gid --wckey --mail-type
    --mail-user --open-mode --power""",
)

#: short options of srun whose value, if there is one, stands in the same word: -K0, -I60
SRUN_OPTIONAL = "IKk"

#: programs that start another one: options that take a word, and words before the command
WRAPPERS: dict[str, tuple[dict[str, int], int]] = {
    "env": (_table(one="-u --unset -C --chdir -S --split-string"), 0),
    "time": (_table(one="-f --format -o --output"), 0),
    "nice": (_table(one="-n --adjustment"), 0),
    "ionice": (_table(one="-c --class -n --classdata"), 0),
    "nohup": ({}, 0),
    "setsid": ({}, 0),
    "stdbuf": (_table(one="-i --input -o --output -e --error"), 0),
    "timeout": (_table(one="-k --kill-after -s --signal"), 1),
    "taskset": ({}, 1),
    "chrt": (_table(one="-T --sched-runtime -P --sched-period -D --sched-deadline"), 1),
    "numactl": (
        _table(
            one="""-i --interleave -m --membind -N --cpunodebind -C --physcpubind -p --preferred
            -P --preferred-many -w --weighted-interleave"""
        ),
        0,
    ),
    "catchsegv": ({}, 0),
    "eatmydata": ({}, 0),
    "unbuffer": ({}, 0),
    "chronic": ({}, 0),
    "sudo": (_table(one="-u --user -g --group"), 0),
}
SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish")


def words_of(option: str, table: dict[str, int]) -> int:
    """Return how many words follow `option`, however many dashes it is written with."""
    if "=" in option:
        return 0
    if option in table:
        return table[option]
    bare = option.lstrip("-")
    return max(table.get("--" + bare, 0), table.get("-" + bare, 0) if len(bare) > 1 else 0)

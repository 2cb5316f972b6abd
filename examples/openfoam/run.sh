#!/usr/bin/env bash
# Runs the cavity with icoFoam:
#   run.sh [-n RANKS] [-s STEPS] [-d DIR] [native | tune | run] [options of stretto tune or run]
# native: without Stretto. tune: measures, writes DIR.tuned/icoFoam.table, checks the gain on icoFoam itself.
# run: with that table. The log of native and run is DIR/log.icoFoam.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ranks=2
steps=300
dir=out/cavity
while getopts n:s:d: option; do
    case $option in
    n) ranks=$OPTARG ;;
    s) steps=$OPTARG ;;
    d) dir=$OPTARG ;;
    *) sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
mode=${1:-native}
[ $# -eq 0 ] || shift

# shellcheck source=examples/openfoam/environment.sh
source "$here/environment.sh"
if [ "$(id -u)" = 0 ]; then # in a container, say; Open MPI wants to be told
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
"$here/prepare.sh" "$dir" "$ranks" "$steps"
cd "$dir"
tuned=$PWD.tuned # beside the case: stretto runs the job in fresh copies of the case
# Debian's OpenFOAM is linked with Debian's Open MPI, whatever else is first in PATH.
job=(/usr/bin/mpirun -n "$ranks")
if [ "$ranks" -gt "$(env -u OMP_NUM_THREADS nproc)" ]; then
    job+=(--oversubscribe --mca mpi_yield_when_idle 1)
fi
job+=(icoFoam -parallel)

case $mode in
native) "${job[@]}" >log.icoFoam ;;
run) stretto run --table "$tuned/icoFoam.table" "$@" -- "${job[@]}" >log.icoFoam ;;
tune) stretto tune --out "$tuned" "$@" -- "${job[@]}" ;;
*) echo "run.sh: $mode: give native, tune or run" >&2; exit 2 ;;
esac
[ "$mode" = tune ] || grep -E '^ExecutionTime' log.icoFoam | tail -1

#!/usr/bin/env bash
# Applications at scale: records icoFoam and code_saturne here on 2 ranks, and forecasts them on hpc7g.
#   bench/forecasts.sh record [DIR]     bench/results/forecasts/*.profile.json (DIR: for the cases, build/forecasts)
#   bench/forecasts.sh [PLATFORM [PPN]] *.forecast.json and *.txt there, docs/images/forecast-*.svg, and a report
# Recording wants an idle machine: computing is wall time less that in the MPI. The forecast needs neither
# application nor MPI, and writes the same bytes from the same profiles.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
results=$root/bench/results/forecasts
cells_foam=200 steps_foam=10 cells_saturne=40 steps_saturne=5

record() {
    local dir=${1:-$root/build/forecasts}
    # shellcheck source=examples/openfoam/environment.sh
    source "$root/examples/openfoam/environment.sh"
    if [ "$(id -u)" = 0 ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
    export USER=${USER:-$(id -un)} OMP_NUM_THREADS=1
    mkdir -p "$dir" "$results"
    "$root/examples/openfoam/prepare.sh" "$dir/cavity" 2 "$steps_foam" "$cells_foam"
    "$root/examples/code_saturne/prepare.sh" "$dir/cube" "$steps_saturne" "$cells_saturne"
    (cd "$dir/cavity" && stretto profile -o "$dir/icoFoam.profile.json" -- /usr/bin/mpirun -n 2 icoFoam -parallel)
    (cd "$dir/cube" && stretto profile -o "$dir/code_saturne.profile.json" -- \
        /usr/bin/mpirun -n 2 /usr/lib/code_saturne/cs_solver --mpi)
    mv "$dir/icoFoam.profile.json" "$dir/code_saturne.profile.json" "$results/"
}

forecast() {
    local platform=${1:-hpc7g} ppn=${2:-8} name
    cd "$results"
    for name in icoFoam code_saturne; do
        stretto simulate -p "$platform" --profile "$name.profile.json" --nodes 1:32 --ppn "$ppn" \
            -o "$name.forecast.json" --plot "$root/docs/images/forecast-$name.svg" | tee "$name.txt"
    done
    stretto report icoFoam.forecast.json code_saturne.forecast.json -o "$root/build/forecasts.html"
}

if [ "${1:-}" = record ]; then record "${@:2}"; else forecast "$@"; fi

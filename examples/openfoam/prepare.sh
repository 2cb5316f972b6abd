#!/usr/bin/env bash
# Makes the OpenFOAM lid-driven cavity, refined to CELLS x CELLS cells (60), cut for RANKS processes, in DIR:
#   prepare.sh DIR RANKS [STEPS] [CELLS]
# from the tutorial case that Debian and Ubuntu ship (apt-get install openfoam openfoam-examples).
set -euo pipefail
if [ $# -lt 2 ]; then
    echo "usage: prepare.sh DIR RANKS [STEPS] [CELLS]" >&2
    exit 2
fi
dir=$1
ranks=$2
steps=${3:-100}
cells=${4:-60}
# shellcheck source=examples/openfoam/environment.sh
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

tutorial=/usr/share/doc/openfoam-examples/examples/incompressible/icoFoam/cavity/cavity
if [ ! -d "$tutorial" ]; then
    echo "prepare.sh: $tutorial is not there: apt-get install openfoam-examples" >&2
    exit 1
fi
case $ranks in
1 | 2 | 3) split="$ranks 1 1" ;;
4) split="2 2 1" ;;
*) split="$ranks 1 1" ;;
esac

mkdir -p "$dir"
cp -r "$tutorial/." "$dir/"
# Debian compresses large files of its documentation.
find "$dir" -name '*.gz' -exec gunzip -f {} +
sed -i "s/(20 20 1)/($cells $cells 1)/" "$dir/system/blockMeshDict"
# The Courant number stays below 1 on the finer mesh; one result is written, at the end.
step=$(awk -v c="$cells" 'BEGIN { printf "%.10g", 0.09 / c }')
end=$(awk -v n="$steps" -v dt="$step" 'BEGIN { printf "%.10g", n * dt }')
sed -i -e "s/^deltaT .*/deltaT          $step;/" -e "s/^endTime .*/endTime         $end;/" \
    -e "s/^writeInterval .*/writeInterval   $steps;/" "$dir/system/controlDict"
cat >"$dir/system/decomposeParDict" <<EOF
FoamFile
{
    version     2.0;
    format      ascii;
    class       dictionary;
    object      decomposeParDict;
}
numberOfSubdomains $ranks;
method          simple;
simpleCoeffs
{
    n           ($split);
    delta       0.001;
}
EOF
if ! grep -q "($cells $cells 1)" "$dir/system/blockMeshDict" ||
    ! grep -q "^endTime  *$end;" "$dir/system/controlDict"; then
    echo "prepare.sh: $tutorial is not as expected (another OpenFOAM release?)" >&2
    exit 1
fi
blockMesh -case "$dir" >"$dir/log.blockMesh" 2>&1 || { tail -20 "$dir/log.blockMesh" >&2; exit 1; }
if [ "$ranks" -gt 1 ]; then
    decomposePar -case "$dir" -force >"$dir/log.decomposePar" 2>&1 || {
        tail -20 "$dir/log.decomposePar" >&2
        exit 1
    }
fi

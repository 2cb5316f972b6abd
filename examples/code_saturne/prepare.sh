#!/usr/bin/env bash
# Makes a run directory DIR for code_saturne's solver, with the set-up of its tutorial "simple
# junction" (k-epsilon, temperature) on a cube of CELLS^3 cells:
#   prepare.sh DIR [ITERATIONS] [CELLS]
# from Debian's or Ubuntu's packages (apt-get install code-saturne).
set -euo pipefail
if [ $# -lt 1 ]; then
    echo "usage: prepare.sh DIR [ITERATIONS] [CELLS]" >&2
    exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$1
iterations=${2:-20}
cells=${3:-24}
preprocess=/usr/lib/code_saturne/cs_preprocess
setup=/usr/share/doc/code-saturne/examples/1-simple_junction/case1/setup.xml
if [ ! -e "$preprocess" ] || { [ ! -e "$setup" ] && [ ! -e "$setup.gz" ]; }; then
    echo "prepare.sh: $preprocess and $setup are needed:" \
        "apt-get install code-saturne code-saturne-doc" >&2
    exit 1
fi
mkdir -p "$dir"
if [ -e "$setup" ]; then cat "$setup"; else gunzip -c "$setup.gz"; fi |
    sed -e "s#<iterations>[0-9]*<#<iterations>$iterations<#" \
        -e 's#<frequency period="time_step">1<#<frequency period="time_step">-1<#' >"$dir/setup.xml"
grep -q "<iterations>$iterations<" "$dir/setup.xml" || {
    echo "prepare.sh: $setup is not as expected (another code_saturne release?)" >&2
    exit 1
}
python3 "$here/cube_mesh.py" "$cells" "$dir/cube.msh"
(cd "$dir" && "$preprocess" --out mesh_input cube.msh >preprocessor.log 2>&1) || {
    tail -20 "$dir/preprocessor.log" >&2
    exit 1
}

# shellcheck shell=bash
# What OpenFOAM as packaged by Debian and Ubuntu needs; to be sourced. Its own bashrc is for builds
# from source and is not used.
export WM_PROJECT_DIR=${WM_PROJECT_DIR:-/usr/share/openfoam}
export WM_PROJECT=OpenFOAM
if ! command -v icoFoam >/dev/null; then
    echo "icoFoam is not there: apt-get install openfoam openfoam-examples" >&2
    exit 1
fi

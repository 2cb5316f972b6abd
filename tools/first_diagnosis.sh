#!/usr/bin/env bash
# Seconds from `pip install` of the core wheel to the first diagnosis of a user's job, in an empty
# environment and an empty home; nothing is in pip's cache.
#
#   tools/first_diagnosis.sh WHEEL [-- CMD ...]   default: mpirun -n 2 of a C program, compiled before
#
# MPI: whatever mpirun and mpicc are in PATH.
set -euo pipefail
wheel=$(realpath "${1:?"first_diagnosis.sh: the first argument is a wheel"}")
shift
[ "${1:-}" != -- ] || shift
source=$(realpath "$(dirname "$0")/../examples/c/heat.c")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/home" "$work/job"
cd "$work/job"
if [ $# -eq 0 ]; then
    mpicc -O2 -o app "$source" -lm
    set -- mpirun -n 2 ./app
fi
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
unset XDG_CACHE_HOME XDG_STATE_HOME XDG_DATA_HOME
export HOME=$work/home
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
now() { date +%s.%N; }
began=$(now)
python3 -m venv "$work/venv"
created=$(now)
"$work/venv/bin/python" -m pip --disable-pip-version-check --no-cache-dir -q install "$wheel"
installed=$(now)
"$work/venv/bin/stretto" diagnose -- "$@"
ended=$(now)
"$work/venv/bin/stretto" --version >/dev/null # its files are in the cache now
again=$(now)
"$work/venv/bin/stretto" --version
last=$(now)
awk -v a="$began" -v b="$created" -v c="$installed" -v d="$ended" -v e="$again" -v f="$last" 'BEGIN {
    printf "venv %.1f s, pip install %.1f s, diagnosis %.1f s: %.1f s in all; stretto --version %.2f s\n",
        b - a, c - b, d - c, d - a, f - e }'
du -sm "$work/venv" | awk '{ print "environment: " $1 " MiB" }'

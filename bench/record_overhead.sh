#!/bin/sh
# What the recorder costs a call: record_overhead without and with it, interleaved, 6 times each;
# prints the median difference of the medians per function.
# Usage: bench/record_overhead.sh LIBRARY mpicc mpirun [mpirun options]
set -eu
library=$1 compiler=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$compiler" -O2 "$here/record_overhead.c" -o "$work/record_overhead"
for i in 1 2 3 4 5 6; do
    "$@" -n 2 "$work/record_overhead" >"$work/bare.$i"
    "$@" -n 2 env LD_PRELOAD="$library" STRETTO_PROFILE_DIR="$work" "$work/record_overhead" \
        >"$work/recorded.$i"
done
ls "$work"/*.strettoraw >/dev/null 2>&1 || {
    echo "record_overhead.sh: nothing was recorded: is $library that of this MPI?" >&2
    exit 1
}
awk 'FILENAME ~ /bare/ { bare = 1 } FILENAME ~ /recorded/ { bare = 0 }
     { name = substr($0, 1, 28); split(substr($0, 29), v, " ")
       n = FILENAME; sub(/.*\./, "", n)
       if (bare) b[name, n] = v[1]; else d[name, n] = v[1]
       if (!(name in seen)) { seen[name] = 1; order[++k] = name } }
     END { for (i = 1; i <= k; i++) { name = order[i]; m = 0
             for (n = 1; n <= 6; n++) x[++m] = d[name, n] - b[name, n]
             for (p = 1; p <= m; p++) for (q = p + 1; q <= m; q++)
                 if (x[q] < x[p]) { t = x[p]; x[p] = x[q]; x[q] = t }
             printf "%-28s %6.1f ns a call (least %.1f, most %.1f)\n", name, (x[3] + x[4]) / 2, x[1], x[6] } }' \
    "$work"/bare.? "$work"/recorded.?

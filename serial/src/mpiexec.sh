#!/bin/sh
# Starts a program that was built for one process, as mpiexec and mpirun start one of several: what
# says how many, where and with which environment is read, and what cannot be is an error.
set -eu
me=$(basename "$0")
fail() {
    echo "stretto-serial: $me: $1" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case $1 in
    -n | -np | --np | --n | -c | -N | -ppn | -perhost | --npernode | -npernode)
        [ $# -gt 1 ] || fail "$1 needs a number"
        [ "$2" = 1 ] || fail "$1 $2: programs of this library have one process; build yours with an MPI to run it on several"
        shift 2
        ;;
    -x)
        [ $# -gt 1 ] || fail "$1 needs a variable"
        case $2 in
        *=*) export "${2%%=*}=${2#*=}" ;;
        esac
        shift 2
        ;;
    -env | -genv | --env | --genv)
        [ $# -gt 2 ] || fail "$1 needs a variable and its value"
        export "$2=$3"
        shift 3
        ;;
    -wdir | -wd | --wdir)
        [ $# -gt 1 ] || fail "$1 needs a folder"
        cd "$2"
        shift 2
        ;;
    -host | --host | -H | -hosts | --hosts | -hostfile | --hostfile | -machinefile | --machinefile | -f | \
        -bind-to | --bind-to | -map-by | --map-by | -rank-by | --rank-by)
        [ $# -gt 1 ] || fail "$1 needs a value"
        shift 2
        ;;
    -mca | --mca | -gmca | --gmca | --prtemca)
        [ $# -gt 2 ] || fail "$1 needs a name and a value"
        shift 3
        ;;
    --oversubscribe | -oversubscribe | --use-hwthread-cpus | --allow-run-as-root | -genvall | -envall | -l | -q | -v | \
        --tag-output | -prepend-rank)
        shift
        ;;
    -V | --version | -version | -info)
        echo "Stretto serial: MPI-3.1 for one process"
        exit
        ;;
    --)
        shift
        break
        ;;
    -*) fail "option $1 is not known here; the program can be started without $me" ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || fail "no program; use $me [-n 1] PROGRAM [ARGUMENT...]"
for argument; do
    [ "$argument" != : ] || fail "several programs (with :) need an MPI"
done
exec "$@"

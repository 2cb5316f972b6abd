#!/bin/bash
#SBATCH @OPTIONS@

# The batch script of a campaign; `stretto campaign submit` fills in what stands between @.
# The campaign runs in the background, so that this shell hears Slurm's warning before the end of
# the time (USR1) and before a preemption (TERM).
export @VARIABLES@
signal=
# Of an array the number of one job is that of all: they would be put into the queue with it. And
# of whatever it ends Slurm says COMPLETING, with a time or a reason unless the user has cancelled
# it (seen with 22.05). What the user has set for squeue would leave the job out.
me=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}
me=${me:-$SLURM_JOB_ID}
cancelled() {
    read -r state preempted why <<<"$(unset SLURM_CLUSTERS "${!SQUEUE_@}"
        squeue -h -j "$me" -O State:20,PreemptTime:30,Reason)"
    case "$state" in COMPLETING | CANCELLED*) ;; *) return 1 ;; esac
    [ "$preempted" = N/A ] && [ "$why" != TimeLimit ]
}
measured() { # by whichever job
    cat @OUT@/*/*/*.bench.jsonl 2>/dev/null | grep -acE '"type": *"(sample|excluded)"'
}
campaign=
trap 'signal=USR1; kill -USR1 "$campaign" 2>/dev/null' USR1
trap 'signal=TERM; kill -USR1 "$campaign" 2>/dev/null' TERM
before=$(measured)
# what a script starts with & ignores SIGINT, unless it resets that
(trap - INT; exec @COMMAND@) &
campaign=$!
[ -z "$signal" ] || kill -USR1 "$campaign" 2>/dev/null # while it was being started
while wait "$campaign"; code=$?; [ "$code" -gt 128 ]; do # a signal ends wait, too
    kill -0 "$campaign" 2>/dev/null || break
done
# A campaign that is not complete for other reasons is not repeated, nor one that the user has
# cancelled, which also begins with TERM. Nor is one that has come out of the queue again and ends
# before anything was measured: it would come back for ever. A preemption says nothing of the time.
if [ "$code" = @AGAIN@ ] || { [ -n "$signal" ] && [ "$code" -gt 128 ]; }; then
    if cancelled; then
        echo "stretto: not complete: the job was cancelled; submit it again to go on"
    elif [ "$signal" != TERM ] && [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] &&
        [ "$(measured)" -le "$before" ]; then
        echo "stretto: not complete: the job has measured nothing in its time and does not go into" \
            "the queue again; what stands above may say why, and a longer time may help:" \
            "stretto campaign submit --time"
    else
        echo "stretto: not complete: the job goes into the queue again"
        env -u SLURM_CLUSTERS scontrol requeue "$me"
    fi
fi
exit "$code"

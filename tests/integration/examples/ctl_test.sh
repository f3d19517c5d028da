#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ctl_test.sh - `stallbox ctl PID status` tells of the watches and deadlines that are open now, and of consent.
#
# usage: ctl_test.sh STALLBOX WORKER_WATCH
set -euo pipefail
stallbox=$1 program=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-ctl.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset STALLBOX_RECORDINGS
export XDG_STATE_HOME=$work/state
"$program" &
pid=$!
told=no
for _ in $(seq 40); do # it runs for almost two seconds, and rests in the first half of one
    "$stallbox" ctl "$pid" status >"$work/status" 2>/dev/null || true
    if grep -q '^watches  *1 open, 1 of them resting$' "$work/status" &&
        grep -q '^deadlines  *0 open$' "$work/status" && grep -q '^consent  *granted' "$work/status"; then
        told=yes
        break
    fi
    sleep 0.05
done
wait "$pid"
[ "$told" = yes ] || { echo "ctl_test: the watch was not told of:" >&2; cat "$work/status" >&2; exit 1; }
echo "ctl_test: the open watch is told of"

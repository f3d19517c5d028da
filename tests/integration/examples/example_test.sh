#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# example_test.sh - an example stalls once, and the report of it has the trigger, the time and the function.
#
# usage: example_test.sh STALLBOX PROGRAM run|linked KIND FUNCTION MS OPTIONS
# run: the program knows nothing of the recorder and is started by `stallbox run OPTIONS`. linked: it has the library.
# FUNCTION is a pattern: it names what was blamed, or a frame of the stack that was. MS: the trigger's duration, at least.
# shellcheck disable=SC2016 # $kind and the others are variables of jq
set -euo pipefail
stallbox=$1 program=$2 way=$3 kind=$4 function=$5 ms=$6
read -ra options <<<"${7:-}"
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-example.XXXXXX")
trap 'rm -rf "$work"' EXIT

export XDG_STATE_HOME=$work/state STALLBOX_RECORDINGS=$work/recordings
spool=$work/state/stallbox/spool
# A job of 5 ms that waits half a second for its processor is a stall too, and none that is asked for here: the program is given another chance then.
for attempt in 1 2 3; do
    rm -rf "$work/state" "$work/recordings"
    if [ "$way" = run ]; then
        "$stallbox" run --quiet "${options[@]}" -- "$program" >"$work/out"
    else
        "$program" >"$work/out"
    fi
    "$stallbox" report --format json "$spool" >"$work/report"
    "$stallbox" report --all "$spool" >"$work/text"
    if [ "$attempt" = 3 ] || ! jq -es 'any(.attribution.cause == "cpu_contention")' "$work/report" >/dev/null; then
        break
    fi
done

holds() { # JQ-FILTER over the list of reports
    jq -es --arg function "$function" --arg kind "$kind" --argjson ms "$ms" "$1" "$work/report" >/dev/null && return
    echo "example_test: not so: $1" >&2
    jq -c '{trigger, interval, attribution, watches}' "$work/report" >&2
    exit 1
}
holds 'length == 1'
holds '.[0].trigger.kind == $kind'
# Programs round their clock down to milliseconds: both may be one short.
holds '.[0].trigger.duration_ms >= $ms - 1'
holds '.[0].interval | .begin_ns <= -($ms - 1) * 1000000 and .end_ns == 0'
holds '.[0].attribution | [.function, .stack[]] | any(test("^(" + $function + ")$"))'
holds '.[0].threads | all(.stack_from != null)'
if [ "$kind" = watchdog ] || [ "$kind" = deadline ]; then
    holds '.[0].trigger.watch | .timeout_ms == $ms and (.what | test("^[0-9a-f]{10}$")) and .thread != null'
    # The machine that recorded it knows the name, in the spool beside what may leave.
    holds '.[0].trigger.watch.name | . == "worker" or . == "save the document"'
    grep -q 'promise.*not kept\|promise.*kept too late' "$work/text"
fi
if [ "$(basename "$program")" = message_kinds ]; then
    holds '.[0].trigger | .message_kind == 2 and .message_name == "render the page"'
    grep -q 'message *"render the page"' "$work/text"
    holds '.[0].trigger | .scene == 1 and .scene_name == "the reader"'
    grep -q 'scene *the reader' "$work/text"
    grep -q 'the message "render the page" that took' "$work/text"
    "$stallbox" report --format perfetto -o "$work/trace" "$spool"
    grep -qa '"scroll"' "$work/trace"
    grep -qa 'message "render the page"' "$work/trace"
    # Encoded, the spool has the name beside the payload; without it there is the number, which is all that may leave.
    "$stallbox" run --quiet --spool "$spool" -- true
    "$stallbox" report --format json "$spool" >"$work/report"
    holds 'length == 1 and (.[0].trigger | .message_kind == 2 and .message_name == "render the page")'
    mkdir "$work/elsewhere" && cp "$spool"/*.sbx "$work/elsewhere"
    "$stallbox" report --all "$work/elsewhere" >"$work/text"
    grep -q 'message *of kind 2' "$work/text"
    grep -q 'scene *scene 1' "$work/text"
    "$stallbox" report --format json "$work/elsewhere" >"$work/report"
    holds '.[0].trigger | .message_kind == 2 and .message_name == null and .scene == 1 and .scene_name == null'
fi
echo "example_test: $kind in $function, told"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# stall_test.sh - a program of another architecture or C library, the library preloaded into it, and its two stalls as this
# machine's `stallbox report` tells them.
#
# usage: stall_test.sh TOOL SYMBOLS LIBRARY PROGRAM [EMULATOR...]
# SYMBOLS: "libc" when stacks are whole down to _start; "program" when the C library has no unwind data (musl), so that
# they end where the program's own code does.
set -uo pipefail
tool=$1 depth=$2 library=$3 program=$4
shift 4
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-library.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0

check() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@" >/dev/null; then
        echo "  ok    $what"
    else
        echo "  FAIL  $what"
        failures=$((failures + 1))
    fi
}

mkdir -m 700 "$work/spool" "$work/recordings"
# What `stallbox run` sets for the program it starts (agent/shared/preload.h).
settings=(STALLBOX_AUTOSTART=1 STALLBOX_SPOOL="$work/spool" STALLBOX_RECORDINGS="$work/recordings"
    LD_PRELOAD="$library")
arguments=()
[ "$depth" = libc ] || arguments=(own) # what libc calls back has no way out of it
if [ $# -gt 0 ]; then
    emulator=("$@")
    for setting in "${settings[@]}"; do
        emulator+=(-E "$setting")
    done
    said=$("${emulator[@]}" "$program" "${arguments[@]}")
else
    said=$(env "${settings[@]}" "$program" "${arguments[@]}")
fi
status=$?
check "the program ends as it does alone" test "$status.$said" = 0.done
raw=("$work"/spool/raw/*.raw)
check "each stall left a snapshot" test ${#raw[@]} -eq 2
if ! "$tool" report --format json "${raw[@]}" >"$work/report" 2>"$work/why"; then
    cat "$work/why"
fi
cat "$work/why"

# shellcheck disable=SC2317 # called by check
holds() { # JQ-FILTER over the list of reports, the sleep first
    jq -es "sort_by(.attribution.cause != \"sleep\") | $1" "$work/report"
}
check "both are slow messages of about two seconds" \
    holds 'map(.trigger.kind == "slow_message" and .trigger.duration_ms >= 1900) == [true, true]'
check "the first slept, in the function that did" \
    holds '.[0].attribution | .cause == "sleep" and .function == "fetch_slowly"'
# Where others hold the cores, that is the cause, and the function still what was to run. A comparison that a sort calls again
# and again is a cheap function called very often: that is as right.
check "the second computed, in the functions that did" \
    holds '.[1].attribution | ([.cause] | inside(["cpu", "high_frequency", "cpu_contention"])) and (.function == "sort_for_long" or .function == "compare" or .function == "sort")'
check "and its callers are told" holds '[.[1].attribution | .. | strings] | any(test("sort_for_long"))'
check "with line numbers" holds '.[0].attribution.file | endswith("stalling_program.c")'
if [ "$depth" = libc ]; then
    check "the stacks judged were followed to the first frame" \
        holds 'map(.attribution.evidence[] | select(.text | test("could not be followed"))) == []'
fi
if [ "$failures" -ne 0 ]; then
    jq -c '{trigger, attribution, loss, main, hot: [.threads[] | select(.main) | .hot]}' "$work/report"
fi
exit $((failures != 0))

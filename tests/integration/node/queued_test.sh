#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# queued_test.sh STALLBOX NODE - of each slow timer, immediate and tick the function that queued it is told, and of none another one.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
stallbox=$1 node=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-queued.XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
fail() {
    echo "queued_test $node: $*" >&2
    cat "$work/err" "$work/told" >&2 2>/dev/null || true
    exit 1
}

"$node" "$here/queued.js" --expect >"$work/expected"
timeout 600 "$stallbox" run --spool "$work/spool" --anr-ms 0 --slow-message-ms 200 -- "$node" "$here/queued.js" 2>"$work/err" ||
    fail "the program ended with $?"
"$stallbox" report --format json "$work/spool" >"$work/report"
jq -c 'select(.trigger.kind == "slow_message")
       | {run: ((.attribution.stack // []) | map(select(test("^run_"))) | .[0]), by: .attribution.queued_by.function,
          thread: .attribution.queued_by.thread, lay: .attribution.queued_by.lay_ms,
          text: [.attribution.evidence[] | select(.kind == "queued_by") | .text]}' "$work/report" >"$work/told"
# Each case that is told is told rightly. The machine may be too busy for one of the stalls to be seen in its place, but not for most.
# shellcheck disable=SC2016 # these variables are jq's
wrong=$(jq -c --slurpfile expected "$work/expected" '. as $told | select(.run != null and ($expected[0][.run] | index([$told.by]) == null))' "$work/told")
[ -z "$wrong" ] || fail "not so: $wrong"
# shellcheck disable=SC2016
jq -e -s --slurpfile expected "$work/expected" '[.[].run | select(. != null)] | unique | length >= ($expected[0] | length) - 2' "$work/told" >/dev/null ||
    fail "too few are told"
jq -e -s '([.[] | select(.by != null) | .thread == 0] | all) and ([.[] | select(.run == "run_timeout") | .lay >= 55] | all) and
          ([.[] | select(.run == "run_first") | .lay >= 1450] | all)' "$work/told" >/dev/null ||
    fail "the thread, or how long it lay, is not so"

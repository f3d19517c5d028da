#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# queued_test.sh STALLBOX PYTHON - of each slow callback and task of asyncio the function that queued it is told, and of none another one.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
stallbox=$1 python=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-queued.XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
fail() {
    echo "queued_test $python: $*" >&2
    cat "$work/err" "$work/told" >&2 2>/dev/null || true
    exit 1
}

"$python" "$here/queued.py" --expect >"$work/expected"
timeout 800 "$stallbox" run --spool "$work/spool" --anr-ms 0 --slow-message-ms 170 -- "$python" "$here/queued.py" 2>"$work/err" ||
    fail "the program ended with $?"
"$stallbox" report --format json "$work/spool" >"$work/report"
# The recorder's own frames are left out. Where nobody wrote down which module it is, it is hidden: in Debian's Python no other is.
ours=stallbox
[[ $python != /usr/bin/* ]] || ours='stallbox|hidden'
# shellcheck disable=SC2016 # these variables are jq's
jq -c --arg ours "$ours" 'select(.trigger.kind == "slow_message")
       | {run: ([[.threads[] | select(.main)][0].frames[].function | select(test("^run_"))][0]), by: .attribution.queued_by.function,
          same: (.attribution.queued_by.thread == 0), lay: .attribution.queued_by.lay_ms, ours: ([.threads[].frames[].module] | any(test($ours)))}' \
    "$work/report" >"$work/told"
# Each case that is told is told rightly. The machine may be too busy for one of the stalls to be seen in its place, but not for most.
# shellcheck disable=SC2016
wrong=$(jq -c --slurpfile expected "$work/expected" 'select(.run != null and .by != $expected[0][.run])' "$work/told")
[ -z "$wrong" ] || fail "not so: $wrong"
jq -e -s --slurpfile expected "$work/expected" '[.[].run | select(. != null)] | unique | length >= ($expected[0] | length) - 2' "$work/told" >/dev/null ||
    fail "too few are told"
jq -e -s '([.[] | select(.run == "run_threadsafe" or .run == "run_remote") | .same] | any | not) and ([.[].ours] | any | not) and
          ([.[] | select(.run == "run_later") | .lay >= 45] | all)' "$work/told" >/dev/null ||
    fail "the thread, or how long it lay, is not so; or the recorder's own frames are told"

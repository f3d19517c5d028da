#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# left_alone_test.sh STALLBOX NAME VERSION COMMAND... - a runtime whose version is not known is left alone, and ctl status, the payload and the report say which it was.
#
# COMMAND is given the path of a file: it writes its number to FILE.pid, waits for FILE, and ends.
set -euo pipefail
stallbox=$1 name=$2 version=$3
shift 3
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-left-alone.XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache

fail() {
    echo "left_alone_test $name $version: $*" >&2
    tail -qn 100 "$work"/{err,status} >&2
    jq -c .attribution "$work/reports" >&2
    exit 1
}

timeout 300 "$stallbox" run --spool "$work/spool" --slow-message-ms 300 -- "$@" "$work/go" 2>"$work/err" &
runs=$!
for ((i = 0; i < 600; i++)); do
    [ -s "$work/go.pid" ] && "$stallbox" ctl "$(cat "$work/go.pid")" status >"$work/status" 2>&1 && grep -q '^runtime .*left alone' "$work/status" && break
    sleep 0.1
done
"$stallbox" ctl "$(cat "$work/go.pid")" snapshot >"$work/ask" 2>&1 || fail "no snapshot: $(cat "$work/ask")"
touch "$work/go"
wait "$runs" || fail "the program ended with $?"
grep -q "^runtime .*left alone, .*$version.* is not known" "$work/status" || fail "ctl status does not say it"
"$stallbox" report --format json "$work/spool" >"$work/reports"
jq -es --arg told "$name $version" 'length > 0 and all(.attribution.evidence | any(.kind == "runtime" and (.text | contains($told))))' "$work/reports" >/dev/null ||
    fail "the report does not say it"
for payload in "$work"/spool/*.sbx; do
    "$stallbox" show "$payload"
done >"$work/status"
grep -Eq "^runtime .*$name $version(\.0)?: left alone" "$work/status" || fail "show does not say it"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# handlers_test.sh STALLBOX NODE - a report says which sort of handler node's event loop ran: each of handlers.js.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
stallbox=$1 node=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-handlers.XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache

timeout 600 "$stallbox" run --spool "$work/spool" --slow-message-ms 200 -- "$node" "$here/handlers.js" 2>"$work/said"
"$stallbox" report --format json "$work/spool" |
    jq -c '{trigger: .trigger.kind, ms: .trigger.duration_ms} + (.attribution | {cause, stack, handler: [.evidence[] | select(.kind == "handler") | .text]})' >"$work/told"
failures=0
while IFS=$'\t' read -r function text; do
    jq -es --arg f "$function" --arg t "$text" 'any(.[]; (.stack | index($f)) != null and .handler == ["what the event loop ran is " + $t])' "$work/told" >/dev/null || {
        echo "handlers_test: $function: not $text"
        jq -c --arg f "$function" 'select(.stack | index($f))' "$work/told"
        failures=1
    }
done <<'END'
inTimer	a timer (setTimeout, setInterval)
inImmediate	an immediate (setImmediate)
inTick	a process.nextTick or a promise's job
inRequest	an HTTP request
inAnswer	the answer to an HTTP request
inConnection	a new connection
inData	data of a socket or a pipe
inDatagram	a datagram
inFile	a file that was read
inMessage	a message of a worker
END
if [ "$failures" -ne 0 ]; then
    cat "$work/said"
    jq -c '.stack = .stack[0:8]' "$work/told"
    exit 1
fi

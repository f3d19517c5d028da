#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nasty.sh STALLBOX NODE - programs that are hard on a walk run as they do without the recorder: same words, same status.
set -euo pipefail
stallbox=$1
node=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-nasty.XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
failed=0

# compare NAME COMMAND... : bare, and recorded with a snapshot of all that lasts 20 ms
compare() {
    local name=$1 bare=0 recorded=0
    shift
    (cd "$work" && timeout 100 "$@") >"$work/bare" 2>/dev/null || bare=$?
    (cd "$work" && timeout 200 "$stallbox" run --quiet --spool "$work/spool" --slow-message-ms 20 -- "$@") >"$work/recorded" 2>"$work/err" || recorded=$?
    if [ "$bare" != "$recorded" ] || ! cmp -s "$work/bare" "$work/recorded"; then
        echo "$name: status $bare alone, $recorded recorded" >&2
        diff "$work/bare" "$work/recorded" >&2 || true
        head -c 2000 "$work/err" >&2
        failed=1
    fi
}

for name in workers contexts recursion exit aborts wasm collector memory inspector generators children; do
    compare "$name" "$node" --expose-gc "$here/nasty.js" "$name"
done
compare "workers, compacted" "$node" --expose-gc --stress-compaction "$here/nasty.js" workers
compare "recursion, profiled" "$node" --expose-gc --cpu-prof "$here/nasty.js" recursion
compare "contexts, interpreted" "$node" --expose-gc --jitless "$here/nasty.js" contexts
compare "generators, baseline" "$node" --expose-gc --always-sparkplug "$here/nasty.js" generators
exit $failed

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

# compare STATUS NAME COMMAND... : recorded with a snapshot of all that lasts 20 ms, it says and returns what is known of it; what does not, may
# be this node's doing: then it runs bare too, and has to be the same.
compare() {
    local known=$1 name=$2 bare=0 recorded=0
    shift 2
    (cd "$work" && timeout 600 "$stallbox" run --quiet --spool "$work/spool" --slow-message-ms 20 -- "$@") >"$work/recorded" 2>"$work/err" || recorded=$?
    [ "$recorded" != "$known" ] || [ "$(cat "$work/recorded")" != "done" ] || return 0
    (cd "$work" && timeout 400 "$@") >"$work/bare" 2>/dev/null || bare=$?
    if [ "$bare" != "$recorded" ] || ! cmp -s "$work/bare" "$work/recorded"; then
        echo "$name: status $bare alone, $recorded recorded" >&2
        diff "$work/bare" "$work/recorded" >&2 || true
        head -c 2000 "$work/err" >&2
        failed=1
    fi
}

status_of() { # NAME
    case $1 in
    exit) echo 7 ;;
    aborts) echo 1 ;;
    *) echo 0 ;;
    esac
}

for name in workers contexts recursion exit aborts wasm collector memory inspector generators children; do
    compare "$(status_of "$name")" "$name" "$node" --expose-gc "$here/nasty.js" "$name"
done
compare 0 "workers, compacted" "$node" --expose-gc --stress-compaction "$here/nasty.js" workers
compare 0 "recursion, profiled" "$node" --expose-gc --cpu-prof "$here/nasty.js" recursion
compare 0 "contexts, interpreted" "$node" --expose-gc --jitless "$here/nasty.js" contexts
compare 0 "generators, baseline" "$node" --expose-gc --always-sparkplug "$here/nasty.js" generators
exit $failed

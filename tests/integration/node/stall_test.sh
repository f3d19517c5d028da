#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# stall_test.sh STALLBOX NODE FOLDER... - a stall of an unchanged program of node's is told by its own function, file and line.
set -euo pipefail
stallbox=$1
node=$2
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-node.XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache

fail() {
    echo "stall_test $node: $*" >&2
    cat "$work/err" >&2
    jq -c '{trigger, attribution, loss, frames: [.threads[] | select(.main) | .frames[] | [.function, .module, .line]]}' \
        "$work/report" >&2 || true
    exit 1
}
holds() { jq -e "$1" "$work/report" >/dev/null || fail "not so: $1"; }
line_of() { grep -n -- "$1" "$here/shop.js" | head -n 1 | cut -d: -f1; }

# The same program in several folders: what is told is the same, and the folder is in none of it.
for folder in "$@"; do
    mkdir -p "$work/$folder"
    cp "$here/shop.js" "$work/$folder/shop.js"
    (cd / && timeout 60 "$stallbox" run --spool "$work/$folder/spool" --slow-message-ms 300 -- "$node" "$work/$folder/shop.js") \
        2>"$work/err" || fail "the program ended with $?"
    "$stallbox" report --format json "$work/$folder/spool" | head -n 1 >"$work/report"
    holds ".attribution | .function == \"crunch\" and .module == \"javascript\" and .file == \"shop.js\" and
           .line >= $(line_of 'function crunch') and .line <= $(line_of 'return total')"
    # JavaScript, then C++, then JavaScript, each in its place, and node's own below.
    # shellcheck disable=SC2016 # these variables are jq's
    holds '[.threads[] | select(.main)][0].frames | map(.module == "javascript") as $is
           | (map(.function) | index("reviver")) as $inner | (map(.function) | index("price")) as $outer
           | $inner != null and $outer != null and $inner < $outer and ($is[$inner:$outer] | index(false)) != null'
    holds '[.threads[] | select(.main)][0].frames | map(.function) | index("handler") < index("listOnTimeout")'
    grep -q "	shop.js	crunch$" "$work/$folder/spool/provider-javascript.map" || fail "the name was not written"
    cut -f1,4 "$work/$folder/spool/provider-javascript.map" | grep -E "	(crunch|handler)$" | sort >"$work/ids.${folder%%/*}"
    for payload in "$work/$folder"/spool/*.sbx; do
        tail -c +41 "$payload" | zstd -dcq >"$work/plain" || fail "the payload could not be opened" # behind the header: docs/FORMATS.md
        if grep -aqE "crunch|shop\.js|deeper" "$work/plain"; then
            fail "a name is in the payload"
        fi
    done
done
# Switched off: the program is told by its native frames, and nothing was loaded into it.
STALLBOX_RUNTIMES=off timeout 60 "$stallbox" run --spool "$work/off" --slow-message-ms 300 -- "$node" "$work/$1/shop.js" 2>"$work/err" ||
    fail "switched off, the program ended with $?"
"$stallbox" report --format json "$work/off" | head -n 1 >"$work/report"
holds '[.threads[].frames[] | select(.module == "javascript")] | length == 0'
[ ! -e "$work/off/provider-javascript.map" ] || fail "names were written although it is switched off"

[ $# -eq 1 ] || cmp -s "$work/ids.one" "$work/ids.two" || fail "ids differ between two folders: $(diff "$work/ids.one" "$work/ids.two")"

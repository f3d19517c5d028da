#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# stall_test.sh STALLBOX PYTHON FOLDER... - a stall of an unchanged Python program is told by its own function, file and line.
set -euo pipefail
stallbox=$1
python=$2
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-python.XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache

fail() {
    echo "stall_test $python: $*" >&2
    cat "$work/err" >&2
    jq -c '{trigger, attribution, loss, frames: [.threads[] | select(.main) | .frames[] | [.function, .module, .line]]}' \
        "$work/report" >&2 || true
    exit 1
}
holds() { jq -e "$1" "$work/report" >/dev/null || fail "not so: $1"; }
line_of() { grep -n -- "$1" "$here/shop.py" | head -n 1 | cut -d: -f1; }

# The same program in several folders: what is told is the same, and the folder is in none of it.
for folder in "$@"; do
    mkdir -p "$work/$folder"
    cp "$here/shop.py" "$work/$folder/shop.py"
    (cd "$work/$folder" && timeout 60 "$stallbox" run --spool "$work/$folder/spool" --slow-message-ms 300 -- "$python" "$work/$folder/shop.py") \
        2>"$work/err" || fail "the program ended with $?"
    "$stallbox" report --format json "$work/$folder/spool" | head -n 1 >"$work/report"
    holds ".attribution | .function == \"crunch\" and .module == \"python\" and .file == \"shop.py\" and
           .line >= $(line_of 'while time') and .line <= $(line_of 'total +=')"
    # Python, then C (sorted), then Python, then C (the interpreter's own main), each in its place.
    # shellcheck disable=SC2016 # these variables are jq's
    holds '[.threads[] | select(.main)][0].frames | map(.module == "python") as $is
           | (map(.function) | index("crunch")) as $crunch
           | (map(.function | test("(^|\\.)price$")) | index(true)) as $price
           | $crunch != null and $price != null and ($is[$crunch:$price] | index(false)) != null'
    holds '[.threads[] | select(.main)][0].frames | map(.function) | index("handler") < index("<module>")'
    grep -q "shop.py	crunch$" "$work/$folder/spool/provider-python.map" || fail "the name was not written"
    cut -f1,4 "$work/$folder/spool/provider-python.map" | grep -E "	(crunch|handler)$" | sort >"$work/ids.${folder%%/*}"
    for payload in "$work/$folder"/spool/*.sbx; do
        tail -c +41 "$payload" | zstd -dcq >"$work/plain" || fail "the payload could not be opened" # behind the header: docs/FORMATS.md
        if grep -aqE "crunch|shop\.py|deeper" "$work/plain"; then
            fail "a name is in the payload"
        fi
    done
done
# Switched off: the program is told by its native frames, and nothing was loaded into it.
STALLBOX_RUNTIMES=off timeout 60 "$stallbox" run --spool "$work/off" --slow-message-ms 300 -- "$python" "$work/$1/shop.py" 2>"$work/err" ||
    fail "switched off, the program ended with $?"
"$stallbox" report --format json "$work/off" | head -n 1 >"$work/report"
holds '[.threads[].frames[] | select(.module == "python")] | length == 0'
[ ! -e "$work/off/provider-python.map" ] || fail "names were written although it is switched off"

[ $# -eq 1 ] || cmp -s "$work/ids.one" "$work/ids.two" || fail "ids differ between two folders: $(diff "$work/ids.one" "$work/ids.two")"

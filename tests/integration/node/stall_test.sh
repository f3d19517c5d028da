#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# stall_test.sh STALLBOX NODE FOLDER... - a stall of an unchanged program of node's is told by its own function, file and line.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/integration/runtime_stall.sh
. "$here/../runtime_stall.sh"

judge_frames() {
    blames_crunch 'function crunch' 'return total'
    # JavaScript, then C++, then JavaScript, each in its place, and node's own below.
    # shellcheck disable=SC2016 # these variables are jq's
    holds '[.threads[] | select(.main)][0].frames | map(.module == "javascript") as $is
           | (map(.function) | index("reviver")) as $inner | (map(.function) | index("price")) as $outer
           | $inner != null and $outer != null and $inner < $outer and ($is[$inner:$outer] | index(false)) != null'
    holds '[.threads[] | select(.main)][0].frames | map(.function) | index("handler") < index("listOnTimeout")'
}

# shellcheck disable=SC2034 # runtime_stall.sh reads it
start_in=/
runtime_stall javascript "$1" "$2" "$here/shop.js" "${@:3}"

# Minified: its source map leads back to the names, the file and the lines that people wrote.
unset STALLBOX_RUNTIMES
"$interpreter" "$here/minify.js" "$script" "$work/min/dist/shop.js"
record_stall "$work/min.spool" / "$work/min/dist/shop.js"
mkdir -p "$work/names.min" "$work/bare/min"
"$stallbox" symbols names -o "$work/names.min" "$work/min/dist" >/dev/null 2>"$work/err" || fail "no names from the source map"
cp "$work/min.spool"/*.sbx "$work/bare/min"
"$stallbox" report --format json --symbols "$work/names.min" "$work/bare/min" | head -n 1 >"$work/report"
holds ".attribution | .function == \"crunch\" and .file == \"src/shop.js\" and .line == $(line_of 'function crunch')"
holds "[.threads[].frames[] | select(.function == \"price\")] | length > 0 and .[0].line == $(line_of 'price(until) {')"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lua_test.sh STALLBOX LUA_PROVIDER CASE - a stall inside a Lua function is told with that function's name and line.
#
# The program is examples/lua_provider.c with examples/lua/stall.lua. Lines are looked up in the script, not written here.
set -euo pipefail
stallbox=$1
program=$2
case=$3
script=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)/examples/lua/stall.lua
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-lua.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/names"
export XDG_CACHE_HOME=$work/cache

fail() {
    echo "lua_test $case: $*" >&2
    jq -c '{trigger, attribution, loss, frames: [.threads[] | select(.main) | .frames[] | [.function, .module, .line]]}' \
        "$work/report" >&2 || true
    exit 1
}

# The numbers of the script's lines from PATTERN to the next "end" at the margin.
first_line() { grep -n -- "$1" "$script" | head -n 1 | cut -d: -f1; }
last_line() { awk -v from="$(first_line "$1")" 'NR > from && /^end/ { print NR; exit }' "$script"; }

record() { # FUNCTION OPTION...
    local function=$1
    shift
    timeout 300 "$stallbox" run --spool "$work/spool" "$@" -- "$program" "$script" "$function" "$work/names" 2>"$work/err" ||
        fail "the program ended with $?: $(cat "$work/err")"
}
report() { # [NAMES-FOLDER]
    "$stallbox" report --format json ${1:+--symbols "$1"} "$work/spool" | head -n 1 >"$work/report"
}
holds() { jq -e "$1" "$work/report" >/dev/null || fail "not so: $1"; }

# The blamed function is FUNCTION of the script, at a line of the definition that matches PATTERN.
blames() { # FUNCTION PATTERN
    holds ".attribution | .function == \"$1\" and .module == \"lua\" and .file == \"stall.lua\" and
           .line > $(first_line "$2") and .line < $(last_line "$2")"
}
# STACK-FILTER holds logical frames in their place: LUA over the interpreter, that over the program's main.
main_frames='[.threads[] | select(.main)][0].frames'
in_place() { # FUNCTION
    holds "$main_frames | map(.function) as \$names | (\$names | index(\"$1\")) as \$at | \$at != null and
           .[\$at].module == \"lua\" and (.[\$at + 1:] | map(.module) | any(startswith(\"liblua\"))) and
           (\$names[\$at:] | index(\"main\")) != null"
}

case $case in
    compute) # nothing but instructions: each sample comes from a safepoint
        record compute --slow-message-ms 300
        report "$work/names"
        holds '.attribution.cause | IN("cpu", "cpu_contention")' # the second on a machine with too much to do
        blames spin 'local function spin'
        holds '.attribution.stack[0:2] == ["spin", "compute"]'
        ;;
    build) # inside Lua's allocator, where it cannot be asked
        record build --slow-message-ms 300
        report "$work/names"
        blames build 'function build'
        ;;
    resumed) # a coroutine, and who resumed it
        record resumed --slow-message-ms 300
        report "$work/names"
        blames spin 'local function spin'
        # With what resumed it between the two: each runs in a native call of its own.
        # shellcheck disable=SC2016 # these are jq's
        holds '.attribution.stack | .[0:2] == ["spin", "anonymous function"] and
               (index("stallbox_lua_call") as $call | index("resumed") as $outer | $call != null and $outer != null and $call < $outer)'
        ;;
    wait) # asleep in a C function that Lua called: told by the thread as it woke
        record wait --slow-message-ms 300
        report "$work/names"
        holds '.attribution.cause == "sleep"'
        in_place wait
        line=$(first_line 'sleep_ms(')
        holds "$main_frames | any(.function == \"wait\" and .line == $line)"
        ;;
    asleep) # the same, seen from outside while it sleeps
        record wait --anr-ms 500 --slow-message-ms 60000
        report "$work/names"
        holds '.trigger.kind == "anr" and .attribution.cause == "sleep"'
        in_place wait
        line=$(first_line 'sleep_ms(')
        holds "$main_frames | any(.function == \"wait\" and .line == $line)"
        ;;
    nested | entered_twice) # a state that C code of another state's script enters, or of its own: each in its place
        record "$case" --slow-message-ms 300
        report "$work/names"
        blames spin 'local function spin'
        # shellcheck disable=SC2016 # these are jq's
        holds "$main_frames"' | map([.function, .module]) as $all | map(.function) as $names
               | ($names | index("compute")) as $inner | ($names | index("in_plugin")) as $between | ($names | index("'"$case"'")) as $outer
               | $inner != null and $between != null and $outer != null and $inner < $between and $between < $outer
               and ($all[$inner:$between] | map(.[1]) | any(startswith("liblua"))) and ($all[$outer:] | map(.[1]) | any(startswith("liblua")))'
        ;;
    nobody_named) # without the file of names a function is known by its number, and nothing of the script left the machine
        record compute --slow-message-ms 300
        report
        holds '.attribution | (.function | test("^function [0-9a-f]{16}$")) and (.module | test("^runtime [0-9a-f]{16}$"))'
        payload=$(find "$work/spool" -name '*.sbx' | head -n 1)
        "$stallbox" show --what-leaves "$payload" >"$work/leaves" || fail "show refuses the payload"
        grep -q 'function_id' "$work/leaves" || fail "show does not tell of functions"
        if tail -c +41 "$payload" | zstd -dcq | grep -qaE 'spin|compute|stall\.lua'; then
            fail "a name is in the payload"
        fi
        ;;
    *)
        echo "lua_test.sh: no case $case" >&2
        exit 2
        ;;
esac
echo "lua_test $case: $(jq -r '.attribution | "\(.cause): \(.function) \(.file):\(.line)"' "$work/report")"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# java_report.sh - a stall in a handler of a Java server is told with Java's own function, file and line.
#
# usage: java_report.sh STALLBOX JAVA CLASSES SOURCE CASE
# The server, its command line and its environment know nothing of the recorder. Lines are looked up in SOURCE.
set -euo pipefail
stallbox=$1 java=$2 classes=$3 source=$4 case=$5
"$(dirname "${BASH_SOURCE[0]}")/is_known_java.sh" "$java" || exit 77
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-java.XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache

fail() {
    echo "java_report $case: $*" >&2
    jq -c '{trigger, attribution, loss, frames: [.threads[] | {name, frames: [.frames[] | [.function, .module, .line]]}]}' \
        "$work/report" >&2 || true
    exit 1
}
line_of() { grep -n -- "// $1" "$source" | head -n 1 | cut -d: -f1; }
record() { # FUNCTION PATH...
    local function=JavaShop.$1
    shift
    timeout 400 "$stallbox" run --spool "$work/spool" --anr-ms 60000 --slow-message-ms 700 -- "$java" -cp "$classes" JavaShop "$@" \
        >"$work/out" 2>"$work/err" || fail "the server ended with $?: $(cat "$work/err")"
    # A busy machine may have made another request slow as well.
    "$stallbox" report --format json "$work/spool" |
        jq -sc --arg f "$function" '([.[] | select(.attribution.stack | index($f))] + .)[0]' >"$work/report"
}
holds() { jq -e "$1" "$work/report" >/dev/null || fail "not so: $1"; }
blames() { holds ".attribution | .function == \"JavaShop.$1\" and .file == \"JavaShop.java\""; }

case $case in
    compute)
        record price / /compute
        holds '.attribution.cause | IN("cpu", "cpu_contention")' # the second on a machine with too much to do
        blames price
        holds ".attribution.line >= $(line_of computing) - 2 and .attribution.line <= $(line_of computing)"
        holds '.attribution.stack | index("JavaShop.handle") != null'
        # Native, Java, native in the order of the calls, to the thread's begin.
        holds '[.attribution.stack[] | select(. == "start_thread" or . == "java.lang.Thread.run" or startswith("JavaCalls::"))][0:2]
               | .[0] == "java.lang.Thread.run" and (.[1] | startswith("JavaCalls::"))'
        holds '.attribution.stack[-1] | . == "clone3" or . == "clone" or . == "start_thread"'
        # The names of a jar are those that the machine told, and name the payloads where the machine's own map is not.
        mkdir "$work/names" "$work/bare" "$work/names.jar"
        (cd "$classes" && python3 -c 'import sys, zipfile, glob
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as jar:
    [jar.write(name) for name in sorted(glob.glob("*.class"))]' "$work/shop.jar")
        "$stallbox" symbols names -o "$work/names" "$classes" >/dev/null
        "$stallbox" symbols names -o "$work/names.jar" "$work/shop.jar" >/dev/null
        cmp "$work/names/provider-java.map" "$work/names.jar/provider-java.map" || fail "a jar and its classes have other names"
        grep 'JavaShop' "$work/spool/provider-java.map" | sort >"$work/told"
        sort "$work/names/provider-java.map" | comm -23 "$work/told" - >"$work/missing"
        if [ ! -s "$work/told" ] || [ -s "$work/missing" ]; then
            fail "not in the names of the classes: $(cat "$work/missing")"
        fi
        grep -q $'\t<jvm>\t(deoptimized)$' "$work/names/provider-java.map" || fail "the mark of what was deoptimized has no name"
        cp "$work/spool"/*.sbx "$work/bare"
        "$stallbox" report --format json --symbols "$work/names" "$work/bare" |
            jq -sc '([.[] | select(.attribution.stack | index("JavaShop.price"))] + .)[0]' >"$work/report"
        blames price
        # Obfuscated: what was written down leads back.
        printf '%s\n' 'com.example.Till -> JavaShop:' '    1:500:void cost(int):1001:1500 -> price' >"$work/mapping.txt"
        "$stallbox" symbols names -o "$work/names" --mapping "$work/mapping.txt" "$classes" >/dev/null
        "$stallbox" report --format json --symbols "$work/names" "$work/bare" |
            jq -sc '([.[] | select(.attribution.stack | index("com.example.Till.cost"))] + .)[0]' >"$work/report"
        holds '.attribution | .function == "com.example.Till.cost" and .file == "Till.java"'
        holds ".attribution.line >= 1000 + $(line_of computing) - 2 and .attribution.line <= 1000 + $(line_of computing)"
        ;;
    virtual) # a virtual thread that has not waited: its frames, then its carrier's, to the kernel thread's begin
        record price virtual / /compute
        holds '.attribution.cause | IN("cpu", "cpu_contention")'
        blames price
        holds '[.attribution.stack[] | select(. == "JavaShop.handle" or . == "java.lang.VirtualThread.run" or . == "java.lang.VirtualThread.runContinuation"
                or startswith("JavaCalls::"))][0:4] | .[0:3] == ["JavaShop.handle", "java.lang.VirtualThread.run", "java.lang.VirtualThread.runContinuation"]
               and (.[3] | startswith("JavaCalls::"))'
        ;;
    recurse)
        record recurse / /recurse
        blames fib
        holds '.attribution.stack | index("JavaShop.recurse") != null'
        ;;
    lambda)
        record inner / /lambda
        blames price
        holds '.attribution.stack | index("JavaShop.inner") != null'
        ;;
    monitor)
        record pay / /monitor
        blames pay
        holds '.attribution.cause == "lock"'
        holds '.attribution.culprit_thread.function == "JavaShop.price" or .attribution.culprit_thread.function == "JavaShop.count"'
        ;;
    lock)
        record fetch / /lock
        blames fetch
        holds '.attribution.cause == "lock"'
        ;;
    sleep)
        record doze / /sleep
        blames doze
        holds '.attribution.cause == "sleep"'
        ;;
    gc)
        record tidy / /gc
        blames tidy
        holds '.attribution.cause == "gc"'
        holds '[.attribution.evidence[] | select(.kind == "operation") | .text] | length == 1 and (.[0] | contains("VM_"))'
        holds '[.attribution.evidence[] | select(.kind == "allocator") | .text] | length == 1 and (.[0] | contains("allocated most meanwhile"))'
        ;;
    allocate) # told in MiB, rounded down by up to a sixteenth at each record, and up to a buffer and an interval short
        record bake / /allocate
        baked=$(cat "$work/out")
        holds '.attribution.function == "JavaShop.bake"'
        holds "[.attribution.evidence[] | select(.kind == \"allocations\") | .value * 1048576 / $baked] | length == 1 and .[0] > 0.8 and .[0] < 1.05"
        ;;
    rest) # a pool that waits for work is nobody's stall
        timeout 400 "$stallbox" run --spool "$work/spool" --anr-ms 800 --slow-message-ms 1900 -- "$java" -cp "$classes" JavaShop / /rest / \
            >"$work/out" 2>"$work/err" || fail "the server ended with $?"
        # On a machine that has too much to do, what had no processor for so long did stall, at its start or at a request: that is the machine's.
        read -r load _ </proc/loadavg
        told=.
        [ "${load%.*}" -lt $((3 * $(nproc))) ] || told='select(.attribution.cause != "cpu_contention")'
        "$stallbox" report --format json "$work/spool" 2>/dev/null | jq -c "$told" >"$work/report" || true
        [ ! -s "$work/report" ] || fail "stalls of a server that rests: $(wc -l <"$work/report")"
        ;;
esac

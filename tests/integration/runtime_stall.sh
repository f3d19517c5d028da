#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# runtime_stall.sh - a stall of an unchanged program in a runtime is told by its own function, file and line, and no name leaves.
#
# The test of each runtime sources this file, defines judge_frames() and calls
#   runtime_stall MODULE STALLBOX INTERPRETER SCRIPT FOLDER...
# SCRIPT runs in a copy in each FOLDER: what is told is the same, and the folder is in none of it. Its functions crunch and handler are on the
# stack of the stall. judge_frames() is called with the report of each; holds(), line_of() and blames_crunch() serve it. The program starts in $start_in, or else in the folder of its copy.

fail() {
    echo "runtime_stall $interpreter: $*" >&2
    cat "$work/err" >&2
    jq -c '{trigger, attribution, loss, frames: [.threads[] | select(.main) | .frames[] | [.function, .module, .line]]}' \
        "$work/report" >&2 || true
    exit 1
}
holds() { jq -e "$1" "$work/report" >/dev/null || fail "not so: $1"; }
line_of() { grep -n -- "$1" "$script" | head -n 1 | cut -d: -f1; }

# The blamed function is crunch, at one of its lines.
blames_crunch() { # FIRST-LINE'S-PATTERN LAST-LINE'S-PATTERN
    holds ".attribution | .function == \"crunch\" and .module == \"$module\" and .file == \"${script##*/}\" and
           .line >= $(line_of "$1") and .line <= $(line_of "$2")"
}

# On a busy machine the recorder's own thread may have no processor for most of so short a stall, and what it did not see is not charged. Or the program,
# which computes, waits for its pages longer than it computes. Then once more.
record_stall() { # SPOOL START-FOLDER SCRIPT
    for _ in 1 2 3; do
        rm -rf "$1"
        (cd "$2" && timeout 300 "$stallbox" run --spool "$1" --slow-message-ms 170 -- "$interpreter" "$3") 2>"$work/err" ||
            fail "the program ended with $?"
        "$stallbox" report --format json "$1" | head -n 1 >"$work/report" || true # of a folder that is empty it says so and fails
        [ ! -s "$work/report" ] || jq -e '.attribution.class == "off_cpu"' "$work/report" >/dev/null || break
    done
}

# The names of the sources are those that the program told, and name the payload where the program's own map is not.
judge_names() { # FOLDER
    local names=$work/names.${1%%/*} bare=$work/bare/${1%%/*} line
    mkdir -p "$names" "$bare"
    "$stallbox" symbols names -o "$names" "$work/$1" >/dev/null 2>"$work/err" || fail "no names from the sources"
    cut -f1,4 "$names/provider-$module.map" >"$work/made"
    while read -r line; do
        grep -qxF "$line" "$work/made" || fail "not in the names of the sources: $line"
    done <"$work/ids.${1%%/*}"
    cp "$work/$1"/spool/*.sbx "$bare"
    "$stallbox" report --format json --symbols "$names" "$bare" | head -n 1 >"$work/report"
    holds ".attribution | .function == \"crunch\" and .module == \"$module\" and .file == \"${script##*/}\""
}

runtime_stall() { # MODULE STALLBOX INTERPRETER SCRIPT FOLDER...
    module=$1 stallbox=$2 interpreter=$3 script=$4
    shift 4
    local name=${script##*/} folder copy map payload
    work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-$module.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    export XDG_CACHE_HOME=$work/cache
    for folder in "$@"; do
        copy=$work/$folder
        map=$copy/spool/provider-$module.map
        mkdir -p "$copy"
        cp "$script" "$copy/$name"
        record_stall "$copy/spool" "${start_in:-$copy}" "$copy/$name"
        judge_frames
        grep -q "${name}	crunch$" "$map" || fail "the name was not written"
        cut -f1,4 "$map" | grep -E "	(crunch|handler)$" | sort >"$work/ids.${folder%%/*}"
        judge_names "$folder"
        for payload in "$copy"/spool/*.sbx; do
            tail -c +41 "$payload" | zstd -dcq >"$work/plain" || fail "the payload could not be opened" # behind the header: docs/FORMATS.md
            if grep -aqE "crunch|${name/./\\.}|deeper" "$work/plain"; then
                fail "a name is in the payload"
            fi
        done
    done
    # Switched off: the program is told by its native frames, and nothing was loaded into it.
    export STALLBOX_RUNTIMES=off
    record_stall "$work/off" . "$work/$1/$name"
    holds "[.threads[].frames[] | select(.module == \"$module\")] | length == 0"
    [ ! -e "$work/off/provider-$module.map" ] || fail "names were written although it is switched off"

    [ $# -eq 1 ] || cmp -s "$work"/names.{one,two}/"provider-$module.map" || fail "names of the sources differ between two folders"
    [ $# -eq 1 ] || cmp -s "$work/ids.one" "$work/ids.two" || fail "ids differ between two folders: $(diff "$work/ids.one" "$work/ids.two")"
}

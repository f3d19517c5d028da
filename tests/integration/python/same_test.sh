#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# same_test.sh STALLBOX PYTHON PROGRAM - a program that looks closely at what leads to the recorder (PROGRAM.py: contexts, pools) sees the same with it and without.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
stallbox=$1 python=$2 program=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-same.XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache PYTHONDONTWRITEBYTECODE=1

tell() { sed 's/0x[0-9a-f]*/ADDRESS/g'; }
"$python" "$here/$program.py" | tell >"$work/bare"
[ "$(wc -l <"$work/bare")" -ge 25 ] || { echo "same_test $python $program: the program alone fails" >&2; exit 1; }
timeout 800 "$stallbox" run --spool "$work/spool" --anr-ms 0 --slow-message-ms 300 -- "$python" "$here/$program.py" recorded 2>"$work/err" |
    tell >"$work/recorded"
diff "$work/bare" "$work/recorded" || { echo "same_test $python $program: it sees the recorder" >&2; exit 1; }
"$stallbox" report --format json "$work/spool" >"$work/told"
jq -e -s 'any(.[]; .attribution.queued_by.function == "ask_last" or any(.attribution.evidence[]?; .text | test("queued by ask_last")))' "$work/told" >/dev/null ||
    { cat "$work/err" "$work/told" >&2; echo "same_test $python $program: the recorder was not there" >&2; exit 1; }

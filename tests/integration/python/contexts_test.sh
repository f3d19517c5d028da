#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# contexts_test.sh STALLBOX PYTHON - a program that looks closely at contexts, callbacks and tasks sees the same with the recorder and without.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
stallbox=$1 python=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-contexts.XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache

tell() { sed 's/0x[0-9a-f]*/ADDRESS/g'; }
"$python" "$here/contexts.py" | tell >"$work/bare"
[ "$(wc -l <"$work/bare")" -ge 25 ] || { echo "contexts_test $python: the program alone fails" >&2; exit 1; }
timeout 280 "$stallbox" run --spool "$work/spool" --anr-ms 0 --slow-message-ms 300 -- "$python" "$here/contexts.py" recorded 2>"$work/err" |
    tell >"$work/recorded"
diff "$work/bare" "$work/recorded" || { echo "contexts_test $python: it sees the recorder" >&2; exit 1; }
"$stallbox" report --format json "$work/spool" | jq -e -s 'any(.[]; .attribution.queued_by.function == "ask_last")' >/dev/null ||
    { cat "$work/err" >&2; echo "contexts_test $python: the recorder was not there" >&2; exit 1; }

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# import_test.sh - Debian's python3 imports modules while the recorder hooks them, many times at once.
#
# usage: import_test.sh STALLBOX
# A module is in the loader's list before it is relocated. A recorder that touched it then made the loader fault: with
# `import ssl` on a busy machine in one start of nine. The poll loop before the imports wakes the recorder up.
set -euo pipefail
stallbox=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-python.XXXXXX")
trap 'rm -rf "$work"' EXIT

program='
import select
for _ in range(3):
    select.poll().poll(1)
import ssl, sqlite3, ctypes, decimal, lzma, bz2
print("done")
'
start_many() {
    local failures=0
    for _ in $(seq 15); do
        said=$("$stallbox" run --quiet --spool "$work/spool" -- /usr/bin/python3 -c "$program") || said="exit status $?"
        [ "$said" = "done" ] || { echo "import_test: python3 said: $said" >&2; failures=$((failures + 1)); }
    done
    return "$failures"
}
pids=()
for _ in 1 2 3 4; do
    start_many &
    pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do
    wait "$pid" || failed=$((failed + $?))
done
echo "import_test: $failed of 60 starts failed"
[ "$failed" -eq 0 ]

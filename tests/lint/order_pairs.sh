#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# order_pairs.sh - atomics have the order in their name, live in one header, and say what they pair with.
#
# usage: order_pairs.sh SOURCE-ROOT
set -euo pipefail
cd "$1"
status=0

bare=$(grep -rnE '__atomic_|__sync_|stdatomic\.h' agent capture policy uploader --include='*.c' --include='*.h' |
    grep -v '^capture/port/order\.h:' || true)
if [ -n "$bare" ]; then
    echo "order_pairs: bare atomics outside capture/port/order.h:" >&2
    echo "$bare" >&2
    status=1
fi

names() { # acquire-like or release-like names in the order comments
    grep -rhoE "order: (seq_cst |acq_rel |$1 )[a-z_]+(\.[a-z_]+)*" agent capture tool --include='*.c' --include='*.h' |
        awk '{ print $3 }' | sort -u
}
# Without a partner in the sources: table words whose readers depend on nothing else (callstack_table.c says why), and the
# note, which is read from the file of a dead process.
alone=$'frames\nids\nnodes\nnote.open'
unpaired=$(comm -23 <(comm -23 <(names release) <(names acquire)) <(echo "$alone"))
if [ -n "$unpaired" ]; then
    echo "order_pairs: released, but nobody says that he acquires it:" >&2
    echo "$unpaired" | sed 's/^/  /' >&2
    status=1
fi
[ "$status" -eq 0 ] && echo "order_pairs: $(names release | wc -l) names, all paired"
exit "$status"

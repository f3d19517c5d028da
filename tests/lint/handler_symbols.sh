#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# handler_symbols.sh - what runs in a signal handler calls nothing but what docs/SIGNAL_SAFETY.md allows.
#
# usage: handler_symbols.sh ALLOW-LIST OBJECT...
# The objects are the handler's house and what it calls: the recording's writers and the walker. What they need and do not
# define must stand in the list, one symbol a line, '#' comments. Calls through pointers are not seen: that stays a review
# matter. TLS must be initial-exec: the general model calls the allocator.
set -euo pipefail
allow_list=$1
shift
[ $# -gt 0 ] || { echo "handler_symbols: no objects given" >&2; exit 1; }

wanted=$("${NM:-nm}" -u "$@" | awk '$1 == "U" || $1 == "w" { print $2 }' | sort -u)
defined=$("${NM:-nm}" --defined-only "$@" | awk 'NF == 3 { print $3 }' | sort -u)
allowed=$(sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$allow_list" | sort -u)
forbidden=$(comm -23 <(comm -23 <(echo "$wanted") <(echo "$defined")) <(echo "$allowed"))
if [ -n "$forbidden" ]; then
    echo "handler_symbols: the handler's house needs symbols that $allow_list does not allow:" >&2
    echo "$forbidden" | sed 's/^/  /' >&2
    exit 1
fi
if "${READELF:-readelf}" -rW "$@" | grep -E 'TLSGD|TLSLD|TLSDESC|GOTPC32_TLSDESC' >&2; then
    echo "handler_symbols: thread-local storage must be initial-exec here" >&2
    exit 1
fi
echo "handler_symbols: $# objects, $(echo "$wanted" | wc -l) symbols, all allowed"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# exported_symbols.sh - the library exports what its header declares, each with the version of the map, and nothing else.
#
# usage: exported_symbols.sh HEADER LIBRARY
set -euo pipefail
declared=$(grep -oE '^STALLBOX_EXPORT .*[ *](stallbox_[a-z_]+)\(' "$1" | grep -oE 'stallbox_[a-z_]+\($' | tr -d '(' | sort)
[ "$(wc -l <<<"$declared")" -ge 19 ] || { echo "exported_symbols: too few declarations found in $1" >&2; exit 1; }
exported=$("${NM:-nm}" -D --defined-only "$2" | awk '$2 != "A" { print $3 }' | sort)
wanted=$(sed 's/$/@@STALLBOX_0.1/' <<<"$declared")
if [ "$wanted" != "$exported" ]; then
    echo "exported_symbols: declared (<) and exported (>) differ:" >&2
    diff <(echo "$wanted") <(echo "$exported") >&2 || true
    exit 1
fi
echo "exported_symbols: $(wc -l <<<"$declared") symbols of STALLBOX_0.1"

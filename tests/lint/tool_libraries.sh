#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tool_libraries.sh PROGRAM - the command is not linked with libraries that only what sends or serves needs.
#
# They bring thirty others along, and would be most of what it takes to start any command (late/README.md).
set -eu

needed=$("${READELF:-readelf}" -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
if [ -z "$needed" ]; then
    echo "$1 needs no library at all, not even libc: it cannot be judged" >&2
    exit 1
fi
if found=$(printf '%s\n' "$needed" | grep -E '^lib(curl|pq|microhttpd|ssl|crypto|gnutls|debuginfod)[.-]'); then
    printf '%s is linked with:\n%s\nbut these are loaded when they are first called: see late/README.md\n' "$1" "$found" >&2
    exit 1
fi

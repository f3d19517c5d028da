#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# payload_schema_bites.sh SCHEMA - payload_schema.sh refuses each thing it is there to refuse.
set -eu

schema=$1
check=$(dirname "$0")/payload_schema.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

# One more statement in message Threads, or at the end when it is a message of its own.
expect_refused() {
    case $1 in
    message*) { cat "$schema"; printf '%s\n' "$1"; } >"$scratch/payload.proto" ;;
    *) awk -v line="  $1" '{ print } /^message Threads /{ print line }' "$schema" >"$scratch/payload.proto" ;;
    esac
    if cmp -s "$schema" "$scratch/payload.proto"; then
        echo "\"$1\" was not put in" >&2
        failed=1
    fi
    if "$check" "$scratch/payload.proto" 2>/dev/null; then
        echo "\"$1\" was let through" >&2
        failed=1
    fi
}

expect_refused 'string label = 99;'
expect_refused 'repeated string label = 99;'
expect_refused 'bytes stack_memory = 99;'
expect_refused 'repeated bytes payload_id = 99;'
expect_refused 'map<uint32, uint32> counts = 99;'
expect_refused 'oneof what { uint32 a = 98; }'
expect_refused 'fixed64 address = 99;'
expect_refused 'double load = 99;'
expect_refused 'Threads child = 99;'
expect_refused 'google.protobuf.Any extra = 99;'
expect_refused 'uint32 old = 99; string hidden = 98;'
expect_refused 'message Loop { Loop next = 1; }'
expect_refused 'message Note { string text = 1; }'
"$check" "$schema" || failed=1
exit $failed

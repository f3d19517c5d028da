#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# payload_schema.sh FILE - the wire schema has no place for what must not leave.
#
# Holds proto/stallbox/v1/payload.proto to: numbers, booleans and messages only; no bytes but the ten identifiers; no
# message inside another than Payload (so none contains itself: the decoder has no depth limit). A new kind of field is
# a decision, made here first.
set -eu

schema=$1
allowed_bytes='bytes payload_id
bytes session_id
bytes app_build_id
bytes rotating_id
bytes completes
bytes family_id
bytes parent_session
repeated bytes session_id
repeated bytes build_id
repeated bytes function_id'

# Without comments, one statement a line.
statements=$(sed -e 's@//.*@@' "$schema" | tr '\n' ' ' | sed -e 's@/\*[^*]*\*/@@g' -e 's/[;{}]/&\n/g' |
    sed -e 's/^[[:space:]]*//' -e 's/[[:space:]]\{1,\}/ /g' -e '/^$/d')

printf '%s\n' "$statements" | awk -v allowed="$allowed_bytes" -v file="$schema" '
    function refuse(reason) { printf "%s: %s: %s\n", file, reason, $0 > "/dev/stderr"; failed = 1 }
    BEGIN { count = split(allowed, list, "\n"); for (i = 1; i <= count; i++) may[list[i]] = 1 }
    /^syntax = "proto3";$/ || /^package stallbox\.v1;$/ { next }
    /^message [A-Z][A-Za-z]* \{$/ {
        if (inside != "") refuse("a message is declared inside another")
        inside = $2; declared[$2] = 1; next
    }
    /^\}$/ { inside = ""; next }
    /^reserved [0-9, to]*;$/ { next }
    /^(repeated )?[A-Za-z0-9_.]+ [a-z][a-z0-9_]* = [0-9]+;$/ {
        type = $1 == "repeated" ? $2 : $1
        name = $1 == "repeated" ? $3 : $2
        fields++
        if (type ~ /^(uint32|uint64|sint64|bool)$/) next
        if (type == "bytes") {
            whole = ($1 == "repeated" ? "repeated bytes " : "bytes ") name
            if (whole in may) seen++
            else refuse("bytes field that is not on the list")
            next
        }
        if (type ~ /^[A-Z]/) {
            if (inside != "Payload") refuse("a message in another message than Payload")
            used[type] = 1
            next
        }
        refuse("type that may not be in the schema")
        next
    }
    { refuse("statement that is not understood") }
    END {
        $0 = "end of the schema"
        for (type in used) if (!(type in declared)) refuse("message " type " is not declared here")
        if ("Payload" in used) refuse("Payload contains itself")
        if (seen != count || fields < 50) refuse(seen " identifiers and " fields " fields are not the whole of it")
        exit failed
    }'

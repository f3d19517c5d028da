#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# foreign_libc_test.sh - a program with another C library than the recorder's inherits LD_PRELOAD and runs as it does alone.
#
# usage: foreign_libc_test.sh STALLBOX PROGRAM
set -euo pipefail
tool=$1 program=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-foreign.XXXXXX")
trap 'rm -rf "$work"' EXIT
said=$("$tool" run --quiet --spool "$work/spool" -- sh -c "$program" 2>"$work/err") ||
    { echo "foreign_libc_test: it ended with $?: $(cat "$work/err")" >&2; exit 1; }
if [ "$said" != "done" ] || [ -s "$work/err" ]; then
    echo "foreign_libc_test: it said: $said $(cat "$work/err")" >&2
    exit 1
fi
echo "foreign_libc_test: it ran as it does alone"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# java_storm.sh - a JVM under a storm of interruptions: it lives on, its own checks say nothing, and nearly all stacks are whole.
#
# usage: java_storm.sh JAVA CLASSES LIBRARY [virtual]
# virtual: virtual threads too.
set -euo pipefail
java=$1 classes=$2 library=$3 mode=${4:-}
folder=$(dirname "${BASH_SOURCE[0]}")
"$folder/is_known_java.sh" "$java" || exit 77
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-java.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$java" --enable-native-access=ALL-UNNAMED -Xcheck:jni -Xss512k -XX:ErrorFile="$work/crash" -cp "$classes" \
    JavaStorm "$library" "${STALLBOX_JAVA_SECONDS:-6}" ${mode:+"$mode"} \
    >"$work/out" 2>"$work/err" || { echo "the JVM ended with $?"; cat "$work/out" "$work/err" "$work/crash"; exit 1; }
cat "$work/out"
if [ -s "$work/err" ] || grep -q WARNING "$work/out"; then
    echo "the machine remarked on something:"
    cat "$work/err"
    exit 1
fi
if [ "$mode" = virtual ] && grep -q ', 0 in the heap' "$work/out"; then
    echo "no stack of a virtual thread ended where the rest lies in the heap"
    exit 1
fi

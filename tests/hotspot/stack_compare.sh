#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# stack_compare.sh - Java's stacks by our walk and by the machine's own, in a JVM that runs as the options say.
#
# usage: stack_compare.sh JAVA CLASSES LIBRARY PROGRAM TURNS OPTION...
# Frames must have been found among those that earlier walks kept, interpreted and compiled ones, or that way was not compared at all.
set -euo pipefail
java=$1 classes=$2 library=$3 program=$4 turns=${STALLBOX_JAVA_TURNS:-$5}
shift 5
"$(dirname "${BASH_SOURCE[0]}")/is_known_java.sh" "$java" || exit 77
told=$("$java" -Xshare:auto --enable-native-access=ALL-UNNAMED "$@" -cp "$classes" "$program" "$library" "$turns") || { echo "$told"; exit 1; }
echo "$told"
[[ "$told" != *" 0 frames were known"* ]] || { echo "no place was known"; exit 1; }
[ "$program" != VirtualCompare ] || [[ "$told" != *" the rest of 0 lay"* ]] || { echo "no stack ended in the heap"; exit 1; }

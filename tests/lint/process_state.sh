#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# process_state.sh TABLE LIBRARY - for each variable of the agent somebody has decided what a forked child does with it.
#
# Either it is named by SBX_OF_ONE_PROCESS() beside its definition, and zero again before the child records (capture/port/process_state.h), or it
# stands in TABLE with the reason why its parent's value is right, or who sets it anew. What is in both, or in neither, or in TABLE alone is
# refused. Pointers to originals (real_NAME) and lists of points are what the code is, and the same in every process.
set -euo pipefail
table=$1 library=$2
variables=$("${NM:-nm}" "$library" | awk '$2 ~ /^[bBdD]$/ { print $3 }' | sed 's/\.[0-9]*$//' |
    grep -vE '^(real_|_DYNAMIC|_GLOBAL_OFFSET|__|sbx_points?_|sbx_real_)' | sort -u)
[ "$(wc -l <<<"$variables")" -ge 60 ] || { echo "process_state: too few variables found in $library" >&2; exit 1; }
cleared=$(grep '^sbx_state_of_' <<<"$variables" | sed 's/^sbx_state_of_//')
kept=$(grep -vE '^(#|$)' "$table" | awk '{ print $1 }' | sort)
failed=0
refuse() { # WHAT NAMES
    [ -z "$2" ] || { sed "s|^|process_state: $1: |" <<<"$2" >&2; failed=1; }
}
others=$(grep -v '^sbx_state_of_' <<<"$variables" | grep -vxF "$cleared" || true)
refuse "nobody has decided what a forked child does with" "$(comm -23 <(echo "$others") <(echo "$kept"))"
refuse "$table names what is not there" "$(comm -13 <(echo "$others") <(echo "$kept") | grep -vxF "$cleared" || true)"
refuse "$table keeps what SBX_OF_ONE_PROCESS clears" "$(comm -12 <(sort <<<"$cleared") <(echo "$kept"))"
# What begins with another value than zero cannot be cleared.
begins=$("${NM:-nm}" "$library" | awk '$2 ~ /^[dD]$/ { print $3 }' | sed 's/\.[0-9]*$//' | sort -u)
refuse "SBX_OF_ONE_PROCESS would clear, but it does not begin as zero" "$(comm -12 <(sort <<<"$cleared") <(echo "$begins"))"
[ "$failed" = 0 ] || exit 1
echo "process_state: $(wc -l <<<"$cleared") variables of one process, $(wc -l <<<"$kept") kept"

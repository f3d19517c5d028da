#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sandbox_calls.sh - docs/SANDBOXES.md names the system calls that capture/port/sandbox_filter.c has, no more and no fewer.
# Whether the recorder makes others is call_threads.py's.
#
# usage: sandbox_calls.sh SOURCE-ROOT
set -euo pipefail
cd "$1"

code=$(sed -n '/sbx_calls_on_their_threads\[\] = {/,/^const size_t sbx_calls_for_asking_count/p' capture/port/sandbox_filter.c |
    grep -oE 'SYS_[a-z0-9_]+,' | tr -d ',' | sed 's/SYS_//' | sort -u)
page=$(sed -n '/^\* on the program/,/^$/p' docs/SANDBOXES.md | sed -E "s/^\* (on the program's threads|on the recorder's own|for samples of running threads, on either): (those, and)?//" |
    sed 's/; and of the old names of x86-64/,/' | tr ',' '\n' | tr -d ' ' | grep -E '^[a-z0-9_]+$' | sort -u)
if [ "$code" != "$page" ]; then
    diff <(echo "$code") <(echo "$page") | sed 's/^</in the code only:/; s/^>/on the page only:/' >&2 || true
    exit 1
fi

# `stallbox unit` judges filters by the same list. It leaves out the old names of x86-64.
judged=$(sed -n '/begin of calls/,/end of calls/p' tool/unit/unit_filter.c | grep -oE '"[a-z0-9_]+"' | tr -d '"' | sort -u)
wanted=$(grep -vxE 'stat|readlink|mkdir|unlink|rename|access|open|nanosleep' <<<"$code")
if [ "$judged" != "$wanted" ]; then
    diff <(echo "$wanted") <(echo "$judged") | sed 's/^</the recorder calls, and tool\/unit\/unit_filter.c does not have:/; s/^>/in tool\/unit\/unit_filter.c only:/' >&2 || true
    exit 1
fi

echo "sandbox_calls: $(wc -l <<<"$code") system calls"

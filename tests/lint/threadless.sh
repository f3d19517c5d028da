#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# threadless.sh - these test programs start no thread, so that ThreadSanitizer would find nothing in them (cmake/SbxTest.cmake).
#
# usage: threadless.sh PROGRAM...
set -euo pipefail
[ $# -gt 0 ] || { echo "threadless: no program" >&2; exit 1; }
found=0
for program in "$@"; do
    taken=$("${NM:-nm}" -D --undefined-only "$program" | grep -oE '\b(pthread_create|thrd_create|MHD_start_daemon[a-z_]*)\b' | sort -u || true)
    if [ -n "$taken" ]; then
        echo "threadless: ${program##*/} takes ${taken//$'\n'/, }: it is no longer one for the list in cmake/SbxTest.cmake" >&2
        found=1
    fi
done
[ "$found" -eq 0 ] || exit 1
echo "threadless: $# programs start no thread"

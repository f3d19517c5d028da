#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# host_cases.sh - docs/HOST_CASES.md has every case from 1 to 26, each with a test or a reason, and the tests it names are
# those that tests/host runs. Every path of the repository that the page names is there.
#
# usage: host_cases.sh SOURCE-ROOT
set -euo pipefail
cd "$1"
status=0
complain() {
    echo "host_cases: $1" >&2
    status=1
}

for case in $(seq 1 26); do
    row=$(grep -E "^\| HOST-$case \|" docs/HOST_CASES.md || true)
    if [ "$(grep -c . <<<"$row")" -ne 1 ]; then
        complain "HOST-$case stands in no row, or in several"
    elif ! grep -qE "$(printf 'host_%02d_' "$case")|LIMITS\.md|tests/stress/[a-z_]+\.c" <<<"$row"; then
        complain "HOST-$case has neither a test nor a reason"
    fi
    while read -r named; do
        [[ $named == "$(printf 'host_%02d_' "$case")"* ]] || complain "$named stands in the row of HOST-$case"
    done < <(grep -oE 'host_[0-9]{2}_[A-Za-z0-9_]+' <<<"$row" || true)
done
folders=$(for folder in [!b]*/ be*/; do echo "${folder%/}"; done | paste -sd'|') # not build/, which may not be there
while read -r path; do
    [ -e "$path" ] || complain "$path is named, and is not there"
done < <(grep -oE "(^|[^A-Za-z0-9_/.-])(\.\./)?($folders)/[A-Za-z0-9_./-]*" docs/HOST_CASES.md |
    sed -E 's|^[^A-Za-z0-9_/.]||; s|^\.\./||; s|[/.]*$||' | sort -u)

told=$(grep -oE 'host_[0-9]{2}_[A-Za-z0-9_]+' docs/HOST_CASES.md | sort -u)
run=$(grep -hoE 'HOST_TEST\(host_[0-9]{2}_[A-Za-z0-9_]+\)' tests/host/*.c | sed 's/.*(\(.*\))/\1/' | sort -u)
while read -r name; do
    [ -z "$name" ] || complain "no test runs $name"
done < <(comm -23 <(echo "$told") <(echo "$run"))
while read -r name; do
    [ -z "$name" ] || complain "$name stands in no row"
done < <(comm -13 <(echo "$told") <(echo "$run"))
[ "$status" -eq 0 ] && echo "host_cases: 26 cases, $(wc -l <<<"$run") tests"
exit "$status"

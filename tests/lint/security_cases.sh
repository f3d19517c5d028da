#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# security_cases.sh - docs/SECURITY.md has every case POL-1 to 20, SPL-1 to 13, NET-1 to 13, LOC-1 to 18 and SYM-1 to 11 in one row, each with a test of
# its name; every test it names is run by some program, and every test with such a name stands in the row of its case.
#
# usage: security_cases.sh SOURCE-ROOT
set -euo pipefail
cd "$1"
table=docs/SECURITY.md
status=0
complain() {
    echo "security_cases: $1" >&2
    status=1
}
name='(pol|spl|net|loc|sym)_[0-9]{2}_[a-z0-9_]+'

# What is run: the tests in a program's list (the second mention of a function's name), and the cases of a script.
run=$({
    grep -rhoE "[A-Za-z_]*(test|TEST)[a-z_]*\(test_${name}[,)]" --include='*.c' tests | grep -oE "$name"
    # Lists with a word of their own, and those that are broken behind it.
    grep -rhoE "^ +([A-Z_]+\()?(test_)?(loc|sym)_[0-9]{2}_[a-z0-9_]+[,)]" --include='*.c' tests | grep -oE "$name"
    grep -rhoE "ITEMS .*" --include=CMakeLists.txt tests/integration | grep -oE "$name"
} | sort -u)

# Each row by its case, and how often the case has one: all in bash, because hundreds of processes take minutes on a busy machine.
declare -A rows=() times=()
while IFS= read -r line; do
    if [[ $line =~ ^\|\ ((POL|SPL|NET|LOC|SYM)-[0-9]+)\ \| ]]; then
        rows[${BASH_REMATCH[1]}]=$line
        times[${BASH_REMATCH[1]}]=$((${times[${BASH_REMATCH[1]}]:-0} + 1))
    fi
done <"$table"
programs=$(find tests -name '*.c' -printf '/%f\n')

for cases in pol:20 spl:13 net:13 loc:18 sym:11; do
    kind=${cases%:*}
    for number in $(seq 1 "${cases#*:}"); do
        case=${kind^^}-$number
        prefix=$(printf '%s_%02d_' "$kind" "$number")
        row=${rows[$case]:-}
        if [ "${times[$case]:-0}" -ne 1 ]; then
            complain "$case stands in no row, or in several"
            continue
        fi
        named=$(grep -oE "$name|${prefix}\*" <<<"$row" | sort -u || true)
        [ -n "$named" ] || complain "$case has no test"
        while read -r one; do
            [ -n "$one" ] || continue
            [[ $one == "$prefix"* ]] || complain "$one stands in the row of $case"
            if [[ $one == *'*' ]]; then
                [[ $'\n'$run == *$'\n'"${one%\*}"* ]] || complain "no test runs $one"
            else
                [[ $'\n'$run$'\n' == *$'\n'"$one"$'\n'* ]] || complain "no test runs $one"
            fi
        done <<<"$named"
        while read -r one; do # the other way: a test that is not told of
            [ -n "$one" ] || continue
            [[ $row == *"$one"* || $row == *"\`${prefix}*\`"* ]] || complain "$one is not in the row of $case"
        done < <(grep "^$prefix" <<<"$run" || true)
        while read -r program; do # `test_delivery_kills` is tests/delivery/test_kills.c
            [[ $'\n'$programs$'\n' == *$'\n'"/$program.c"$'\n'* || $'\n'$programs$'\n' == *$'\n'"/test_${program#test_*_}.c"$'\n'* ]] ||
                complain "$program is no test program"
        done < <(grep -oE "\`test_[a-z_]+\`" <<<"$row" | tr -d "\`" | sort -u || true)
    done
done
[ "$status" -eq 0 ] && echo "security_cases: ${#rows[@]} cases, $(grep -c . <<<"$run") tests"
exit "$status"

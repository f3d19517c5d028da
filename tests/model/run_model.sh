#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run_model.sh FILE.pml [NAME...] - checks a Promela model exhaustively with spin; it must hold as it is, and it must fail
# with each NAME defined: a model that cannot fail proves nothing.
#
# Exits 77 (skipped) where spin is missing. The C compiler is $CC, or cc.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: run_model.sh FILE.pml [NAME...]" >&2; exit 2; }
model=$(realpath "$1")
shift
if ! command -v spin >/dev/null; then
    echo "run_model: spin is not installed (Debian: apt-get install spin); nothing was checked"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-model.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

# Safety only. Prints pan's summary to $work/out. A defect is met after some steps, so that
# the compiler would take longer for a fast search than the search does.
check() { # [DEFINE]
    rm -f pan* out model.pml
    cp "$model" model.pml
    spin ${1:+-D$1} -a model.pml >spin.out 2>&1 || { cat spin.out >&2; exit 1; }
    "${CC:-cc}" -w "-O$([ $# -eq 0 ] && echo 1 || echo 0)" -DSAFETY -DMEMLIM=3000 -o pan pan.c 2>cc.out || { cat cc.out >&2; exit 1; }
    ./pan -m200000 >out 2>&1 || true
    if grep -qE 'max search depth too small|out of memory|reached -DMEMLIM' out; then
        echo "run_model: the search of $model was cut short" >&2
        cat out >&2
        exit 1
    fi
    grep -q 'errors:' out || { cat out >&2; exit 1; }
}

name=$(basename "$model" .pml)
check
if ! grep -q 'errors: 0' out; then
    cat out >&2
    spin -t -p -g model.pml 2>/dev/null | tail -n 60 >&2
    echo "run_model: $name does not hold" >&2
    exit 1
fi
echo "$name holds: $(awk '/states, stored/ { print $1 }' out) states"
for broken in "$@"; do
    check "$broken"
    if grep -q 'errors: 0' out; then
        echo "run_model: $name still holds with $broken: the model does not see what it is about" >&2
        exit 1
    fi
    echo "$name fails with $broken, as it must: $(grep -m1 -oE 'assertion violated.*|invalid end state.*' out)"
done

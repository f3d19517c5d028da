#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# own_bindings.sh - what libstallbox.so takes from others it can bind to the C library itself, but for what
# docs/SIGNAL_SAFETY.md says; and what runs before that is done calls nothing.
#
# usage: own_bindings.sh PAGE LIBRARY OBJECT...
# PAGE has a table of what is not bound, below the heading "Own bindings". The objects are those that run before.
set -euo pipefail
page=$1
library=$2
shift 2
[ $# -gt 0 ] || { echo "own_bindings: no objects given" >&2; exit 1; }
readelf=${READELF:-readelf}
status=0
complain() {
    echo "own_bindings: $1" >&2
    status=1
}

# A slot of another kind keeps what the loader put there, whoever that is.
odd=$("$readelf" -rW "$library" | awk '$3 ~ /^R_/ && NF >= 5 && $3 !~ /_(JUMP_SLOT|JUMP_SLO|GLOB_DAT|RELATIVE|RELATIV)$/ &&
    $3 !~ /TPOFF|TPREL|DTPMOD/ { print $3, $5 }' | sort -u)
[ -z "$odd" ] || complain "relocations that cannot be bound anew: $odd"

# shellcheck disable=SC2016 # the backquotes are the page's
told=$(sed -n '/^## Own bindings/,/^## [^O]/p' "$page" | sed -n 's/^| \([^|]*\) |.*/\1/p' | grep -o '`[^`]*`' | tr -d '`' | sort -u)
[ -n "$told" ] || complain "$page has no table of what is not bound"

# Of the undefined symbols those are functions that the linker found in the C library as such.
taken=$("$readelf" --dyn-syms -W "$library" | awk '$7 == "UND" && NF >= 8 { sub(/@.*/, "", $8); print $4, $8 }' | sort -u)
others=$(awk '$1 != "FUNC" && $1 != "GNU_IFUNC" && $1 != "IFUNC" { print $2 }' <<<"$taken" | sort -u)
while read -r name; do
    [ -z "$name" ] || grep -qxF -- "$name" <<<"$told" || complain "$name is no function of the C library, and $page does not tell of it"
done <<<"$others"
while read -r name; do
    case $name in # which a compiler may leave out, or which the other C library has
        _ITM_* | __gmon_start__ | _dl_debug_addr) continue ;;
    esac
    grep -q gnu_get_libc_version <<<"$taken" || continue
    grep -qxE -- "[A-Z_]+ $name" <<<"$taken" || complain "$page tells of $name, which the library does not take"
done <<<"$told"

called=$("${NM:-nm}" -u "$@" | awk '$1 == "U" || $1 == "w" { print $2 }' | sort -u)
allowed='^(_DYNAMIC|_GLOBAL_OFFSET_TABLE_|_r_debug|_dl_debug_addr|__sanitizer_set_death_callback|gnu_get_libc_version|sbx_elf_image_[a-z_]*)$'
early=$(grep -Ev "$allowed" <<<"$called" || true)
[ -z "$early" ] || complain "called before our own slots are bound: $early"

[ "$status" -eq 0 ] || exit 1
echo "own_bindings: $(wc -l <<<"$taken") symbols taken from others, $(wc -l <<<"$told") left as they are"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# forgotten_places.sh - a place that C does not fill, and one that the template does not have, do not compile.
#
# usage: forgotten_places.sh COMPILE_TEMPLATE CC FOLDER-OF-html_fill.h
set -euo pipefail
compile_template=$1 cc=$2 answer=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo '<p>{{a}}{{b}}</p>' >"$folder/two.html"
"$compile_template" "$folder/two.html" "$folder/two.html.h"

# fills PLACE...: a C file with a case for each.
fills() {
    echo '#include "two.html.h"'
    echo 'void put(struct sbx_byte_buffer *page);'
    echo 'void put(struct sbx_byte_buffer *page) { SBX_FILL(page, two, at) {'
    printf 'case %s: sbx_fill_text(&at, "x"); break;\n' "$@"
    echo '} }'
}
compiles() {
    fills "$@" >"$folder/page.c"
    "$cc" -std=gnu11 -Werror=switch-enum -fsyntax-only -I "$folder" -I "$answer" "$folder/page.c" 2>"$folder/messages"
}
# refuses WORD PLACE...: it does not compile, and the message names WORD.
refuses() {
    local word=$1
    shift
    if compiles "$@"; then
        echo "forgotten_places: compiles with $* alone" >&2
        exit 1
    fi
    grep -q "$word" "$folder/messages" || { cat "$folder/messages" >&2; exit 1; }
}

compiles TWO_A TWO_B || { cat "$folder/messages" >&2; exit 1; }
refuses TWO_B TWO_A
refuses TWO_C TWO_A TWO_B TWO_C

# A broken template leaves no header behind, and says where it is broken.
printf '<p>\n{{a}}\n' >"$folder/broken.html"
if "$compile_template" "$folder/broken.html" "$folder/broken.html.h" 2>"$folder/messages"; then
    echo "forgotten_places: a broken template is taken" >&2
    exit 1
fi
grep -q 'broken.html:1: <p> is not closed in broken' "$folder/messages"
[ ! -e "$folder/broken.html.h" ]

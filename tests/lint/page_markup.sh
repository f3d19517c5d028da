#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# page_markup.sh - no file of C writes markup: HTML comes from templates, and values through what escapes them.
#
# usage: page_markup.sh SOURCE-ROOT
set -euo pipefail
cd "$1"

wrong=0
checked=0
for file in server/{pages,work,triage,symbols,replies,front}/*.c; do
    checked=$((checked + 1))
    # A string that looks like a tag or an entity; system headers are no strings.
    if grep -nE '"[^"]*(</?[a-z]|&[a-z]+;)' "$file" | grep -vE '^[0-9]+:#include'; then
        echo "page_markup: $file has markup in a string; it belongs into a template (server/pages/README.md)" >&2
        wrong=1
    fi
done
for file in server/pages/*.c; do
    # Bytes get to a page through html_fill.h only.
    if grep -nE 'sbx_byte_buffer_(append|text|format)|sbx_html_' "$file"; then
        echo "page_markup: $file writes to a page past html_fill.h" >&2
        wrong=1
    fi
done
# What appends without escaping is one file's.
if grep -lE 'struct sbx_(piece|markup|fragment) ' server/*.c server/*/*.c | grep -v '^server/answer/html_fill.c$'; then
    echo "page_markup: fragments are made by the compiler of templates" >&2
    wrong=1
fi
[ "$checked" -gt 60 ] || { echo "page_markup: only $checked files found below $1" >&2; exit 1; }
[ "$wrong" -eq 0 ] || exit 1
echo "page_markup: $checked files, no markup in them"

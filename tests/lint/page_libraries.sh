#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# page_libraries.sh - the libraries that pages load are those that server/pages/assets/vendor/packages.txt lists, with their licences; routes, pages and the content
# security policy name them as they are; and the scripts of pages put no text into a page as markup.
#
# usage: page_libraries.sh SOURCE-ROOT
set -euo pipefail
cd "$1"
vendor=server/pages/assets/vendor
wrong=0
say() {
    echo "page_libraries: $*" >&2
    wrong=1
}

listed=0
while read -r file hash package version _; do
    case $file in '' | '#'*) continue ;; esac
    listed=$((listed + 1))
    [ "$(sha256sum <"$vendor/$file")" = "$hash  -" ] || say "$vendor/$file is not the file that packages.txt lists"
    case $file in
        LICENSE.*) continue ;;
        "$package-$version".min.js) ;;
        *) say "$vendor/$file is $package $version, and its name does not say so" ;;
    esac
    [ -s "$vendor/LICENSE.$package" ] || say "there is no $vendor/LICENSE.$package"
    for place in server/front/routes.c server/pages/templates/frame.html; do
        grep -qF "\"/$file\"" "$place" || say "$place does not name /$file"
    done
    grep -q "$package" docs/DEPENDENCIES.md || say "docs/DEPENDENCIES.md does not name $package"
done <"$vendor/packages.txt"
for file in "$vendor"/*; do
    [ "$file" = "$vendor/packages.txt" ] || grep -q "^${file##*/} " "$vendor/packages.txt" || say "$file is not listed"
done
[ "$listed" -ge 4 ] || say "only $listed files are listed"

# The style that the library of flame graphs puts into a page is the one that the policy lets through.
# shellcheck disable=SC2016 # a backquote is JavaScript's
style=$(tr '\n' '\001' <"$vendor"/d3-flame-graph-*.min.js | grep -o 'textContent=`[^`]*`' | head -n 1)
style=${style#textContent=\`}
style=${style%\`}
hash=$(printf '%s' "$style" | tr '\001' '\n' | openssl dgst -sha256 -binary | base64)
grep -qF "'sha256-$hash'" server/front/http.c || say "server/front/http.c lets another style through than sha256-$hash"

if grep -nE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|\.html\(' server/pages/assets/*.js; then
    say "a script of pages makes markup of text"
fi
[ "$wrong" -eq 0 ] || exit 1
echo "page_libraries: $listed files, as listed"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# path_test.sh STALLBOX PYTHON FOLDER... - functions have the ids that are made from the sources, wherever these lie, however the interpreter came to know their
# folder: added while the program ran, by its whole path or from the working folder, or as the working folder itself (python -c); and whatever the path
# of the script: with dots, or through a symbolic link.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
stallbox=$1 python=$2
shift 2
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-path.XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache

fail() {
    echo "path_test $python, $way in $folder: $*" >&2
    cat "$work/err" "$work/reports" >&2
    exit 1
}

mkdir "$work/names"
"$stallbox" symbols names -o "$work/names" "$here" >/dev/null 2>&1 # of this folder's files, late_shop.py and shop.py among them
for folder in "$@"; do
    mkdir -p "$work/$folder/start" "$work/$folder/lib"
    cp "$here/late_start.py" "$work/$folder/start"
    cp "$here/late_shop.py" "$here/shop.py" "$work/$folder/lib"
    ln -s start "$work/$folder/current"
    for way in whole relative linked command; do
        start=("$python" ../start/late_start.py 0.22 "$work/$folder/lib") file=late_shop.py
        case $way in
        relative) start=("$python" start/late_start.py 0.22 lib) ;;
        linked) start=("$python" "$work/$folder/current/late_start.py" 0.3 "$work/$folder/start/../lib") ;;
        command) start=("$python" -c "import shop") file=shop.py ;;
        esac
        spool=$work/$folder/spool.$way
        at=lib
        [ "$way" != relative ] || at=.
        (cd "$work/$folder/$at" && timeout 300 "$stallbox" run --spool "$spool" --slow-message-ms 170 -- "${start[@]}") 2>"$work/err" ||
            fail "the program ended with $?"
        # Named by the sources alone: the names that the program told are away.
        rm -f "$spool"/provider-python.map
        "$stallbox" report --format json --symbols "$work/names" "$spool" >"$work/reports"
        [ "$way" = command ] ||
            jq -es 'any(.[].attribution; .function == "warm_up" and .file == "late_start.py")' "$work/reports" >/dev/null ||
            fail "it was not recorded when it began"
        jq -es --arg file "$file" 'any(.[].attribution; .function == "crunch" and .file == $file)' "$work/reports" >/dev/null ||
            fail "crunch has no name from the sources"
    done
done

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# stall_test.sh STALLBOX PYTHON FOLDER... - a stall of an unchanged Python program is told by its own function, file and line.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/integration/runtime_stall.sh
. "$here/../runtime_stall.sh"

judge_frames() {
    blames_crunch 'while time' 'total +='
    # Python, then C (sorted), then Python, then C (the interpreter's own main), each in its place.
    # shellcheck disable=SC2016 # these variables are jq's
    holds '[.threads[] | select(.main)][0].frames | map(.module == "python") as $is
           | (map(.function) | index("crunch")) as $crunch
           | (map(.function | test("(^|\\.)price$")) | index(true)) as $price
           | $crunch != null and $price != null and ($is[$crunch:$price] | index(false)) != null'
    holds '[.threads[] | select(.main)][0].frames | map(.function) | index("handler") < index("<module>")'
}

runtime_stall python "$1" "$2" "$here/shop.py" "${@:3}"

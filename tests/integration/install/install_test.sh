#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# install_test.sh - what `cmake --install` puts down is enough: a stranger's project finds the package, links the library,
# stalls, and the installed command says why.
#
# usage: install_test.sh BUILD-DIR SOURCE-ROOT
set -euo pipefail
build=$1
root=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/stallbox-install.XXXXXX")
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
mkdir "$work/consumer"
cp "$root/examples/hello_stall.c" "$work/consumer/"
cat >"$work/consumer/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(consumer C)
find_package(stallbox 0.1 REQUIRED)
add_executable(consumer hello_stall.c)
target_link_libraries(consumer stallbox::stallbox)
EOF
cmake -S "$work/consumer" -B "$work/consumer/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/configure.log"
cmake --build "$work/consumer/build" >"$work/build.log"
export XDG_STATE_HOME=$work/state
"$work/consumer/build/consumer"
report=$("$work/prefix/bin/stallbox" report --format json "$work/state/stallbox/spool")
echo "$report" | jq -e '.attribution.cause == "sleep" and .attribution.function == "slow_handler"' >/dev/null ||
    { echo "install_test: the report says otherwise: $report" >&2; exit 1; }

# The installed command finds the installed library.
maps=$("$work/prefix/bin/stallbox" run --quiet --spool "$work/spool" -- cat /proc/self/maps)
grep -q "$work/prefix/.*/libstallbox.so" <<<"$maps" ||
    { echo "install_test: the installed command preloaded no installed library" >&2; exit 1; }

# pkg-config's answer compiles too.
pc=$(find "$work/prefix" -name stallbox.pc)
# shellcheck disable=SC2046 # the flags are words
cc "$root/examples/hello_stall.c" -o "$work/by-pkg-config" \
    $(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs stallbox)
echo "install_test: installed, found, linked, recorded, reported"

